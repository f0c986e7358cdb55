//! Plays events and keys into an app and draws it: the base of every test of the screen.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belvedere::agent::{
    AgentEvent, Author, Bounds, EventKind, FileTally, LastWords, LogEvent, Outcome, RunMode, SessionEvent, Spawn,
    SpawnOptions, Status, ToolEvent, TurnEvent,
};
use belvedere::app::key::{Input, Key, KeyCode, Mods};
use belvedere::app::keymap::{Context, Keymap};
use belvedere::app::{
    App, Arrangement, Earlier, Editing, Effect, Event, Focus, GUARD, HOLD, LETTER_PAUSE, MouseCapture, Movement, Setup,
    UserChoice,
};
use belvedere::definition::Isolation;
use belvedere::message::{AgentId, AssistantMessage, Block, MessageId, Spent, ToolCall, ToolInput, ToolResult, Usage};
use belvedere::permission::{Access, AccessKind, ApprovalId, ApprovalRequest, Confinement, Grant, PermissionMode};
use belvedere::provider::StopReason;
use belvedere::session::Unsent;
use belvedere::subagent::Command;
use belvedere::tool::ToolView;
use belvedere::tui::view::highlight::Highlighter;
use belvedere::tui::view::theme::{ColorDepth, Theme, Themes};
use belvedere::tui::view::{Painted, Screen};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// What of the screen a test looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Region {
    Conversation,
    Agents,
    Timeline,
    Approvals,
    /// The line above the composer, the composer and the status line.
    Composer,
}

/// An app with its views and a clock of its own.
pub(crate) struct Stage {
    pub app: Box<App>,
    screen: Screen,
    now: Instant,
    pub effects: Vec<Effect>,
    /// What happened to agents and session so far.
    pub log: Vec<Arc<LogEvent>>,
    /// Messages of the user that agents have read.
    read: HashSet<MessageId>,
}

impl Stage {
    /// Returns how many columns of panes stand beside the conversation.
    pub(crate) fn columns(&self) -> usize {
        let regions = self.app.regions();
        let beside = regions.panes.iter().map(|pane| pane.area.x).filter(|x| *x >= regions.agents_head.x);
        beside.collect::<std::collections::BTreeSet<u16>>().len()
    }

    pub(crate) fn new(width: u16, height: u16) -> Self {
        Self::with_setup(width, height, |_| {})
    }

    /// Returns a stage whose settings were changed before it opened.
    pub(crate) fn with_setup(width: u16, height: u16, change: impl FnOnce(&mut Setup)) -> Self {
        let now = Instant::now();
        let mut setup = setup(now, (width, height));
        change(&mut setup);
        let app = Box::new(App::new(setup));
        let theme = Theme::load("dark", ColorDepth::TrueColor).unwrap();
        let screen = Screen::new(theme, Highlighter::off());
        let mut stage = Self { app, screen, now, effects: Vec::new(), log: Vec::new(), read: HashSet::new() };
        stage.event(Event::BranchKnown(Some("main".to_owned())));
        stage
    }

    /// Returns a stage that goes on with what an earlier run of the program left; of the agents in `cut` more was recorded.
    pub(crate) fn restored(width: u16, height: u16, events: &[Arc<LogEvent>], cut: &[u32]) -> Self {
        let stage = Self::new(width, height);
        let cut = cut.iter().copied().map(AgentId).collect();
        let earlier = Earlier { spent: &Spent::default(), unsent: &Unsent::default(), cut: &cut };
        Self { app: Box::new(App::restored(setup(stage.now, (width, height)), events, &earlier)), ..stage }
    }

    /// Returns the same stage with a model chosen.
    pub(crate) fn with_model(mut self) -> Self {
        self.session(SessionEvent::ModelChosen {
            provider: "anthropic".to_owned(),
            id: "demo-1".to_owned(),
            display: "sonnet".to_owned(),
            context_window: Some(200_000),
            note: None,
        });
        self
    }

    /// Changes the colours and signs.
    pub(crate) fn theme(&mut self, theme: Theme) {
        self.screen = Screen::new(theme, Highlighter::off());
    }

