//! Which earlier session is to go on, found by what the user says of it.
//!
//! Owns what `--continue` and `--resume` mean, and what is known of each session for people to choose by. Leaves reading
//! a session back to `saved_session`. Invariant: where more than one session could be meant, none is taken.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::Bootstrap;
use super::saved_session::SavedSession;
use crate::agent::{Author, EventKind, LastRun, LogEvent, Spent, Status};
use crate::config::Paths;
use crate::message::format::words_of;
use crate::message::sanitize_line;
use crate::session::{
    INDEX, MAIN, PromptFacts, Secrets, SessionFolder, SessionMeta, SessionSummary, Store, Stretch, Unsent, find,
    is_open, read_part, sessions,
};
use crate::subagent::ReportReview;

/// Bytes at the end of an index that are read to describe a session.
const INDEX_BYTES: u64 = 1 << 20;
/// Bytes at the end of a record without an index.
const RECORD_BYTES: u64 = 256 << 10;
/// Characters of a title and of last words.
const MAX_WORDS: usize = 200;
/// Sessions that a message names at most.
const MAX_NAMED: usize = 8;

/// The wish to go on with an earlier session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// Its name, the beginning of its name, or words of it; `None` is the last one of the project.
    pub wanted: Option<String>,
    /// Whether to go on in a copy, so that the session itself stays as it is.
    pub fork: bool,
}

/// A session that was found.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) folder: SessionFolder,
    /// The folder it worked in.
    pub(super) cwd: PathBuf,
    /// The agent that its main agent worked as.
    pub(super) agent: Option<String>,
    /// What the prompt of its main agent said at first.
    begun: Option<PromptFacts>,
}

impl Resume {
    /// Finds the session that is meant, among those of the project first. Blocks.
    pub(super) fn find(&self, paths: Option<&Paths>, project: &Path) -> anyhow::Result<Wanted> {
        let paths = paths.context("sessions are not saved here: there is no state directory")?;
        let of_project = sessions(&paths.state_dir, Some(project));
        let Some(wanted) = &self.wanted else {
            let said_something = |folder: &SessionFolder| summary(folder).is_some();
            let last = of_project.into_iter().find(said_something);
            return located(
                last.context("there is no earlier session in this project; run belvedere without --continue")?,
            );
        };
        let everywhere = || sessions(&paths.state_dir, None);
        for sessions in [of_project, everywhere()] {
            match find(&sessions, wanted) {
                Ok(session) => return located(session.clone()),
                Err(several) if !several.is_empty() => {
                    bail!(ambiguous(wanted, several.into_iter().filter_map(summary)))
                }
                Err(_) => {}
            }
            let words = wanted.to_lowercase();
            let fits = |folder: &SessionFolder| summary(folder).filter(|summary| summary.contains(&words));
            let mut found: Vec<(SessionFolder, SessionSummary)> =
                sessions.iter().filter_map(|folder| Some((folder.clone(), fits(folder)?))).collect();
            match (found.len(), found.pop()) {
                (1, Some((folder, _))) => return located(folder),
                (_, Some(last)) => {
                    found.push(last);
                    bail!(ambiguous(wanted, found.into_iter().map(|(_, summary)| summary)));
                }
                (_, None) => {}
            }
        }
        bail!("no session is called {wanted:?}, and none has these words; /sessions in the program lists them")
    }
}

impl Wanted {
    /// Opens the session, or a copy of it in the folder of `fresh`, and reads it back. Blocks.
    pub(super) fn open(
        self,
        fresh: Option<Store>,
        state_dir: &Path,
        secrets: Secrets,
        (project, review): (&Path, &ReportReview),
    ) -> anyhow::Result<(Store, SavedSession)> {
        let id = self.folder.short_id().to_owned();
        let is_fork = fresh.is_some();
        let store = match fresh {
            Some(fresh) => {
                fresh.copy_from(&self.folder.dir)?;
                let meta = SessionMeta::new(self.cwd, project.to_path_buf(), Some(id.clone()));
                let meta = meta.working_as(self.agent).begun_with(self.begun.clone());
                fresh.describe(&meta)?;
                Store::reopen(state_dir, fresh.dir(), secrets)?
            }
            None => Store::reopen(state_dir, &self.folder.dir, secrets)
                .with_context(|| format!("session {id} cannot be continued; --fork-session continues in a copy"))?,
        };
        let mut saved = SavedSession::read(&store, project, review)?;
        saved.forked_from = is_fork.then_some(id);
        saved.begun = self.begun;
        saved.unsent = Unsent::read(store.dir());
        Ok((store, saved))
    }
}

