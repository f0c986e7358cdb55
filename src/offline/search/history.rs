//! What git tells: the latest commits, of the whole project or of one file or folder.
//!
//! Owns the git commands and the form of commits. Leaves finding what a name means to the tools. Invariant: only commands
//! that run without approval, so no shell quoting, and paths only of signs that need none.

use super::symbols;
use crate::offline::evidence::{Evidence, NotYet, PlannedCall};
use crate::offline::report::{Report, Reported, quotable};
use crate::offline::text::terms::Terms;
use crate::offline::text::{clip, contains_any};

const GIT: &str = "git log --no-color --format=%h,%ad,%an,%s --date=short";

const CHANGES: &str = "changed recently|changed lately|recently changed|changed last|changes in |changes to |changed in |\
    history of |log of |log for ";

/// Answers a question that asks what changed in a place that it names.
pub(super) fn answer_of_place(question: &str, evidence: &Evidence) -> Option<Reported> {
    let place = Terms::of(question).without("chang changes recent late lately last histor log commit touch updat");
    let lower = question.to_lowercase();
    let is_named = !place.paths.is_empty();
    let asks = contains_any(&lower, CHANGES) || is_named && contains_any(&lower, "changed|log |history");
    // Else it is asked how the program changes something.
    let is_other = !is_named && contains_any(&lower, "how |where |does ");
    (asks && !is_other && !place.is_empty()).then(|| match path(&place, evidence)? {
        Some(path) => log(Some(path), evidence),
        None => Ok(Report::say(format!("Nothing in the files matches {}.", place.names()))),
    })
}

/// Returns the file or folder that is meant.
fn path(place: &Terms, evidence: &Evidence) -> Result<Option<String>, NotYet> {
    let glob = |path: &String| PlannedCall::glob(&format!("**/{}", path.trim_matches('/')));
    let globs: Vec<PlannedCall> = place.paths.iter().take(2).map(glob).collect();
    let search = (place.count() > 0).then(|| symbols::definitions(&place.query(), "", 3));
    evidence.ask(globs.iter().chain(&search).cloned())?;
    let named = globs.iter().flat_map(|call| evidence.paths(call));
    let named = named.min_by_key(|path| (path.matches('/').count(), path.clone()));
    let folder = || place.paths.first().filter(|path| path.contains('/')).cloned();
    let found = || Some(symbols::places(search.as_ref()?, evidence).into_iter().next()?.path);
    let is_plain = |path: &String| {
        let is_known = path.chars().all(|c| c.is_alphanumeric() || "_-./+".contains(c));
        is_known && !path.starts_with(['/', '-']) && !path.contains("..")
    };
    Ok(named.or_else(folder).or_else(found).filter(is_plain))
}

/// Tells the recent history of a file or folder, or of the whole project.
pub(crate) fn log(path: Option<String>, evidence: &Evidence) -> Reported {
    let call = match &path {
        Some(path) => PlannedCall::bash(&format!("{GIT} -n 8 -- {path}"), "Commits that touched the place"),
        None => PlannedCall::bash(&format!("{GIT} -n 12"), "List the latest commits"),
    };
    evidence.ask([call.clone()])?;
    let said = evidence.find(&call).map(|exchange| exchange.output.as_str()).unwrap_or_default();
    let commits: Vec<Commit<'_>> = said.lines().filter_map(Commit::read).collect();
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
    Ok(Report::new(summary, commits.iter().map(Commit::bullet).collect()))
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
