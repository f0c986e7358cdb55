//! The manifests of a project: which files they are, and which of them count.
//!
//! Owns their order. Leaves their names to `tables`, and what a manifest states to `facts` and `dependencies`.

use crate::offline::evidence::{Evidence, NotYet, PlannedCall};
use crate::offline::tables::tables;
use crate::offline::text::paths::{self, Area};

/// Manifests read.
const MOST: usize = 5;

/// Returns the place of a manifest's row.
pub(crate) fn row(path: &str) -> Option<usize> {
    let name = paths::file_name(path);
    let is_named = |known: &str| known.strip_prefix('*').map_or(name == known, |end| name.ends_with(end));
    tables().manifests.names.iter().position(|(known, _)| is_named(known))
}

/// Returns the usual command that tests what a manifest is about.
pub(crate) fn test_command(path: &str) -> Option<&'static str> {
    row(path).map(|at| tables().manifests.names[at].1.as_str())
}

/// Returns a glob for the names of manifests.
pub(crate) fn names() -> String {
    let names: Vec<&str> = tables().manifests.names.iter().map(|(name, _)| name.as_str()).collect();
    format!("{{{}}}", names.join(","))
}

/// Returns the manifests, the outermost first.
pub(crate) fn found(evidence: &Evidence) -> Result<Vec<String>, NotYet> {
    let listing = PlannedCall::glob(&format!("**/{}", names()));
    evidence.ask([listing.clone()])?;
    let mut all = evidence.paths(&listing);
    all.retain(|path| !matches!(paths::area(path), Area::Foreign | Area::Test | Area::Example));
    all.retain(|path| !path.starts_with("docs/") && !path.starts_with("doc/"));
    all.sort_by_key(|path| (path.matches('/').count(), row(path), path.clone()));
    all.truncate(MOST);
    Ok(all)
}
