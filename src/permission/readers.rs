//! Programs that start no others and put nothing into files.
//!
//! Owns what speaks against one, for agents to which some command is forbidden: any other program could do that command's work,
//! by starting it, or by writing what will. Invariant: nothing on the list starts a program or writes a file with the
//! options that it is let have.

use super::commands::base_name;
use super::options;
use super::syntax::{Form, Word};
use super::table::table;

/// Where the system keeps its programs.
const SYSTEM: [&str; 5] = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

/// Says why it is not known whether a simple command runs something else, unless it can. Whether git is under guard
/// is for the caller to ask.
pub(super) fn doubt_about(words: &[Word]) -> Option<&'static str> {
    let name = words.first()?;
    let program = base_name(&name.text);
    let is_systems = name.text.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM.contains(&folder));
    if !is_systems || !table().is_reader(program) {
        return Some("it runs a program that may start others");
    }
    let arguments: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
    let is_literal = words.iter().all(|word| word.form == Form::Literal);
    let is_plain = match program {
        "git" => is_literal,
        "[" | "test" => is_literal && !arguments.iter().any(|word| computes(word)),
        "printf" => is_literal && arguments.first().is_some_and(|format| options::only_prints(format)),
        // What a variable or a pattern holds may be an option.
        program if options::has_table(program) => is_literal && options::are_harmless(&[program], &arguments),
        _ => true,
    };
    (!is_plain).then_some("it uses options that may start programs or write files")
}

/// Returns `true` if `test` takes a word as the name of a variable, in which the shell computes, or as such an operator.
fn computes(word: &str) -> bool {
    matches!(word, "-v" | "-R") || word.contains(['$', '`', '['])
}
