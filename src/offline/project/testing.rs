//! How the project is tested: frameworks, test files, the command.
//!
//! Owns the table of frameworks. Leaves dependencies in general to `package`. Invariant: a framework is named only with the
//! line that shows it.

use std::cmp::Reverse;

use regex::RegexBuilder;

use super::manifest::{self, Kind};
use crate::offline::evidence::{Evidence, Hit, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report};
use crate::offline::text::lists;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::Terms;

#[derive(Debug, Default)]
pub(crate) struct Testing {
    /// Set where it is asked how the tests are run: which of them, if some are named.
    pub(crate) run: Option<Terms>,
}

/// A framework and what gives it away.
struct Framework {
    name: &'static str,
    /// Pattern of the lines in manifests that name it; empty for a framework that needs none.
    declared: &'static str,
    /// Pattern of the lines in sources that use it.
    used: &'static str,
    /// The command that runs the tests; empty where the build tool has one.
    command: &'static str,
}

/// Libraries that stand beside a framework.
const COMPANIONS: &str = "Hypothesis proptest criterion insta Playwright";

const fn row(name: &'static str, declared: &'static str, used: &'static str, command: &'static str) -> Framework {
    Framework { name, declared, used, command }
}

/// In a package file only a key is a dependency; a script may use any word.
const FRAMEWORKS: [Framework; 17] = [
    row("pytest", r#"(^\s*|["'\[.:])pytest\b"#, r"^\s*(import|from) pytest\b", "python -m pytest"),
    row(
        "unittest",
        "",
        r"^\s*(import unittest\b|from unittest import (\w+, )*TestCase)|\bunittest\.TestCase",
        "python -m unittest",
    ),
    row("Hypothesis", r#"(^\s*|["'\[.:])hypothesis\b"#, r"^\s*(import|from) hypothesis\b", ""),
    row("the built-in Rust test harness (cargo test)", "", r"^\s*#\[((\w+::)*test\b|cfg\(test\))", "cargo test"),
    row("proptest", r"^\s*(\[\S*\.)?proptest\b", r"^\s*(use proptest|proptest!)", ""),
    row("criterion", r"^\s*(\[\S*\.)?criterion\b", r"^\s*use criterion", ""),
    row("insta", r"^\s*(\[\S*\.)?insta\b", r"^\s*(use )?insta::", ""),
    row("Jest", r#"^\s*"(\S+/jest|@jest/\S+|jest)":"#, r#"(from|require\() *['"]@jest|\bjest\.fn"#, "npx jest"),
    row("Vitest", r#"^\s*"(@vitest/\S+|vitest)":"#, r#"(from|require\() *['"]vitest"#, "npx vitest run"),
    row("Mocha", r#"^\s*"(\S+/)?mocha":"#, r#"(from|require\() *['"]mocha"#, "npx mocha"),
    row("node:test", "", r#"(from|require\() *['"]node:test"#, "node --test"),
    row(
        "Playwright",
        r#"^\s*"(@playwright/\S+|playwright)":"#,
        r#"(from|require\() *['"]@playwright"#,
        "npx playwright test",
    ),
    row("the standard Go testing package (go test)", "", r#"\*testing\.T\b|^\s*(import )?"testing""#, "go test ./..."),
    row("JUnit", r"(>|implementation.*)[\w.-]*junit", r"^\s*import (static )?org\.junit", ""),
    row("RSpec", r"\brspec\b", r"\bRSpec\.describe|require 'spec_helper", "bundle exec rspec"),
    row("PHPUnit", r#"^\s*"phpunit/"#, r"\bPHPUnit\\Framework", "vendor/bin/phpunit"),
    row("GoogleTest", r"\bgtest", r"gtest/gtest\.h", "ctest"),
];

const MANIFESTS: &str = "**/{Cargo.toml,package.json,pyproject.toml,setup.py,setup.cfg,tox.ini,pytest.ini,requirements*.txt,*.in,\
    Makefile,go.mod,pom.xml,build.gradle,build.gradle.kts,Gemfile,composer.json,CMakeLists.txt}";
/// Returns an alternative of the patterns of all frameworks.
fn any(pattern: fn(&Framework) -> &'static str) -> String {
    let all: Vec<&str> = FRAMEWORKS.iter().map(pattern).filter(|pattern| !pattern.is_empty()).collect();
    all.join("|")
}

fn manifest_lines() -> PlannedCall {
    PlannedCall::grep_in(&any(|row| row.declared), MANIFESTS, 200)
}

fn source_lines() -> PlannedCall {
    PlannedCall::grep(&any(|row| row.used), 400)
}

struct Shown {
    framework: &'static Framework,
    hits: Vec<Hit>,
    weight: usize,
    is_beside: bool,
}

impl Testing {
    /// Returns the frameworks that lines show, those first that most show.
    fn shown(evidence: &Evidence) -> Vec<Shown> {
        let mut manifest = evidence.hits(&manifest_lines());
        manifest.retain(|hit| counts(&hit.path));
        manifest.sort_by_key(|hit| (hit.path.matches('/').count(), hit.line));
        let mut source = evidence.hits(&source_lines());
        source.retain(|hit| counts(&hit.path) && paths::is_source(&hit.path));
        source.sort_by_key(|hit| hit.text.contains("cfg(test)"));
        let mut all: Vec<Shown> = Vec::new();
        for framework in &FRAMEWORKS {
            let (declared, used) = (matching(framework.declared, &manifest), matching(framework.used, &source));
            let is_beside = lists(COMPANIONS, framework.name);
            let weight = declared.len().min(2) * 4 + used.len().min(6);
            // A library beside the framework is one only if it is declared: sources speak of many things.
            if weight > 0 && !(is_beside && declared.is_empty()) {
                let hits = declared.into_iter().chain(used).collect();
                all.push(Shown { framework, hits, weight, is_beside });
            }
        }
        all.sort_by_key(|shown| (shown.is_beside, Reverse(shown.weight)));
        let most = all.first().map_or(0, |first| first.weight);
        all.retain(|shown| shown.is_beside || shown.weight * 4 >= most);
        all
    }
}

/// Returns `true` if a file says something of the project's own tests.
fn counts(path: &str) -> bool {
    paths::area(path) != Area::Foreign && !paths::is_fixture(path)
}

/// Returns the lines that a pattern fits, none for an empty pattern.
fn matching(pattern: &str, lines: &[Hit]) -> Vec<Hit> {
    let Ok(pattern) = RegexBuilder::new(pattern).case_insensitive(true).build() else { return Vec::new() };
    let fits = |hit: &&Hit| !pattern.as_str().is_empty() && pattern.is_match(&hit.text);
    lines.iter().filter(fits).cloned().collect()
}

impl AnswerPart for Testing {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifest_lines(), source_lines(), manifest::manifests()]),
            1 => Some(manifest::found(evidence).iter().take(3).map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let shown = Self::shown(evidence);
        let run = command(evidence, &shown, self.run.as_ref()).map(|run| format!("Run the tests with {run}."));
        let cite = |(entry, hit): (&Shown, &Hit)| format!("{} (`{}:{}`)", entry.framework.name, hit.path, hit.line);
        let mut all = shown.iter().filter_map(|entry| Some(cite((entry, entry.hits.first()?))));
        let tested = all.next().map(|first| match all.take(4).collect::<Vec<_>>() {
            others if others.is_empty() => format!("This project is tested with {first}."),
            others => format!("This project is tested with {first}; it also has {}.", others.join(", ")),
        });
        let summary = match (tested, run) {
            (_, Some(run)) if self.run.is_some() => run,
            (Some(tested), run) => format!("{tested} {}", run.unwrap_or_default()).trim_end().to_owned(),
            (None, _) => "I found no testing framework, none that I know.".to_owned(),
        };
        let mut findings = Vec::new();
        for entry in shown.iter().take(6) {
            let mut files: Vec<&str> = Vec::new();
            for hit in &entry.hits {
                if files.len() < 3 && !files.contains(&hit.path.as_str()) {
                    files.push(&hit.path);
                    let (path, text) = (hit.path.clone(), hit.text.clone());
                    let label = entry.framework.name.to_owned();
                    findings.push(CitedPlace { path, line: hit.line, label, text }.bullet());
                }
            }
        }
        Report { summary, findings, answer: String::new() }
    }
}

/// Returns the command that runs the tests: the project's own script or target, else the framework's usual one.
fn command(evidence: &Evidence, shown: &[Shown], named: Option<&Terms>) -> Option<String> {
    let facts = manifest::stated(evidence);
    let of = |kind: Kind| facts.iter().filter(move |(_, fact)| fact.kind == kind);
    let key = |value: &str| value.split(':').next().unwrap_or_default().to_owned();
    let asked = of(Kind::Script).find(|(_, fact)| named.is_some_and(|terms| terms.told(&key(&fact.value)) > 0));
    let script = asked.or_else(|| of(Kind::Script).find(|(_, fact)| key(&fact.value) == "test"));
    if let Some((path, fact)) = script {
        let (name, text) = fact.value.split_once(':').unwrap_or((&fact.value, ""));
        let runner = if path.ends_with("composer.json") { "composer" } else { "npm" };
        let word = if name == "test" { "test".to_owned() } else { format!("run {name}") };
        return Some(format!("`{runner} {word}`, which is `{}` (`{path}:{}`)", text.trim(), fact.line));
    }
    let target = ["test", "check", "tests"]
        .iter()
        .find_map(|name| of(Kind::Target).find(|(path, fact)| fact.value == *name && !path.contains('/')));
    if let Some((path, fact)) = target {
        return Some(format!("`make {}` (`{path}:{}`)", fact.value, fact.line));
    }
    let usual = shown.iter().map(|entry| entry.framework.command).find(|command| !command.is_empty());
    let by_tool = manifest::found(evidence).iter().find_map(|path| manifest::test_command(path));
    usual.or(by_tool).filter(|_| !shown.is_empty()).map(|command| format!("`{command}`, the usual command"))
}
