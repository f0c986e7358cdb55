//! The commands of a shell line where one is allowed, or read: without what only wraps them.
//!
//! Owns taking those wrappers away. Leaves the line to `line`, which wrappers these are to `table` and what may run to `rule`. Invariant: a line
//! that does more than its commands is none of these.

use super::line::{ShellCommand, ShellLine, inner_of};
use super::syntax::{Form, Word};
use super::table::table;

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
    let name = words.first()?.text.as_str();
    let name = match naming {
        Naming::Loose => base_name(name).to_ascii_lowercase(),
        Naming::Exact => name.to_owned(),
    };
    let wrapper = table().plain_wrapper(&name)?;
    let inner = inner_of(words, wrapper).filter(|inner| inner.runs && inner.at < words.len())?;
    let before = words.get(1..inner.at)?;
    let is_clear = before.iter().all(|word| word.form == Form::Literal);
    // The only operand is a time.
    let is_time = |word: &Word| word.text.starts_with(|c: char| c.is_ascii_digit());
    let has_operands = wrapper.operands == 0 || before.last().is_some_and(is_time);
    (is_clear && has_operands).then_some(inner.at)
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
