//! The binary: parses the command line and starts a front end.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use belvedere::cli::{Cli, Subcommands, agents};
use belvedere::headless::{self, Headless, Plain};
use belvedere::message::{self, BudgetLimit};
use belvedere::services::{self, EVENT_CAPACITY, EndSignal, EndSignals, Front, Play, Settled, Started, Wanted};
use belvedere::subagent::Command;
use belvedere::tool;
use belvedere::tui;
use tokio::sync::mpsc;

fn main() -> ExitCode {
    if let Some(code) = tool::supervise_if_asked() {
        return code;
    }
    guard_process();
    let code =
        answer(Cli::of(std::env::args_os()).unwrap_or_else(|fault| fault.exit())).unwrap_or_else(|(code, fault)| {
            // It may quote an argument, which need not be written by the user.
            let _ = writeln!(io::stderr(), "belvedere: {}", message::plain(&format!("{fault:#}")));
            code
        });
    ExitCode::from(code)
}

/// Keeps what this process holds out of reach of the commands it runs, and makes it the parent of those that lose theirs.
fn guard_process() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::prctl::{set_child_subreaper, set_dumpable};
        // Nobody but root may read the environment or the memory of this process, or open its files.
        let kept = set_dumpable(false).and_then(|()| set_child_subreaper(true));
        if let Err(fault) = kept {
            let _ =
                writeln!(io::stderr(), "belvedere: commands can see more of this program than they should: {fault}");
        }
    }
}

/// Returns the file of this program. On Linux by what the system keeps of it, also if an upgrade has replaced the file.
fn program() -> anyhow::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().context("the file of this program cannot be found")
}

/// Does what the command line asks for. An error says with which status to end.
fn answer(cli: Cli) -> Result<u8, (u8, anyhow::Error)> {
    let usage = |fault| (headless::exit::USAGE, fault);
    let failed = |fault| (headless::exit::FAILED, fault);
    if let Some(Subcommands::Agents(args)) = cli.command.clone() {
        let settled = services::settle(wanted(cli, Front::Headless).map_err(usage)?).map_err(usage)?;
        return run(agents::run(settled, args)).map_err(failed)?;
    }
    let front = match (cli.print, cli.plain) {
        (true, _) => Front::Headless,
        (false, true) => Front::Plain,
        (false, false) => Front::Screen,
    };
    let demo = matches!(cli.command, Some(Subcommands::Demo)).then(|| services::DEMO_REQUEST.to_owned());
    let (prompt, format) = (demo.or_else(|| cli.prompt.clone()), cli.output_format);
    let settled = services::settle(wanted(cli, front).map_err(usage)?).map_err(usage)?;
    match front {
        Front::Headless => {
            let input = Some(io::stdin()).filter(|input| !input.is_terminal());
            let prompt = headless::with_piped(prompt.as_deref(), input, headless::PATIENCE).map_err(usage)?;
            run(print(settled, prompt, format)).and_then(|printed| printed).map_err(failed)
        }
        Front::Plain => run(plain(settled, prompt)).and_then(|told| told).map_err(failed),
        Front::Screen => run(show(settled, prompt)).and_then(|shown| shown).map_err(failed),
    }
}

fn wanted(cli: Cli, front: Front) -> anyhow::Result<Wanted> {
    let directory = match cli.directory {
        Some(directory) => directory,
        None => std::env::current_dir().context("the current folder cannot be found; name one with --cd")?,
    };
    Ok(Wanted {
        directory,
        model: cli.model,
        mode: cli.permission_mode,
        grants: cli.allowed_tools.into_iter().flat_map(|list| list.0).collect(),
        max_turns: cli.max_turns,
        budget: BudgetLimit { tokens: cli.budget_tokens, usd: cli.budget_usd },
        front,
        agents: cli.agents.map(|given| given.0).unwrap_or_default(),
        agent: cli.agent,
        program: program()?,
        play: if matches!(cli.command, Some(Subcommands::Demo)) { Play::Demo } else { Play::Work },
    })
}

/// Runs the program to its end. Two threads suffice: the work is waiting, and what computes goes to threads of its own.
fn run<T>(program: impl Future<Output = T>) -> anyhow::Result<T> {
    check_threads()
        .context("the program cannot start its threads; end other programs, or raise the limit `ulimit -u`")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the program cannot start its threads")?;
    let result = runtime.block_on(program);
    // A thread that hangs in the system, on a dead network drive for example, must not hold up the end.
    runtime.shutdown_timeout(SHUTDOWN);
    Ok(result)
}

/// Checks that the system lets the program have the threads it needs at least: the runtime has no words for it.
fn check_threads() -> io::Result<()> {
    let gate = std::sync::Mutex::new(());
    let closed = gate.lock();
    std::thread::scope(|scope| {
        let wait = || drop(gate.lock());
        let started =
            (0..MIN_THREADS).try_for_each(|_| std::thread::Builder::new().spawn_scoped(scope, wait).map(drop));
        drop(closed);
        started
    })
}

/// Two for the runtime, two for files, one each for the session, standard output, input and the watch over agent files.
const MIN_THREADS: usize = 8;

/// How long threads may take to end with the program.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// How long a session may take to end, which has its own limits for agents and disk.
const ENDING: Duration = Duration::from_secs(20);

async fn print(settled: Settled, prompt: String, format: headless::OutputFormat) -> anyhow::Result<u8> {
    let mut signals = catch_signals()?;
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let Started { conversation, session, kept } = services::start(settled, listener).await;
    let code = headless::run(Headless { conversation, events, session, format }, prompt, &mut signals).await;
    kept.finish().await;
    Ok(code)
}

async fn plain(settled: Settled, request: Option<String>) -> anyhow::Result<u8> {
    let mut signals = catch_signals()?;
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let Started { conversation, kept, .. } = services::start(settled, listener).await;
    let code = headless::run_plain(Plain { conversation, events, request }, &mut signals).await;
    kept.finish().await;
    Ok(code)
}

/// Runs the screen. The first frame does not wait for the session, which starts beside it.
async fn show(settled: Settled, request: Option<String>) -> anyhow::Result<u8> {
    anyhow::ensure!(io::stdout().is_terminal(), "the screen needs a terminal; use -p to answer without one");
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let (commands, orders) = mpsc::channel(COMMAND_CAPACITY);
    if let Some(text) = request {
        commands.send(Command::Send { text }).await?;
    }
    let mut signals = catch_signals()?;
    let setup = tui::screen_setup(&settled, events, commands)?;
    tui::terminal::install_panic_hook(settled.log_file());
    let session = tokio::spawn(async move {
        let Started { conversation, kept, .. } = services::start(settled, listener).await;
        conversation.drive(orders).await;
        kept.finish().await;
    });
    let farewell = tui::run(setup, &mut signals).await;
    tokio::select! {
        // Whatever it still waits for has limits of its own, unless it never came to begin.
        ended = tokio::time::timeout(ENDING, session) => if let Ok(ended) = ended {
            ended.context("the session broke")?;
        },
        // A second signal does not wait.
        signal = signals.next() => return Ok(signal.exit_status()),
    }
    let farewell = farewell?;
    if !farewell.running.is_empty() {
        let _ = writeln!(io::stderr(), "Stopped with the program: {}.", farewell.running.join(", "));
    }
    Ok(farewell.ended_by.map_or(headless::exit::OK, EndSignal::exit_status))
}

fn catch_signals() -> anyhow::Result<EndSignals> {
    EndSignals::catch().context("the program cannot catch signals")
}

/// Requests of the screen that may wait for the session.
const COMMAND_CAPACITY: usize = 64;
