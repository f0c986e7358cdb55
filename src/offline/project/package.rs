//! What a manifest states in a word: the version, the license, the version of the language that it needs.
//!
//! Owns files that state it where no manifest does. Leaves the formats of manifests to `manifest`. Invariant: names only
//! what was read.

use std::collections::BTreeMap;

use super::build::{found, manifests, stated};
use super::manifest::Kind;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, quotable};
use crate::offline::text::paths::{self, Area};

/// One word that a manifest states.
#[derive(Debug)]
pub(crate) struct Package {
    /// The version, the license, or the toolchain.
    pub(crate) asked: Kind,
}

const LICENSES: &str = "{LICENSE,LICENCE,COPYING}*";

/// What the text of a licence says near its beginning, and what it is called.
const TEXTS: [(&str, &str); 11] = [
    ("MIT License", "MIT"),
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Apache License", "Apache-2.0"),
    ("GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL"),
    ("GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"),
    ("GNU GENERAL PUBLIC LICENSE", "GPL"),
    ("Mozilla Public License", "MPL"),
    ("ISC License", "ISC"),
    ("Redistribution and use in source and binary forms", "BSD"),
    ("CC0 1.0", "CC0-1.0"),
    ("This is free and unencumbered software", "Unlicense"),
];

fn license(lines: &BTreeMap<usize, String>) -> Option<(usize, &'static str)> {
    lines.iter().find_map(|(number, line)| {
        let lower = line.to_lowercase();
        let (_, name) = TEXTS.iter().find(|(text, _)| lower.contains(&text.to_lowercase()))?;
        Some((*number, *name))
    })
}

impl Package {
    /// Returns the files with the text of the licence.
    fn texts(evidence: &Evidence) -> Vec<String> {
        evidence.paths(&PlannedCall::glob(LICENSES))
    }
}

fn assignments() -> PlannedCall {
    PlannedCall::grep(
        "^\\s*(export const |const |pub const )?(__version__|version)\\b[^=:]*[:=] *['\"]?v?[0-9]+\\.",
        60,
    )
}

/// Files that hold nothing but the version.
const VERSIONS: &str = "{VERSION,VERSION.txt,version.txt,.version}";

impl AnswerPart for Package {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(match self.asked {
                Kind::License => vec![manifests(), PlannedCall::glob(LICENSES)],
                Kind::Version => vec![manifests(), assignments(), PlannedCall::glob(VERSIONS)],
                _ => vec![manifests()],
            }),
            1 => {
                let texts = Self::texts(evidence).into_iter().chain(evidence.paths(&PlannedCall::glob(VERSIONS)));
                let texts = texts.take(1).map(|path| PlannedCall::read_part(&path, 1, 25));
                Some(found(evidence).iter().map(|path| PlannedCall::read(path)).chain(texts).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let facts = stated(evidence);
        let name = facts.iter().find(|(_, fact)| fact.kind == Kind::Name);
        let name = name.map(|(_, fact)| format!(" of `{}`", fact.value)).unwrap_or_default();
        let of_kind = facts.iter().filter(|(_, fact)| fact.kind == self.asked);
        let mut all = of_kind.map(|(path, fact)| (fact.value.clone(), format!("`{path}:{}`", fact.line)));
        match self.asked {
            Kind::License => Self::license(&name, all.next(), evidence),
            Kind::Toolchain => Self::toolchain(&name, all.collect()),
            _ => Self::version(&name, all.next(), evidence),
        }
    }
}

impl Package {
    fn license(name: &str, stated: Option<(String, String)>, evidence: &Evidence) -> Report {
        let text = Self::texts(evidence).into_iter().next();
        let told = text.as_ref().and_then(|path| {
            let (line, name) = license(&evidence.lines_of(path))?;
            Some((name.to_owned(), format!("`{path}:{line}`")))
        });
        let summary = match (stated.or(told), text) {
            (Some((value, cite)), _) => format!("The license{name} is `{value}` ({cite})."),
            (None, Some(text)) => {
                format!("Nothing certain: no manifest states a license, and I do not know the text in `{text}`.")
            }
            (None, None) => "Nothing certain: no manifest and no file states a license.".to_owned(),
        };
        Report { summary, ..Report::default() }
    }

    fn toolchain(name: &str, stated: Vec<(String, String)>) -> Report {
        // An edition is no version of the compiler, and says less than one.
        let (editions, versions): (Vec<_>, Vec<_>) =
            stated.into_iter().partition(|(value, _)| value.starts_with("edition"));
        let mut all = versions.into_iter().chain(editions);
        let summary = match all.next() {
            Some((value, cite)) => format!("The manifest{name} asks for `{value}` ({cite})."),
            None => "Nothing certain: no manifest says which version it needs.".to_owned(),
        };
        let findings = all.take(3).map(|(value, cite)| format!("- {cite} field: `{}`", quotable(&value))).collect();
        Report { summary, findings, answer: String::new() }
    }

    fn version(name: &str, stated: Option<(String, String)>, evidence: &Evidence) -> Report {
        let manifests = found(evidence);
        let mut hits = evidence.hits(&assignments());
        hits.retain(|hit| {
            matches!(paths::area(&hit.path), Area::Source | Area::Setting) && !manifests.contains(&hit.path)
        });
        hits.sort_by_key(|hit| (hit.path.matches('/').count(), hit.path.clone(), hit.line));
        let mut others: Vec<CitedPlace> = hits
            .into_iter()
            .map(|hit| CitedPlace { path: hit.path, line: hit.line, label: "field".to_owned(), text: hit.text })
            .collect();
        let in_file = evidence.paths(&PlannedCall::glob(VERSIONS)).into_iter().find_map(|path| {
            let (line, text) = evidence.lines_of(&path).into_iter().find(|(_, text)| !text.trim().is_empty())?;
            Some((quotable(&text), format!("`{path}:{line}`")))
        });
        let summary = match stated.or(in_file) {
            Some((value, cite)) => format!("The version{name} is `{value}` ({cite})."),
            None if others.is_empty() => "No manifest and no constant states a version.".to_owned(),
            None => {
                let best = others.remove(0);
                let (path, line) = (best.path, best.line);
                format!("No manifest states a version; `{path}:{line}` has `{}`.", quotable(&best.text))
            }
        };
        Report { summary, findings: others.iter().take(3).map(CitedPlace::bullet).collect(), answer: String::new() }
    }
}
