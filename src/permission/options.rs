//! Options that people may add to a command which was allowed by its first words.
//!
//! Owns the table of options known to be harmless, by program. Leaves git to `git` and scripts of sed to `sed`.
//! Invariant: an option that the table does not hold counts as one that starts a program, writes a file or works
//! somewhere else; what comes of it is a question.

use super::commands::base_name;
use super::{readers, sed};

struct Options {
    programs: &'static [&'static str],
    /// Long options without dashes, separated by blanks. They count in full only.
    long: &'static str,
    /// Letters after one dash, alone or among others.
    letters: &'static str,
    style: Style,
    after: After,
}

/// How a program writes its long options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `--name`, and `-n` for letters.
    Two,
    /// `-name`.
    One,
}

/// What follows `--`.
enum After {
    Operands,
    /// Options of its own all the same.
    Options,
    /// Options of another program: long ones, and letters.
    Others(&'static str, &'static str),
}

/// Options of JavaScript test runners.
const JEST: &str = "watch watchAll silent run verbose ci runInBand bail testNamePattern no-color color";
const LIBTEST: &str = "nocapture test-threads exact ignored include-ignored skip list show-output quiet color check";

const fn row(programs: &'static [&'static str], long: &'static str, letters: &'static str) -> Options {
    Options { programs, long, letters, style: Style::Two, after: After::Operands }
}

const TABLE: [Options; 22] = [
    Options {
        after: After::Others(JEST, "tbi"),
        ..row(&["npm", "pnpm", "yarn", "bun"], "watch watchAll silent run verbose if-present no-color color", "s")
    },
    row(&["jest", "vitest"], JEST, "tbi"),
    Options {
        after: After::Others(LIBTEST, "qDWA"),
        ..row(
            &["cargo"],
            "release lib bin bins test tests example examples bench benches all-targets workspace all package exclude \
             features all-features no-default-features locked offline frozen quiet verbose jobs keep-going no-fail-fast \
             no-run doc message-format color check profile no-deps version help",
            "prjqvF",
        )
    },
    row(
        &["make", "gmake"],
        "silent quiet keep-going jobs dry-run always-make no-print-directory output-sync",
        "jksnBiqwrR",
    ),
    row(&["ninja"], "quiet verbose", "jknv"),
    row(&["tar", "bsdtar"], "list verbose file gzip", "tvfzjJ"),
    Options {
        style: Style::One,
        after: After::Options,
        ..row(
            &["find"],
            "H L P name iname path ipath wholename regex iregex type maxdepth mindepth depth size empty newer newermt \
             mtime mmin ctime cmin atime amin perm user group links inum samefile xdev mount follow daystart not o a or \
             and print print0 printf ls prune quit true false readable writable executable",
            "",
        )
    },
    row(
        &["rg"],
        "pretty line-number no-line-number ignore-case smart-case case-sensitive files-with-matches \
         files-without-match count count-matches invert-match word-regexp fixed-strings only-matching after-context \
         before-context context glob iglob type type-not type-list hidden no-ignore no-ignore-vcs files multiline \
         max-count max-depth max-columns heading no-heading color json sort stats vimgrep with-filename no-filename \
         column trim null passthru pcre2 regexp replace unrestricted text quiet",
        "nilcvwsSFoABCegtTHNIUPmpaxu0hjMqr",
    ),
    Options {
        style: Style::One,
        ..row(
            &["go"],
            "run v x n count short race timeout cover failfast parallel p cpu list json bench benchmem benchtime skip \
             shuffle tags",
            "",
        )
    },
    row(
        &["pytest", "py.test"],
        "verbose quiet exitfirst maxfail lf last-failed ff failed-first tb durations no-header no-summary co \
         collect-only sw stepwise color capture showlocals strict-markers",
        "xqvsklmrn",
    ),
    row(
        &["sort"],
        "unique reverse numeric-sort human-numeric-sort version-sort general-numeric-sort month-sort ignore-case key \
         field-separator stable zero-terminated check dictionary-order ignore-leading-blanks",
        "urnhVfkstzcCMgdb",
    ),
    row(&["tree"], "dirsfirst gitignore noreport prune", "adfLPIshpugDFiCnQN"),
    row(&["uniq"], "count repeated unique ignore-case skip-fields skip-chars check-chars", "cdufiswDz"),
    row(&["file"], "brief mime mime-type mime-encoding dereference", "bihLkNn0"),
    row(
        &["diff"],
        "unified recursive brief ignore-all-space ignore-space-change ignore-blank-lines ignore-case side-by-side color \
         new-file text report-identical-files context width exclude suppress-common-lines",
        "abBcdeEiNnpqrstTuUwWyZx",
    ),
    row(&["date"], "utc universal iso-8601 rfc-3339 rfc-email", "uRI"),
    row(
        &["curl"],
        "silent show-error fail location head include verbose compressed max-time connect-timeout",
        "sSfLIivm",
    ),
    row(&["mvn"], "quiet batch-mode offline errors no-transfer-progress", "qBoe"),
    row(&["gradle", "gradlew"], "quiet info stacktrace offline no-daemon console rerun-tasks parallel continue", "qis"),
    row(&["eslint"], "quiet max-warnings color no-color", ""),
    row(&["prettier"], "check list-different", "cl"),
    row(&["tsc"], "noEmit pretty", ""),
];

/// Returns `true` if the words that follow the `granted` ones leave a program what it was allowed for. Neither holds quotes
/// any more.
pub(super) fn are_harmless(granted: &[&str], rest: &[&str]) -> bool {
    let is_known = |word: &&str| base_name(word) == "sed" || options_of(base_name(word)).is_some();
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
    options_of(program).is_some()
}

fn options_of(program: &str) -> Option<&'static Options> {
    TABLE.iter().find(|options| options.programs.contains(&program))
}

/// A single dash is the name of standard input.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn is_harmless(program: &str, word: &str, ended: bool) -> bool {
    let Some(options) = options_of(program) else { return readers::is_reader(program) };
    match (&options.after, ended) {
        (After::Operands, true) => true,
        (After::Others(long, letters), true) => holds(word, long, letters, Style::Two),
        (After::Options, true) | (_, false) => holds(word, options.long, options.letters, options.style),
    }
}

/// Returns `true` if all of an option is among the long ones, or its letters among the `letters`.
pub(super) fn is_among(word: &str, long: &str, letters: &str) -> bool {
    holds(word, long, letters, Style::Two)
}

fn holds(word: &str, long: &str, letters: &str, style: Style) -> bool {
    let is_long = |name: &str| {
        let name = name.split('=').next().unwrap_or_default();
        long.split(' ').any(|known| known == name)
    };
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) => is_long(name),
        (None, Some(name)) if style == Style::One => is_long(name),
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
    let plain = !has_table(program) && readers::is_reader(program)
        || operands().all(|word| {
            (SCOPED.contains(&program) || !word.starts_with('@'))
                && (SIGNED.contains(&program) || !word.starts_with('+'))
        });
    let fits = match program {
        "uniq" => own.iter().chain(rest).filter(|word| !is_option(word)).count() < 2,
        // What it includes or loads runs, wherever in a script that stands.
        "awk" | "gawk" | "mawk" | "nawk" => operands().all(|word| !word.contains('@')),
        "date" => operands().all(|word| word.starts_with('+')),
        "printf" => own.iter().chain(rest).next().is_some_and(|format| readers::only_prints(format)),
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
