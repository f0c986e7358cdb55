//! The names of files that other programs run or obey.
//!
//! Owns the one table of them, by which tools ask and the sandbox keeps. Leaves what follows from a name to `permission` and
//! `sandbox`. Invariant: what begins with a dot is obeyed, unless the table calls it harmless.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

/// The table in `assets/obeyed.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    kept: Vec<PathBuf>,
    kept_patterns: Vec<String>,
    asked: Vec<String>,
    asked_patterns: Vec<String>,
    harmless: Vec<String>,
    harmless_patterns: Vec<String>,
    notes: Vec<String>,
    note_patterns: Vec<String>,
}

/// The table, as it is looked into: in lower case, each pattern by what comes before and after its star.
#[derive(Debug, Default)]
struct Table {
    kept: Vec<PathBuf>,
    kept_patterns: Vec<(String, String)>,
    names: HashSet<String>,
    patterns: Vec<(String, String)>,
    harmless: HashSet<String>,
    harmless_patterns: Vec<(String, String)>,
    notes: HashSet<String>,
    note_patterns: Vec<(String, String)>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let data: Data = toml::from_str(include_str!("../assets/obeyed.toml")).unwrap_or_default();
        let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>();
        let split = |patterns: &[String]| {
            let all = lower(patterns).into_iter();
            all.filter_map(|pattern| pattern.split_once('*').map(|(start, end)| (start.into(), end.into()))).collect()
        };
        let kept_patterns: Vec<(String, String)> = split(&data.kept_patterns);
        let single = data.kept.iter().filter(|path| path.iter().count() == 1);
        let names = single.map(|path| path.to_string_lossy().to_lowercase()).chain(lower(&data.asked)).collect();
        Table {
            names,
            patterns: kept_patterns.iter().cloned().chain(split(&data.asked_patterns)).collect(),
            kept_patterns,
            harmless: lower(&data.harmless).into_iter().collect(),
            harmless_patterns: split(&data.harmless_patterns),
            notes: lower(&data.notes).into_iter().collect(),
            note_patterns: split(&data.note_patterns),
            kept: data.kept,
        }
    })
}

/// Returns `true` if other programs run or obey what has this name, wherever it lies. It has to be in lower case.
#[must_use]
pub fn is_obeyed(name: &str) -> bool {
    let table = table();
    if name.starts_with('.') {
        return !table.harmless.contains(name) && !fits(name, &table.harmless_patterns);
    }
    table.names.contains(name) || fits(name, &table.patterns)
}

/// Returns what is obeyed without being asked, as paths from the folder in which it is.
pub fn kept_paths() -> &'static [PathBuf] {
    &table().kept
}

/// Returns `true` if something of this name is obeyed without being asked in the folder in which it lies, by a pattern.
#[must_use]
pub fn is_kept_by_pattern(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    name.is_some_and(|name| fits(&name, &table().kept_patterns))
}

/// Returns `true` if programs of the user's set-up note something down in what has this name, and nobody obeys it.
#[must_use]
pub fn is_note(name: &str) -> bool {
    let (table, name) = (table(), name.to_lowercase());
    table.notes.contains(&name) || fits(&name, &table.note_patterns)
}

fn fits(name: &str, patterns: &[(String, String)]) -> bool {
    let fits = |(start, end): &(String, String)| {
        name.len() >= start.len() + end.len() && name.starts_with(start.as_str()) && name.ends_with(end.as_str())
    };
    patterns.iter().any(fits)
}
