//! The simple commands of a shell line: which of them run others, and whether each name is what runs.
//!
//! Owns the programs that run what they are given. Leaves the grammar to `syntax` and what may run to `rule`. Invariant: what is
//! returned is everything the line names; a line of which that is not certain is an error that says why.

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

/// Returns the simple commands of a line, each with its name first.
pub(super) fn simple_commands(line: &str) -> Result<Vec<Vec<Word>>, &'static str> {
    let commands = read(line)?;
    commands.iter().try_for_each(|words| check(words))?;
    Ok(commands)
}

/// Returns the last part of a program's path.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Checks that the name of a command is what runs.
fn check(words: &[Word]) -> Result<(), &'static str> {
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    if is_assignment(&name.text) {
        return Err(SETS);
    }
    if name.form == Form::Expanded {
        return Err("the name of a command is known only at run time");
    }
    // Here the grammar saw a command in what is none.
    if RESERVED.contains(&name.text.as_str()) {
        return Err(UNCLEAR);
    }
    let program = base_name(&name.text).to_ascii_lowercase();
    let runs_another = program == "."
        || RUNNERS.contains(&program.as_str())
        || (program == "find"
            && arguments.iter().any(|word| word.text.starts_with("-exec") || word.text.starts_with("-ok")));
    if runs_another {
        return Err("it contains a command that runs other commands");
    }
    let holds_code = |word: &Word| {
        word.form == Form::Expanded
            || matches!(word.text.as_str(), "-" | "--eval" | "--print" | "--run")
            || (word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.contains(['c', 'e', 'E', 'r', 'p']))
    };
    if INTERPRETERS.contains(&program.as_str()) && (arguments.is_empty() || arguments.iter().any(holds_code)) {
        return Err("it passes code to an interpreter");
    }
    Ok(())
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
    })
}
