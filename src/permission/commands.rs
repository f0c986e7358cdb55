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
const RUNNERS: [&str; 105] = [
    "alias", "ash", "at", "bash", "batch", "builtin", "bun", "bunx", "busybox", "bwrap", "byobu", "capsh", "case",
    "catchsegv", "choom", "chroot", "chrt", "command", "compgen", "complete", "coproc", "csh", "daemonize", "dash",
    "dbus-launch", "dbus-run-session", "deno", "doas", "enable", "entr", "env", "eval", "exec", "expect", "fakeroot",
    "faketime", "firejail", "fish", "flock", "function", "gdb", "hash", "hyperfine", "ionice", "ksh", "let",
    "linux32", "linux64", "ltrace", "mapfile", "nice", "nodemon", "nohup", "npx", "nsenter", "numactl", "osascript",
    "parallel", "perf", "pkexec", "pnpx", "prlimit", "proot", "proxychains", "proxychains4", "readarray", "rlwrap",
    "rr", "runcon", "runuser", "screen", "script", "select", "sem", "setarch", "setpriv", "setsid", "sg", "sh",
    "source", "ssh", "start-stop-daemon", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "tcsh", "time",
    "timeout", "tmux", "torsocks", "toybox", "trap", "tsocks", "unbuffer", "unshare", "uvx", "valgrind", "watch",
    "watchexec", "xargs", "xvfb-run", "zsh",
];

/// Programs that run others if one of these words follows.
const LAUNCHERS: [(&str, &[&str]); 10] = [
    ("conda", &["run"]),
    ("docker", &["run", "exec"]),
    ("git", &["bisect", "foreach", "filter-branch", "--exec", "-x"]),
    ("mise", &["exec", "x"]),
    ("npm", &["exec", "x"]),
    ("pipenv", &["run"]),
    ("podman", &["run", "exec"]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Programs that run code which an argument, or their input, holds.
const INTERPRETERS: [&str; 7] = ["lua", "node", "perl", "php", "python", "python3", "ruby"];

/// A program that runs the words after its options and does nothing else.
struct Wrapper {
    name: &'static str,
    /// Letters of options with a value, in the same word or the next.
    valued: &'static str,
    /// Options that stand alone.
    alone: &'static [&'static str],
    /// How long options with a value in the same word begin.
    long: &'static [&'static str],
}

const WRAPPERS: [Wrapper; 6] = [
    Wrapper {
        name: "timeout",
        valued: "ks",
        alone: &["-v", "--foreground", "--preserve-status", "--verbose"],
        long: &["--kill-after=", "--signal="],
    },
    Wrapper { name: "nice", valued: "n", alone: &[], long: &["--adjustment="] },
    Wrapper { name: "stdbuf", valued: "ioe", alone: &[], long: &["--input=", "--output=", "--error="] },
    Wrapper { name: "nohup", valued: "", alone: &[], long: &[] },
    Wrapper { name: "time", valued: "", alone: &["-p"], long: &[] },
    Wrapper { name: "command", valued: "", alone: &[], long: &[] },
];

/// Whether a program is known by its name alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// Whatever it lies in, and in any case: where something is denied.
    Loose,
    /// Only as the shell looks for it: where something is allowed. One of that name may lie anywhere.
    Exact,
}

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
    Ok(read(line)?.into_iter().map(|words| apart(unwrapped(words, Naming::Loose))).collect())
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
    read(line).ok()?.into_iter().map(|words| quoted(unwrapped(words, Naming::Exact))).collect()
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
fn unwrapped(mut words: Vec<Word>, naming: Naming) -> Vec<Word> {
    while let Some(at) = wrapped_at(&words, naming) {
        words.drain(..at);
    }
    words
}

/// Returns the words of `git-push` as those of `git push`.
fn apart(mut words: Vec<Word>) -> Vec<Word> {
    if let Some(sub) = words.first().and_then(|name| base_name(&name.text).strip_prefix("git-").map(str::to_owned)) {
        "git".clone_into(&mut words[0].text);
        words.insert(1, Word { text: sub, form: Form::Literal });
    }
    words
}

