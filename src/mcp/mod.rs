//! Servers of the Model Context Protocol: which there are, how they are reached, and what they offer.
//!
//! Owns configuration, connections and the state of each server. Leaves processes to whoever starts them, and what their
//! tools mean for an agent to `subagent`. Invariants: nothing here delays anyone: servers start beside the session, and a
//! wait for one has a limit; what a server says is bounded, and is data of a stranger.

mod bounded;
mod calling;
mod client;
mod config;
mod edit;
mod entry;
mod facts;
mod names;
mod reading;
mod remote;
mod schema;
mod server;
mod servers;
mod sign_in;
mod sources;
mod tool_list;

pub use client::{McpContent, McpReply};
pub use config::{McpConfig, McpScope, McpWay, SignInSettings};
pub use edit::{edit_own_file, edit_project_file};
pub use facts::{McpFacts, McpState};
pub use names::{McpToolInfo, TOOL_PREFIX, server_prefix, wire_name};
pub use reading::McpPrompt;
pub use servers::{Launch, McpServers, McpSetup, McpStart};
pub use sign_in::{LearnToken, OpenBrowser, SignIn, SignIns};
pub use sources::{FoundServers, McpSources, PluginServers, ProjectChoice, given_servers};

/// Why something with a server did not work, for people and models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    #[error("there is no MCP server `{0}` here")]
    Unknown(String),
    /// It is not connected, for this reason.
    #[error("the MCP server `{server}` is not connected: {why}")]
    NotConnected { server: String, why: String },
    /// The user has signed out, or what they had brought has run out.
    #[error("the server wants the user to sign in again: /mcp login")]
    SignIn,
    #[error("no answer within {0} s")]
    TooLate(u64),
    #[error("stopped")]
    Stopped,
    /// What the server, or the way to it, has said.
    #[error("{0}")]
    Failed(String),
}
