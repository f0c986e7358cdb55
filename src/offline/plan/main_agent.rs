//! The offline model as the main agent: hands out tasks, reads the reports, composes the answer.
//!
//! Owns who gets which task. Leaves what a task asks for to the subagents, and does it alone where none can be had.
//! Invariant: what a subagent did not finish is named as unfinished.

use std::fmt::Write as _;

use super::AnswerPlan;
use super::answer::{own_words, sections};
use super::init::{self, WriteMemory};
use super::subagent::Inquiry;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::report::Received;
use crate::offline::request::{self, Intent, mentions};
use crate::offline::text::terms::Terms;

pub(crate) fn choose(evidence: &Evidence) -> Box<dyn AnswerPlan> {
    if init::is_wanted(evidence.task()) {
        return Box::new(WriteMemory::new());
    }
    let text = without_name(evidence.task(), evidence.project());
    let (text, agents) = mentions(&text).unwrap_or((text, Vec::new()));
    let intent = request::read(&text);
    let mut tasks: Vec<Task> = agents.iter().map(|kind| Task::new(kind, &text)).collect();
    if tasks.is_empty() {
        tasks = tasks_for(&intent, &text);
    }
    Box::new(Delegation { tasks, own: Inquiry::of(intent, &text) })
}

/// Returns the tasks that a request is divided into; none for what takes no subagent.
fn tasks_for(intent: &Intent, text: &str) -> Vec<Task> {
    let is_declined = |item: &str| matches!(request::read(item), Intent::Decline { .. });
    match intent {
        Intent::Help | Intent::Decline { .. } | Intent::Direct(_) => Vec::new(),
        Intent::Partly { first, .. } => tasks_for(&request::read(first), first),
        Intent::Overview { sides } => {
            let task =
                |(_, title, what): (_, &str, &str)| Task { title: title.to_owned(), ..Task::new("explore", what) };
            project::SIDES.into_iter().take((*sides).max(1)).map(task).collect()
        }
        Intent::Many(items) if items.iter().all(|item| is_declined(item)) => Vec::new(),
        Intent::Many(items) => items.iter().map(|item| Task::new("explore", item)).collect(),
        Intent::Question(question) if Terms::of(question).is_empty() => Vec::new(),
        Intent::Question(_) => vec![Task::new("search-specialist", text)],
        Intent::Topic(_) | Intent::Files { .. } => vec![Task::new("explore", text)],
    }
}

#[derive(Debug, Clone)]
struct Task {
    kind: String,
    title: String,
    prompt: String,
}

/// Words of a task that are its title.
const TITLE_WORDS: usize = 5;

impl Task {
    /// Returns a task in the user's own words.
    fn new(kind: &str, what: &str) -> Self {
        let title = what.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" ");
        let mut letters = title.chars();
        let title: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        let prompt = format!(
            "WHAT: {what}\nWHERE: the whole project, from the working directory down.\n\
             RETURN: what was found, each finding with its path:line, and one sentence that answers."
        );
        Self { kind: kind.to_owned(), title: title.trim_end_matches(['.', ',', '?', ':']).to_owned(), prompt }
    }

    fn call(&self) -> PlannedCall {
        PlannedCall::agent(&self.kind, &self.title, &self.prompt)
    }
}

/// Returns a request without the project's own name: everything here is of it.
fn without_name(text: &str, project: Option<&str>) -> String {
    let Some(project) = project.filter(|name| name.len() > 1) else { return text.to_owned() };
    let is_own = |word: &str| word.trim_matches([',', '?', '.', '!']).eq_ignore_ascii_case(project);
    let pieces = text.split_inclusive(' ').map(|piece| {
        let word = piece.trim_end();
        if is_own(word) { piece.replace(word.trim_matches([',', '?', '.', '!']), "project") } else { piece.to_owned() }
    });
    pieces.collect()
}

/// Tasks handed out, and the inquiry that answers where no subagent does.
struct Delegation {
    tasks: Vec<Task>,
    own: Inquiry,
}

impl Delegation {
    fn received(&self, evidence: &Evidence) -> Vec<(String, Received)> {
        let found = self.tasks.iter().map(|task| (task, evidence.find(&task.call())));
        found.filter_map(|(task, exchange)| Some((task.title.clone(), Received::read(exchange?)))).collect()
    }

    /// Returns `true` if any subagent reported anything.
    fn is_answered(&self, evidence: &Evidence) -> bool {
        self.received(evidence).iter().any(|(_, got)| got.is_complete() || !got.report.findings.is_empty())
    }
}

impl AnswerPlan for Delegation {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n.checked_sub(1) {
            None => Some(self.tasks.iter().map(Task::call).collect()),
            Some(_) if self.is_answered(evidence) => None,
            Some(n) => self.own.stage(n, evidence),
        }
    }

    fn opening(&self, n: usize) -> String {
        let titles: Vec<&str> = self.tasks.iter().map(|task| task.title.as_str()).collect();
        match (n, titles.as_slice()) {
            (_, []) => String::new(),
            (0, [title]) => format!("Starting a subagent: {title}."),
            (0, titles) => format!("Starting {} subagents: {}.", titles.len(), titles.join("; ")),
            (1, _) => "Looking at it myself.".to_owned(),
            _ => String::new(),
        }
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        let received = self.received(evidence);
        let mut text = if self.is_answered(evidence) {
            self.own.with_caveat(sections(&received))
        } else {
            own_words(&self.own.report(evidence))
        };
        if text.trim().is_empty() {
            text.push_str("The subagents reported nothing.");
        }
        let notes: Vec<String> = received.iter().filter_map(|(title, got)| got.note(title)).collect();
        if !notes.is_empty() {
            let _ = write!(text, "\n\n> {}", notes.join(" "));
        }
        text
    }
}
