//! Subagents that work apart: each in a git worktree of its own, outside of the project's files.
//!
//! Owns who works in which worktree, when one is made, and what its agent reads about it. Leaves git to `worktree`, its
//! end and the user's wishes to `finalize`, and closed paths to `permission`. Invariants: a worktree is made only after
//! its agent was announced; one at a time; whoever waits for it can be stopped.

mod finalize;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::Mutex as Gate;

use crate::agent::{
    Agent, Author, EventKind, InboxMessage, KeptFile, KeptWorktree, Outcome, Place, Status, StopCause, Urgency,
    WorktreeNews,
};
use crate::config::git_branch;
use crate::definition::{AgentDefinition, Isolation};
use crate::message::AgentId;
use crate::permission::{Fence, Permissions};
use crate::subagent::limits::Refusal;
use crate::subagent::spawn::capabilities::Capabilities;
use crate::subagent::spawn::launchers::Launcher;
use crate::subagent::spawn::prompt::PromptEnvironment;
use crate::subagent::tree::{Parent, Tree};
use crate::worktree::{Worktree, WorktreeError, Worktrees, plain_join};

/// Where an agent works that is not among the project's own files, and those below it unless they ask for more.
#[derive(Debug, Clone)]
pub(in crate::subagent) struct Workspace {
    pub(in crate::subagent) worktree: Arc<Worktree>,
    place: Place,
}

/// What it takes to move an agent into a worktree.
#[derive(Clone)]
pub(in crate::subagent) struct IsolationSpec {
    pub(in crate::subagent) definition: Arc<AgentDefinition>,
    /// What its prompt says of its notes.
    pub(in crate::subagent) notes: Option<String>,
    /// Whether it works somewhere else.
    pub(in crate::subagent) is_remote: bool,
}

/// All worktrees that this session knows of.
pub(in crate::subagent) struct WorktreeRegistry {
    pub(in crate::subagent) worktrees: Option<Arc<Worktrees>>,
    /// Held while one is made, merged or removed.
    pub(in crate::subagent) gate: Gate<()>,
    entries: Mutex<BTreeMap<String, WorktreeEntry>>,
    /// Which subagent worked on which branch before the session was continued.
    former: Mutex<BTreeMap<String, AgentId>>,
}

#[derive(Debug, Clone)]
pub(in crate::subagent) struct WorktreeEntry {
    pub(in crate::subagent) worktree: Arc<Worktree>,
    /// The agent of this session that works in it.
    pub(in crate::subagent) agent: Option<AgentId>,
    pub(in crate::subagent) name: String,
    /// When it was last worked in, if that was in an earlier run.
    pub(in crate::subagent) since: Option<SystemTime>,
    /// What was done in it, once its agent has ended.
    pub(in crate::subagent) done: Option<(Vec<KeptFile>, usize)>,
}

impl WorktreeEntry {
    /// Returns it as a worktree that waits for the user; `None` while an agent works in it.
    pub(in crate::subagent) fn kept(&self) -> Option<KeptWorktree> {
        let (files, commits) = self.done.clone()?;
        Some(KeptWorktree {
            branch: self.worktree.branch.clone(),
            path: self.worktree.root.clone(),
            agent: self.agent,
            name: self.name.clone(),
            age_secs: self
                .since
                .and_then(|since| SystemTime::now().duration_since(since).ok())
                .map(|age| age.as_secs()),
            commits,
            files,
        })
    }
}

impl WorktreeRegistry {
    /// Returns a registry without worktrees; without a place for them it stays empty.
    pub(in crate::subagent) fn new(worktrees: Option<Arc<Worktrees>>) -> Self {
        Self { worktrees, gate: Gate::default(), entries: Mutex::default(), former: Mutex::default() }
    }

    /// Returns all worktrees by their branches.
    pub(in crate::subagent) fn entries(&self) -> MutexGuard<'_, BTreeMap<String, WorktreeEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes who worked on which branch before the session was continued; [`Tree::find_orphans`] finds the worktrees.
    pub(in crate::subagent) fn remember(&self, branch: String, agent: AgentId) {
        self.former.lock().unwrap_or_else(PoisonError::into_inner).insert(branch, agent);
    }

    /// Returns the subagent that worked on a branch before the session was continued.
    pub(in crate::subagent) fn former(&self, branch: &str) -> Option<AgentId> {
        self.former.lock().unwrap_or_else(PoisonError::into_inner).get(branch).copied()
    }

    pub(in crate::subagent) fn of(&self, agent: AgentId) -> Option<WorktreeEntry> {
        self.entries().values().find(|entry| entry.agent == Some(agent)).cloned()
    }
}

