//! From a call of `Agent` to an agent: everything that can be refused, then the value that runs.
//!
//! Owns the order of the checks. Leaves tools and rules to `capabilities` and models to `connection`. Invariant: a refusal
//! costs nothing and makes no pane.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::{Agent, AtEnd, Cancel, Inbox, Limits};
use crate::definition::{AgentDefinition, Isolation};
use crate::memory::GivenMemory;
use crate::message::{AgentId, canonical_name, sanitize_line};
use crate::subagent::limits::Refusal;
use crate::subagent::main_agent::connection::{Connection, ModelSources};
use crate::subagent::registry::AgentTemplate;
use crate::subagent::servers::states;
use crate::subagent::skills::SkillTerms;
use crate::subagent::spawn::capabilities::{Capabilities, Delegation, Lists};
use crate::subagent::spawn::hooks::hooks_of;
use crate::subagent::spawn::launchers::{Launcher, launchable};
use crate::subagent::spawn::memory::AgentMemory;
use crate::subagent::tools::agent_tool::{AGENT_TOOL, AgentInput};
use crate::subagent::tools::skill_tool::SKILL_TOOL;
use crate::subagent::tree::{Parent, Tree};
use crate::subagent::workspace::IsolationSpec;
use crate::tool::ToolSet;

/// A spawn that passed every check.
pub(in crate::subagent) struct Admitted {
    pub(in crate::subagent) definition: Arc<AgentDefinition>,
    connection: Connection,
    lists: Lists,
    capabilities: Capabilities,
    limits: Limits,
    /// Whether it works apart.
    pub(in crate::subagent) isolation: Option<Isolation>,
    /// What a skill brings along that it carries out.
    terms: SkillTerms,
    /// What the user should know of it.
    pub(in crate::subagent) notes: Vec<String>,
}

impl Admitted {
    /// Returns the same spawn for a skill with these terms.
    pub(in crate::subagent) fn under(self, terms: SkillTerms) -> Self {
        Self { terms, ..self }
    }
}

impl Tree {
    /// Checks everything that can be refused, the count last.
    pub(in crate::subagent) fn admit(&self, parent: &Parent, input: &AgentInput) -> Result<Admitted, Refusal> {
        let admitted = self.admit_again(parent, input)?;
        self.reserve()?;
        Ok(admitted)
    }

    /// Checks everything that can be refused but the count.
    pub(in crate::subagent) fn admit_again(&self, parent: &Parent, input: &AgentInput) -> Result<Admitted, Refusal> {
        let limits = &self.setup().limits;
        if parent.depth >= limits.max_depth {
            return Err(Refusal::TooDeep { limit: limits.max_depth });
        }
        let chars = input.prompt.trim().chars().count();
        // Who names an agent has said what kind of work it is; a few words may do then.
        let least = if input.named_type().is_some() { 1 } else { limits.min_task_chars.max(1) };
        if chars < least {
            return Err(Refusal::TooBrief { chars, least });
        }
        let definition = self.wanted(parent, input.named_type().unwrap_or("general-purpose"))?;
        let lists = self.lists(&definition, input.allowed_tools.as_deref());
        let depth = self.depth_allows(parent.depth + 1);
        let (above, server_notes) = self.above(&parent.capabilities, &definition);
        let isolation = input.isolation.clone().or_else(|| definition.isolation.clone());
        let launcher = self.launcher_of(isolation.as_ref())?;
        if launcher.is_some() {
            launchable(&definition)?;
        }
        if definition.acp.is_some() || launcher.is_some() {
            restrictions_kept(&definition, input)?;
        }
        let capabilities = above.narrowed(&lists, definition.permission_mode, &self.setup().tools, depth)?;
        let (connection, note) = self.connection_for(parent, &definition, (input, launcher))?;
        let notes = [note, self.setup().effort.note(&definition, &connection.model), idle_note(&definition)];
        let missing = self.preloaded(&definition).1;
        let Capabilities { servers, permissions, .. } = &capabilities;
        let not_handed = servers.handed_to_program(&definition, permissions, &self.setup().place.project).1;
        let notes = notes.into_iter().flatten().chain(server_notes).chain(not_handed).chain(missing).collect();
        self.check_isolation(isolation.as_ref())?;
        let calls = limits.tool_calls(input.max_tool_calls);
        let limits = child_limits(&limits.child, &definition, (calls, launcher.is_some()));
        let terms = SkillTerms::default();
        Ok(Admitted { definition, connection, lists, capabilities, limits, isolation, terms, notes })
    }

