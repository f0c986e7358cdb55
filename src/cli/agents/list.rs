//! `belvedere agents list`: every agent, by where it comes from.
//!
//! Invariant: nothing is left out: what is shadowed or cannot be used stands where its file is, with the reason.

use super::facts::Facts;
use super::page::Page;
use super::{CommandFailure, Form, put, read};
use crate::definition::{AgentDefinition, DefinitionState, Listed, Tier, ToolsField};
use crate::headless::exit;
use crate::message::sanitize_line;
use crate::services::Bootstrap;
use crate::tui::view::wrap::{fit, width};

/// The widest column of names; a longer name moves its description.
const MAX_NAME: usize = 28;

pub(super) fn run(bootstrap: &Bootstrap, form: Form) -> Result<u8, CommandFailure> {
    let listing = read(bootstrap);
    let facts: Vec<Facts> = listing.iter().map(Facts::of).collect();
    let mut page = Page::new(bootstrap);
    let names = listing.iter().map(|listed| width(&sanitize_line(&listed.name()))).filter(|width| *width <= MAX_NAME);
    let names = names.max().unwrap_or(0);
    let mut tier: Option<Tier> = None;
    for listed in listing.iter() {
        if tier != Some(listed.source.tier) {
            if tier.is_some() {
                page.line("");
            }
            tier = Some(listed.source.tier);
            page.line(&page.paint(listed.source.tier.label(), |theme| theme.heading));
        }
        entry(&mut page, listed, names);
    }
    page.line("");
    page.line(&summary(&listing));
    put(form, &facts, page, exit::OK)
}

/// Adds one agent: a line of what it is for, and one of what it may do and where it is defined.
fn entry(page: &mut Page, listed: &Listed, names: usize) {
    let name = sanitize_line(&listed.name()).into_owned();
    let gap = " ".repeat(names.saturating_sub(width(&name)) + 2);
    let room = page.columns.saturating_sub(2 + width(&name) + gap.len());
    let place = page.place(&listed.source);
    match (&listed.definition, &listed.standing) {
        (Some(definition), DefinitionState::Shadowed { by }) => {
            let line = format!("  {name}{gap}shadowed by {}", page.origin(by));
            page.line(&page.paint(&line, |theme| theme.muted));
            detail(page, definition, &place);
        }
        (Some(definition), _) => {
            let description = fit(&sanitize_line(&definition.description), room);
            page.line(&format!("  {}{gap}{description}", page.in_its_colour(&name, definition)));
            detail(page, definition, &place);
        }
        (None, _) => {
            page.line(&format!("  {name}{gap}{}", page.paint("cannot be used", |theme| theme.error)));
            page.line(&format!("      {place}"));
        }
    }
    for error in &listed.diagnostics {
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let text = format!("      ! {line}{}", sanitize_line(&error.message));
        page.line(&page.paint(&text, |theme| theme.warning));
    }
}

fn detail(page: &mut Page, definition: &AgentDefinition, place: &str) {
    let model = definition.model.as_deref().map_or("inherit".into(), sanitize_line);
    let tools = tools(definition);
    let facts = format!("model {model}, tools {tools}");
    let facts = fit(&facts, page.columns.saturating_sub(6));
    page.line(&page.paint(&format!("      {facts}"), |theme| theme.muted));
    if definition.source.path.is_some() {
        page.line(&page.paint(&format!("      {place}"), |theme| theme.faint));
    }
}

/// Returns the tools of an agent in words.
pub(super) fn tools(definition: &AgentDefinition) -> String {
    let list = |names: &[String]| sanitize_line(&names.join(", ")).into_owned();
    let allowed = match &definition.tools {
        ToolsField::All => "all".to_owned(),
        ToolsField::List(names) if names.is_empty() => "none".to_owned(),
        ToolsField::List(names) => list(names),
    };
    match definition.disallowed_tools.as_slice() {
        [] => allowed,
        names => format!("{allowed}, but not {}", list(names)),
    }
}

fn summary(listing: &[Listed]) -> String {
    let count = |is: fn(&Listed) -> bool| listing.iter().filter(|listed| is(listed)).count();
    let in_force = count(|listed| listed.standing == DefinitionState::InForce);
    let shadowed = count(|listed| matches!(listed.standing, DefinitionState::Shadowed { .. }));
    let broken = count(|listed| listed.standing == DefinitionState::Broken);
    let warned = count(|listed| listed.definition.is_some() && !listed.diagnostics.is_empty());
    let mut parts = vec![format!("{in_force} active")];
    let more = [(shadowed, "shadowed"), (broken, "cannot be used"), (warned, "with warnings")];
    parts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    let hint = if broken + warned > 0 { "; run `belvedere agents check` for details" } else { "" };
    format!("{} agents: {}{hint}", listing.len(), parts.join(", "))
}
