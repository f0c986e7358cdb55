//! From the text of one file to a skill.
//!
//! Owns what its fields mean. Leaves cutting and YAML, with their recovery, to those of agent files. Invariant: a field that
//! cannot be used falls back to its default with a diagnostic; only a file without a text is given up.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use super::{Skill, SkillDir, SkillFork, SkillKind, SkillOrigin};
use crate::definition::fields::{Reader, scalar};
use crate::definition::load::model;
use crate::definition::{cut, frontmatter, keys, text_file, tools};
use crate::message::{Diagnostic, SkillHooks, sanitize, sanitize_line, split_list};

/// Characters of a name.
const MAX_NAME: usize = 120;
/// Characters of a description that is taken from the text.
const MAX_FIRST_LINE: usize = 200;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 8_192;

/// Returns what is typed to call the skill in this file of a folder; `None` if nothing of its path can be a name.
pub(super) fn name_of(path: &Path, dir: &SkillDir) -> Option<String> {
    let inside = path.strip_prefix(&dir.path).ok()?;
    let inside = match dir.kind {
        SkillKind::Skill => inside.parent()?.to_path_buf(),
        SkillKind::Command => inside.with_extension(""),
    };
    let parts: Vec<String> = inside.iter().map(|part| word(&part.to_string_lossy())).collect();
    let of_plugin = match &dir.origin {
        SkillOrigin::Plugin(plugin) => Some(plugin.clone()),
        SkillOrigin::User | SkillOrigin::Project => None,
    };
    let all: Vec<String> = of_plugin.into_iter().chain(parts.iter().cloned()).collect();
    let name: String = all.join(":").chars().take(MAX_NAME).collect();
    parts.iter().all(|part| !part.is_empty()).then_some(name)
}

/// Returns a name as a word: a blank would end it where it is typed.
fn word(name: &str) -> String {
    let name = sanitize_line(name.trim()).replace(['/', '<', '>', '`', '"'], "-");
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Reads a skill. Whatever is wrong is among the diagnostics.
pub(super) fn parse(text: &str, name: &str, path: &Path, dir: &SkillDir) -> (Option<Skill>, Vec<Diagnostic>) {
    let text = cut::normalise(text);
    let cut = cut::cut_skill(&text);
    let block = with_quoted_hint(cut.block);
    let mut reader = Reader::of_skill(path.to_path_buf());
    if let Some((line, error)) = cut.error {
        reader.report(line, format!("{error}."));
    }
    reader.take(frontmatter::read(&block, keys::SKILL), &block, cut.lines_before);
    let skill = of_fields(&mut reader, cut.body, (name, path, dir));
    (skill, reader.into_diagnostics())
}

/// Returns the fields with a hint that YAML takes for a text. The documentation of the format writes
/// `argument-hint: [file] [format]`, which is none.
fn with_quoted_hint(block: &str) -> Cow<'_, str> {
    let is_hint = |line: &&str| line.strip_prefix("argument-hint:").is_some_and(|hint| hint.trim().starts_with('['));
    let Some(line) = block.lines().find(is_hint) else { return block.into() };
    let hint = line.split_once(':').map_or("", |(_, hint)| hint.trim());
    block.replacen(line, &format!("argument-hint: '{}'", hint.replace('\'', "''")), 1).into()
}

fn of_fields(reader: &mut Reader<'_>, body: &str, (name, path, dir): (&str, &Path, &SkillDir)) -> Option<Skill> {
    let body = sanitize(body.trim());
    if body.is_empty() {
        reader.report_head("no text after the frontmatter, so there is nothing to do. Write it there. File skipped.");
        return None;
    }
    let described = reader.prose("description").map(|text| sanitize(&text).replace("\\n", "\n"));
    let description = described.unwrap_or_else(|| first_line(&body));
    reader.doubt_slips();
    let idle_fields = reader.idle(&["shell"]);
    reader.report_idle(&idle_fields);
    let fork = is_fork(reader).then(|| SkillFork { agent: reader.text("agent") });
    Some(Skill {
        name: name.to_owned(),
        kind: dir.kind,
        description: description.chars().take(MAX_DESCRIPTION).collect(),
        when_to_use: reader.prose("when_to_use").map(|text| sanitize(&text).into_owned()),
        argument_hint: hint(reader),
        arguments: words(reader, "arguments"),
        allowed_tools: tools_of(reader, "allowed-tools", "nothing is allowed in advance."),
        disallowed_tools: disallowed_tools(reader)?,
        model: model(reader),
        effort: reader.parsed("effort"),
        fork,
        is_for_models: !["disable-model-invocation", "hide-from-slash-command-tool"]
            .into_iter()
            .any(|key| reader.restricts(key)),
        is_for_users: !reader.has("user-invocable") || reader.take_switch("user-invocable"),
        paths: words(reader, "paths"),
        hooks: hooks(reader).map(|value| SkillHooks {
            value,
            is_projects: dir.bounds.is_some(),
            plugin: dir.plugin_root.clone(),
        }),
        idle_fields,
        body: body.into(),
        origin: dir.origin.clone(),
        path: path.to_path_buf(),
        plugin_root: dir.plugin_root.clone(),
    })
}

