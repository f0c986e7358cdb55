//! `belvedere agents show NAME`: all there is to know about one agent.
//!
//! Invariant: an agent that is not in force is never shown as if it were.

use anyhow::anyhow;
use serde::Serialize;

use super::facts::{Facts, PlaceFacts, memory, severity, shadowed_by};
use super::page::Page;
use super::{CommandFailure, Form, list, put, read};
use crate::definition::{AgentDefinition, DefinitionState, Listed};
use crate::headless::exit;
use crate::message::{sanitize, sanitize_line};
use crate::services::Bootstrap;

/// Columns of the names of fields.
const KEYS: usize = 13;
/// Names that are offered for one that does not exist.
const OFFERED: usize = 3;
/// How alike they must be, from 0 to 1.
const LIKENESS: f32 = 0.5;

/// The JSON form: what the list says of it, and more.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    facts: Facts,
    shadows: Vec<PlaceFacts>,
    prompt: &'a str,
}

pub(super) fn run(bootstrap: &Bootstrap, name: &str, form: Form) -> Result<u8, CommandFailure> {
    let listing = read(bootstrap);
    let page = Page::new(bootstrap);
    let in_force = |listed: &&Listed| listed.standing == DefinitionState::InForce;
    let found = listing.iter().filter(in_force).find_map(|listed| {
        let definition = listed.definition.as_deref()?;
        definition.is_called(name).then_some((listed, definition))
    });
    let Some((listed, definition)) = found else { return Err((exit::FAILED, missing(name, &listing, &page))) };
    let shadowed: Vec<&Listed> = shadowed_by(listed, &listing).collect();
    let shadows = shadowed.iter().map(|listed| PlaceFacts::of(&listed.source)).collect();
    let shown = Shown { facts: Facts::of(listed), shadows, prompt: &definition.prompt };
    put(form, &shown, text(page, listed, definition, &shadowed), exit::OK)
}

/// Returns why there is nothing to show, and what could have been meant.
fn missing(name: &str, listing: &[Listed], page: &Page) -> anyhow::Error {
    let shown = sanitize_line(name);
    let broken = listing.iter().find(|listed| listed.standing == DefinitionState::Broken && listed.name() == name);
    if let Some(broken) = broken {
        let errors: Vec<_> = broken.diagnostics.iter().map(|error| sanitize_line(&error.message)).collect();
        return anyhow!("{} cannot be used: {}", page.place(&broken.source), errors.join(" "));
    }
    let names: Vec<String> =
        listing.iter().filter_map(|listed| Some(listed.definition.as_ref()?.name.clone())).collect();
    let mut near: Vec<&str> = Vec::new();
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    for like in similar::get_close_matches(name.to_lowercase().as_str(), &lower, OFFERED, LIKENESS) {
        let original = names.iter().find(|name| name.to_lowercase() == like);
        near.extend(original.map(String::as_str).filter(|name| !near.contains(name)));
    }
    match near.as_slice() {
        [] => anyhow!("no agent `{shown}`; `belvedere agents list` shows all"),
        near => anyhow!("no agent `{shown}`. Did you mean {}?", sanitize_line(&near.join(", "))),
    }
}

fn text(mut page: Page, listed: &Listed, definition: &AgentDefinition, shadowed: &[&Listed]) -> Page {
    page.line(&page.in_its_colour(&sanitize_line(&definition.name), definition));
    field(&mut page, "for", &definition.description);
    let origin = page.origin(&listed.source);
    field(&mut page, "from", &origin);
    for other in shadowed {
        let origin = page.origin(&other.source);
        field(&mut page, "shadows", &origin);
    }
    field(&mut page, "model", definition.model.as_deref().unwrap_or("inherit"));
    field(&mut page, "tools", &list::tools(definition));
    let optional = [
        ("mode", definition.permission_mode.map(|mode| mode.name().to_owned())),
        ("turns", definition.max_turns.map(|turns| format!("at most {turns}"))),
        ("effort", definition.effort.map(|effort| effort.name().to_owned())),
        ("memory", definition.memory.map(|scope| memory(scope).to_owned())),
        ("program", definition.acp.as_ref().map(crate::message::ExternalProgram::shown)),
        ("isolation", definition.isolation.as_ref().map(|isolation| isolation.name().to_owned())),
        ("background", definition.background.then(|| "yes".to_owned())),
        ("color", definition.color.clone()),
        ("skills", (!definition.skills.is_empty()).then(|| definition.skills.join(", "))),
        ("first message", definition.initial_prompt.clone()),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            field(&mut page, key, &value);
        }
    }
    for (key, value) in &definition.idle_fields {
        field(&mut page, "not used", &format!("{key}: {value}"));
    }
    for error in &listed.diagnostics {
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        field(&mut page, severity(listed), &format!("{line}{}", error.message));
    }
    page.line("");
    page.line(sanitize(&definition.prompt).trim_end());
    page
}

/// Adds a field; the further lines of its value stand below the first.
fn field(page: &mut Page, key: &str, value: &str) {
    let value = sanitize(value);
    let mut lines = value.trim().lines();
    let key = page.paint(&format!("{key:KEYS$}"), |theme| theme.muted);
    page.line(format!("{key}{}", lines.next().unwrap_or_default()).trim_end());
    for line in lines {
        page.line(format!("{:KEYS$}{line}", "").trim_end());
    }
}
