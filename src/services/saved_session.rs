//! An earlier session, read back so that it can go on.
//!
//! Owns which records are read for the screen and for the agents, and what the log of a session that broke off lacks.
//! Leaves files to `session` and the meaning of events to `agent` and `app`. Invariants: what is read before the first
//! frame does not grow with the session, only with its number of agents; of everything that was begun the end is in
//! `events` or in `missing`; nothing is written here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::agent::{
    AgentEvent, Author, EventKind, LastRun, LogEvent, Outcome, RunMode, SessionEvent, Spawn, ToolEvent, WorktreeNews,
};
use crate::message::{AgentId, INTERRUPTED, Spent, ToolResult, Transcript};
use crate::permission::{ActiveGrant, GrantOrigin};
use crate::session::{INDEX, MAIN, PromptFacts, SessionError, Store, Stretch, Unsent, read, read_part};
use crate::subagent::read_back::with_checkpoints;
use crate::subagent::report::{ReportSource, report};
use crate::subagent::{Checkpoint, ReportReview, ReviewLog, SavedAgent, Tree};

/// Bytes at the end of the main agent's record, and of one that broke off, that the screen shows.
const LIVE_BYTES: u64 = 8 << 20;
/// Bytes at the end of the record of one that has ended; its full view reads the rest.
const ENDED_BYTES: u64 = 32 << 10;
/// Bytes of all those that have ended. The latest come first; of the others the screen knows how they ended.
const ALL_ENDED_BYTES: u64 = 4 << 20;

/// What an earlier session left.
#[derive(Debug, Clone, Default)]
pub struct SavedSession {
    /// What the screen shows of it, in order.
    pub events: Vec<Arc<LogEvent>>,
    /// The ends of what broke off, which its log lacks.
    pub missing: Vec<Arc<LogEvent>>,
    /// What was used before the first of the events.
    pub spent_before: Spent,
    /// What all agents have used.
    pub spent: Spent,
    /// What the user has allowed in it.
    pub grants: Vec<ActiveGrant>,
    pub(super) names: HashMap<AgentId, Arc<str>>,
    pub(super) agents: Vec<SavedAgent>,
    main_record: PathBuf,
    /// The subagents of whom more was recorded than the events tell.
    pub cut: BTreeSet<AgentId>,
    /// What the user had written and nobody had read.
    pub unsent: Unsent,
    /// The session that this one is a copy of.
    pub(super) forked_from: Option<String>,
    /// What the prompt of its main agent said at first.
    pub(super) begun: Option<PromptFacts>,
}

/// An event with its number.
#[derive(Debug, Clone)]
struct Numbered {
    seq: u64,
    event: Arc<LogEvent>,
}

impl Numbered {
    fn agent(&self) -> Option<&AgentEvent> {
        self.event.of_agent()
    }
}

/// What is read of one subagent.
struct Child {
    spawn: Spawn,
    run: LastRun,
    run_mode: RunMode,
    begun: u64,
    branch: Option<String>,
    /// Whether more of it was recorded than the events tell.
    is_cut: bool,
    events: Vec<Numbered>,
}

impl SavedSession {
    /// Reads the session that `store` goes on with. Blocks. Records that cannot be understood are passed over.
    ///
    /// # Errors
    /// Returns an error if the record of the main agent cannot be read.
    pub fn read(store: &Store, project: &Path, review: &ReportReview) -> Result<Self, SessionError> {
        let main_record = store.path_of(MAIN);
        let main = tail(&main_record, LIVE_BYTES)?;
        let index: Vec<Numbered> = read::<LogEvent>(&store.path_of(INDEX)).map_or_else(|_| Vec::new(), numbered);
        let children = children(store, &index);
        let first = main.first().map_or(u64::MAX, |first| first.seq);
        // What the session's own events say stays true, however long the conversation is.
        let of_session = index.iter().filter(|it| it.agent().is_none() && it.seq < first).cloned();
        let mut saved = Self { main_record, ..Self::default() };
        let of_main = index.iter().filter(|it| it.seq < first).filter_map(Numbered::agent);
        saved.spent_before = spent_by(of_main.filter(|event| event.agent.is_main()));
        let mut all: Vec<Numbered> = of_session.chain(main).collect();
        let of_all = index.iter().chain(&all).chain(children.values().flat_map(|child| &child.events));
        let reports = SavedReports { project, reviews: reviews(of_all, review) };
        saved.find_missing(&all, &children, &reports);
        let cleared = last_cleared(&all);
        for (id, child) in children {
            saved.names.insert(id, child.spawn.name.as_str().into());
            if child.is_cut {
                saved.cut.insert(id);
            }
            let outcome = child.run.result();
            all.extend(child.events);
            saved.agents.push(SavedAgent {
                id,
                runs: child.run.runs.max(1),
                run_mode: child.run_mode,
                wants_report: child.begun > cleared,
                branch: child.branch,
                last: outcome.map(|outcome| {
                    let report = reports.of(id, &child.spawn, &outcome);
                    (outcome, report)
                }),
                spawn: child.spawn,
            });
        }
        all.sort_by_key(|numbered| numbered.seq);
        let missing = saved.missing.iter().filter_map(|event| event.of_agent());
        saved.spent = spent_by(all.iter().filter_map(Numbered::agent).chain(missing));
        saved.spent.add(&saved.spent_before);
        saved.grants = last_grants(&all);
        saved.events = without_remarks(all.into_iter().map(|numbered| numbered.event));
        Ok(saved)
    }

