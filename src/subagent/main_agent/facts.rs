//! What a front end can say of the main agent beside its events: its tools, and the servers of some of them.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;

use crate::mcp::McpServers;
use crate::subagent::main_agent::connection::Connecting;
use crate::subagent::main_agent::{MainAgentDefinition, main_parent};
use crate::subagent::tree::Tree;

/// What is known of the main agent of a session while it works.
#[derive(Clone)]
pub struct MainAgentFacts {
    pub(in crate::subagent) tree: Tree,
    pub(in crate::subagent) definition: MainAgentDefinition,
    pub(in crate::subagent) connecting: Connecting,
}

impl fmt::Debug for MainAgentFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MainAgentFacts").finish_non_exhaustive()
    }
}

impl MainAgentFacts {
    /// Returns the names of the tools that it is offered now; none before somebody answers it.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        let connection = self.connecting.clone().now_or_never().and_then(Result::ok);
        let capabilities = self.tree.main_capabilities(&self.definition, None).ok();
        let Some((connection, capabilities)) = connection.zip(capabilities) else { return Vec::new() };
        // Nothing of this is told to its model.
        let tools = self.tree.offered_tools(main_parent(connection, capabilities, Arc::default()));
        tools.names().map(str::to_owned).collect()
    }

    /// Returns the MCP servers of the session.
    #[must_use]
    pub fn servers(&self) -> &McpServers {
        &self.tree.setup().servers
    }
}
