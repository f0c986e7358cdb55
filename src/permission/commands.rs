//! The simple commands of a shell line: which of them run others, and whether each name is what runs.
//!
//! Owns the programs that run what they are given. Leaves the grammar to `syntax` and what may run to `rule`. Invariant: what is
//! returned is everything the line names; a line of which that is not certain is an error that says why.

use super::readers::is_reader;
use super::syntax::{Form, SETS, UNCLEAR, Word, read};

/// What begins no command of bash, or a part of one that is larger.
const RESERVED: [&str; 16] =
    ["!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "in"];
/// Programs that run what their arguments or their input say.
#[rustfmt::skip]
const RUNNERS: [&str; 45] = [
    "alias", "ash", "bash", "builtin", "bun", "busybox", "case", "chroot", "command", "coproc", "csh", "dash", "deno",
    "doas", "enable", "env", "eval", "exec", "fish", "function", "ionice", "ksh", "nice", "nohup", "nsenter",
    "osascript", "parallel", "script", "select", "setsid", "sh", "source", "ssh", "stdbuf", "strace", "su", "sudo",
    "tcsh", "time", "timeout", "trap", "unshare", "watch", "xargs", "zsh",
];

/// Programs that run code which an argument, or their input, holds.
const INTERPRETERS: [&str; 7] = ["lua", "node", "perl", "php", "python", "python3", "ruby"];

/// Programs that run the words after theirs and do nothing else, with the options that take a value in the next word, and
/// the letters with which other options begin.
const WRAPPERS: [(&str, &[&str], &str); 6] = [
    ("timeout", &["-k", "-s"], "ksv"),
    ("nice", &["-n"], "n0123456789"),
    ("stdbuf", &["-i", "-o", "-e"], "ioe"),
    ("nohup", &[], ""),
    ("time", &[], "p"),
    ("command", &[], ""),
];

/// Why it is not known what a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Its words do not say.
    Unsaid(&'static str),
    /// It runs a program, in a language of its own.
    Code(&'static str),
}

/// Returns the simple commands of a line, each with its name first and without what only wraps it.
pub(super) fn simple_commands(line: &str) -> Result<Vec<Vec<Word>>, &'static str> {
    Ok(read(line)?.into_iter().map(unwrapped).collect())
}

/// Returns the simple commands of a line as lines of their own; `None` if more than their words decides what they do.
pub(super) fn plain_commands(line: &str) -> Option<Vec<String>> {
    if line.contains('<') {
        return None;
    }
    let quoted = |words: Vec<Word>| -> Option<String> {
        let words: Option<Vec<String>> = words.iter().map(quoted).collect();
        words.map(|words| words.join(" "))
    };
    simple_commands(line).ok()?.into_iter().map(quoted).collect()
}

/// Returns `true` if a line runs a program that shows what is in files, as far as that can be told.
pub(super) fn runs_reader(line: &str) -> bool {
    let is_reader = |words: &Vec<Word>| words.first().is_none_or(|name| is_reader(base_name(&name.text)));
    simple_commands(line).map_or(true, |commands| commands.iter().any(is_reader))
}

/// Returns a word as a line of commands has it; `None` if it does not stand for itself.
fn quoted(word: &Word) -> Option<String> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+=".contains(c);
    match word.form {
        Form::Expanded => None,
        Form::Literal if !word.text.is_empty() && word.text.chars().all(is_bare) => Some(word.text.clone()),
        Form::Literal => (!word.text.contains('\'')).then(|| format!("'{}'", word.text)),
    }
}

/// Takes the programs away that only run the rest.
fn unwrapped(mut words: Vec<Word>) -> Vec<Word> {
    while let Some(at) = wrapped_at(&words) {
        words.drain(..at);
    }
    words
}

/// Returns where the command begins that the first word runs, if it does nothing else.
fn wrapped_at(words: &[Word]) -> Option<usize> {
    let (name, rest) = words.split_first()?;
    let (program, valued, letters) =
        WRAPPERS.iter().find(|(program, ..)| base_name(&name.text).eq_ignore_ascii_case(program))?;
    let mut at = 0;
    while let Some(option) = rest.get(at).filter(|word| word.text.starts_with('-')) {
        if option.text == "--" {
            at += 1;
            break;
        }
        // Whether a long option takes the next word, only its `=` tells.
        let is_whole = option.text.starts_with("--") && option.text.contains('=');
        if option.form == Form::Expanded || !(is_whole || option.text[1..].starts_with(|c| letters.contains(c))) {
            return None;
        }
        at += if valued.contains(&option.text.as_str()) { 2 } else { 1 };
    }
    if *program == "timeout" {
        rest.get(at).filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))?;
        at += 1;
    }
    let is_clear = rest.get(..at)?.iter().all(|word| word.form == Form::Literal);
    (is_clear && at < rest.len()).then_some(at + 1)
}

/// Returns the last part of a program's path.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Checks that the name of a command is what runs.
pub(super) fn check(words: &[Word]) -> Result<(), Unknown> {
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    if is_assignment(&name.text) {
        return Err(Unknown::Unsaid(SETS));
    }
    if name.form == Form::Expanded {
        return Err(Unknown::Unsaid("the name of a command is known only at run time"));
    }
    // Here the grammar saw a command in what is none.
    if RESERVED.contains(&name.text.as_str()) {
        return Err(Unknown::Unsaid(UNCLEAR));
    }
    let program = base_name(&name.text).to_ascii_lowercase();
    if runs_another(&program, arguments) {
        return Err(Unknown::Unsaid("it contains a command that runs other commands"));
    }
    let holds_code = |word: &Word| {
        word.form == Form::Expanded
            || matches!(word.text.as_str(), "-" | "--eval" | "--print" | "--run")
            || (word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.contains(['c', 'e', 'E', 'r', 'p']))
    };
    if INTERPRETERS.contains(&program.as_str()) && (arguments.is_empty() || arguments.iter().any(holds_code)) {
        return Err(Unknown::Code("it passes code to an interpreter"));
    }
    Ok(())
}

fn runs_another(program: &str, arguments: &[Word]) -> bool {
    program == "."
        || RUNNERS.contains(&program)
        || (program == "find"
            && arguments.iter().any(|word| word.text.starts_with("-exec") || word.text.starts_with("-ok")))
}

/// Returns the commands that may begin in the words of a program which runs others: any of them may be a name.
pub(super) fn behind_runner(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let runs = words
        .split_first()
        .is_some_and(|(name, arguments)| runs_another(&base_name(&name.text).to_ascii_lowercase(), arguments));
    (1..words.len()).filter(move |_| runs).map(|at| &words[at..])
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
    })
}
