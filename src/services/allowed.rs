//! What was allowed for the project: found at the start, and kept when an answer says so.
//!
//! Owns the task that writes, and the one that tells what is in force. Leaves the file to `session`. Invariant: no
//! answer waits for the disk, and a grant that holds a secret is in force but never written.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::agent::{SessionEvent, Sink};
use crate::config::set_allow_rule;
use crate::permission::{BroughtItem, BroughtKind, GrantChange, GrantOrigin, Permissions};
use crate::sandbox::PlaceWatch;
use crate::session::{Allowed, Secrets, TrustedItems};

/// Where answers for the project are kept.
pub(super) struct Keeper {
    /// The file below the state directory.
    pub(super) allowed: Allowed,
    /// The project and its settings, where answers become rules, and what the user trusts there.
    pub(super) settings: Option<(PathBuf, TrustedItems)>,
    /// Who takes nothing of it for the work of a command.
    pub(super) watch: PlaceWatch,
}

impl Keeper {
    /// Writes a change down. An answer that no rule can say goes to the state directory, as all others do without
    /// settings. Blocks.
    fn change(&self, change: &GrantChange) -> Result<(), String> {
        let (GrantChange::Keep(given) | GrantChange::Forget(given)) = change;
        let is_kept = matches!(change, GrantChange::Keep(_));
        let Some(((root, trusted), rule)) = self.settings.as_ref().zip(given.grant.as_rule()) else {
            return self.allowed.change(change).map_err(|error| error.to_string());
        };
        let path = root.join(".claude/settings.local.json");
        let writing = self.watch.writing(&path);
        let written = set_allow_rule(root, &path, &rule, is_kept);
        if let Some(written) = written.map_err(|error| format!("{}: {error}", path.display()))? {
            writing.done(&written.path, written.text.as_bytes());
        }
        if is_kept {
            // Whoever gives an answer has seen what it allows.
            let item = BroughtItem::new(BroughtKind::Rule, rule);
            return trusted.add([item]).map_err(|error| error.to_string());
        }
        // It may have been given before answers became rules.
        self.allowed.change(change).map_err(|error| error.to_string())
    }
}

/// Starts to write what comes, and returns where it goes. The task ends once every sender is gone.
pub(super) fn keeper(
    keeper: Keeper,
    secrets: Secrets,
    sink: Sink,
) -> (mpsc::UnboundedSender<GrantChange>, JoinHandle<()>) {
    let (changes, mut waiting) = mpsc::unbounded_channel();
    let keeper = Arc::new(keeper);
    let task = tokio::spawn(async move {
        while let Some(change) = waiting.recv().await {
            let error = match &change {
                GrantChange::Keep(given) if secrets.redact(&given.grant.to_string()) != given.grant.to_string() => {
                    Some("Allowed for this session only: it holds a secret.".to_owned())
                }
                _ => write(keeper.clone(), change).await,
            };
            if let Some(text) = error {
                sink.notify(text).await;
            }
        }
    });
    (changes, task)
}

async fn write(keeper: Arc<Keeper>, change: GrantChange) -> Option<String> {
    let written = spawn_blocking(move || keeper.change(&change)).await.ok()?;
    written.err().map(|error| format!("Project permission not saved: {error}."))
}

/// Emits what is allowed in advance, now and at each change, until it is stopped.
pub(super) fn announcer(permissions: &Permissions, sink: Sink) -> JoinHandle<()> {
    let (permissions, mut changes) = (permissions.clone(), permissions.changes());
    tokio::spawn(async move {
        let (mut told, mut told_rules) = (Vec::new(), Vec::new());
        loop {
            changes.mark_unchanged();
            // What the program allows itself is nobody's choice.
            let mut grants = permissions.grants();
            grants.retain(|given| given.origin != GrantOrigin::Program);
            if grants != told {
                told.clone_from(&grants);
                sink.emit_session(SessionEvent::GrantsChanged { grants }).await;
            }
            let rules = permissions.notices();
            if rules != told_rules {
                told_rules.clone_from(&rules);
                sink.emit_session(SessionEvent::RulesChanged { rules }).await;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    })
}
