//! The hooks of a session: from settings to what runs them.
//!
//! Owns the wiring. Leaves which hooks run when to `hook`, whether and where they run to `setup_programs`, and processes to
//! `tool`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::http_hooks::HttpHookMeans;
use super::run_files::{RunPlace, trusted_as};
use super::settings::SessionSettings;
use super::setup_programs::{SetupProgram, SetupPrograms, WorksOn};
use super::{SessionKind, http_hooks, tool_hooks};
use crate::agent::Place;
use crate::definition::skill::hooks_of_file;
use crate::definition::{Source, Tier, read_file};
use crate::hook::{
    HookCommand, HookEvent, HookExit, HookHandler, HookNotice, HookProcess, HookSession, HookSource, Hooks,
};
use crate::launched::{CallingProgram, UnansweredRequest};
use crate::mcp::McpServers;
use crate::permission::{BroughtItem, BroughtKind, FolderTrust};
use crate::sandbox::{Sandbox, refused_line};
use crate::session::{MAIN, Store};
use crate::tool::{ProgramBounds, Shell, UserCommand, UserProgram, UserProgramEnd};
use crate::whole_file::read_plain;

/// Bytes of the largest file of an agent or a skill that may have hooks.
const MAX_BYTES: u64 = 1 << 20;
/// Stands before the words of a hook that was refused something.
const INSIDE: &str = "the sandbox may have refused it (with `\"outside\": true`, its entry runs outside)";

/// Returns the hooks of a session. A demonstration has none.
pub(super) fn of_session(
    settings: &SessionSettings,
    (shell, programs, keys): (&Shell, SetupPrograms, Vec<String>),
    (program, servers): (Option<&CallingProgram>, &McpServers),
    (store, place, kind): (Option<&Store>, &Place, SessionKind),
) -> Hooks {
    if kind == SessionKind::Demo {
        return Hooks::default();
    }
    let (shell, program, store) = (shell.clone(), program.cloned(), store.cloned());
    let (servers, means) = (servers.clone(), HttpHookMeans { lists: settings.http_hooks.clone(), keys });
    let id = store.as_ref().and_then(|store| store.dir().file_name());
    let session = HookSession {
        id: id.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        project: place.origin.as_ref().clone(),
        transcript: Arc::new(move |agent: Option<&str>| {
            store.as_ref().map(|store| store.path_of(agent.unwrap_or(MAIN))).unwrap_or_default()
        }),
        run: Arc::new(move |process: HookProcess| {
            let (shell, program, programs) = (shell.clone(), program.clone(), programs.clone());
            let (servers, means) = (servers.clone(), means.clone());
            async move {
                match &process.handler.command {
                    HookCommand::Callback(id) => HookCallback::of(id.clone(), process).exit(program.as_ref()).await,
                    HookCommand::Http(request) => http_hooks::exit_of(&request.clone(), process, &means).await,
                    HookCommand::Tool(call) => tool_hooks::exit_of(&call.clone(), process, &servers).await,
                    HookCommand::Unrunnable { why } => HookExit::Unjudged(why.clone()),
                    HookCommand::Question(_) => HookExit::Unjudged("no model answers here".to_owned()),
                    HookCommand::Line(line) => run(&shell, &programs, (UserCommand::Line(line.clone()), process)).await,
                    HookCommand::Program(words) => {
                        run(&shell, &programs, (UserCommand::Words(words.clone()), process)).await
                    }
                }
            }
            .boxed()
        }),
    };
    Hooks::new(settings.hooks.clone(), settings.reach, session)
}

/// Lets the project's hooks run as far as the folder is trusted.
pub(super) fn put_in_force(hooks: &Hooks, trust: &FolderTrust) {
    let trusted = trust.brings.iter().filter(|item| item.kind == BroughtKind::Hook && trust.uses(item));
    hooks.trust(trusted.map(|item| item.text.clone()));
}

