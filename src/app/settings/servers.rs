//! The MCP servers on the screen: the list, and the page of each.
//!
//! Owns the list. Leaves how servers are to `mcp`.

use crate::app::action::Action;
use crate::app::composer::Candidate;
use crate::app::lists::{ListCell, ListEntry, ListKind, ListStyle, cell};
use crate::app::{App, Effect, Popup};
use crate::mcp::{McpFacts, McpState};
use crate::message::sanitize_line;
use crate::subagent::Command;

/// How the command is written.
pub const MCP_USAGE: &str = "/mcp [[restart | login] NAME]";

/// What is asked of `/mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpCommand {
    List,
    Show(String),
    Restart(String),
    /// Signs in to one that wants it.
    Login(String),
}

impl McpCommand {
    /// Reads the words after the command's name.
    #[must_use]
    pub fn parse(words: &str) -> Self {
        match words.trim().split_once(char::is_whitespace) {
            None if words.trim().is_empty() => Self::List,
            Some(("restart" | "reconnect", name)) => Self::Restart(name.trim().to_owned()),
            Some(("login" | "auth" | "authenticate", name)) => Self::Login(name.trim().to_owned()),
            _ => Self::Show(words.trim().to_owned()),
        }
    }
}

/// The MCP servers of the session.
pub(in crate::app) static SERVERS: ListKind = ListKind {
    name: "servers",
    title: |_| "MCP servers".to_owned(),
    columns: 100,
    head: Some(|_| "enter show · r restart".to_owned()),
    has_query: false,
    entries: |app, _, columns| app.settings.servers.iter().map(|server| row(server, columns)).collect(),
    empty: "no MCP servers; add one with belvedere mcp add",
    accept_word: Some("show"),
    accept: |app, list| {
        if let Some(server) = app.settings.servers.get(list.chosen).cloned() {
            show(app, &server);
        }
    },
    acts: &[(Action::Restart, |app, chosen| {
        if let Some(server) = app.settings.servers.get(chosen) {
            let name = server.name.clone();
            app.out.inform(format!("restarting {}", sanitize_line(&name)));
            app.out.send(Command::Servers { restart: Some(name) });
        }
    })],
    shows_choice: true,
};

fn row(server: &McpFacts, columns: u16) -> ListEntry {
    let state = match server.state {
        McpState::Connected => ListStyle::Accent,
        McpState::Starting | McpState::Off(_) => ListStyle::Muted,
        McpState::Waiting(_) | McpState::Failed(_) | McpState::SignIn(_) | McpState::SigningIn(_) => ListStyle::Text,
    };
    let mut cells = vec![
        cell(sanitize_line(&server.name), ListStyle::Text).wide(if columns >= 70 { 20 } else { 14 }),
        cell(format!(" {}", server.state.word()), state).wide(14),
    ];
    if columns >= 70 {
        cells.push(cell(format!(" {}", server.scope), ListStyle::Faint).wide(13));
    }
    cells.push(ListCell { gives_way: true, ..cell(format!(" {}", server.line()), ListStyle::Muted) });
    ListEntry::new(server.name.clone(), cells)
}

/// Returns `true` if a command, written without its slash, stands for a prompt of a server.
pub fn name_prompt(servers: &[McpFacts], command: &str) -> bool {
    let of_server = |server: &McpFacts| {
        server.prompts.iter().any(|prompt| prompt.command(&server.name).strip_prefix('/') == Some(command))
    };
    servers.iter().any(of_server)
}

/// Returns the prompts of servers as commands, and their resources as words behind an `@`.
pub(in crate::app) fn candidates(servers: &[McpFacts]) -> (Vec<Candidate>, Vec<Candidate>) {
    let prompts = servers.iter().flat_map(|server| {
        server.prompts.iter().map(|prompt| {
            let arguments: String = prompt.arguments.iter().map(|name| format!("{name} ")).collect();
            let detail = sanitize_line(&format!("{}{}", arguments.to_uppercase(), prompt.about)).into_owned();
            Candidate { label: prompt.command(&server.name), detail }
        })
    });
    let resources = servers.iter().flat_map(|server| {
        let detail = format!("of the MCP server {}", sanitize_line(&server.name));
        server.resources.iter().map(move |uri| Candidate {
            label: sanitize_line(&format!("{}:{uri}", server.name)).into_owned(),
            detail: detail.clone(),
        })
    });
    (prompts.collect(), resources.collect())
}

fn show(app: &mut App, server: &McpFacts) {
    let title = format!("MCP server {}", sanitize_line(&server.name));
    app.overlay.open(Popup::Text { title, body: server.page(), scroll: 0 });
}

/// Begins to sign in to a server; once that waits for the browser, copies the address.
fn login(app: &mut App, name: String) {
    let state = app.settings.servers.iter().find(|server| server.name == name).map(|server| &server.state);
    if let Some(McpState::SigningIn(address)) = state {
        app.out.push(Effect::Copy(address.clone()));
        app.out.inform("the address is copied: open it in your browser");
    } else {
        app.out.send(Command::SignIn { server: name });
    }
}

pub(in crate::app) fn slash(app: &mut App, words: &str) {
    match McpCommand::parse(words) {
        McpCommand::List => {
            app.out.send(Command::Servers { restart: None });
            app.overlay.open(Popup::list(&SERVERS));
        }
        McpCommand::Show(name) => match app.settings.servers.iter().find(|server| server.name == name).cloned() {
            Some(server) => show(app, &server),
            None => app.out.warn(format!("no MCP server {}; usage: {MCP_USAGE}", sanitize_line(&name))),
        },
        McpCommand::Restart(name) => app.out.send(Command::Servers { restart: Some(name) }),
        McpCommand::Login(name) => login(app, name),
    }
}
