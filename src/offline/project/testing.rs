//! How the project is tested: frameworks, test files, the command.
//!
//! Owns the table of frameworks. Leaves dependencies in general to `build`. Invariant: a framework is named only with the
//! line that shows it.

use std::cmp::Reverse;
use std::fmt::Write as _;

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
    /// Extensions of the manifests and sources that count.
    extensions: &'static str,
    /// Word in manifests, settings and file names; empty for a framework that needs none.
    word: &'static str,
    /// Beginnings of words in sources.
    sources: &'static [&'static str],
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

const fn row(
    name: &'static str,
    extensions: &'static str,
    word: &'static str,
    sources: &'static [&'static str],
    command: &'static str,
) -> Framework {
    Framework { name, extensions, word, sources, command }
}

const FRAMEWORKS: [Framework; 17] = [
    row("pytest", "py toml cfg ini txt in", "pytest", &["import pytest", "from pytest"], "python -m pytest"),
    row(
        "unittest",
        "py",
        "",
        &["import unittest", "from unittest import TestCase", "unittest.TestCase"],
        "python -m unittest",
    ),
    row("Hypothesis", "py toml txt in", "hypothesis", &["from hypothesis", "import hypothesis"], ""),
    row(
        "the built-in Rust test harness (cargo test)",
        "rs",
        "",
        &["#[test]", "#[cfg(test)]", "#[tokio::test"],
        "cargo test",
    ),
    row("proptest", "toml rs", "proptest", &["use proptest", "proptest!"], ""),
    row("criterion", "toml rs", "criterion", &["use criterion"], ""),
    row("insta", "toml rs", "insta", &["insta::", "use insta"], ""),
    row("Jest", "json js ts", "jest", &["from '@jest", "jest.fn"], "npx jest"),
    row("Vitest", "json js ts", "vitest", &["from 'vitest", "from \"vitest"], "npx vitest run"),
    row("Mocha", "json js ts mocharc", "mocha", &["require('mocha", "from 'mocha"], "npx mocha"),
    row(
        "node:test",
        "js mjs ts cjs",
        "",
        &["from 'node:test", "require('node:test", "from \"node:test", "require(\"node:test"],
        "node --test",
    ),
    row("Playwright", "json js ts", "playwright", &["from '@playwright"], "npx playwright test"),
    row("the standard Go testing package (go test)", "go", "", &["*testing.T", "\"testing\""], "go test ./..."),
    row("JUnit", "xml gradle kts java kt", "junit", &["import org.junit"], ""),
    row("RSpec", "gemfile rspec rb", "rspec", &["RSpec.describe", "require 'spec_helper"], "bundle exec rspec"),
    row("PHPUnit", "json xml php", "phpunit", &["PHPUnit\\Framework"], "vendor/bin/phpunit"),
    row("GoogleTest", "txt cc cpp h", "gtest", &["gtest/gtest.h"], "ctest"),
];

const MANIFESTS: &str = "**/{Cargo.toml,package.json,pyproject.toml,setup.py,setup.cfg,tox.ini,pytest.ini,requirements*.txt,*.in,\
    Makefile,go.mod,pom.xml,build.gradle,build.gradle.kts,Gemfile,composer.json,CMakeLists.txt}";
const SETTINGS: &str =
    "**/{pytest.ini,conftest.py,jest.config.*,vitest.config.*,.mocharc*,playwright.config.*,phpunit.xml*,.rspec}";
const SOURCES: &str = "#\\[((\\w+::)*test|cfg\\(test\\))|^\\s*(import|from) +(unittest|pytest|hypothesis)|\
    (from|require\\() *['\"](@jest|vitest|mocha|node:test|@playwright)|jest\\.fn|\\*testing\\.T\\b|\
    import (static )?org\\.junit|RSpec\\.describe|PHPUnit|gtest/gtest\\.h|\
    use (proptest|criterion|insta)|insta::|proptest!";

fn manifest_lines() -> PlannedCall {
    let words: Vec<&str> = FRAMEWORKS.iter().map(|row| row.word).filter(|word| !word.is_empty()).collect();
    PlannedCall::grep_in(&format!("\\b({})", words.join("|")), MANIFESTS, 200)
}

fn source_lines() -> PlannedCall {
    PlannedCall::grep(SOURCES, 400)
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
        let manifest = evidence.hits(&manifest_lines());
        let source: Vec<Hit> = evidence.hits(&source_lines()).into_iter().filter(|hit| counts(&hit.path)).collect();
        let settings = evidence.paths(&PlannedCall::glob(SETTINGS));
        let mut all: Vec<Shown> = Vec::new();
        for framework in &FRAMEWORKS {
            let speaks = |path: &str| {
                let ext = paths::extension(path);
                let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
                framework
                    .extensions
                    .split(' ')
                    .any(|known| known == ext || name.trim_start_matches('.').starts_with(known))
            };
            let mut hits: Vec<Hit> = manifest
                .iter()
                .filter(|hit| speaks(&hit.path) && counts(&hit.path) && names(framework.word, &hit.path, &hit.text))
                .cloned()
                .collect();
            hits.sort_by_key(|hit| (hit.path.matches('/').count(), Reverse(declares(&hit.text)), hit.line));
            let declared = hits.len().min(2) * 4;
            let mut used: Vec<Hit> = source
                .iter()
                .filter(|hit| speaks(&hit.path) && framework.sources.iter().any(|mark| shows(mark, &hit.text)))
                .cloned()
                .collect();
            used.sort_by_key(|hit| hit.text.contains("cfg(test)"));
            let by_setting = settings
                .iter()
                .filter(|path| {
                    (!framework.word.is_empty() && path.contains(framework.word))
                        || (framework.name == "pytest" && path.ends_with("conftest.py"))
                })
                .count();
            let weight = declared + used.len().min(6) + by_setting * 3;
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

/// Returns `true` if a line of source has a mark as code; an import stands at its beginning.
fn shows(mark: &str, line: &str) -> bool {
    let is_import = ["use ", "import ", "from unittest", "from pytest", "from hypothesis", "#["]
        .iter()
        .any(|start| mark.starts_with(start));
    let bare = line.trim_start();
    if is_import || mark.ends_with('!') {
        return bare.starts_with(mark);
    }
    line.match_indices(mark).any(|(at, _)| !line[..at].ends_with(['"', '\'']))
}

/// Returns `true` if a line declares a dependency or a section rather than mentions a word.
fn declares(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('[') || line.starts_with('"') || line.contains(" = ") || line.contains(">=") || line.contains("==")
}

/// Returns `true` if a line of a manifest names a framework by its word.
fn names(word: &str, path: &str, text: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    if paths::extension(path) == "json" {
        // In a package file only a key is a dependency; a script may use any word.
        let key = lower.trim().trim_start_matches('"').split('"').next().unwrap_or_default().to_owned();
        return key == word || key.ends_with(&format!("/{word}")) || key.starts_with(&format!("@{word}/"));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric();
    lower.match_indices(word).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
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
