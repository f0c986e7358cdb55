//! `belvedere mcp`: lists, adds, removes and tests MCP servers.
//!
//! Owns its flags and what it prints. Leaves files to `mcp` and connections to `services`. Invariant: a server of a project
//! is started only with `--trust`, or in a folder that is trusted.

use std::fmt::Write as _;
use std::io::{self, BufRead as _};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::cli::agents::CommandFailure;
use crate::cli::keys::say;
use crate::headless::exit;
use crate::mcp::{McpFacts, McpState, edit_own_file, edit_project_file};
use crate::message::sanitize_line;
use crate::services::{Bootstrap, test_servers};

/// What follows `belvedere mcp`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub struct McpArgs {
    /// What to do (default: list)
    #[command(subcommand)]
    pub act: Option<McpAct>,
}

const AFTER_HELP: &str = "\
Examples:
  belvedere mcp add time -- uvx mcp-server-time
  belvedere mcp add docs --transport http https://example.com/mcp --header \"Authorization: Bearer ${TOKEN}\"
  belvedere mcp add files --scope project -- npx -y @modelcontextprotocol/server-filesystem .
  belvedere mcp test time";

/// What can be done with servers.
#[derive(Debug, Clone, Subcommand)]
pub enum McpAct {
    /// List the servers that are configured for this folder
    List,
    /// Show one server
    Get {
        /// Its name
        name: String,
    },
    /// Add a server: a command after --, or an address
    Add(AddServer),
    /// Remove a server
    Remove {
        /// Its name
        name: String,
        /// Where it is removed from
        #[arg(short, long, value_enum, default_value_t)]
        scope: FileScope,
    },
    /// Sign in to a server over http, by your browser
    Login {
        /// Its name
        name: String,
    },
    /// Forget how you are signed in to a server
    Logout {
        /// Its name
        name: String,
    },
    /// Start servers, list their tools, and end them again
    Test {
        /// All of them by default
        name: Option<String>,
    },
}

/// A server to be added.
#[derive(Debug, Clone, Args)]
pub struct AddServer {
    /// Its name
    pub name: String,
    /// The address, or a command without options
    pub target: Vec<String>,
    /// The command with its arguments
    #[arg(last = true)]
    pub command: Vec<String>,
    /// Where it is added: user (config.toml of Belvedere) or project (.mcp.json, for everyone who works there)
    #[arg(short, long, value_enum, default_value_t)]
    pub scope: FileScope,
    /// How it is reached; by default stdio for a command and http for an address
    #[arg(short, long, value_enum)]
    pub transport: Option<Wire>,
    /// A variable of its environment, NAME=VALUE. May be repeated
    #[arg(short, long)]
    pub env: Vec<String>,
    /// A header of each request, "Name: value". May be repeated
    #[arg(short = 'H', long)]
    pub header: Vec<String>,
}

/// The file that a server stands in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum FileScope {
    #[default]
    User,
    Project,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    Stdio,
    Http,
    Sse,
}

/// Does what is asked for, and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub async fn run(bootstrap: Bootstrap, args: McpArgs) -> Result<u8, CommandFailure> {
    let failed = |error| (exit::FAILED, error);
    match args.act.unwrap_or(McpAct::List) {
        McpAct::List => say(&listing(&bootstrap)).map_err(failed),
        McpAct::Get { name } => {
            let server = bootstrap.mcp_server(&name).map_err(|error| (exit::USAGE, error))?;
            let mut text = format!("{}\n  from: {}\n", sanitize_line(&name), server.scope.word());
            let _ = writeln!(text, "  type: {}\n  runs: {}", server.way.word(), sanitize_line(&server.shown));
            if let Some(why) = &server.off {
                let _ = writeln!(text, "  off: {}", sanitize_line(why));
            }
            say(&text).map_err(failed)
        }
        McpAct::Add(wanted) => add(&bootstrap, &wanted).map_err(|error| (exit::USAGE, error)),
        McpAct::Remove { name, scope } => remove(&bootstrap, &name, scope).map_err(failed),
        McpAct::Login { name } => login(&bootstrap, &name).await.map_err(failed),
        McpAct::Logout { name } => {
            let was_there = bootstrap.sign_out(&name).await.map_err(failed)?;
            let text = if was_there { "Signed out of" } else { "Nobody is signed in to" };
            say(&format!("{text} {}.\n", sanitize_line(&name))).map_err(failed)
        }
        McpAct::Test { name } => {
            let facts = test_servers(&bootstrap, name.as_deref()).await.map_err(|error| (exit::USAGE, error))?;
            say(&facts.iter().map(tested).collect::<String>()).map_err(failed)?;
            let is_bad = |facts: &McpFacts| !matches!(facts.state, McpState::Connected | McpState::Off(_));
            Ok(if facts.iter().any(is_bad) { exit::FAILED } else { exit::OK })
        }
    }
}

