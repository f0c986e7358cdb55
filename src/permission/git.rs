//! Which git commands ask questions, and which of the others words may be added to.
//!
//! Owns how they are told apart. Leaves the lists to `table`, and to the tool what a repository's settings run.
//! Invariant: a command or an option that is not on the lists is asked about.

use super::Confinement;
use super::commands::base_name;
use super::grants::{is_simple, shell_words, trimmed};
use super::options::is_among;
use super::syntax::Word;
use super::table::table;

/// Returns `true` if `command` is one simple command that asks git a question, with options that start no program by
/// themselves. The repository's own settings still may.
pub fn is_git_query(command: &str) -> bool {
    if !is_simple(trimmed(command)) {
        return false;
    }
    // Whoever runs it under guard knows the names without quotes only.
    let plain: Vec<&str> = command.split([' ', '\t', '\n']).filter(|word| !word.is_empty()).collect();
    let (sub, before) = match plain.as_slice() {
        ["git", "--no-pager", sub, ..] => (*sub, 3),
        ["git", sub, ..] => (*sub, 2),
        _ => return false,
    };
    let words = shell_words(command);
    let rest: Vec<&str> = words.iter().skip(before).map(String::as_str).collect();
    table().git.asking.iter().any(|known| known == sub) && asks_only(sub, &rest)
}

fn asks_only(sub: &str, rest: &[&str]) -> bool {
    // Signatures are checked by a program that the repository's configuration names.
    !rest.iter().any(|word| word.contains("%G"))
        && rest.iter().take_while(|word| **word != "--").all(|word| {
            // `-O` names a pager to `grep`, and a file outside the project to the others.
            let is_letters = |letters: &str| {
                letters.chars().all(|c| c != 'O' && (c.is_ascii_alphanumeric() || "_,:.%+".contains(c)))
            };
            match word.strip_prefix('-') {
                Some(option) if option.starts_with('-') => is_among(word, &table().git.asked, ""),
                Some(letters) => is_letters(letters) && !(sub == "grep" && letters.contains('f')),
                None => true,
            }
        })
}

/// Returns `true` if a command of which the first words were `granted` is covered with the others: a query that runs under
/// guard or in the sandbox, or a command that the granted words name and that writes what people mean it to.
pub(super) fn is_covered(command: &str, (granted, rest): (&[&str], &[&str]), confinement: Confinement) -> bool {
    if is_git_query(command) {
        return confinement != Confinement::None;
    }
    let after = granted.iter().position(|word| base_name(word) == "git").map_or(granted.len(), |at| at + 1);
    let Some((sub, own)) = granted[after..].split_first() else { return false };
    let Some(known) = table().git.writing.get(*sub) else { return false };
    let is_option = |word: &&&str| word.len() > 1 && word.starts_with('-');
    let options = rest.iter().take_while(|word| **word != "--").filter(is_option);
    options.into_iter().all(|word| is_among(word, &known.long, &known.letters)) && operands_are_harmless(sub, own, rest)
}

fn operands_are_harmless(sub: &str, own: &[&str], rest: &[&str]) -> bool {
    let mut operands = own.iter().chain(rest).filter(|word| !word.starts_with('-'));
    match sub {
        "stash" => operands.next().is_none_or(|word| ["push", "pop", "apply", "drop", "save"].contains(word)),
        // A path or a URL in place of a remote's name starts the programs of what it leads to.
        "push" | "pull" | "fetch" => {
            let named = own.iter().any(|word| !word.starts_with('-'));
            (operands.next().is_none_or(|word| named || ["origin", "upstream"].contains(word)))
                && rest.iter().all(|word| !word.contains(':') && !word.starts_with('+'))
        }
        _ => true,
    }
}

/// Returns the words of git with its command behind the name, without what stands between them, and why git may run what
/// those do not say.
pub(super) fn plain_words(mut words: Vec<Word>) -> (Vec<Word>, Option<&'static str>) {
    const VALUED: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];
    const ALONE: [&str; 13] = [
        "-p",
        "-P",
        "--paginate",
        "--no-pager",
        "--no-replace-objects",
        "--bare",
        "--literal-pathspecs",
        "--glob-pathspecs",
        "--noglob-pathspecs",
        "--icase-pathspecs",
        "--no-optional-locks",
        "--no-lazy-fetch",
        "--no-advice",
    ];
    let (mut at, mut why) = (1, None);
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        let name = word.text.split('=').next().unwrap_or_default();
        let value = match word.text.split_once('=') {
            Some((_, value)) if name.starts_with("--") => value.to_owned(),
            _ => words.get(at + 1).map(|word| word.text.clone()).unwrap_or_default(),
        };
        let is_setting = word.text == "-c" || name == "--config-env";
        if (is_setting && !is_harmless_setting(&value)) || name == "--exec-path" && word.text.contains('=') {
            why = Some("git is given settings, which may name programs");
        }
        at += match () {
            () if VALUED.contains(&word.text.as_str()) => 2,
            () if ALONE.contains(&name) || (VALUED.contains(&name) && name.starts_with("--")) => 1,
            // It is not known whether the next word belongs to it.
            () => return (words, why),
        };
    }
    words.drain(1..at.min(words.len()));
    (words, why)
}

fn is_harmless_setting(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    table()
        .git
        .harmless_settings
        .iter()
        .any(|known| if known.ends_with('.') { name.starts_with(known.as_str()) } else { name == *known })
}
