//! Settings that only change what git shows: the upstream of a branch, which files are ignored, how names are written.
//!
//! Owns the list of them, and what their values may be. Leaves reading them, and the files that some name, to `private`.
//! Invariants: what is not on the list is left out; no value that is let through names a program or makes git run one.

use super::Refused;

/// A switch, a number, or words.
#[rustfmt::skip]
const WORDS: [&str; 67] = [
    "core.abbrev", "core.autocrlf", "core.checkstat", "core.eol", "core.filemode", "core.ignorecase", "core.ignorestat",
    "core.precomposeunicode", "core.quotepath", "core.sparsecheckout", "core.sparsecheckoutcone", "core.symlinks",
    "core.trustctime", "core.usereplacerefs", "core.warnambiguousrefs", "core.whitespace",
    "status.aheadbehind", "status.branch", "status.displaycommentprefix", "status.relativepaths", "status.renamelimit",
    "status.renames", "status.short", "status.showstash", "status.showuntrackedfiles",
    "diff.algorithm", "diff.context", "diff.dirstat", "diff.indentheuristic", "diff.interhunkcontext",
    "diff.mnemonicprefix", "diff.noprefix", "diff.relative", "diff.renamelimit", "diff.renames", "diff.statgraphwidth",
    "diff.statnamewidth", "diff.suppressblankempty",
    "log.abbrevcommit", "log.decorate", "log.diffmerges", "log.follow", "log.initialdecorationset", "log.mailmap",
    "log.showroot",
    "blame.blankboundary", "blame.coloring", "blame.markignoredlines", "blame.markunblamablelines", "blame.showemail",
    "blame.showroot",
    "grep.column", "grep.extendedregexp", "grep.fallbacktonoindex", "grep.fullname", "grep.linenumber",
    "grep.patterntype",
    "column.branch", "column.status", "column.tag", "column.ui",
    "i18n.commitencoding", "i18n.logoutputencoding", "index.sparse", "push.default", "stash.showstat",
    "stash.showpatch",
];

/// Names of refs, and other text that is compared or printed as it is.
#[rustfmt::skip]
const TEXTS: [&str; 14] = [
    "core.commentchar", "core.commentstring", "core.notesref", "notes.displayref", "format.notes", "diff.dstprefix",
    "diff.srcprefix", "log.date", "log.excludedecoration", "blame.date", "mailmap.blob", "remote.pushdefault",
    "versionsort.suffix", "checkout.defaultremote",
];

/// The same for one branch or one remote: what comes before its name, and what comes after.
const OF_ONE: [(&str, &[&str]); 2] = [
    ("branch", &["remote", "merge", "rebase", "pushremote"]),
    ("remote", &["fetch", "push", "url", "pushurl", "mirror"]),
];

/// Files with patterns of names, with attributes, with names of commits.
const FILES: [&str; 3] = ["core.excludesfile", "core.attributesfile", "blame.ignorerevsfile"];

/// What `branch.sort` and `tag.sort` may be: others look at signatures.
const ORDERS: [&str; 8] = [
    "authordate",
    "committerdate",
    "creatordate",
    "objectname",
    "refname",
    "taggerdate",
    "v:refname",
    "version:refname",
];

const MAX_VALUE: usize = 4_096;

/// Returns `true` for a setting that names a file, which is led to a copy.
pub(super) fn names_file(name: &str) -> bool {
    FILES.contains(&name)
}

/// Returns `true` for a setting that is taken over with this value, as long as it names no file.
pub(super) fn is_shown(name: &str, value: &str) -> bool {
    let Some((section, key)) = name.split_once('.') else { return false };
    let is_one = |(before, after): &(&str, &[&str])| {
        *before == section && key.rsplit_once('.').is_some_and(|(_, key)| after.contains(&key))
    };
    match name {
        _ if WORDS.contains(&name) || section == "advice" => is_words(value),
        _ if TEXTS.contains(&name) => is_text(value),
        _ if OF_ONE.iter().any(is_one) => is_text(value) && !is_program(value),
        // Whether a signature is good is for another program to say.
        "format.pretty" => is_text(value) && !value.contains("%G"),
        "branch.sort" | "tag.sort" => ORDERS.contains(&value.strip_prefix('-').unwrap_or(value)),
        _ => section == "pretty" && is_text(value) && !value.contains("%G"),
    }
}

/// Returns an error for a setting that is not taken over, although what git shows depends on it.
pub(super) fn check_left_out(name: &str, value: &str) -> Result<(), Refused> {
    if name.starts_with("include.") || name.starts_with("includeif.") {
        return Err(Refused("its settings include others".to_owned()));
    }
    let key = name.strip_prefix("remote.").and_then(|name| name.rsplit_once('.')).map(|(_, key)| key);
    let is_remote = key.is_some_and(|key| ["url", "pushurl"].contains(&key));
    if is_remote && is_program(value) {
        return Err(Refused("a remote of it is reached by a program".to_owned()));
    }
    Ok(())
}

/// Returns `true` for an address by which git starts a program of that name, such as `ext::sh -c …`.
fn is_program(address: &str) -> bool {
    address.contains("::") || address.starts_with('-')
}

fn is_words(value: &str) -> bool {
    value.len() <= 64 && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_,. ".contains(c))
}

fn is_text(value: &str) -> bool {
    value.len() <= MAX_VALUE && !value.chars().any(char::is_control)
}