/// How an agent comes to work in a worktree.
enum Reuse {
    /// It did before, and goes on.
    Back(Arc<Worktree>),
    /// It is new.
    First(Arc<Worktree>),
    /// It is new, because the one before is gone.
    Anew(Arc<Worktree>),
}

/// Words for an agent whose worktree is gone.
const ANEW: &str = "Your previous worktree is gone: the user merged or discarded it, or it had no changes. You now \
                    work in a new one, made from the project as it is, with a different path and branch. Read files \
                    again before you change them.";

impl Tree {
    /// Refuses a worktree where none can be made.
    pub(in crate::subagent) fn check_isolation(&self, wanted: Option<&Isolation>) -> Result<(), Refusal> {
        if self.is_apart(wanted) && self.worktree_registry().worktrees.is_none() {
            return Err(Refusal::NoWorktrees { why: "no project here, or no state directory to keep worktrees in" });
        }
        Ok(())
    }

    /// Returns `true` if an agent has a worktree: to work in, or to take files from and bring them back to.
    pub(in crate::subagent) fn is_apart(&self, isolation: Option<&Isolation>) -> bool {
        match isolation {
            None => false,
            Some(Isolation::Worktree) => true,
            Some(Isolation::Launcher(_)) => {
                self.launcher_of(isolation).ok().flatten().is_some_and(Launcher::takes_files)
            }
        }
    }

    pub(in crate::subagent) fn place_of(&self, workspace: Option<&Workspace>) -> Place {
        workspace.map_or_else(|| self.setup().place.clone(), |workspace| workspace.place.clone())
    }

    /// Returns what an agent's prompt says of where it works.
    pub(in crate::subagent) fn environment_of(&self, workspace: Option<&Workspace>) -> PromptEnvironment {
        let around = self.setup().environment.clone();
        let Some(workspace) = workspace else {
            // A command may have checked out another branch since the session began.
            return PromptEnvironment { branch: git_branch(&around.project).or(around.branch), ..around };
        };
        PromptEnvironment {
            cwd: workspace.place.cwd.as_ref().clone(),
            project: workspace.place.project.as_ref().clone(),
            branch: Some(workspace.worktree.branch.clone()),
            ..around
        }
    }

    /// Returns an agent as it works in its worktree, which is made first if it is not there; `None` for one that works
    /// where its parent does. On failure, returns what comes of an agent that got none.
    pub(in crate::subagent) async fn enter_worktree(&self, agent: &Agent) -> Result<Option<Agent>, Outcome> {
        let entry = self.registry().get(&agent.id).and_then(|entry| {
            let template = entry.template.ready()?;
            let isolation = template.isolation.clone()?;
            Some((isolation, Parent { cancel: agent.cancel.clone(), ..template.own.clone() }, entry.name.clone()))
        });
        let Some((isolation, own, name)) = entry else { return Ok(None) };
        let reuse = match self.worktree_for(agent, &name).await {
            Ok(reuse) => reuse,
            Err(WorktreeError::Cancelled) => {
                let words = match agent.cancel.cause() {
                    Some(StopCause::Parent) => "Stopped together with its parent.",
                    Some(_) => "Stopped before it started.",
                    None => "Wrapped up before it started.",
                };
                return Err(Outcome::unstarted(Status::Cancelled, words));
            }
            Err(error) => {
                return Err(Outcome::unstarted(Status::Failed, &format!("Cannot create a worktree: {error}.")));
            }
        };
        let freshness = match &reuse {
            Reuse::Back(_) | Reuse::First(_) => agent.freshness.clone(),
            Reuse::Anew(_) => self.freshness(&name),
        };
        if matches!(reuse, Reuse::Anew(_)) {
            let message =
                InboxMessage { text: ANEW.to_owned(), by: Author::Program, urgency: Urgency::NextStep, id: None };
            let _ = agent.inbox.push(message);
        }
        let (Reuse::Back(worktree) | Reuse::First(worktree) | Reuse::Anew(worktree)) = reuse;
        let workspace = self.workspace(worktree);
        let permissions = self.fenced(agent.permissions.clone(), &workspace);
        let capabilities = Capabilities {
            permissions: self.fenced(own.capabilities.permissions.clone(), &workspace),
            ..own.capabilities
        };
        let news =
            WorktreeNews::Made { branch: workspace.worktree.branch.clone(), path: workspace.worktree.root.clone() };
        let system = self.child_prompt(&isolation, Some(&workspace));
        let place = workspace.place.clone();
        let memory = self.memory_for(Some(&isolation.definition), Some(&workspace));
        let agent = self.carrying(agent.clone(), &workspace);
        let tools = self.offered_tools(Parent { capabilities, workspace: Some(workspace), ..own });
        self.sink().emit_until(agent.id, EventKind::Worktree { news }, &agent.cancel).await;
        Ok(Some(Agent { system, tools, place, permissions, freshness, memory, ..agent }))
    }

