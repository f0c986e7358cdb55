//! The event loop of the screen.
//!
//! Owns the order of things: all events of a batch, then their effects, then one frame if something changed and a
//! frame is due. Leaves meaning to `app` and drawing to `view`. Invariants: the first frame comes before anything
//! else; keys are drawn at once and text at most sixty times a second; while nothing changes, nothing runs.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

use super::answer::{AnswerListener, AwaitedAnswer};
use super::asked::PictureQuestion;
use super::attributes::{SixelAnswer, SixelListener};
use super::effect_runner::{AfterEffect, EffectRunner, Storage};
use super::input::InputStream;
use super::notifier::Notifier;
use super::outside::{Program, stop_here};
use super::replay::Player;
use super::terminal::Terminal;
use super::terminal::program_status::{QUESTION as STATUS, StatusReporter};
use super::view::Screen;
use super::view::gallery::{Gallery, PictureProtocol};
use super::view::highlight::Highlighter;
use super::view::theme::{Theme, Themes};
use crate::agent::LogEvent;
use crate::app::agent_files::FileRequest;
use crate::app::key::Input;
use crate::app::timeline::PlaybackSpeed;
use crate::app::{App, Earlier, Effect, Event, Setup};
use crate::definition::Library;
use crate::definition::skill::SkillLibrary;
use crate::message::Spent;
use crate::services::{EndSignal, ModelOffers, SavedSession, SignalEvent, Signals};
use crate::session::{PictureStore, Store};
use crate::subagent::Command;

/// Shortest time between two frames that no key asked for.
const FRAME: Duration = Duration::from_millis(16);
/// Events of agents taken in before keys are looked at again.
const BATCH: usize = 256;

/// What the screen of a session needs.
pub struct ScreenSetup {
    /// For the app. The time and the size are those of the first frame, and not known yet.
    pub(super) app: Setup,
    /// The session that is continued.
    pub(super) saved: Option<Arc<SavedSession>>,
    pub(super) events: mpsc::Receiver<Arc<LogEvent>>,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) cwd: PathBuf,
    pub(super) theme: Theme,
    pub(super) themes: Themes,
    pub(super) storage: Storage,
    pub(super) library: Arc<Library>,
    pub(super) skills: Arc<SkillLibrary>,
    pub(super) models: ModelOffers,
    pub(super) notifier: Notifier,
    pub(super) reporter: StatusReporter,
    /// Whether the terminal is asked if it keeps records of how the agents are.
    pub(super) asks_for_status: bool,
    /// What the terminal is asked to know if it shows pictures.
    pub(super) asks_for_pictures: Option<PictureQuestion>,
}

/// What is left to say when the screen has closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Farewell {
    /// Names of the agents that were still at work.
    pub running: Vec<String>,
    pub spent: Spent,
    pub ended_by: Option<EndSignal>,
    /// The session to go on with next.
    pub next: Option<String>,
}

/// Shows the screen until the user leaves. Fails if there is no terminal, or it is gone.
pub async fn run(setup: ScreenSetup, signals: &mut Signals) -> Result<Farewell> {
    let saved = setup.saved.clone();
    let open = move |setup| {
        let Some(saved) = saved else { return Ok((App::new(setup), None)) };
        let events: Vec<_> = saved.events.iter().chain(&saved.missing).cloned().collect();
        let earlier = Earlier { spent: &saved.spent_before, unsent: &saved.unsent, cut: &saved.cut };
        Ok((App::restored(setup, &events, &earlier), None))
    };
    Box::pin(show(setup, signals, open)).await
}

/// Plays the recorded session in `dir` until the user leaves. Fails if it cannot be read, or there is no terminal.
pub async fn replay_session(
    setup: ScreenSetup,
    signals: &mut Signals,
    dir: &Path,
    speed: PlaybackSpeed,
) -> Result<Farewell> {
    let storage = Storage::default();
    let setup = ScreenSetup { storage, ..setup };
    let open = |setup| Player::open(dir, setup, speed).map(|(player, app)| (app, Some(player)));
    Box::pin(show(setup, signals, open)).await
}

