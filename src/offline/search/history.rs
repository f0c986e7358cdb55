//! What git tells: the latest commits, of the whole project or of one file or folder.
//!
//! Owns the git commands and the form of commits. Leaves finding what a name means to the tools. Invariant: only commands
//! that run without approval, so no shell quoting, and paths only of signs that need none.

use super::symbols;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, quotable};
use crate::offline::text::terms::Terms;
use crate::offline::text::{clip, contains_any};

const GIT: &str = "git log --no-color --format=%h,%ad,%an,%s --date=short";

/// The recent history of the project, or of the file or folder that a question names or means.
#[derive(Debug, Default)]
pub(crate) struct GitHistory {
    place: Option<Terms>,
}

const CHANGES: &str = "changed recently|changed lately|recently changed|changed last|changes in |changes to |changed in |\
    history of |log of |log for ";

impl GitHistory {
    /// Reads a question that asks what changed in a place that it names.
    pub(crate) fn wanted(question: &str) -> Option<Self> {
        let place = Terms::of(question).without("chang changes recent late lately last histor log commit touch updat");
        let lower = question.to_lowercase();
        let is_named = !place.paths.is_empty();
        let asks = contains_any(&lower, CHANGES) || is_named && contains_any(&lower, "changed|log |history");
        // Else it is asked how the program changes something.
        let is_other = !is_named && contains_any(&lower, "how |where |does ");
        (asks && !is_other && !place.is_empty()).then_some(Self { place: Some(place) })
    }

    fn looks(&self) -> Vec<PlannedCall> {
        let Some(place) = &self.place else { return Vec::new() };
        let named = place.paths.iter().map(|path| format!("**/{}", path.trim_matches('/')));
        let globs = named.take(2).map(|pattern| PlannedCall::glob(&pattern));
        let search = (place.count() > 0).then(|| symbols::definitions(&place.query(), None, 3));
        globs.chain(search).collect()
    }

    /// Returns the file or folder that is meant.
    fn path(&self, evidence: &Evidence) -> Option<String> {
        let (globs, searches): (Vec<_>, Vec<_>) = self.looks().into_iter().partition(|call| call.name == "Glob");
        let named = globs.iter().flat_map(|call| evidence.paths(call));
        let named = named.min_by_key(|path| (path.matches('/').count(), path.clone()));
        let folder = || self.place.as_ref()?.paths.first().filter(|path| path.contains('/')).cloned();
        let found = || Some(symbols::entries(searches.first()?, evidence).into_iter().next()?.path);
        let path = named.or_else(folder).or_else(found)?;
        let is_plain = path.chars().all(|c| c.is_alphanumeric() || "_-./+".contains(c));
        (is_plain && !path.starts_with(['/', '-']) && !path.contains("..")).then_some(path)
    }

    fn log(&self, evidence: &Evidence) -> Option<PlannedCall> {
        if self.place.is_none() {
            return Some(PlannedCall::bash(&format!("{GIT} -n 12"), "List the latest commits"));
        }
        let path = self.path(evidence)?;
        Some(PlannedCall::bash(&format!("{GIT} -n 8 -- {path}"), "Commits that touched the place"))
    }
}

impl AnswerPart for GitHistory {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(self.looks()),
            1 => Some(self.log(evidence).into_iter().collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let say = |summary: String| Report { summary, ..Report::default() };
        let Some(call) = self.log(evidence) else {
            let names = self.place.as_ref().map(Terms::names).unwrap_or_default();
            return say(format!("Nothing in the files matches {names}."));
        };
        let said = evidence.find(&call).map(|exchange| exchange.output.as_str()).unwrap_or_default();
        let commits: Vec<Commit<'_>> = said.lines().filter_map(Commit::read).collect();
        let path = self.path(evidence).filter(|_| self.place.is_some());
        let summary = match (commits.first(), path) {
            (Some(last), Some(path)) => format!("`{path}` was last changed by {}.", last.sentence()),
            (Some(last), None) => format!("The latest commit is {}.", last.sentence()),
            (None, _) if said.contains("not a git repository") => "This is not a git repository.".to_owned(),
            (None, _) if said.contains("does not have any commits") => "There is no commit yet.".to_owned(),
            (None, Some(path)) if evidence.output(&call).is_some() => {
                format!("Nothing certain: git knows no commit of `{path}`.")
            }
            (None, _) => "Nothing certain: git could not be asked.".to_owned(),
        };
        Report { findings: commits.iter().map(Commit::bullet).collect(), ..say(summary) }
    }
}

struct Commit<'t> {
    hash: &'t str,
    date: &'t str,
    author: &'t str,
    subject: &'t str,
}

impl<'t> Commit<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let mut fields = line.splitn(4, ',');
        let (hash, date, author, subject) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_hash = hash.len() >= 6 && hash.chars().all(|c| c.is_ascii_hexdigit());
        is_hash.then_some(Self { hash, date, author, subject })
    }

    fn bullet(&self) -> String {
        format!("- commit `{}` {} {}: {}", self.hash, self.date, self.author, quotable(self.subject))
    }

    fn sentence(&self) -> String {
        format!("`{}` of {} by {}, \"{}\"", self.hash, self.date, self.author, clip(self.subject, 100))
    }
}
