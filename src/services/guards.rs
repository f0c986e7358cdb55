//! What is done where settings that may forbid something cannot be read.
//!
//! Owns who may go on without them: somebody who has been told, by choosing another mode. Leaves finding out what is lost to
//! whoever reads it. Invariant: nothing that asks nobody begins while a guard is lost.

use anyhow::bail;

use super::{Bootstrap, FrontEnd, Options, SessionKind, sandbox};
use crate::config::{Config, SettingsFile, SettingsTier};
use crate::message::{Diagnostic, sanitize_line};
use crate::permission::PermissionMode;

/// Has a session begin in the mode that only reads if a guard is lost, and says so to whoever can choose another one.
pub(super) fn begin_carefully(options: &Options, config: &mut Config, diagnostics: &mut Vec<Diagnostic>) {
    if options.kind == SessionKind::Demo || !diagnostics.iter().any(|known| known.loses_guard) {
        return;
    }
    config.permission_mode = PermissionMode::Plan;
    let what_next = match options.front_end {
        FrontEnd::Screen => "begins in plan mode; to go on without it, choose another mode (/mode).",
        FrontEnd::Plain => "stays in plan mode. Correct it, and start again.",
        FrontEnd::Headless | FrontEnd::Program => return,
    };
    let words = "What is named above may forbid or limit something, and does not hold. So this session";
    diagnostics.push(Diagnostic::new(format!("{words} {what_next}")));
}

/// Checks that nothing is lost that may forbid something, for a session without anybody to ask.
///
/// # Errors
/// Returns what is lost, with its places.
pub fn check_guards(bootstrap: &Bootstrap) -> anyhow::Result<()> {
    let lost: Vec<String> = lost_guards(bootstrap).collect();
    if lost.is_empty() {
        return Ok(());
    }
    bail!(
        "{}\nThis may forbid or limit something, and nobody is here to go on without it. Correct it, or start \
         `belvedere` on a terminal.",
        lost.join("\n")
    )
}

/// Lists what is lost that may forbid something.
pub fn lost_guards(bootstrap: &Bootstrap) -> impl Iterator<Item = String> {
    let lost = bootstrap.diagnostics.iter().filter(|known| known.loses_guard);
    lost.map(|known| sanitize_line(&known.to_string()).into_owned())
}

/// Checks that no flag brings what an organization lets come from its own places only.
///
/// # Errors
/// Returns which flag that is.
pub(super) fn check_sideloading(options: &Options, settings: &[SettingsFile]) -> anyhow::Result<()> {
    let mut managed = settings.iter().filter(|file| file.tier == SettingsTier::Managed);
    if !managed.any(|file| file.more.bars_sideloading) {
        return Ok(());
    }
    let flags = [
        ("--plugin-dir", !options.plugins.is_empty()),
        ("--agents", !options.agents.is_empty()),
        ("--mcp-config", !options.given.servers.is_empty()),
    ];
    match flags.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => bail!("{flag} is switched off by your organization (`disableSideloadFlags`)"),
        None => Ok(()),
    }
}

/// Checks that there is a sandbox where settings let nothing begin without one.
///
/// # Errors
/// Returns why there is none.
pub async fn check_sandbox(bootstrap: &Bootstrap) -> anyhow::Result<()> {
    if !bootstrap.config.sandbox.limits.is_required {
        return Ok(());
    }
    match sandbox::why_no_sandbox(bootstrap).await {
        Some(why) => bail!("your settings want a sandbox (`sandbox.failIfUnavailable`), and there is none: {why}"),
        None => Ok(()),
    }
}
