//! `belvedere doctor`: what is set up here, and what is wrong with it.
//!
//! Owns the table of checks, what it prints and its exit status. Leaves every judgment to whoever reads the thing that is
//! checked. Invariants: nothing of the project is run, and nothing is changed; each key of each settings file is named.

mod reached;
mod surroundings;

use std::io::{self, Write as _};

use clap::Args;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Serialize;

use crate::cli::agents::CommandFailure;
use crate::config::SettingsKey;
use crate::definition::Tier;
use crate::definition::skill::ListedSkill;
use crate::headless::exit;
use crate::message::{Diagnostic, escaped_json, sanitize_line};
use crate::services::Bootstrap;

/// What follows `belvedere doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub struct DoctorArgs {
    /// Write JSON to standard output instead of text.
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Exit status: 0 nothing is broken, 1 something is, 141 nobody reads standard output.";

/// One row of the table: a name, and what is found.
struct Check {
    name: &'static str,
    look: Look,
}

enum Look {
    /// At what this process knows.
    Here(fn(&Bootstrap) -> Vec<Finding>),
    /// At what has to be asked.
    Beyond(for<'b> fn(&'b Bootstrap) -> BoxFuture<'b, Vec<Finding>>),
}

/// All that is checked, in this order.
const CHECKS: [Check; 16] = [
    Check { name: "terminal", look: Look::Here(surroundings::terminal) },
    Check { name: "keys", look: Look::Here(surroundings::keys) },
    Check { name: "tmux", look: Look::Here(surroundings::tmux) },
    Check { name: "clipboard", look: Look::Here(surroundings::clipboard) },
    Check { name: "colors", look: Look::Here(surroundings::colors) },
    Check { name: "git", look: Look::Here(surroundings::git) },
    Check { name: "configuration", look: Look::Here(configuration) },
    Check { name: "settings", look: Look::Here(settings) },
    Check { name: "agents", look: Look::Here(agents) },
    Check { name: "skills", look: Look::Here(skills) },
    Check { name: "hooks", look: Look::Here(hooks) },
    Check { name: "trust", look: Look::Here(trust) },
    Check { name: "launchers", look: Look::Here(reached::launchers) },
    Check { name: "mcp", look: Look::Here(reached::mcp) },
    Check { name: "services", look: Look::Beyond(|bootstrap| reached::services(bootstrap).boxed()) },
    Check { name: "sandbox", look: Look::Beyond(|bootstrap| reached::sandbox(bootstrap).boxed()) },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum FindingState {
    Ok,
    /// It does nothing, or something else than it may seem.
    Note,
    /// It cannot be used.
    Broken,
}

impl FindingState {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Broken => "broken",
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct Finding {
    state: FindingState,
    text: String,
}

impl Finding {
    fn new(state: FindingState, text: impl AsRef<str>) -> Self {
        Self { state, text: sanitize_line(text.as_ref()).into_owned() }
    }

    /// Returns what is wrong with settings: broken is what may have forbidden something.
    fn of(known: &Diagnostic) -> Self {
        Self::new(if known.loses_guard { FindingState::Broken } else { FindingState::Note }, known.to_string())
    }
}

/// The JSON form of a row.
#[derive(Debug, Serialize)]
struct Checked {
    check: &'static str,
    state: FindingState,
    findings: Vec<Finding>,
}

/// Checks everything, writes what was found and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub async fn run(bootstrap: Bootstrap, args: DoctorArgs) -> Result<u8, CommandFailure> {
    let mut rows = Vec::with_capacity(CHECKS.len());
    for check in &CHECKS {
        let findings = match check.look {
            Look::Here(look) => look(&bootstrap),
            Look::Beyond(look) => look(&bootstrap).await,
        };
        let state = findings.iter().map(|finding| finding.state).max().unwrap_or(FindingState::Ok);
        rows.push(Checked { check: check.name, state, findings });
    }
    let is_broken = rows.iter().any(|row| row.state == FindingState::Broken);
    let text = if args.json {
        let json = serde_json::to_string_pretty(&rows).map_err(|error| (exit::FAILED, error.into()))?;
        escaped_json(json) + "\n"
    } else {
        rows.iter().map(page).collect()
    };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(if is_broken { exit::FAILED } else { exit::OK }),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::BROKEN_PIPE),
        Err(error) => Err((exit::FAILED, anyhow::anyhow!("cannot write to standard output: {error}"))),
    }
}

fn page(row: &Checked) -> String {
    let lines = row.findings.iter().map(|finding| {
        let mark =
            if finding.state == FindingState::Ok { String::new() } else { format!("{}: ", finding.state.word()) };
        format!("  {mark}{}\n", finding.text)
    });
    format!("{}: {}\n{}", row.check, row.state.word(), lines.collect::<String>())
}

