//! `Bash`: runs a shell command.
//!
//! Owns what a command sees of our environment, its time, and the words about how it ended. Leaves the processes to
//! `process` and the text to `output`. Invariant: when a call returns, or is dropped, its processes are gone.

use std::borrow::Cow;
use std::process::ExitStatus;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout};

use super::input::spec_of;
use super::limit::counted;
use super::output::Capture;
use super::path::{argument, one_line};
use super::process::{Environment, Group, read_some};
use super::{Args, Concurrency, Plan, Tool, ToolContext, ToolOutput, ToolView, git_guard, parse_input};
use crate::message::{INTERRUPTED, ResultPart, ToolSpec};
use crate::permission::{AccessKind, Preview, is_read_only};

const NAME: &str = "Bash";
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
/// Lines of the finished output on the screen.
const VIEW_LINES: usize = 20;
/// Makers of models whose keys are no business of a command.
const MAKERS: [&str; 20] = [
    "ANTHROPIC",
    "CLAUDE",
    "OPENAI",
    "OPENROUTER",
    "DEEPSEEK",
    "GEMINI",
    "GOOGLE",
    "GROQ",
    "MISTRAL",
    "XAI",
    "TOGETHER",
    "FIREWORKS",
    "COHERE",
    "PERPLEXITY",
    "CEREBRAS",
    "MOONSHOT",
    "DASHSCOPE",
    "AZURE_OPENAI",
    "AWS_BEARER",
    "BELVEDERE",
];

/// Runs commands.
pub(super) struct Bash;

/// The input.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The command line.
    #[serde(alias = "cmd")]
    command: String,
    /// Milliseconds it may take: 120000 unless given, at most 600000.
    #[serde(default)]
    timeout: Option<u64>,
    /// What it does, in five to ten words, for the user.
    #[serde(default)]
    description: Option<String>,
}

impl Tool for Bash {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        spec_of::<Input>(NAME, include_str!("../../assets/tools/Bash.md"))
    }

    fn concurrency(&self, args: &Args) -> Concurrency {
        let reads = is_read_only(argument(args, &["command", "cmd"]));
        if reads { Concurrency::Parallel } else { Concurrency::InOrder }
    }

    fn title(&self, args: &Args, _context: &ToolContext) -> String {
        one_line(argument(args, &["command", "cmd"]), 200)
    }

    fn plan<'a>(&'a self, args: &'a Args, _context: &'a ToolContext) -> BoxFuture<'a, Result<Plan, ToolOutput>> {
        async move {
            let input = checked(args)?;
            let note = input.description.filter(|words| !words.trim().is_empty());
            Ok(Plan {
                access: AccessKind::Execute { command: input.command },
                preview: note.map(|text| Preview::Note { text }),
            })
        }
        .boxed()
    }

    fn run<'a>(&'a self, args: &'a Args, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        async move {
            match checked(args) {
                Ok(input) => execute(&input, context).await,
                Err(failed) => failed,
            }
        }
        .boxed()
    }
}

fn checked(args: &Args) -> Result<Input, ToolOutput> {
    let input: Input = parse_input(NAME, args)?;
    if input.command.trim().is_empty() {
        return Err(ToolOutput::error("The command is empty. Say what to run."));
    }
    if input.command.contains('\0') {
        return Err(ToolOutput::error("The command holds a NUL character, which no shell accepts. Write it as \\0."));
    }
    Ok(input)
}

/// How a command ended.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
    Lost(std::io::Error),
}

async fn execute(input: &Input, context: &ToolContext) -> ToolOutput {
    if context.cancel.is_cancelled() {
        return ToolOutput::error(INTERRUPTED);
    }
    let mut environment = environment();
    let mut command = Cow::Borrowed(input.command.as_str());
    if is_read_only(&command) && command.trim_start().starts_with("git") {
        environment.set.extend(git_guard::read_only_environment(&context.cwd).await);
        command = Cow::Owned(git_guard::read_only_command(&command));
    }
    let (group, pipe) = match Group::spawn(&command, &context.cwd, environment) {
        Ok(started) => started,
        Err(fault) => {
            return ToolOutput::error(format!(
                "The command could not be started in {}: {fault}.",
                context.cwd.display()
            ));
        }
    };
    let time = Duration::from_millis(input.timeout.filter(|ms| *ms > 0).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT));
    let mut run = Run { group, pipe, output: Capture::default(), buffer: vec![0; 64 << 10], open: true };
    let end = run.follow(context, Instant::now() + time).await;
    let left_behind = run.finish(&end).await;
    report(&run.output, &end, left_behind, time)
}

