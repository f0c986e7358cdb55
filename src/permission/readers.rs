//! Programs that start no others and put nothing into files.
//!
//! Owns the list of them, for agents to which some command is forbidden: any other program could do that command's work,
//! by starting it, or by writing what will. Invariant: nothing on the list starts a program or writes a file with the
//! options that it is let have.

use super::commands::{Form, Word, base_name};
use super::options::lead_astray;
use super::shell::is_git_query;

const READERS: [&str; 83] = [
    "[",
    "[[",
    ":",
    "arch",
    "b2sum",
    "base64",
    "basename",
    "break",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "continue",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "expr",
    "false",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "free",
    "git",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "ls",
    "md5sum",
    "mkdir",
    "mv",
    "nl",
    "nproc",
    "od",
    "paste",
    "pr",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "return",
    "rev",
    "rg",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sleep",
    "sort",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "touch",
    "tr",
    "tree",
    "true",
    "tsort",
    "uname",
    "unexpand",
    "uniq",
    "uptime",
    "wc",
    "which",
];
/// Those of them that change or start something with some options; what a variable or a pattern holds may be one.
const WITH_OPTIONS: [&str; 10] = ["date", "diff", "file", "find", "git", "printf", "rg", "sort", "tree", "uniq"];
/// Those of them for which the shell computes what stands in their words.
const COMPUTING: [&str; 4] = ["[", "[[", "printf", "test"];
/// Where the system keeps its programs.
const SYSTEM: [&str; 5] = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

/// Says why it cannot be told whether a simple command runs something else, unless it can.
pub(super) fn doubt_about(words: &[Word]) -> Option<&'static str> {
    let name = words.first()?;
    let program = base_name(&name.text);
    let is_systems = name.text.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM.contains(&folder));
    if !is_systems || !READERS.contains(&program) {
        return Some("a program in it may start others, or write what does");
    }
    let arguments: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
    let has_unknown = words.iter().any(|word| word.form == Form::Expanded) && WITH_OPTIONS.contains(&program);
    let computes = COMPUTING.contains(&program)
        && (words.iter().any(|word| word.form == Form::Literal && word.text.contains(['$', '`']))
            || arguments.contains(&"-v"));
    let strays = match program {
        "git" => !is_git_query(&format!("git {}", arguments.join(" "))),
        "date" => arguments
            .iter()
            .any(|word| word.starts_with("-s") || word.starts_with("--s") || !word.starts_with(['-', '+'])),
        "diff" => arguments.iter().any(|word| word.starts_with("--ou") || word.starts_with("--to")),
        program => lead_astray(&[program], &arguments),
    };
    (has_unknown || computes || strays).then_some("options of a program in it start others, write files, or may do so")
}
