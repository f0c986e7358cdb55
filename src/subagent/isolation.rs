//! Subagents that work apart: each in a git worktree of its own, outside of the project's files.
//!
//! Owns who works in which worktree, when one is made, and what the agent is told of it. Leaves git to `worktree`, its
//! end and the user's wishes to `harvest`, and closed paths to `permission`. Invariants: a worktree is made only after
//! its agent was told of; one at a time; whoever waits for it can be stopped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::Mutex as Gate;

use super::limits::Refusal;
use super::loadout::Loadout;
use super::prompt::Surroundings;
use super::tree::{Parent, Tree};
use crate::agent::{
    Agent, Author, EventKind, KeptFile, KeptWorktree, Letter, Outcome, Place, Status, StopCause, Urgency, WorktreeNews,
};
use crate::definition::{AgentDefinition, Isolation};
use crate::message::AgentId;
use crate::permission::{Fence, Permissions};
use crate::worktree::{Worktree, WorktreeError, Worktrees};

/// Where an agent works that is not among the project's own files, and those below it unless they ask for more.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) worktree: Arc<Worktree>,
    place: Place,
}

/// What it takes to have an agent move into a worktree.
#[derive(Clone)]
pub(super) struct Moving {
    pub(super) definition: Arc<AgentDefinition>,
    /// What its prompt says of its notes.
    pub(super) notes: Option<String>,
}