    pub(in crate::subagent) fn child_prompt(
        &self,
        isolation: &IsolationSpec,
        workspace: Option<&Workspace>,
    ) -> Arc<str> {
        let around = self.environment_of(workspace);
        if isolation.is_remote {
            return PromptEnvironment::remote_prompt(self.setup().limits.report_chars);
        }
        let prompt =
            around.child_prompt(&isolation.definition, isolation.notes.as_deref(), self.setup().limits.report_chars);
        match workspace {
            Some(workspace) => format!("{prompt}\n\n{}", workspace.words()).into(),
            None => prompt,
        }
    }

    async fn worktree_for(&self, agent: &Agent, name: &str) -> Result<Reuse, WorktreeError> {
        let worktree_registry = self.worktree_registry();
        let Some(worktrees) = &worktree_registry.worktrees else { return Err(WorktreeError::NoGit) };
        let former = worktree_registry.of(agent.id);
        if former.is_none() {
            let news = WorktreeNews::Making;
            self.sink().emit_until(agent.id, EventKind::Worktree { news }, &agent.cancel).await;
        }
        let _one = tokio::select! {
            biased;
            () = agent.work.cancelled() => return Err(WorktreeError::Cancelled),
            one = worktree_registry.gate.lock() => one,
        };
        // It may have been merged while this waited.
        if let Some(entry) = worktree_registry.of(agent.id)
            && entry.worktree.root.is_dir()
        {
            worktree_registry.entries().entry(entry.worktree.branch.clone()).and_modify(|entry| entry.done = None);
            self.emit_kept().await;
            return Ok(Reuse::Back(entry.worktree));
        }
        worktree_registry.entries().retain(|_, entry| entry.agent != Some(agent.id));
        let worktree = worktrees.create(&self.setup().place.cwd, name, &agent.work.token()).await?;
        let worktree = Arc::new(worktree);
        let entry = WorktreeEntry {
            worktree: worktree.clone(),
            agent: Some(agent.id),
            name: name.to_owned(),
            since: None,
            done: None,
        };
        worktree_registry.entries().insert(worktree.branch.clone(), entry);
        let ran_before = self.registry().get(&agent.id).is_some_and(|entry| entry.runs > 1);
        Ok(if ran_before { Reuse::Anew(worktree) } else { Reuse::First(worktree) })
    }

    fn workspace(&self, worktree: Arc<Worktree>) -> Workspace {
        let project = &self.setup().place.project;
        let inside = project.strip_prefix(&worktree.repository).map(PathBuf::from).unwrap_or_default();
        let place = Place {
            cwd: Arc::new(worktree.cwd.clone()),
            project: Arc::new(plain_join(&worktree.root, &inside)),
            origin: project.clone(),
        };
        Workspace { worktree, place }
    }

    /// Returns permissions that keep an agent in its worktree: closed are the files it was made from, the project, and the
    /// worktrees of all others.
    pub(in crate::subagent) fn fenced(&self, permissions: Permissions, workspace: &Workspace) -> Permissions {
        let setup = self.setup();
        let worktree = &workspace.worktree;
        let mut closed = vec![setup.place.project.as_ref().clone()];
        closed.extend(worktree.root.parent().map(PathBuf::from));
        let home = setup.user_dirs.home.as_deref();
        permissions.within(Fence::new(worktree.root.clone(), worktree.repository.clone(), closed, home))
    }
}

impl Workspace {
    fn words(&self) -> String {
        format!(
            "# You work in your own git worktree\n\nIt is a checkout of the project at `{root}`, on branch \
            `{branch}`. Your changes reach the project only when the user merges them, after you end. You need not \
            commit; do not merge, push or switch branches. Use relative paths, or paths under `{root}`; the project's \
            own folder `{origin}` and other agents' worktrees are off limits. Its git repository is yours alone: it \
            knows the project's branches, tags and remotes, and what you do with them there stays there. Where your task names paths under \
            `{origin}`, use the same files in your worktree. Files that git ignores, such as build output and \
            installed packages, are not in it.",
            root = self.worktree.root.display(),
            branch = self.worktree.branch,
            origin = self.worktree.repository.display(),
        )
    }
}