/// Finds a session to look at: the one of this name in the project, else in any; without a name the latest of the project.
/// Blocks.
///
/// # Errors
/// Says why there is none, or which ones could be meant.
pub fn session_named(bootstrap: &Bootstrap, wanted: Option<&str>) -> anyhow::Result<SessionFolder> {
    let paths = bootstrap.paths.as_ref().context("sessions are not saved here: there is no state directory")?;
    let of_project = sessions(&paths.state_dir, Some(&bootstrap.place.project));
    let Some(wanted) = wanted else {
        return of_project.into_iter().next().context("no session of this project yet");
    };
    for sessions in [of_project, sessions(&paths.state_dir, None)] {
        match find(&sessions, wanted) {
            Ok(session) => return Ok(session.clone()),
            Err(several) if !several.is_empty() => {
                let names: Vec<&str> = several.iter().take(MAX_NAMED).map(|session| session.id.as_str()).collect();
                bail!("more than one session is called `{wanted}`: {}; write more of its name", names.join(", "));
            }
            Err(_) => {}
        }
    }
    bail!("no session `{wanted}`; /sessions in the program lists them")
}

fn located(folder: SessionFolder) -> anyhow::Result<Wanted> {
    let meta = SessionMeta::read(&folder.dir)?;
    anyhow::ensure!(!meta.is_demo, "session {} is a demo and cannot be continued", folder.short_id());
    Ok(Wanted { folder, cwd: meta.cwd, agent: meta.agent, begun: meta.begun })
}

/// Names the sessions that could be meant.
fn ambiguous(wanted: &str, found: impl Iterator<Item = SessionSummary>) -> String {
    let found: Vec<String> = found.map(|summary| format!("  {}  {}", summary.short_id(), summary.title)).collect();
    let more = found.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!("\n  … and {more} more") };
    let named: Vec<String> = found.into_iter().take(MAX_NAMED).collect();
    format!("several sessions fit {wanted:?}; name one:\n{}{more}", named.join("\n"))
}

/// Describes the sessions of a project, or of all projects, the latest first. Those in which nothing was said are left
/// out. Blocks.
pub fn summaries(state_dir: &Path, project: Option<&Path>) -> Vec<SessionSummary> {
    sessions(state_dir, project).iter().filter_map(summary).collect()
}

/// Describes one session; `None` if nothing was said in it.
fn summary(session: &SessionFolder) -> Option<SessionSummary> {
    let file = |name: &str| session.dir.join(format!("{name}.jsonl"));
    let part = read_part(&file(INDEX), Stretch::Before(u64::MAX), INDEX_BYTES)
        .or_else(|_| read_part(&file(MAIN), Stretch::Before(u64::MAX), RECORD_BYTES))
        .ok()?;
    let mut main = LastRun::default();
    let (mut title, mut last_words, mut agents, mut spent) = (None, String::new(), 0, Spent::default());
    for event in part.lines.iter().filter_map(|line| line.record::<LogEvent>().ok()).map(|record| record.body) {
        let LogEvent::Agent(event) = event else { continue };
        if event.agent.is_main() {
            main.apply(&event);
        }
        match event.kind {
            EventKind::UserMessage { text, by: Author::User, .. } if event.agent.is_main() => {
                last_words = words(&text);
                title.get_or_insert_with(|| last_words.clone());
            }
            EventKind::Spawned(_) => agents += 1,
            EventKind::Ended { outcome } => {
                spent.add(&Spent::new(outcome.usage, outcome.cost_usd));
                if event.agent.is_main() && !outcome.text.trim().is_empty() {
                    last_words = words(&outcome.text);
                }
            }
            _ => {}
        }
    }
    let meta = SessionMeta::read(&session.dir).ok().filter(|meta| !meta.is_demo)?;
    Some(SessionSummary {
        id: session.id.clone(),
        title: title?,
        last_words,
        folder: meta.cwd,
        age: session.changed.elapsed().unwrap_or_default(),
        agents,
        spent,
        is_interrupted: main.is_open() || main.outcome.is_some_and(|last| last.status == Status::Interrupted),
        is_open: is_open(&session.dir),
    })
}

fn words(text: &str) -> String {
    words_of(&sanitize_line(text), MAX_WORDS)
}
