//! How the project is tested: frameworks, test files, the command.
//!
//! Owns which framework counts, and the command. Leaves what frameworks look like to `tables`, and dependencies in general to
//! `dependencies`. Invariant: a framework is named only with the line that shows it.

use std::cmp::Reverse;

use super::manifest;
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::{Report, Reported};
use crate::offline::tables::{Framework, Pattern, tables};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::Terms;

const MANIFESTS: &str = "**/{Cargo.toml,package.json,pyproject.toml,setup.py,setup.cfg,tox.ini,pytest.ini,requirements*.txt,*.in,\
    Makefile,go.mod,pom.xml,build.gradle,build.gradle.kts,Gemfile,composer.json,CMakeLists.txt}";

/// Finds lines that fit any of some patterns.
fn lines(pattern: fn(&Framework) -> &Pattern, files: &str, most: usize) -> PlannedCall {
    let all: Vec<&str> = tables().frameworks.iter().filter_map(|row| Some(pattern(row).0.as_ref()?.as_str())).collect();
    PlannedCall::grep(&all.join("|"), files, most)
}

/// Tells the frameworks and the command; where it is asked how the tests are run, the command alone, of those `run` names.
pub(crate) fn answer(run: Option<&Terms>, evidence: &Evidence) -> Reported {
    let declared = lines(|row| &row.manifest, MANIFESTS, 200);
    let used = lines(|row| &row.source, "**/*", 400);
    // Lines of package files that may be scripts.
    let scripts = PlannedCall::grep(r#"^\s{2,8}"[\w:-]+": *".+""#, "{package,composer}.json", 100);
    let targets = PlannedCall::grep("^(test|tests|check):", "Makefile", 10);
    let listing = manifest::found(evidence);
    evidence.ask([&declared, &used, &scripts, &targets].map(Clone::clone))?;
    let manifests = listing?;
    let shown = shown(evidence.hits(&declared, "manifest"), evidence.hits(&used, "source"));
    let usual = || {
        let usual = shown.iter().map(|(framework, _)| framework.command.as_str()).find(|command| !command.is_empty());
        let by_tool = manifests.iter().find_map(|path| manifest::test_command(path));
        usual.or(by_tool).filter(|_| !shown.is_empty()).map(|command| format!("`{command}`, the usual command"))
    };
    let script = script(evidence.hits(&scripts, "script"), run);
    let command = script.or_else(|| target(&evidence.hits(&targets, "target"))).or_else(usual);
    let command = command.map(|command| format!("Run the tests with {command}."));
    let cite = |(framework, hits): &(&Framework, Vec<CitedPlace>)| {
        Some(format!("{} ({})", framework.name, hits.first()?.cite()))
    };
    let mut all = shown.iter().filter_map(cite);
    let tested = all.next().map(|first| match all.take(4).collect::<Vec<_>>() {
        others if others.is_empty() => format!("This project is tested with {first}."),
        others => format!("This project is tested with {first}; it also has {}.", others.join(", ")),
    });
    let summary = match (tested, command) {
        (_, Some(command)) if run.is_some() => command,
        (Some(tested), command) => format!("{tested} {}", command.unwrap_or_default()).trim_end().to_owned(),
        (None, _) => "I found no testing framework, none that I know.".to_owned(),
    };
    let bullets = shown.into_iter().take(6).flat_map(|(framework, mut hits)| {
        hits.dedup_by(|a, b| a.path == b.path);
        hits.into_iter().take(3).map(|hit| CitedPlace { kind: framework.name.clone(), ..hit }.bullet())
    });
    Ok(Report::new(summary, bullets.collect()))
}

/// Returns the frameworks that lines of manifests and sources show, those first that most show, each with its lines.
fn shown(mut declared: Vec<CitedPlace>, mut used: Vec<CitedPlace>) -> Vec<(&'static Framework, Vec<CitedPlace>)> {
    let counts = |hit: &CitedPlace| paths::area(&hit.path) != Area::Foreign && !paths::is_fixture(&hit.path);
    declared.retain(counts);
    declared.sort_by_key(|hit| (hit.path.matches('/').count(), hit.line));
    used.retain(|hit| counts(hit) && paths::is_source(&hit.path));
    used.sort_by_key(|hit| hit.text.contains("cfg(test)"));
    let fitting = |pattern: &Pattern, lines: &[CitedPlace]| -> Vec<CitedPlace> {
        let fits = |hit: &&CitedPlace| pattern.0.as_ref().is_some_and(|pattern| pattern.is_match(&hit.text));
        lines.iter().filter(fits).cloned().collect()
    };
    let mut all = Vec::new();
    for framework in &tables().frameworks {
        let (declared, used) = (fitting(&framework.manifest, &declared), fitting(&framework.source, &used));
        let weight = declared.len().min(2) * 4 + used.len().min(6);
        if weight > 0 && !(framework.beside && declared.is_empty()) {
            all.push((framework.beside, Reverse(weight), framework, [declared, used].concat()));
        }
    }
    all.sort_by_key(|(is_beside, weight, ..)| (*is_beside, *weight));
    let most = all.first().map_or(0, |first| first.1.0);
    all.retain(|(is_beside, weight, ..)| *is_beside || weight.0 * 4 >= most);
    all.into_iter().map(|(_, _, framework, hits)| (framework, hits)).collect()
}

/// Returns the project's own script for tests, or one that is asked for: lines are `"name": "command"`.
fn script(mut lines: Vec<CitedPlace>, named: Option<&Terms>) -> Option<String> {
    lines.sort_by_key(|hit| hit.path.matches('/').count());
    let read = |hit: &CitedPlace| {
        let (name, text) = hit.text.trim().strip_prefix('"')?.split_once("\":")?;
        Some((name.to_owned(), text.trim().trim_end_matches(',').trim_matches('"').to_owned(), hit.clone()))
    };
    let scripts: Vec<(String, String, CitedPlace)> = lines.iter().filter_map(read).collect();
    let asked = scripts.iter().find(|(name, ..)| named.is_some_and(|terms| terms.told(name) > 0));
    let (name, text, hit) = asked.or_else(|| scripts.iter().find(|(name, ..)| name == "test"))?;
    let runner = if hit.path.ends_with("composer.json") { "composer" } else { "npm" };
    let word = if name == "test" { "test".to_owned() } else { format!("run {name}") };
    Some(format!("`{runner} {word}`, which is `{text}` ({})", hit.cite()))
}

/// Returns the project's own target for tests.
fn target(lines: &[CitedPlace]) -> Option<String> {
    let of =
        |name: &&str| lines.iter().find(|hit| !hit.path.contains('/') && hit.text.starts_with(&format!("{name}:")));
    let hit = ["test", "check", "tests"].iter().find_map(of)?;
    Some(format!("`make {}` ({})", hit.text.split(':').next().unwrap_or_default(), hit.cite()))
}
