//! How the project is built, and where a run begins.
//!
//! Owns finding manifests and entry points. Leaves the formats of manifests to `manifest`. Invariant: names only what was
//! read.

use super::manifest::{self, Fact, Kind, TOOLS};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, quotable, safe};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source;

#[derive(Debug)]
pub(crate) struct Build;

/// Where a run begins, and nothing else.
#[derive(Debug)]
pub(crate) struct EntryPoints;

const MAINS: &str =
    "^\\s*(pub )?(async )?fn main\\(|^if __name__ ==|^func main\\(|public static void main|^int main\\(|^def main\\(";
pub(crate) fn manifests() -> PlannedCall {
    let names: Vec<&str> = TOOLS.iter().map(|row| row.0).collect();
    PlannedCall::glob(&format!("**/{{{}}}", names.join(",")))
}

/// Manifests read, and things listed of a kind.
const MOST: usize = 5;
const LISTED: usize = 10;

/// Returns the manifests, the outermost first.
pub(crate) fn found(evidence: &Evidence) -> Vec<String> {
    let mut all = evidence.paths(&manifests());
    all.retain(|path| !matches!(paths::area(path), Area::Foreign | Area::Test | Area::Example));
    all.retain(|path| !path.starts_with("docs/") && !path.starts_with("doc/"));
    let rank = |path: &str| manifest::tool(path).and_then(|own| TOOLS.iter().position(|row| row == own));
    all.sort_by_key(|path| (path.matches('/').count(), rank(path), path.clone()));
    all.truncate(MOST);
    all
}

/// A fact with the path of its manifest.
pub(crate) type Stated = (String, Fact);

/// Returns what the manifests state.
pub(crate) fn stated(evidence: &Evidence) -> Vec<Stated> {
    let of = |path: String| {
        let facts = manifest::facts(&path, &evidence.lines_of(&path));
        facts.into_iter().map(move |fact| (path.clone(), fact))
    };
    found(evidence).into_iter().flat_map(of).collect()
}

impl AnswerPart for Build {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifests(), PlannedCall::grep(MAINS, 60)]),
            1 => Some(found(evidence).iter().map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let paths = found(evidence);
        let of = |path: &String| describe(path, &manifest::facts(path, &evidence.lines_of(path)));
        let mut findings: Vec<String> = paths.iter().flat_map(of).collect();
        let all = evidence.paths(&manifests()).into_iter().filter(|path| paths::area(path) == Area::Setting).count();
        if all > paths.len() {
            findings.push(format!("- {} more manifests were not read", all - paths.len()));
        }
        let built = match paths.first().and_then(|path| Some((path, manifest::tool(path)?))) {
            Some((path, row)) => format!("Built with {} (`{path}:1`): `{}`.", row.1, row.2),
            None => "No manifest of a build tool that I know was found.".to_owned(),
        };
        let entries = entries(evidence);
        let begins = match entries.first() {
            Some(entry) => format!(" A run begins at `{}:{}`.", entry.path, entry.line),
            None if paths.is_empty() => String::new(),
            None => " No main function was found; it looks like a library.".to_owned(),
        };
        findings.extend(entries.iter().take(6).map(CitedPlace::bullet));
        Report { summary: built + &begins, findings, answer: String::new() }
    }
}

impl AnswerPart for EntryPoints {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        Build.stage(n, evidence)
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let named = stated(evidence).into_iter().filter(|(_, fact)| fact.kind == Kind::Binary);
        let named = named.map(|(path, fact)| place(path, fact.line, fact.value));
        let mut places: Vec<CitedPlace> = named.chain(entries(evidence)).collect();
        CitedPlace::keep_first(&mut places);
        let summary = match places.as_slice() {
            [] => "I found nothing certain: no manifest names an entry point, and there is no main function. It looks like \
                   a library."
                .to_owned(),
            [one] => format!("A run begins at `{}:{}`.", one.path, one.line),
            [first, rest @ ..] => {
                format!("A run begins at `{}:{}`; there are {} more entry points.", first.path, first.line, rest.len())
            }
        };
        let findings = places.iter().take(12).map(CitedPlace::bullet).collect();
        Report { summary, findings, answer: String::new() }
    }
}

fn place(path: String, line: usize, text: String) -> CitedPlace {
    CitedPlace { path, line, label: "entry point".to_owned(), text }
}

/// Returns the main functions, the outermost first.
fn entries(evidence: &Evidence) -> Vec<CitedPlace> {
    let mut hits = evidence.hits(&PlannedCall::grep(MAINS, 60));
    hits.retain(|hit| paths::area(&hit.path) == Area::Source && !source::is_comment(hit.text.trim()));
    hits.retain(|hit| !hit.path.ends_with("build.rs") && !hit.text.starts_with("    "));
    hits.sort_by_key(|hit| (hit.path.matches('/').count(), hit.path.clone(), hit.line));
    hits.into_iter().map(|hit| place(hit.path, hit.line, hit.text)).collect()
}

/// Returns the lines on one manifest: its package, and what else it states, by kind.
fn describe(path: &str, facts: &[Fact]) -> Vec<String> {
    let one = |kind: Kind| facts.iter().find(|fact| fact.kind == kind);
    let mut out = Vec::new();
    // What has no name of its own is a part of the package around it.
    if path.contains('/') && one(Kind::Name).is_none() && one(Kind::Member).is_none() {
        return out;
    }
    if let Some(name) = one(Kind::Name) {
        let version = one(Kind::Version).map(|fact| format!(" {}", fact.value)).unwrap_or_default();
        let about = one(Kind::About).map(|fact| format!(": {}", safe(&fact.value))).unwrap_or_default();
        out.push(format!("- Package `{}`{version} (`{path}:{}`){about}", name.value, name.line));
    }
    for (kind, title) in [
        (Kind::Toolchain, "Toolchain"),
        (Kind::Member, "Workspace members"),
        (Kind::Binary, "Entry"),
        (Kind::Script, "Scripts"),
        (Kind::Target, "Targets"),
        (Kind::Dependency, "Depends on"),
    ] {
        let all: Vec<&Fact> = facts.iter().filter(|fact| fact.kind == kind).collect();
        let Some(first) = all.first() else { continue };
        let shown: Vec<String> = all.iter().take(LISTED).map(|fact| format!("`{}`", quotable(&fact.value))).collect();
        let more = if all.len() > LISTED { format!(" and {} more", all.len() - LISTED) } else { String::new() };
        out.push(format!("- {title} (`{path}:{}`): {}{more}", first.line, shown.join(", ")));
    }
    out
}
