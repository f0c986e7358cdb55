//! What is known of a server, as plain data for front ends.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::reading::McpPrompt;
use crate::message::{reveal_line, sanitize_line};

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub enum McpState {
    /// It is not to be started, for this reason.
    Off(String),
    Starting,
    Connected,
    /// It is started or reached anew in a while, after this went wrong.
    Waiting(String),
    Failed(String),
    /// The user has to sign in first; here is how.
    SignIn(String),
    /// The user signs in, at this address.
    SigningIn(String),
}

impl McpState {
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Off(_) => "off",
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Waiting(_) => "reconnecting",
            Self::Failed(_) => "failed",
            Self::SignIn(_) => "sign in",
            Self::SigningIn(_) => "signing in",
        }
    }

    /// Returns why it is so, where that has to be said.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Off(why) | Self::Waiting(why) | Self::Failed(why) | Self::SignIn(why) | Self::SigningIn(why) => {
                Some(why)
            }
            Self::Starting | Self::Connected => None,
        }
    }
}

/// A server, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpFacts {
    pub name: String,
    /// Whose it is: `project`, `user` …
    pub scope: String,
    /// The command or the address, as configured.
    pub shown: String,
    pub state: McpState,
    /// What it calls itself, with its version.
    pub version: Option<String>,
    /// What it says of its use, to models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The names of its tools, as models call them.
    pub tools: Vec<String>,
    pub prompts: Vec<McpPrompt>,
    /// The addresses of its resources.
    pub resources: Vec<String>,
    /// What of its offer cannot be used, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Its last lines.
    pub log: Vec<String>,
}

impl McpFacts {
    /// Says how it is, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match (&self.state, self.state.why()) {
            (McpState::Connected, _) => self.offers(),
            (_, Some(why)) => sanitize_line(why).into_owned(),
            _ => String::new(),
        }
    }

    fn offers(&self) -> String {
        let counted = |count: usize, one: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {one}s")),
        };
        let parts = [
            counted(self.tools.len(), "tool"),
            counted(self.prompts.len(), "prompt"),
            counted(self.resources.len(), "resource"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let offer = if parts.is_empty() { "offers nothing".to_owned() } else { parts.join(", ") };
        let problems = self.problems.iter().map(|problem| format!("; {}", sanitize_line(problem)));
        offer + &problems.collect::<String>()
    }

    /// Returns all that is known of it, as Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let code = |text: &str| format!("`{}`", reveal_line(text).replace('`', "'"));
        let verb = if matches!(self.state, McpState::Failed(_)) { "has" } else { "is" };
        let mut page = format!("{} {verb} {}", code(&self.name), self.state.word());
        if let Some(why) = self.state.why() {
            let _ = write!(page, ": {}", code(why));
        }
        let _ = write!(page, ".\n\n- from: {}\n- runs: {}\n", self.scope, code(&self.shown));
        if let Some(version) = &self.version {
            let _ = writeln!(page, "- version: {}", code(version));
        }
        if self.state == McpState::Connected {
            let _ = writeln!(page, "- offers: {}", self.offers());
        }
        for tool in &self.tools {
            let _ = writeln!(page, "- {}", code(tool));
        }
        for prompt in &self.prompts {
            let about = if prompt.about.is_empty() { String::new() } else { format!(": {}", code(&prompt.about)) };
            let _ = writeln!(page, "- {}{about}", code(&prompt.command(&self.name)));
        }
        for uri in &self.resources {
            let _ = writeln!(page, "- {}", code(&format!("@{}:{uri}", self.name)));
        }
        if let Some(instructions) = &self.instructions {
            page.push_str("\nWhat it tells models of its use:\n");
            put_block(&mut page, instructions.lines());
        }
        if !self.log.is_empty() {
            page.push_str("\nIts last lines:\n");
            put_block(&mut page, self.log.iter().map(String::as_str));
        }
        page
    }
}

/// Adds a block of lines, indented, so that nothing in it ends the block.
fn put_block<'a>(page: &mut String, lines: impl Iterator<Item = &'a str>) {
    for line in lines {
        let _ = write!(page, "\n    {}", sanitize_line(line));
    }
    page.push('\n');
}
