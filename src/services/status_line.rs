//! The user's own status line: a command of the settings that is told of the session and writes rows.
//!
//! Owns what it is told, and its limits. Leaves when it runs to `app`. Source of the format: the reference of Claude Code's
//! status line. Invariant: a project's command runs only once the user trusts it.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Bootstrap, SessionKind, secret_variables};
use crate::config::StatusLineCommand;
use crate::message::sanitize;
use crate::permission::{BroughtItem, ItemTrust};
use crate::session::MAIN;
use crate::tool::{Shell, UserCommand, UserProgram, UserProgramEnd};

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Rows of it that count.
const MAX_ROWS: usize = 3;

/// Runs the command.
#[derive(Clone)]
pub struct StatusLineRunner {
    /// The strongest first, each with what the user has to trust for it.
    lines: Vec<(StatusLineCommand, Option<BroughtItem>)>,
    trust: ItemTrust,
    shell: Shell,
    /// What it is told that stays the same.
    session: Map<String, Value>,
    cwd: std::path::PathBuf,
    project: String,
}

impl StatusLineRunner {
    /// Returns what runs the command of the settings; `None` if they have none.
    #[must_use]
    pub fn of(bootstrap: &Bootstrap) -> Option<Self> {
        let lines = bootstrap.settings.status_lines(&bootstrap.place.project);
        if lines.is_empty() || bootstrap.options.kind != SessionKind::Live {
            return None;
        }
        let keys = secret_variables(&bootstrap.services, &bootstrap.config);
        let shell = Shell::new(&bootstrap.options.program, &bootstrap.config.tool_environment, &keys);
        shell.set_variables(bootstrap.settings.variables(&bootstrap.trust));
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
        let trust = bootstrap.library.trust().clone();
        Some(Self { lines, trust, shell, session, cwd, project })
    }

    /// Tells it of the session, of these fields beside those that stay the same, and returns its rows: none if it fails, or
    /// waits for the user's trust.
    pub async fn run(&self, fields: Map<String, Value>) -> Vec<String> {
        let is_trusted = |item: &Option<BroughtItem>| item.as_ref().is_none_or(|item| self.trust.has(item));
        let Some((line, _)) = self.lines.iter().find(|(_, item)| is_trusted(item)) else { return Vec::new() };
        let told: Map<String, Value> = self.session.clone().into_iter().chain(fields).collect();
        let end = self.shell.run_user_program(UserProgram {
            command: UserCommand::Line(line.command.clone()),
            cwd: self.cwd.clone(),
            variables: vec![("CLAUDE_PROJECT_DIR".to_owned(), self.project.clone())],
            input: format!("{}\n", Value::Object(told)).into_bytes(),
            timeout: TIMEOUT,
            stop: CancellationToken::new(),
        });
        let UserProgramEnd::Exited { code: Some(0), stdout, .. } = end.await else { return Vec::new() };
        let indent = " ".repeat(usize::from(line.padding));
        let text = sanitize(&stdout);
        let rows = text.lines().map(str::trim_end).filter(|row| !row.is_empty()).take(MAX_ROWS);
        rows.map(|row| format!("{indent}{row}")).collect()
    }
}