    /// Returns what the user has allowed for the session.
    pub(super) fn answers(&self) -> Vec<ActiveGrant> {
        self.grants.iter().filter(|given| given.origin == GrantOrigin::Session).cloned().collect()
    }

    /// Gives the tree the subagents that an earlier session had, and returns the conversation with the main agent, and what
    /// it was before each message of the user.
    pub(super) async fn take_over(saved: Option<Arc<Self>>, tree: &Tree) -> (Transcript, Vec<Checkpoint>) {
        let Some(earlier) = saved else { return Default::default() };
        tree.setup().budget.set_spent(&earlier.spent);
        tree.tell_changes();
        super::rewind::recover(tree).await;
        let saved = Arc::clone(&earlier);
        let reading = tokio::task::spawn_blocking(move || {
            let events = saved.main_events();
            (unread_reports(&saved.agents, &events), with_checkpoints(&events))
        });
        let (unread, conversation) = reading.await.unwrap_or_default();
        let has_worktree = earlier.agents.iter().any(|agent| agent.branch.is_some());
        tree.restore(earlier.agents.clone(), &unread);
        if has_worktree {
            // Whoever goes on finds its own again.
            tree.find_orphans().await;
        }
        conversation
    }

    /// Reads the whole conversation with the main agent since it began, for its model. Blocks.
    fn main_events(&self) -> Vec<EventKind> {
        let Ok(records) = read::<LogEvent>(&self.main_record) else { return Vec::new() };
        let mut events = Vec::new();
        for record in records.flatten() {
            match record.body {
                LogEvent::Session { event: SessionEvent::Cleared, .. } => events.clear(),
                LogEvent::Session { event: SessionEvent::Rewound { messages, .. }, .. } => {
                    take_back(&mut events, messages);
                }
                LogEvent::Agent(event) if event.agent.is_main() => events.push(event.kind),
                LogEvent::Agent(_) | LogEvent::Session { .. } => {}
            }
        }
        let missing = self.missing.iter().filter_map(|event| event.of_agent());
        events.extend(missing.filter(|event| event.agent.is_main()).map(|event| event.kind.clone()));
        events
    }

    /// Works out the ends of what has none: children before their parents, calls before the runs that made them.
    fn find_missing(&mut self, main: &[Numbered], children: &BTreeMap<AgentId, Child>, reports: &SavedReports<'_>) {
        let mut main_run = LastRun::default();
        main.iter().filter_map(Numbered::agent).for_each(|event| main_run.apply(event));
        let open = children.iter().rev().map(|(id, child)| (*id, &child.run)).chain([(AgentId::MAIN, &main_run)]);
        for (agent, run) in open.filter(|(_, run)| run.is_open()) {
            for call in run.pending() {
                let child =
                    children.iter().find(|(_, child)| child.spawn.parent == agent && child.spawn.call_id == call.id);
                let result = child.map_or_else(
                    || ToolResult::error(&call.id, INTERRUPTED),
                    |(id, child)| {
                        let outcome = child.run.result();
                        let report = outcome.map(|outcome| reports.of(*id, &child.spawn, &outcome));
                        ToolResult::text(&call.id, report.unwrap_or_else(|| INTERRUPTED.to_owned()))
                    },
                );
                let ended =
                    ToolEvent::Ended { result, summary: INTERRUPTED.to_owned(), view: None, changes: Vec::new() };
                self.lacks(agent, ended);
            }
            if let Some(outcome) = run.interrupted() {
                self.lacks(agent, EventKind::Ended { outcome });
            }
        }
    }

