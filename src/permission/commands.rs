//! The commands of a shell line where one is allowed, or read: without what only wraps them.
//!
//! Owns the wrappers that add nothing to what they run. Leaves the line to `line` and what may run to `rule`. Invariant: a line
//! that does more than its commands is none of these.

use super::line::{ShellCommand, ShellLine};
use super::syntax::{Form, Word};
use super::table::table;

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

/// Returns the simple commands of a line as lines of their own; `None` if more than their words decides what they do.
pub(super) fn plain_commands(line: &ShellLine) -> Option<Vec<String>> {
    if line.effect.is_some() {
        return None;
    }
    let quoted = |words: Vec<Word>| -> Option<String> {
        let words: Option<Vec<String>> = words.iter().map(quoted).collect();
        words.map(|words| words.join(" "))
    };
    line.simple.iter().map(|words| quoted(unwrapped(words.clone(), Naming::Exact))).collect()
}

/// Returns `true` if a line runs a program that shows what is in files, as far as that can be told.
pub(super) fn runs_reader(line: Result<&ShellLine, &'static str>) -> bool {
    let is_reader =
        |command: &ShellCommand| command.words.first().is_none_or(|name| table().is_reader(base_name(&name.text)));
    line.map_or(true, |line| line.effect.is_some() || line.unsaid.is_some() || line.commands.iter().any(is_reader))
}

/// Returns `true` if a command does nothing but run what stands behind its options.
pub(super) fn only_wraps(words: &[Word]) -> bool {
    wrapped_at(words, Naming::Loose).is_some()
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

pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
    })
}
