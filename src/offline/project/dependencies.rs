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
use crate::offline::text::paths;
use crate::offline::text::terms::Terms;

#[derive(Debug)]
pub(crate) struct Dependencies {
    /// The one that is asked for in particular, if one is.
    pub(crate) named: Terms,
}

/// Packages listed.
const LISTED: usize = 40;

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
    (r"PKG_CHECK_MODULES\($", r"^\[([a-z][\w.+-]*)"),
];
static NAMING: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let compiled = |(place, line)| Some((Regex::new(place).ok()?, Regex::new(line).ok()?));
    ROWS.into_iter().filter_map(compiled).collect()
});

impl AnswerPart for Dependencies {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifest::manifests()]),
            1 => Some(manifest::found(evidence).iter().map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let found = manifest::found(evidence);
        let all: Vec<(bool, String, String)> =
            found.iter().flat_map(|path| named(path, &evidence.lines_of(path))).collect();
        let (others, own): (Vec<_>, Vec<_>) = all.into_iter().partition(|(is_other, ..)| *is_other);
        let told = |(_, name, _): &&(bool, String, String)| self.named.count() > 0 && self.named.told(name) > 0;
        let names = self.named.names();
        let summary = match (own.iter().chain(&others).find(told), own.as_slice()) {
            (Some((true, name, cite)), _) => format!("For development it needs `{name}` ({cite})."),
            (None, []) if others.is_empty() => {
                "Nothing certain: no manifest that I know names a dependency.".to_owned()
            }
            (None, _) if !names.is_empty() => {
                format!("I found nothing certain for {names}: no dependency is named so. There are these.")
            }
            (None, []) => "It has dependencies for development only.".to_owned(),
            (Some((false, name, cite)), _) | (None, [(_, name, cite)]) => format!("It depends on `{name}` ({cite})."),
            (None, [(_, name, cite), ..]) => {
                format!("It depends on {} packages, the first of them `{name}` ({cite}).", own.len())
            }
        };
        let bullet = |(is_other, name, cite): &(bool, String, String)| {
            format!("- `{name}` ({cite}){}", if *is_other { ", for development" } else { "" })
        };
        let mut findings: Vec<String> = own.iter().chain(&others).map(bullet).collect();
        shorten(&mut findings, LISTED);
        Report { summary, findings }
    }
}

/// Returns the names in a manifest: whether it is for development, the name, its place.
fn named(path: &str, lines: &BTreeMap<usize, String>) -> Vec<(bool, String, String)> {
    let names = |(number, text, around): (usize, &str, String)| {
        let name = |(at, (place, line)): (usize, &(Regex, Regex))| {
            let found = line.captures(text).filter(|_| place.is_match(&around))?;
            let name = found.iter().skip(1).flatten().next()?.as_str().to_owned();
            Some((at < FOR_DEVELOPMENT, name, format!("`{path}:{number}`")))
        };
        NAMING.iter().enumerate().find_map(name)
    };
    placed(path, lines).into_iter().filter_map(names).collect()
}

/// Returns the lines of a manifest, each with the name of the file, the section, and the lines around it by their
/// indentation, the outermost first. A list on one line counts as lines of its own.
fn placed<'t>(path: &str, lines: &'t BTreeMap<usize, String>) -> Vec<(usize, &'t str, String)> {
    let name = path.rsplit('/').next().unwrap_or(path);
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
