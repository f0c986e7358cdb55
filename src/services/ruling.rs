//! What would become of a call, and by which rule: asked for on the command line, with nothing run.
//!
//! Owns turning an entry such as `Bash(git push)` into what a call would touch. Leaves the decision to `permission`.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::permissions::{self, MadeOf, Rights};
use super::{Bootstrap, ConfiguredServers, SessionHandles};
use crate::agent::Sink;
use crate::config::{Environment, obeyed_by_git};
use crate::message::canonical_name;
use crate::permission::{Access, AccessKind, Decision, PermissionMode, RuleNotice, ToolKind};
use crate::session::Secrets;
use crate::tool::{Args, CommandHost, Freshness, SandboxUse, ToolContext};

/// Characters that a tool would get; no tool is run.
const RESULT_CHARS: usize = 1_000;

/// What would become of a call by the main agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionCheck {
    pub decision: Decision,
    /// What decides: a rule and its file, an answer, the mode.
    pub because: String,
}

/// Returns the rules in force, in the order in which they are asked.
pub fn rules_in_force(bootstrap: &Bootstrap) -> Vec<RuleNotice> {
    bootstrap.rules.ruleset(&bootstrap.trust).notices()
}

/// Says what would become of a call, written as a rule is: `Bash(git push)`, `Edit(src/main.rs)`, `Agent(explore)`.
///
/// # Errors
/// Returns what is wrong with the entry.
pub async fn check_permission(bootstrap: &Bootstrap, entry: &str) -> anyhow::Result<PermissionCheck> {
    let (name, scope) = entry.trim().split_once('(').unwrap_or((entry.trim(), ")"));
    let scope = scope.strip_suffix(')').with_context(|| format!("`{entry}` has no closing parenthesis"))?.trim();
    let rights = rights(bootstrap).await;
    let name = canonical_name(name);
    let kind = rights.tools.kind_of(name);
    let permissions = &rights.permissions;
    if name.eq_ignore_ascii_case(crate::subagent::AGENT_TOOL) {
        let refusal = permissions.refusal_of_kind(scope);
        let decision = refusal.as_ref().map_or(Decision::Allow, |why| Decision::Deny(why.clone()));
        return Ok(PermissionCheck {
            decision,
            because: refusal.unwrap_or_else(|| "nothing forbids these agents".to_owned()),
        });
    }
    let access = match kind {
        ToolKind::Execute if scope.is_empty() => bail!("name a command: {name}(git push)"),
        ToolKind::Execute => prepared(bootstrap, &rights, name, ("command", scope)).await?,
        ToolKind::Read | ToolKind::Search | ToolKind::Write => {
            let path = if scope.is_empty() { "." } else { scope };
            let Access { kind: AccessKind::Read { path }, named, .. } =
                prepared(bootstrap, &rights, "Read", ("file_path", path)).await?
            else {
                bail!("`{path}` is no path");
            };
            if kind == ToolKind::Write {
                permissions.guard(obeyed_by_git(&bootstrap.ground.root, &path, &Environment::of_process()));
            }
            let kind = if kind == ToolKind::Write { AccessKind::Write { path } } else { AccessKind::Read { path } };
            Access::new(name, kind).named(named)
        }
        ToolKind::Fetch if name.eq_ignore_ascii_case("WebSearch") => {
            let words = if scope.is_empty() { "anything" } else { scope };
            prepared(bootstrap, &rights, name, ("query", words)).await?
        }
        ToolKind::Fetch => {
            let url = scope.strip_prefix("domain:").map_or_else(|| scope.to_owned(), |host| format!("https://{host}/"));
            prepared(bootstrap, &rights, name, ("url", &url)).await?
        }
        ToolKind::Skill if !scope.is_empty() => Access::new(name, AccessKind::Skill { name: scope.to_owned() }),
        ToolKind::Delegate | ToolKind::Skill | ToolKind::Other => Access::new(name, AccessKind::Nothing),
    };
    // What is allowed outside of the sandbox runs there.
    let open = access.unconfined().filter(|open| permissions.decide(open) == Decision::Allow);
    let access = open.unwrap_or(access);
    Ok(PermissionCheck { decision: permissions.decide(&access), because: permissions.explain(&access) })
}

/// Returns the rights that a session would begin with.
async fn rights(bootstrap: &Bootstrap) -> Rights {
    let made_of = MadeOf {
        options: &bootstrap.options,
        config: &bootstrap.config,
        rules: bootstrap.rules.clone(),
        trust: bootstrap.trust.clone(),
        settings: bootstrap.settings.clone(),
        memory: bootstrap.memory.trust.clone(),
        servers: ConfiguredServers::default(),
        paths: bootstrap.paths.as_ref(),
        ground: &bootstrap.ground,
        place: &bootstrap.place,
        files: bootstrap.files(),
        store: None,
        answered: Vec::new(),
        secrets: &Secrets::default(),
        engine: bootstrap.engine.clone(),
    };
    permissions::of_session(made_of, &mut SessionHandles::default(), &Sink::new(Vec::new(), Secrets::default())).await
}

/// Returns what a call of a tool with this argument would touch.
async fn prepared(
    bootstrap: &Bootstrap,
    rights: &Rights,
    name: &str,
    (key, value): (&str, &str),
) -> anyhow::Result<Access> {
    let tool = rights.tools.find(name).with_context(|| format!("every use of {name} is denied here"))?;
    let place = &bootstrap.place;
    let context = ToolContext {
        call_id: String::new(),
        cwd: place.cwd.clone(),
        project: place.project.clone(),
        origin: place.origin.clone(),
        cancel: CancellationToken::new(),
        progress: watch::channel(String::new()).0,
        result_chars: RESULT_CHARS,
        freshness: Arc::new(Freshness::default()),
        sandbox: match rights.permissions.mode() {
            PermissionMode::Plan => SandboxUse::ReadOnly,
            _ => SandboxUse::ReadWrite,
        },
        hosts: Vec::new(),
        service_search: None,
        reads_documents: false,
        background: CommandHost::default(),
    };
    let args: Args = [(key.to_owned(), value.into())].into_iter().collect();
    let prepared = tool.parse(&args).prepare(&context).await;
    let prepared = prepared.map_err(|output| anyhow!("{}", output.summary))?;
    Ok(Access::new(tool.name(), prepared.plan.access.clone()).named(prepared.plan.named.clone()))
}