/// Returns where the command begins that the first word runs, if it does nothing else.
fn wrapped_at(words: &[Word], naming: Naming) -> Option<usize> {
    let (name, rest) = words.split_first()?;
    let is_called = |wrapper: &&Wrapper| match naming {
        Naming::Loose => base_name(&name.text).eq_ignore_ascii_case(wrapper.name),
        Naming::Exact => name.text == wrapper.name,
    };
    let wrapper = WRAPPERS.iter().find(is_called)?;
    let mut at = 0;
    while let Some(option) = rest.get(at).filter(|word| word.text.starts_with('-')) {
        if option.text == "--" {
            at += 1;
            break;
        }
        at += words_of_option(wrapper, &option.text)?;
    }
    if wrapper.name == "timeout" {
        rest.get(at).filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))?;
        at += 1;
    }
    let is_clear = rest.get(..at)?.iter().all(|word| word.form == Form::Literal);
    (is_clear && at < rest.len()).then_some(at + 1)
}

/// Returns how many words an option takes; `None` if that is not known.
fn words_of_option(wrapper: &Wrapper, option: &str) -> Option<usize> {
    let is_priority = wrapper.name == "nice" && option[1..].chars().all(|c| c.is_ascii_digit());
    if is_priority || wrapper.alone.contains(&option) || wrapper.long.iter().any(|long| option.starts_with(long)) {
        return Some(1);
    }
    let letter = option.strip_prefix('-')?;
    letter.starts_with(|c| wrapper.valued.contains(c)).then_some(if letter.len() == 1 { 2 } else { 1 })
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
    let computes = |word: &Word| word.text == "-v" || word.text.contains('[') && word.text.contains(['$', '`']);
    if matches!(program.as_str(), "[" | "test" | "printf" | "read") && arguments.iter().any(computes) {
        return Err(Unknown::Unsaid("the shell may compute in it"));
    }
    if program == "git" && gives_settings(arguments) {
        return Err(Unknown::Unsaid("git is given settings, which may name programs"));
    }
    let holds_code = |word: &Word| {
        word.form == Form::Expanded
            || matches!(word.text.as_str(), "-" | "--eval" | "--print" | "--run")
            || (word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.contains(['c', 'e', 'E', 'r', 'p']))
    };
    let is_awk = matches!(program.as_str(), "awk" | "gawk" | "mawk" | "nawk" | "original-awk");
    if is_awk
        && arguments
            .iter()
            .any(|word| word.form == Form::Expanded || word.text.contains(['|', '@']) || word.text.contains("system"))
    {
        return Err(Unknown::Code("it passes code to an interpreter"));
    }
    if INTERPRETERS.contains(&program.as_str()) && (arguments.is_empty() || arguments.iter().any(holds_code)) {
        return Err(Unknown::Code("it passes code to an interpreter"));
    }
    Ok(())
}

/// Returns `true` if options of git itself, before its command, give it settings.
fn gives_settings(arguments: &[Word]) -> bool {
    const VALUED: [&str; 5] = ["-C", "--git-dir", "--work-tree", "--namespace", "--exec-path"];
    let mut words = arguments.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
        if word.starts_with("-c") || word.starts_with("--config-env") {
            return true;
        }
        if VALUED.contains(&word) {
            words.next();
        }
    }
    false
}

fn runs_another(program: &str, arguments: &[Word]) -> bool {
    let launches = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.text.as_str()));
    program == "."
        || RUNNERS.contains(&program)
        || program.starts_with("ld-linux")
        || program.starts_with("ld.so")
        || LAUNCHERS.iter().any(|(name, words)| *name == program && launches(words))
        || program == "git" && arguments.iter().any(|word| word.text.starts_with("--exec="))
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
