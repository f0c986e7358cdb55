//! What an agent is equipped with: its tools, its rules, and whether it may have subagents.
//!
//! Owns how a definition, a call and the agent above narrow each other. Leaves single uses to `permission`. Invariant: no
//! agent has a tool or a right that the agent above it does not have, whatever its definition or the call says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::definition::{AgentDefinition, ToolsField};
use crate::hook::OwnHooks;
use crate::mcp::TOOL_PREFIX;
use crate::permission::{Holder, PermissionMode, Permissions, Places, Rule, Rules, ToolKind};
use crate::subagent::limits::Refusal;
use crate::subagent::servers::mention::MentionReach;
use crate::subagent::servers::{AgentServers, TOOL_SEARCH, states};
use crate::subagent::tools::agent_tool::AGENT_TOOL;
use crate::subagent::tools::skill_tool::SKILL_TOOL;
use crate::subagent::tools::task_tools::companions;
use crate::tool::ToolSet;

/// What an agent can hand on to those below it.
#[derive(Clone)]
pub struct Capabilities {
    /// Its tools, without `Agent`.
    pub tools: ToolSet,
    /// The MCP servers that it reaches.
    pub servers: AgentServers,
    /// Whether its lists let it have subagents; how deep agents may nest is another matter.
    pub delegation: Delegation,
    /// Whether its lists let it load skills.
    pub skills: Delegation,
    pub permissions: Permissions,
    /// The hooks of its file, and those handed on to it.
    pub hooks: OwnHooks,
}

impl Capabilities {
    /// Returns what decides on servers that a message names.
    pub(in crate::subagent) fn mention_reach(&self) -> MentionReach {
        (self.servers.clone(), self.permissions.clone())
    }
}

/// Whether an agent may do what goes beyond single tools: have subagents, load skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delegation {
    Open,
    /// Its lists, or the depth, say no.
    Closed,
}

/// The tools by which an agent keeps notes.
const NOTE_TOOLS: [&str; 3] = ["Read", "Write", "Edit"];

/// The lists that narrow capabilities.
#[derive(Clone)]
pub(in crate::subagent) struct Lists {
    /// The definition's name, for a refusal.
    agent: String,
    /// To whom answers are given when an agent of the definition asks.
    holder: Holder,
    /// What the definition allows; `None` if that is everything.
    defined: Option<Arc<[Rule]>>,
    /// What the agent allows whose name it has.
    bounds: Option<Arc<[Rule]>>,
    forbidden: Arc<[Rule]>,
    called: Option<Arc<[Rule]>>,
}

impl Lists {
    pub(in crate::subagent) fn new(
        definition: &AgentDefinition,
        called: Option<&[String]>,
        project: &Path,
        home: Option<&Path>,
        tools: &ToolSet,
    ) -> Self {
        let read = |list: &[String]| -> Arc<[Rule]> {
            let rule = |entry: &str| Rule::parse(entry, Places { project, home }, |tool| tools.kind_of(tool));
            // Who may use tools of servers may look for them.
            let search = list.iter().any(|entry| entry.trim().starts_with(TOOL_PREFIX)).then_some(TOOL_SEARCH);
            list.iter().map(String::as_str).chain(search).map(rule).collect()
        };
        Self {
            agent: definition.name.clone(),
            holder: Holder::Agents { name: definition.name.clone(), source: definition.source.identity() },
            defined: match &definition.tools {
                ToolsField::All => None,
                ToolsField::List(list) => Some(read(list)),
            },
            bounds: definition.bounded_by.as_deref().map(read),
            forbidden: {
                let rule = |entry: &String| Rule::parse(entry, Places { project, home }, |tool| tools.kind_of(tool));
                definition.disallowed_tools.iter().map(rule).collect()
            },
            called: called.map(read),
        }
    }

    /// Returns the same lists for an agent that keeps notes in a folder: what its definition names is joined by the tools for
    /// them, there and nowhere else. Neither a call nor the agent whose name it has is overruled.
    fn keeping_notes(&self, folder: &Path, tools: &ToolSet) -> Self {
        let with_notes = |list: &Arc<[Rule]>| -> Arc<[Rule]> {
            let is_whole = |tool: &str| list.iter().any(|rule| rule.is_whole() && rule.names(tool));
            let missing = NOTE_TOOLS.into_iter().filter(|tool| !is_whole(tool));
            let added = missing.filter_map(|tool| Rule::below(tool, folder, |tool| tools.kind_of(tool)));
            list.iter().cloned().chain(added).collect()
        };
        Self { defined: self.defined.as_ref().map(with_notes), ..self.clone() }
    }

    fn allowing(&self) -> impl Iterator<Item = &Arc<[Rule]>> {
        self.defined.iter().chain(&self.bounds).chain(&self.called)
    }

    fn leave(&self, tool: &str) -> bool {
        self.allowing().all(|list| list.iter().any(|rule| rule.is_clear() && rule.names(tool)))
            && !self.forbidden.iter().any(|rule| rule.takes_away(tool))
    }

    /// Returns `true` if each list names tools of MCP servers, which may come later.
    fn name_servers(&self) -> bool {
        self.allowing().all(|list| list.iter().any(|rule| rule.tool().starts_with(TOOL_PREFIX)))
    }

