//! Programs that start no others and put nothing into files.
//!
//! Owns the list of them, for agents to which some command is forbidden: any other program could do that command's work,
//! by starting it, or by writing what will. Invariant: nothing on the list starts a program or writes a file with the
//! options that it is let have.

use super::commands::base_name;
use super::options;
use super::syntax::{Form, Word};

#[rustfmt::skip]
const READERS: [&str; 77] = [
    "[", ":", "arch", "b2sum", "base64", "basename", "break", "cat", "cd", "cksum", "cmp", "comm", "continue", "cut",
    "date", "df", "diff", "dirname", "du", "echo", "egrep", "exit", "expand", "expr", "false", "fgrep", "file",
    "find", "fmt", "fold", "free", "git", "grep", "groups", "head", "hexdump", "id", "join", "jq", "ls", "md5sum",
    "nl", "nproc", "od", "paste", "pr", "printenv", "printf", "ps", "pwd", "readlink", "realpath", "return", "rev",
    "rg", "seq", "sha1sum", "sha256sum", "sha512sum", "sleep", "sort", "stat", "strings", "sum", "tac", "tail",
    "test", "tr", "tree", "true", "tsort", "uname", "unexpand", "uniq", "uptime", "wc", "which",
];
/// Where the system keeps its programs.
const SYSTEM: [&str; 5] = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

pub(super) fn is_reader(program: &str) -> bool {
    READERS.contains(&program)
}

/// Says why it is not known whether a simple command runs something else, unless it can. Whether git is under guard
/// is for the caller to ask.
pub(super) fn doubt_about(words: &[Word]) -> Option<&'static str> {
    let name = words.first()?;
    let program = base_name(&name.text);
    let is_systems = name.text.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM.contains(&folder));
    if !is_systems || !is_reader(program) {
        return Some("it runs a program that may start others");
    }
    let arguments: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
    let is_literal = words.iter().all(|word| word.form == Form::Literal);
    let is_plain = match program {
        "git" => is_literal,
        "[" | "test" => is_literal && !arguments.iter().any(|word| computes(word)),
        "printf" => is_literal && arguments.first().is_some_and(|format| only_prints(format)),
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

/// Returns `true` if a format of `printf` puts nothing into variables, as `-v` and `%n` do.
pub(super) fn only_prints(format: &str) -> bool {
    let format = format.replace("%%", "");
    !format.starts_with('-') && format.split('%').skip(1).all(|part| part.starts_with(['s', 'd', 'x']))
}