/// All worktrees that this session knows of.
pub(super) struct Yard {
    pub(super) worktrees: Option<Arc<Worktrees>>,
    /// Held while one is made, merged or removed.
    pub(super) gate: Gate<()>,
    plots: Mutex<BTreeMap<String, Plot>>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Plot {
    pub(super) worktree: Arc<Worktree>,
    /// The agent of this session that works in it.
    pub(super) agent: Option<AgentId>,
    /// Name of that agent.
    pub(super) name: String,
    /// When it was last worked in, if that was in an earlier run.
    pub(super) since: Option<SystemTime>,
    /// What was done in it, once its agent has ended.
    pub(super) done: Option<(Vec<KeptFile>, usize)>,
}

impl Plot {
    /// Returns it as one that waits for the user; one in which someone works does not.
    pub(super) fn kept(&self) -> Option<KeptWorktree> {
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

impl Yard {
    /// Returns a yard without worktrees; without a place for them it stays so.
    pub(super) fn new(worktrees: Option<Arc<Worktrees>>) -> Self {
        Self { worktrees, gate: Gate::default(), plots: Mutex::default() }
    }

    /// Returns all worktrees by their branches.
    pub(super) fn plots(&self) -> MutexGuard<'_, BTreeMap<String, Plot>> {
        self.plots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the worktree of an agent.
    pub(super) fn of(&self, agent: AgentId) -> Option<Plot> {
        self.plots().values().find(|plot| plot.agent == Some(agent)).cloned()
    }
}

/// How an agent comes to work in a worktree.
enum Came {
    /// It did before, and goes on.
    Back(Arc<Worktree>),
    /// It is new.
    First(Arc<Worktree>),
    /// It is new, because the one before is gone.
    Anew(Arc<Worktree>),
}

/// What an agent is told whose worktree is gone.
const ANEW: &str = "Your former worktree is gone: the user has merged or discarded it, or nothing was in it. You work in a new one now, which holds \
                    the project as it is. Its path and branch are other ones; read files again before you change them.";

impl Tree {
    /// Refuses a worktree where none can be made.
    pub(super) fn check_isolation(&self, wanted: Option<Isolation>) -> Result<(), Refusal> {
        match wanted {
            Some(Isolation::Worktree) if self.yard().worktrees.is_none() => {
                Err(Refusal::NoWorktrees { why: "there is no project here, or no state directory to keep it in" })
            }
            _ => Ok(()),
        }
    }

    /// Returns where an agent works.
    pub(super) fn place_of(&self, site: Option<&Site>) -> Place {
        site.map_or_else(|| self.setup().place.clone(), |site| site.place.clone())
    }

    /// Returns what an agent's prompt says of where it works.
    pub(super) fn surroundings_of(&self, site: Option<&Site>) -> Surroundings {
        let around = self.setup().surroundings.clone();
        let Some(site) = site else { return around };
        Surroundings {
            cwd: site.place.cwd.as_ref().clone(),
            project: site.place.project.as_ref().clone(),
            branch: Some(site.worktree.branch.clone()),
            ..around
        }
    }

    /// Returns an agent as it works in its worktree, which is made first if it is not there; `None` for one that works
    /// where its parent does.
    ///
    /// # Errors
    /// Returns what comes of an agent that got none.
    pub(super) async fn moved_in(&self, agent: &Agent) -> Result<Option<Agent>, Outcome> {
        let member = self.roster().get(&agent.id).and_then(|member| {
            let moving = member.kit.moving.clone()?;
            Some((moving, Parent { cancel: agent.cancel.clone(), ..member.kit.own.clone() }, member.name.clone()))
        });
        let Some((moving, own, name)) = member else { return Ok(None) };
        let came = match self.worktree_for(agent, &name).await {
            Ok(came) => came,
            Err(WorktreeError::Cancelled) => {
                let words = match agent.cancel.cause() {
                    Some(StopCause::Parent) => "Stopped with the agent above it.",
                    Some(_) => "Stopped before it began.",
                    None => "Asked to report before it began.",
                };
                return Err(Outcome::unstarted(Status::Cancelled, words));
            }
            Err(fault) => return Err(Outcome::unstarted(Status::Failed, &format!("It got no worktree: {fault}."))),
        };
        let freshness = match &came {
            Came::Back(_) | Came::First(_) => agent.freshness.clone(),
            Came::Anew(_) => self.freshness(&name),
        };
        if matches!(came, Came::Anew(_)) {
            let letter = Letter { text: ANEW.to_owned(), by: Author::Program, urgency: Urgency::NextStep };
            let _ = agent.inbox.put(letter);
        }
        let (Came::Back(worktree) | Came::First(worktree) | Came::Anew(worktree)) = came;
        let site = self.site(worktree);
        let permissions = self.fenced(agent.permissions.clone(), &site);
        let loadout = Loadout { permissions: self.fenced(own.loadout.permissions.clone(), &site), ..own.loadout };
        let news = WorktreeNews::Made { branch: site.worktree.branch.clone(), path: site.worktree.root.clone() };
        let system = self.child_prompt(&moving, Some(&site));
        let place = site.place.clone();
        let tools = self.offered_tools(Parent { loadout, site: Some(site), ..own });
        self.sink().send_until(agent.id, EventKind::Worktree { news }, &agent.cancel).await;
        Ok(Some(Agent { system, tools, place, permissions, freshness, ..agent.clone() }))
    }

    /// Returns a subagent's system prompt.
    pub(super) fn child_prompt(&self, moving: &Moving, site: Option<&Site>) -> Arc<str> {
        let around = self.surroundings_of(site);
        let prompt = around.child_prompt(&moving.definition, moving.notes.as_deref(), self.setup().limits.report_chars);
        match site {
            Some(site) => format!("{prompt}\n\n{}", site.words()).into(),
            None => prompt,
        }
    }

    async fn worktree_for(&self, agent: &Agent, name: &str) -> Result<Came, WorktreeError> {
        let yard = self.yard();
        let Some(worktrees) = &yard.worktrees else { return Err(WorktreeError::NoGit) };
        let former = yard.of(agent.id);
        if former.is_none() {
            let news = WorktreeNews::Making;
            self.sink().send_until(agent.id, EventKind::Worktree { news }, &agent.cancel).await;
        }
        let _one = tokio::select! {
            biased;
            () = agent.work.cancelled() => return Err(WorktreeError::Cancelled),
            one = yard.gate.lock() => one,
        };
        // It may have been merged while this waited.
        if let Some(plot) = yard.of(agent.id)
            && plot.worktree.root.is_dir()
        {
            yard.plots().entry(plot.worktree.branch.clone()).and_modify(|plot| plot.done = None);
            self.tell_kept().await;
            return Ok(Came::Back(plot.worktree));
        }
        yard.plots().retain(|_, plot| plot.agent != Some(agent.id));
        let worktree = worktrees.create(&self.setup().place.cwd, name, &agent.work.token()).await?;
        let worktree = Arc::new(worktree);
        let plot =
            Plot { worktree: worktree.clone(), agent: Some(agent.id), name: name.to_owned(), since: None, done: None };
        yard.plots().insert(worktree.branch.clone(), plot);
        let ran_before = self.roster().get(&agent.id).is_some_and(|member| member.runs > 1);
        Ok(if ran_before { Came::Anew(worktree) } else { Came::First(worktree) })
    }

    fn site(&self, worktree: Arc<Worktree>) -> Site {
        let project = &self.setup().place.project;
        let inside = project.strip_prefix(&worktree.repository).map(PathBuf::from).unwrap_or_default();
        let place =
            Place { cwd: Arc::new(worktree.cwd.clone()), project: Arc::new(plain_join(&worktree.root, &inside)) };
        Site { worktree, place }
    }

    /// Returns permissions that keep an agent in its worktree: closed are the files it was made from, the project, and the
    /// worktrees of all others.
    fn fenced(&self, permissions: Permissions, site: &Site) -> Permissions {
        let setup = self.setup();
        let worktree = &site.worktree;
        let mut closed = vec![setup.place.project.as_ref().clone()];
        closed.extend(worktree.root.parent().map(PathBuf::from));
        let home = setup.user_dirs.home.as_deref();
        permissions.within(Fence::new(worktree.root.clone(), worktree.repository.clone(), closed, home))
    }
}

/// Joins without leaving a slash at the end.
fn plain_join(root: &std::path::Path, inside: &std::path::Path) -> PathBuf {
    if inside.as_os_str().is_empty() { root.to_path_buf() } else { root.join(inside) }
}

impl Site {
    /// Returns what the agent is told of it.
    fn words(&self) -> String {
        format!(
            "# You work in a git worktree of your own\n\nIt is a checkout of the project at `{root}`, on the branch `{branch}`. \
             What you change there is not in the project until the user merges it, which happens after your end. You need not \
             commit, and do not merge, push or switch branches. Use relative paths, or paths below `{root}`; the project's \
             own folder `{origin}` is closed to you, and so are the worktrees of others. Paths below it that your task names \
             mean the files at the same place in your worktree. Files that git ignores, such as build output and installed \
             packages, are not in it.",
            root = self.worktree.root.display(),
            branch = self.worktree.branch,
            origin = self.worktree.repository.display(),
        )
    }
}
