//! The binary: parses the command line and starts a front end.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use belvedere::acp;
use belvedere::cli::program_flags::ProgramFlags;
use belvedere::cli::{
    Cli, EarlierSession, GivenAgents, Subcommands, agents, config, doctor, export, import, keys, mcp, models,
    permissions, replay, shell,
};
use belvedere::headless::{
    self, AnswerSchema, Beginning, ControlInput, Controlled, Headless, InputFormat, MessageOptions, OutputFormat, Plain,
};
use belvedere::launched::{CallingProgram, ProgramRequest};
use belvedere::message::{self, BudgetLimit, MessageId, UserText};
use belvedere::permission::PermissionMode;
use belvedere::services::{
    self, Bootstrap, EVENT_CAPACITY, EndSignal, FrontEnd, Options, Resume, SessionKind, Signals, Started,
};
use belvedere::session::log::LogGuard;
use belvedere::session::{Secrets, Store};
use belvedere::subagent::Command;
use belvedere::tool;
use belvedere::tui;
use tokio::sync::mpsc;

fn main() -> ExitCode {
    if let Some(code) = tool::supervise_if_asked().or_else(tool::read_document_if_asked) {
        return code;
    }
    guard_process();
    let secrets = Secrets::default();
    headless::report_panics(secrets.clone());
    let cli = Cli::of(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let code = answer(cli, &secrets).unwrap_or_else(|(code, error)| {
        // It may quote an argument, which need not be written by the user.
        let words = format!("{error:#}");
        headless::eprintln_line(&format!("belvedere: {}", message::sanitize(&secrets.mask(&words))));
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
        if let Err(error) = kept {
            headless::eprintln_line(&format!(
                "belvedere: commands may see more of this process than they should: {error}"
            ));
        }
    }
}

/// Returns the file of this program. On Linux by what the system keeps of it, also if an upgrade has replaced the file.
fn program() -> anyhow::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().context("cannot find Belvedere's own executable")
}

/// Does what the command line asks for. An error says with which status to end.
fn answer(cli: Cli, secrets: &Secrets) -> Result<u8, (u8, anyhow::Error)> {
    let usage = |error| (headless::exit::USAGE, error);
    let failed = |error| (headless::exit::FAILED, error);
    match cli.command.clone() {
        None | Some(Subcommands::Demo) => {}
        Some(command) => return act(command, cli, secrets),
    }
    ProgramFlags::check(&cli).map_err(usage)?;
    let front_end = match (cli.program.input_format, cli.print, cli.plain) {
        (InputFormat::StreamJson, ..) if cli.program.permission_prompt_tool.is_some() => FrontEnd::Program,
        (InputFormat::StreamJson, ..) | (_, true, _) => FrontEnd::Headless,
        (_, false, true) => FrontEnd::Plain,
        (_, false, false) => FrontEnd::Screen,
    };
    if cli.program.input_format == InputFormat::StreamJson {
        return drive(cli, front_end, secrets);
    }
    let demo = matches!(cli.command, Some(Subcommands::Demo)).then(|| services::DEMO_REQUEST.to_owned());
    let (prompt, format) = (demo.or_else(|| cli.prompt.clone()), cli.output_format.unwrap_or_default());
    let chooses = matches!(cli.earlier.resume, Some(None));
    let (options, talk) = options_and_talk(cli, front_end, secrets).map_err(usage)?;
    let bootstrap = services::bootstrap(options).map_err(usage)?;
    match front_end {
        FrontEnd::Headless => {
            // A thread reads the input.
            may_begin(&bootstrap, false)?;
            services::check_trust(&bootstrap).map_err(usage)?;
            check_limits().map_err(failed)?;
            let input = Some(io::stdin()).filter(|input| !input.is_terminal());
            let prompt = headless::with_piped(prompt.as_deref(), input, headless::FIRST_BYTE_TIMEOUT).map_err(usage)?;
            run(print(bootstrap, prompt, format, talk)).and_then(|printed| printed).map_err(failed)
        }
        // It has begun above.
        FrontEnd::Program => Ok(headless::exit::USAGE),
        FrontEnd::Plain => {
            may_begin(&bootstrap, io::stdin().is_terminal())?;
            run(plain(bootstrap, prompt)).and_then(|told| told).map_err(failed)
        }
        FrontEnd::Screen => {
            may_begin(&bootstrap, true)?;
            screens(bootstrap, prompt, chooses).map_err(failed)
        }
    }
}

/// Checks that settings let a session begin: what is lost of them needs somebody who goes on without it.
fn may_begin(bootstrap: &Bootstrap, is_attended: bool) -> Result<(), (u8, anyhow::Error)> {
    let usage = |error| (headless::exit::USAGE, error);
    if !is_attended {
        services::check_guards(bootstrap).map_err(usage)?;
    }
    if bootstrap.config.sandbox.limits.is_required {
        run(services::check_sandbox(bootstrap)).and_then(|checked| checked).map_err(usage)?;
    }
    Ok(())
}

/// Carries out a subcommand.
fn act(command: Subcommands, cli: Cli, secrets: &Secrets) -> Result<u8, (u8, anyhow::Error)> {
    let usage = |error| (headless::exit::USAGE, error);
    let failed = |error| (headless::exit::FAILED, error);
    let prepared = |cli, front_end| options(cli, front_end, secrets).and_then(services::bootstrap).map_err(usage);
    let quiet = |cli| prepared(cli, FrontEnd::Headless);
    match command {
        Subcommands::Acp(_) => {
            let options = options(cli, FrontEnd::Program, secrets).map_err(usage)?;
            run(serve_editor(options)).and_then(|served| served).map_err(failed)
        }
        Subcommands::Agents(args) => run(agents::run(quiet(cli)?, args)).map_err(failed)?,
        Subcommands::Completions(args) => shell::completions(&args),
        Subcommands::Config(args) => run(config::run(quiet(cli)?, args)).map_err(failed)?,
        Subcommands::Doctor(args) => run(doctor::run(quiet(cli)?, args)).map_err(failed)?,
        Subcommands::Export(args) => export::run(&quiet(cli)?, &args),
        Subcommands::Import(args) => import::run(&quiet(cli)?, &args),
        Subcommands::Keys(args) => keys::run(&quiet(cli)?, &args),
        Subcommands::Man(args) => shell::man(&args),
        Subcommands::Mcp(args) => run(mcp::run(quiet(cli)?, args)).map_err(failed)?,
        Subcommands::Models(args) => run(models::run(quiet(cli)?, args)).map_err(failed)?,
        Subcommands::Permissions(args) => run(permissions::run(quiet(cli)?, args)).map_err(failed)?,
        Subcommands::Replay(args) => {
            run(play(prepared(cli, FrontEnd::Screen)?, args)).and_then(|played| played).map_err(failed)
        }
        // Plays on the screen, as a session does.
        Subcommands::Demo => Ok(headless::exit::OK),
    }
}

/// Shows one session after the other, as the user chooses, and returns the exit status of the last.
fn screens(bootstrap: Bootstrap, prompt: Option<String>, chooses: bool) -> anyhow::Result<u8> {
    let options = bootstrap.options.clone();
    let mut log = None;
    let mut shown = run(show(bootstrap, prompt, chooses, &mut log))??;
    while let Some(wanted) = shown.next {
        let resume = Some(Resume { wanted: Some(wanted), fork: false });
        let bootstrap = services::bootstrap(Options { resume, ..options.clone() })?;
        shown = run(show(bootstrap, None, false, &mut log))??;
    }
    Ok(shown.status)
}

/// What came of one session on the screen.
struct Shown {
    status: u8,
    /// The session to go on with.
    next: Option<String>,
}

impl Shown {
    fn last(status: u8) -> Self {
        Self { status, next: None }
    }
}

/// Serves an editor over standard input and output.
async fn serve_editor(options: Options) -> anyhow::Result<u8> {
    let mut signals = catch_signals()?;
    if io::stdin().is_terminal() {
        headless::eprintln_line("belvedere: waiting for an editor; see docs/editors.md. ctrl-d ends it");
    }
    Ok(acp::run(options, (tokio::io::stdin(), tokio::io::stdout()), &mut signals).await)
}

fn options(cli: Cli, front_end: FrontEnd, secrets: &Secrets) -> anyhow::Result<Options> {
    let flags = match &cli.command {
        Some(Subcommands::Acp(args)) => args.session.clone(),
        _ => cli.session,
    };
    let directory = match cli.directory {
        Some(directory) => directory,
        None => std::env::current_dir().context("cannot find the current folder; pass one with --cd")?,
    };
    let given = cli.setup.read(&directory)?;
    let has_id = given.session_id.is_some();
    let bypass = flags.dangerously_skip_permissions.then_some(PermissionMode::BypassPermissions);
    Ok(Options {
        given,
        directory,
        model: flags.model,
        fallback_model: flags.fallback_model,
        effort: flags.effort,
        mode: flags.permission_mode.or(bypass),
        allowed: flags.allowed_tools.into_iter().flat_map(|list| list.0).collect(),
        denied: flags.disallowed_tools.into_iter().flat_map(|list| list.0).collect(),
        // To list agents is not to use them.
        trust: cli.trust || matches!(cli.command, Some(Subcommands::Agents(_))),
        max_turns: cli.max_turns,
        budget: BudgetLimit { tokens: flags.budget_tokens, usd: flags.budget_usd },
        front_end,
        plugins: cli.plugins,
        agents: cli.agents.map(|given| given.0).unwrap_or_default(),
        agent: flags.agent,
        program: program()?,
        secrets: secrets.clone(),
        resume: resume(cli.earlier, has_id)?,
        kind: if matches!(cli.command, Some(Subcommands::Demo)) { SessionKind::Demo } else { SessionKind::Live },
    })
}

/// Returns which session is to go on.
fn resume(earlier: EarlierSession, has_id: bool) -> anyhow::Result<Option<Resume>> {
    let EarlierSession { continue_last: last, resume, fork_session: fork } = earlier;
    let may_name = !has_id || fork || !(last || resume.is_some());
    anyhow::ensure!(may_name, "--session-id is for a new session; with --continue or --resume, add --fork-session");
    let wanted = resume.flatten();
    anyhow::ensure!(last || wanted.is_some() || !fork, "--fork-session needs --continue, or --resume with an ID");
    Ok((last || wanted.is_some()).then_some(Resume { wanted, fork }))
}

/// Runs the program to its end. Two threads suffice: the work is waiting, and what computes goes to threads of its own.
fn run<T>(program: impl Future<Output = T>) -> anyhow::Result<T> {
    check_limits()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let result = runtime.block_on(program);
    // A thread that hangs in the system, on a dead network drive for example, must not hold up the end.
    runtime.shutdown_timeout(SHUTDOWN);
    Ok(result)
}

/// Checks that the system lets the program have what it cannot do without.
fn check_limits() -> anyhow::Result<()> {
    check_files().context("cannot open the files it needs; raise `ulimit -n`")?;
    tool::check_threads(MIN_THREADS).context("cannot start threads; close other programs, or raise `ulimit -u`")
}

/// Checks that the system lets the program have the open files it needs at least.
fn check_files() -> io::Result<()> {
    let open = || std::fs::File::open("/dev/null");
    (0..MIN_FILES).map(|_| open()).collect::<io::Result<Vec<_>>>().map(drop)
}

/// Those of the runtime and of one tool call. The runtime has no words for fewer.
const MIN_FILES: usize = 16;

/// Two for the runtime, two for files, one each for the session, the log, standard output, input and the watch over agent
/// files.
const MIN_THREADS: usize = 9;

/// How long threads may take to end with the program.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// How long a session may take to end, which has its own limits for agents and disk.
const ENDING: Duration = Duration::from_secs(20);

/// How long after the first signal another one is part of the same request.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// Lets the program at standard input drive a conversation.
fn drive(mut cli: Cli, front_end: FrontEnd, secrets: &Secrets) -> Result<u8, (u8, anyhow::Error)> {
    let usage = |error| (headless::exit::USAGE, error);
    let failed = |error| (headless::exit::FAILED, error);
    check_limits().map_err(failed)?;
    let mut input = ControlInput::open().map_err(failed)?;
    let Beginning { agents, hooks, said, servers, prompt, appended, schema } = input.beginning().map_err(usage)?;
    if let Some(json) = agents {
        let given = GivenAgents::read(&json).map_err(|why| usage(anyhow::anyhow!(why)))?;
        cli.agents.get_or_insert_default().0.extend(given.0);
    }
    cli.program.json_schema = cli.program.json_schema.or(schema);
    for line in said {
        headless::eprintln_line(&format!("belvedere: {line}"));
    }
    let (mut options, talk) = options_and_talk(cli, front_end, secrets).map_err(usage)?;
    let (program, requests) = CallingProgram::new();
    let given = &mut options.given;
    given.servers.extend(servers);
    (given.hooks, given.program) = (hooks, Some(program.clone()));
    given.prompts.instead = prompt.or(given.prompts.instead.take());
    if let Some(appended) = appended {
        given.prompts.append(&appended);
    }
    let bootstrap = services::bootstrap(options).map_err(usage)?;
    may_begin(&bootstrap, false)?;
    services::check_trust(&bootstrap).map_err(usage)?;
    run(converse(bootstrap, (input, program, requests), talk)).and_then(|answered| answered).map_err(failed)
}

/// How this program and another one talk.
struct Talk {
    flags: ProgramFlags,
    /// What answers have to fit.
    schema: Option<AnswerSchema>,
}

/// Reads the flags. The main agent is told of the form that its answers have to have.
fn options_and_talk(cli: Cli, front_end: FrontEnd, secrets: &Secrets) -> anyhow::Result<(Options, Talk)> {
    let flags = cli.program.clone();
    let mut options = options(cli, front_end, secrets)?;
    let schema = flags.schema(&options.directory)?;
    if let Some(schema) = &schema {
        options.given.prompts.append(&schema.instructions());
    }
    Ok((options, Talk { flags, schema }))
}

fn message_options(program: &ProgramFlags, bootstrap: &Bootstrap) -> MessageOptions {
    MessageOptions {
        cwd: bootstrap.place.cwd.as_ref().clone(),
        mode: bootstrap.config.permission_mode,
        catalog: bootstrap.library.catalog().clone(),
        skills: bootstrap.skills.catalog().clone(),
        partial: program.include_partial_messages,
        replay: program.replay_user_messages,
    }
}

/// The program that drives a conversation: what it says, and what it is asked.
type Driver = (ControlInput, CallingProgram, mpsc::UnboundedReceiver<ProgramRequest>);

async fn converse(bootstrap: Bootstrap, driver: Driver, talk: Talk) -> anyhow::Result<u8> {
    let mut signals = catch_signals()?;
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let (messages, schema) = (message_options(&talk.flags, &bootstrap), talk.schema);
    let ceiling = bootstrap.config.permission_mode;
    let (input, program, requests) = driver;
    let hooks_applied = bootstrap.settings.runs_given_hooks();
    let pictures = bootstrap.store.as_ref().map(Store::pictures).unwrap_or_default();
    let Started { conversation, session, kept } = services::start(bootstrap, listener).await;
    let controlled = Controlled {
        conversation,
        events,
        input,
        session,
        messages,
        ceiling,
        pictures,
        schema,
        requests,
        program,
        hooks_applied,
    };
    let code = headless::run_controlled(controlled, &mut signals).await;
    warn(kept.finish().await);
    Ok(code)
}

async fn print(bootstrap: Bootstrap, prompt: UserText, format: OutputFormat, talk: Talk) -> anyhow::Result<u8> {
    let mut signals = catch_signals()?;
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let (messages, schema) = (message_options(&talk.flags, &bootstrap), talk.schema);
    let Started { conversation, session, kept } = services::start(bootstrap, listener).await;
    let headless = Headless { conversation, events, session, format, messages, schema };
    let code = headless::run(headless, prompt, &mut signals).await;
    warn(kept.finish().await);
    Ok(code)
}

async fn plain(bootstrap: Bootstrap, request: Option<String>) -> anyhow::Result<u8> {
    let mut signals = catch_signals()?;
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let (catalog, saved) = (bootstrap.library.catalog().clone(), bootstrap.saved.clone());
    let (store, cwd) = (bootstrap.store.clone(), bootstrap.place.cwd.as_ref().clone());
    let sessions_of =
        bootstrap.paths.as_ref().map(|paths| (paths.state_dir.clone(), bootstrap.place.project.as_ref().clone()));
    let (memory, skills) = (bootstrap.memory_reader(), bootstrap.skills.catalog().clone());
    let Started { conversation, kept, .. } = services::start(bootstrap, listener).await;
    let (commands, orders) = mpsc::unbounded_channel();
    let plain = Plain {
        conversation,
        events,
        commands,
        orders,
        catalog,
        skills,
        sessions_of,
        memory,
        saved,
        store,
        cwd,
        request,
    };
    let code = headless::run_plain(plain, &mut signals).await;
    warn(kept.finish().await);
    Ok(code)
}

/// Runs the screen. The first frame does not wait for the session, which starts beside it.
async fn show(
    bootstrap: Bootstrap,
    request: Option<String>,
    chooses: bool,
    log: &mut Option<LogGuard>,
) -> anyhow::Result<Shown> {
    anyhow::ensure!(io::stdout().is_terminal(), "the screen needs a terminal; use -p to answer without one");
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let (commands, orders) = mpsc::unbounded_channel();
    if let Some(text) = request {
        commands.send(Command::Send { id: MessageId::default(), text: UserText::typed(text) })?;
    }
    let mut signals = catch_signals()?;
    let setup = tui::screen_setup(&bootstrap, events, commands, chooses.then_some("sessions"))?;
    tui::terminal::install_panic_hook(bootstrap.log_file());
    let session = tokio::spawn(async move {
        let Started { conversation, mut kept, .. } = services::start(bootstrap, listener).await;
        let log = kept.take_log();
        conversation.drive(orders).await;
        (kept.finish().await, log)
    });
    let farewell = tui::run(setup, &mut signals).await;
    let mut hung_up = None;
    tokio::select! {
        // Whatever it still waits for has limits of its own, unless it never came to begin.
        ended = tokio::time::timeout(ENDING, session) => if let Ok(ended) = ended {
            let (lost, started) = ended.context("the session broke")?;
            warn(lost);
            *log = log.take().or(started);
        },
        // A second signal does not wait.
        signal = second_signal(&mut signals, &mut hung_up) => return Ok(Shown::last(signal.exit_status())),
    }
    let farewell = match (farewell, hung_up) {
        // Without a terminal there is nobody to tell of the error.
        (Err(_), Some(signal)) => return Ok(Shown::last(signal.exit_status())),
        (farewell, _) => farewell?,
    };
    if !farewell.running.is_empty() {
        headless::eprintln_line(&format!("Stopped on exit: {}.", farewell.running.join(", ")));
    }
    let status = farewell.ended_by.map_or(headless::exit::OK, EndSignal::exit_status);
    Ok(Shown { status, next: farewell.next })
}

/// Plays a recorded session on the screen. No session is started for it.
async fn play(bootstrap: Bootstrap, args: replay::ReplayArgs) -> anyhow::Result<u8> {
    anyhow::ensure!(io::stdout().is_terminal(), "a replay needs a terminal; use `belvedere export` to read a session");
    let dir = replay::folder(&bootstrap, &args)?;
    let mut signals = catch_signals()?;
    // Nobody sends events, and nobody obeys.
    let ((_, events), (commands, _)) = (mpsc::channel(1), mpsc::unbounded_channel());
    let setup = tui::screen_setup(&bootstrap, events, commands, None)?;
    tui::terminal::install_panic_hook(bootstrap.log_file());
    let farewell = tui::replay_session(setup, &mut signals, &dir, args.speed).await?;
    Ok(farewell.ended_by.map_or(headless::exit::OK, EndSignal::exit_status))
}

/// Tells the user at the end of the program what is wrong.
fn warn(words: Option<String>) {
    if let Some(words) = words {
        headless::eprintln_line(&format!("belvedere: {words}"));
    }
}

/// Waits for a signal by which somebody asks again for the end. One that comes with the first is not that, and neither is
/// the hangup of a terminal that was closed, which may come after the error of reading from it.
async fn second_signal(signals: &mut Signals, hung_up: &mut Option<EndSignal>) -> EndSignal {
    let begun = tokio::time::Instant::now();
    loop {
        let signal = signals.next_end().await;
        if signal.is_hangup() {
            *hung_up = Some(signal);
        } else if begun.elapsed() >= SAME_REQUEST {
            return signal;
        }
    }
}

fn catch_signals() -> anyhow::Result<Signals> {
    Signals::catch().context("cannot catch signals")
}
