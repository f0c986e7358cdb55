//! `Bash`: runs a shell command.
//!
//! Owns a command's time and the words about how it ended. Leaves the processes to `process`, what they see of our
//! environment to `environment`, the text to `output`, and commands that go on by themselves to `background`. Invariant: when a call returns its processes are gone, but for
//! those it names; when it is dropped, they are soon.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout};

use super::background::CommandEvent;
use super::background::follow::{FollowOptions, Launched, follow};
use super::file::path::{one_line, revealed_line};
use super::limit::counted;
use super::process::command_watch::CommandWatch;
use super::process::guard::Guard;
use super::process::inside::Inside;
use super::process::output::Capture;
use super::process::remarks::{add_remarks, exit_words};
use super::process::{Group, Remains, Shell};
use super::snapshot::{ProjectStates, StateWatch, why_lasting};
use super::{Concurrency, Plan, RefusedInside, SandboxUse, Tool, ToolContext, ToolOutput, ToolView};
use crate::message::{HostPort, INTERRUPTED, ResultPart, sanitize};
use crate::permission::{AccessKind, Confinement, LineStatus, Preview, ToolKind, is_reading};
use crate::program::SearchPath;
use crate::sandbox::{Intrusion, SandboxPolicy, SandboxProxy, refused_line};

/// Milliseconds a command may take unless told otherwise.
const DEFAULT_TIMEOUT: u64 = 120_000;
/// Milliseconds a command may be given.
const MAX_TIMEOUT: u64 = 600_000;
/// How long output may still arrive after the command itself has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// Time between two looks at the running command's output.
const PROGRESS: Duration = Duration::from_millis(50);
/// Lines of such a look.
const PROGRESS_LINES: usize = 10;
/// Characters of what the sandbox has refused.
const REFUSED_CHARS: usize = 200;
/// Characters of a command line by which people are told of it.
const NAME_CHARS: usize = 50;
/// Bytes of a pattern once it is compiled.
const MAX_PATTERN: usize = 1 << 20;
/// Lines of the finished output on the screen.
const VIEW_LINES: usize = 20;

pub(super) struct Bash(pub(super) Shell);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BashInput {
    /// The command line.
    command: String,
    /// Timeout in milliseconds: 120000 by default, at most 600000.
    #[serde(default)]
    timeout: Option<u64>,
    /// What the command does, in five to ten words, for the user.
    #[serde(default)]
    description: Option<String>,
    /// Runs it outside the sandbox, which the user has to allow: only for what cannot work inside.
    #[serde(default, rename = "dangerouslyDisableSandbox")]
    outside: bool,
    /// Returns at once while the command goes on, such as a server or a watcher. Without a timeout it has no time limit.
    #[serde(default)]
    run_in_background: bool,
    /// For a command in the background: you get a message when it prints the first line that matches this regular
    /// expression.
    #[serde(default)]
    notify_on: Option<String>,
}

/// A command as it was judged.
pub(super) struct PreparedCommand {
    line: String,
    bounds: Bounds,
    time: Duration,
    /// What is wanted of it if it goes on in the background.
    background: Option<FollowOptions>,
}

/// What a command is kept to.
enum Bounds {
    None,
    /// In a sandbox that writes nothing, too, where there is one.
    Guard(Guard, Option<SandboxPolicy>),
    Inside(Inside),
}

impl Bounds {
    async fn of(shell: &Shell, line: &str, (context, outside): (&ToolContext, bool)) -> Self {
        match Guard::of(line, context).await {
            Some(guard) => match Inside::reading(shell, &context.project).await {
                // The guard knows nothing of what rules keep from commands.
                None if shell.denied().forbid_reading() => Self::None,
                inside => Self::Guard(guard, inside.map(|inside| inside.policy)),
            },
            None if outside => Self::None,
            None => Inside::of(shell, context).await.map_or(Self::None, Self::Inside),
        }
    }

    fn confinement(&self, context: &ToolContext) -> Confinement {
        match self {
            Self::None => Confinement::None,
            Self::Guard(..) => Confinement::Guard,
            Self::Inside(_) if context.sandbox == SandboxUse::ReadOnly => Confinement::ReadOnlySandbox,
            Self::Inside(_) => Confinement::Sandbox,
        }
    }
}

impl Tool for Bash {
    type Input = BashInput;
    type Prepared = PreparedCommand;

    const NAME: &'static str = "Bash";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/Bash.md");
    const KIND: ToolKind = ToolKind::Execute;

    fn concurrency(&self, input: &BashInput) -> Concurrency {
        if is_reading(&input.command) { Concurrency::Parallel } else { Concurrency::InOrder }
    }

    fn title(&self, input: &BashInput, _context: &ToolContext) -> String {
        let line = revealed_line(&input.command, 200);
        if input.run_in_background { format!("{line}  (in the background)") } else { line }
    }

