//! A skill that was called: what it names is run and read, and what it says reaches the agent.
//!
//! Owns the words around it, what it may do meanwhile, and which hooks run. Leaves which skills there are to a [`SkillHost`], and single calls
//! to `attempt`. Invariants: each command and each file goes the way of a call of `Bash` and of `Read`, with its questions,
//! its sandbox and its bounds; nothing of it can pass for another speaker.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::attempt::{find_call, with_hooks};
use super::dispatch::context_of;
use super::run::Run;
use super::{Agent, EventKind};
use crate::hook::{HookHandler, HookSource};
use crate::message::format::counted;
use crate::message::{
    LoadedSkill, SkillHooks, SkillPiece, ToolCall, ToolInput, sanitize, sanitize_line, without_speakers,
};
use crate::permission::{Places, Rule, RuleEffect, RuleOrigin, RuleSet, shell_words};
use crate::tool::{ToolOutput, bound_text};

/// Characters of what one command says, or one file holds.
const MAX_CHARS: usize = 16_000;

/// Knows the skills that the user can call.
pub trait SkillHost: Send + Sync {
    /// Returns the skill that the user's words call, with its arguments filled in; `None` if they call none.
    fn called(&self, words: &str) -> Option<LoadedSkill>;

    /// Takes note of files of this project that the agent has read or changed: skills may be about them.
    fn note_touched(&self, project: &Path, files: &BTreeSet<PathBuf>);

    /// Has a subagent carry a skill out, and returns its report. `stop` gives the wait up, and the subagent with it.
    fn fork<'a>(
        &'a self,
        skill: ForkedSkill,
        call_id: &'a str,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<String, ToolOutput>>;
}

/// A skill that runs in a conversation of its own.
pub struct ForkedSkill {
    pub skill: LoadedSkill,
    /// The kind of agent that carries it out.
    pub agent: String,
    /// What it says, with all that was run and read for it.
    pub text: String,
    /// What it may do without a question.
    pub lent: RuleSet,
    /// What runs while it is carried out.
    pub hooks: Vec<HookHandler>,
}

/// What a skill came to.
pub(super) struct SkillText {
    /// What it says, with what was run and read for it.
    body: String,
    commands: usize,
    /// Commands that were not allowed, or failed.
    failures: usize,
    files: usize,
    /// What was lent to the agent before.
    before: RuleSet,
    /// The hooks of skills that it had before.
    hooks_before: usize,
}

/// Has a subagent carry a skill out, if it is one for that; `None` if the agent does so itself.
pub(super) async fn fork(
    run: &Run<'_>,
    skill: &LoadedSkill,
    text: &SkillText,
    call_id: &str,
) -> Option<Result<String, ToolOutput>> {
    let agent = run.agent;
    let (kind, host) = (skill.fork.clone()?, agent.skills.as_ref()?);
    // What it allows is the subagent's now.
    agent.permissions.lend(text.before.clone());
    agent.hooks.end_lending(text.hooks_before);
    let (lent, hooks) = (rules_of(agent, skill), hooks_of(skill).0);
    let forked = ForkedSkill { skill: skill.clone(), agent: kind, text: text.body.clone(), lent, hooks };
    Some(run.watchdog.paused(host.fork(forked, call_id, agent.work.token())).await)
}

/// Runs and reads what a skill names. What it allows is allowed from here on, until the run ends.
pub(super) async fn read_skill(run: &Run<'_>, skill: &LoadedSkill, call_id: &str) -> SkillText {
    let (before, hooks_before) = (run.agent.permissions.lent(), run.agent.hooks.lent());
    let mut text = SkillText { body: String::new(), commands: 0, failures: 0, files: 0, before, hooks_before };
    lend(run, skill).await;
    for piece in &skill.pieces {
        match piece {
            SkillPiece::Text(words) => text.body.push_str(words),
            SkillPiece::Refused(why) => {
                let _ = write!(text.body, "[not run: {why}]");
                text.failures += 1;
            }
            SkillPiece::Command { line, has_arguments } => {
                let output = command((run, call_id), (skill, &text.before), (line, *has_arguments)).await;
                let said = words_of(run.agent, &output);
                if output.is_error {
                    let _ = write!(text.body, "[not run, or failed: {said}]");
                    text.failures += 1;
                } else {
                    text.body.push_str(&printed(said));
                    text.commands += 1;
                }
            }
        }
    }
    for file in &skill.files {
        let path = run.agent.place.cwd.join(file);
        if !tokio::fs::metadata(&path).await.is_ok_and(|facts| facts.is_file()) {
            continue;
        }
        let output = aside(run, call_id, "Read", ("file_path", &path.to_string_lossy())).await;
        let _ = write!(text.body, "\n\nThe file {}:\n{}", sanitize_line(file), words_of(run.agent, &output));
        text.files += 1;
    }
    text
}

