//! What the manifests say that the project depends on.
//!
//! Owns where a dependency stands in each format. Invariant: every name carries its line; what is not indented as its format
//! is written states nothing.

use std::collections::BTreeMap;

use super::manifest;
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::{Report, Reported, shorten};
use crate::offline::search::symbols;
use crate::offline::tables::{Pattern, tables};
use crate::offline::text::paths;
use crate::offline::text::terms::Terms;

/// Packages listed, and definitions looked at for what is asked for.
const LISTED: usize = 40;
const SEARCHED: usize = 30;
/// Letters of a name that is not in other words by chance.
const LEAST_NAME: usize = 4;

/// Tells what the project depends on, or the one dependency that is asked for in particular.
pub(crate) fn answer(asked: &Terms, evidence: &Evidence) -> Reported {
    // The code that has to do with what is asked for.
    let search = symbols::definitions(&format!("of {}", asked.query()), "", SEARCHED);
    let manifests = manifest::found(evidence)?;
    let reads = manifests.iter().map(|path| PlannedCall::read(path));
    evidence.ask(reads.chain((asked.count() > 0).then(|| search.clone())))?;
    let mut all: Vec<Dependency> = manifests.iter().flat_map(|path| named(path, &evidence.lines_of(path))).collect();
    all.sort_by_key(|one| one.for_development);
    let own = all.iter().filter(|one| !one.for_development).count();
    let told = all.iter().find(|one| asked.told(&one.name) > 0);
    let names = asked.names();
    let summary = match (told.or_else(|| used(&all, &search, evidence)), all.first()) {
        (Some(one), _) if one.for_development => format!("For development it needs {}.", one.cite()),
        (Some(one), _) if told.is_none() => format!("Its code for {names} speaks of {}.", one.cite()),
        (Some(one), _) => format!("It depends on {}.", one.cite()),
        (None, None) => "Nothing certain: no manifest that I know names a dependency.".to_owned(),
        (None, _) if !names.is_empty() => {
            format!("I found nothing certain for {names}: no dependency is named so. There are these.")
        }
        (None, Some(_)) if own == 0 => "It has dependencies for development only.".to_owned(),
        (None, Some(first)) if own == 1 => format!("It depends on {}.", first.cite()),
        (None, Some(first)) => format!("It depends on {own} packages, the first of them {}.", first.cite()),
    };
    let bullet =
        |one: &Dependency| format!("- {}{}", one.cite(), if one.for_development { ", for development" } else { "" });
    let mut findings: Vec<String> = all.iter().map(bullet).collect();
    shorten(&mut findings, LISTED);
    Ok(Report::new(summary, findings))
}

/// Returns the dependency that the code names most which has to do with what is asked for: that of markdown may be the one
/// that speaks of `kramdown`.
fn used<'d>(all: &'d [Dependency], search: &PlannedCall, evidence: &Evidence) -> Option<&'d Dependency> {
    let text = |place: &CitedPlace| format!("{} {} {}", place.path, place.name, place.doc).to_lowercase();
    let texts: Vec<String> = symbols::places(search, evidence).iter().map(text).collect();
    let count = |dependency: &Dependency| {
        let name = dependency.name.to_lowercase();
        // Behind the name of who made it stands a common word, such as `error`.
        let name = name.strip_prefix('@').unwrap_or_else(|| name.rsplit('/').next().unwrap_or_default());
        if name.len() < LEAST_NAME { 0 } else { texts.iter().filter(|text| text.contains(name)).count() }
    };
    let most = all.iter().map(count).max().filter(|most| *most > 0)?;
    all.iter().find(|dependency| count(dependency) == most)
}

/// A package that a manifest names.
struct Dependency {
    for_development: bool,
    name: String,
    place: String,
}

impl Dependency {
    fn cite(&self) -> String {
        format!("`{}` (`{}`)", self.name, self.place)
    }
}

fn named(path: &str, lines: &BTreeMap<usize, String>) -> Vec<Dependency> {
    let known = &tables().manifests;
    let rows = known.development.iter().map(|row| (true, row));
    let rows: Vec<_> = rows.chain(known.dependencies.iter().map(|row| (false, row))).collect();
    let names = |(number, text, around): (usize, &str, String)| {
        let name = |(for_development, (place, line)): &(bool, &(Pattern, Pattern))| {
            let found = line.0.as_ref()?.captures(text)?;
            place.0.as_ref().filter(|place| place.is_match(&around))?;
            let name = found.iter().skip(1).flatten().next()?.as_str().to_owned();
            Some(Dependency { for_development: *for_development, name, place: format!("{path}:{number}") })
        };
        rows.iter().find_map(name)
    };
    placed(path, lines).into_iter().filter_map(names).collect()
}

/// Returns the lines of a manifest, each with the name of the file, the section, and the lines around it by their
/// indentation, the outermost first. A list on one line counts as lines of its own.
fn placed<'t>(path: &str, lines: &'t BTreeMap<usize, String>) -> Vec<(usize, &'t str, String)> {
    let name = paths::file_name(path);
    let has_sections = matches!(paths::extension(path).as_str(), "toml" | "cfg");
    let mut around: Vec<(usize, &str)> = Vec::new();
    let mut section = "";
    let mut all = Vec::new();
    for (number, raw) in lines {
        let text = raw.trim();
        let indent = raw.len() - raw.trim_start().len();
        if text.is_empty() || text.starts_with('#') || text.starts_with("//") {
            continue;
        }
        around.retain(|(of, _)| *of < indent);
        let is_section = has_sections && indent == 0 && text.starts_with('[') && text.ends_with(']');
        if is_section {
            section = "";
        }
        let outer = [name, section].into_iter().chain(around.iter().map(|(_, text)| *text));
        let place = outer.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        if let Some((head, list)) = text.split_once("= [").filter(|(_, list)| list.len() > 1) {
            let items = list.split(',').map(|item| (*number, item.trim(), format!("{place} {head}= [")));
            all.extend(items);
        }
        all.push((*number, text, place));
        if is_section {
            section = text;
        } else {
            around.push((indent, text));
        }
    }
    all
}