    async fn prepare(&self, input: BashInput, context: &ToolContext) -> Result<(Plan, PreparedCommand), ToolOutput> {
        let line = input.command;
        if line.trim().is_empty() {
            return Err(ToolOutput::error("The command is empty. Give a command to run."));
        }
        if line.contains('\0') {
            return Err(ToolOutput::error(
                "The command contains a NUL character, which no shell accepts. Write it as \\0.",
            ));
        }
        let pattern = pattern(input.notify_on.as_deref(), input.run_in_background)?;
        let given = input.timeout.filter(|ms| *ms > 0);
        let bounds = Bounds::of(&self.0, &line, (context, input.outside)).await;
        if self.0.is_closed() && matches!(bounds, Bounds::None | Bounds::Guard(_, None)) {
            let words = "Commands run in the sandbox only here (`sandbox.allowUnsandboxedCommands`). Run it inside, or \
                         continue without it.";
            return Err(ToolOutput::error(words));
        }
        let note = input.description.filter(|words| !words.trim().is_empty());
        let note = match note {
            _ if !input.run_in_background => note,
            Some(words) => Some(format!("in the background, until it is stopped: {words}")),
            None => Some("in the background, until it is stopped".to_owned()),
        };
        let confinement = bounds.confinement(context);
        let lasting = why_lasting(&line, confinement, context).await;
        let unsandboxed = self.0.why_unsandboxed((confinement, input.outside), context).await;
        let plan = Plan {
            preview: note.map(|text| Preview::Note { text }),
            lasting,
            unsandboxed,
            ..Plan::new(AccessKind::Execute { command: line.clone(), confinement })
        };
        let background =
            input.run_in_background.then(|| FollowOptions { time: given.map(Duration::from_millis), pattern });
        let ms = given.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
        Ok((plan, PreparedCommand { line, bounds, time: Duration::from_millis(ms), background }))
    }

    async fn run(&self, command: PreparedCommand, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        match command.background {
            Some(_) => go_on(&self.0, command, context).await,
            None => execute(&self.0, command, context).await,
        }
    }
}

/// Reads the pattern of the line that wakes the agent.
fn pattern(written: Option<&str>, in_background: bool) -> Result<Option<Regex>, ToolOutput> {
    let Some(written) = written.filter(|written| !written.is_empty()) else { return Ok(None) };
    if !in_background {
        return Err(ToolOutput::error("notify_on is for commands in the background. Set run_in_background too."));
    }
    let built = RegexBuilder::new(written).size_limit(MAX_PATTERN).build();
    built.map(Some).map_err(|error| ToolOutput::error(format!("notify_on is no regular expression: {error}")))
}

/// Starts a command that goes on by itself, and says how it is reached.
async fn go_on(shell: &Shell, command: PreparedCommand, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    context.check_cancelled()?;
    let PreparedCommand { line, bounds, background, .. } = command;
    let host = context.background.clone();
    let admitted = host.commands.admit(host.owner, &line, false).map_err(ToolOutput::error)?;
    let id = admitted.id.clone();
    let launched = match launch(shell, bounds, (&line, &id, true), context).await {
        Ok(launched) => launched,
        Err(failed) => {
            host.commands.withdraw(&id);
            return Err(failed);
        }
    };
    let wanted = background.unwrap_or_default();
    let until = if host.owner.is_main() { "the session ends" } else { "you end" };
    let mut text = format!(
        "{id} is running in the background. TaskOutput with task_id {id} returns its new output, TaskStop stops it. It \
         ends when {until} at the latest; a message tells you when it has ended."
    );
    if wanted.pattern.is_some() {
        text.push_str(
            " Another one tells you of the first line that matches: go on with other work, or end your turn.",
        );
    }
    let started = CommandEvent::Started { command_id: id.clone(), command: line, by_user: false };
    host.listener.on_command(started).await;
    tokio::spawn(follow(host, admitted, launched, wanted));
    Ok(ToolOutput::text(text, format!("{id} in the background")))
}