fn configuration(bootstrap: &Bootstrap) -> Vec<Finding> {
    let own = bootstrap.paths.as_ref().map(|paths| paths.config_dir.join("config.toml"));
    let of_settings = |path: &std::path::Path| bootstrap.settings.files().any(|file| file.path == path);
    let place = own.map(|path| {
        let words = if path.exists() { "" } else { " (not there: the defaults hold)" };
        Finding::new(FindingState::Ok, format!("{}{words}", path.display()))
    });
    let others = bootstrap.diagnostics.iter().filter(|known| {
        let is_elsewhere = known.path.as_deref().is_some_and(of_settings);
        !is_elsewhere && !bootstrap.settings.unread().contains(known)
    });
    place.into_iter().chain(others.map(Finding::of)).collect()
}

fn settings(bootstrap: &Bootstrap) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        bootstrap.settings.unread().iter().map(|known| Finding::new(FindingState::Broken, known.to_string())).collect();
    for file in bootstrap.settings.files() {
        let path = file.path.display();
        let named = |kind: SettingsKey| {
            let keys = file.keys.iter().filter(|(_, of)| *of == kind).map(|(key, _)| format!("`{key}`"));
            keys.collect::<Vec<_>>().join(", ")
        };
        let used = named(SettingsKey::Used);
        let used = if used.is_empty() { "nothing".to_owned() } else { used };
        findings.push(Finding::new(FindingState::Ok, format!("{path} ({}): used: {used}", file.tier.word())));
        for (kind, words) in [
            (SettingsKey::Unused, "known to Claude Code, without effect here"),
            (SettingsKey::Unknown, "unknown, without effect"),
        ] {
            let keys = named(kind);
            if !keys.is_empty() {
                findings.push(Finding::new(FindingState::Note, format!("{path}: {words}: {keys}")));
            }
        }
        let about = bootstrap.diagnostics.iter().filter(|known| known.path.as_deref() == Some(file.path.as_path()));
        findings.extend(about.map(Finding::of));
    }
    if findings.is_empty() {
        findings.push(Finding::new(FindingState::Ok, "no settings files"));
    }
    findings
}

fn agents(bootstrap: &Bootstrap) -> Vec<Finding> {
    bootstrap.library.reload();
    let listing = bootstrap.library.catalog().listing();
    let files: Vec<_> = listing.iter().filter(|listed| listed.source.tier != Tier::BuiltIn).collect();
    let unusable = files.iter().filter(|listed| listed.definition.is_none()).count();
    let mut findings = vec![Finding::new(FindingState::Ok, format!("{} files, {unusable} unusable", files.len()))];
    for listed in files {
        let state = if listed.definition.is_none() { FindingState::Broken } else { FindingState::Note };
        let place = listed.source.identity();
        let errors = listed.diagnostics.iter().map(|known| {
            let line = known.line.map(|line| format!(":{line}")).unwrap_or_default();
            Finding::new(state, format!("{place}{line}: {}", known.message))
        });
        findings.extend(errors);
    }
    findings
}

fn skills(bootstrap: &Bootstrap) -> Vec<Finding> {
    bootstrap.skills.reload();
    let listing = bootstrap.skills.catalog().listing();
    let is_unusable = |listed: &&ListedSkill| listed.skill.is_none() && !listed.awaits_trust;
    let unusable = listing.iter().filter(is_unusable).count();
    let mut findings = vec![Finding::new(FindingState::Ok, format!("{} files, {unusable} unusable", listing.len()))];
    for listed in &*listing {
        let state = if is_unusable(&listed) { FindingState::Broken } else { FindingState::Note };
        findings.extend(listed.diagnostics.iter().map(|known| Finding::new(state, known.to_string())));
    }
    findings
}

fn hooks(bootstrap: &Bootstrap) -> Vec<Finding> {
    let hooks = bootstrap.settings.hook_notices(&bootstrap.trust);
    let mut findings = vec![Finding::new(FindingState::Ok, format!("{} in settings files", hooks.len()))];
    findings.extend(hooks.into_iter().map(|hook| {
        let matcher = if hook.matcher.is_empty() { String::new() } else { format!(" ({})", hook.matcher) };
        let state = if hook.idle.is_some() { FindingState::Note } else { FindingState::Ok };
        let idle = hook.idle.map(|why| format!(": does not run: {why}")).unwrap_or_default();
        Finding::new(state, format!("{}{matcher} {} [{}]{idle}", hook.at.name(), hook.command, hook.source))
    }));
    findings
}

fn trust(bootstrap: &Bootstrap) -> Vec<Finding> {
    let trust = &bootstrap.trust;
    if trust.brings.is_empty() {
        return vec![Finding::new(FindingState::Ok, "this folder brings nothing that needs your trust")];
    }
    let (state, hint) =
        if trust.waiting().is_empty() { (FindingState::Ok, "") } else { (FindingState::Note, "; see /trust") };
    let words = format!("{} brings {}: {}{hint}", trust.folder, trust.summary(), trust.state());
    let mut findings = vec![Finding::new(state, words)];
    findings.extend(trust.lines().map(|item| Finding::new(FindingState::Ok, item)));
    findings
}
