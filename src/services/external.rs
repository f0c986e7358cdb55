//! Starting programs that are agents of their own.
//!
//! Owns what they get of our environment, and whether a project's may be started. Leaves talking to them to `external`, and
//! processes to `tool`. Invariant: what a project's file names is started only as the user has trusted it, scripts included.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::task::spawn_blocking;

use super::mcp::Served;
use super::run_files::{RunPlace, trusted_as};
use super::setup_programs::{SetupProgram, SetupPrograms};
use crate::definition::{Source, Tier, read_file};
use crate::external::{ExternalStart, LaunchExternal};
use crate::launched::LaunchedProgram;
use crate::mcp::McpSources;
use crate::message::ExternalProgram;
use crate::permission::{BroughtItem, BroughtKind};
use crate::program::SearchPath;
use crate::tool::{ProgramBounds, Shell};
use crate::whole_file::read_plain;

/// Bytes of the largest agent file that may name a program.
const MAX_BYTES: u64 = 1 << 20;

/// Returns what starts programs: below a supervisor, with the variables that commands get and those of their files.
pub(super) fn launcher(shell: Shell, sources: McpSources, programs: SetupPrograms, project: PathBuf) -> LaunchExternal {
    Arc::new(move |start| {
        let (shell, sources, programs, project) = (shell.clone(), sources.clone(), programs.clone(), project.clone());
        async move {
            let ExternalStart { program, is_projects, cwd } = start;
            let looked_up = spawn_blocking(move || {
                programs.check(&SetupProgram {
                    kind: BroughtKind::Program,
                    text: program.shown(),
                    command: program.shown(),
                    plugin: None,
                    is_projects,
                    outside: Some(true),
                })?;
                filled(program, &sources, is_projects, &project)
            });
            let looked_up = looked_up.await.map_err(io::Error::other)?;
            let ExternalProgram { command, args, env } = looked_up.map_err(io::Error::other)?;
            let (program, stream, log) = shell.serve((command, args), env, (cwd, &ProgramBounds::Outside)).await?;
            Ok(LaunchedProgram { stream, log: Box::new(log), process: Box::new(Served(program)) })
        }
        .boxed()
    })
}

/// Fills the variables in, and finds the program where no project may have put it.
fn filled(
    program: ExternalProgram,
    sources: &McpSources,
    is_projects: bool,
    project: &Path,
) -> Result<ExternalProgram, String> {
    let fill = |text: &String| sources.fill(text, is_projects);
    let env = program.env.iter().map(|(name, value)| Ok((name.clone(), fill(value)?)));
    let env = env.collect::<Result<_, String>>()?;
    let command = if program.command.contains('/') {
        program.command
    } else {
        let found = SearchPath::of_process(&[project]).find(&program.command);
        let found = found.ok_or_else(|| format!("there is no program `{}` in your PATH", program.command))?;
        found.to_string_lossy().into_owned()
    };
    Ok(ExternalProgram { command, env, ..program })
}

/// Returns what a program of the project is trusted as.
fn item(program: &ExternalProgram, project: &Path) -> BroughtItem {
    trusted_as(BroughtKind::Program, program.shown(), (&program.shown(), Some(RunPlace::at(project))))
}

/// Returns the program that an agent file of the project names. Blocks.
pub(super) fn of_file(path: &Path, kind: BroughtKind, project: &Path) -> Option<BroughtItem> {
    if kind != BroughtKind::Agent {
        return None;
    }
    read_plain(path, MAX_BYTES).ok().filter(|text| memchr::memmem::find(text, b"acp").is_some())?;
    let parsed = read_file(Source { tier: Tier::ProjectClaude, path: Some(path.to_path_buf()) });
    parsed.definition?.acp.map(|program| item(&program, project))
}
