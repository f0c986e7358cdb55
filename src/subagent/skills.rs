//! Skills as the agents of a session have them: called by the user, carried out by subagents, part of a prompt.
//!
//! Owns which of them an agent knows. Leaves the files to `definition`, and what becomes of a call to `agent`. Invariant: a
//! skill that runs in a conversation of its own passes every check that a call of `Agent` does.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::agent::{ForkedSkill, RunMode, SkillHost};
use crate::definition::AgentDefinition;
use crate::definition::skill::{Skill, SkillCatalog, called_in};
use crate::hook::HookHandler;
use crate::message::{Effort, LoadedSkill, SkillPiece, sanitize_line};
use crate::permission::RuleSet;
use crate::subagent::limits::Refusal;
use crate::subagent::main_agent::connection::{Connection, ModelRequest, ModelScope};
use crate::subagent::spawn::{SpawnRequest, SpawnResult, prompt};
use crate::subagent::tools::agent_tool::AgentInput;
use crate::subagent::tree::{Parent, Tree};
use crate::tool::ToolOutput;

/// Where the skills of a session come from.
#[derive(Debug, Clone, Default)]
pub struct SessionSkills {
    pub catalog: SkillCatalog,
    /// The session's name, for `${CLAUDE_SESSION_ID}`.
    pub session: String,
}

/// What a skill brings along for the subagent that carries it out.
#[derive(Debug, Clone, Default)]
pub(in crate::subagent) struct SkillTerms {
    /// What is allowed meanwhile.
    pub(in crate::subagent) lent: RuleSet,
    pub(in crate::subagent) effort: Option<Effort>,
    /// What runs meanwhile.
    pub(in crate::subagent) hooks: Vec<HookHandler>,
}

/// The skills of one agent.
struct AgentSkills {
    tree: Tree,
    own: Parent,
}

impl SessionSkills {
    /// Returns the skill that the user's words call.
    fn called(&self, words: &str) -> Option<LoadedSkill> {
        let (name, arguments) = called_in(words)?;
        let skill = self.catalog.get(name).filter(|skill| skill.is_for_users)?;
        Some(skill.load(arguments, &self.session))
    }
}

impl SkillHost for AgentSkills {
    fn called(&self, words: &str) -> Option<LoadedSkill> {
        self.tree.setup().skills.called(words)
    }

    fn note_touched(&self, project: &Path, files: &BTreeSet<PathBuf>) {
        let about = |skill: &Arc<Skill>| skill.is_about(project, files.iter().map(PathBuf::as_path));
        let all = self.tree.setup().skills.catalog.all().into_iter();
        let mut met = self.own.offers.met_skills();
        let new: Vec<String> = all
            .filter(|skill| !skill.paths.is_empty() && !met.contains(&skill.name) && about(skill))
            .map(|skill| skill.name.clone())
            .collect();
        met.extend(new);
    }

    fn fork<'a>(
        &'a self,
        skill: ForkedSkill,
        call_id: &'a str,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<String, ToolOutput>> {
        async move {
            match self.tree.fork(&self.own, skill, call_id, stop).await {
                Ok(SpawnResult::Report(delivered)) if delivered.outcome.is_broken_off() => {
                    Err(ToolOutput::error(delivered.report))
                }
                Ok(SpawnResult::Report(delivered)) => Ok(delivered.report),
                Ok(SpawnResult::Background { name }) => {
                    Ok(format!("{name} goes on in the background. Its report will arrive as a message."))
                }
                Err(refusal) => Err(ToolOutput::error(format!("The skill was not carried out: {refusal}"))),
            }
        }
        .boxed()
    }
}

impl Tree {
    /// Returns the skills of an agent.
    pub(in crate::subagent) fn skill_host(&self, own: &Parent) -> Arc<dyn SkillHost> {
        Arc::new(AgentSkills { tree: self.clone(), own: own.clone() })
    }

    /// Has a subagent carry a skill out, and waits for its report.
    async fn fork(
        &self,
        parent: &Parent,
        forked: ForkedSkill,
        call_id: &str,
        stop: CancellationToken,
    ) -> Result<SpawnResult, Refusal> {
        let ForkedSkill { skill, agent, text, lent, hooks } = forked;
        let input = AgentInput::of_skill(&skill.name, text, agent, skill.model.clone());
        let terms = SkillTerms { lent, effort: skill.effort, hooks };
        // Nobody was asked about a program.
        if let Some((agent, _)) = self.program_called(&input) {
            return Err(Refusal::NotForSkills { agent });
        }
        let admitted = self.admit(parent, &input)?.under(terms);
        let request = SpawnRequest {
            call_id,
            description: &input.title(),
            task: input.prompt.clone(),
            run_mode: RunMode::Foreground,
            wants_report: true,
            options: Box::new(input.options()),
        };
        Ok(self.spawn(parent, admitted, request).await.wait(stop).await)
    }

    /// Returns who answers what the user has said, and how hard it thinks: the skill that they call may say so, for this one
    /// answer. If its model cannot be had, says so.
    pub(in crate::subagent) fn answering(
        &self,
        spoken: Option<&str>,
        connection: Connection,
    ) -> (Connection, Option<Effort>, Option<String>) {
        let skill = spoken.and_then(|words| self.setup().skills.called(words)).filter(|skill| skill.fork.is_none());
        let Some(skill) = skill else { return (connection, None, None) };
        let Some(name) = skill.model.as_deref() else { return (connection, skill.effort, None) };
        let scope = if skill.is_users { ModelScope::Anywhere } else { ModelScope::Here };
        let request = ModelRequest { name, scope, parent: &connection, main: &connection };
        match (self.setup().resolve_model)(&request) {
            Ok(other) => (other, skill.effort, None),
            Err(why) => {
                let note = format!("/{}: not answered by `{}`: {why}", sanitize_line(&skill.name), sanitize_line(name));
                (connection, skill.effort, Some(note))
            }
        }
    }

    /// Returns the sections of a prompt that a definition and its notes add.
    pub(in crate::subagent) fn with_skills(&self, definition: &AgentDefinition, notes: Option<&str>) -> Option<String> {
        let (skills, _) = self.preloaded(definition);
        let sections = prompt::joined([&skills, notes.unwrap_or_default()]);
        (!sections.is_empty()).then(|| sections.to_string())
    }

    /// Returns the section of a prompt with the skills that a definition names, and what is wrong with those names. Nothing
    /// of it is run or read.
    pub(in crate::subagent) fn preloaded(&self, definition: &AgentDefinition) -> (String, Vec<String>) {
        let skills = &self.setup().skills;
        let (mut section, mut missing) = (String::new(), Vec::new());
        for name in &definition.skills {
            let Some(skill) = skills.catalog.get(name).filter(|skill| skill.is_for_models) else {
                let (agent, name) = (sanitize_line(&definition.name), sanitize_line(name));
                missing.push(format!("{agent}: no skill `{name}` that a model may load; the agent works without it."));
                continue;
            };
            if section.is_empty() {
                section.push_str("# Skills\n\nThese skills are part of your instructions.\n");
            }
            let loaded = skill.load("", &skills.session);
            let text = loaded.pieces.iter().map(|piece| match piece {
                SkillPiece::Text(text) => text.clone(),
                SkillPiece::Command { line, .. } => format!("!`{line}`"),
                SkillPiece::Refused(why) => format!("[not run: {why}]"),
            });
            let _ = write!(section, "\n{}\n", loaded.element(&text.collect::<String>()));
        }
        (section, missing)
    }
}
