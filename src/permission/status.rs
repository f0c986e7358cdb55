//! What the exit status of a line, and what it prints, say of the commands in it.
//!
//! Owns telling a status that is another command's from one that counts for all. Leaves the grammar to `commands`. It is
//! for a hint, and no guard: a line that it misjudges is asked about, or not, and never let do more.

use super::commands::base_name;
use super::line::ShellLine;
use super::table::table;

/// Programs that choose, from what they are given, what is printed.
const CHOOSERS: [&str; 7] = ["awk", "egrep", "fgrep", "gawk", "grep", "rg", "sed"];

/// What a line that has ended well says of its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStatus {
    /// All of them have ended well.
    Own,
    /// One may have failed, and its last words are the last that were printed.
    Hidden,
    /// One may have failed, and what was printed need not be its own.
    Unclear,
    /// They only show what is there, such as a log of other failures.
    Shown,
}

impl LineStatus {
    #[must_use]
    pub fn of(line: &str) -> Self {
        if !hides_failures(line) {
            return Self::Own;
        }
        let line = ShellLine::read(line).ok().filter(|line| line.effect.is_none() && line.unsaid.is_none());
        let Some(line) = line else { return Self::Unclear };
        let own = line.commands.iter().filter(|command| !command.only_wraps);
        let names: Vec<&str> =
            own.filter_map(|command| command.words.first()).map(|name| base_name(&name.text)).collect();
        match () {
            () if names.iter().all(|name| table().is_reader(name)) => Self::Shown,
            () if names.iter().any(|name| CHOOSERS.contains(name)) => Self::Unclear,
            () => Self::Hidden,
        }
    }
}

/// Returns `true` if a line may end well though a command in it fails: there is a pipe, a `||`, or something after it.
fn hides_failures(line: &str) -> bool {
    let line = line.trim_matches([' ', '\t', '\n']).trim_end_matches(';');
    let (mut quote, mut before) = (None, ' ');
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match (quote, c) {
            (None | Some('"'), '\\') => drop(rest.next()),
            (None | Some('"'), '`') => return true,
            (None | Some('"'), '$') | (None, '<' | '>') if next == Some('(') => return true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '&') if next == Some('&') => drop(rest.next()),
            // A part of `2>&1` or of `&>`.
            (None, '&') if before == '>' || before == '<' || next == Some('>') => {}
            (None, '|' | ';' | '&' | '\n') => return true,
            _ => {}
        }
        before = c;
    }
    line.starts_with("! ")
}
