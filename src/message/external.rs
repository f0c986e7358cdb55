//! A program that is an agent of its own, as an agent file names it.
//!
//! Owns how it is shown. Leaves starting it to others, and what is said to it to `external`.

use super::format::shell_word;

/// The program behind an agent file with `acp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalProgram {
    pub command: String,
    pub args: Vec<String>,
    /// Variables beside those that every command gets; values may name others, as `${NAME}`.
    pub env: Vec<(String, String)>,
}

impl ExternalProgram {
    /// Returns the command as a shell would have to be given it.
    pub fn line(&self) -> String {
        let words: Vec<_> = std::iter::once(&self.command).chain(&self.args).map(|word| shell_word(word)).collect();
        words.join(" ")
    }

    /// Returns what it would do, with nothing left out: what the user trusts, and is asked about, is this.
    pub fn shown(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!(" [with {}={}]", shell_word(name), shell_word(value)));
        env.fold(self.line(), |line, with| line + &with)
    }

    /// Returns the name of the program, without its folder.
    pub fn name(&self) -> &str {
        self.command.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&self.command)
    }
}
