//! Programs of the user's set-up as they are started: hooks, status lines, MCP servers, programs that are agents.
//!
//! Owns whether a project's is still what the user trusts, looked at each time, and where each runs. Leaves processes to
//! `tool`. Invariants: what a project brings runs only with the content that the user has trusted; nothing that a command in
//! the sandbox could have written runs outside of it, unless its entry says `outside`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::command_words::{Loading, loading};
use super::run_files::{RunPlace, run_files, trusted_as};
use super::setup_notes::note_places;
use crate::git::Repository;
use crate::permission::{BroughtKind, ItemTrust};
use crate::tool::ProgramBounds;

/// Starts programs of the user's set-up. Copies share what the user trusts.
#[derive(Clone)]
pub(super) struct SetupPrograms {
    trust: ItemTrust,
    root: Arc<PathBuf>,
}

/// A program that is about to be started.
pub(super) struct SetupProgram {
    pub(super) kind: BroughtKind,
    /// What the user has read of it.
    pub(super) text: String,
    /// What it runs.
    pub(super) command: String,
    /// The folder of the plugin that it belongs to.
    pub(super) plugin: Option<Arc<Path>>,
    pub(super) is_projects: bool,
    /// Whether it runs outside of the sandbox, or inside, if its entry says so.
    pub(super) outside: Option<bool>,
}

/// What a program works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorksOn {
    /// The files of the folder: it has to run there.
    Files,
    /// What it is told, wherever it runs.
    Messages,
}

/// Where a program runs.
pub(super) struct ProgramStart {
    pub(super) cwd: PathBuf,
    pub(super) bounds: ProgramBounds,
}

impl SetupPrograms {
    /// Returns what starts those of a project.
    pub(super) fn new(trust: ItemTrust, root: Arc<PathBuf>) -> Self {
        Self { trust, root }
    }

    /// Checks a program that is about to be started in a folder, and says where it runs.
    ///
    /// # Errors
    /// Returns that it is not what the user trusts.
    pub(super) async fn start(
        &self,
        program: SetupProgram,
        (cwd, works_on, has_network): (PathBuf, WorksOn, bool),
    ) -> Result<ProgramStart, String> {
        let programs = self.clone();
        let looking = move || {
            programs.check(&program)?;
            Ok(programs.place(&program, cwd, works_on, has_network))
        };
        spawn_blocking(looking).await.map_err(|error| error.to_string())?
    }

    /// Checks that a project's program is what the user trusts, with the files that it runs. Blocks.
    ///
    /// # Errors
    /// Returns that it is not.
    pub(super) fn check(&self, program: &SetupProgram) -> Result<(), String> {
        let place = RunPlace { root: &self.root, plugin: program.plugin.as_deref() };
        let item = || trusted_as(program.kind, program.text.clone(), (&program.command, Some(place)));
        if program.is_projects && !self.trust.is_blind() && !self.trust.has(&item()) {
            self.trust.report_refusal();
            return Err("the folder has changed what it runs since you trusted it; /trust shows it".to_owned());
        }
        Ok(())
    }

    /// Returns `true` if a program that works in the project runs outside of the sandbox. Blocks.
    pub(super) fn is_outside(&self, program: &SetupProgram) -> bool {
        let start = self.place(program, self.root.as_ref().clone(), WorksOn::Files, true);
        start.bounds == ProgramBounds::Outside
    }

    fn place(&self, program: &SetupProgram, cwd: PathBuf, works_on: WorksOn, has_network: bool) -> ProgramStart {
        let place = RunPlace { root: &self.root, plugin: program.plugin.as_deref() };
        let inside = |cwd: PathBuf| {
            let project = self.project_of(&cwd);
            let notes = note_places(&program.command, place, &project);
            ProgramStart { cwd, bounds: ProgramBounds::Inside { project, has_network, notes } }
        };
        match program.outside {
            Some(true) => return ProgramStart { cwd, bounds: ProgramBounds::Outside },
            Some(false) => return inside(cwd),
            None if program.is_projects => return inside(cwd),
            None => {}
        }
        if !run_files(&program.command, place).is_empty() {
            return inside(cwd);
        }
        match (loading(&program.command), works_on) {
            (Loading::Elsewhere, _) => ProgramStart { cwd, bounds: ProgramBounds::Outside },
            (Loading::Fetched, WorksOn::Messages) => {
                ProgramStart { cwd: self.folder_elsewhere(), bounds: ProgramBounds::Outside }
            }
            (Loading::Fetched | Loading::Here, _) => inside(cwd),
        }
    }

    /// Returns the root of what an agent works on that works in this folder: the project, or its own worktree.
    fn project_of(&self, cwd: &Path) -> PathBuf {
        if cwd.starts_with(self.root.as_path()) {
            return self.root.as_ref().clone();
        }
        Repository::around(cwd).ok().flatten().map_or_else(|| cwd.to_path_buf(), |found| found.top)
    }

    /// Returns a folder in which no command of the project writes.
    fn folder_elsewhere(&self) -> PathBuf {
        let home = std::env::home_dir().filter(|home| home.is_dir());
        let is_apart = |home: &PathBuf| !home.starts_with(self.root.as_path());
        home.filter(is_apart).unwrap_or_else(|| PathBuf::from("/"))
    }
}
