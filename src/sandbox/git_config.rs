//! Which settings of a repository run nothing and lead nowhere.
//!
//! Owns a strict reader of git's format of settings (git-config(1)) and the judgment of each setting. Leaves what becomes of
//! a file to `git_folder`. Invariant: a file that this reader does not understand completely has no harmless settings, and
//! neither has a setting that is on no list.

use std::path::{Component, Path};

use super::places::data;

/// One setting, its section and key in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitSetting {
    section: String,
    subsection: Option<String>,
    key: String,
    /// `None` where the file names the key only, which means yes.
    value: Option<String>,
}

impl GitSetting {
    /// Returns `true` if git runs nothing, and writes nowhere else, because of this setting. `folder` is git's.
    pub(super) fn is_harmless(&self, folder: &Path) -> bool {
        let value = self.value.as_deref().unwrap_or("true");
        let name = match &self.subsection {
            Some(_) => format!("{}.*.{}", self.section, self.key),
            None => format!("{}.{}", self.section, self.key),
        };
        if value.contains(['\n', '\r', '\0']) || !data().git.settings.contains(&name) {
            return false;
        }
        match name.as_str() {
            "core.worktree" => is_around(folder, Path::new(value)),
            // `!command` runs, and is believed here only.
            "submodule.*.update" => ["checkout", "rebase", "merge", "none"].contains(&value),
            // `helper::address` is a program's name.
            name if name.ends_with("url") => !value.contains("::") && !value.starts_with('-'),
            _ => true,
        }
    }

    /// Returns `true` if it changes where a remote lies that other settings speak of already.
    pub(super) fn redirects(&self, known: &[Self]) -> bool {
        self.key.ends_with("url")
            && known.iter().any(|known| (&known.section, &known.subsection) == (&self.section, &self.subsection))
    }
}

/// Returns `true` if the files that a folder of git's names as its own lie above it: a submodule's, or those beside it.
fn is_around(folder: &Path, worktree: &Path) -> bool {
    let (mut place, mut has_left) = (folder.to_path_buf(), false);
    if worktree.is_absolute() {
        return folder.parent() == Some(worktree);
    }
    for part in worktree.components() {
        match part {
            Component::ParentDir if !has_left => drop(place.pop()),
            Component::Normal(name) => {
                has_left = true;
                place.push(name);
            }
            Component::CurDir => {}
            _ => return false,
        }
    }
    // It climbs out of git's folder, and no further than what holds that.
    let holder = folder.ancestors().find(|part| part.ends_with(".git")).and_then(Path::parent);
    place != folder && holder.is_none_or(|holder| place.starts_with(holder))
}

/// Reads a file of settings. Returns `None` if any of it is not understood.
pub(super) fn read(text: &[u8]) -> Option<Vec<GitSetting>> {
    Some(lines(text)?.into_iter().filter_map(|(_, setting)| setting).collect())
}

/// Returns a file of settings without some of them; `None` if any of it is not understood.
pub(super) fn without(text: &[u8], is_dropped: impl Fn(&GitSetting) -> bool) -> Option<Vec<u8>> {
    let lines = lines(text)?.into_iter();
    let kept = lines.filter(|(_, setting)| !setting.as_ref().is_some_and(&is_dropped));
    Some(kept.map(|(line, _)| line).collect::<String>().into_bytes())
}

/// Returns each line with the setting in it.
fn lines(text: &[u8]) -> Option<Vec<(&str, Option<GitSetting>)>> {
    let (mut lines, mut section) = (Vec::new(), None);
    for whole in std::str::from_utf8(text).ok()?.split_inclusive('\n') {
        let line = whole.trim_matches([' ', '\t', '\r', '\n']);
        let setting = match line.as_bytes().first() {
            None | Some(b'#' | b';') => None,
            Some(b'[') => {
                section = Some(header(line)?);
                None
            }
            Some(_) => Some(setting(line, section.clone()?)?),
        };
        lines.push((whole, setting));
    }
    Some(lines)
}

fn setting(line: &str, (section, subsection): (String, Option<String>)) -> Option<GitSetting> {
    let (key, value) = match line.split_once('=') {
        Some((key, text)) => (key.trim_end_matches([' ', '\t']), Some(value(text)?)),
        None => (line, None),
    };
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name.then(|| GitSetting { section, subsection, key: key.to_ascii_lowercase(), value })
}

/// Reads `[section]` or `[section "name"]`, alone on its line.
fn header(line: &str) -> Option<(String, Option<String>)> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let (section, name) = match inside.split_once([' ', '\t']) {
        Some((section, quoted)) => {
            let quoted = quoted.trim_start_matches([' ', '\t']).strip_prefix('"')?.strip_suffix('"')?;
            (section, Some(unescaped(quoted)?))
        }
        None => (inside, None),
    };
    let is_plain = !section.is_empty() && section.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_plain.then(|| (section.to_ascii_lowercase(), name))
}

/// Returns a name between quotes without its backslashes.
fn unescaped(quoted: &str) -> Option<String> {
    let (mut name, mut rest) = (String::new(), quoted.chars());
    while let Some(c) = rest.next() {
        match c {
            '"' => return None,
            '\\' => name.push(rest.next()?),
            c => name.push(c),
        }
    }
    Some(name)
}

/// Reads a value that ends with its line.
fn value(text: &str) -> Option<String> {
    let (mut value, mut kept, mut is_quoted) = (String::new(), 0, false);
    let mut rest = text.trim_start_matches([' ', '\t']).chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' if !is_quoted => {
                value.push(c);
                continue;
            }
            '#' | ';' if !is_quoted => break,
            '"' => is_quoted = !is_quoted,
            '\\' => match rest.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'b' => value.push('\u{8}'),
                c @ ('"' | '\\') => value.push(c),
                _ => return None,
            },
            c => value.push(c),
        }
        kept = value.len();
    }
    value.truncate(kept);
    (!is_quoted).then_some(value)
}
