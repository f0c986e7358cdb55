//! A session's folder as a test wants it: events in the words of a story, written as the program writes them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use belvedere::agent::{
    AgentEvent, Author, EventKind, FileTally, LastWords, LogEvent, Outcome, SessionEvent, Spawn, Status, ToolEvent,
    TurnEvent,
};
use belvedere::export::export;
use belvedere::message::{AgentId, AssistantMessage, Block, ExportFormat, ToolCall, ToolInput, ToolResult, Usage};
use belvedere::provider::StopReason;
use belvedere::session::{Record, Secrets, Store, VERSION};
use belvedere::tool::ToolView;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tempfile::TempDir;

pub(crate) const MAIN: AgentId = AgentId::MAIN;
pub(crate) const SECRET: &str = "hunter2-hunter2-hunter2";

pub(crate) struct Recorded {
    pub(crate) state: TempDir,
    pub(crate) store: Store,
    /// Lines of each file.
    files: HashMap<String, String>,
    names: HashMap<AgentId, String>,
    seq: u64,
    now: Timestamp,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        let store = Store::new(state.path(), Path::new("/src/shop"), now, Secrets::new([SECRET]));
        let names = HashMap::from([(MAIN, "main".to_owned())]);
        Self { state, store, files: HashMap::new(), names, seq: 0, now }
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, ms: i64) -> &mut Self {
        self.now += SignedDuration::from_millis(ms);
        self
    }

    pub(crate) fn event(&mut self, agent: AgentId, kind: EventKind) -> &mut Self {
        if let EventKind::Spawned(spawn) = &kind {
            self.names.insert(agent, spawn.name.clone());
        }
        let body = LogEvent::Agent(AgentEvent { agent, at: self.now, kind });
        self.record(agent, &body)
    }

    pub(crate) fn session(&mut self, event: SessionEvent) -> &mut Self {
        let body = LogEvent::Session { at: self.now, event };
        self.record(MAIN, &body)
    }

    fn record(&mut self, agent: AgentId, body: &LogEvent) -> &mut Self {
        self.seq += 1;
        let line = serde_json::to_string(&Record { v: VERSION, seq: self.seq, body }).unwrap();
        self.raw(agent, &(line + "\n"))
    }

    /// Writes what stands in the file of an agent, record or not.
    pub(crate) fn raw(&mut self, agent: AgentId, text: &str) -> &mut Self {
        let name = self.names[&agent].clone();
        self.files.entry(name).or_default().push_str(text);
        self
    }

    pub(crate) fn asks(&mut self, text: &str) -> &mut Self {
        self.event(MAIN, EventKind::Started);
        self.event(MAIN, EventKind::UserMessage { text: text.to_owned(), by: Author::User, id: None })
    }

    pub(crate) fn says(&mut self, agent: AgentId, text: &str) -> &mut Self {
        let message = AssistantMessage::new(vec![Block::Text { text: text.to_owned() }]);
        let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
        self.event(agent, TurnEvent::Started { turn: 1 }.into());
        self.wait(1_000);
        let ended = TurnEvent::Ended {
            message,
            usage,
            cost_usd: Some(0.01),
            stop: Some(StopReason::EndTurn),
            latency_ms: None,
        };
        self.event(agent, ended.into())
    }

    pub(crate) fn calls(&mut self, agent: AgentId, id: &str, name: &str, title: &str) -> &mut Self {
        let input = ToolInput::Object(json!({"path": title}).as_object().unwrap().clone());
        let call = ToolCall { id: id.to_owned(), name: name.to_owned(), input };
        self.event(agent, ToolEvent::Started { call, title: title.to_owned() }.into())
    }

    pub(crate) fn answers(&mut self, agent: AgentId, id: &str, text: &str, view: Option<ToolView>) -> &mut Self {
        let result = ToolResult::text(id, text);
        let summary = format!("{} bytes", text.len());
        self.event(agent, ToolEvent::Ended { result, summary, view, changes: Vec::new() }.into())
    }

    pub(crate) fn spawns(&mut self, parent: AgentId, id: u32, description: &str) -> AgentId {
        let call_id = format!("spawn-{id}");
        self.calls(parent, &call_id, "Agent", description);
        let spawn = Spawn {
            parent,
            call_id,
            name: format!("explore-{id}"),
            agent_type: "explore".to_owned(),
            color: Some("cyan".to_owned()),
            description: description.to_owned(),
            prompt: format!("Task {id}"),
            model: "model".to_owned(),
            tools: Vec::new(),
            bounds: belvedere::agent::Bounds::default(),
            run_mode: belvedere::agent::RunMode::Foreground,
            options: Box::default(),
        };
        let agent = AgentId(id);
        self.event(agent, EventKind::Spawned(spawn));
        self.event(agent, EventKind::Started);
        let task = EventKind::UserMessage { text: format!("Task {id}"), by: Author::User, id: None };
        self.event(agent, task);
        agent
    }

    pub(crate) fn ends(&mut self, agent: AgentId, status: Status, text: &str) -> &mut Self {
        let outcome = Outcome {
            status,
            text: text.to_owned(),
            words: LastWords::Report,
            reason: None,
            turns: 1,
            tool_calls: 1,
            usage: Usage::default(),
            cost_usd: None,
            elapsed_ms: 0,
            tools_run: std::collections::BTreeMap::new(),
            files: FileTally::default(),
            doubt: None,
        };
        self.event(agent, EventKind::Ended { outcome })
    }

    /// Writes the folder.
    pub(crate) fn save(&self) -> PathBuf {
        let dir = self.store.dir().to_path_buf();
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("meta.json"), r#"{"v":1,"cwd":"/src/shop","project":"/src/shop"}"#).unwrap();
        for (name, text) in &self.files {
            fs::write(dir.join(format!("{name}.jsonl")), text).unwrap();
        }
        dir
    }

    pub(crate) fn export(&self, format: ExportFormat) -> String {
        let path = export(&self.store, &self.save(), format, None).unwrap();
        fs::read_to_string(path).unwrap()
    }
}

