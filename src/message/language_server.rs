//! A language server, as the user has set it up.
//!
//! Owns which files it is for. Leaves starting it to `tool`. Invariant: only the user's own settings name one, never those
//! of a project, whose code it may run.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// A language server, as `[lsp.NAME]` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageServerSettings {
    /// What people call it: the name of the table.
    #[serde(skip)]
    pub name: String,
    /// The program: a name in `PATH`, or an absolute path.
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// Ends of the files it is for, without the dot.
    pub extensions: Vec<String>,
    /// What the protocol calls their language, if not by the usual name.
    pub language: Option<String>,
    /// What it is told at its start, in its own terms.
    #[serde(default, alias = "initializationOptions")]
    pub initialization_options: Option<Value>,
    /// Whether it runs outside of the sandbox.
    #[serde(default)]
    pub outside: bool,
}

impl LanguageServerSettings {
    /// Returns the settings under their name; else what is wrong with them.
    pub fn named(mut self, name: &str) -> Result<Self, String> {
        if self.command.trim().is_empty() || self.extensions.is_empty() {
            return Err("`command` is the program, and `extensions` the files it is for, such as [\"rs\"]".to_owned());
        }
        if self.command.contains('/') && !self.command.starts_with('/') {
            return Err("`command` is a name in PATH or an absolute path".to_owned());
        }
        name.clone_into(&mut self.name);
        Ok(self)
    }

    pub fn is_for(&self, path: &Path) -> bool {
        let end = path.extension().and_then(|end| end.to_str());
        end.is_some_and(|end| self.extensions.iter().any(|own| own.trim_start_matches('.').eq_ignore_ascii_case(end)))
    }

    /// Returns what the protocol calls the language of a file.
    pub fn language_of(&self, path: &Path) -> String {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
        let usual = match end.as_str() {
            "rs" => "rust",
            "py" | "pyi" => "python",
            "ts" | "mts" | "cts" => "typescript",
            "tsx" => "typescriptreact",
            "js" | "mjs" | "cjs" => "javascript",
            "jsx" => "javascriptreact",
            "h" | "c" => "c",
            "cc" | "cpp" | "cxx" | "hpp" => "cpp",
            "cs" => "csharp",
            "rb" => "ruby",
            "sh" | "bash" => "shellscript",
            "md" => "markdown",
            "yml" => "yaml",
            "kt" => "kotlin",
            end => end,
        };
        self.language.clone().unwrap_or_else(|| usual.to_owned())
    }
}
