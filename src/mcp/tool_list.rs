//! The tools that a server lists, read one by one: what cannot be used costs itself, and is named.
//!
//! Owns which tools of a list are offered, and under which names. Leaves their schemas to `schema`, and asking to `client`.
//! Invariants: the list is bounded; no two tools have one name; whatever is left out is said, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::names::{McpToolInfo, digest_name, is_plain, wire_name};
use super::schema::fitting;
use crate::message::sanitize_line;

/// Tools of one server.
const MAX_TOOLS: usize = 1_000;
/// Characters of a tool's description.
const MAX_DESCRIPTION: usize = 4_000;
/// Bytes of a tool's schema.
const MAX_SCHEMA: usize = 64 << 10;
/// Tools that are named among those left out.
const MAX_NAMED: usize = 20;
/// Characters of a name as it is shown.
const MAX_NAME_CHARS: usize = 80;

/// What a server's list comes to.
#[derive(Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<Arc<McpToolInfo>>,
    /// Which tools are not offered, and why.
    pub(super) left_out: Vec<String>,
}

impl ToolList {
    /// Reads the tools of a server as it has listed them.
    pub(super) fn read(server: &str, listed: &[Value]) -> Self {
        let mut list = Self::default();
        let mut seen = BTreeSet::new();
        let mut usable: Vec<McpToolInfo> = Vec::new();
        for (at, tool) in listed.iter().enumerate() {
            match info(server, tool) {
                Ok(info) if !seen.insert(info.tool.clone()) => list.leave_out(&info.tool, "it is listed twice"),
                Ok(_) if usable.len() == MAX_TOOLS => {
                    list.left_out.push(format!("the tools after the first {MAX_TOOLS}"));
                    break;
                }
                Ok(info) => usable.push(info),
                Err((None, why)) => list.leave_out(&format!("number {}", at + 1), why),
                Err((Some(name), why)) => list.leave_out(&name, why),
            }
        }
        list.tools = named_apart(server, usable);
        list
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        let name: String = sanitize_line(name).chars().take(MAX_NAME_CHARS).collect();
        match self.left_out.len() {
            MAX_NAMED => self.left_out.push("more".to_owned()),
            named if named < MAX_NAMED => self.left_out.push(format!("{name}: {why}")),
            _ => {}
        }
    }

    /// Says what is left out, if anything is.
    pub(super) fn notice(&self) -> Option<String> {
        (!self.left_out.is_empty()).then(|| format!("tools left out: {}", self.left_out.join("; ")))
    }
}

/// Reads one tool. Returns its name, if it has one, and why it cannot be used.
fn info(server: &str, tool: &Value) -> Result<McpToolInfo, (Option<String>, &'static str)> {
    let text = |key: &str| tool.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let name = text("name").ok_or((None, "it has no name"))?;
    let refuse = |why| (Some(name.to_owned()), why);
    let given = tool.get("inputSchema").unwrap_or(&Value::Null);
    if given.to_string().len() > MAX_SCHEMA {
        return Err(refuse("its input schema is larger than 64 KB"));
    }
    let input_schema = fitting(given).map_err(refuse)?;
    let description = text("description").or_else(|| text("title")).unwrap_or_default();
    let hint = tool.get("annotations").and_then(|hints| hints.get("readOnlyHint"));
    Ok(McpToolInfo {
        name: wire_name(server, name),
        server: server.to_owned(),
        tool: name.to_owned(),
        description: description.chars().take(MAX_DESCRIPTION).collect(),
        input_schema: Arc::new(input_schema),
        // Only a plain yes counts: it lets calls run side by side.
        only_reads: hint == Some(&Value::Bool(true)),
    })
}

/// Gives tools that would have one name names of their own. One that has it to the letter keeps it.
fn named_apart(server: &str, tools: Vec<McpToolInfo>) -> Vec<Arc<McpToolInfo>> {
    let mut shared: BTreeMap<String, usize> = BTreeMap::new();
    for tool in &tools {
        *shared.entry(tool.name.clone()).or_default() += 1;
    }
    let apart = tools.into_iter().map(|mut tool| {
        if shared.get(&tool.name).is_some_and(|count| *count > 1) && !is_plain(&tool.tool) {
            tool.name = digest_name(server, &tool.tool);
        }
        tool
    });
    let mut seen = BTreeSet::new();
    apart.filter(|tool| seen.insert(tool.name.clone())).map(Arc::new).collect()
}
