//! What a manifest states: what the package is, its version and license, the version of the language, the dependencies.
//!
//! Owns files that state it where no manifest does. Leaves the formats of manifests to `manifest`. Invariant: names only
//! what was read, each thing with its line.

use std::collections::BTreeMap;

use super::manifest::{Kind, found, manifests, stated};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, quotable, safe, shorten};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::sentence;
use crate::offline::text::terms::Terms;

/// One kind of fact that manifests state.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) asked: Kind,
    /// The dependency that is asked for in particular, if one is.
    pub(crate) named: Terms,
}

/// A value, and the place that states it.
type Cited = (String, String);

/// Packages listed.
const SHOWN: usize = 40;
const LICENSES: &str = "{LICENSE,LICENCE,COPYING}*";
const READMES: &str = "{README,Readme,readme}*";
/// Files that hold nothing but the version.
const VERSIONS: &str = "{VERSION,VERSION.txt,version.txt,.version}";

/// What the text of a licence says near its beginning, and what it is called.
const TEXTS: [(&str, &str); 11] = [
    ("mit license", "MIT"),
    ("permission is hereby granted, free of charge", "MIT"),
    ("apache license", "Apache-2.0"),
    ("gnu affero general public license", "AGPL"),
    ("gnu lesser general public license", "LGPL"),
    ("gnu general public license", "GPL"),
    ("mozilla public license", "MPL"),
    ("isc license", "ISC"),
    ("redistribution and use in source and binary forms", "BSD"),
    ("cc0 1.0", "CC0-1.0"),
    ("this is free and unencumbered software", "Unlicense"),
];

fn assignments() -> PlannedCall {
    PlannedCall::grep(
        "^\\s*(export const |const |pub const )?(__version__|version)\\b[^=:]*[:=] *['\"]?v?[0-9]+\\.",
        60,
    )
}