/// Starts a command within its bounds. By its name people are told of it; it may go on beside other things.
async fn launch(
    shell: &Shell,
    bounds: Bounds,
    (line, name, is_long): (&str, &str, bool),
    context: &ToolContext,
) -> Result<Launched, ToolOutput> {
    let failed = |error: std::io::Error| {
        ToolOutput::error(format!("The command could not be started in {}: {error}.", context.cwd.display()))
    };
    let command = OsString::from(line);
    let mut kept = None;
    let (command, environment, policy, hosts, watch) = match bounds {
        Bounds::None => (command, shell.environment(), None, None, CommandWatch::outside(shell, line).await),
        Bounds::Guard(guard, policy) => {
            let guard = kept.insert(guard);
            (guard.command.clone(), guard.environment.clone(), policy, None, CommandWatch::Unwatched)
        }
        Bounds::Inside(inside) => {
            let (inside, watch) = inside.enter(name, is_long).await.map_err(failed)?;
            (command, inside.environment, Some(inside.policy), Some(inside.hosts), watch)
        }
    };
    let search = SearchPath::of_process(&context.untrusted());
    let starting = Group::start(shell, command, context.cwd.to_path_buf(), environment, search, policy);
    let started = tokio::select! {
        () = context.cancel.cancelled() => return Err(ToolOutput::error(INTERRUPTED)),
        started = starting => started,
    };
    let (mut group, pipe) = started.map_err(failed)?;
    let is_inside = hosts.is_some();
    let proxy =
        hosts.zip(group.take_listener()).and_then(|(hosts, listener)| SandboxProxy::serve(listener, hosts).ok());
    Ok(Launched { group, pipe, proxy, watch, is_inside, guard: kept })
}

pub(super) enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
    /// It was ended for what it put where it may not write.
    Intruded,
    Lost,
}

async fn execute(shell: &Shell, command: PreparedCommand, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    context.check_cancelled()?;
    let PreparedCommand { line, bounds, time, .. } = command;
    let name = format!("`{}`", one_line(&line, NAME_CHARS));
    let states = StateWatch::begin(&line, bounds.confinement(context), context).await;
    let Launched { group, pipe, proxy, watch, is_inside, guard: _guard } =
        launch(shell, bounds, (&line, &name, false), context).await?;
    let mut run = Run { group, output: Output::new(pipe, context.result_chars) };
    let end = run.follow(context, Instant::now() + time, &watch).await;
    let remains = run.finish(&end).await;
    let mut output = report(&run.output.text, &end, remains, time);
    add_remarks(&mut output, shell, (&line, &run.output.text.text()), &context.cwd);
    watch.end().await;
    if let Some(states) = states {
        output.taken_down = states.end().await;
    }
    output.uncovered = context.freshness.writers.states().and_then(ProjectStates::take_failure);
    if is_inside {
        let intrusions = watch.take_found();
        let hosts = proxy.map(|proxy| proxy.refused()).unwrap_or_default();
        judge(&mut output, Traces { line: &line, intrusions, hosts, printed: run.output.text.text() });
    }
    Ok(output)
}

/// What a command in the sandbox has left behind.
struct Traces<'a> {
    line: &'a str,
    /// What appeared where it may not write, each with what else ran in the sandbox.
    intrusions: Vec<(Intrusion, Vec<String>)>,
    /// Hosts that were refused.
    hosts: Vec<HostPort>,
    printed: String,
}

/// Looks at what a command in the sandbox has come to: what appeared at protected places was moved aside, and a failure may
/// be the sandbox's doing, also where the exit status hides it.
fn judge(output: &mut ToolOutput, traces: Traces<'_>) {
    let Traces { line, intrusions, hosts, printed } = traces;
    let mut tell = |words: &str| {
        let text = sanitize(&format!("\n[{words}]")).into_owned();
        output.content.push(ResultPart::Text { text });
    };
    if let Some(words) = Intrusion::listed(&intrusions) {
        tell(&words);
    }
    let status = if output.is_error { None } else { Some(LineStatus::of(line)) };
    if !hosts.is_empty() {
        let hosts = RefusedInside::Hosts(hosts);
        tell(&format!("the sandbox refused hosts: {}", hosts.words()));
        // One that has ended well can do without them.
        output.refused_inside = Some(hosts).filter(|_| status != Some(LineStatus::Own));
    } else if let Some(found) = refused_line(&printed) {
        let text = revealed_line(found.text, REFUSED_CHARS);
        // What the line itself names is what it looks for.
        let is_named = line.to_ascii_lowercase().contains(found.phrase);
        let refused = if found.is_network { RefusedInside::Network } else { RefusedInside::Other };
        match status {
            None => output.refused_inside = Some(refused(text)),
            Some(LineStatus::Hidden) if found.is_last && !is_named => output.refused_inside = Some(refused(text)),
            Some(LineStatus::Hidden | LineStatus::Unclear) if !is_named => {
                tell(&format!("the sandbox may have refused something, which the exit status would not tell: {text}"));
            }
            Some(_) => {}
        }
    }
    // What else ran in the sandbox may have made it, too.
    if let Some((Intrusion { path, .. }, _)) = intrusions.iter().find(|(_, others)| others.is_empty()) {
        output.is_error = true;
        output.refused_inside = Some(RefusedInside::Other(format!("it made {}", path.display())));
    }
}

struct Run {
    group: Group,
    output: Output,
}

