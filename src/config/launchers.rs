//! One table below `[launchers]`, as it is written.
//!
//! Owns its keys and the two forms of its command. Leaves what makes a launcher to `message`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::message::{ExternalProgram, LauncherFolder, LauncherSettings, is_variable};
use crate::permission::shell_words;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LauncherEntry {
    command: CommandLine,
    #[serde(default)]
    folder: LauncherFolder,
    at_once: Option<usize>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`command` is a line, or a list of its words")]
enum CommandLine {
    Line(String),
    Words(Vec<String>),
}

impl LauncherEntry {
    /// Returns the launcher under its name; else what is wrong with it.
    pub(super) fn named(self, name: &str) -> Result<LauncherSettings, String> {
        if let Some(name) = self.env.keys().find(|name| !is_variable(name)) {
            return Err(format!("`env` sets `{name}`, which is no variable"));
        }
        let words = match self.command {
            CommandLine::Line(line) => shell_words(&line),
            CommandLine::Words(words) => words,
        };
        let mut words = words.into_iter();
        let command = words.next().unwrap_or_default();
        let program = ExternalProgram { command, args: words.collect(), env: self.env.into_iter().collect() };
        LauncherSettings::new(name, program, self.folder, self.at_once)
    }
}