async fn show(
    setup: ScreenSetup,
    signals: &mut Signals,
    open: impl FnOnce(Setup) -> Result<(App, Option<Player>)>,
) -> Result<Farewell> {
    // Before the terminal is taken, so that no signal leaves it as it is then.
    signals.catch_terminal()?;
    let ScreenSetup { app, saved: _, events, commands, cwd, theme, themes, storage, .. } = setup;
    let ScreenSetup { library, skills, models, notifier, reporter, asks_for_status, asks_for_pictures, .. } = setup;
    let of_pictures = asks_for_pictures.filter(|question| question.is_useful());
    let pictures = storage.store.as_ref().map(Store::pictures).filter(|_| of_pictures.is_some());
    let of_pictures = of_pictures.filter(|_| pictures.is_some());
    let questions = [of_pictures.map(PictureQuestion::bytes), asks_for_status.then_some(STATUS)];
    let question = questions.into_iter().flatten().collect::<Vec<_>>().concat();
    let answered = reporter.answered();
    let terminal = Terminal::enter(app.mouse, &question, reporter)
        .context("the screen needs a terminal; use -p for plain output")?;
    let size = terminal.size()?;
    let (back, returned) = mpsc::unbounded_channel();
    let wake = || {
        let wake = back.clone();
        move || {
            let _ = wake.send(Event::Refresh);
        }
    };
    let (highlighter, gallery) = (Highlighter::new(wake()), gallery_of(pictures.clone(), wake()));
    let (app, player) = open(Setup { now: Instant::now(), size: (size.width, size.height), ..app })?;
    let replays = player.is_some();
    let mut stage = Stage {
        terminal,
        screen: Screen::new(theme, highlighter).with_pictures(gallery.clone()),
        gallery,
        app,
        player,
        themes,
        is_wrong: HashSet::new(),
        last_frame: Instant::now(),
        owed: Vec::new(),
    };
    stage.draw()?;
    let runner = EffectRunner::new(back, commands, storage, cwd, (library, skills, models), notifier);
    if !replays {
        runner.load_initial_state();
    }
    let (of_pictures, sixel) = awaited(of_pictures, &stage.gallery);
    let of_status = asks_for_status.then(|| AwaitedAnswer::of_status(status_listener(answered)));
    let input = Some(InputStream::open(of_pictures.into_iter().chain(of_status).collect(), sixel)?);
    let mut sources = Sources { events, open: !replays, returned, input, signals, ended_by: None, next: None };
    let left = main_loop(&mut stage, &mut sources, &runner).await;
    // A terminal that is gone holds none any more.
    let _ = stage.terminal.notify(&stage.gallery.take_down());
    runner.finish().await;
    left?;
    let agents = stage.app.agents();
    Ok(Farewell {
        running: agents.running().map(|agent| agent.name.clone()).collect(),
        spent: agents.spent(),
        ended_by: sources.ended_by,
        next: sources.next,
    })
}

/// Returns the pictures of a session as the terminal shows them, once it has said that it can.
fn gallery_of(pictures: Option<PictureStore>, wake: impl Fn() + Send + Sync + 'static) -> Gallery {
    pictures.map_or_else(Gallery::off, |pictures| Gallery::new(move |number| pictures.bytes(number), wake))
}

/// Returns what waits for the answer to a question about pictures.
fn awaited(question: Option<PictureQuestion>, gallery: &Gallery) -> (Option<AwaitedAnswer>, Option<SixelListener>) {
    let gallery = gallery.clone();
    match question {
        None => (None, None),
        Some(PictureQuestion::Kitty) => {
            (Some(AwaitedAnswer::of_kitty(listener(gallery, PictureProtocol::Kitty))), None)
        }
        Some(PictureQuestion::Iterm) => {
            (Some(AwaitedAnswer::of_iterm(listener(gallery, PictureProtocol::Iterm))), None)
        }
        Some(PictureQuestion::Sixel { cell }) => {
            let listener = move |answer: SixelAnswer| {
                if answer.is_able {
                    let colors = answer.colors;
                    gallery.switch_on(PictureProtocol::Sixel { colors }, cell.or_else(Terminal::cell_pixels));
                }
            };
            (None, Some(Box::new(listener)))
        }
    }
}

/// Hears whether the terminal shows pictures.
fn listener(gallery: Gallery, protocol: PictureProtocol) -> AnswerListener {
    Box::new(move |is_so| {
        if is_so {
            gallery.switch_on(protocol, Terminal::cell_pixels());
        }
    })
}

/// Hears whether the terminal keeps records of program status.
fn status_listener(answered: Arc<AtomicBool>) -> AnswerListener {
    Box::new(move |is_so| answered.store(is_so, Ordering::Relaxed))
}