    fn lacks(&mut self, agent: AgentId, kind: impl Into<EventKind>) {
        let event = AgentEvent { agent, at: Timestamp::now(), kind: kind.into() };
        self.missing.push(Arc::new(LogEvent::Agent(event)));
    }
}

fn numbered(records: crate::session::Records<LogEvent>) -> Vec<Numbered> {
    records.flatten().map(|record| Numbered { seq: record.seq, event: Arc::new(record.body) }).collect()
}

/// Reads about so many bytes at the end of a record.
fn tail(path: &Path, bytes: u64) -> Result<Vec<Numbered>, SessionError> {
    let part = read_part(path, Stretch::Before(u64::MAX), bytes)?;
    let records = part.lines.iter().filter_map(|line| line.record::<LogEvent>().ok());
    Ok(records.map(|record| Numbered { seq: record.seq, event: Arc::new(record.body) }).collect())
}

/// Reads what is needed of every subagent: how each run ended, and the end of its record as far as there is room.
fn children(store: &Store, index: &[Numbered]) -> BTreeMap<AgentId, Child> {
    let mut landmarks: BTreeMap<AgentId, Vec<Numbered>> = BTreeMap::new();
    for numbered in index {
        if let Some(event) = numbered.agent().filter(|event| !event.agent.is_main()) {
            landmarks.entry(event.agent).or_default().push(numbered.clone());
        }
    }
    for (id, spawned) in unindexed(store, &landmarks) {
        landmarks.insert(id, spawned);
    }
    let mut room = ALL_ENDED_BYTES;
    let mut children = BTreeMap::new();
    for (id, landmarks) in landmarks.into_iter().rev() {
        let Some(spawn) = landmarks.iter().find_map(|numbered| spawn_of(numbered)).cloned() else { continue };
        let mut known = LastRun::default();
        landmarks.iter().filter_map(Numbered::agent).for_each(|event| known.apply(event));
        let bytes = if known.is_open() { LIVE_BYTES } else { ENDED_BYTES.min(room) };
        let path = store.path_of(&spawn.name);
        let read = if bytes == 0 { Vec::new() } else { tail(&path, bytes).unwrap_or_default() };
        if !known.is_open() {
            room = room.saturating_sub(path.metadata().map_or(0, |facts| facts.len().min(bytes)));
        }
        let first = read.first().map_or(u64::MAX, |first| first.seq);
        let is_cut = read.first().is_none_or(|first| spawn_of(first).is_none());
        let events: Vec<Numbered> = landmarks.into_iter().filter(|it| it.seq < first).chain(read).collect();
        let (mut run, mut run_mode) = (LastRun::default(), spawn.run_mode);
        for event in events.iter().filter_map(Numbered::agent) {
            run.apply(event);
            if let EventKind::Moved { run_mode: mode } | EventKind::Resumed { run_mode: mode, .. } = event.kind {
                run_mode = mode;
            }
        }
        let begun = events.first().map_or(0, |first| first.seq);
        let branch = events.iter().filter_map(Numbered::agent).fold(None, branch_after);
        children.insert(id, Child { spawn, run, run_mode, begun, branch, is_cut, events });
    }
    children
}

/// Finds the subagents that the index does not have: it was lost, or an earlier version wrote none.
fn unindexed(store: &Store, known: &BTreeMap<AgentId, Vec<Numbered>>) -> Vec<(AgentId, Vec<Numbered>)> {
    let names: Vec<&str> = known.values().flatten().filter_map(|it| spawn_of(it)).map(|it| it.name.as_str()).collect();
    let known: Vec<PathBuf> = names.into_iter().chain([MAIN, INDEX]).map(|name| store.path_of(name)).collect();
    let files = std::fs::read_dir(store.dir()).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl") && !known.contains(path));
    let read_whole = |path: PathBuf| {
        let events = numbered(read::<LogEvent>(&path).ok()?);
        let id = events.iter().find(|it| spawn_of(it).is_some())?.agent()?.agent;
        let landmarks = events.into_iter().filter(|it| it.event.is_landmark()).collect();
        Some((id, landmarks))
    };
    files.filter_map(read_whole).collect()
}

fn spawn_of(numbered: &Numbered) -> Option<&Spawn> {
    match &numbered.agent()?.kind {
        EventKind::Spawned(spawn) => Some(spawn),
        _ => None,
    }
}

