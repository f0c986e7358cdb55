//! The offline model as the main agent: hands out tasks, reads the reports, composes the answer.
//!
//! Owns who gets which task. Leaves what a task asks for to the subagents, and does it alone where none can be had.
//! Invariant: what a subagent did not finish is named as unfinished.

use std::fmt::Write as _;

use super::answer::{decline, own_words, sections};
use super::{init, inquiry};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::report::{Received, Report, Reported};
use crate::offline::request::{self, Intent, mentions};
use crate::offline::text::terms::Terms;

/// Answers the user: hands out tasks, and looks itself where no subagent reports anything.
pub(crate) fn answer(evidence: &Evidence) -> Reported {
    if init::is_wanted(evidence.task()) {
        return init::answer(evidence);
    }
    let text = without_name(evidence.task(), evidence.project());
    let (text, agents) = mentions(&text).unwrap_or((text, Vec::new()));
    let intent = request::read(&text);
    let mut tasks: Vec<PlannedCall> = agents.iter().map(|kind| task(kind, &text)).collect();
    if tasks.is_empty() {
        tasks = tasks_for(&intent, &text);
    }
    evidence.ask(tasks.iter().cloned())?;
    let read = |task: &PlannedCall| Some((title(task).to_owned(), Received::read(evidence.find(task)?)));
    let received: Vec<(String, Received)> = tasks.iter().filter_map(read).collect();
    let mut summary = if received.iter().any(|(_, got)| got.is_complete() || !got.report.findings.is_empty()) {
        let caveat = if let Intent::Partly { what, .. } = &intent { decline(what) } else { String::new() };
        format!("{caveat}\n\n{}", sections(&received)).trim().to_owned()
    } else {
        own_words(&inquiry::answer(&intent, &text, evidence)?)
    };
    if summary.is_empty() {
        summary.push_str("The subagents reported nothing.");
    }
    let notes: Vec<String> = received.iter().filter_map(|(title, got)| got.note(title)).collect();
    if !notes.is_empty() {
        let _ = write!(summary, "\n\n> {}", notes.join(" "));
    }
    Ok(Report::say(summary))
}

/// Returns the words said before tasks are handed out.
pub(crate) fn opening(calls: &[PlannedCall]) -> String {
    let tasks = calls.iter().filter(|call| call.name == "Agent");
    match tasks.map(title).collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [title] => format!("Starting a subagent: {title}."),
        titles => format!("Starting {} subagents: {}.", titles.len(), titles.join("; ")),
    }
}

/// Returns the tasks that a request is divided into; none for what takes no subagent.
fn tasks_for(intent: &Intent, text: &str) -> Vec<PlannedCall> {
    let is_declined = |item: &String| matches!(request::read(item), Intent::Decline { .. });
    match intent {
        Intent::Help | Intent::Decline { .. } | Intent::Direct(_) => Vec::new(),
        Intent::Partly { first, .. } => tasks_for(&request::read(first), first),
        Intent::Overview { sides } => {
            let sides = project::SIDES.into_iter().take((*sides).max(1));
            sides.map(|(_, title, what)| titled("explore", title, what)).collect()
        }
        Intent::Many(items) if items.iter().all(is_declined) => Vec::new(),
        Intent::Many(items) => items.iter().map(|item| task("explore", item)).collect(),
        Intent::Question(question) if Terms::of(question).is_empty() => Vec::new(),
        Intent::Question(_) => vec![task("search-specialist", text)],
        Intent::Topic(_) | Intent::Files { .. } => vec![task("explore", text)],
    }
}

/// Words of a task that are its title.
const TITLE_WORDS: usize = 5;

/// Returns a task in the user's own words.
fn task(kind: &str, what: &str) -> PlannedCall {
    let title = what.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" ");
    let mut letters = title.trim_end_matches(['.', ',', '?', ':']).chars();
    let title: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    titled(kind, &title, what)
}

fn titled(kind: &str, title: &str, what: &str) -> PlannedCall {
    let prompt = format!(
        "WHAT: {what}\nWHERE: the whole project, from the working directory down.\n\
         RETURN: what was found, each finding with its path:line, and one sentence that answers."
    );
    PlannedCall::agent(kind, title, &prompt)
}

/// Returns a request without the project's own name: everything here is of it.
fn without_name(text: &str, project: Option<&str>) -> String {
    let Some(project) = project.filter(|name| name.len() > 1) else { return text.to_owned() };
    let renamed = text.split_inclusive(' ').map(|piece| match piece.trim_matches([',', '?', '.', '!', ' ']) {
        word if word.eq_ignore_ascii_case(project) => piece.replace(word, "project"),
        _ => piece.to_owned(),
    });
    renamed.collect()
}

fn title(task: &PlannedCall) -> &str {
    task.argument("description")
}
