//! The MCP servers that an agent reaches: the session's, some of them, or its own.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use crate::mcp::{McpServers, McpState, McpToolInfo};

/// Servers that an agent can hand on.
#[derive(Clone, Default)]
pub struct AgentServers(Vec<ServerPart>);

#[derive(Clone)]
struct ServerPart {
    servers: McpServers,
    /// The names that count; `None` if all do.
    only: Option<Arc<[String]>>,
}

impl ServerPart {
    fn has(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|one| one == name))
    }
}

impl From<McpServers> for AgentServers {
    fn from(servers: McpServers) -> Self {
        Self(vec![ServerPart { servers, only: None }])
    }
}

impl AgentServers {
    /// Returns the tools that are there now, each with what calls it.
    pub(super) fn tools(&self) -> Vec<(McpServers, Arc<McpToolInfo>)> {
        let of_part = |part: &ServerPart| {
            let tools = part.servers.tools().into_iter().filter(|tool| part.has(&tool.server));
            tools.map(|tool| (part.servers.clone(), tool)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_part).collect()
    }

    /// Returns each server's name and how it is.
    pub(super) fn states(&self) -> Vec<(String, McpState)> {
        let of_part = |part: &ServerPart| {
            part.servers.states().into_iter().filter(|(name, _)| part.has(name)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_part).collect()
    }

    /// Waits until no server that `counts` is on its way any more, for so long at most.
    pub(super) async fn settled(&self, counts: impl Fn(&str) -> bool, within: Duration) {
        let counts = &counts;
        let waiting =
            self.0.iter().map(|part| part.servers.settled(move |name| part.has(name) && counts(name), within));
        join_all(waiting).await;
    }
}