/// Returns the branch of the worktree that an agent has after an event.
fn branch_after(before: Option<String>, event: &AgentEvent) -> Option<String> {
    let EventKind::Worktree { news } = &event.kind else { return before };
    match news {
        WorktreeNews::Made { branch, .. } => Some(branch.clone()),
        WorktreeNews::Removed | WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. } => None,
        _ => before,
    }
}

/// Returns what the runs have used that end with one of these events.
fn spent_by<'a>(events: impl Iterator<Item = &'a AgentEvent>) -> Spent {
    let mut spent = Spent::default();
    for event in events {
        if let EventKind::Ended { outcome } = &event.kind {
            spent.add(&Spent::new(outcome.usage, outcome.cost_usd));
        }
    }
    spent
}

/// Folds what was asked about reports. An event may come twice, from the index and from a record.
fn reviews<'a, 'b>(events: impl Iterator<Item = &'a Numbered>, review: &'b ReportReview) -> ReviewLog<'b> {
    let in_order: BTreeMap<u64, &AgentEvent> = events.filter_map(|it| Some((it.seq, it.agent()?))).collect();
    let mut reviews = ReviewLog::new(review);
    for event in in_order.values() {
        reviews.apply(event);
    }
    reviews
}

/// What the reports of an earlier session are made of.
struct SavedReports<'a> {
    project: &'a Path,
    reviews: ReviewLog<'a>,
}

impl SavedReports<'_> {
    /// Returns what the agent above may read of what came of a subagent's last run.
    fn of(&self, id: AgentId, spawn: &Spawn, outcome: &Outcome) -> String {
        let (name, agent_type, project) = (&spawn.name, &spawn.agent_type, self.project);
        let whole = report(&ReportSource { name, agent_type, outcome, project, worktree: None });
        self.reviews.readable(id, whole, outcome)
    }
}

/// Leaves out what was remarked while no agent worked: it concerned the start of the program, which remarks it anew.
fn without_remarks(events: impl Iterator<Item = Arc<LogEvent>>) -> Vec<Arc<LogEvent>> {
    let mut at_work: BTreeSet<AgentId> = BTreeSet::new();
    let is_kept = |event: &Arc<LogEvent>| {
        let Some(event) = event.of_agent() else { return true };
        match event.kind {
            EventKind::Started | EventKind::Spawned(_) | EventKind::Resumed { .. } => drop(at_work.insert(event.agent)),
            EventKind::Ended { .. } => drop(at_work.remove(&event.agent)),
            EventKind::Notice { .. } => return !event.agent.is_main() || !at_work.is_empty(),
            _ => {}
        }
        true
    };
    events.filter(is_kept).collect()
}

/// Returns the number of the event with which the present conversation began anew.
fn last_cleared(events: &[Numbered]) -> u64 {
    let cleared = |it: &&Numbered| matches!(it.event.of_session(), Some(SessionEvent::Cleared));
    events.iter().rev().find(cleared).map_or(0, |it| it.seq)
}

/// Takes the user's last messages out of a conversation, with all that followed them.
fn take_back(events: &mut Vec<EventKind>, messages: usize) {
    let is_of_user = |event: &EventKind| matches!(event, EventKind::UserMessage { by: Author::User, .. });
    let first = (0..events.len()).rev().filter(|at| is_of_user(&events[*at])).nth(messages.wrapping_sub(1));
    if let Some(first) = first {
        events.truncate(first);
    }
}

fn last_grants(events: &[Numbered]) -> Vec<ActiveGrant> {
    let grants = events.iter().rev().find_map(|it| match it.event.of_session() {
        Some(SessionEvent::GrantsChanged { grants }) => Some(grants.clone()),
        _ => None,
    });
    grants.unwrap_or_default()
}

/// Returns the subagents whose reports the main agent has not read, though nobody waits for them any more.
fn unread_reports(agents: &[SavedAgent], main: &[EventKind]) -> Vec<AgentId> {
    let mut read: Vec<AgentId> = Vec::new();
    for event in main {
        if let EventKind::UserMessage { by: Author::Subagents(of), .. } = event {
            read.extend(of);
        }
    }
    let unread = |agent: &&SavedAgent| {
        agent.spawn.parent.is_main()
            && agent.run_mode == RunMode::Background
            && agent.wants_report
            && !read.contains(&agent.id)
    };
    agents.iter().filter(unread).map(|agent| agent.id).collect()
}
