//! What a server's tools are called by models.
//!
//! Owns names that every service takes: letters, digits, `_` and `-`, at most 64 of them. Invariant: the name of a tool
//! depends on its server's name and its own only, so that rules and agent files can name it; only where two tools of a server
//! would have one name, a digest of its own name tells each apart.

use std::fmt::Write as _;
use std::hash::Hasher as _;
use std::sync::Arc;

use serde_json::Value;

/// What the names of all tools of servers begin with.
pub const TOOL_PREFIX: &str = "mcp__";
/// Longest name that all services take.
const MAX_NAME: usize = 64;
/// Characters of what tells two long names apart.
const DIGEST: usize = 9;

/// A tool of a server, as it is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct McpToolInfo {
    /// Its name for models and rules: `mcp__server__tool`.
    pub name: String,
    /// The server's name, as configured.
    pub server: String,
    /// Its name at the server.
    pub tool: String,
    /// What the server says of it.
    pub description: String,
    pub input_schema: Arc<Value>,
    /// Whether the server says that it only reads.
    pub only_reads: bool,
}

/// Returns a name as far as services take it.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Returns `true` if no tool of a server of this name can be taken for one of a server of another name.
pub(super) fn is_server_name(name: &str) -> bool {
    let plain = plain(name);
    !name.trim().is_empty() && !name.chars().any(char::is_control) && !plain.contains("__") && !plain.ends_with('_')
}

/// Returns what the names of a server's tools begin with.
#[must_use]
pub fn server_prefix(server: &str) -> String {
    format!("{TOOL_PREFIX}{}__", plain(server))
}

/// Returns the name by which models and rules call a tool of a server.
#[must_use]
pub fn wire_name(server: &str, tool: &str) -> String {
    let name = server_prefix(server) + &plain(tool);
    if name.len() > MAX_NAME { with_digest(name.clone(), &name) } else { name }
}

/// Returns the name of a tool whose usual name another tool of the server has, too.
pub(super) fn digest_name(server: &str, tool: &str) -> String {
    with_digest(server_prefix(server) + &plain(tool), tool)
}

/// Returns `true` if services take a tool's own name as it is.
pub(super) fn is_plain(tool: &str) -> bool {
    plain(tool) == tool
}

/// Returns a name that ends in a digest of `of`.
fn with_digest(mut name: String, of: &str) -> String {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.write(of.as_bytes());
    name.truncate(MAX_NAME - DIGEST);
    let _ = write!(name, "_{:08x}", hasher.finish() & 0xffff_ffff);
    name
}

/// FNV-1a, which is the same in every run and on every machine: rules are written down.
struct Fnv(u64);

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