/// What a command prints, as it arrives.
struct Output {
    pipe: Receiver,
    text: Capture,
    buffer: Vec<u8>,
    /// Whether more can come.
    open: bool,
}

impl Output {
    fn new(pipe: Receiver, result_chars: usize) -> Self {
        Self { pipe, text: Capture::new(result_chars), buffer: vec![0; 64 << 10], open: true }
    }

    /// Takes in what arrives next, and returns `false` at the end. A pipe that breaks has ended too. May be given up and
    /// called again at any time.
    async fn read(&mut self) -> bool {
        let count = self.pipe.read(&mut self.buffer).await.unwrap_or(0);
        self.text.push(&self.buffer[..count]);
        self.open = count > 0;
        self.open
    }

    async fn drain(&mut self) {
        let drain = async { while self.open && self.read().await {} };
        let _ = timeout(DRAIN, drain).await;
    }
}

impl Run {
    /// Collects output until the command ends, its time is up, or the agent is stopped.
    async fn follow(&mut self, context: &ToolContext, deadline: Instant, watch: &CommandWatch) -> End {
        let mut next_look = Instant::now();
        let mut unseen = false;
        let mut pulse = self.group.pulse();
        loop {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return End::Cancelled,
                () = sleep_until(deadline) => return End::TimedOut,
                () = watch.goes_too_far() => return End::Intruded,
                status = self.group.wait() => return status.map_or(End::Lost, End::Exited),
                () = sleep_until(next_look), if unseen => {
                    context.progress.send_replace(self.output.text.last_lines(PROGRESS_LINES));
                    unseen = false;
                    next_look = Instant::now() + PROGRESS;
                }
                more = self.output.read(), if self.output.open => {
                    unseen |= more;
                    pulse.heard();
                }
                // The same text again says that the command is at work.
                () = pulse.beat() => context.progress.send_modify(|_| {}),
            }
        }
    }

    /// Takes in what is still in the pipe and ends the processes that are left.
    async fn finish(&mut self, end: &End) -> Remains {
        match end {
            End::Exited(_) => self.output.drain().await,
            // It would go on with what it is ended for.
            End::Intruded => self.group.kill_at_once(),
            _ => {}
        }
        let remains = self.end().await;
        self.output.drain().await;
        remains
    }

    /// Ends the processes. A process that is to end may still print, and blocks if nobody reads that.
    async fn end(&mut self) -> Remains {
        let ending = self.group.end();
        tokio::pin!(ending);
        loop {
            tokio::select! {
                remains = &mut ending => return remains,
                _ = self.output.read(), if self.output.open => {}
            }
        }
    }
}

/// How a command ended.
pub(super) struct Fate {
    /// All of it, for the model.
    words: String,
    pub(super) short: String,
    pub(super) is_error: bool,
}

pub(super) fn ending_words(end: &End, remains: Remains, time: Duration) -> Fate {
    let seconds = time.as_secs_f32();
    let fate = |all: &str| match remains {
        Remains::Nothing | Remains::Ended => all.to_owned(),
        Remains::Unended(count) => {
            format!("{} could not be killed and may still be running", counted(count, "process"))
        }
        Remains::Unsupervised => "the command killed its supervisor; the processes found were killed".to_owned(),
    };
    let all_ended = fate("the command and its processes were killed");
    let (words, short, is_error) = match end {
        End::Exited(status) => {
            let words = exit_words(*status);
            let kept = match remains {
                Remains::Nothing => String::new(),
                _ => format!("; {}", fate("its background processes were killed")),
            };
            (format!("[{words}{kept}]"), words, !status.success())
        }
        End::TimedOut => {
            let words = format!("timed out after {seconds} s");
            (format!("[{words}; {all_ended}]"), words, true)
        }
        End::Cancelled => (format!("[{INTERRUPTED}: {all_ended}]"), INTERRUPTED.to_owned(), true),
        End::Intruded => {
            let words = "ended for what appeared where it may not write".to_owned();
            (format!("[{words}; {all_ended}]"), words, true)
        }
        End::Lost => (format!("[no exit status; {all_ended}]"), "lost".to_owned(), true),
    };
    Fate { words, short, is_error }
}

fn report(output: &Capture, end: &End, remains: Remains, time: Duration) -> ToolOutput {
    let lines = counted(output.lines(), "line");
    let Fate { words, short, is_error } = ending_words(end, remains, time);
    let mut text = output.text();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&words);
    let view =
        Some(output.last_lines(VIEW_LINES)).filter(|text| !text.is_empty()).map(|text| ToolView::Output { text });
    ToolOutput {
        content: vec![ResultPart::Text { text }],
        is_error,
        summary: format!("{short}, {lines}"),
        view,
        ..ToolOutput::default()
    }
}
