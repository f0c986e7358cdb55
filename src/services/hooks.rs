//! The hooks of a session: from settings to what runs them.
//!
//! Owns the wiring. Leaves which hooks run when to `hook`, and processes to `tool`.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt as _;

use super::SessionKind;
use super::run_files::trusted_as;
use super::settings::SessionSettings;
use crate::agent::Place;
use crate::definition::skill::hooks_of_file;
use crate::definition::{Source, Tier, read_file};
use crate::hook::{HookCommand, HookExit, HookHandler, HookProcess, HookSession, HookSource, Hooks};
use crate::permission::{BroughtItem, BroughtKind, FolderTrust};
use crate::session::{MAIN, Store};
use crate::tool::{Shell, UserCommand, UserProgram, UserProgramEnd};

/// Bytes of the largest file of an agent or a skill that may have hooks.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the hooks of a session. A demonstration has none.
pub(super) fn of_session(
    settings: &SessionSettings,
    shell: &Shell,
    (store, place, kind): (Option<&Store>, &Place, SessionKind),
) -> Hooks {
    if kind == SessionKind::Demo {
        return Hooks::default();
    }
    let (shell, store) = (shell.clone(), store.cloned());
    let id = store.as_ref().and_then(|store| store.dir().file_name());
    let session = HookSession {
        id: id.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        project: place.origin.as_ref().clone(),
        transcript: Arc::new(move |agent: Option<&str>| {
            store.as_ref().map(|store| store.path_of(agent.unwrap_or(MAIN))).unwrap_or_default()
        }),
        run: Arc::new(move |process: HookProcess| {
            let shell = shell.clone();
            async move { exit_of(shell.run_user_program(program(process)).await) }.boxed()
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
    let is_small = path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= MAX_BYTES);
    let has_hooks = || std::fs::read(path).is_ok_and(|text| memchr::memmem::find(&text, b"hooks").is_some());
    if !is_small || !has_hooks() {
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
    let handlers = handlers.into_iter();
    handlers.map(|hook| trusted_as(BroughtKind::Hook, hook.trust_text(), Some(root))).collect()
}

fn program(process: HookProcess) -> UserProgram {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let project = ("CLAUDE_PROJECT_DIR".to_owned(), text(&process.project));
    let plugin = process.plugin.as_deref().map(|root| ("CLAUDE_PLUGIN_ROOT".to_owned(), text(root)));
    UserProgram {
        command: match process.command {
            HookCommand::Line(line) => UserCommand::Line(line),
            HookCommand::Program(words) => UserCommand::Words(words),
        },
        cwd: process.cwd,
        variables: std::iter::once(project).chain(plugin).collect(),
        input: process.input,
        timeout: process.timeout,
        stop: process.stop,
    }
}

fn exit_of(end: UserProgramEnd) -> HookExit {
    match end {
        UserProgramEnd::Exited { code, stdout, stderr } => HookExit::Exited { code, stdout, stderr },
        UserProgramEnd::TimedOut => HookExit::TimedOut,
        UserProgramEnd::NotStarted(why) => HookExit::NotStarted(why),
        UserProgramEnd::Stopped => HookExit::Stopped,
    }
}
