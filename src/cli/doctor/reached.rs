//! What `belvedere doctor` finds beyond this process: MCP servers, services, the sandbox.
//!
//! Owns the words. Leaves asking to `services`. Invariant: no server is started; a service is asked for no more than its
//! models, and only where `/model` would ask.

use std::path::Path;

use super::surroundings::search;
use super::{Finding, FindingState};
use crate::mcp::McpWay;
use crate::message::format::counted;
use crate::message::{LauncherFolder, LauncherSettings};
use crate::provider::offer::Reachability;
use crate::services::{Bootstrap, reached_services, why_no_sandbox};

pub(super) fn mcp(bootstrap: &Bootstrap) -> Vec<Finding> {
    let (servers, diagnostics) = bootstrap.known_mcp_servers();
    let mut findings = vec![Finding::new(
        FindingState::Ok,
        format!("{}; to start them: belvedere mcp test", counted(servers.len(), "server")),
    )];
    findings.extend(diagnostics.iter().map(|known| Finding::new(FindingState::Broken, known.to_string())));
    let search = search(bootstrap);
    for server in &servers {
        let missing = match &server.way {
            McpWay::Stdio { command, .. } if !command.contains('/') => {
                search.find(command).is_none().then_some(command)
            }
            _ => None,
        };
        findings.push(match (&server.off, missing) {
            (Some(why), _) => Finding::new(FindingState::Note, format!("{}: off: {why}", server.name)),
            (None, Some(command)) => Finding::new(
                FindingState::Broken,
                format!("{}: its program `{command}` is not in PATH: install it, or write its whole path", server.name),
            ),
            (None, None) => Finding::new(FindingState::Ok, format!("{} ({})", server.name, server.way.word())),
        });
    }
    findings
}

pub(super) fn launchers(bootstrap: &Bootstrap) -> Vec<Finding> {
    let search = search(bootstrap);
    let finding = |launcher: &LauncherSettings| {
        let LauncherSettings { name, program, folder, at_once } = launcher;
        let (line, command) = (program.line(), &program.command);
        let is_there =
            if command.contains('/') { Path::new(command).is_file() } else { search.find(command).is_some() };
        if !is_there {
            let words = format!("{name}: its program `{command}` is not there: install it, or write its whole path");
            return Finding::new(FindingState::Broken, words);
        }
        let files = match folder {
            LauncherFolder::None => "",
            LauncherFolder::Git => ", with the project's files",
            LauncherFolder::Rsync(_) if search.find("rsync").is_some() => ", with the project's files, by rsync",
            LauncherFolder::Rsync(_) => {
                let words = format!("{name}: rsync is not there: install it, here and where the agents run");
                return Finding::new(FindingState::Broken, words);
            }
        };
        Finding::new(FindingState::Ok, format!("{name}: {line} ({at_once} at once{files})"))
    };
    let found: Vec<Finding> = bootstrap.config.launchers.iter().map(finding).collect();
    if found.is_empty() { vec![Finding::new(FindingState::Ok, "none: all agents run here")] } else { found }
}

pub(super) async fn services(bootstrap: &Bootstrap) -> Vec<Finding> {
    let all = reached_services(bootstrap).await;
    if all.is_empty() {
        let words = "no key and no server: the offline model answers; see belvedere keys";
        return vec![Finding::new(FindingState::Note, words)];
    }
    let of = |(name, answer): (String, Reachability)| match answer {
        Reachability::Reachable(count) => {
            Finding::new(FindingState::Ok, format!("{name}: reachable, {}", counted(count, "model")))
        }
        Reachability::Unasked(why) => Finding::new(FindingState::Note, format!("{name}: not asked: {why}")),
        Reachability::Unreachable(why) => Finding::new(FindingState::Broken, format!("{name}: {why}")),
    };
    all.into_iter().map(of).collect()
}

pub(super) async fn sandbox(bootstrap: &Bootstrap) -> Vec<Finding> {
    match why_no_sandbox(bootstrap).await {
        None => vec![Finding::new(FindingState::Ok, "commands run in the sandbox")],
        Some(why) => vec![Finding::new(FindingState::Note, format!("commands ask before they run: {why}"))],
    }
}
