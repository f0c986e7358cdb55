//! Agents that a launcher of the user's runs somewhere else.
//!
//! Owns which launchers there are, their places, and what is sent along of an agent. Leaves running to `agent`. Invariants: a
//! launcher that is not configured is refused, never passed over; what an agent's file restricts is kept there, or it does not
//! begin; its places are its own, so that agents elsewhere take none from those here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::agent::{Agent, ExternalAgent, ExternalSessionName, RemoteAgent};
use crate::definition::{AgentDefinition, Isolation, ToolsField};
use crate::external::LaunchExternal;
use crate::message::{ExternalProgram, LauncherFolder, LauncherSettings};
use crate::subagent::limits::Refusal;
use crate::subagent::registry::Template;
use crate::subagent::spawn::capabilities::Capabilities;
use crate::subagent::spawn::prompt::joined;
use crate::subagent::tools::agent_tool::AgentInput;
use crate::subagent::tree::Tree;
use crate::subagent::workspace::Workspace;
use crate::worktree::CarriedFolder;

/// How programs are started that are agents of their own, and the launchers of a session by their names, each with its places.
#[derive(Clone)]
pub struct Launchers {
    start: LaunchExternal,
    named: Arc<BTreeMap<String, Launcher>>,
}

#[derive(Debug)]
pub(in crate::subagent) struct Launcher {
    pub(in crate::subagent) settings: LauncherSettings,
    places: Arc<Semaphore>,
}

impl Launchers {
    #[must_use]
    pub fn new(start: LaunchExternal, settings: &[LauncherSettings]) -> Self {
        let launcher = |settings: &LauncherSettings| {
            let places = Arc::new(Semaphore::new(settings.at_once));
            (settings.name.clone(), Launcher { settings: settings.clone(), places })
        };
        Self { start, named: Arc::new(settings.iter().map(launcher).collect()) }
    }

    pub(in crate::subagent) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    fn get(&self, name: &str) -> Option<&Launcher> {
        self.named.get(name)
    }
}

impl Tree {
    /// Returns the launcher that an isolation names.
    pub(in crate::subagent) fn launcher_of(&self, isolation: Option<&Isolation>) -> Result<Option<&Launcher>, Refusal> {
        let Some(name) = isolation.and_then(Isolation::launcher) else { return Ok(None) };
        let launchers = &self.setup().launchers;
        let launcher = launchers.get(name).ok_or_else(|| {
            let known = std::iter::once("worktree").chain(launchers.names()).collect::<Vec<_>>().join(", ");
            Refusal::UnknownLauncher { wanted: name.to_owned(), known }
        });
        launcher.map(Some)
    }

    /// Returns the places that an agent at a depth waits for: those of its launcher, or of its depth.
    pub(in crate::subagent) fn places(&self, depth: u32, launcher: Option<&str>) -> Option<Arc<Semaphore>> {
        match launcher.and_then(|name| self.setup().launchers.get(name)) {
            Some(launcher) => Some(launcher.places.clone()),
            None => self.pool(depth),
        }
    }

    /// Returns the program that a call starts, if it does, under the name that rules know: that of the agent whose file has
    /// it, or of the launcher.
    pub(in crate::subagent) fn program_called(&self, input: &AgentInput) -> Option<(String, ExternalProgram)> {
        let (mut name, mut isolation) =
            (input.named_type().unwrap_or("general-purpose").to_owned(), input.isolation.clone());
        if let Some(wanted) = input.resume.as_deref().map(str::trim) {
            let registry = self.registry();
            let found = registry.iter().find(|(id, entry)| entry.name == wanted || wanted.parse() == Ok(id.0));
            if let Some((_, entry)) = found {
                name.clone_from(&entry.agent_type);
                isolation = match &entry.template {
                    Template::Ready(template) => {
                        let remote = template.agent.external.as_ref().and_then(|external| external.remote.as_ref());
                        remote.map(|remote| Isolation::Launcher(remote.launcher.clone()))
                    }
                    Template::Saved(spawn) => spawn.options.isolation.clone(),
                };
            }
        }
        let definition = self.catalog().get(&name)?;
        if let Some(program) = &definition.acp {
            return Some((definition.name.clone(), program.clone()));
        }
        let isolation = isolation.or_else(|| definition.isolation.clone());
        let launcher = self.launcher_of(isolation.as_ref()).ok().flatten()?;
        Some((launcher.settings.name.clone(), launcher.settings.program.clone()))
    }