/// Returns what a model reads that has called a skill: its text, in place of an output that has none yet.
pub(super) async fn completed(run: &Run<'_>, call_id: &str, mut output: ToolOutput) -> ToolOutput {
    let Some(skill) = output.skill.take() else { return output };
    let text = read_skill(run, &skill, call_id).await;
    match fork(run, &skill, &text, call_id).await {
        Some(Ok(report)) => ToolOutput::text(report, "completed"),
        Some(Err(output)) => output,
        None => ToolOutput::text(skill.element(&text.body), text.summary()),
    }
}

/// Ends what skills were allowed.
pub(super) fn end_lending(agent: &Agent) {
    agent.permissions.lend(RuleSet::default());
    agent.hooks.end_lending(0);
}

async fn lend(run: &Run<'_>, skill: &LoadedSkill) {
    let agent = run.agent;
    agent.permissions.lend(agent.permissions.lent().and(&rules_of(agent, skill)));
    let (hooks, errors) = hooks_of(skill);
    let waiting = agent.hooks.lend(hooks).into_iter();
    let waiting = waiting.map(|hook| format!("a hook of its file is not trusted and does not run: {hook} (/trust)"));
    for words in waiting.chain(errors) {
        let text = format!("/{}: {}", sanitize_line(&skill.name), sanitize_line(&words));
        run.emit(EventKind::Notice { text }).await;
    }
}

/// Returns the hooks of a skill, and what is wrong with others.
fn hooks_of(skill: &LoadedSkill) -> (Vec<HookHandler>, Vec<String>) {
    let Some(SkillHooks { value, is_projects, plugin }) = &skill.hooks else { return Default::default() };
    let source = HookSource {
        place: skill.path.to_string_lossy().into_owned().into(),
        is_projects: *is_projects,
        is_managed: false,
        plugin: plugin.as_deref().map(Into::into),
    };
    HookHandler::read_of_skill(value, &source)
}

fn rules_of(agent: &Agent, skill: &LoadedSkill) -> RuleSet {
    rules_of_entries(agent, skill, |_| true)
}

fn rules_of_entries(agent: &Agent, skill: &LoadedSkill, counts: fn(&str) -> bool) -> RuleSet {
    let places = Places { project: &agent.place.project, home: None };
    let rule = |entry: &String| Rule::parse(entry, places, |tool| agent.tools.kind_of(tool));
    let is_lent = |rule: &Rule| rule.is_clear() && (skill.is_users || !names_file_of(&agent.place.project, rule));
    let entries = skill.allowed_tools.iter().filter(|entry| counts(entry));
    let rules = entries.map(rule).filter(is_lent);
    let origin = RuleOrigin::Settings(skill.path.clone());
    // In doubt, what is to be kept away is.
    let denied = skill.disallowed_tools.iter().map(rule);
    RuleSet::default().with(RuleEffect::Deny, &origin, denied).with(RuleEffect::Allow, &origin, rules)
}

/// Returns `true` if a rule about commands names a file of the project. What that holds is no part of what the user has
/// trusted of a project's skill, and so it runs as any other command does: in the sandbox, or once you are asked.
fn names_file_of(project: &Path, rule: &Rule) -> bool {
    let Some((tool, scope)) = rule.text().split_once('(') else { return false };
    let words = shell_words(scope);
    // Branches and repositories have such names, too.
    let names_others = matches!(words.first().map(String::as_str), Some("git" | "gh"));
    let is_file = |word: &String| {
        let path = project.join(word.trim_end_matches(['*', ':', ')']));
        // What is not there yet may be there when it is run.
        let may_come = word.contains('/') && !word.contains("://") && !names_others;
        path.starts_with(project) && path != project && (path.exists() || may_come)
    };
    tool == "Bash" && words.iter().any(is_file)
}

