//! Which git commands ask questions, and which of the others words may be added to.
//!
//! Owns the lists of commands and of their harmless options. Leaves to the tool what a repository's settings run.
//! Invariant: a command or an option that is not on the lists is asked about.

use super::Confinement;
use super::commands::base_name;
use super::grants::{is_simple, shell_words, trimmed};
use super::options::is_among;
use super::syntax::Word;

/// Commands that only read.
#[rustfmt::skip]
const ASKING: [&str; 21] = [
    "annotate", "blame", "cat-file", "cherry", "describe", "diff", "diff-tree", "for-each-ref", "grep", "log",
    "ls-files", "ls-tree", "merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "show", "show-ref",
    "status", "whatchanged",
];

/// Long options with which those start no program, write no file and stay where they are.
const ASKED: &str = "\
    stat shortstat numstat dirstat name-only name-status summary oneline graph all branches tags remotes heads head \
    decorate no-decorate color no-color abbrev abbrev-commit no-abbrev no-abbrev-commit author committer grep since \
    until after before max-count skip first-parent merges no-merges reverse follow patch no-patch raw cached staged \
    merge-base unified word-diff word-diff-regex color-words ignore-all-space ignore-space-change ignore-blank-lines \
    ignore-space-at-eol find-renames find-copies no-renames diff-filter exit-code quiet minimal patience histogram \
    diff-algorithm function-context text full-index pretty format date no-notes topo-order date-order \
    author-date-order left-right left-only right-only cherry-pick cherry-mark cherry simplify-by-decoration \
    full-history ancestry-path boundary walk-reflogs source no-walk no-ext-diff no-textconv porcelain line-porcelain \
    short long branch show-stash ahead-behind no-ahead-behind untracked-files ignored verbose count objects numbered \
    email others modified deleted stage exclude-standard unmerged full-name full-tree error-unmatch eol symbolic \
    abbrev-ref symbolic-full-name verify is-inside-work-tree show-toplevel show-prefix show-cdup always match \
    exact-match candidates contains sort points-at merged no-merged hash is-ancestor octopus fork-point independent \
    line-number ignore-case word-regexp files-with-matches files-without-match fixed-strings extended-regexp \
    perl-regexp basic-regexp invert-match and or not heading break context after-context before-context \
    show-function max-depth untracked null only-matching column root pickaxe-regex pickaxe-all all-match \
    invert-grep regexp-ignore-case no-prefix inter-hunk-context";

/// Commands that people allow because they write, with the long options and the letters that do no more.
const WRITING: [(&str, &str, &str); 17] = [
    ("add", "all update intent-to-add force verbose dry-run", "AuNfvn"),
    ("branch", "list all show-current verbose delete move copy track", "alvdDmMcrq"),
    ("checkout", "quiet detach track", "bBqtd"),
    ("cherry-pick", "abort continue skip quit no-commit", "nx"),
    ("commit", "message all amend no-edit allow-empty no-verify signoff quiet", "maqsn"),
    ("fetch", "all prune tags no-tags depth quiet verbose dry-run", "apqvtn"),
    ("merge", "no-ff ff ff-only squash abort continue no-edit no-commit quiet", "mq"),
    ("mv", "force verbose dry-run", "fvnk"),
    ("pull", "rebase ff-only no-rebase ff no-ff autostash prune tags quiet", "rqpt"),
    ("push", "set-upstream tags follow-tags force-with-lease dry-run quiet verbose", "unqv"),
    ("rebase", "abort continue skip autostash onto quiet", "q"),
    ("reset", "hard soft mixed keep quiet", "qN"),
    ("restore", "staged worktree source quiet", "SWsq"),
    ("revert", "no-edit no-commit abort continue skip quit", "n"),
    ("rm", "cached force quiet dry-run", "rfqn"),
    ("stash", "message include-untracked keep-index quiet index staged", "mukqS"),
    ("switch", "create detach quiet track discard-changes", "cdqt"),
];

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
    ASKING.contains(&sub) && asks_only(sub, &rest)
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
                Some(option) if option.starts_with('-') => is_among(word, ASKED, ""),
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
    let Some((_, long, letters)) = WRITING.iter().find(|(name, ..)| name == sub) else { return false };
    let is_option = |word: &&&str| word.len() > 1 && word.starts_with('-');
    let options = rest.iter().take_while(|word| **word != "--").filter(is_option);
    options.into_iter().all(|word| is_among(word, long, letters)) && operands_are_harmless(sub, own, rest)
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

/// Settings that name no program and give no command another meaning.
const HARMLESS_SETTINGS: [&str; 16] = [
    "advice.",
    "color.",
    "column.",
    "commit.gpgsign",
    "core.abbrev",
    "core.autocrlf",
    "core.quotepath",
    "diff.renames",
    "gc.auto",
    "http.version",
    "init.defaultbranch",
    "log.",
    "protocol.version",
    "pull.rebase",
    "push.default",
    "user.",
];

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
    HARMLESS_SETTINGS.iter().any(|known| if known.ends_with('.') { name.starts_with(known) } else { name == *known })
}