/// Two subagents, one of them with a child of its own; one is never heard of again.
pub(crate) fn refactoring() -> Recorded {
    let mut it = Recorded::new();
    let chosen = SessionEvent::ModelChosen {
        provider: "demo".to_owned(),
        id: "demo-1".to_owned(),
        display: "demo-1".to_owned(),
        context_window: None,
        note: None,
    };
    it.session(chosen).asks("Refactor auth to use **JWT**").says(MAIN, "I'll look at two things.");
    let one = it.spawns(MAIN, 1, "Find auth files");
    let two = it.spawns(MAIN, 2, "Design the migration");
    it.wait(500).calls(one, "c1", "Read", "src/login.rs");
    let three = it.spawns(one, 3, "Look closer");
    it.wait(2_000).answers(one, "c1", "fn login() {}", None).says(three, "A leaf.");
    it.ends(three, Status::Completed, "<summary>Leaf.</summary>").answers(one, "spawn-3", "Leaf.", None);
    it.wait(500).says(one, "<summary>It is in login.rs.</summary>\n<findings>\n- one\n</findings>");
    it.ends(one, Status::Completed, "<summary>It is in login.rs.</summary>\n<findings>\n- one\n</findings>");
    it.answers(MAIN, "spawn-1", "It is in login.rs.", None);
    it.calls(two, "c2", "Bash", "cargo test").wait(10_000);
    it.event(two, EventKind::Notice { text: "still there".to_owned() });
    it
}

/// Texts that a terminal, a browser or a script would obey.
pub(crate) fn hostile() -> String {
    let mut text = String::new();
    for part in [
        "</script><script>alert(1)</script>",
        "<!-- <script> ",
        "<img src=http://evil.test/x onerror=alert(1)>",
        "</details></main><style>*{display:none}</style>",
        "\u{1b}[31mred\u{1b}[0m\u{1b}]8;;http://evil.test\u{7}",
        "line\u{2028}separator\u{2029}",
        "right\u{202e}left\u{2066}",
        "]]> &lt; &amp; \" ' ` {{x}} ${x}",
        "![pic](http://evil.test/y.png) [z](javascript:alert(1))",
    ] {
        let _ = writeln!(text, "{part}\n");
    }
    text + SECRET
}
