//! One agent, whole: every field of its file, what is wrong with it, and the prompt.
//!
//! Owns the lines above the prompt. Leaves the prompt to `markdown`. Invariant: a field that the file does not set is
//! shown with what holds instead, so that nothing has to be guessed.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::render_context::RenderContext;
use super::super::wrap::{pad, wrap_indented};
use crate::definition::{
    AgentDefinition, DefinitionState, Listed, MemoryScope, Source, Tier, ToolsField, knows_tool, same_name,
};
use crate::message::{Effort, canonical_name, reveal_line, sanitize, sanitize_line};
use crate::permission::PermissionMode;

/// Columns of the names of fields.
const LABEL: usize = 13;

/// Returns everything above the prompt.
pub(super) fn head(listed: &Listed, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let mut fields = Fields { ctx, columns, lines: Vec::new() };
    fields.origin(listed);
    if let Some(definition) = &listed.definition {
        fields.definition(definition);
    }
    fields.errors(listed);
    if listed.definition.as_ref().is_some_and(|definition| !definition.prompt.is_empty()) {
        fields.heading("prompt");
    }
    fields.lines
}

struct Fields<'a> {
    ctx: &'a RenderContext<'a>,
    columns: u16,
    lines: Vec<Line<'static>>,
}

impl Fields<'_> {
    /// Adds a field whose value may take several lines.
    fn add(&mut self, label: &str, value: &str, style: Style) {
        self.add_spans(label, vec![Span::styled(value.to_owned(), style)]);
    }

    fn add_spans(&mut self, label: &str, value: Vec<Span<'static>>) {
        let first = Line::from(Span::styled(pad(label, LABEL), self.ctx.theme.muted));
        let rest = Line::from(" ".repeat(LABEL));
        self.lines.extend(wrap_indented(&Line::from(value), self.columns, &first, &rest));
    }

    fn heading(&mut self, text: &'static str) {
        self.lines.push(Line::default());
        self.lines.push(Line::styled(text, self.ctx.theme.heading));
        self.lines.push(Line::default());
    }

    fn place(&self, source: &Source) -> String {
        let label = source.tier.label();
        match &source.path {
            Some(path) => format!("{label}, {}", self.ctx.app.agent_places().shown(path)),
            None => label.to_owned(),
        }
    }

    fn origin(&mut self, listed: &Listed) {
        let theme = self.ctx.theme;
        self.add("name", &sanitize_line(&listed.name()), theme.text);
        self.add("source", listed.source.tier.label(), theme.text);
        let file = match &listed.source.path {
            Some(path) => self.ctx.app.agent_places().shown(path),
            None if listed.source.tier == Tier::BuiltIn => "none: built in".to_owned(),
            None => "none".to_owned(),
        };
        self.add("file", &file, theme.text);
        match &listed.standing {
            DefinitionState::InForce => {
                let below: Vec<String> = self.shadowed(listed).map(|source| self.place(source)).collect();
                self.add("status", "active", theme.success);
                for source in below {
                    self.add("", &format!("shadows {source}"), theme.muted);
                }
            }
            DefinitionState::Shadowed { by } => {
                let by = self.place(by);
                self.add("status", &format!("shadowed by {by}"), theme.warning);
            }
            DefinitionState::Broken => self.add("status", "broken: the file cannot be used", theme.error),
        }
    }

    /// Iterates over where the agents come from that this one shadows.
    fn shadowed<'a>(&'a self, listed: &'a Listed) -> impl Iterator<Item = &'a Source> {
        let is_below = |other: &&Listed| match &other.standing {
            DefinitionState::Shadowed { by } => *by == listed.source && same_name(&other.name(), &listed.name()),
            DefinitionState::InForce | DefinitionState::Broken => false,
        };
        self.ctx.app.listing().iter().filter(is_below).map(|other| &other.source)
    }

    fn definition(&mut self, definition: &AgentDefinition) {
        let theme = self.ctx.theme;
        let description = sanitize(&definition.description);
        for (at, line) in description.lines().filter(|line| !line.trim().is_empty()).enumerate() {
            self.add(if at == 0 { "description" } else { "" }, line, theme.text);
        }
        if let Some(program) = &definition.acp {
            self.add("program", &reveal_line(&program.shown()), theme.text);
        }
        self.add_or("model", definition.model.as_deref(), "inherit: same as parent");
        self.tools(&definition.tools);
        if !definition.disallowed_tools.is_empty() {
            let names: Vec<&str> = definition.disallowed_tools.iter().map(|name| canonical_name(name)).collect();
            self.add("not allowed", &sanitize_line(&names.join(", ")), theme.text);
        }
        let mode = definition.permission_mode.map(PermissionMode::name);
        self.add_or("permissions", mode, "session default");
        let turns = definition.max_turns.map(|turns| turns.to_string());
        self.add_or("max turns", turns.as_deref(), "default");
        self.add_or("effort", definition.effort.map(Effort::name), "session default");
        let memory = definition.memory.map(|scope| match scope {
            MemoryScope::User => "user: for all projects",
            MemoryScope::Project => "project: shared with everyone who works on it",
            MemoryScope::Local => "local: for this project only",
        });
        self.add_or("memory", memory, "none");
        if let Some(isolation) = &definition.isolation {
            let words =
                if isolation.launcher().is_some() { "works on another machine" } else { "works in its own checkout" };
            self.add("isolation", &format!("{}: {words}", isolation.name()), theme.text);
        }
        if definition.background {
            self.add("background", "yes: its parent does not wait", theme.text);
        }
        let sample = theme.agent(definition.color.as_deref(), &definition.name);
        let color = definition.color.as_deref().map_or_else(|| "from its name".into(), sanitize_line);
        self.add_spans(
            "color",
            vec![Span::styled(format!("{} ", self.ctx.glyphs.agent), sample), Span::styled(color.into_owned(), sample)],
        );
        if !definition.skills.is_empty() {
            self.add("skills", &sanitize_line(&definition.skills.join(", ")), theme.text);
        }
        if let Some(text) = &definition.initial_prompt {
            self.add("first message", &sanitize_line(text), theme.text);
        }
        for (at, (name, value)) in definition.idle_fields.iter().enumerate() {
            let label = if at == 0 { "not used" } else { "" };
            self.add(label, &sanitize_line(&format!("{name}: {value}")), theme.muted);
        }
        if !definition.idle_fields.is_empty() {
            self.add("", "(understood, but not used yet)", theme.faint);
        }
    }

    /// Adds a field, or what holds if it is not set.
    fn add_or(&mut self, label: &str, value: Option<&str>, otherwise: &str) {
        match value {
            Some(value) => self.add(label, &sanitize_line(value), self.ctx.theme.text),
            None => self.add(label, otherwise, self.ctx.theme.faint),
        }
    }

    fn tools(&mut self, tools: &ToolsField) {
        let theme = self.ctx.theme;
        let ToolsField::List(names) = tools else { return self.add("tools", "all", theme.text) };
        let known = &self.ctx.app.agent_places().tools;
        let (there, unknown): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| knows_tool(name, known));
        let joined = |names: Vec<&String>| {
            let names: Vec<&str> = names.into_iter().map(|name| canonical_name(name)).collect();
            sanitize_line(&names.join(", ")).into_owned()
        };
        if there.is_empty() {
            self.add("tools", "none", theme.warning);
        } else {
            self.add("tools", &joined(there), theme.text);
        }
        if !unknown.is_empty() {
            self.add("", &format!("unknown, ignored: {}", joined(unknown)), theme.warning);
        }
    }

    fn errors(&mut self, listed: &Listed) {
        if listed.diagnostics.is_empty() {
            return;
        }
        let is_broken = listed.standing == DefinitionState::Broken;
        let (sign, style) = if is_broken {
            (self.ctx.glyphs.failed, self.ctx.theme.error)
        } else {
            (self.ctx.glyphs.attention, self.ctx.theme.warning)
        };
        self.heading("problems in the file");
        for error in &listed.diagnostics {
            let line = error.line.map_or_else(String::new, |line| format!("line {line}: "));
            let first = Line::from(Span::styled(format!("{sign} "), style));
            let text = sanitize_line(&format!("{line}{}", error.message)).into_owned();
            let text = Line::styled(text, self.ctx.theme.text);
            self.lines.extend(wrap_indented(&text, self.columns, &first, &Line::from("  ")));
        }
    }
}
