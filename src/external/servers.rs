//! Servers of tools that a program is handed on.
//!
//! Pure. Owns their form in the protocol. Leaves which they are to whoever starts it. Invariant: values may be secrets and are
//! in no text for people.

use std::fmt;
use std::path::PathBuf;

use agent_client_protocol_schema::v1 as acp;

/// A server that a program may use as its own.
#[derive(Clone)]
pub struct OfferedServer(acp::McpServer);

impl OfferedServer {
    /// Returns one that the program starts.
    #[must_use]
    pub fn of_program(name: &str, (command, args): (PathBuf, Vec<String>), env: Vec<(String, String)>) -> Self {
        let env = env.into_iter().map(|(name, value)| acp::EnvVariable::new(name, value)).collect();
        Self(acp::McpServer::Stdio(acp::McpServerStdio::new(name, command).args(args).env(env)))
    }

    /// Returns one that is reached over HTTP.
    #[must_use]
    pub fn of_http(name: &str, url: &str, headers: Vec<(String, String)>) -> Self {
        Self(acp::McpServer::Http(acp::McpServerHttp::new(name, url).headers(http_headers(headers))))
    }

    /// Returns one that is reached over HTTP with server-sent events.
    #[must_use]
    pub fn of_sse(name: &str, url: &str, headers: Vec<(String, String)>) -> Self {
        Self(acp::McpServer::Sse(acp::McpServerSse::new(name, url).headers(http_headers(headers))))
    }

    pub fn name(&self) -> &str {
        match &self.0 {
            acp::McpServer::Http(server) => &server.name,
            acp::McpServer::Sse(server) => &server.name,
            acp::McpServer::Stdio(server) => &server.name,
            _ => "",
        }
    }

    /// Returns `true` if a program that says so of itself can reach it.
    pub(super) fn is_within(&self, can: &acp::McpCapabilities) -> bool {
        match &self.0 {
            acp::McpServer::Http(_) => can.http,
            acp::McpServer::Sse(_) => can.sse,
            // Every program has to know these.
            acp::McpServer::Stdio(_) => true,
            _ => false,
        }
    }

    pub(super) fn wire(&self) -> acp::McpServer {
        self.0.clone()
    }
}

impl fmt::Debug for OfferedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OfferedServer").field(&self.name()).finish_non_exhaustive()
    }
}

fn http_headers(headers: Vec<(String, String)>) -> Vec<acp::HttpHeader> {
    headers.into_iter().map(|(name, value)| acp::HttpHeader::new(name, value)).collect()
}
