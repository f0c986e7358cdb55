//! All themes there are to choose from: those of the program, and those of the user.
//!
//! Owns their names, and which of two themes of one name is meant: the user's. Leaves finding and reading files to
//! `tui::setup`. Invariant: a theme with faults is a theme all the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::sheet::{BUILTIN, ThemeSheet};
use super::{ColorDepth, Theme};
use crate::message::Diagnostic;

/// Faults of one theme that are reported one by one.
const MAX_FAULTS: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeFile {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct Themes {
    files: BTreeMap<String, ThemeFile>,
    fitting: &'static str,
}

/// The name that stands for the theme that fits the terminal.
pub const AUTO: &str = "auto";

impl Default for Themes {
    fn default() -> Self {
        Self::new(BTreeMap::new(), "dark")
    }
}

impl Themes {
    /// Returns the themes of the program together with those of the user. `fitting` names the one that fits the
    /// terminal.
    #[must_use]
    pub fn new(files: BTreeMap<String, ThemeFile>, fitting: &'static str) -> Self {
        Self { files, fitting }
    }

    /// Returns all names: the one for what fits, those of the program, those of the user.
    pub fn names(&self) -> Vec<String> {
        let builtin = BUILTIN.iter().map(|(name, _)| (*name).to_owned());
        let users = self.files.keys().filter(|name| *name != AUTO && BUILTIN.iter().all(|(known, _)| known != name));
        std::iter::once(AUTO.to_owned()).chain(builtin).chain(users.cloned()).collect()
    }

    /// Returns a theme for a terminal of this depth and what is wrong with its file; `None` if there is none of this
    /// name. Without colours every theme is the same one, of modifiers only.
    pub fn load(&self, name: &str, depth: ColorDepth) -> Option<(Theme, Vec<Diagnostic>)> {
        let name = if name == AUTO { self.fitting } else { name };
        let (sheet, mut errors) = match self.files.get(name) {
            Some(file) => ThemeSheet::read(&file.text, &file.path),
            None => (ThemeSheet::builtin(name)?, Vec::new()),
        };
        if let Some(file) = self.files.get(name)
            && errors.len() > MAX_FAULTS
        {
            let rest = errors.split_off(MAX_FAULTS).len();
            errors.push(Diagnostic::in_file(&file.path, format!("… and {rest} more problems.")));
        }
        Some((Theme::of(&sheet, depth), errors))
    }
}
