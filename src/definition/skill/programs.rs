//! Which programs take their words, or what they read, for code.
//!
//! Owns the lists. Leaves the lines that the programs stand in to `command`. Invariant: a word may only stand where it is data to its
//! program; behind an option that takes code, in the place of a program's name, and where a program hands its words to a shell
//! it may not. The lists cannot be complete, so that nothing rests on them alone: rules, questions and the sandbox judge the line.

use crate::message::shell_word;
use crate::permission::is_reading;

/// Stands in a word for what a caller has said.
pub(super) const VALUE: &str = "value";

/// One word of a simple command.
#[derive(Debug, Clone)]
pub(super) struct ShellWord {
    /// Without its quotes.
    pub(super) text: String,
    /// What a caller has said that is a part of it.
    pub(super) callers: Vec<String>,
    /// Whether the caller's words begin it.
    pub(super) is_led: bool,
}

/// Programs that take all of their words for code, or hand them to another shell.
#[rustfmt::skip]
const RUN_ALL: [&str; 34] = [
    "eval", "source", ".", "trap", "alias", "let", "declare", "typeset", "readonly", "unset", "read", "mapfile", "readarray",
    "getopts", "parallel", "watch", "ssh", "rsh", "mosh", "expect", "m4", "sqlite3", "psql", "mysql", "mariadb", "duckdb",
    "vim", "vi", "nvim", "ex", "ed", "emacs", "gdb", "lldb",
];
/// Programs that run the first of their words that is no option.
#[rustfmt::skip]
const RUN_FIRST: [&str; 30] = [
    "command", "builtin", "exec", "env", "sudo", "doas", "su", "nohup", "time", "timeout", "nice", "ionice", "setsid", "stdbuf",
    "strace", "ltrace", "chroot", "unshare", "nsenter", "script", "entr", "xargs", "npx", "bunx", "uvx", "pnpx", "pipx", "flock",
    "coproc", "busybox",
];
/// Programs of which some options run another one, and some words in the place of the first do.
#[rustfmt::skip]
const RUN_BY_OPTION: [&str; 20] = [
    "git", "find", "fd", "fdfind", "tar", "rsync", "scp", "sftp", "sort", "rg", "make", "gmake", "just", "zip", "man", "less",
    "more", "split", "curl", "wget",
];
/// Programs of which a word can set a variable that is run.
const MAKERS: [&str; 4] = ["make", "gmake", "just", "bmake"];
/// Subcommands of git that run words.
const GIT_RUNS: [&str; 8] =
    ["bisect", "submodule", "filter-branch", "difftool", "mergetool", "config", "rebase", "for-each-repo"];

/// How a program finds the code that it is to run.
struct Interpreter {
    /// Letters of options that take code.
    letters: &'static str,
    /// Whether its first word is code, not a file.
    begins_with_code: bool,
    /// Letters of options that name a file of code instead.
    files: &'static str,
}

fn interpreter(program: &str) -> Option<Interpreter> {
    let script = |letters| Some(Interpreter { letters, begins_with_code: false, files: "" });
    match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "rbash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "fish" | "csh" | "tcsh" => script("cO"),
        "python" | "pypy" => script("c"),
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => script("epr"),
        "ruby" | "perl" | "raku" | "lua" | "luajit" | "julia" | "elixir" | "osascript" | "Rscript" | "R" | "groovy"
        | "scala" => script("eEr"),
        "php" => script("rBRE"),
        "pwsh" | "powershell" | "tclsh" | "ghc" => script("ceC"),
        "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed" => {
            Some(Interpreter { letters: "e", begins_with_code: true, files: "f" })
        }
        _ => None,
    }
}

fn name_of(word: &ShellWord) -> &str {
    word.text.rsplit('/').next().unwrap_or_default()
}

fn is_option(word: &ShellWord) -> bool {
    word.text.len() > 1 && word.text.starts_with('-')
}

/// Returns `true` if an option takes code: `-c`, `-lc`, `--eval`.
fn takes_code(text: &str, letters: &str) -> bool {
    match text.strip_prefix("--") {
        Some(long) => {
            let long = long.split('=').next().unwrap_or_default();
            ["eval", "print", "command", "expression", "init-command", "run", "require", "import", "source"]
                .contains(&long)
        }
        None => text.chars().skip(1).any(|c| letters.contains(c)),
    }
}

