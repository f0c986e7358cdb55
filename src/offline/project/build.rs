//! How the project is built, where a run begins, and which version and license it states.
//!
//! Owns finding manifests and entry points. Leaves the formats of manifests to `manifest`. Invariant: names only what was
//! read.

use std::collections::BTreeMap;

use super::manifest::{self, Fact, Kind, TOOLS};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, quotable, safe};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source;

#[derive(Debug)]
pub(crate) struct Build;

const MAINS: &str =
    "^\\s*(pub )?(async )?fn main\\(|^if __name__ ==|^func main\\(|public static void main|^int main\\(|^def main\\(";
const ROOTS: &str = "**/{src/lib.rs,src/main.rs,__main__.py,index.js,index.ts,src/index.js,src/index.ts}";

fn manifests() -> PlannedCall {
    let names: Vec<&str> = TOOLS.iter().map(|row| row.0).collect();
    PlannedCall::glob(&format!("**/{{{}}}", names.join(",")))
}

/// Manifests read.
const MOST: usize = 5;

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

impl AnswerPart for Build {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifests(), PlannedCall::grep(MAINS, 60), PlannedCall::glob(ROOTS)]),
            1 => Some(found(evidence).iter().map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let paths = found(evidence);
        let mut findings = Vec::new();
        for path in &paths {
            findings.extend(describe(path, &manifest::facts(path, &evidence.lines_of(path))));
        }
        let all = evidence.paths(&manifests()).into_iter().filter(|path| paths::area(path) == Area::Setting).count();
        if all > paths.len() {
            findings.push(format!("- {} more manifests were not read", all - paths.len()));
        }
        let entries = entries(evidence);
        findings.extend(entries.iter().take(6).map(CitedPlace::bullet));
        let roots: Vec<String> = evidence
            .paths(&PlannedCall::glob(ROOTS))
            .into_iter()
            .filter(|path| paths::area(path) == Area::Source)
            .take(5)
            .map(|path| format!("`{path}`"))
            .collect();
        if !roots.is_empty() {
            findings.push(format!("- Roots of the source: {}", roots.join(", ")));
        }
        let summary = match paths.first() {
            Some(path) => {
                let row = manifest::tool(path);
                let (tool, command) = row.map_or(("a build tool", ""), |row| (row.1, row.2));
                let needs = paths.iter().find_map(|path| {
                    let facts = manifest::facts(path, &evidence.lines_of(path));
                    let fact = facts
                        .into_iter()
                        .rev()
                        .find(|fact| fact.kind == Kind::Toolchain && !fact.value.starts_with("edition"))?;
                    Some(format!(" It asks for `{}` (`{path}:{}`).", fact.value, fact.line))
                });
                format!("Built with {tool} (`{path}:1`): `{command}`.{}", needs.unwrap_or_default())
            }
            None => "No manifest of a build tool that I know was found.".to_owned(),
        };
        let summary = match entries.first() {
            Some(entry) => format!("{summary} A run begins at `{}:{}`.", entry.path, entry.line),
            None if paths.is_empty() => summary,
            None => format!("{summary} No main function was found; it looks like a library."),
        };
        Report { summary, findings, answer: String::new() }
    }
}

fn entries(evidence: &Evidence) -> Vec<CitedPlace> {
    let mut hits = evidence.hits(&PlannedCall::grep(MAINS, 60));
    hits.retain(|hit| paths::area(&hit.path) == Area::Source && !source::is_comment(hit.text.trim()));
    hits.retain(|hit| !hit.path.ends_with("build.rs") && !hit.text.starts_with("    "));
    hits.sort_by_key(|hit| (hit.path.matches('/').count(), hit.path.clone(), hit.line));
    hits.into_iter()
        .map(|hit| CitedPlace { path: hit.path, line: hit.line, label: "entry point".to_owned(), text: hit.text })
        .collect()
}

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
    let groups = [
        (Kind::Toolchain, "Toolchain", 4),
        (Kind::License, "License", 1),
        (Kind::Member, "Workspace members", 10),
        (Kind::Binary, "Entry", 6),
        (Kind::Script, "Scripts", 8),
        (Kind::Target, "Targets", 10),
        (Kind::Dependency, "Depends on", 12),
        (Kind::DevDependency, "Needs for development", 10),
    ];
    for (kind, title, most) in groups {
        let all: Vec<&Fact> = facts.iter().filter(|fact| fact.kind == kind).collect();
        let Some(first) = all.first() else { continue };
        let shown: Vec<String> = all.iter().take(most).map(|fact| format!("`{}`", quotable(&fact.value))).collect();
        let more = if all.len() > most { format!(" and {} more", all.len() - most) } else { String::new() };
        out.push(format!("- {title} (`{path}:{}`): {}{more}", first.line, shown.join(", ")));
    }
    out
}

/// One word that a manifest states.
#[derive(Debug)]
pub(crate) struct Package {
    /// The version or the licence.
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

impl AnswerPart for Package {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => {
                let manifests = Build.stage(0, evidence).unwrap_or_default().into_iter().take(1);
                let other = if self.asked == Kind::License { PlannedCall::glob(LICENSES) } else { assignments() };
                Some(manifests.chain([other]).collect())
            }
            1 => {
                let texts = Self::texts(evidence).into_iter().take(1).map(|path| PlannedCall::read_part(&path, 1, 25));
                Some(found(evidence).iter().map(|path| PlannedCall::read(path)).chain(texts).collect())
            }
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
            return Report { summary, ..Report::default() };
        }
        let mut hits = evidence.hits(&assignments());
        hits.retain(|hit| {
            matches!(paths::area(&hit.path), Area::Source | Area::Setting) && !manifests.contains(&hit.path)
        });
        hits.sort_by_key(|hit| (hit.path.matches('/').count(), hit.path.clone(), hit.line));
        let mut others = hits.iter().map(|hit| {
            CitedPlace { path: hit.path.clone(), line: hit.line, label: "field".to_owned(), text: hit.text.clone() }
                .bullet()
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