    /// Returns what an agent above can hand on to one of this definition, with the MCP servers that its file names, and
    /// what the user should know of these.
    fn above(&self, above: &Capabilities, definition: &AgentDefinition) -> (Capabilities, Vec<String>) {
        let (servers, notes) = above.servers.of_child(definition, &self.setup().servers);
        (Capabilities { servers, ..above.clone() }, notes)
    }

    /// Admits the agent that drafts agents for the user: no depth and no count keeps it out.
    pub(in crate::subagent) fn admit_drafter(
        &self,
        parent: &Parent,
        definition: &Arc<AgentDefinition>,
    ) -> Result<Admitted, Refusal> {
        let setup = self.setup();
        let lists = self.lists(definition, None);
        let capabilities =
            parent.capabilities.narrowed(&lists, definition.permission_mode, &setup.tools, Delegation::Closed)?;
        let limits = child_limits(&setup.limits.child, definition, (setup.limits.tool_calls(None), false));
        let connection = parent.connection.clone();
        Ok(Admitted {
            definition: definition.clone(),
            connection,
            lists,
            capabilities,
            limits,
            isolation: None,
            terms: SkillTerms::default(),
            notes: Vec::new(),
        })
    }

    /// Says which tools an agent of the definition would have below this parent; `None` if its lists leave none.
    pub(in crate::subagent) fn tools_of_child(&self, parent: &Parent, definition: &AgentDefinition) -> Option<String> {
        if let Some(program) = &definition.acp {
            return Some(format!("its own; it is another program ({})", sanitize_line(program.name())));
        }
        let lists = self.lists(definition, None);
        let depth = self.depth_allows(parent.depth + 1);
        let all = &self.setup().tools;
        let (above, _) = self.above(&parent.capabilities, definition);
        let own = above.narrowed(&lists, definition.permission_mode, all, depth).ok()?;
        let scopes = own.permissions.rules().scopes();
        let is_scope_of = |scope: &String, tool: &str| {
            scope.split_once('(').is_some_and(|(name, _)| canonical_name(name).eq_ignore_ascii_case(tool))
        };
        let shown = |tool: &str| {
            let own: Vec<&str> = scopes.iter().filter(|scope| is_scope_of(scope, tool)).map(String::as_str).collect();
            if own.is_empty() { tool.to_owned() } else { own.join(", ") }
        };
        let offered = own.tools.offered(parent.connection.provider.web_search().is_some());
        let is_all = own.tools.names().count() == parent.capabilities.tools.names().count()
            && own.skills == parent.capabilities.skills;
        let mut tools: Vec<String> = offered.names().map(shown).collect();
        if !is_all {
            let servers = states(&own.servers, &own.permissions);
            tools.extend(servers.into_iter().map(|(name, _)| format!("the MCP server {name}")));
        }
        let but: Vec<&str> = scopes.iter().map(String::as_str).filter(|scope| scope.starts_with("not ")).collect();
        if is_all && scopes.iter().all(|scope| scope.starts_with("not ")) {
            tools = vec!["all".to_owned()];
        }
        if own.skills == Delegation::Open && !is_all && !self.usable_skills(parent).is_empty() {
            tools.push(SKILL_TOOL.to_owned());
        }
        if own.delegation == Delegation::Open && !is_all {
            tools.push(AGENT_TOOL.to_owned());
        }
        let kept =
            definition.memory.map(|_| own.clone().keeping_notes(&parent.capabilities, &lists, PathBuf::from("/")));
        let for_notes: Vec<&str> = kept.iter().flat_map(|kept| kept.tools.names()).collect();
        let for_notes: Vec<&str> = for_notes.into_iter().filter(|tool| own.tools.find(tool).is_none()).collect();
        if !for_notes.is_empty() {
            tools.push(format!("{} for its notes", for_notes.join(" and ")));
        }
        tools.extend(but.into_iter().map(|scope| format!("but {scope}")));
        Some(if tools.is_empty() { "none".to_owned() } else { tools.join(", ") })
    }