struct Stage {
    terminal: Terminal,
    screen: Screen,
    gallery: Gallery,
    app: App,
    /// What plays a recorded session, if that is what is shown.
    player: Option<Player>,
    themes: Themes,
    /// Themes whose faults were reported.
    is_wrong: HashSet<String>,
    last_frame: Instant,
    /// What the app asked for and has not got yet.
    owed: Vec<Effect>,
}

struct Sources<'a> {
    events: mpsc::Receiver<Arc<LogEvent>>,
    /// Whether the engine may still send.
    open: bool,
    returned: mpsc::UnboundedReceiver<Event>,
    /// None while another program has the terminal.
    input: Option<InputStream>,
    signals: &'a mut Signals,
    ended_by: Option<EndSignal>,
    /// The session that the user goes on with.
    next: Option<String>,
}

/// How soon what has happened is to be dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    /// Stop the program first, and continue when the shell says so.
    Stop,
    /// Now: a key was pressed.
    Now,
    NextFrame,
}

async fn main_loop(stage: &mut Stage, sources: &mut Sources<'_>, runner: &EffectRunner) -> Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let urgency = sources.wait(stage.deadline(), &mut batch).await?;
        if urgency == Urgency::Stop {
            stage.hand_over(Program::Shell, sources, runner).await?;
        }
        stage.play();
        for event in batch.drain(..) {
            if let Event::Input(Input::Resize { .. }) = event {
                // Also at the size it had: a window that was made small and large again between two looks has lost
                // its content.
                stage.terminal.repaint();
                stage.gallery.measure(Terminal::cell_pixels());
            }
            stage.update(event);
        }
        if stage.carry_out(sources, runner).await?.is_break() {
            return Ok(());
        }
        let due = urgency == Urgency::Now || stage.last_frame.elapsed() >= FRAME;
        if due && stage.app.is_dirty() {
            stage.draw()?;
            if stage.carry_out(sources, runner).await?.is_break() {
                return Ok(());
            }
        }
    }
}

impl Stage {
    /// Takes in one event; what it asks for waits for [`Stage::carry_out`].
    fn update(&mut self, event: Event) {
        let effects = self.app.update(self.now(), event);
        self.owed.extend(effects);
    }

    /// Returns the present: in a replay, that of the session.
    fn now(&self) -> Instant {
        self.player.as_ref().map_or_else(Instant::now, Player::now)
    }

    /// Plays a recorded session on, by the time since the last frame.
    fn play(&mut self) {
        let passed = self.last_frame.elapsed();
        if let Some(player) = self.player.as_mut().filter(|player| player.is_playing() && passed >= FRAME) {
            player.advance(passed, &mut self.app);
        }
    }