    pub(crate) fn event(&mut self, event: Event) -> Vec<Effect> {
        if let Event::Log(event) = &event {
            self.log.push(Arc::clone(event));
        }
        let mut effects = self.app.update(self.now, event);
        // Kept with every letter; a test that is about it looks into the app.
        effects.retain(|effect| !matches!(effect, Effect::Remember(UserChoice::Unsent(_))));
        self.effects.extend(effects.iter().cloned());
        for effect in &effects {
            if let Effect::SetTheme(name) = effect {
                self.screen.set_theme(name, &Themes::default());
            }
        }
        effects
    }

    /// Presses keys, written as in `hi<enter>`, a second after whatever was before. Letters that are commands are pressed
    /// one by one, as one who means them does; what may answer a question is pressed after a look at the screen.
    pub(crate) fn keys(&mut self, keys: &str) -> Vec<Effect> {
        self.wait(1_000);
        let mut effects = Vec::new();
        for key in Key::parse_sequence(keys).unwrap() {
            let commands = key.typed().is_some() && self.reads_commands();
            effects.extend(self.input(Input::Key(key)));
            if commands {
                self.now += LETTER_PAUSE;
                effects.extend(self.event(Event::Wakeup));
                effects.extend(self.event(Event::Wakeup));
            }
        }
        effects
    }

    /// Does one thing at the keyboard or with the mouse; with thought if it may answer a question.
    pub(crate) fn input(&mut self, input: Input) -> Vec<Effect> {
        let may_answer = match &input {
            Input::Key(key) => {
                let chord = matches!(key.code, KeyCode::Char('y' | 'a' | 'n')) && key.mods == Mods::ALT;
                chord || self.app.focus() == Focus::Approvals && self.app.popup().is_none()
            }
            _ => true,
        };
        if self.app.approvals().is_empty() || !may_answer {
            return self.event(Event::Input(input));
        }
        self.draw();
        self.draw();
        self.now += GUARD;
        let mut effects = self.event(Event::Input(input));
        self.draw();
        self.now += HOLD;
        effects.extend(self.event(Event::Wakeup));
        effects
    }

    fn reads_commands(&self) -> bool {
        match self.app.popup() {
            Some(popup) => !popup.takes_text(),
            None => !matches!(self.app.context(), Context::Composer | Context::Popup),
        }
    }

    /// Presses keys all at once.
    pub(crate) fn burst(&mut self, keys: &str) -> Vec<Effect> {
        let keys = Key::parse_sequence(keys).unwrap();
        keys.into_iter().flat_map(|key| self.event(Event::Input(Input::Key(key)))).collect()
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.event(Event::Input(Input::Resize { width, height }));
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, milliseconds: u64) -> Vec<Effect> {
        self.now += Duration::from_millis(milliseconds);
        self.event(Event::Wakeup)
    }

    pub(crate) fn agent(&mut self, agent: u32, mut kind: EventKind) -> Vec<Effect> {
        if let EventKind::UserMessage { text, by: Author::User, id: id @ None } = &mut kind {
            let sent = self.sent(text);
            *id = sent.into_iter().find(|sent| self.read.insert(*sent));
        }
        let at = "2026-11-20T12:00:00Z".parse().unwrap();
        self.event(Event::Log(Arc::new(LogEvent::Agent(AgentEvent { agent: AgentId(agent), at, kind }))))
    }

    /// Returns the numbers of the messages with this text, in the order in which they were sent.
    pub(crate) fn sent(&self, said: &str) -> Vec<MessageId> {
        let sent = |effect: &Effect| match effect {
            Effect::Command(
                Command::Send { id, text }
                | Command::Message { id, text, .. }
                | Command::Resume { message: Some((id, text)), .. },
            ) if text.text == said => Some(*id),
            _ => None,
        };
        self.effects.iter().filter_map(sent).collect()
    }

    pub(crate) fn session(&mut self, event: SessionEvent) -> Vec<Effect> {
        let at = "2026-11-20T12:00:00Z".parse().unwrap();
        self.event(Event::Log(Arc::new(LogEvent::Session { at, event })))
    }

    pub(crate) fn main(&mut self, kind: EventKind) -> Vec<Effect> {
        self.agent(0, kind)
    }

    /// Draws a frame and tells the app what it showed.
    pub(crate) fn draw(&mut self) -> (Buffer, Painted) {
        let mut buffer = Buffer::empty(self.app.size());
        self.app.take_dirty();
        let painted = self.screen.draw(&self.app, &mut buffer);
        self.event(Event::Drawn(painted.drawn.clone()));
        (buffer, painted)
    }

