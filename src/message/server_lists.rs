//! Which MCP servers settings let be used, and which they do not.
//!
//! Owns what an entry of such a list matches. Leaves reading the lists to `config`, and heeding them to `mcp`. Invariant: in
//! doubt an entry that denies matches, and one that allows does not.

use reqwest::Url;

use super::url_pattern::{allows_url, matches_wildcard};

/// One entry of a list of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerPattern {
    Name(String),
    /// A command with its arguments, whole.
    Command(Vec<String>),
    /// An address in which `*` stands for anything.
    Url(String),
}

/// Where a server is, as far as lists ask for it.
#[derive(Debug, Clone, Copy)]
pub enum ServerPlace<'a> {
    Command(&'a str, &'a [String]),
    Url(&'a str),
    /// In the program that drives this one.
    Caller,
}

/// The lists of all settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLists {
    /// Lists that each have to name a server.
    pub allowed: Vec<Vec<ServerPattern>>,
    pub denied: Vec<ServerPattern>,
}

impl ServerLists {
    /// Says which setting keeps a server from being used; `None` if none does.
    #[must_use]
    pub fn refusal(&self, name: &str, place: ServerPlace<'_>) -> Option<&'static str> {
        if self.denied.iter().any(|entry| entry.denies(name, place)) {
            return Some("deniedMcpServers");
        }
        (!self.allowed.iter().all(|list| allows(list, name, place))).then_some("allowedMcpServers")
    }
}

/// Returns `true` if a list names a server. One that has commands or addresses asks for them: a name is easily taken.
fn allows(list: &[ServerPattern], name: &str, place: ServerPlace<'_>) -> bool {
    let has = |is_kind: fn(&ServerPattern) -> bool| list.iter().any(is_kind);
    match place {
        ServerPlace::Command(command, args) if has(|entry| matches!(entry, ServerPattern::Command(_))) => {
            list.iter().any(|entry| entry.is_command(command, args))
        }
        ServerPlace::Url(url) if has(|entry| matches!(entry, ServerPattern::Url(_))) => {
            let parsed = Url::parse(url);
            list.iter().any(|entry| matches!(entry, ServerPattern::Url(form) if parsed.as_ref().is_ok_and(|url| allows_url(form, url))))
        }
        _ => list.iter().any(|entry| matches!(entry, ServerPattern::Name(known) if known == name)),
    }
}

impl ServerPattern {
    fn denies(&self, name: &str, place: ServerPlace<'_>) -> bool {
        match (self, place) {
            // Names that differ in such signs only have the same tools.
            (Self::Name(denied), _) => loose(denied) == loose(name),
            (Self::Command(_), ServerPlace::Command(command, args)) => self.is_command(command, args),
            (Self::Url(form), ServerPlace::Url(url)) => has_form(&form.to_ascii_lowercase(), &url.to_ascii_lowercase()),
            _ => false,
        }
    }

    fn is_command(&self, command: &str, args: &[String]) -> bool {
        let Self::Command(words) = self else { return false };
        words.split_first().is_some_and(|(first, rest)| first == command && rest == args)
    }
}

fn loose(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// Returns `true` if an address has the form of one that is denied, with its last slash or without. It may lie anywhere in it.
fn has_form(form: &str, url: &str) -> bool {
    let without = url.trim_end_matches('/');
    [url, without, &format!("{url}/")].into_iter().any(|url| matches_wildcard(form, url))
}