    /// Reads the lists of tools of a definition and a call.
    pub(in crate::subagent) fn lists(&self, definition: &AgentDefinition, called: Option<&[String]>) -> Lists {
        let setup = self.setup();
        Lists::new(definition, called, &setup.place.project, setup.user_dirs.home.as_deref(), &setup.tools)
    }

    fn wanted(&self, parent: &Parent, wanted: &str) -> Result<Arc<AgentDefinition>, Refusal> {
        let rules = &parent.capabilities.permissions;
        let available = || {
            let names = self.catalog().names().into_iter().filter(|name| rules.allow_kind(name));
            names.collect::<Vec<_>>().join(", ")
        };
        match self.catalog().get(wanted) {
            None => Err(Refusal::UnknownType { wanted: wanted.to_owned(), available: available() }),
            Some(found) if rules.allow_kind(&found.name) => Ok(found),
            Some(_) => Err(Refusal::ForbiddenType { wanted: wanted.to_owned(), available: available() }),
        }
    }

    fn connection_for(
        &self,
        parent: &Parent,
        definition: &AgentDefinition,
        (input, launcher): (&AgentInput, Option<&Launcher>),
    ) -> Result<(Connection, Option<String>), Refusal> {
        if let Some(program) = &definition.acp {
            return Ok((program_connection(&parent.connection, program.name()), None));
        }
        if let Some(launcher) = launcher {
            return Ok((program_connection(&parent.connection, &format!("on {}", launcher.settings.name)), None));
        }
        let wishes = ModelSources {
            call: input.model.as_deref(),
            environment: self.setup().subagent_model.as_deref(),
            definition,
            parent: &parent.connection,
            main: &parent.main,
        };
        let (mut connection, note) = wishes.connect(&self.setup().resolve_model)?;
        if let Some(cap) = input.max_tokens {
            let model = Arc::make_mut(&mut connection.model);
            model.max_output_tokens = model.max_output_tokens.min(cap.max(1));
            model.most_output_tokens = model.most_output_tokens.min(cap.max(1));
        }
        Ok((connection, note))
    }

