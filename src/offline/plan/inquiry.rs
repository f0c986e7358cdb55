//! What answers a request, done by one agent.
//!
//! Owns which search or look answers it, and what of a task tells what to look for. Leaves searching and reading to those.

use super::answer::{decline, help, unclear};
use crate::offline::evidence::Evidence;
use crate::offline::project::{self, SIDES, files};
use crate::offline::report::{Report, Reported};
use crate::offline::request::{self, Intent};
use crate::offline::search;
use crate::offline::text::lists;
use crate::offline::text::terms::Terms;

/// Does the task of a subagent.
pub(crate) fn of_task(task: &str, evidence: &Evidence) -> Reported {
    let what = what(task);
    answer(&request::read(what), what, evidence)
}

/// Answers a request.
pub(crate) fn answer(intent: &Intent, text: &str, evidence: &Evidence) -> Reported {
    match intent {
        Intent::Overview { .. } => Report::join(SIDES.map(|(topic, ..)| project::answer(topic, "", evidence))),
        Intent::Many(items) => Report::join(items.iter().map(|item| answer(&request::read(item), item, evidence))),
        Intent::Partly { first, what } => {
            let report = answer(&request::read(first), first, evidence)?;
            Ok(Report { summary: format!("{}\n\n{}", decline(what), report.summary), ..report })
        }
        Intent::Help => Ok(Report::say(help())),
        Intent::Decline { what } => Ok(Report::say(decline(what))),
        Intent::Topic(topic) => project::answer(*topic, text, evidence),
        Intent::Files { glob } => files::answer(glob, evidence),
        Intent::Direct(direct) => direct.answer(evidence),
        Intent::Question(question) if Terms::of(question).is_empty() => Ok(Report::say(unclear())),
        Intent::Question(question) => search::best(&subject(question), evidence),
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
