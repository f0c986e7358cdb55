//! The user's own status line: a command of the settings that is told of the session and writes rows.
//!
//! Owns what it is told, and its limits. Leaves when it runs to `app`. Source of the format: the reference of Claude Code's
//! status line. Invariant: a project's command runs only as the user trusts it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::settings::status_line_text;
use super::setup_programs::{SetupProgram, SetupPrograms, WorksOn};
use super::{Bootstrap, SessionKind};
use crate::config::StatusLineCommand;
use crate::message::sanitize;
use crate::permission::BroughtKind;
use crate::session::MAIN;
use crate::tool::{Shell, UserCommand, UserProgram, UserProgramEnd};

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Rows of it that count.
const MAX_ROWS: usize = 3;

/// Runs the command.
#[derive(Clone)]
pub struct StatusLineRunner {
    /// The strongest first, and whether each comes with the project.
    lines: Vec<(StatusLineCommand, bool)>,
    programs: SetupPrograms,
    /// That of the session, once it has started.
    shell: Arc<OnceLock<Shell>>,
    /// What it is told that stays the same.
    session: Map<String, Value>,
    cwd: std::path::PathBuf,
    project: String,
}

impl StatusLineRunner {
    /// Returns what runs the command of the settings; `None` if they have none.
    #[must_use]
    pub fn of(bootstrap: &Bootstrap) -> Option<Self> {
        let lines = bootstrap.settings.status_lines();
        if lines.is_empty() || bootstrap.options.kind != SessionKind::Live {
            return None;
        }
        let shell = bootstrap.shell.clone();
        let (cwd, project) =
            (bootstrap.place.cwd.as_ref().clone(), bootstrap.place.origin.to_string_lossy().into_owned());
        let store = bootstrap.store.as_ref();
        let id = store.and_then(|store| store.dir().file_name()).map(|name| name.to_string_lossy().into_owned());
        let told = json!({
            "hook_event_name": "Status",
            "session_id": id.unwrap_or_default(),
            "transcript_path": store.map(|store| store.path_of(MAIN).to_string_lossy().into_owned()).unwrap_or_default(),
            "cwd": cwd.to_string_lossy(),
            "workspace": {"current_dir": cwd.to_string_lossy(), "project_dir": project, "added_dirs": []},
            "version": env!("CARGO_PKG_VERSION"),
            "output_style": {"name": "default"},
        });
        let session = if let Value::Object(fields) = told { fields } else { Map::new() };
        let programs = SetupPrograms::new(bootstrap.library.trust().clone(), bootstrap.place.project.clone());
        Some(Self { lines, programs, shell, session, cwd, project })
    }

    /// Tells it of the session, of these fields beside those that stay the same, and returns its rows: none if it fails, or
    /// waits for the user's trust.
    pub async fn run(&self, fields: Map<String, Value>) -> Vec<String> {
        let Some(shell) = self.shell.get() else { return Vec::new() };
        let mut first = None;
        for (line, is_projects) in &self.lines {
            let program = SetupProgram {
                kind: BroughtKind::Hook,
                text: status_line_text(line),
                command: line.command.clone(),
                plugin: None,
                is_projects: *is_projects,
                outside: line.outside,
            };
            if let Ok(start) = self.programs.start(program, (self.cwd.clone(), WorksOn::Messages, false)).await {
                first = Some((line, *is_projects, start));
                break;
            }
        }
        let Some((line, is_projects, start)) = first else { return Vec::new() };
        let told: Map<String, Value> = self.session.clone().into_iter().chain(fields).collect();
        let end = shell.run_user_program(UserProgram {
            command: UserCommand::Line(line.command.clone()),
            cwd: start.cwd,
            bounds: start.bounds,
            is_users: !is_projects,
            variables: vec![("CLAUDE_PROJECT_DIR".to_owned(), self.project.clone())],
            input: format!("{}\n", Value::Object(told)).into_bytes(),
            timeout: TIMEOUT,
            stop: CancellationToken::new(),
            first_line: None,
        });
        let UserProgramEnd::Exited { code: Some(0), stdout, .. } = end.await else { return Vec::new() };
        let indent = " ".repeat(usize::from(line.padding));
        let text = sanitize(&stdout);
        let rows = text.lines().map(str::trim_end).filter(|row| !row.is_empty()).take(MAX_ROWS);
        rows.map(|row| format!("{indent}{row}")).collect()
    }
}
