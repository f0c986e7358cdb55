//! The offline model as a subagent: from a task to a report.
//!
//! Owns the choice of inquiry and the parts it has. Leaves searching and reading to the parts. Invariant: the last words
//! always carry a `<summary>`.

use super::AnswerPlan;
use super::answer::{decline, help, unclear};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::project::files::Files;
use crate::offline::report::{AnswerPart, Report};
use crate::offline::request::{self, Intent};
use crate::offline::search;
use crate::offline::text::terms::Terms;
use crate::offline::text::{lists, sentence};

struct Reporting {
    inquiry: Inquiry,
    opening: String,
}

/// Chooses the inquiry for the task of a subagent.
pub(crate) fn choose(evidence: &Evidence) -> Box<dyn AnswerPlan> {
    let what = what(evidence.task());
    let inquiry = Inquiry::of(request::read(what), what);
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

/// An answer that needs no tool.
struct FixedAnswer(String);

impl AnswerPart for FixedAnswer {
    fn stage(&self, _n: usize, _evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        None
    }

    fn report(&self, _evidence: &Evidence) -> Report {
        Report { summary: self.0.clone(), ..Report::default() }
    }
}

/// One or more parts that proceed side by side.
pub(crate) struct Inquiry {
    parts: Vec<Box<dyn AnswerPart>>,
    /// Said first, where the request asks for more than rules can do.
    caveat: String,
}

impl Inquiry {
    /// Returns the parts that answer a request, all done by one agent.
    pub(crate) fn of(intent: Intent, text: &str) -> Self {
        let part: Box<dyn AnswerPart> = match intent {
            Intent::Overview { .. } => return Self { parts: project::overview(), caveat: String::new() },
            Intent::Many(items) => {
                let parts = items.iter().flat_map(|item| Self::of(request::read(item), item).parts).collect();
                return Self { parts, caveat: String::new() };
            }
            Intent::Partly { first, what } => {
                return Self { caveat: decline(what), ..Self::of(request::read(&first), &first) };
            }
            Intent::Help => Box::new(FixedAnswer(help())),
            Intent::Decline { what } => Box::new(FixedAnswer(decline(what))),
            Intent::Topic(topic) => project::part(topic, text),
            Intent::Files { glob } => Box::new(Files::new(&glob)),
            Intent::Direct(direct) => Box::new(direct),
            Intent::Question(question) if Terms::of(&question).is_empty() => Box::new(FixedAnswer(unclear())),
            Intent::Question(question) => search::best(&subject(&question)),
        };
        Self { parts: vec![part], caveat: String::new() }
    }

    pub(crate) fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let stages: Vec<Vec<PlannedCall>> = self.parts.iter().filter_map(|part| part.stage(n, evidence)).collect();
        (!stages.is_empty()).then(|| stages.concat())
    }

    pub(crate) fn report(&self, evidence: &Evidence) -> Report {
        let mut report = Report::join(self.parts.iter().map(|part| part.report(evidence)).collect());
        let head = if report.answer.is_empty() { &mut report.summary } else { &mut report.answer };
        *head = self.with_caveat(std::mem::take(head));
        report
    }

    /// Returns a text below the sentence on what rules cannot do, if there is one.
    pub(crate) fn with_caveat(&self, text: String) -> String {
        if self.caveat.is_empty() { text } else { format!("{}\n\n{text}", self.caveat) }
    }
}

/// Sentences that begin so tell how to report, not what to look for.
const MANNERS: &str = "return report provide include respond be give make do you your please keep format";

/// First words that only say to look.
const LOOKING: &str = "explore search investigate identify locate determine analyze analyse examine find";

/// Returns what a task in anyone's words is about: its sentences without those on how to report.
fn subject(task: &str) -> String {
    let sentences = task.split(['\n', '!']).flat_map(|line| line.split(". ")).map(str::trim);
    let sentences: Vec<&str> = sentences.filter(|sentence| !sentence.is_empty()).collect();
    if sentences.len() < 2 {
        return task.to_owned();
    }
    let mut kept = Vec::new();
    for sentence in sentences {
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