    /// Returns the rules that single uses are judged by: what a list allows is joined by the tools that come with it. `tools`
    /// are those there are.
    fn rules(&self, above: &Rules, tools: &ToolSet) -> Rules {
        let with_companions = |list: &Arc<[Rule]>| -> Arc<[Rule]> {
            let has = |tool: &str| list.iter().any(|rule| rule.is_clear() && rule.names(tool));
            let runs_commands = tools.names().any(|tool| tools.kind_of(tool) == ToolKind::Execute && has(tool));
            let more = companions(has(AGENT_TOOL), runs_commands).iter().map(|tool| Rule::whole(tool));
            list.iter().cloned().chain(more).collect()
        };
        let allowing = self.allowing().map(with_companions);
        allowing.fold(above.clone(), Rules::allowing).forbidding(self.forbidden.clone())
    }

    /// Says of every entry of the list that leaves nothing why it gives no tool; `None` if nothing was named.
    fn reasons(&self, sets: &Sets<'_>) -> Option<String> {
        let is_hollow = |list: &&Arc<[Rule]>| {
            !sets
                .above
                .names()
                .chain(sets.agent_tool())
                .any(|tool| list.iter().any(|rule| rule.is_clear() && rule.names(tool)))
        };
        let named = self.defined.as_ref().filter(is_hollow).or(self.called.as_ref()).or(self.defined.as_ref());
        let named = named.filter(|list| !list.is_empty())?;
        let reasons: Vec<String> =
            named.iter().map(|rule| format!("{} {}", rule.text(), self.reason(rule, sets))).collect();
        Some(reasons.join(", "))
    }

    fn reason(&self, rule: &Rule, sets: &Sets<'_>) -> &'static str {
        let is_meant = |tool: &&str| rule.names(tool);
        let is_forbidden = |tool: &str| self.forbidden.iter().any(|rule| rule.takes_away(tool));
        if rule.tool() == AGENT_TOOL && sets.depth == Delegation::Closed {
            "would nest too deeply"
        } else if !sets.all.names().chain([AGENT_TOOL, SKILL_TOOL]).any(|tool| rule.names(tool)) {
            "is not a tool"
        } else if !rule.is_clear() {
            "has a scope that is not understood"
        } else if !sets.above.names().chain(sets.agent_tool()).any(|tool| rule.names(tool)) {
            "is not among its parent's tools"
        } else if sets.above.names().filter(is_meant).all(is_forbidden) {
            "is denied to this agent"
        } else {
            "is not among this agent's tools"
        }
    }
}

struct Sets<'a> {
    all: &'a ToolSet,
    /// Those of the agent above.
    above: &'a ToolSet,
    /// Whether the new agent could have subagents.
    depth: Delegation,
}

impl Sets<'_> {
    fn agent_tool(&self) -> Option<&'static str> {
        (self.depth == Delegation::Open).then_some(AGENT_TOOL)
    }
}

impl Capabilities {
    /// Returns what is left of this for an agent below. `all` are the tools there are, and `depth` says whether that
    /// agent could have subagents.
    pub(in crate::subagent) fn narrowed(
        &self,
        lists: &Lists,
        mode: Option<PermissionMode>,
        all: &ToolSet,
        depth: Delegation,
    ) -> Result<Self, Refusal> {
        let depth = if self.delegation == Delegation::Open { depth } else { Delegation::Closed };
        let is_open = depth == Delegation::Open && lists.leave(AGENT_TOOL);
        let delegation = if is_open { Delegation::Open } else { Delegation::Closed };
        let skills = if lists.leave(SKILL_TOOL) { self.skills } else { Delegation::Closed };
        let tools = self.tools.filtered(|tool| lists.leave(tool));
        let permissions = self.permissions.clone().with_rules(lists.rules(self.permissions.rules(), all));
        let has_servers = lists.name_servers() && !states(&self.servers, &permissions).is_empty();
        if tools.is_empty()
            && !has_servers
            && delegation == Delegation::Closed
            && skills == Delegation::Closed
            && let Some(reasons) = lists.reasons(&Sets { all, above: &self.tools, depth })
        {
            return Err(Refusal::NoTools { agent: lists.agent.clone(), reasons });
        }
        let permissions = permissions.held_by(lists.holder.clone()).with_own_folder(None);
        let permissions = mode.map_or(permissions.clone(), |mode| permissions.at_most(mode));
        let hooks = self.hooks.clone();
        Ok(Self { tools, servers: self.servers.clone(), delegation, skills, permissions, hooks })
    }

    /// Returns this for an agent below `above` that keeps notes in a folder.
    #[must_use]
    pub(in crate::subagent) fn keeping_notes(self, above: &Self, lists: &Lists, folder: PathBuf) -> Self {
        let lists = lists.keeping_notes(&folder, &above.tools);
        let permissions = self.permissions.with_rules(lists.rules(above.permissions.rules(), &above.tools));
        Self {
            tools: above.tools.filtered(|tool| lists.leave(tool)),
            permissions: permissions.with_own_folder(Some(folder)),
            ..self
        }
    }
}
