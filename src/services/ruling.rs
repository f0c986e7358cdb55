//! What would become of a call, and by which rule: asked for on the command line, with nothing run.
//!
//! Owns turning an entry such as `Bash(git push)` into what a call would touch. Leaves the decision to `permission`.

use anyhow::{Context as _, anyhow, bail};

use super::permissions::{self, MadeOf, Rights};
use super::{Bootstrap, ConfiguredServers, SessionHandles};
use crate::agent::Sink;
use crate::config::{Environment, obeyed_by_git};
use crate::message::{canonical_name, sanitize_line};
use crate::permission::{Access, AccessKind, Decision, RuleNotice, ToolKind};
use crate::session::Secrets;
use crate::subagent::AGENT_TOOL;
use crate::tool::{Args, ToolContext, known_tools};

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
/// Returns what is wrong with the entry, and how it is written.
pub async fn check_permission(bootstrap: &Bootstrap, entry: &str) -> anyhow::Result<PermissionCheck> {
    let call = Call::read(entry)?;
    let rights = rights(bootstrap).await;
    let permissions = &rights.permissions;
    let evaluation = if call.tool.eq_ignore_ascii_case(AGENT_TOOL) {
        permissions.evaluate_kind(&call.scope)
    } else {
        let access = call.access(bootstrap, &rights).await?;
        // What is allowed outside of the sandbox runs there.
        permissions.evaluate(&permissions.outside_if_allowed(&access).unwrap_or(access))
    };
    Ok(PermissionCheck { because: evaluation.words(), decision: evaluation.decision })
}

/// A call as it is written for a check.
struct Call {
    /// The tool, by the name that it has here.
    tool: String,
    kind: ToolKind,
    scope: String,
}

impl Call {
    /// Reads `Tool(what it is called with)`.
    fn read(entry: &str) -> anyhow::Result<Self> {
        const HOW: &str = "write a call such as \"Bash(git push)\", \"Edit(src/main.rs)\" or \"Agent(explore)\"";
        let entry = trimmed(entry);
        let shown = sanitize_line(entry);
        if entry.is_empty() {
            bail!("no call is given: {HOW}");
        }
        let (name, scope) = match entry.split_once('(') {
            None => (entry, ""),
            Some((name, rest)) => {
                (name, rest.strip_suffix(')').with_context(|| format!("`{shown}` has no closing parenthesis: {HOW}"))?)
            }
        };
        let (tool, tools) = (canonical_name(trimmed(name)), known_tools());
        let kind = match tool {
            "Agent" | "Task" => ToolKind::Delegate,
            "Skill" => ToolKind::Skill,
            tool => tools.kind_of(tool),
        };
        let is_known = kind != ToolKind::Other
            || tool.starts_with("mcp__")
            || tools.names().any(|known| known.eq_ignore_ascii_case(tool));
        if !is_known && entry.contains('(') {
            bail!("there is no tool `{}`: {HOW}", sanitize_line(tool));
        }
        if !is_known {
            bail!("`{shown}` is no call of a tool; for a command, write \"Bash({shown})\"");
        }
        Ok(Self { tool: tool.to_owned(), kind, scope: trimmed(scope).to_owned() })
    }

    /// Returns what the call would touch.
    async fn access(&self, bootstrap: &Bootstrap, rights: &Rights) -> anyhow::Result<Access> {
        let (name, scope) = (self.tool.as_str(), self.scope.as_str());
        // What is denied as a whole is no tool any more.
        if rights.tools.find(name).is_none() && !rights.permissions.may_offer(name) {
            return Ok(Access::new(name, AccessKind::Nothing));
        }
        Ok(match self.kind {
            ToolKind::Execute if scope.is_empty() => bail!("name a command: {name}(git push)"),
            ToolKind::Execute => prepared(bootstrap, rights, name, ("command", scope)).await?,
            ToolKind::Read | ToolKind::Search | ToolKind::Write => self.path_access(bootstrap, rights).await?,
            ToolKind::Fetch if name.eq_ignore_ascii_case("WebSearch") => {
                let words = if scope.is_empty() { "anything" } else { scope };
                prepared(bootstrap, rights, name, ("query", words)).await?
            }
            ToolKind::Fetch => {
                let url =
                    scope.strip_prefix("domain:").map_or_else(|| scope.to_owned(), |host| format!("https://{host}/"));
                prepared(bootstrap, rights, name, ("url", &url)).await?
            }
            ToolKind::Skill => Access::new(name, AccessKind::Skill { name: scope.to_owned() }),
            ToolKind::Delegate | ToolKind::Other => match name.strip_prefix("mcp__").and_then(|it| it.split_once("__"))
            {
                Some((server, _)) => {
                    Access::new(name, AccessKind::Call { server: server.to_owned(), only_reads: false })
                }
                None => Access::new(name, AccessKind::Nothing),
            },
        })
    }

    async fn path_access(&self, bootstrap: &Bootstrap, rights: &Rights) -> anyhow::Result<Access> {
        let path = if self.scope.is_empty() { "." } else { &self.scope };
        let reading = prepared(bootstrap, rights, "Read", ("file_path", path)).await?;
        let Access { kind: AccessKind::Read { path }, named, .. } = reading else { bail!("`{path}` is no path") };
        let kind = if self.kind == ToolKind::Write {
            rights.permissions.guard(obeyed_by_git(&bootstrap.ground.root, &path, &Environment::of_process()));
            AccessKind::Write { path }
        } else {
            AccessKind::Read { path }
        };
        Ok(Access::new(&self.tool, kind).named(named))
    }
}

/// Returns an entry without the blanks around it that the shell does not see either.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n'])
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
    let folders = [place.cwd.clone(), place.project.clone(), place.origin.clone()];
    let context = ToolContext::for_check(folders, rights.permissions.mode());
    let args: Args = [(key.to_owned(), value.into())].into_iter().collect();
    let prepared = tool.parse(&args).prepare(&context).await;
    let prepared = prepared.map_err(|output| anyhow!("{}", output.summary))?;
    // What nothing brings back depends on what a session keeps.
    Ok(prepared.plan.access_of(tool.as_ref()).lasting(None))
}
