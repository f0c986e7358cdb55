//! Rules of a project: files whose head may name the files that they are about.
//!
//! Pure. Owns the head and the patterns in it. Leaves which files there are to `find`. Source of the format: the
//! documentation of Claude Code. Invariant: a head that cannot be understood limits nothing in silence: it is said.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::message::split_list;

/// Patterns of one rule.
const MAX_PATTERNS: usize = 100;
/// Bytes of a head that is read.
const MAX_HEAD: usize = 16 << 10;

/// A rule as its file says it.
#[derive(Debug)]
pub(super) struct MemoryRule<'a> {
    pub(super) text: &'a str,
    /// Which files it is about, by paths below the project's root; `None` if it always holds.
    pub(super) paths: Option<RulePaths>,
    /// What is wrong with its head.
    pub(super) problem: Option<String>,
}

/// Patterns of paths below the project's root.
#[derive(Debug)]
pub(super) struct RulePaths(Vec<Glob>);

impl RulePaths {
    /// Returns `true` if one of the paths is meant. The patterns are compiled only for that, which takes longer than all
    /// else: at the start, nobody has touched a file.
    pub(super) fn mean_any<'p>(&self, mut paths: impl Iterator<Item = &'p Path>) -> Result<bool, globset::Error> {
        let Some(first) = paths.next() else { return Ok(false) };
        let mut set = GlobSetBuilder::new();
        for glob in &self.0 {
            set.add(glob.clone());
        }
        let set: GlobSet = set.build()?;
        Ok(std::iter::once(first).chain(paths).any(|path| set.is_match(path)))
    }
}

#[derive(Deserialize)]
struct Head {
    paths: Option<Patterns>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Patterns {
    One(String),
    Many(Vec<String>),
}

impl<'a> MemoryRule<'a> {
    /// Returns a text without a head, which always holds.
    pub(super) fn always(text: &'a str) -> Self {
        Self { text, paths: None, problem: None }
    }

    pub(super) fn parse(text: &'a str) -> Self {
        let always = Self::always(text);
        let Some((head, text)) = cut(text) else { return always };
        let always = Self { text, ..always };
        if head.len() > MAX_HEAD {
            return Self { problem: Some("its head is too long and was not read".to_owned()), ..always };
        }
        let patterns = patterns(head);
        if patterns.is_empty() {
            return always;
        }
        let mut globs = Vec::new();
        let mut problem = (patterns.len() > MAX_PATTERNS).then(|| format!("only {MAX_PATTERNS} of its paths count"));
        for pattern in patterns.iter().take(MAX_PATTERNS) {
            let plain = pattern.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
            // A folder stands for what is below it.
            for glob in [plain.to_owned(), format!("{plain}/**")] {
                match GlobBuilder::new(&glob).literal_separator(true).build() {
                    Ok(glob) => globs.push(glob),
                    Err(error) => problem = Some(format!("`{pattern}` is no pattern of paths ({})", error.kind())),
                }
            }
        }
        Self { paths: Some(RulePaths(globs)), problem, ..always }
    }
}

/// Divides a text into its head, between lines of `---`, and the rest.
fn cut(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("---\n")?;
    let mut at = 0;
    for line in inside.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&inside[..at], &inside[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// Returns the patterns in a head. A pattern that begins with `*` is no YAML without quotes, and is read all the same.
fn patterns(head: &str) -> Vec<String> {
    let read = serde_saphyr::from_str::<Head>(head).ok().map(|head| head.paths);
    let entries = match read {
        Some(Some(Patterns::One(list))) => vec![list],
        Some(Some(Patterns::Many(entries))) => entries,
        Some(None) => Vec::new(),
        None => by_lines(head),
    };
    let split = |entry: &String| split_list(entry, ['{', '}'], |c| c == ',').map(str::to_owned).collect::<Vec<_>>();
    entries.iter().flat_map(split).collect()
}

fn by_lines(head: &str) -> Vec<String> {
    let mut lines = head.lines().skip_while(|line| !line.starts_with("paths:"));
    let first = lines.next().and_then(|line| line.strip_prefix("paths:")).unwrap_or_default();
    let more = lines.map_while(|line| line.trim_start().strip_prefix("- "));
    let plain = |entry: &str| entry.trim().trim_matches(['[', ']']).replace(['"', '\''], "");
    std::iter::once(first).chain(more).map(plain).filter(|entry| !entry.is_empty()).collect()
}
