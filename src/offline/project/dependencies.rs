//! What the manifests say that the project depends on.
//!
//! Owns where a dependency stands in each format. Invariant: every name carries its line; what is not indented as its format
//! is written states nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::manifest;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, shorten};
use crate::offline::search::symbols;
use crate::offline::text::paths;
use crate::offline::text::terms::Terms;

#[derive(Debug)]
pub(crate) struct Dependencies {
    /// The one that is asked for in particular, if one is.
    pub(crate) named: Terms,
}

/// Packages listed, and definitions looked at for what is asked for.
const LISTED: usize = 40;
const SEARCHED: usize = 30;
/// Letters of a name that is not in other words by chance.
const LEAST_NAME: usize = 4;

/// What stands around a line, in the form of [`placed`], and the line with the name. The first rows are of what is needed
/// for development only.
const FOR_DEVELOPMENT: usize = 4;
const ROWS: [(&str, &str); 15] = [
    (r"\[(?:\S+\.)?(?:dev|build)-dependencies\]$", r#"^"?([\w@/-]+)"?[\w.]* *="#),
    (r"^\S+$", r"^\[(?:\S+\.)?(?:dev|build)-dependencies\.([\w-]+)\]$"),
    (r#" "(?:devDependencies|require-dev)": \{$"#, r#"^"([^"]+)":"#),
    (r"^build\.gradle", r#"^test(?:Implementation|RuntimeOnly)\b.*?["']([\w.-]+:[\w.-]+)"#),
    (r"\[(?:\S+\.)?dependencies\]$", r#"^"?([\w@/-]+)"?[\w.]* *="#),
    (r"^\S+$", r"^\[(?:\S+\.)?dependencies\.([\w-]+)\]$"),
    (r" (?:dependencies|install_requires) ?= ?\[?$", r#"^["']?([\w.-]+)"#),
    (r#" "(?:dependencies|peerDependencies)": \{$"#, r#"^"([^"]+)":"#),
    (r#" "require": \{$"#, r#"^"([^"]+/[^"]+)":"#),
    (r"^go\.mod(?: require \()?$", r"^(?:require )?([\w.-]+\.\S+) v\S+$"),
    (r"<project[^<>]*>? <dependencies> <dependency>$", r"^<artifactId>([^<]+)"),
    (r"^\S+\.gemspec ", r#"\.add_(?:runtime_)?dependency\(?[^"'<]*["'<]([\w.-]+)"#),
    (r"^build\.gradle", r#"^(?:implementation|api|compileOnly|runtimeOnly)\b.*?["']([\w.-]+:[\w.-]+)"#),
    (r"^(?:CMakeLists|meson)", r"^find_package\( *(\w+)|\bdependency\('([\w.-]+)"),
    (r"PKG_CHECK_MODULES\($", r"^\[([a-z][\w.+-]*)|^([a-z][\w.+-]*),$"),
];
static NAMING: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let compiled = |(place, line)| Some((Regex::new(place).ok()?, Regex::new(line).ok()?));
    ROWS.into_iter().filter_map(compiled).collect()
});

impl Dependencies {
    /// Looks for the code that has to do with what is asked for.
    fn search(&self) -> Option<PlannedCall> {
        let query = format!("of {}", self.named.query());
        (self.named.count() > 0).then(|| symbols::definitions(&query, None, SEARCHED))
    }

    /// Returns the place of the dependency that the code names most which has to do with what is asked for: that of
    /// markdown may be the one that speaks of `kramdown`.
    fn used(&self, all: &[Dependency], evidence: &Evidence) -> Option<usize> {
        let entries = self.search().map(|call| symbols::entries(&call, evidence))?;
        let texts = entries.iter().map(|entry| format!("{} {} {}", entry.path, entry.name, entry.doc).to_lowercase());
        let texts: Vec<String> = texts.collect();
        let count = |dependency: &Dependency| {
            let name = dependency.name.to_lowercase();
            // Behind the name of who made it stands a common word, such as `error`.
            let name = name.strip_prefix('@').unwrap_or_else(|| name.rsplit('/').next().unwrap_or_default());
            if name.len() < LEAST_NAME { 0 } else { texts.iter().filter(|text| text.contains(name)).count() }
        };
        let most = all.iter().map(count).max().filter(|most| *most > 0)?;
        all.iter().position(|dependency| count(dependency) == most)
    }
}

impl AnswerPart for Dependencies {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifest::manifests()]),
            1 => {
                let reads = manifest::found(evidence).into_iter().map(|path| PlannedCall::read(&path));
                Some(reads.chain(self.search()).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let mut all: Vec<Dependency> =
            manifest::found(evidence).iter().flat_map(|path| named(path, &evidence.lines_of(path))).collect();
        all.sort_by_key(|one| one.for_development);
        let own = all.iter().filter(|one| !one.for_development).count();
        let told = all.iter().position(|one| self.named.told(&one.name) > 0);
        let used = || self.used(&all, evidence);
        let names = self.named.names();
        let summary = match (told.or_else(used).map(|at| &all[at]), all.first()) {
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
        let bullet = |one: &Dependency| {
            format!("- {}{}", one.cite(), if one.for_development { ", for development" } else { "" })
        };
        let mut findings: Vec<String> = all.iter().map(bullet).collect();
        shorten(&mut findings, LISTED);
        Report { summary, findings }
    }
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
    let names = |(number, text, around): (usize, &str, String)| {
        let name = |(at, (place, line)): (usize, &(Regex, Regex))| {
            let found = line.captures(text).filter(|_| place.is_match(&around))?;
            let name = found.iter().skip(1).flatten().next()?.as_str().to_owned();
            Some(Dependency { for_development: at < FOR_DEVELOPMENT, name, place: format!("{path}:{number}") })
        };
        NAMING.iter().enumerate().find_map(name)
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