    /// Draws on a terminal of another size than the app knows.
    pub(crate) fn draw_on(&mut self, width: u16, height: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.screen.draw(&self.app, &mut buffer);
        buffer
    }

    /// Returns how many cells the views keep laid out.
    pub(crate) fn laid_out(&self) -> usize {
        self.screen.laid_out()
    }

    /// Draws until what is shown has settled, and returns the frame.
    pub(crate) fn frame(&mut self) -> Buffer {
        // A frame says how much a pane has to show, and the next one gives it the rows.
        self.draw();
        self.draw();
        self.draw().0
    }

    /// Returns the settled frame as text.
    pub(crate) fn text(&mut self) -> String {
        as_text(&self.frame())
    }

    /// Returns one region of the settled frame as text.
    pub(crate) fn region(&mut self, region: Region) -> String {
        let frame = self.frame();
        let at = self.app.regions();
        let area = match region {
            Region::Conversation => {
                let below = at.panes.iter().filter(|pane| pane.area.x < at.agents_head.x);
                below.fold(at.conversation_head.union(at.conversation), |area, pane| area.union(pane.area))
            }
            Region::Agents => {
                let own = at.panes.iter().filter(|pane| pane.area.x >= at.agents_head.x);
                own.fold(at.agents_head, |area, pane| area.union(pane.area))
            }
            Region::Timeline => at.timeline,
            Region::Approvals => at.approvals,
            Region::Composer => at.rule.union(at.composer).union(at.status),
        };
        text_within(&frame, area)
    }

    /// Returns what stands on the screen since an earlier frame, without the status line.
    pub(crate) fn added_since(&mut self, before: &Buffer) -> String {
        let frame = self.frame();
        let status = self.app.regions().status;
        let changed = |at: &Position| !status.contains(*at) && frame[*at].symbol() != before[*at].symbol();
        let cell = |at: Position| Rect::new(at.x, at.y, 1, 1);
        let area = frame.area.positions().filter(changed).map(cell).reduce(Rect::union);
        text_within(&frame, area.unwrap_or_default())
    }

    // Events in the words of a story.

    pub(crate) fn asks(&mut self, text: &str) {
        self.main(EventKind::Started);
        self.main(EventKind::UserMessage { text: text.to_owned(), by: Author::User, id: None });
        self.main(EventKind::Turn(TurnEvent::Started { turn: 1 }));
    }

    pub(crate) fn says(&mut self, agent: u32, text: &str) {
        self.agent(agent, EventKind::Turn(TurnEvent::Text { text: text.to_owned() }));
    }

    pub(crate) fn ends_turn(&mut self, agent: u32, text: &str, tokens: u64) {
        let message = AssistantMessage::new(vec![Block::Text { text: text.to_owned() }]);
        let usage = Usage { input: tokens, output: tokens / 10, ..Usage::default() };
        let stop = Some(StopReason::EndTurn);
        self.agent(
            agent,
            EventKind::Turn(TurnEvent::Ended { message, usage, cost_usd: Some(0.01), stop, latency_ms: None }),
        );
    }

    pub(crate) fn spawns(&mut self, agent: u32, agent_type: &str, description: &str) {
        self.spawns_below(0, agent, agent_type, description);
    }

    pub(crate) fn spawns_below(&mut self, parent: u32, agent: u32, agent_type: &str, description: &str) {
        self.spawns_with(parent, agent, (agent_type, description), SpawnOptions::default());
    }

    /// One that a launcher runs somewhere else.
    pub(crate) fn spawns_on(&mut self, agent: u32, agent_type: &str, description: &str, launcher: &str) {
        let isolation = Some(Isolation::Launcher(launcher.to_owned()));
        self.spawns_with(0, agent, (agent_type, description), SpawnOptions { isolation, ..SpawnOptions::default() });
    }

