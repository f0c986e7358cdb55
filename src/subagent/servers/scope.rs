//! The MCP servers that an agent reaches: the session's, some of them, or its own.
//!
//! Owns what the `mcpServers` of an agent file mean. Invariants: a server that an agent file defines starts with a run of
//! that agent and ends with it; what a project's file defines is not started: nobody was shown its command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use crate::definition::{AgentDefinition, NamedServer};
use crate::external::OfferedServer;
use crate::mcp::{McpConfig, McpPrompt, McpScope, McpServers, McpState, McpToolInfo, McpWay, server_prefix};
use crate::message::sanitize_line;
use crate::permission::Permissions;
use crate::program::SearchPath;

/// Servers that an agent can hand on.
#[derive(Clone, Default)]
pub struct AgentServers {
    parts: Vec<ServerPart>,
    /// Those that its own file defines, which only its own runs start.
    own: Option<OwnServers>,
}

#[derive(Clone)]
struct ServerPart {
    servers: McpServers,
    /// The names that count; `None` if all do.
    only: Option<Arc<[String]>>,
}

#[derive(Clone)]
struct OwnServers {
    servers: McpServers,
    configs: Vec<McpConfig>,
}

impl ServerPart {
    fn has(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|one| one == name))
    }

    fn states(&self) -> Vec<(String, McpState)> {
        self.servers.states().into_iter().filter(|(name, _)| self.has(name)).collect()
    }
}

impl From<McpServers> for AgentServers {
    fn from(servers: McpServers) -> Self {
        Self { parts: vec![ServerPart { servers, only: None }], own: None }
    }
}

impl AgentServers {
    /// Returns the servers of an agent below the one that has these, and what the user should know of them.
    pub(in crate::subagent) fn of_child(
        &self,
        definition: &AgentDefinition,
        session: &McpServers,
    ) -> (Self, Vec<String>) {
        let handed_on = Self { parts: self.parts.clone(), own: None };
        let Some(named) = &definition.mcp_servers else { return (handed_on, Vec::new()) };
        let (mut names, mut configs, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let agent = sanitize_line(&definition.name);
        let known: Vec<String> = handed_on.states().into_iter().map(|(name, _)| name).collect();
        for server in named {
            let shown = sanitize_line(server.name());
            match server {
                NamedServer::Known(name) if known.contains(name) => names.push(name.clone()),
                NamedServer::Known(_) => notes.push(format!("{agent}: there is no MCP server {shown} here.")),
                NamedServer::Inline(..) if definition.source.tier.is_of_project() => notes.push(format!(
                    "{agent}: its MCP server {shown} is not started. Put it into .mcp.json, and its name into the file."
                )),
                NamedServer::Inline(name, entry) => match session.entry(name, entry) {
                    Ok(config) => configs.push(config),
                    Err(why) => {
                        notes.push(format!("{agent}: the MCP server {shown} is left out: {}.", sanitize_line(&why)));
                    }
                },
            }
        }
        let narrowed = |part: &ServerPart| {
            let names = names.iter().filter(|name| part.has(name)).cloned().collect();
            ServerPart { servers: part.servers.clone(), only: Some(names) }
        };
        let mut parts: Vec<ServerPart> = handed_on.parts.iter().map(narrowed).collect();
        let own = (!configs.is_empty()).then(|| OwnServers { servers: session.others(), configs });
        parts.extend(own.as_ref().map(|own| ServerPart { servers: own.servers.clone(), only: None }));
        (Self { parts, own }, notes)
    }

    /// Returns those that a definition names, if it names any: for the main agent, whose servers are the session's.
    pub(in crate::subagent) fn named_by(&self, definition: &AgentDefinition) -> Self {
        let Some(named) = &definition.mcp_servers else { return self.clone() };
        let names: Arc<[String]> = named.iter().map(|server| server.name().to_owned()).collect();
        let parts =
            self.parts.iter().map(|part| ServerPart { servers: part.servers.clone(), only: Some(names.clone()) });
        Self { parts: parts.collect(), own: None }
    }

    /// Returns the servers that another program gets to use as its own, which are those that the agent's file names, and what
    /// the user should know of those that it does not get. No call of it is seen here, so that a server of which some tool is
    /// denied or asked about is not handed on; nor is one of the user's to a program that a project's file names.
    pub(in crate::subagent) fn handed_to_program(
        &self,
        definition: &AgentDefinition,
        permissions: &Permissions,
        project: &Path,
    ) -> (Vec<OfferedServer>, Vec<String>) {
        let (mut handed, mut notes) = (Vec::new(), Vec::new());
        if definition.acp.is_none() || definition.mcp_servers.is_none() {
            return (handed, notes);
        }
        let of_part = |part: &ServerPart| {
            let all = part.servers.configs().into_iter();
            all.filter(|config| part.has(&config.name)).collect::<Vec<_>>()
        };
        let own = self.own.iter().flat_map(|own| own.configs.clone());
        let agent = sanitize_line(&definition.name);
        for config in self.parts.iter().flat_map(of_part).chain(own) {
            let is_foreign = definition.source.tier.is_of_project() && config.scope != McpScope::Project;
            let why = match &config.off {
                Some(why) => why.as_str(),
                None if is_foreign => "it is not the project's, whose program this is",
                None if !permissions.may_hand_on_below(&server_prefix(&config.name)) => {
                    "rules or lists are about its tools, and a program's calls of them are not seen"
                }
                None => match offered(&config, project) {
                    Ok(server) => {
                        handed.push(server);
                        continue;
                    }
                    Err(why) => why,
                },
            };
            let (name, why) = (sanitize_line(&config.name), sanitize_line(why));
            notes.push(format!("{agent}: the MCP server {name} is not handed on: {why}."));
        }
        (handed, notes)
    }

    /// Returns `true` if some are still to be started with the agent's run.
    pub(super) fn wait_for_run(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.servers.is_empty())
    }

