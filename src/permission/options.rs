//! Options that people may add to a command which was allowed by its first words.
//!
//! Owns how options are told apart. Leaves the table of them to `table`, git to `git` and scripts of sed to `sed`. Invariant: an
//! option that the table does not hold counts as one that starts a program, writes a file or works
//! somewhere else; what comes of it is a question.

use super::commands::base_name;
use super::sed;
use super::table::{OptionStyle, table};

/// Returns `true` if the words that follow the `granted` ones leave a program what it was allowed for. Neither holds quotes
/// any more.
pub(super) fn are_harmless(granted: &[&str], rest: &[&str]) -> bool {
    let is_known = |word: &&str| base_name(word) == "sed" || has_table(base_name(word));
    let at = granted.iter().position(is_known).unwrap_or_default();
    let Some((name, own)) = granted.get(at..).and_then(<[_]>::split_first) else { return false };
    let program = base_name(name);
    if program == "sed" {
        return sed::is_harmless(own, rest);
    }
    let mut ended = own.contains(&"--");
    for word in rest {
        if *word == "--" && !ended {
            ended = true;
        } else if is_option(word) && !is_harmless(program, word, ended) {
            return false;
        }
    }
    operands_are_harmless(program, own, rest)
}

/// Returns `true` if only some of a program's options are harmless.
pub(super) fn has_table(program: &str) -> bool {
    table().options_of(program).is_some()
}

/// A single dash is the name of standard input.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn is_harmless(program: &str, word: &str, ended: bool) -> bool {
    let Some(options) = table().options_of(program) else { return table().is_reader(program) };
    match &options.others {
        _ if !ended || options.after_options => holds(word, &options.long, &options.letters, options.style),
        Some(others) => is_among(word, &others.long, &others.letters),
        None => true,
    }
}

/// Returns `true` if all of an option is among the long ones, or its letters among the `letters`.
pub(super) fn is_among(word: &str, long: &str, letters: &str) -> bool {
    holds(word, long, letters, OptionStyle::Two)
}

fn holds(word: &str, long: &str, letters: &str, style: OptionStyle) -> bool {
    let is_long = |name: &str| {
        let name = name.split('=').next().unwrap_or_default();
        long.split_whitespace().any(|known| known == name)
    };
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) => is_long(name),
        (None, Some(name)) if style == OptionStyle::One => is_long(name),
        // A value may be part of the word; if its letters are known as well, it does no harm as options either.
        (None, Some(name)) => name.chars().all(|c| letters.contains(c) || c.is_ascii_digit() || ",.:".contains(c)),
        (None, None) => false,
    }
}

/// Looks at the words that are no options: some programs write to one, or take more options from it.
fn operands_are_harmless(program: &str, own: &[&str], rest: &[&str]) -> bool {
    const SCOPED: [&str; 5] = ["npm", "npx", "pnpm", "yarn", "bun"];
    const SIGNED: [&str; 3] = ["find", "date", "chmod"];
    let operands = || rest.iter().filter(|word| !is_option(word));
    // `@file` stands for the options in a file, `+word` for a toolchain or a command.
    let plain = !has_table(program) && table().is_reader(program)
        || operands().all(|word| {
            (SCOPED.contains(&program) || !word.starts_with('@'))
                && (SIGNED.contains(&program) || !word.starts_with('+'))
        });
    let fits = match program {
        "uniq" => own.iter().chain(rest).filter(|word| !is_option(word)).count() < 2,
        // What it includes or loads runs, wherever in a script that stands.
        "awk" | "gawk" | "mawk" | "nawk" => operands().all(|word| !word.contains('@')),
        "date" => operands().all(|word| word.starts_with('+')),
        "printf" => own.iter().chain(rest).next().is_some_and(|format| only_prints(format)),
        "make" | "gmake" => operands().all(|word| !word.contains('=')),
        // Its first word holds options without a dash, and `host:file` is fetched by a program.
        "tar" | "bsdtar" => {
            let bundle = rest.first().filter(|word| own.is_empty() && !is_option(word));
            rest.iter().all(|word| !word.contains(':'))
                && bundle.is_none_or(|word| word.chars().all(|c| "tvfzjJ".contains(c)))
        }
        _ => true,
    };
    plain && fits
}

/// Returns `true` if a format of `printf` puts nothing into variables, as `-v` and `%n` do.
pub(super) fn only_prints(format: &str) -> bool {
    let format = format.replace("%%", "");
    !format.starts_with('-') && format.split('%').skip(1).all(|part| part.starts_with(['s', 'd', 'x']))
}
