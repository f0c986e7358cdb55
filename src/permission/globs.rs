//! The patterns of paths in rules: what matches, and what lies below.
//!
//! Owns their grammar, which is that of lists of ignored files. Leaves what a match means to `rule`. Invariant: nothing here
//! looks at the disk.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::rule::Places;

/// Reads a pattern of paths: relative to the project, `~/` to the home, `//` to the root of the disk; without a slash it
/// matches at any depth. Returns what matches it, and what matches what lies below.
pub(super) fn below(pattern: &str, places: Places<'_>) -> Option<[GlobMatcher; 2]> {
    let (base, inside) = match (pattern.strip_prefix("//"), pattern.strip_prefix("~/")) {
        (Some(absolute), _) => (Path::new("/"), absolute),
        (_, Some(below)) => (places.home?, below),
        _ => (places.project, pattern.strip_prefix("./").unwrap_or(pattern)),
    };
    let inside = match inside.trim_end_matches('/').strip_suffix("/**") {
        Some(folder) => folder,
        None => inside.trim_end_matches('/'),
    };
    let mut parts: Vec<&str> = Vec::new();
    let mut base = PathBuf::from(base);
    for part in inside.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." if parts.pop().is_none() => {
                base.pop();
            }
            ".." => {}
            part => parts.push(part),
        }
    }
    // As in a list of ignored files, a bare name is meant wherever it occurs.
    if !pattern.trim_end_matches('/').contains('/') && pattern != "**" {
        parts.insert(0, "**");
    }
    let base = globset::escape(base.to_str()?.trim_end_matches('/'));
    let whole = std::iter::once(base.as_str()).chain(parts).collect::<Vec<_>>().join("/");
    globs_of(&whole)
}

/// Returns what matches a pattern of absolute paths, and what matches what lies below.
pub(super) fn globs_of(whole: &str) -> Option<[GlobMatcher; 2]> {
    let glob = |text: &str| Some(GlobBuilder::new(text).literal_separator(true).build().ok()?.compile_matcher());
    Some([glob(whole)?, glob(&format!("{whole}/**"))?])
}

pub(super) fn is_below(globs: &[GlobMatcher; 2], path: &Path) -> bool {
    globs.iter().any(|glob| glob.is_match(path))
}

/// Returns `true` if something below `folder` can match: the pattern's parts before its first wildcard lie there.
pub(super) fn reaches_below(glob: &GlobMatcher, folder: &Path) -> bool {
    let pattern = glob.glob().glob();
    let fixed = fixed_part(pattern);
    Path::new(fixed).starts_with(folder) || (fixed.len() < pattern.len() && folder.starts_with(fixed))
}

/// Returns the path that comes before the first wildcard of a pattern.
pub(super) fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{', '\\']) {
        None => pattern,
        Some(wild) => &pattern[..pattern[..wild].rfind('/').unwrap_or(0)],
    }
}