    async fn carry_out(&mut self, sources: &mut Sources<'_>, runner: &EffectRunner) -> Result<ControlFlow<()>> {
        // What is asked for while another program has the terminal is owed after it.
        while !self.owed.is_empty() {
            for effect in std::mem::take(&mut self.owed) {
                match runner.perform(effect, &mut self.terminal)? {
                    AfterEffect::Done => {}
                    AfterEffect::Outside(program) => self.hand_over(program, sources, runner).await?,
                    AfterEffect::Theme(name) => self.set_theme(name),
                    AfterEffect::Open(session) => {
                        sources.next = Some(session);
                        return Ok(ControlFlow::Break(()));
                    }
                    AfterEffect::Playback(request) => {
                        if let Some(player) = &mut self.player {
                            player.obey(request, &mut self.app)?;
                        }
                    }
                    AfterEffect::Quit => return Ok(ControlFlow::Break(())),
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns when to wake without an event: for the next frame, or for what moves by itself.
    fn deadline(&self) -> Option<Instant> {
        if let Some(player) = &self.player {
            // Its time stands still with it.
            return (player.is_playing() || self.app.is_dirty()).then(|| self.last_frame + FRAME);
        }
        if self.app.is_dirty() { Some(self.last_frame + FRAME) } else { self.app.next_wakeup() }
    }

    /// Draws a frame and lets the app know what it showed. A frame whose outcome changes the next one (a pane that
    /// folds, a search that found nothing) leaves the app dirty.
    fn draw(&mut self) -> Result<()> {
        self.app.take_dirty();
        let (screen, app) = (&mut self.screen, &self.app);
        let mut painted = None;
        self.terminal.draw(|frame| {
            let result = screen.draw(app, frame);
            painted = Some(result.drawn);
            result.marks
        })?;
        self.last_frame = Instant::now();
        if let Some(drawn) = painted {
            self.update(Event::Drawn(drawn));
        }
        Ok(())
    }

    /// Draws in another theme; reports its faults once, however often it is tried.
    fn set_theme(&mut self, name: String) {
        let errors = self.screen.set_theme(&name, &self.themes);
        if self.is_wrong.insert(name) {
            for error in errors {
                // A notice asks for no effect.
                let _ = self.app.update(self.now(), Event::Error(error.to_string()));
            }
        }
    }

    /// Leaves the terminal to another program. Agents go on meanwhile: their events are taken in, not drawn.
    async fn hand_over(&mut self, program: Program, sources: &mut Sources<'_>, runner: &EffectRunner) -> Result<()> {
        sources.input = None;
        self.terminal.notify(&self.gallery.take_down())?;
        self.terminal.suspend();
        let mut ended = std::pin::pin!(program.run());
        let mut batch = Vec::with_capacity(BATCH);
        let mut terminate = None;
        let event = loop {
            tokio::select! {
                event = &mut ended => break event,
                signal = sources.signals.next() => match signal {
                    // The other program has the terminal, and decides when it gives it back.
                    SignalEvent::End(signal) if !signal.is_interrupt() => {
                        sources.ended_by = Some(signal);
                        terminate = Some(Event::Terminate);
                    }
                    // With the other program, as one job of the shell.
                    SignalEvent::Stop => drop(stop_here()),
                    SignalEvent::End(_) | SignalEvent::Resized => {}
                },
                count = sources.events.recv_many(&mut batch, BATCH), if sources.open => {
                    sources.open = count > 0;
                    for event in batch.drain(..) {
                        for effect in self.app.update(self.now(), Event::Log(event)) {
                            if matches!(effect, Effect::Command(_) | Effect::AgentFiles(FileRequest::List)) {
                                runner.perform(effect, &mut self.terminal)?;
                            }
                        }
                    }
                }
            }
        };
        self.terminal.resume()?;
        self.gallery.forget();
        sources.signals.forget_keys()?;
        sources.input = Some(InputStream::open(Vec::new(), None)?);
        let size = self.terminal.size()?;
        let resize = Input::Resize { width: size.width, height: size.height };
        for event in [Event::Input(resize), event] {
            for effect in self.app.update(self.now(), event) {
                runner.perform(effect, &mut self.terminal)?;
            }
        }
        if let Some(event) = terminate {
            self.update(event);
        }
        self.draw()
    }
}

impl Sources<'_> {
    /// Waits until something happens, or until the deadline.
    async fn wait(&mut self, deadline: Option<Instant>, batch: &mut Vec<Event>) -> Result<Urgency> {
        let Self { events, open, returned, input, signals, ended_by, next: _ } = self;
        let mut arrived = Vec::new();
        let sleep = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            first = next_input(input) => {
                batch.push(Event::Input(first?));
                // Keys that came together are drawn together.
                while let Some(next) = input.as_mut().and_then(InputStream::ready) {
                    batch.push(Event::Input(next?));
                }
                return Ok(Urgency::Now);
            }
            signal = signals.next() => match signal {
                SignalEvent::End(signal) => {
                    *ended_by = Some(signal);
                    batch.push(Event::Terminate);
                }
                SignalEvent::Stop => return Ok(Urgency::Stop),
                SignalEvent::Resized => {
                    let (width, height) = crossterm::terminal::size().context("the size of the terminal is unknown")?;
                    batch.push(Event::Input(Input::Resize { width, height }));
                }
            },
            Some(event) = returned.recv() => batch.push(event),
            count = events.recv_many(&mut arrived, BATCH), if *open => {
                if count == 0 {
                    *open = false;
                    batch.push(Event::Error("The engine has stopped. Press ctrl+c to quit, then restart.".to_owned()));
                }
                batch.extend(arrived.into_iter().map(Event::Log));
            }
            () = sleep => batch.push(Event::Wakeup),
        }
        Ok(Urgency::NextFrame)
    }
}

async fn next_input(input: &mut Option<InputStream>) -> Result<Input> {
    match input {
        Some(stream) => match stream.next().await {
            Some(input) => input.context("cannot read the terminal"),
            None => anyhow::bail!("the terminal was closed"),
        },
        None => std::future::pending().await,
    }
}
