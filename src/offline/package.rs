//! What the project says of itself in one word: its version and its licence.
//!
//! Owns finding the line. Leaves the formats of manifests to `manifest`. Invariant: a value is given with its line.

use super::build::{Build, found};
use super::evidence::Evidence;
use super::manifest::{self, Fact, Kind};
use super::place::{Place, quotable};
use super::plan::{Call, Part};
use super::report::Report;
use super::source::{self, Area};

/// One word that a manifest states.
#[derive(Debug)]
pub(super) struct Package {
    /// The version or the licence.
    pub(super) asked: Kind,
}

const LICENSES: &str = "{LICENSE,LICENCE,COPYING}*";

fn assignments() -> Call {
    Call::grep("^\\s*(export const |const |pub const )?(__version__|version)\\b[^=:]*[:=] *['\"]?v?[0-9]+\\.", 60)
}

impl Part for Package {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<Call>> {
        match n {
            0 => {
                let manifests = Build.stage(0, evidence).unwrap_or_default().into_iter().take(1);
                let other = if self.asked == Kind::License { Call::glob(LICENSES) } else { assignments() };
                Some(manifests.chain([other]).collect())
            }
            1 => Some(found(evidence).iter().map(|path| Call::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let manifests = found(evidence);
        let all: Vec<(&String, Vec<Fact>)> =
            manifests.iter().map(|path| (path, manifest::facts(path, &evidence.lines_of(path)))).collect();
        let first = |kind: Kind| {
            all.iter().find_map(|(path, facts)| {
                let fact = facts.iter().find(|fact| fact.kind == kind)?;
                Some((fact.value.clone(), format!("`{path}:{}`", fact.line)))
            })
        };
        let name = first(Kind::Name).map(|(name, _)| format!(" of `{name}`")).unwrap_or_default();
        let stated = first(self.asked);
        if self.asked == Kind::License {
            let texts: Vec<String> =
                evidence.paths(&Call::glob(LICENSES)).iter().map(|path| format!("`{path}`")).collect();
            let summary = match (stated, texts.is_empty()) {
                (Some((value, cite)), _) => format!("The license{name} is `{value}` ({cite})."),
                (None, false) => format!("No manifest states a license; its text is in {}.", texts.join(", ")),
                (None, true) => "No manifest and no file states a license.".to_owned(),
            };
            return Report { summary, ..Report::default() };
        }
        let mut hits = evidence.hits(&assignments());
        hits.retain(|hit| {
            matches!(source::area(&hit.path), Area::Source | Area::Setting) && !manifests.contains(&hit.path)
        });
        hits.sort_by_key(|hit| (hit.path.matches('/').count(), hit.path.clone(), hit.line));
        let mut others = hits.iter().map(|hit| {
            Place { path: hit.path.clone(), line: hit.line, label: "field".to_owned(), text: hit.text.clone() }.bullet()
        });
        let summary = match stated {
            Some((value, cite)) => format!("The version{name} is `{value}` ({cite})."),
            None => match hits.first() {
                Some(hit) => {
                    others.next();
                    format!("No manifest states a version; `{}:{}` has `{}`.", hit.path, hit.line, quotable(&hit.text))
                }
                None => "No manifest and no constant states a version.".to_owned(),
            },
        };
        Report { summary, findings: others.take(3).collect(), answer: String::new() }
    }
}