/// Returns the hooks that an agent file, a skill or a command of the project names. Blocks.
pub(super) fn of_file(path: &Path, kind: BroughtKind, root: &Path) -> Vec<BroughtItem> {
    let has_hooks = |text: Vec<u8>| memchr::memmem::find(&text, b"hooks").is_some();
    if !read_plain(path, MAX_BYTES).is_ok_and(has_hooks) {
        return Vec::new();
    }
    let source = HookSource {
        place: path.to_string_lossy().into_owned().into(),
        is_projects: true,
        is_managed: false,
        plugin: None,
    };
    let handlers: Vec<HookHandler> = match kind {
        BroughtKind::Agent => {
            let parsed = read_file(Source { tier: Tier::ProjectClaude, path: Some(path.to_path_buf()) });
            let blocks = parsed.definition.map(|definition| definition.hooks).unwrap_or_default();
            blocks.iter().flat_map(|(hooks, _)| HookHandler::read(hooks, &source).0).collect()
        }
        BroughtKind::Skill | BroughtKind::Command => {
            hooks_of_file(path).map(|hooks| HookHandler::read_of_skill(&hooks, &source).0).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let is_plugin = |folder: &&Path| folder.starts_with(root) && folder.join(".claude-plugin").is_dir();
    let place = RunPlace { root, plugin: path.ancestors().find(is_plugin) };
    handlers.iter().map(|hook| item(hook, place)).collect()
}

/// Returns what a hook of the project is trusted as. Blocks.
pub(super) fn item(hook: &HookHandler, place: RunPlace<'_>) -> BroughtItem {
    trusted_as(BroughtKind::Hook, hook.trust_text(), (&hook.command.program_line(), Some(place)))
}

fn program_of(hook: &HookHandler) -> SetupProgram {
    SetupProgram {
        kind: BroughtKind::Hook,
        text: hook.trust_text(),
        command: hook.command.to_string(),
        plugin: hook.source.plugin.clone(),
        is_projects: hook.source.is_projects,
        outside: hook.outside,
    }
}

/// Lists the hooks, and says where their commands run. Blocks.
pub(super) fn notices(hooks: &Hooks, programs: &SetupPrograms) -> Vec<HookNotice> {
    hooks.notices(|hook| Some(programs.is_outside(&program_of(hook))))
}

/// Runs a hook's command where it belongs, if it is what the user trusts.
async fn run(shell: &Shell, programs: &SetupPrograms, (command, process): (UserCommand, HookProcess)) -> HookExit {
    let HookProcess { handler, cwd, project, input, stop, first_line } = process;
    let start = match programs.start(program_of(&handler), (cwd, WorksOn::Files, true)).await {
        Ok(start) => start,
        Err(why) => return HookExit::Untrusted(format!("a hook does not run ({}): {why}", handler.command.shown())),
    };
    let is_inside = matches!(start.bounds, ProgramBounds::Inside { .. }) && shell.sandbox().is_some_and(Sandbox::is_on);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let plugin = handler.source.plugin.as_deref().map(|root| ("CLAUDE_PLUGIN_ROOT".to_owned(), text(root)));
    let program = UserProgram {
        command,
        cwd: start.cwd,
        bounds: start.bounds,
        is_users: !handler.source.is_projects,
        // By the second, scripts notice that an agent has them run.
        variables: [("CLAUDE_PROJECT_DIR".to_owned(), text(&project)), ("CLAUDECODE".to_owned(), "1".to_owned())]
            .into_iter()
            .chain(plugin)
            .collect(),
        input,
        timeout: handler.timeout,
        stop,
        first_line: Some(first_line),
    };
    let exit = exit_of(shell.run_user_program(program).await);
    if is_inside { explain_refusal(exit) } else { exit }
}

/// Says of a hook that has failed in the sandbox what may be why, if that is what it sounds like.
fn explain_refusal(exit: HookExit) -> HookExit {
    match exit {
        HookExit::Exited { code: Some(code), stdout, stderr } if ![0, 2].contains(&code) => {
            let is_refused = refused_line(&stderr).is_some_and(|line| !line.is_network);
            let stderr = if is_refused { format!("{INSIDE}: {stderr}") } else { stderr };
            HookExit::Exited { code: Some(code), stdout, stderr }
        }
        exit => exit,
    }
}

/// A hook that the calling program runs.
struct HookCallback {
    id: String,
    input: Vec<u8>,
    timeout: Duration,
    stop: CancellationToken,
}

impl HookCallback {
    fn of(id: String, HookProcess { handler, input, stop, .. }: HookProcess) -> Self {
        Self { id, input, timeout: handler.timeout, stop }
    }

    /// Asks the program. What it answers is read as what a command prints. A guard of tools that can no longer be asked
    /// says no.
    async fn exit(self, program: Option<&CallingProgram>) -> HookExit {
        let input: Value = serde_json::from_slice(&self.input).unwrap_or_default();
        let is_guard = input["hook_event_name"] == HookEvent::PreToolUse.name();
        let body = json!({
            "subtype": "hook_callback",
            "callback_id": self.id,
            "tool_use_id": input.get("tool_use_id"),
            "input": input,
        });
        let asking = async {
            match program {
                Some(program) => program.ask(body).await,
                None => Err(UnansweredRequest::Gone),
            }
        };
        let exited = |code, stdout, stderr| HookExit::Exited { code: Some(code), stdout, stderr };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => HookExit::Stopped,
            answer = asking => match answer {
                Ok(output) => exited(0, output.to_string(), String::new()),
                Err(why @ UnansweredRequest::Gone) if is_guard => exited(2, String::new(), why.to_string()),
                Err(why) => HookExit::Failed(why.to_string()),
            },
            () = sleep(self.timeout) => HookExit::TimedOut,
        }
    }
}

fn exit_of(end: UserProgramEnd) -> HookExit {
    match end {
        UserProgramEnd::Exited { code, stdout, stderr } => HookExit::Exited { code, stdout, stderr },
        UserProgramEnd::TimedOut => HookExit::TimedOut,
        UserProgramEnd::NotStarted(why) => HookExit::NotStarted(why),
        UserProgramEnd::WentTooFar => {
            HookExit::Failed("it was ended for what it put where nothing in the sandbox may write".to_owned())
        }
        UserProgramEnd::Stopped => HookExit::Stopped,
    }
}
