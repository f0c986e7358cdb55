//! How the project is tested: frameworks, test files, the command.
//!
//! Owns the table of frameworks. Leaves dependencies in general to `build`. Invariant: a framework is named only with the
//! line that shows it.

use std::cmp::Reverse;
use std::fmt::Write as _;

use regex::RegexBuilder;

use super::build;
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

impl Framework {
    fn is_companion(&self) -> bool {
        lists(COMPANIONS, self.name)
    }
}

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
const SETTINGS: &str =
    "**/{pytest.ini,conftest.py,jest.config.*,vitest.config.*,.mocharc*,playwright.config.*,phpunit.xml*,.rspec}";

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

fn case_counts() -> PlannedCall {
    PlannedCall::count(
        "^\\s*#\\[(\\w+::)*test\\b|^\\s*(async )?def test|^\\s*(it|test)\\(|^func Test|^\\s*@Test\\b|^\\s*it ['\"]",
        3000,
    )
}

struct Shown {
    framework: &'static Framework,
    hits: Vec<Hit>,
    weight: usize,
}

impl Testing {
    fn shown(evidence: &Evidence) -> Vec<Shown> {
        let mut manifest = evidence.hits(&manifest_lines());
        manifest.retain(|hit| counts(&hit.path));
        manifest.sort_by_key(|hit| (hit.path.matches('/').count(), hit.line));
        let mut source = evidence.hits(&source_lines());
        source.retain(|hit| counts(&hit.path) && paths::language(&hit.path).is_some());
        source.sort_by_key(|hit| hit.text.contains("cfg(test)"));
        let mut all: Vec<Shown> = Vec::new();
        for framework in &FRAMEWORKS {
            let mut hits = matching(framework.declared, &manifest);
            let declared = hits.len().min(2) * 4;
            let used = matching(framework.used, &source);
            let weight = declared + used.len().min(6);
            // A library beside the framework is one only if it is declared: sources speak of many things.
            let is_loose = framework.is_companion() && declared == 0;
            hits.extend(used);
            if !hits.is_empty() && !is_loose {
                all.push(Shown { framework, hits, weight });
            }
        }
        all.sort_by_key(|shown| (shown.framework.is_companion(), Reverse(shown.weight)));
        all
    }

    fn cases(evidence: &Evidence) -> Vec<(String, usize)> {
        let mut rows = evidence.counts(&case_counts());
        rows.retain(|(path, _)| counts(path) && paths::language(path).is_some());
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        rows
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
            0 => {
                let mut calls = vec![manifest_lines(), source_lines(), PlannedCall::glob(SETTINGS), case_counts()];
                calls.push(build::manifests());
                Some(calls)
            }
            1 => Some(build::found(evidence).iter().take(3).map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let shown = Self::shown(evidence);
        let mut findings = Vec::new();
        for entry in shown.iter().take(6) {
            let mut files: Vec<&str> = Vec::new();
            for hit in &entry.hits {
                if files.len() < 3 && !files.contains(&hit.path.as_str()) {
                    files.push(&hit.path);
                    let label = entry.framework.name.to_owned();
                    findings.push(
                        CitedPlace { path: hit.path.clone(), line: hit.line, label, text: hit.text.clone() }.bullet(),
                    );
                }
            }
        }
        let cases = Self::cases(evidence);
        if !cases.is_empty() {
            let total: usize = cases.iter().map(|(_, count)| count).sum();
            let top: Vec<String> = cases.iter().take(4).map(|(path, count)| format!("`{path}` ({count})")).collect();
            findings.push(format!("- {total} test functions in {} files, most in {}", cases.len(), top.join(", ")));
        }
        let settings = evidence.paths(&PlannedCall::glob(SETTINGS));
        if !settings.is_empty() {
            let names: Vec<String> = settings.iter().take(4).map(|path| format!("`{path}`")).collect();
            findings.push(format!("- Settings of the tests: {}", names.join(", ")));
        }
        let run = command(evidence, &shown, self.run.as_ref());
        let answer = match (&self.run, &run) {
            (Some(_), Some(run)) => format!("Run the tests with {run}."),
            _ => answer(&shown, run.as_deref()),
        };
        let summary = match shown.first() {
            _ if self.run.is_some() && run.is_some() => answer.clone(),
            Some(_) => answer.clone(),
            None if cases.is_empty() => "I found no testing framework and no tests, none that I know.".to_owned(),
            None => "There are tests, but no framework that is known here.".to_owned(),
        };
        Report { summary, findings, answer }
    }
}

fn answer(shown: &[Shown], run: Option<&str>) -> String {
    let cite = |entry: &Shown| {
        entry
            .hits
            .first()
            .map(|hit| format!("{} (`{}:{}`)", entry.framework.name, hit.path, hit.line))
            .unwrap_or_default()
    };
    let Some(first) = shown.first() else { return String::new() };
    let is_used = |entry: &&Shown| entry.framework.is_companion() || entry.weight * 4 >= first.weight;
    let others: Vec<String> = shown[1..].iter().filter(is_used).take(4).map(cite).collect();
    let mut text = format!("This project is tested with {}", cite(first));
    if !others.is_empty() {
        let _ = write!(text, "; it also has {}", others.join(", "));
    }
    text.push('.');
    if let Some(run) = run {
        let _ = write!(text, " Run the tests with {run}.");
    }
    text
}

/// Returns the command that runs the tests: the project's own script or target, else the framework's usual one.
fn command(evidence: &Evidence, shown: &[Shown], named: Option<&Terms>) -> Option<String> {
    let facts = build::stated(evidence);
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
    let by_tool = build::found(evidence).into_iter().find_map(|path| manifest::tool(&path).map(|row| row.3));
    usual.or(by_tool).filter(|_| !shown.is_empty()).map(|command| format!("`{command}`, the usual command"))
}