    fn spawns_with(&mut self, parent: u32, agent: u32, (agent_type, description): (&str, &str), options: SpawnOptions) {
        let call_id = format!("call-{agent}");
        self.agent(parent, tool_started(&call_id, "Agent", description));
        self.agent(
            agent,
            EventKind::Spawned(Spawn {
                parent: AgentId(parent),
                call_id,
                name: format!("{agent_type}-{agent}"),
                agent_type: agent_type.to_owned(),
                color: None,
                description: description.to_owned(),
                prompt: format!("{description}.\n\nWHAT: look closely.\nRETURN: a short report."),
                model: "sonnet".to_owned(),
                tools: vec!["Read".to_owned(), "Grep".to_owned()],
                bounds: Bounds::default(),
                run_mode: RunMode::Foreground,
                options: Box::new(options),
            }),
        );
    }

    pub(crate) fn starts(&mut self, agent: u32) {
        self.agent(agent, EventKind::Started);
        self.agent(agent, EventKind::Turn(TurnEvent::Started { turn: 1 }));
    }

    /// A tool call from start to end.
    pub(crate) fn calls(&mut self, agent: u32, id: &str, name: &str, title: &str, summary: &str) {
        self.agent(agent, tool_started(id, name, title));
        self.tool_ends(agent, id, summary, None);
    }

    pub(crate) fn tool_ends(&mut self, agent: u32, id: &str, summary: &str, view: Option<ToolView>) {
        self.agent(
            agent,
            EventKind::Tool(ToolEvent::Ended {
                result: ToolResult::text(id, "…"),
                summary: summary.to_owned(),
                view,
                changes: Vec::new(),
            }),
        );
    }

    pub(crate) fn ends(&mut self, agent: u32, status: Status, text: &str, reason: Option<&str>) {
        self.agent(
            agent,
            EventKind::Ended {
                outcome: Outcome {
                    status,
                    text: text.to_owned(),
                    words: words(status),
                    reason: reason.map(str::to_owned),
                    turns: 3,
                    tool_calls: 8,
                    usage: Usage { input: 18_000, output: 2_914, ..Usage::default() },
                    cost_usd: Some(0.02),
                    elapsed_ms: 5_100,
                    tools_run: std::collections::BTreeMap::new(),
                    files: FileTally::default(),
                    doubt: None,
                },
            },
        );
    }

    pub(crate) fn wants_to_run(&mut self, agent: u32, id: &str, command: &str) {
        self.agent(agent, tool_started(id, "Bash", command));
        self.agent(agent, EventKind::Tool(ToolEvent::ApprovalRequested { request: request(agent, id, command) }));
    }
}

/// Returns the question whether a command may run.
pub(crate) fn request(agent: u32, id: &str, command: &str) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId { agent: AgentId(agent), call_id: id.to_owned(), number: 0 },
        access: Access::new(
            "Bash",
            AccessKind::Execute { command: command.to_owned(), confinement: Confinement::Guard },
        ),
        title: command.to_owned(),
        preview: None,
        grant: Some(Grant::Command(command.to_owned())),
        reason: "mode ask: it may modify files".to_owned(),
    }
}

pub(crate) fn tool_started(id: &str, name: &str, title: &str) -> EventKind {
    EventKind::Tool(ToolEvent::Started {
        call: ToolCall { id: id.to_owned(), name: name.to_owned(), input: ToolInput::parse("") },
        title: title.to_owned(),
    })
}

/// Returns a frame as text, without spaces at line ends.
pub(crate) fn as_text(buffer: &Buffer) -> String {
    text_within(buffer, buffer.area)
}

fn text_within(buffer: &Buffer, area: Rect) -> String {
    let mut out = String::new();
    for y in area.top()..area.bottom() {
        let mut row = String::new();
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol)).unwrap().max(1);
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

/// Which words an agent has left behind that ended so.
fn words(status: Status) -> LastWords {
    match status {
        Status::TimedOut | Status::Budget | Status::Cancelled | Status::Failed => LastWords::Partial,
        _ => LastWords::Report,
    }
}

/// Returns the settings of a screen of this size.
pub(super) fn setup(now: Instant, size: (u16, u16)) -> Setup {
    Setup {
        now,
        size,
        folder: "~/src/shop".to_owned(),
        mode: PermissionMode::Default,
        keymap: Keymap::builtin(),
        notices: Vec::new(),
        mouse: MouseCapture::On,
        arrangement: Arrangement::default(),
        editing: Editing::default(),
        motion: Movement::Full,
        themes: Themes::default().names(),
        theme: "dark".to_owned(),
        zone: jiff::tz::TimeZone::UTC,
        has_status_command: false,
        first: None,
    }
}