impl AnswerPart for Package {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(match self.asked {
                Kind::About => vec![manifests(), PlannedCall::glob(READMES)],
                Kind::License => vec![manifests(), PlannedCall::glob(LICENSES)],
                Kind::Version => vec![manifests(), assignments(), PlannedCall::glob(VERSIONS)],
                _ => vec![manifests()],
            }),
            1 => {
                let texts = [LICENSES, VERSIONS, READMES].map(|glob| evidence.paths(&PlannedCall::glob(glob)));
                let texts = texts.iter().flatten().take(1).map(|path| PlannedCall::read_part(path, 1, 60));
                Some(found(evidence).iter().map(|path| PlannedCall::read(path)).chain(texts).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let facts = stated(evidence);
        let of = |kind: Kind| -> Vec<Cited> {
            let of_kind = facts.iter().filter(|(_, fact)| fact.kind == kind);
            of_kind.map(|(path, fact)| (quotable(&fact.value), format!("`{path}:{}`", fact.line))).collect()
        };
        let name = of(Kind::Name).first().map(|(name, _)| format!(" of `{name}`")).unwrap_or_default();
        let all = of(self.asked);
        match self.asked {
            Kind::About => about(of(Kind::Name), of(Kind::Version), all, evidence),
            Kind::License => license(&name, all, evidence),
            Kind::Toolchain => toolchain(&name, all),
            Kind::Dependency => self.dependencies(&all, &of(Kind::DevDependency)),
            _ => version(&name, all, evidence),
        }
    }
}

impl Package {
    fn dependencies(&self, needed: &[Cited], in_development: &[Cited]) -> Report {
        let cite = |(name, place): &Cited| format!("`{name}` ({place})");
        let is_named = |one: &&Cited| self.named.count() > 0 && self.named.told(&one.0) > 0;
        let named = needed.iter().find(is_named).map(|one| format!("It depends on {}.", cite(one)));
        let named = named.or_else(|| {
            in_development.iter().find(is_named).map(|one| format!("For development it needs {}.", cite(one)))
        });
        let summary = match (named, needed) {
            (Some(named), _) => named,
            (None, []) if in_development.is_empty() => {
                "Nothing certain: no manifest that I know names a dependency.".to_owned()
            }
            (None, _) if self.named.count() > 0 => {
                format!(
                    "I found nothing certain for {}: no dependency is named so. There are these.",
                    self.named.names()
                )
            }
            (None, [one]) => format!("It depends on {}.", cite(one)),
            (None, [first, ..]) => {
                format!("It depends on {} packages, the first of them {}.", needed.len(), cite(first))
            }
            (None, []) => "It has dependencies for development only.".to_owned(),
        };
        let own = needed.iter().map(|one| format!("- {}", cite(one)));
        let others = in_development.iter().map(|one| format!("- {}, for development", cite(one)));
        let mut findings: Vec<String> = own.chain(others).collect();
        shorten(&mut findings, SHOWN);
        Report { summary, findings, answer: String::new() }
    }
}

fn about(names: Vec<Cited>, versions: Vec<Cited>, stated: Vec<Cited>, evidence: &Evidence) -> Report {
    let version = versions.into_iter().next().map(|(version, _)| format!(" {version}")).unwrap_or_default();
    let name = names.into_iter().next().map(|(name, cite)| format!(" It is the package `{name}`{version} ({cite})."));
    let readme = evidence.paths(&PlannedCall::glob(READMES)).into_iter().next().and_then(|path| {
        let (line, text) = first_paragraph(&evidence.lines_of(&path))?;
        Some((safe(&sentence(&text, 300)), format!("`{path}:{line}`")))
    });
    let about = match (readme, stated.into_iter().next()) {
        (Some((text, cite)), _) => format!("The README says ({cite}): {text}."),
        (None, Some((text, cite))) => format!("The manifest says ({cite}): {text}."),
        (None, None) => "No README and no manifest says what the project is.".to_owned(),
    };
    Report { summary: about + &name.unwrap_or_default(), ..Report::default() }
}

/// Returns the first paragraph of prose, and not of marks, badges and headings.
fn first_paragraph(lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    let is_prose = |text: &str| text.starts_with(char::is_alphanumeric) && text.split(' ').count() >= 4;
    let (first, _) = lines.iter().find(|(_, line)| is_prose(line))?;
    let paragraph = lines.range(first..).map(|(_, line)| line.trim()).take_while(|line| !line.is_empty());
    Some((*first, paragraph.collect::<Vec<_>>().join(" ")))
}

fn license(name: &str, stated: Vec<Cited>, evidence: &Evidence) -> Report {
    let text = evidence.paths(&PlannedCall::glob(LICENSES)).into_iter().next();
    let told = text.as_ref().and_then(|path| {
        evidence.lines_of(path).into_iter().find_map(|(number, line)| {
            let lower = line.to_lowercase();
            let (_, name) = TEXTS.iter().find(|(text, _)| lower.contains(text))?;
            Some(((*name).to_owned(), format!("`{path}:{number}`")))
        })
    });
    let summary = match (stated.into_iter().next().or(told), text) {
        (Some((value, cite)), _) => format!("The license{name} is `{value}` ({cite})."),
        (None, Some(text)) => {
            format!("Nothing certain: no manifest states a license, and I do not know the text in `{text}`.")
        }
        (None, None) => "Nothing certain: no manifest and no file states a license.".to_owned(),
    };
    Report { summary, ..Report::default() }
}

fn toolchain(name: &str, stated: Vec<Cited>) -> Report {
    // An edition is no version of the compiler, and says less than one.
    let (editions, versions): (Vec<_>, Vec<_>) =
        stated.into_iter().partition(|(value, _)| value.starts_with("edition"));
    let mut all = versions.into_iter().chain(editions);
    let summary = match all.next() {
        Some((value, cite)) => format!("The manifest{name} asks for `{value}` ({cite})."),
        None => "Nothing certain: no manifest says which version it needs.".to_owned(),
    };
    let findings = all.take(3).map(|(value, cite)| format!("- {cite} field: `{value}`")).collect();
    Report { summary, findings, answer: String::new() }
}

fn version(name: &str, stated: Vec<Cited>, evidence: &Evidence) -> Report {
    let manifests = found(evidence);
    let mut hits = evidence.hits(&assignments());
    let is_own = |path: &str| matches!(paths::area(path), Area::Source | Area::Setting);
    hits.retain(|hit| is_own(&hit.path) && !manifests.contains(&hit.path));
    hits.sort_by_key(|hit| (hit.path.matches('/').count(), hit.path.clone(), hit.line));
    let in_file = evidence.paths(&PlannedCall::glob(VERSIONS)).into_iter().find_map(|path| {
        let (line, text) = evidence.lines_of(&path).into_iter().find(|(_, text)| !text.trim().is_empty())?;
        Some((quotable(&text), format!("`{path}:{line}`")))
    });
    let summary = match (stated.into_iter().next().or(in_file), hits.first()) {
        (Some((value, cite)), _) => format!("The version{name} is `{value}` ({cite})."),
        (None, None) => "No manifest and no constant states a version.".to_owned(),
        (None, Some(hit)) => {
            format!("No manifest states a version; `{}:{}` has `{}`.", hit.path, hit.line, quotable(&hit.text))
        }
    };
    let field = |hit: crate::offline::evidence::Hit| CitedPlace {
        path: hit.path,
        line: hit.line,
        label: "field".to_owned(),
        text: hit.text,
    };
    let others = hits.into_iter().skip(usize::from(summary.starts_with("No manifest"))).take(3);
    Report { summary, findings: others.map(|hit| field(hit).bullet()).collect(), answer: String::new() }
}