/// Waits for the browser, or for the address that it has ended at.
async fn login(bootstrap: &Bootstrap, name: &str) -> anyhow::Result<u8> {
    let shown = sanitize_line(name);
    let sign_in = bootstrap.sign_in(name).await?;
    say(&format!("To sign in to {shown}, open this address in your browser:\n\n{}\n\n", sign_in.address()))?;
    say("Waiting. If the browser runs on another machine, paste here the address that it ends at.\n")?;
    let (pasted, mut pastes) = mpsc::channel(1);
    // On a thread of its own, which may wait for ever.
    std::thread::spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        lines.filter(|line| !line.trim().is_empty()).try_for_each(|line| pasted.blocking_send(line))
    });
    let ended = tokio::select! {
        ended = sign_in.finish() => ended,
        Some(address) = pastes.recv() => sign_in.take(&address).await,
    };
    ended.map_err(|why| anyhow!("not signed in to {shown}: {}", sanitize_line(&why)))?;
    say(&format!("Signed in to {shown}.\n"))
}

fn listing(bootstrap: &Bootstrap) -> String {
    let (servers, diagnostics) = bootstrap.known_mcp_servers();
    let width = servers.iter().map(|server| server.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for server in &servers {
        let (name, shown) = (sanitize_line(&server.name), sanitize_line(&server.shown));
        let _ = write!(text, "{name:width$}  {:11}  {:5}  {shown}", server.scope.word(), server.way.word());
        let off = server.off.as_ref().map(|why| format!("  (off: {})", sanitize_line(why))).unwrap_or_default();
        let _ = writeln!(text, "{off}");
    }
    if servers.is_empty() {
        text.push_str("No MCP servers. To add one: belvedere mcp add NAME -- COMMAND\n");
    }
    for diagnostic in diagnostics {
        let _ = writeln!(text, "! {}", sanitize_line(&diagnostic.to_string()));
    }
    text
}

fn tested(facts: &McpFacts) -> String {
    let mut text = format!("{}: {}", sanitize_line(&facts.name), facts.state.word());
    let line = facts.line();
    if !line.is_empty() {
        let _ = write!(text, "  {line}");
    }
    text.push('\n');
    for tool in &facts.tools {
        let _ = writeln!(text, "  {}", sanitize_line(tool));
    }
    if !matches!(facts.state, McpState::Connected | McpState::Off(_)) {
        for line in &facts.log {
            let _ = writeln!(text, "  | {}", sanitize_line(line));
        }
    }
    text
}

/// Returns the file of a scope.
fn file(bootstrap: &Bootstrap, scope: FileScope) -> anyhow::Result<PathBuf> {
    let sources = &bootstrap.servers.sources;
    match scope {
        FileScope::User => sources.own_file.clone().context("no folder for Belvedere's files; set HOME"),
        FileScope::Project => sources.project_file().context("there is no project here"),
    }
}

fn add(bootstrap: &Bootstrap, wanted: &AddServer) -> anyhow::Result<u8> {
    let entry = entry(wanted)?;
    let path = file(bootstrap, wanted.scope)?;
    let sources = &bootstrap.servers.sources;
    sources.check(&wanted.name, &entry).map_err(|why| anyhow!("{}: {why}", wanted.name))?;
    let edited = match wanted.scope {
        FileScope::User => edit_own_file(&path, &wanted.name, Some(&entry)),
        FileScope::Project => edit_project_file(&path, &wanted.name, Some(entry)),
    };
    edited.map_err(|why| anyhow!("{}: {why}", path.display()))?;
    say(&format!("Added {} to {}. To try it: belvedere mcp test {}\n", wanted.name, path.display(), wanted.name))
}

fn entry(wanted: &AddServer) -> anyhow::Result<Value> {
    let words: Vec<&String> = wanted.target.iter().chain(&wanted.command).collect();
    let (target, args) = words.split_first().context("name an address, or a command after --")?;
    let is_address = target.starts_with("http://") || target.starts_with("https://");
    let wire = wanted.transport.unwrap_or(if is_address { Wire::Http } else { Wire::Stdio });
    let pairs = |list: &[String], sign: char| -> anyhow::Result<Map<String, Value>> {
        let pair = |text: &String| {
            let (name, value) = text.split_once(sign).with_context(|| format!("{text:?} has no `{sign}`"))?;
            Ok((name.trim().to_owned(), Value::from(value.trim())))
        };
        list.iter().map(pair).collect()
    };
    let (env, headers) = (pairs(&wanted.env, '=')?, pairs(&wanted.header, ':')?);
    let mut entry = match wire {
        Wire::Stdio => json!({"command": target, "args": args}),
        Wire::Http => json!({"type": "http", "url": target}),
        Wire::Sse => json!({"type": "sse", "url": target}),
    };
    anyhow::ensure!(
        wire == Wire::Stdio || args.is_empty(),
        "an address has no arguments: {}",
        args.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
    );
    anyhow::ensure!(wire == Wire::Stdio || env.is_empty(), "only a command has variables");
    anyhow::ensure!(wire != Wire::Stdio || headers.is_empty(), "only an address has headers");
    for (key, table) in [("env", env), ("headers", headers)] {
        if !table.is_empty() {
            entry[key] = table.into();
        }
    }
    Ok(entry)
}

fn remove(bootstrap: &Bootstrap, name: &str, scope: FileScope) -> anyhow::Result<u8> {
    let path = file(bootstrap, scope)?;
    let edited = match scope {
        FileScope::User => edit_own_file(&path, name, None),
        FileScope::Project => edit_project_file(&path, name, None),
    };
    let was_there = edited.map_err(|why| anyhow!("{}: {why}", path.display()))?;
    anyhow::ensure!(was_there, "{} has no MCP server {name:?}", path.display());
    say(&format!("Removed {name} from {}.\n", path.display()))
}