/// Whether a command left processes running when it ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftBehind {
    Nobody,
    Someone,
}

/// A command under way.
struct Run {
    group: Group,
    pipe: Receiver,
    output: Capture,
    buffer: Vec<u8>,
    /// Whether more output can come.
    open: bool,
}

impl Run {
    /// Collects output until the command ends, its time is up, or the agent is stopped.
    async fn follow(&mut self, context: &ToolContext, deadline: Instant) -> End {
        let mut next_look = Instant::now();
        let mut unseen = false;
        let mut pulse = self.group.pulse();
        loop {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return End::Cancelled,
                () = sleep_until(deadline) => return End::TimedOut,
                status = self.group.wait() => return status.map_or_else(End::Lost, End::Exited),
                () = sleep_until(next_look), if unseen => {
                    context.progress.send_replace(self.output.last_lines(PROGRESS_LINES));
                    unseen = false;
                    next_look = Instant::now() + PROGRESS;
                }
                count = read_some(&mut self.pipe, &mut self.buffer), if self.open => {
                    self.open = count > 0;
                    self.output.push(&self.buffer[..count]);
                    unseen |= count > 0;
                    pulse.heard();
                }
                // The same text again says that the command is at work.
                () = pulse.beat() => context.progress.send_modify(|_| {}),
            }
        }
    }

    /// Takes in what is still in the pipe and ends whoever is left.
    async fn finish(&mut self, end: &End) -> LeftBehind {
        if matches!(end, End::Exited(_)) {
            self.drain().await;
            if !self.group.has_members() {
                return LeftBehind::Nobody;
            }
        }
        self.end().await;
        self.drain().await;
        LeftBehind::Someone
    }

    /// Takes in what the pipe still holds.
    async fn drain(&mut self) {
        let drain = async {
            while self.open {
                let count = read_some(&mut self.pipe, &mut self.buffer).await;
                self.open = count > 0;
                self.output.push(&self.buffer[..count]);
            }
        };
        let _ = timeout(DRAIN, drain).await;
    }

    /// Ends the processes. Whoever is told to end may have last words, and blocks if nobody reads them.
    async fn end(&mut self) {
        let Self { group, pipe, output, buffer, open } = self;
        let ending = group.end();
        tokio::pin!(ending);
        loop {
            tokio::select! {
                () = &mut ending => return,
                count = read_some(pipe, buffer), if *open => {
                    *open = count > 0;
                    output.push(&buffer[..count]);
                }
            }
        }
    }
}

fn report(output: &Capture, end: &End, left_behind: LeftBehind, time: Duration) -> ToolOutput {
    let lines = counted(output.lines(), "line");
    let seconds = time.as_secs_f32();
    let (words, short, is_error) = match end {
        End::Exited(status) => {
            let words = exit_words(*status);
            let kept = match left_behind {
                LeftBehind::Someone => "; processes left in the background were ended with it",
                LeftBehind::Nobody => "",
            };
            (format!("[{words}{kept}]"), words, !status.success())
        }
        End::TimedOut => {
            let words = format!("timed out after {seconds} s");
            (format!("[{words}; the command and its processes were ended]"), words, true)
        }
        End::Cancelled => {
            (format!("[{INTERRUPTED}: the command and its processes were ended]"), INTERRUPTED.to_owned(), true)
        }
        End::Lost(fault) => (format!("[how the command ended is not known: {fault}]"), "lost".to_owned(), true),
    };
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
        changes: Vec::new(),
    }
}

fn exit_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => nix::sys::signal::Signal::try_from(signal)
            .map_or_else(|_| format!("ended by signal {signal}"), |signal| format!("ended by {signal}")),
        (None, None) => "ended".to_owned(),
    }
}

/// Returns what the command's environment has more and less than ours.
fn environment() -> Environment {
    // Nobody sits at a terminal: nothing may page, ask, open an editor, or draw.
    let fixed = [
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
    ];
    let set = fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let removed = std::env::vars_os().map(|(name, _)| name).filter(|name| is_model_key(&name.to_string_lossy()));
    Environment { set, removed: removed.collect() }
}

/// Tells whether a variable of this name holds the key of a model's maker.
fn is_model_key(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let secret = ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word));
    secret
        && (MAKERS.iter().any(|maker| name.starts_with(maker))
            || name.starts_with("HF_")
            || name.starts_with("HUGGING"))
}
