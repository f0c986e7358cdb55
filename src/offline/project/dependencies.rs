//! What the project depends on, each package with the line that says so.
//!
//! Owns the answer. Leaves the formats of manifests to `manifest`. Invariant: a package is named only where a manifest
//! names it.

use super::build::{Stated, found, manifests, stated};
use super::manifest::Kind;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, quotable, shorten};
use crate::offline::text::terms::Terms;

/// Packages listed.
const SHOWN: usize = 40;

#[derive(Debug)]
pub(crate) struct Dependencies {
    /// What is asked for in particular, if anything is.
    pub(crate) named: Terms,
}

impl AnswerPart for Dependencies {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifests()]),
            1 => Some(found(evidence).iter().map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let facts = stated(evidence);
        let of = |kind: Kind| facts.iter().filter(move |(_, fact)| fact.kind == kind);
        let count = of(Kind::Dependency).count();
        let needed: Vec<&Stated> = of(Kind::Dependency).chain(of(Kind::DevDependency)).collect();
        let cite = |(path, fact): &Stated| format!("`{}` (`{path}:{}`)", quotable(&fact.value), fact.line);
        let wanted = |(_, fact): &&&Stated| self.named.count() > 0 && self.named.told(&fact.value) > 0;
        let named: Vec<&Stated> = needed.iter().filter(wanted).copied().collect();
        let summary = match (named.first(), needed.first()) {
            (Some(one), _) if one.1.kind == Kind::Dependency => format!("It depends on {}.", cite(one)),
            (Some(one), _) => format!("For development it needs {}.", cite(one)),
            (None, None) => "Nothing certain: no manifest that I know names a dependency.".to_owned(),
            (None, Some(_)) if self.named.count() > 0 => {
                format!(
                    "I found nothing certain for {}: no dependency is named so. There are these.",
                    self.named.names()
                )
            }
            (None, Some(first)) => match count {
                1 => format!("It depends on {}.", cite(first)),
                _ => format!("It depends on {count} packages, the first of them {}.", cite(first)),
            },
        };
        let shown = if named.is_empty() { &needed[..] } else { &named[1..] };
        let bullet = |stated: &&Stated| {
            let aside = if stated.1.kind == Kind::DevDependency { ", for development" } else { "" };
            format!("- {}{aside}", cite(stated))
        };
        let mut findings: Vec<String> = shown.iter().map(bullet).collect();
        shorten(&mut findings, SHOWN);
        Report { summary, findings, answer: String::new() }
    }
}
