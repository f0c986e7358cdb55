//! One table below `[launchers]`, as it is written.
//!
//! Owns its keys and the two forms of its command. Leaves what makes a launcher to `message`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::message::{ExternalProgram, LauncherFolder, LauncherSettings, RsyncFolder, is_variable};
use crate::permission::shell_words;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LauncherEntry {
    command: CommandLine,
    #[serde(default)]
    folder: FolderWay,
    to: Option<String>,
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    at_once: Option<usize>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FolderWay {
    #[default]
    None,
    Git,
    Rsync,
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
        let folder = match (self.folder, self.to) {
            (FolderWay::Rsync, Some(to)) => {
                let (include, exclude) = (self.include.unwrap_or_default(), self.exclude.unwrap_or_default());
                LauncherFolder::Rsync(RsyncFolder::new(&to, include, exclude)?)
            }
            (FolderWay::Rsync, None) => return Err("`folder = \"rsync\"` needs `to`, such as \"big:/tmp\"".to_owned()),
            (_, Some(_)) => return Err("`to` goes with `folder = \"rsync\"`".to_owned()),
            _ if self.include.is_some() || self.exclude.is_some() => {
                return Err("`include` and `exclude` go with `folder = \"rsync\"`".to_owned());
            }
            (FolderWay::None, None) => LauncherFolder::None,
            (FolderWay::Git, None) => LauncherFolder::Git,
        };
        let words = match self.command {
            CommandLine::Line(line) => shell_words(&line),
            CommandLine::Words(words) => words,
        };
        let mut words = words.into_iter();
        let command = words.next().unwrap_or_default();
        let program = ExternalProgram { command, args: words.collect(), env: self.env.into_iter().collect() };
        LauncherSettings::new(name, program, folder, self.at_once)
    }
}
