//! Plays the demonstration through the real loop, tree and app, in paused time, up to a moment worth a picture.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel as threads;
use std::time::Duration;

use belvedere::agent::{AgentEvent, EventKind, LogEvent, Place, TurnEvent};
use belvedere::app::agent_files::FileNews;
use belvedere::app::key::{Input, Key};
use belvedere::app::{App, Effect, Event};
use belvedere::config::{Config, ProjectRoot};
use belvedere::definition::{AgentDirs, Library};
use belvedere::message::MessageId;
use belvedere::permission::FolderTrust;
use belvedere::provider::table::ProviderEnv;
use belvedere::services::{
    self, Bootstrap, DEMO_REQUEST, EVENT_CAPACITY, FrontEnd, Options, SessionKind, SessionRules, Started, Subagents,
    known_names,
};
use belvedere::session::Secrets;
use belvedere::subagent::Command;
use belvedere::tui::view::Screen;
use belvedere::tui::view::highlight::Highlighter;
use belvedere::tui::view::theme::{ColorDepth, Theme};
use ratatui::buffer::Buffer;
use ratatui::style::Modifier;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::stage::setup;

/// Between two frames of the play.
const FRAME: Duration = Duration::from_millis(100);
/// How long the thread that highlights may take, in real time, before a test gives up.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The screen of a program that plays.
pub(crate) struct Player {
    /// Apart, because players are handed on.
    app: Box<App>,
    screen: Screen,
    begun: Instant,
    events: mpsc::Receiver<Arc<LogEvent>>,
    commands: mpsc::UnboundedSender<Command>,
}

impl Player {
    /// Returns a program that has just started without a model. Only for a runtime whose time is paused.
    pub(crate) async fn welcome(width: u16, height: u16) -> Self {
        Self::start(width, height, SessionKind::Live).await.until(200).await
    }

    /// Returns the demonstration at its start. Only for a runtime whose time is paused.
    pub(crate) async fn demo(width: u16, height: u16) -> Self {
        let player = Self::start(width, height, SessionKind::Demo).await;
        player.commands.send(Command::Send { id: MessageId(1), text: DEMO_REQUEST.into() }).unwrap();
        player
    }

    async fn start(width: u16, height: u16, kind: SessionKind) -> Self {
        let mut player = Self::new(width, height);
        let (listener, events) = mpsc::channel(EVENT_CAPACITY);
        let (commands, orders) = mpsc::unbounded_channel();
        player.events = events;
        player.commands = commands;
        let Started { conversation, .. } = Box::pin(services::start(bootstrap(kind), listener)).await;
        tokio::spawn(conversation.drive(orders));
        player
    }

    fn new(width: u16, height: u16) -> Self {
        let begun = Instant::now();
        let mut app = Box::new(App::new(setup(begun.into_std(), (width, height))));
        app.update(begun.into_std(), Event::BranchKnown(Some("main".to_owned())));
        let screen = Screen::new(Theme::load("dark", ColorDepth::TrueColor).unwrap(), Highlighter::off());
        let (commands, _) = mpsc::unbounded_channel();
        Self { app, screen, begun, events: mpsc::channel(1).1, commands }
    }

    /// Plays until this many milliseconds after the start.
    pub(crate) async fn until(mut self, ms: u64) -> Self {
        let end = self.begun + Duration::from_millis(ms);
        let mut frame = Instant::now();
        while frame < end {
            frame = (frame + FRAME).min(end);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = self.events.recv() => self.event(Event::Log(steady(&event))),
                    () = sleep_until(frame) => break,
                }
            }
            self.event(Event::Wakeup);
            self.draw();
        }
        self
    }

    /// Presses keys, written as in `hi<enter>`.
    pub(crate) fn keys(mut self, keys: &str) -> Self {
        for key in Key::parse_sequence(keys).unwrap() {
            self.event(Event::Input(Input::Key(key)));
        }
        self.draw();
        self
    }

    /// Tells of agent files.
    pub(crate) fn told(mut self, news: FileNews) -> Self {
        self.event(Event::AgentFiles(news));
        self
    }

    fn event(&mut self, event: Event) {
        for effect in self.app.update(Instant::now().into_std(), event) {
            if let Effect::Command(command) = effect {
                self.commands.send(command).unwrap();
            }
        }
    }

    fn draw(&mut self) -> Buffer {
        let mut buffer = Buffer::empty(self.app.size());
        self.app.take_dirty();
        let painted = self.screen.draw(&self.app, &mut buffer);
        self.event(Event::Drawn(painted.drawn));
        if let Some(cursor) = painted.marks.cursor {
            buffer[cursor].modifier.insert(Modifier::REVERSED);
        }
        buffer
    }

    /// Draws the picture in a theme, once the thread that highlights has sent its `code` blocks.
    pub(crate) fn picture(mut self, theme: Theme, code: usize) -> Buffer {
        self.draw_in(theme, code)
    }

    pub(crate) fn draw_in(&mut self, theme: Theme, code: usize) -> Buffer {
        let (done, highlighted) = threads();
        let highlighter = Highlighter::new(move || {
            let _ = done.send(());
        });
        self.screen = Screen::new(theme, highlighter);
        self.draw();
        for block in 0..code {
            let sent = highlighted.recv_timeout(TIMEOUT);
            assert!(sent.is_ok(), "only {block} of {code} blocks of code were highlighted");
        }
        self.draw();
        self.draw()
    }
}

/// Takes the random part, less than a second, out of how long a limited request waits.
fn steady(event: &LogEvent) -> Arc<LogEvent> {
    let mut event = event.clone();
    if let LogEvent::Agent(AgentEvent { kind: EventKind::Turn(TurnEvent::Retrying { wait_ms, .. }), .. }) = &mut event {
        *wait_ms -= *wait_ms % 1_000;
    }
    Arc::new(event)
}

/// A session in a folder that is never touched, with the offline model and without a log.
fn bootstrap(kind: SessionKind) -> Bootstrap {
    let nowhere = Arc::new(PathBuf::from("/nowhere/shop"));
    Bootstrap {
        plugins: Arc::default(),
        saved: None,
        watch: belvedere::sandbox::PlaceWatch::default(),
        shell: Arc::default(),
        engine: None,
        options: Options {
            resume: None,
            directory: nowhere.as_ref().clone(),
            model: Some("offline".to_owned()),
            fallback_model: None,
            effort: None,
            mode: None,
            allowed: Vec::new(),
            denied: Vec::new(),
            trust: true,
            budget: belvedere::message::BudgetLimit::default(),
            max_turns: None,
            front_end: FrontEnd::Screen,
            kind,
            plugins: Vec::new(),
            agents: Vec::new(),
            given: belvedere::services::GivenSetup::default(),
            agent: None,
            program: PathBuf::new(),
            secrets: Secrets::default(),
        },
        config: Config::default(),
        rules: SessionRules::default(),
        settings: belvedere::services::SessionSettings::default(),
        trust: FolderTrust::default(),
        servers: belvedere::services::ConfiguredServers::default(),
        memory: belvedere::memory::MemorySources::default(),
        diagnostics: Vec::new(),
        paths: None,
        ground: ProjectRoot { root: nowhere.as_ref().clone(), is_project: true, foreign: Vec::new() },
        skills: Arc::default(),
        place: Place { cwd: nowhere.clone(), project: nowhere.clone(), origin: nowhere },
        library: Arc::new(Library::new(
            AgentDirs::default(),
            Vec::new(),
            known_names(&Config::default(), &ProviderEnv::default()),
        )),
        agent: None,
        services: ProviderEnv::default(),
        subagents: Subagents::default(),
        store: None,
    }
}
