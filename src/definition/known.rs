//! The names that agent files use and that others give: of tools, and of models.
//!
//! Owns what is said of one that is not known. Leaves what there is to whoever makes the [`KnownNames`]. Invariant: an
//! agent whose tools are all unknown is broken, so that it is neither offered nor takes the place of another.

use std::fmt;
use std::sync::Arc;

use super::{AgentDefinition, Isolation, Parsed, ToolsField, tools};
use crate::message::Diagnostic;

/// Entries of one list that are complained of.
const MAX_FAULTS: usize = 20;

/// The names that an agent file may use.
#[derive(Clone)]
pub struct KnownNames {
    pub tools: Vec<String>,
    /// The launchers of the user's configuration.
    pub launchers: Vec<String>,
    /// Returns `true` for a model that some service may have.
    pub is_model: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Says what is wrong with hooks.
    pub check_hooks: fn(&serde_json::Value) -> Vec<String>,
}

impl Default for KnownNames {
    /// No tool, and every model.
    fn default() -> Self {
        Self { tools: Vec::new(), launchers: Vec::new(), is_model: Arc::new(|_| true), check_hooks: |_| Vec::new() }
    }
}

impl fmt::Debug for KnownNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownNames").field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl KnownNames {
    /// Says what is wrong with the names in a file, and gives up an agent that could do nothing.
    pub(super) fn check(&self, parsed: &mut Parsed) {
        let Some(definition) = &parsed.definition else { return };
        let allowed: &[String] = match &definition.tools {
            ToolsField::All => &[],
            ToolsField::List(names) => names,
        };
        let path = &parsed.source.path;
        let error = |line, message| Diagnostic { path: path.clone(), line, ..Diagnostic::new(message) };
        let [tools_line, disallowed_line, model_line, _] = parsed.lines;
        if !allowed.is_empty() && !allowed.iter().any(|name| tools::is_here(name, &self.tools)) {
            let message = format!(
                "cannot run: none of its `tools` exist here ({}). Name tools that Belvedere has, or omit `tools` to \
                 allow all.",
                shown(&allowed.join(", "))
            );
            parsed.diagnostics.push(error(tools_line, message));
            parsed.definition = None;
            return;
        }
        let mut errors = Vec::new();
        let slips: Vec<(String, String)> = definition
            .disallowed_tools
            .iter()
            .filter(|name| !tools::knows_tool(name, &self.tools))
            .filter_map(|name| Some((name.clone(), tools::nearest(name, &self.tools)?.to_owned())))
            .filter(|(name, near)| is_slip(name, near))
            .collect();
        let lists =
            [(allowed, "ignored", tools_line), (&definition.disallowed_tools, "nothing is blocked", disallowed_line)];
        for (names, outcome, line) in lists {
            let is_read_otherwise = |name: &String| outcome != "ignored" && slips.iter().any(|(slip, _)| slip == name);
            let unknown = names.iter().filter(|name| !tools::knows_tool(name, &self.tools));
            for name in unknown.filter(|name| !is_read_otherwise(name)).take(MAX_FAULTS) {
                let nearest = tools::nearest(name, &self.tools).map(|near| format!(" Did you mean `{near}`?"));
                let message = format!("unknown tool `{}`; {outcome}.{}", shown(name), nearest.unwrap_or_default());
                errors.push(error(line, message));
            }
        }
        errors.extend(edits_unread(definition).map(|message| error(tools_line, message)));
        if let Some(model) = definition.model.as_deref().filter(|model| !(self.is_model)(model)) {
            let message = format!(
                "unknown model `{model}`; unless the service has one by that name, the parent's is used. Write an \
                 alias such as `haiku`, or a full name."
            );
            errors.push(error(model_line, message));
        }
        if let Some(name) = definition.isolation.as_ref().and_then(Isolation::launcher)
            && !self.launchers.iter().any(|known| known == name)
        {
            let message = format!(
                "`isolation: {name}` names a launcher that your configuration does not have: calls of the agent are \
                 refused. Write `[launchers.{name}]`, or `isolation: worktree`."
            );
            errors.push(error(None, message));
        }
        let own = definition.hooks.iter().filter(|(_, source)| *source == parsed.source);
        let hooks = own.flat_map(|(hooks, _)| (self.check_hooks)(hooks)).take(MAX_FAULTS);
        errors.extend(hooks.map(|message| error(parsed.lines[3], message)));
        let read = slips.iter().take(MAX_FAULTS);
        let words = read.map(|(slip, near)| format!("unknown tool `{}`; `{near}` is blocked.", shown(slip)));
        errors.extend(words.map(|message| error(disallowed_line, message)));
        parsed.diagnostics.extend(errors);
        if let Some(definition) = &mut parsed.definition {
            definition.disallowed_tools.extend(slips.into_iter().map(|(_, near)| near));
        }
    }
}

/// Returns `true` if a name is that of a tool with a slip of the pen.
fn is_slip(name: &str, tool: &str) -> bool {
    let (name, tool) = (tools::bare_name(name).to_lowercase(), tool.to_lowercase());
    !similar::get_close_matches(name.as_str(), &[tool.as_str()], 1, 0.75).is_empty()
}

/// Warns of a list that has `Edit` without `Read`, as lists of other programs do once their other names fall away.
fn edits_unread(definition: &AgentDefinition) -> Option<String> {
    let ToolsField::List(names) = &definition.tools else { return None };
    let has = |tool| names.iter().any(|name| tools::bare_name(name).eq_ignore_ascii_case(tool));
    let is_cut_off = has("Edit") && !has("Read");
    is_cut_off.then(|| "`Edit` changes only files that were read, and `Read` is not in `tools`. Add `Read`.".to_owned())
}

fn shown(names: &str) -> String {
    names.chars().take(80).collect()
}
