//! Agents as files: the format, its recovery, the catalog, and the files that are built in.

mod catalog;
mod draft;
mod duplicate;
mod frontmatter;
mod given;
mod library;
mod limits;
mod program;
mod shapes;
mod strangers;
mod watch;

use std::path::PathBuf;

use belvedere::definition::{AgentDefinition, Parsed, Source, Tier, parse};

fn source(tier: Tier) -> Source {
    Source { tier, path: Some(PathBuf::from("agents/file-name.md")) }
}

fn read(text: &str) -> Parsed {
    parse(text, source(Tier::ProjectClaude))
}

/// Reads a file that has to be usable.
fn agent(text: &str) -> AgentDefinition {
    let parsed = read(text);
    parsed.definition.unwrap_or_else(|| panic!("{:#?}", parsed.diagnostics))
}

fn errors(text: &str) -> Vec<String> {
    read(text).diagnostics.iter().map(ToString::to_string).collect()
}