impl SkillText {
    /// Says what was done for it, for people.
    fn summary(&self) -> String {
        let done =
            [(self.commands, "command run"), (self.failures, "command not run, or failed"), (self.files, "file read")];
        let done = done.iter().filter(|(count, _)| *count > 0).map(|(count, words)| done_words(*count, words));
        std::iter::once("loaded".to_owned()).chain(done).collect::<Vec<_>>().join(", ")
    }

    /// Returns the message for a model that did not call the skill itself. Its first line is for the user, too.
    pub(super) fn message(&self, skill: &LoadedSkill) -> String {
        let done = self.summary();
        let (name, origin) = (sanitize_line(&skill.name), sanitize_line(&skill.origin));
        format!(
            "Skill /{name} ({origin}): {done}.\n\nThe user has called it. Do what it says:\n{}",
            skill.element(&self.body)
        )
    }

    /// Returns the message for a model whose user has called a skill that a subagent has carried out.
    pub(super) fn reported(skill: &LoadedSkill, report: &str) -> String {
        let agent = skill.fork.as_deref().unwrap_or_default();
        let (name, agent) = (sanitize_line(&skill.name), sanitize_line(agent));
        format!(
            "Skill /{name}: carried out by {agent}.\n\nThe user has called it, and a subagent has done what it says. The \
             user does not see its report. Tell them what matters:\n{report}"
        )
    }

    /// Returns the message for a model whose user has called a skill that could not be carried out.
    pub(super) fn refused(skill: &LoadedSkill, why: &str) -> String {
        let name = sanitize_line(&skill.name);
        format!("Skill /{name}: not carried out.\n\nThe user has called it. Tell them why nothing came of it: {why}")
    }
}

/// Returns `2 commands run`, `1 file read`.
fn done_words(count: usize, words: &str) -> String {
    let (noun, verb) = words.split_once(' ').unwrap_or((words, ""));
    format!("{} {verb}", counted(count, noun))
}

/// Runs a command of a skill. Where the caller's words are a part of it, `allowed-tools` has to name the program: what the
/// author may run is not what anybody may. `before` is what was lent before the skill was called.
async fn command(
    (run, call_id): (&Run<'_>, &str),
    (skill, before): (&LoadedSkill, &RuleSet),
    (line, has_arguments): (&str, bool),
) -> ToolOutput {
    let permissions = &run.agent.permissions;
    let lent = permissions.lent();
    if has_arguments {
        permissions.lend(before.and(&rules_of_entries(run.agent, skill, names_program)));
    }
    let output = aside(run, call_id, "Bash", ("command", line)).await;
    permissions.lend(lent);
    output
}

/// Returns `true` for an entry of `allowed-tools` that says which program it is about.
fn names_program(entry: &str) -> bool {
    let spec = entry.split_once('(').map(|(_, spec)| spec.trim_start());
    spec.is_some_and(|spec| spec.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_')))
}

/// Calls a tool of the agent's for a skill.
async fn aside(run: &Run<'_>, call_id: &str, tool: &str, (key, value): (&str, &str)) -> ToolOutput {
    let args = [(key.to_owned(), value.into())].into_iter().collect();
    let call = ToolCall { id: call_id.to_owned(), name: tool.to_owned(), input: ToolInput::Object(args) };
    let found = match find_call(run.agent, &call) {
        Ok(found) => found,
        Err(output) => return output,
    };
    // Nobody looks at its output while it runs.
    let (progress, _tail) = watch::channel(String::new());
    let context = context_of(run, &call.id, progress);
    let title = found.call.title(&context);
    // Such a call has no skill of its own, and yet the compiler sees a circle.
    Box::pin(with_hooks(run, (&call, found), context, title)).await
}

/// Returns what a command that succeeded has printed, without our words on how it went.
fn printed(said: String) -> String {
    let Some((printed, _)) = said.rsplit_once("[exit 0]") else { return said };
    printed.strip_suffix("(no output)\n").unwrap_or(printed).trim_end().to_owned()
}

fn words_of(agent: &Agent, output: &ToolOutput) -> String {
    let text = agent.secrets.redact(&output.joined_text()).into_owned();
    let text = without_speakers(&sanitize(text.trim_end())).into_owned();
    bound_text(&text, MAX_CHARS).into_owned()
}
