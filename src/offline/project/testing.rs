//! How the project is tested: frameworks, test files, the command.
//!
//! Owns the table of frameworks. Leaves dependencies in general to `package`. Invariant: a framework is named only with the
//! line that shows it.

use std::cmp::Reverse;

use regex::RegexBuilder;

use super::manifest;
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::Terms;

#[derive(Debug, Default)]
pub(crate) struct Testing {
    /// Set where it is asked how the tests are run: which of them, if some are named.
    pub(crate) run: Option<Terms>,
}

/// A framework: its name, what names it in a manifest, what uses it in a source, the command that runs the tests.
///
/// In a package file only a key is a dependency; a script may use any word. Where the command is empty, the build tool has
/// one.
type Framework = (&'static str, &'static str, &'static str, &'static str);

const UNITTEST: &str = r"^\s*(import unittest\b|from unittest import (\w+, )*TestCase)|\bunittest\.TestCase";
const PLAYWRIGHT: &str = r#"^\s*"(@playwright/\S+|playwright)":"#;

const FRAMEWORKS: [Framework; 12] = [
    ("pytest", r#"(^\s*|["'\[.:])pytest\b"#, r"^\s*(import|from) pytest\b", "python -m pytest"),
    ("unittest", "", UNITTEST, "python -m unittest"),
    ("the built-in Rust test harness (cargo test)", "", r"^\s*#\[((\w+::)*test\b|cfg\(test\))", "cargo test"),
    ("Jest", r#"^\s*"(\S+/jest|@jest/\S+|jest)":"#, r#"(from|require\() *['"]@jest|\bjest\.fn"#, "npx jest"),
    ("Vitest", r#"^\s*"(@vitest/\S+|vitest)":"#, r#"(from|require\() *['"]vitest"#, "npx vitest run"),
    ("Mocha", r#"^\s*"(\S+/)?mocha":"#, r#"(from|require\() *['"]mocha"#, "npx mocha"),
    ("node:test", "", r#"(from|require\() *['"]node:test"#, "node --test"),
    ("the standard Go testing package (go test)", "", r#"\*testing\.T\b|^\s*(import )?"testing""#, "go test ./..."),
    ("JUnit", r"(>|implementation.*)[\w.-]*junit", r"^\s*import (static )?org\.junit", ""),
    ("RSpec", r"\brspec\b", r"\bRSpec\.describe|require 'spec_helper", "bundle exec rspec"),
    ("PHPUnit", r#"^\s*"phpunit/"#, r"\bPHPUnit\\Framework", "vendor/bin/phpunit"),
    ("GoogleTest", r"\bgtest", r"gtest/gtest\.h", "ctest"),
];

/// What stands beside a framework, and counts only if it is declared: sources speak of many things.
const BESIDE: [Framework; 5] = [
    ("Hypothesis", r#"(^\s*|["'\[.:])hypothesis\b"#, r"^\s*(import|from) hypothesis\b", ""),
    ("proptest", r"^\s*(\[\S*\.)?proptest\b", r"^\s*(use proptest|proptest!)", ""),
    ("criterion", r"^\s*(\[\S*\.)?criterion\b", r"^\s*use criterion", ""),
    ("insta", r"^\s*(\[\S*\.)?insta\b", r"^\s*(use )?insta::", ""),
    ("Playwright", PLAYWRIGHT, r#"(from|require\() *['"]@playwright"#, ""),
];

const MANIFESTS: &str = "**/{Cargo.toml,package.json,pyproject.toml,setup.py,setup.cfg,tox.ini,pytest.ini,requirements*.txt,*.in,\
    Makefile,go.mod,pom.xml,build.gradle,build.gradle.kts,Gemfile,composer.json,CMakeLists.txt}";

/// Returns an alternative of the patterns of all frameworks.
fn any(pattern: fn(&Framework) -> &'static str) -> String {
    let all: Vec<&str> = FRAMEWORKS.iter().chain(&BESIDE).map(pattern).filter(|pattern| !pattern.is_empty()).collect();
    all.join("|")
}

fn manifest_lines() -> PlannedCall {
    PlannedCall::grep_in(&any(|row| row.1), MANIFESTS, 200)
}

fn source_lines() -> PlannedCall {
    PlannedCall::grep(&any(|row| row.2), 400)
}

/// Returns the frameworks that lines show, those first that most show, each with its lines.
fn shown(evidence: &Evidence) -> Vec<(&'static Framework, Vec<CitedPlace>)> {
    let counts = |hit: &CitedPlace| paths::area(&hit.path) != Area::Foreign && !paths::is_fixture(&hit.path);
    let mut manifest = evidence.hits(&manifest_lines(), "manifest");
    manifest.retain(counts);
    manifest.sort_by_key(|hit| (hit.path.matches('/').count(), hit.line));
    let mut source = evidence.hits(&source_lines(), "source");
    source.retain(|hit| counts(hit) && paths::is_source(&hit.path));
    source.sort_by_key(|hit| hit.text.contains("cfg(test)"));
    let mut all = Vec::new();
    for (at, framework) in FRAMEWORKS.iter().chain(&BESIDE).enumerate() {
        let (declared, used) = (matching(framework.1, &manifest), matching(framework.2, &source));
        let weight = declared.len().min(2) * 4 + used.len().min(6);
        let is_beside = at >= FRAMEWORKS.len();
        if weight > 0 && !(is_beside && declared.is_empty()) {
            all.push((is_beside, Reverse(weight), framework, [declared, used].concat()));
        }
    }
    all.sort_by_key(|(is_beside, weight, ..)| (*is_beside, *weight));
    let most = all.first().map_or(0, |first| first.1.0);
    all.retain(|(is_beside, weight, ..)| *is_beside || weight.0 * 4 >= most);
    all.into_iter().map(|(_, _, framework, hits)| (framework, hits)).collect()
}

/// Returns the lines that a pattern fits, none for an empty pattern.
fn matching(pattern: &str, lines: &[CitedPlace]) -> Vec<CitedPlace> {
    let Ok(compiled) = RegexBuilder::new(pattern).case_insensitive(true).build() else { return Vec::new() };
    lines.iter().filter(|hit| !pattern.is_empty() && compiled.is_match(&hit.text)).cloned().collect()
}

impl AnswerPart for Testing {
    fn stage(&self, n: usize, _evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifest_lines(), source_lines(), manifest::manifests(), scripts(), targets()]),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let shown = shown(evidence);
        let run = command(evidence, &shown, self.run.as_ref()).map(|run| format!("Run the tests with {run}."));
        let cite = |(framework, hits): &(&Framework, Vec<CitedPlace>)| {
            Some(format!("{} ({})", framework.0, hits.first()?.cite()))
        };
        let mut all = shown.iter().filter_map(cite);
        let tested = all.next().map(|first| match all.take(4).collect::<Vec<_>>() {
            others if others.is_empty() => format!("This project is tested with {first}."),
            others => format!("This project is tested with {first}; it also has {}.", others.join(", ")),
        });
        let summary = match (tested, run) {
            (_, Some(run)) if self.run.is_some() => run,
            (Some(tested), run) => format!("{tested} {}", run.unwrap_or_default()).trim_end().to_owned(),
            (None, _) => "I found no testing framework, none that I know.".to_owned(),
        };
        let lines = shown.into_iter().take(6).flat_map(|(framework, mut hits)| {
            hits.dedup_by(|a, b| a.path == b.path);
            hits.into_iter().take(3).map(|hit| CitedPlace { label: framework.0.to_owned(), ..hit }.bullet())
        });
        Report { summary, findings: lines.collect() }
    }
}

/// Returns the command that runs the tests: the project's own script or target, else the framework's usual one.
fn command(evidence: &Evidence, shown: &[(&Framework, Vec<CitedPlace>)], named: Option<&Terms>) -> Option<String> {
    let mut lines = evidence.hits(&scripts(), "script");
    lines.sort_by_key(|hit| hit.path.matches('/').count());
    let scripts: Vec<(CitedPlace, String, String)> = lines.into_iter().filter_map(script).collect();
    let asked = scripts.iter().find(|(_, name, _)| named.is_some_and(|terms| terms.told(name) > 0));
    if let Some((hit, name, text)) = asked.or_else(|| scripts.iter().find(|(_, name, _)| name == "test")) {
        let runner = if hit.path.ends_with("composer.json") { "composer" } else { "npm" };
        let word = if name == "test" { "test".to_owned() } else { format!("run {name}") };
        return Some(format!("`{runner} {word}`, which is `{text}` ({})", hit.cite()));
    }
    let targets = evidence.hits(&targets(), "target");
    let target =
        |name: &&str| targets.iter().find(|hit| !hit.path.contains('/') && hit.text.starts_with(&format!("{name}:")));
    if let Some(hit) = ["test", "check", "tests"].iter().find_map(target) {
        return Some(format!("`make {}` ({})", hit.text.split(':').next().unwrap_or_default(), hit.cite()));
    }
    let usual = shown.iter().map(|(framework, _)| framework.3).find(|command| !command.is_empty());
    let by_tool = manifest::found(evidence).iter().find_map(|path| manifest::test_command(path));
    usual.or(by_tool).filter(|_| !shown.is_empty()).map(|command| format!("`{command}`, the usual command"))
}

/// Lines of package files that may be scripts.
fn scripts() -> PlannedCall {
    PlannedCall::grep_in(r#"^\s{2,8}"[\w:-]+": *".+""#, "{package,composer}.json", 100)
}

fn targets() -> PlannedCall {
    PlannedCall::grep_in("^(test|tests|check):", "Makefile", 10)
}

/// Reads `"name": "command"`.
fn script(hit: CitedPlace) -> Option<(CitedPlace, String, String)> {
    let (name, text) = hit.text.trim().strip_prefix('"')?.split_once("\":")?;
    let text = text.trim().trim_end_matches(',').trim_matches('"').to_owned();
    let name = name.to_owned();
    Some((hit, name, text))
}
