//! A session as its records tell it, but for what was said: who there was, and what each did when.
//!
//! Owns the first look at all records. Leaves what was said to `steps`, which looks at one agent at a time. Invariant:
//! what it holds grows with the agents, not with the records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::activity::Activity;
use crate::agent::{AgentEvent, EventKind, LogEvent, SessionEvent, Spawn};
use crate::message::{AgentId, Spent};
use crate::session::{MergedRecords, SessionError};
use crate::whole_file::read_plain;

/// Bytes of the file that describes a session, at most.
const MAX_META: u64 = 64 << 10;
/// Bytes kept of what the user said first.
const MAX_TITLE: usize = 2_000;
/// Bytes kept of a task, and of last words.
const MAX_WORDS: usize = 64 << 10;

/// One agent of a recorded session.
#[derive(Debug, Clone)]
pub struct RecordedAgent {
    pub id: AgentId,
    /// What it was created with; `None` for the main agent, and where that record is lost.
    pub spawn: Option<Spawn>,
    /// When its first record was written, in milliseconds since the session began.
    pub born: u64,
    pub activity: Activity,
    /// Its last words and, of a run that was cut short, why.
    pub words: String,
    pub reason: Option<String>,
    /// The files that hold its records.
    files: BTreeSet<usize>,
}

/// A recorded session, but for what was said.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The name of its folder.
    pub id: String,
    /// What describes it, as it was written.
    pub meta: Map<String, Value>,
    pub start: Timestamp,
    /// Milliseconds from the first record to the last one.
    pub length: u64,
    pub agents: BTreeMap<AgentId, RecordedAgent>,
    /// What the user said first.
    pub title: Option<String>,
    /// Who answered the main agent last.
    pub model: Option<String>,
    pub records: u64,
    /// Records that this program does not understand.
    pub unread: u64,
    /// Whether somebody writes to it.
    pub is_live: bool,
    pub(super) dir: PathBuf,
    paths: Vec<PathBuf>,
    /// The agents that each has spawned, oldest first.
    below: BTreeMap<AgentId, Vec<AgentId>>,
}

impl Recording {
    /// Looks at all records of the session in `dir`. Blocks. Returns an error if it cannot be read.
    pub fn read(dir: &Path) -> Result<Self, SessionError> {
        let mut records = MergedRecords::of_session(dir)?;
        let mut recording = Self {
            id: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            meta: meta(dir),
            start: Timestamp::UNIX_EPOCH,
            length: 0,
            agents: BTreeMap::new(),
            title: None,
            model: None,
            records: 0,
            unread: 0,
            is_live: File::open(dir).is_ok_and(|dir| dir.try_lock().is_err()),
            dir: dir.to_path_buf(),
            paths: records.paths().map(Path::to_path_buf).collect(),
            below: BTreeMap::new(),
        };
        for found in records.by_ref() {
            match found.line.record::<LogEvent>() {
                Ok(record) => recording.apply(&record.body, found.file),
                Err(_) => recording.unread += 1,
            }
        }
        recording.unread += records.skipped();
        for agent in recording.agents.values().filter(|agent| !agent.id.is_main()) {
            recording.below.entry(recording.parent_of(agent)).or_default().push(agent.id);
        }
        let length = recording.length;
        for agent in recording.agents.values_mut() {
            agent.activity.finish(length);
        }
        Ok(recording)
    }

    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    fn apply(&mut self, event: &LogEvent, file: usize) {
        let at = match event {
            LogEvent::Agent(event) => event.at,
            LogEvent::Session { at, .. } => *at,
        };
        if self.records == 0 {
            self.start = at;
        }
        self.records += 1;
        // A clock that was set back must not turn the order around.
        self.length = self.length.max(self.time_of(at));
        let now = self.length;
        match event {
            LogEvent::Session { event: SessionEvent::ModelChosen { display, .. }, .. } => {
                self.model = Some(display.clone());
                self.agent(AgentId::MAIN).files.insert(file);
            }
            LogEvent::Session { .. } => {
                self.agent(AgentId::MAIN).files.insert(file);
            }
            LogEvent::Agent(AgentEvent { agent: id, kind, .. }) => {
                if let EventKind::Spawned(spawn) = kind
                    && let Some(parent) = self.agents.get_mut(&spawn.parent)
                {
                    parent.activity.delegate(&spawn.call_id, now);
                }
                if let (None, true, EventKind::UserMessage { text, .. }) = (&self.title, id.is_main(), kind) {
                    self.title = Some(text[..text.floor_char_boundary(MAX_TITLE)].to_owned());
                }
                let agent = self.agent(*id);
                agent.files.insert(file);
                agent.apply(kind, now);
            }
        }
    }

