//! What there is to know about one agent, as the JSON forms of `belvedere agents` tell it.
//!
//! Owns the names of the fields, which scripts rely on: `docs/agents.md` documents them. Leaves text to the other files.
//! Invariant: every field is always there; what is not known is `null` or empty.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::definition::{DefinitionState, Listed, MemoryScope, Source, ToolsField};
use crate::message::Diagnostic;

/// One agent, or one file that should be one.
#[derive(Debug, Serialize)]
pub(super) struct Facts {
    name: String,
    description: Option<String>,
    tier: &'static str,
    path: Option<String>,
    standing: &'static str,
    shadowed_by: Option<PlaceFacts>,
    model: Option<String>,
    /// `null` for all tools.
    tools: Option<Vec<String>>,
    disallowed_tools: Vec<String>,
    color: Option<String>,
    permission_mode: Option<&'static str>,
    max_turns: Option<u32>,
    effort: Option<&'static str>,
    memory: Option<&'static str>,
    isolation: Option<String>,
    /// The program that is this agent.
    acp: Option<String>,
    background: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skills: Vec<String>,
    initial_prompt: Option<String>,
    /// Understood, but not acted on.
    idle_fields: BTreeMap<String, String>,
    pub(super) diagnostics: Vec<DiagnosticFacts>,
}

impl Facts {
    pub(super) fn of(listed: &Listed) -> Self {
        let definition = listed.definition.as_deref();
        let (standing, shadowed_by) = match &listed.standing {
            DefinitionState::InForce => ("in_force", None),
            DefinitionState::Shadowed { by } => ("shadowed", Some(PlaceFacts::of(by))),
            DefinitionState::Broken => ("broken", None),
        };
        let PlaceFacts { tier, path } = PlaceFacts::of(&listed.source);
        Self {
            name: listed.name(),
            description: definition.map(|definition| definition.description.clone()),
            tier,
            path,
            standing,
            shadowed_by,
            model: definition.and_then(|definition| definition.model.clone()),
            tools: definition.and_then(|definition| match &definition.tools {
                ToolsField::All => None,
                ToolsField::List(names) => Some(names.clone()),
            }),
            disallowed_tools: definition.map(|definition| definition.disallowed_tools.clone()).unwrap_or_default(),
            color: definition.and_then(|definition| definition.color.clone()),
            permission_mode: definition.and_then(|definition| Some(definition.permission_mode?.name())),
            max_turns: definition.and_then(|definition| definition.max_turns),
            effort: definition.and_then(|definition| Some(definition.effort?.name())),
            memory: definition.and_then(|definition| Some(memory(definition.memory?))),
            isolation: definition.and_then(|definition| Some(definition.isolation.as_ref()?.name().to_owned())),
            acp: definition.and_then(|definition| Some(definition.acp.as_ref()?.shown())),
            background: definition.is_some_and(|definition| definition.background),
            skills: definition.map(|definition| definition.skills.clone()).unwrap_or_default(),
            initial_prompt: definition.and_then(|definition| definition.initial_prompt.clone()),
            idle_fields: definition
                .map(|definition| definition.idle_fields.iter().cloned().collect())
                .unwrap_or_default(),
            diagnostics: listed.diagnostics.iter().map(|error| DiagnosticFacts::of(error, listed)).collect(),
        }
    }
}

/// Returns the word that agent files use.
pub(super) fn memory(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::User => "user",
        MemoryScope::Project => "project",
        MemoryScope::Local => "local",
    }
}

/// Where an agent comes from.
#[derive(Debug, Serialize)]
pub(super) struct PlaceFacts {
    tier: &'static str,
    path: Option<String>,
}

impl PlaceFacts {
    pub(super) fn of(source: &Source) -> Self {
        let path = source.path.as_ref().map(|path| path.to_string_lossy().into_owned());
        Self { tier: source.tier.id(), path }
    }
}

/// One thing that is wrong with a file.
#[derive(Debug, Serialize)]
pub(super) struct DiagnosticFacts {
    line: Option<usize>,
    column: Option<usize>,
    severity: &'static str,
    message: String,
}

impl DiagnosticFacts {
    fn of(error: &Diagnostic, listed: &Listed) -> Self {
        let Diagnostic { line, column, ref message, .. } = *error;
        Self { line, column, severity: severity(listed), message: message.clone() }
    }
}

/// Returns how bad the faults of a file are: they are errors if it cannot be used.
pub(super) fn severity(listed: &Listed) -> &'static str {
    if listed.definition.is_some() { "warning" } else { "error" }
}

/// Returns the agents that this one takes the place of.
pub(super) fn shadowed_by<'a>(winner: &'a Listed, all: &'a [Listed]) -> impl Iterator<Item = &'a Listed> {
    all.iter().filter(move |other| {
        let same = winner.definition.as_ref().zip(other.definition.as_ref());
        matches!(other.standing, DefinitionState::Shadowed { .. }) && same.is_some_and(|(a, b)| a.is_called(&b.name))
    })
}