/// Returns what the file of a skill says of hooks, whether it is used or not. Blocks.
#[must_use]
pub fn hooks_of_file(path: &Path) -> Option<Value> {
    let bytes = text_file::content(path).ok()?;
    let text = cut::normalise(&text_file::decoded(&bytes, path).0).into_owned();
    let cut = cut::cut_skill(&text);
    let block = with_quoted_hint(cut.block);
    let mut reader = Reader::of_skill(path.to_path_buf());
    reader.take(frontmatter::read(&block, keys::SKILL), &block, cut.lines_before);
    hooks(&reader)
}

fn hooks(reader: &Reader<'_>) -> Option<Value> {
    reader.value("hooks").filter(|value| !value.is_null()).cloned()
}

/// Returns the first line that says something, without the marks of a heading.
fn first_line(body: &str) -> String {
    let line = body.lines().map(|line| line.trim().trim_start_matches('#').trim()).find(|line| !line.is_empty());
    sanitize_line(line.unwrap_or_default()).chars().take(MAX_FIRST_LINE).collect()
}

/// Returns the hint. What looks like a list to YAML is a text.
fn hint(reader: &Reader<'_>) -> Option<String> {
    const KEY: &str = "argument-hint";
    let text = match reader.value(KEY)? {
        Value::String(text) => Some(text.clone()),
        _ => reader.raw(KEY),
    };
    let text = sanitize_line(&text?).split_whitespace().collect::<Vec<_>>().join(" ");
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the words of a field: between blanks or commas, or in a list.
fn words(reader: &Reader<'_>, key: &str) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        split_list(text, ['{', '}'], |c| c == ',' || c.is_whitespace()).map(str::to_owned).collect()
    };
    match reader.value(key) {
        Some(Value::Array(items)) => items.iter().filter_map(scalar).flat_map(|item| words(&item)).collect(),
        Some(value) => scalar(value).map(|text| words(&text)).unwrap_or_default(),
        None => Vec::new(),
    }
}

/// Returns the entries of `disallowed-tools`; `None` if what it would keep away cannot be told.
fn disallowed_tools(reader: &mut Reader<'_>) -> Option<Vec<String>> {
    const KEY: &str = "disallowed-tools";
    if let Some(unknown) = reader.unknown_limit() {
        let words = "may be meant as `disallowed-tools`, and is unknown. Correct it. File skipped.";
        reader.report_lost(&unknown, format!("`{unknown}` {words}"));
        return None;
    }
    let entries = tools_of(reader, KEY, "what it denies is unknown. File skipped.");
    let is_clear = !reader.has(KEY) || !entries.is_empty() && tools::is_whole(reader.value(KEY));
    if reader.has(KEY) && !is_clear {
        reader.report_lost(KEY, format!("`{KEY}` names no tool where it should. File skipped."));
    }
    is_clear.then_some(entries)
}

/// Returns the entries of a list of tools, which blanks may separate, too.
fn tools_of(reader: &mut Reader<'_>, key: &str, outcome: &str) -> Vec<String> {
    let listed = tools::list(reader, key, outcome).unwrap_or_default();
    let apart = |entry: String| -> Vec<String> {
        split_list(&entry, ['(', ')'], char::is_whitespace).map(str::to_owned).collect()
    };
    listed.into_iter().flat_map(apart).collect()
}

fn is_fork(reader: &mut Reader<'_>) -> bool {
    match reader.text("context").map(|text| text.to_ascii_lowercase()).as_deref() {
        Some("fork") => true,
        None | Some("inherit" | "main" | "inline") => false,
        Some(_) => {
            let words = "`context` can only be `fork`; the skill is carried out by the agent that calls it.";
            reader.report_at("context", words.to_owned());
            false
        }
    }
}