/// Returns `true` if one of the words of a command would be taken for code; `words` begins with the program's name.
pub(super) fn runs_word(words: &[ShellWord], at: usize) -> bool {
    let Some((first, rest)) = words.split_first() else { return true };
    if at == 0 || !first.callers.is_empty() {
        return true;
    }
    let program = name_of(first);
    let word = &words[at];
    if RUN_ALL.contains(&program) {
        return true;
    }
    if let Some(inside) = inner(program, words) {
        return at <= inside || runs_word(&words[inside..], at - inside);
    }
    if let Some(interpreter) = interpreter(program) {
        return is_code_of(&interpreter, rest, at - 1);
    }
    let is_option_of_theirs = word.is_led && word.callers.iter().any(|said| said.starts_with('-'));
    if RUN_BY_OPTION.contains(&program) && is_option_of_theirs && !is_reading(&line_of(words)) {
        return true;
    }
    let holds = |signs: &[char]| word.callers.iter().any(|said| said.contains(signs));
    if MAKERS.contains(&program) && holds(&['=', '$']) {
        return true;
    }
    if program == "git" {
        let subcommand = rest.iter().position(|word| !is_option(word)).map(|found| found + 1);
        return subcommand.is_none_or(|found| at <= found || GIT_RUNS.contains(&words[found].text.as_str()));
    }
    matches!(program, "test" | "[" | "printf") && words.iter().any(|word| matches!(word.text.as_str(), "-v" | "-R"))
}

/// Returns a command as it will be, to be looked at.
fn line_of(words: &[ShellWord]) -> String {
    let words = words.iter().flat_map(|word| {
        let is_callers = word.is_led && word.text == VALUE;
        let said: Vec<&String> = if is_callers { word.callers.iter().collect() } else { vec![&word.text] };
        said.into_iter()
            .map(|text| if text.contains(|c: char| !c.is_ascii_graphic()) { shell_word(text) } else { text.clone() })
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns where the command begins that a program runs, if it is one that runs its words; behind all of them if there is none.
fn inner(program: &str, words: &[ShellWord]) -> Option<usize> {
    if !RUN_FIRST.contains(&program) {
        return None;
    }
    let is_before = |word: &ShellWord| {
        let is_number = word.text.starts_with(|c: char| c.is_ascii_digit());
        is_option(word) || is_number || word.text.contains('=')
    };
    let found = words.iter().skip(1).position(|word| !word.callers.is_empty() || !is_before(word));
    Some(found.map_or(words.len(), |found| found + 1))
}

/// Returns `true` if a word of an interpreter's is code or names it.
fn is_code_of(interpreter: &Interpreter, words: &[ShellWord], at: usize) -> bool {
    let (mut is_given, mut index) = (false, 0);
    while let Some(word) = words.get(index) {
        let text = &word.text;
        if !is_option(word) {
            // The first word is the program, unless an option has named it.
            return !is_given && at <= index;
        }
        let takes = takes_code(text, interpreter.letters) || takes_code(text, interpreter.files);
        let is_behind = |letters: &str| text.ends_with(|c: char| letters.contains(c)) && !text.contains('=');
        let has_own = if takes {
            text.starts_with("--") && !text.contains('=')
                || is_behind(interpreter.letters)
                || is_behind(interpreter.files)
        } else {
            interpreter.begins_with_code && matches!(text.as_str(), "-v" | "-F")
        };
        if at == index || takes && has_own && at == index + 1 {
            return true;
        }
        is_given |= takes;
        index += 1 + usize::from(has_own);
    }
    false
}

/// Returns `true` if a command takes what it reads for code, or may do anything with words that it gets elsewhere.
pub(super) fn runs_input(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let program = name_of(first);
    if matches!(program, "eval" | "source" | "." | "parallel" | "let" | "trap" | "alias") {
        return true;
    }
    if let Some(inside) = inner(program, words) {
        let feeds = program == "xargs"
            && words[inside.min(words.len())..].first().is_some_and(|inner| interpreter(name_of(inner)).is_some());
        return feeds || runs_input(&words[inside.min(words.len())..]);
    }
    let Some(interpreter) = interpreter(program) else {
        return matches!(
            program,
            "ssh" | "rsh" | "sqlite3" | "psql" | "mysql" | "mariadb" | "duckdb" | "m4" | "at" | "batch"
        );
    };
    // Without a file and without code, it reads a program.
    let has_code = rest.iter().any(|word| is_option(word) && takes_code(&word.text, interpreter.letters));
    let has_file = rest.iter().any(|word| !is_option(word) && word.text != "-" && !word.text.starts_with("/dev/"));
    !interpreter.begins_with_code && (!(has_code || has_file) || rest.iter().any(|word| word.text == "-s"))
}