    /// Makes the agent of an admitted spawn, and what it can hand on.
    pub(in crate::subagent) fn child(
        &self,
        parent: &Parent,
        admitted: Admitted,
        memory: Option<&AgentMemory>,
        (id, name, cancel): (AgentId, &str, Cancel),
    ) -> (Agent, AgentTemplate) {
        let setup = self.setup();
        let Admitted { definition, connection, lists, mut capabilities, limits, isolation, terms, .. } = admitted;
        let depth = parent.depth + 1;
        if let Some(memory) = memory {
            capabilities = memory.kept_by(capabilities, &parent.capabilities, &lists);
        }
        let own = hooks_of(&definition).into_iter().chain(terms.hooks).collect();
        capabilities.hooks = parent.capabilities.hooks.handed_on(own);
        let hooks = setup.hooks.of_agent(&capabilities.hooks, Some(name), Some(&definition.name));
        let permissions = capabilities.permissions.clone().borrowing();
        permissions.lend(terms.lent);
        let notes = memory.map(|memory| memory.section(&capabilities));
        let notes = self.with_skills(&definition, notes.as_deref());
        let external = self.external_of(&definition, isolation.as_ref(), &capabilities);
        let is_remote = external.as_ref().is_some_and(|external| external.remote.is_some());
        let spec = IsolationSpec { definition, notes, is_remote };
        let workspace = parent.workspace.clone();
        let fallbacks = connection.side_models(&setup.fallback_models, &parent.main, &setup.resolve_model);
        let summarizer = connection.side_model(setup.compact_model.as_deref(), &parent.main, &setup.resolve_model);
        let judge = connection.side_model(setup.review.judge.as_deref(), &parent.main, &setup.resolve_model);
        let (system, place) = (self.child_prompt(&spec, workspace.as_ref()), self.place_of(workspace.as_ref()));
        // Another program reads such files itself.
        let memory = match external {
            Some(_) => GivenMemory::default(),
            None => self.memory_for(Some(&spec.definition), workspace.as_ref()),
        };
        let own = Parent {
            id,
            depth,
            connection: connection.clone(),
            main: parent.main.clone(),
            capabilities,
            offers: Arc::default(),
            cancel: cancel.clone(),
            workspace,
        };
        let agent = Agent {
            id,
            depth,
            system,
            provider: connection.provider,
            model: connection.model,
            fallbacks,
            summarizer,
            judge,
            judges: self.hook_judges(&own.connection, &own.main),
            reasoning: setup.effort.of_subagent(terms.effort, &spec.definition),
            tools: if external.is_some() { ToolSet::default() } else { self.offered_tools(own.clone()) },
            place,
            permissions,
            approver: setup.approver.clone(),
            freshness: self.freshness(name),
            memory,
            hooks,
            skills: Some(self.skill_host(&own)),
            spoken: None,
            limits,
            pictures: setup.pictures.clone(),
            external,
            budget: setup.budget.clone(),
            sink: setup.sink.clone(),
            secrets: setup.secrets.clone(),
            inbox: Inbox::default(),
            commands: self.commands().clone(),
            at_end: AtEnd::WaitForReports,
            work: cancel.child(),
            cancel,
        };
        // Some of its tools, and its skills, hold the tree, which holds this.
        let kept = Agent { tools: ToolSet::default(), skills: None, ..agent.clone() };
        let isolation = self.is_apart(isolation.as_ref()).then_some(spec);
        (agent, AgentTemplate { agent: kept, own, isolation })
    }
}

/// Refuses what another program would not keep to.
fn restrictions_kept(definition: &AgentDefinition, input: &AgentInput) -> Result<(), Refusal> {
    let asked = [
        (input.allowed_tools.is_some(), "allowed_tools"),
        (input.max_tokens.is_some(), "max_tokens"),
        (input.model.is_some(), "model"),
    ];
    match asked.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(Refusal::NotKept { agent: definition.name.clone(), what }),
        None => Ok(()),
    }
}

/// Returns what stands in the place of a model where another program asks its own.
fn program_connection(parent: &Connection, shown: &str) -> Connection {
    let mut connection = parent.clone();
    let model = Arc::make_mut(&mut connection.model);
    model.display = sanitize_line(shown).into_owned();
    (model.price, model.context_window) = (None, None);
    connection
}

/// Says which restrictions of the definition are not kept.
fn idle_note(definition: &AgentDefinition) -> Option<String> {
    let (_, mode) = definition.idle_fields.iter().find(|(key, _)| key == "permissionMode")?;
    let name = sanitize_line(&definition.name);
    Some(format!("{name}: `permissionMode: {mode}` in its file is not supported here; see belvedere agents check."))
}

fn child_limits(
    limits: &Limits,
    definition: &AgentDefinition,
    (max_tool_calls, is_launched): (Option<u32>, bool),
) -> Limits {
    Limits {
        max_turns: match definition.max_turns {
            // Another program does not say how often it asks its model.
            _ if definition.acp.is_some() || is_launched => None,
            // A stranger's file narrows; the user's own may be laxer than the user's default.
            turns if definition.source.tier.is_of_project() => least(turns, limits.max_turns),
            turns => turns.or(limits.max_turns),
        },
        max_tool_calls,
        wall_timeout: least(definition.max_time, limits.wall_timeout),
        context_window: definition.auto_compact_window,
        ..limits.clone()
    }
}

/// Returns the smaller of two limits, where `None` is no limit.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    [one, other].into_iter().flatten().min()
}
