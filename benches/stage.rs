//! An app with its views on a terminal of 200 columns and 60 rows that throws away what is written to it.
//!
//! Time is an argument: a benchmark plays a minute of events as fast as it can.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belvedere::agent::{AgentEvent, Author, Bounds, EventKind, LogEvent, RunMode, Spawn, ToolEvent, TurnEvent};
use belvedere::app::key::{Input, Key};
use belvedere::app::keymap::Keymap;
use belvedere::app::{App, Arrangement, Event, MouseCapture, Movement, Setup};
use belvedere::message::{AgentId, ToolCall, ToolInput, ToolResult};
use belvedere::permission::PermissionMode;
use belvedere::tui::terminal::{Canvas, FrameBackend};
use belvedere::tui::view::Screen;
use belvedere::tui::view::highlight::Highlighter;
use belvedere::tui::view::theme::{ColorDepth, Theme, Themes};
use jiff::Timestamp;
use ratatui::layout::Size;

/// A terminal that counts what is written to it.
#[derive(Clone, Default)]
struct Meter(Rc<Cell<usize>>);

impl Write for Meter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) struct Stage {
    pub(crate) app: App,
    screen: Screen,
    canvas: Canvas<Meter>,
    written: Meter,
    now: Instant,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let size = Size::new(200, 60);
        let app = App::new(Setup {
            now,
            size: (size.width, size.height),
            folder: "~/project".to_owned(),
            mode: PermissionMode::Default,
            keymap: Keymap::builtin(),
            notices: Vec::new(),
            mouse: MouseCapture::On,
            arrangement: Arrangement::default(),
            editing: belvedere::app::Editing::default(),
            motion: Movement::Full,
            themes: Themes::default().names(),
            theme: "dark".to_owned(),
            zone: jiff::tz::TimeZone::UTC,
            has_status_command: false,
            first: None,
        });
        let screen = Screen::new(Theme::load("dark", ColorDepth::TrueColor).unwrap(), Highlighter::off());
        let written = Meter::default();
        let canvas = Canvas::new(FrameBackend::with_size(written.clone(), size));
        Self { app, screen, canvas, written, now }
    }

    /// Returns a stage on which this many subagents have said something.
    pub(crate) fn with_children(count: u32) -> Self {
        let mut stage = Self::new();
        stage.main(EventKind::Started);
        stage.main(EventKind::UserMessage {
            text: "Look at everything at once.".to_owned(),
            by: Author::User,
            id: None,
        });
        for child in 1..=count {
            let call_id = format!("call-{child}");
            stage.main(tool_started(&call_id, "Agent"));
            stage.agent(child, EventKind::Spawned(spawn(child, call_id)));
            stage.agent(child, EventKind::Started);
            stage.agent(child, EventKind::Turn(TurnEvent::Started { turn: 1 }));
            for line in 0..40 {
                stage.says(child, &format!("Line {line} of what agent {child} has to say about the matter.\n\n"));
            }
        }
        stage.frame();
        stage.frame();
        stage
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.app.update(self.now, event);
    }

    pub(crate) fn agent(&mut self, agent: u32, kind: EventKind) {
        let at = Timestamp::UNIX_EPOCH;
        self.event(Event::Log(Arc::new(LogEvent::Agent(AgentEvent { agent: AgentId(agent), at, kind }))));
    }

    pub(crate) fn main(&mut self, kind: EventKind) {
        self.agent(0, kind);
    }

    pub(crate) fn says(&mut self, agent: u32, text: &str) {
        self.agent(agent, EventKind::Turn(TurnEvent::Text { text: text.to_owned() }));
    }

    /// Calls a tool that is done at once.
    pub(crate) fn calls(&mut self, agent: u32, id: &str) {
        self.agent(agent, tool_started(id, "Read"));
        let result = ToolResult::text(id, "fn main() {}");
        let summary = "1 line".to_owned();
        self.agent(agent, EventKind::Tool(ToolEvent::Ended { result, summary, view: None, changes: Vec::new() }));
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        for key in Key::parse_sequence(keys).unwrap() {
            self.event(Event::Input(Input::Key(key)));
        }
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
        if self.app.next_wakeup().is_some_and(|due| due <= self.now) {
            self.event(Event::Wakeup);
        }
    }

    /// Draws a frame, as the event loop does, and returns how many bytes it wrote.
    pub(crate) fn frame(&mut self) -> usize {
        self.app.take_dirty();
        let before = self.written.0.get();
        let (app, screen) = (&self.app, &mut self.screen);
        let mut drawn = None;
        self.canvas
            .draw(|buffer| {
                let painted = screen.draw(app, buffer);
                drawn = Some(painted.drawn);
                painted.marks
            })
            .unwrap();
        self.event(Event::Drawn(drawn.unwrap()));
        self.written.0.get() - before
    }
}

fn tool_started(id: &str, name: &str) -> EventKind {
    EventKind::Tool(ToolEvent::Started {
        call: ToolCall { id: id.to_owned(), name: name.to_owned(), input: ToolInput::parse("{}") },
        title: "src/main.rs".to_owned(),
    })
}

fn spawn(child: u32, call_id: String) -> Spawn {
    Spawn {
        parent: AgentId::MAIN,
        call_id,
        name: format!("explore-{child}"),
        agent_type: "explore".to_owned(),
        color: None,
        description: format!("Look at part {child}"),
        prompt: "Look closely and report.".to_owned(),
        model: "sonnet".to_owned(),
        tools: Vec::new(),
        bounds: Bounds::default(),
        run_mode: RunMode::Foreground,
        options: Box::default(),
    }
}
