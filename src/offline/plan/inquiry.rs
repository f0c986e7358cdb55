//! The parts that answer a request, done by one agent.
//!
//! Owns the choice of parts, and what of a task tells what to look for. Leaves searching and reading to the parts.

use super::answer::{decline, help, unclear};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::project::files::Files;
use crate::offline::report::{AnswerPart, Report};
use crate::offline::request::{self, Intent};
use crate::offline::search;
use crate::offline::text::lists;
use crate::offline::text::terms::Terms;

/// One or more parts that proceed side by side.
pub(crate) struct Inquiry {
    parts: Vec<Box<dyn AnswerPart>>,
    /// Said first, where the request asks for more than rules can do.
    caveat: String,
}

impl Inquiry {
    /// Returns the parts that do the task of a subagent.
    pub(crate) fn of_task(task: &str) -> Self {
        let what = what(task);
        Self::of(request::read(what), what)
    }

    /// Returns the parts that answer a request.
    pub(crate) fn of(intent: Intent, text: &str) -> Self {
        let say = |summary| Box::new(Report { summary, ..Report::default() });
        let part: Box<dyn AnswerPart> = match intent {
            Intent::Overview { .. } => return Self { parts: project::overview(), caveat: String::new() },
            Intent::Many(items) => {
                let parts = items.iter().flat_map(|item| Self::of(request::read(item), item).parts).collect();
                return Self { parts, caveat: String::new() };
            }
            Intent::Partly { first, what } => {
                return Self { caveat: decline(what), ..Self::of(request::read(&first), &first) };
            }
            Intent::Help => say(help()),
            Intent::Decline { what } => say(decline(what)),
            Intent::Topic(topic) => project::part(topic, text),
            Intent::Files { glob } => Box::new(Files::new(&glob)),
            Intent::Direct(direct) => Box::new(direct),
            Intent::Question(question) if Terms::of(&question).is_empty() => say(unclear()),
            Intent::Question(question) => search::best(&subject(&question)),
        };
        Self { parts: vec![part], caveat: String::new() }
    }

    /// Returns a text below the sentence on what rules cannot do, if there is one.
    pub(crate) fn with_caveat(&self, text: &str) -> String {
        format!("{}\n\n{text}", self.caveat).trim().to_owned()
    }
}

impl AnswerPart for Inquiry {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let stages: Vec<Vec<PlannedCall>> = self.parts.iter().filter_map(|part| part.stage(n, evidence)).collect();
        (!stages.is_empty()).then(|| stages.concat())
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let report = Report::join(self.parts.iter().map(|part| part.report(evidence)).collect());
        Report { summary: self.with_caveat(&report.summary), ..report }
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
    let kept = sentences.iter().copied().filter_map(|sentence| {
        let (first, rest) = sentence.split_once(' ').unwrap_or((sentence, ""));
        let first = first.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        (!lists(MANNERS, &first)).then_some(if lists(LOOKING, &first) { rest } else { sentence })
    });
    let subject = kept.collect::<Vec<_>>().join(". ");
    if sentences.len() < 2 || Terms::of(&subject).is_empty() { task.to_owned() } else { subject }
}

/// Returns the part of a task that says what to look into.
fn what(task: &str) -> &str {
    let rest = task.split_once("WHAT:").map_or(task, |(_, rest)| rest);
    let marks = ["WHERE:", "RETURN:", "WHAT TO RETURN", "<context>", "Context:", "<system-reminder>"];
    let end = marks.iter().filter_map(|mark| rest.find(mark)).min().filter(|end| *end > 0);
    rest[..end.unwrap_or(rest.len())].trim()
}
