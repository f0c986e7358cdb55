//! From the text of one file to an agent.
//!
//! Owns the fields of the format and what is accepted in them. Leaves YAML to `frontmatter`. Invariant: a field that
//! cannot be used falls back to its default with a diagnostic; only a file without a description or a head is given up.

use std::path::PathBuf;

use serde_json::Value;

use super::frontmatter::{self, Fields};
use super::{AgentDefinition, Parsed, Source, ToolsField};
use crate::message::{Diagnostic, canonical_name};
use crate::permission::PermissionMode;

/// Reads one agent file.
#[must_use]
pub fn parse(text: &str, source: Source) -> Parsed {
    let text = frontmatter::normalise(text);
    let mut reader = Reader { path: source.path.clone(), diagnostics: Vec::new(), head: 1 };
    let definition = reader.definition(&text, source.clone());
    Parsed { source, definition, diagnostics: reader.diagnostics }
}

/// Tells whether an entry of `tools` names one of the `known` tools. Patterns of MCP servers (`mcp__…`) are left to
/// those.
#[must_use]
pub fn knows_tool(entry: &str, known: &[String]) -> bool {
    let bare = canonical_name(entry.split('(').next().unwrap_or_default());
    bare.starts_with("mcp__") || known.iter().any(|known| known.eq_ignore_ascii_case(bare))
}

/// Warns of tools that are not among `known`.
pub(super) fn check_tools(parsed: &mut Parsed, known: &[String]) {
    let Some(definition) = &parsed.definition else { return };
    let ToolsField::List(names) = &definition.tools else { return };
    for name in names {
        if !knows_tool(name, known) {
            let message = format!("there is no tool `{name}`; it is left out.");
            parsed.diagnostics.push(Diagnostic { path: parsed.source.path.clone(), ..Diagnostic::new(message) });
        }
    }
}

struct Reader {
    path: Option<PathBuf>,
    diagnostics: Vec<Diagnostic>,
    /// Line of the file that faults of single fields are reported at.
    head: usize,
}

impl Reader {
    fn report(&mut self, line: usize, message: String) {
        self.diagnostics.push(Diagnostic { path: self.path.clone(), line: Some(line), column: None, message });
    }

    fn definition(&mut self, text: &str, source: Source) -> Option<AgentDefinition> {
        let cut = match frontmatter::cut(text) {
            Ok(cut) => cut,
            Err((line, fault)) => {
                self.report(line, format!("{fault}. The file is left out."));
                return None;
            }
        };
        self.head = cut.lines_before;
        let frontmatter::Read { fields, fault } = frontmatter::read(cut.block);
        if let Some((line, fault)) = fault {
            let hint = "Read piece by piece; put quotes around the value, or write it as a block after `|`";
            self.report(cut.lines_before + line, format!("the frontmatter is not YAML ({fault}). {hint}."));
        }
        let Some(description) = text_of(&fields, &["description"]) else {
            self.report(
                self.head,
                "there is no `description`, so no one could choose it. The file is left out.".into(),
            );
            return None;
        };
        let name = self.name(&fields)?;
        let tools = self.tools(&fields);
        let disallowed_tools = ["disallowedTools", "disallowed-tools", "disallowed_tools"]
            .iter()
            .filter_map(|key| fields.get(*key))
            .flat_map(names_of)
            .collect();
        let model = self.model(&fields);
        let max_turns = self.max_turns(&fields);
        let permission_mode = self.permission_mode(&fields);
        let color = text_of(&fields, &["color"]).map(|color| color.to_lowercase());
        // Generators write the line ends of a one-line description as the two characters `\n`.
        let description = description.replace("\\n", "\n");
        let prompt = cut.body.trim().to_owned();
        if prompt.is_empty() {
            self.report(self.head, "there is no text after the frontmatter, so the agent has no instructions.".into());
        }
        Some(AgentDefinition {
            name,
            description,
            tools,
            disallowed_tools,
            model,
            permission_mode,
            color,
            max_turns,
            max_time: None,
            effort: None,
            memory: None,
            initial_prompt: None,
            idle_fields: Vec::new(),
            prompt,
            source,
        })
    }

    fn name(&mut self, fields: &Fields) -> Option<String> {
        if let Some(name) = text_of(fields, &["name"]) {
            return Some(name);
        }
        let stem = self.path.as_ref().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str());
        if let Some(stem) = stem.map(str::to_owned) {
            self.report(self.head, format!("there is no `name`; the file's own name, `{stem}`, is used."));
            return Some(stem);
        }
        self.report(self.head, "there is no `name`. The agent is left out.".into());
        None
    }

    fn tools(&mut self, fields: &Fields) -> ToolsField {
        let Some(value) = fields.get("tools").filter(|value| !value.is_null()) else { return ToolsField::All };
        if !matches!(value, Value::String(_) | Value::Array(_)) {
            self.report(self.head, "`tools` is neither a list nor names with commas; the agent gets none.".into());
        }
        let names = names_of(value);
        if names.iter().any(|name| name == "*") { ToolsField::All } else { ToolsField::List(names) }
    }

    fn model(&mut self, fields: &Fields) -> Option<String> {
        let model = text_of(fields, &["model", "model_name"]).filter(|model| !model.eq_ignore_ascii_case("inherit"))?;
        let is_id = model.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:/@[]".contains(c));
        if !is_id {
            self.report(self.head, format!("`{model}` is not the name of a model; the parent's model is used."));
        }
        Some(model).filter(|_| is_id)
    }

    fn permission_mode(&mut self, fields: &Fields) -> Option<PermissionMode> {
        let text = text_of(fields, &["permissionMode"])?;
        let mode = text.parse();
        if let Err(fault) = &mode {
            self.report(self.head, format!("{fault}; the mode of the session is used."));
        }
        mode.ok()
    }

    fn max_turns(&mut self, fields: &Fields) -> Option<u32> {
        let text = text_of(fields, &["maxTurns"])?;
        let turns = text.parse().ok().filter(|turns| *turns > 0);
        if turns.is_none() {
            self.report(self.head, format!("`maxTurns` is `{text}`, not a number from 1; the default is used."));
        }
        turns
    }
}

/// Returns the first of these fields that holds a text or a number.
fn text_of(fields: &Fields, keys: &[&str]) -> Option<String> {
    keys.iter().filter_map(|key| fields.get(*key)).find_map(scalar)
}

fn scalar(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(on) => on.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the names in a list, or in a text between commas that stand outside parentheses: a scope such as
/// `Bash(git log, git show)` holds commas of its own.
fn names_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        Value::String(text) => {
            let mut depth = 0_i32;
            let names = text.split(|c| {
                depth += match c {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                matches!(c, ',' | '\n') && depth <= 0
            });
            let names = names.map(|name| name.trim().trim_matches(['"', '\'']).trim());
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