    /// Starts the agent's own servers, and waits for them for so long at most. Returns `false` if it has none.
    pub(in crate::subagent) async fn begin(&self, within: Duration) -> bool {
        let Some(own) = &self.own else { return false };
        own.servers.set(own.configs.clone());
        own.servers.settled(|_| true, within).await;
        true
    }

    /// Ends the agent's own servers.
    pub(in crate::subagent) async fn end(&self) {
        if let Some(own) = &self.own {
            own.servers.end().await;
        }
    }

    /// Returns the tools that are there now, each with what calls it.
    pub(super) fn tools(&self) -> Vec<(McpServers, Arc<McpToolInfo>)> {
        let of_part = |part: &ServerPart| {
            let tools = part.servers.tools().into_iter().filter(|tool| part.has(&tool.server));
            tools.map(|tool| (part.servers.clone(), tool)).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Returns each server's name and how it is.
    pub(super) fn states(&self) -> Vec<(String, McpState)> {
        let mut states: Vec<(String, McpState)> = self.parts.iter().flat_map(ServerPart::states).collect();
        if let Some(own) = self.own.as_ref().filter(|own| own.servers.is_empty()) {
            states.extend(own.configs.iter().map(|config| (config.name.clone(), McpState::Starting)));
        }
        states
    }

    /// Returns those in which a server is; `None` if the agent does not reach it.
    pub(super) fn having(&self, name: &str) -> Option<McpServers> {
        let has = |part: &&ServerPart| part.states().iter().any(|(known, _)| known == name);
        self.parts.iter().find(has).map(|part| part.servers.clone())
    }

    /// Returns the prompts that there are now, each with its server and what asks for it.
    pub(super) fn prompts(&self) -> Vec<(McpServers, String, McpPrompt)> {
        let of_part = |part: &ServerPart| {
            let prompts = part.servers.prompts().into_iter().filter(|(server, _)| part.has(server));
            prompts.map(|(server, prompt)| (part.servers.clone(), server, prompt)).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Returns what connected servers say of their use, each with its server.
    pub(super) fn instructions(&self) -> Vec<(String, String)> {
        let of_part = |part: &ServerPart| {
            let all = part.servers.instructions().into_iter();
            all.filter(|(server, _)| part.has(server)).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Waits until no server that `counts` is on its way any more, for so long at most.
    pub(super) async fn settled(&self, counts: impl Fn(&str) -> bool, within: Duration) {
        let counts = &counts;
        let wait = |part: &ServerPart| {
            let part = part.clone();
            async move { part.servers.settled(|name| part.has(name) && counts(name), within).await }
        };
        join_all(self.parts.iter().map(wait)).await;
    }
}

/// Returns a server as another program reaches it, or why it cannot. The protocol wants the path of a command, not its name;
/// one in the project does not count.
fn offered(config: &McpConfig, project: &Path) -> Result<OfferedServer, &'static str> {
    let name = &config.name;
    Ok(match config.way.clone() {
        McpWay::Stdio { command, args, env } if command.contains('/') => {
            OfferedServer::of_program(name, (command.into(), args), env)
        }
        McpWay::Stdio { command, args, env } => {
            let command = SearchPath::of_process(&[project]).find(&command).ok_or("its command is not found")?;
            OfferedServer::of_program(name, (command, args), env)
        }
        McpWay::Http { url, headers } => OfferedServer::of_http(name, &url, headers),
        McpWay::Sse { url, headers } => OfferedServer::of_sse(name, &url, headers),
        McpWay::Calling => return Err("it lives in the program that leads this session"),
    })
}