    fn agent(&mut self, id: AgentId) -> &mut RecordedAgent {
        let born = self.length;
        self.agents.entry(id).or_insert_with(|| RecordedAgent {
            id,
            spawn: None,
            born,
            activity: Activity::default(),
            words: String::new(),
            reason: None,
            files: BTreeSet::new(),
        })
    }

    /// Returns a time as milliseconds since the session began.
    pub fn time_of(&self, at: Timestamp) -> u64 {
        u64::try_from(at.as_millisecond().saturating_sub(self.start.as_millisecond())).unwrap_or(0)
    }

    /// Returns the records of one agent; what happened to the session is among those of the main agent.
    pub(super) fn records_of(&self, agent: &RecordedAgent) -> impl Iterator<Item = LogEvent> + use<> {
        let paths = agent.files.iter().filter_map(|file| self.paths.get(*file).cloned()).collect();
        let id = agent.id;
        MergedRecords::of_files(paths).filter_map(move |found| {
            let event = found.line.record::<LogEvent>().ok()?.body;
            let is_its_own = match &event {
                LogEvent::Agent(event) => event.agent == id,
                LogEvent::Session { .. } => id.is_main(),
            };
            is_its_own.then_some(event)
        })
    }

    /// Returns the agents that `parent` has spawned, oldest first.
    pub fn children(&self, parent: AgentId) -> impl DoubleEndedIterator<Item = &RecordedAgent> {
        self.below.get(&parent).into_iter().flatten().filter_map(|id| self.agents.get(id))
    }

    /// Returns every subagent, each below its parent, with how many agents stand between it and the main agent.
    pub fn in_order(&self) -> Vec<(&RecordedAgent, usize)> {
        let mut order = Vec::new();
        let mut open: Vec<(&RecordedAgent, usize)> = self.children(AgentId::MAIN).rev().map(|one| (one, 0)).collect();
        while let Some((agent, depth)) = open.pop() {
            order.push((agent, depth));
            open.extend(self.children(agent.id).rev().map(|child| (child, depth + 1)));
        }
        order
    }

    /// Returns the parent of an agent. One that is not known, or was not there first, cannot be: then it is the main
    /// agent, so that no cycle comes of it.
    fn parent_of(&self, agent: &RecordedAgent) -> AgentId {
        let parent = agent.spawn.as_ref().map(|spawn| spawn.parent);
        parent.filter(|parent| *parent < agent.id && self.agents.contains_key(parent)).unwrap_or(AgentId::MAIN)
    }

    /// Returns what all agents have used.
    pub fn spent(&self) -> Spent {
        let mut all = Spent::default();
        for agent in self.agents.values() {
            all.add(&agent.activity.spent);
        }
        all
    }
}

impl RecordedAgent {
    fn apply(&mut self, kind: &EventKind, now: u64) {
        match kind {
            EventKind::Spawned(spawn) => {
                let mut spawn = spawn.clone();
                spawn.prompt.truncate(spawn.prompt.floor_char_boundary(MAX_WORDS));
                self.spawn = Some(spawn);
            }
            EventKind::Ended { outcome } => {
                outcome.text[..outcome.text.floor_char_boundary(MAX_WORDS)].clone_into(&mut self.words);
                self.reason.clone_from(&outcome.reason);
            }
            _ => {}
        }
        self.activity.apply(kind, now);
    }

    /// Returns its name.
    pub fn name(&self) -> String {
        match &self.spawn {
            Some(spawn) => spawn.name.clone(),
            None if self.id.is_main() => "main".to_owned(),
            None => format!("agent-{}", self.id),
        }
    }

    /// Returns the word for how its last run ended, or for what it does.
    pub fn state(&self, is_live: bool) -> &'static str {
        match self.activity.ends.last() {
            _ if self.activity.is_open() && is_live => "running",
            _ if self.activity.is_open() => "interrupted",
            _ if self.id.is_main() => "idle",
            Some(end) => end.status.word(),
            None => "interrupted",
        }
    }

    /// Returns how long it worked, in milliseconds.
    pub fn worked(&self) -> u64 {
        self.activity.spans.iter().map(|span| span.to - span.from).sum()
    }
}

fn meta(dir: &Path) -> Map<String, Value> {
    let text = read_plain(&dir.join("meta.json"), MAX_META).ok();
    match text.and_then(|text| serde_json::from_slice(&text).ok()) {
        Some(Value::Object(meta)) => meta,
        _ => Map::new(),
    }
}