    /// Returns what it takes to have another program do an agent's work: that of its file, or what a launcher starts.
    pub(in crate::subagent) fn external_of(
        &self,
        definition: &AgentDefinition,
        isolation: Option<&Isolation>,
        own: &Capabilities,
    ) -> Option<Arc<ExternalAgent>> {
        let launcher = self.launcher_of(isolation).ok().flatten();
        let (program, is_projects, remote) = match (&definition.acp, launcher) {
            (Some(program), _) => (program.clone(), definition.source.tier.is_of_project(), None),
            (None, Some(launcher)) => {
                (launcher.settings.program.clone(), false, Some(self.remote_agent(definition, launcher)))
            }
            (None, None) => return None,
        };
        let servers = match remote {
            Some(_) => Vec::new(),
            None => own.servers.handed_to_program(definition, &own.permissions, &self.setup().place.project).0,
        };
        Some(Arc::new(ExternalAgent {
            program,
            is_projects,
            servers: servers.into(),
            launch: self.setup().launchers.start.clone(),
            session: ExternalSessionName::default(),
            remote,
        }))
    }

    fn remote_agent(&self, definition: &AgentDefinition, launcher: &Launcher) -> RemoteAgent {
        let prompt = joined([&definition.prompt, &self.preloaded(definition).0]);
        let restrictions = [
            (definition.tools != ToolsField::All, "tools"),
            (!definition.disallowed_tools.is_empty(), "disallowedTools"),
            (definition.permission_mode.is_some(), "permissionMode"),
        ];
        RemoteAgent {
            launcher: launcher.settings.name.clone(),
            described: self.described(definition, &prompt),
            prompt,
            restriction: restrictions.into_iter().find_map(|(is_set, what)| is_set.then_some(what)),
            folder: None,
            rsync: match &launcher.settings.folder {
                LauncherFolder::Rsync(place) => Some(place.clone()),
                LauncherFolder::None | LauncherFolder::Git => None,
            },
        }
    }

    /// Describes an agent in the form of `--agents`. The model is the other side's business.
    fn described(&self, definition: &AgentDefinition, prompt: &str) -> Value {
        let mut fields = Map::new();
        fields.insert("description".to_owned(), json!(definition.description));
        fields.insert("prompt".to_owned(), json!(prompt));
        if let ToolsField::List(tools) = &definition.tools {
            fields.insert("tools".to_owned(), json!(tools));
        }
        if !definition.disallowed_tools.is_empty() {
            fields.insert("disallowedTools".to_owned(), json!(definition.disallowed_tools));
        }
        if let Some(mode) = definition.permission_mode {
            fields.insert("permissionMode".to_owned(), json!(mode.name()));
        }
        let turns = definition.max_turns.or(self.setup().limits.child.max_turns);
        if let Some(turns) = turns {
            fields.insert("maxTurns".to_owned(), json!(turns));
        }
        json!({ definition.name.clone(): fields })
    }

    /// Returns an agent whose launcher takes the files of its worktree along.
    pub(in crate::subagent) fn carrying(&self, agent: Agent, workspace: &Workspace) -> Agent {
        let worktrees = self.worktree_registry().worktrees.clone();
        let (Some(external), Some(worktrees)) = (agent.external.as_deref(), worktrees) else { return agent };
        let Some(remote) = external.remote.clone() else { return agent };
        let folder = Some(CarriedFolder::new(worktrees, workspace.worktree.clone()));
        let external = ExternalAgent { remote: Some(RemoteAgent { folder, ..remote }), ..external.clone() };
        Agent { external: Some(Arc::new(external)), ..agent }
    }
}

impl Launcher {
    /// Returns `true` if its agents work in a worktree, whose files are sent.
    pub(in crate::subagent) fn takes_files(&self) -> bool {
        self.settings.folder != LauncherFolder::None
    }
}

/// Refuses what a launcher cannot do with an agent.
pub(in crate::subagent) fn launchable(definition: &AgentDefinition) -> Result<(), Refusal> {
    let agent = definition.name.clone();
    if definition.acp.is_some() {
        return Err(Refusal::NotLaunched { agent });
    }
    // Two lists that both have to let a use through cannot be sent as one.
    if definition.bounded_by.is_some() {
        return Err(Refusal::NotKept { agent, what: "tools of two files" });
    }
    Ok(())
}
