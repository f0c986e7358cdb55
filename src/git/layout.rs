//! The few settings of a repository without which it cannot be read: how its files and objects are laid out.
//!
//! Owns the list of them. Leaves those that change what git shows to `shown`. Invariant: their values are words and numbers;
//! no setting on the list names a program, a file or another repository.

use std::path::PathBuf;

use super::Refused;

/// Settings that are taken over where they stand.
const CORE: [&str; 12] = [
    "core.abbrev",
    "core.autocrlf",
    "core.checkstat",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.sharedrepository",
    "core.symlinks",
    "core.trustctime",
];
/// Extensions that say how objects and refs are kept.
const FORMATS: [&str; 2] = ["extensions.objectformat", "extensions.refstorage"];
/// Extensions that a question has nothing to do with.
const NEEDLESS: [&str; 5] = [
    "extensions.noop",
    "extensions.noop-v1",
    "extensions.partialclone",
    "extensions.preciousobjects",
    "extensions.relativeworktrees",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) settings: Vec<(String, String)>,
    /// Where its files are to lie, as its settings say.
    pub(super) worktree: Option<PathBuf>,
    /// Whether one of its worktrees has settings of its own.
    pub(super) has_own_settings: bool,
}

impl Layout {
    /// Reads a listing of settings, `name LF value NUL` each, in which a later one outranks an earlier one.
    pub(super) fn of_listing(listing: &[u8]) -> Result<Self, Refused> {
        let mut layout = Self::default();
        let mut formats = Vec::new();
        let mut version = String::from("0");
        for entry in listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let Ok(text) = std::str::from_utf8(entry) else {
                // A name that is no text is none of ours.
                if entry.starts_with(b"core.worktree") || entry.starts_with(b"extensions.") {
                    return Err(Refused("its settings are in another encoding".to_owned()));
                }
                continue;
            };
            let (name, value) = text.split_once('\n').unwrap_or((text, "true"));
            match name {
                "core.repositoryformatversion" => version = word(name, value)?,
                "core.worktree" => layout.worktree = Some(PathBuf::from(value)),
                "core.bare" if !is_off(value) => {
                    return Err(Refused("it has no files of its own".to_owned()));
                }
                _ if CORE.contains(&name) => layout.settings.push((name.to_owned(), word(name, value)?)),
                "extensions.worktreeconfig" => layout.has_own_settings = !is_off(value),
                _ if FORMATS.contains(&name) => formats.push((name.to_owned(), word(name, value)?)),
                _ if name.starts_with("extensions.") && !NEEDLESS.contains(&name) => {
                    return Err(Refused(format!("its extension `{}` is not known", word(name, &name[11..])?)));
                }
                _ => {}
            }
        }
        match version.as_str() {
            "0" => {}
            "1" => layout.settings.append(&mut formats),
            _ => return Err(Refused(format!("its format {version} is not known"))),
        }
        layout.settings.push(("core.repositoryformatversion".to_owned(), version));
        Ok(layout)
    }
}

fn is_off(value: &str) -> bool {
    ["false", "no", "off", "0", ""].iter().any(|off| value.eq_ignore_ascii_case(off))
}

/// Returns the value of a setting if it is a word or a number.
fn word(name: &str, value: &str) -> Result<String, Refused> {
    if value.len() <= 64 && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        Ok(value.to_owned())
    } else {
        Err(Refused(format!("its setting {name} is odd")))
    }
}
