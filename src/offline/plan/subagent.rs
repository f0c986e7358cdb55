//! The offline model as a subagent: from a task to a report.
//!
//! Owns the choice of inquiry and the parts it has. Leaves searching and reading to the parts. Invariant: the last words
//! always carry a `<summary>`.

use super::AnswerPlan;
use super::answer::how_to_connect;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::project::files::Files;
use crate::offline::report::{AnswerPart, Report};
use crate::offline::request::{self, Intent};
use crate::offline::search::Search;
use crate::offline::text::terms::Terms;
use crate::offline::text::{lists, sentence};

/// How a task to read many files begins; the glob and a backquote follow.
pub(crate) const ALL_FILES: &str = "Read all files that match `";

struct Reporting {
    inquiry: Inquiry,
    opening: String,
}

/// Chooses the inquiry for the task of a subagent.
pub(crate) fn choose(evidence: &Evidence) -> Box<dyn AnswerPlan> {
    let what = what(evidence.task());
    let inquiry = Inquiry::for_task(what);
    let opening = format!("{}.", sentence(what, 120).trim_end_matches(['.', '?', ':']));
    Box::new(Reporting { inquiry, opening })
}

impl AnswerPlan for Reporting {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        self.inquiry.stage(n, evidence)
    }

    fn opening(&self, n: usize) -> String {
        match n {
            0 => self.opening.clone(),
            1 => "Reading the places that tell most.".to_owned(),
            _ => String::new(),
        }
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        self.inquiry.report(evidence).render(evidence)
    }
}

/// One or more parts that proceed side by side.
pub(crate) struct Inquiry {
    parts: Vec<Box<dyn AnswerPart>>,
    /// Said first, where the task asks for more than rules can do.
    caveat: String,
}

impl Inquiry {
    fn of(parts: Vec<Box<dyn AnswerPart>>) -> Self {
        Self { parts, caveat: String::new() }
    }

    fn for_task(what: &str) -> Self {
        if let Some((glob, _)) = what.strip_prefix(ALL_FILES).and_then(|rest| rest.split_once('`')) {
            return Self::of(vec![Box::new(Files::new(glob))]);
        }
        if let Some(search) = Search::of_task(what) {
            return Self::of(vec![search.part]);
        }
        match request::read(what) {
            Intent::Question(question) => Self::question(&subject(&question)),
            intent => Self::for_intent(intent, what),
        }
    }

    /// Returns the parts for an intent, all done by one agent.
    pub(crate) fn for_intent(intent: Intent, text: &str) -> Self {
        match intent {
            Intent::Overview { .. } => Self::of(project::overview()),
            Intent::Topic(topic) => Self::of(vec![project::part(topic, text)]),
            Intent::Files { glob } => Self::of(vec![Box::new(Files::new(&glob))]),
            Intent::Direct(direct) => Self::of(vec![Box::new(direct)]),
            Intent::Many(items) if items.len() == 1 => Self::question(&items[0]),
            Intent::Decline { what } => Self { caveat: caveat(what), ..Self::question(text) },
            Intent::Partly { first, what } => {
                Self { caveat: caveat(what), ..Self::for_intent(request::read(&first), &first) }
            }
            Intent::Question(question) => Self::question(&question),
            Intent::Many(_) | Intent::Help => Self::question(text),
        }
    }

    fn question(question: &str) -> Self {
        Self::of(vec![Search::best(question).part])
    }

    pub(crate) fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let stages: Vec<Vec<PlannedCall>> = self.parts.iter().filter_map(|part| part.stage(n, evidence)).collect();
        (!stages.is_empty()).then(|| stages.concat())
    }

    pub(crate) fn report(&self, evidence: &Evidence) -> Report {
        let mut report = Report::join(self.parts.iter().map(|part| part.report(evidence)).collect());
        if !self.caveat.is_empty() {
            report.summary = format!("{} {}", self.caveat, report.summary);
        }
        report
    }
}

fn caveat(what: &str) -> String {
    format!("{what} needs a language model, which is not connected ({}); these places concern it.", how_to_connect())
}

/// Sentences that begin so tell how to report, not what to look for.
const MANNERS: &str = "return report provide include respond be give make do you your please keep format";

/// First words that only say to look.
const LOOKING: &str = "explore search investigate identify locate determine analyze analyse examine find";

/// Returns what a task in anyone's words is about: its sentences without those on how to report.
fn subject(task: &str) -> String {
    let sentences = task.split(['\n', '!']).flat_map(|line| line.split(". ")).map(str::trim);
    let mut kept = Vec::new();
    for sentence in sentences.filter(|sentence| !sentence.is_empty()) {
        let (first, rest) = sentence.split_once(' ').unwrap_or((sentence, ""));
        let lower = first.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if lists(LOOKING, &lower) {
            kept.push(rest);
        } else if !lists(MANNERS, &lower) {
            kept.push(sentence);
        }
    }
    let subject = kept.join(". ");
    if Terms::of(&subject).is_empty() { task.to_owned() } else { subject }
}

/// Returns the part of a task that says what to look into.
fn what(task: &str) -> &str {
    let start = task.find("WHAT:").map_or(0, |at| at + "WHAT:".len());
    let rest = &task[start..];
    let end = ["WHERE:", "RETURN:", "WHAT TO RETURN", "<context>", "Context:", "<system-reminder>"]
        .iter()
        .filter_map(|mark| rest.find(mark))
        .min();
    let end = end.filter(|end| *end > 0).unwrap_or(rest.len());
    rest[..end].trim()
}
