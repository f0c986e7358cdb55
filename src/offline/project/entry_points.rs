//! Where a run of the project begins.
//!
//! Owns telling main functions. Leaves what manifests name to `manifest`. Invariant: names only what was read.

use super::manifest::{self, Kind};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report};
use crate::offline::text::paths::{self, Area};

#[derive(Debug)]
pub(crate) struct EntryPoints;

const MAINS: &str =
    "^\\s*(pub )?(async )?fn main\\(|^if __name__ ==|^func main\\(|public static void main|^int main\\(|^def main\\(";
/// Entry points listed.
const SHOWN: usize = 12;

impl AnswerPart for EntryPoints {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![manifest::manifests(), PlannedCall::grep(MAINS, 60)]),
            1 => Some(manifest::found(evidence).iter().map(|path| PlannedCall::read(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let named = manifest::stated(evidence).into_iter().filter(|(_, fact)| fact.kind == Kind::Binary);
        let named = named.map(|(path, fact)| place(path, fact.line, fact.value));
        let mut places: Vec<CitedPlace> = named.chain(main_functions(evidence)).collect();
        CitedPlace::keep_first(&mut places);
        let summary = match places.as_slice() {
            [] => "I found nothing certain: no manifest names an entry point, and there is no main function. It looks like \
                   a library."
                .to_owned(),
            [one] => format!("A run begins at `{}:{}`.", one.path, one.line),
            [first, rest @ ..] => {
                format!("A run begins at `{}:{}`; there are {} more entry points.", first.path, first.line, rest.len())
            }
        };
        let findings = places.iter().take(SHOWN).map(CitedPlace::bullet).collect();
        Report { summary, findings, answer: String::new() }
    }
}

fn place(path: String, line: usize, text: String) -> CitedPlace {
    CitedPlace { path, line, label: "entry point".to_owned(), text }
}

/// Returns the main functions, the outermost first; those of examples where there is no other.
fn main_functions(evidence: &Evidence) -> Vec<CitedPlace> {
    let mut hits = evidence.hits(&PlannedCall::grep(MAINS, 60));
    // An example begins a run too, where nothing else does.
    hits.retain(|hit| {
        matches!(paths::area(&hit.path), Area::Source | Area::Example) && !hit.path.ends_with("build.rs")
    });
    // In Java a main function is always in a class.
    hits.retain(|hit| !hit.text.starts_with("    ") || hit.text.contains("static void main"));
    hits.sort_by_key(|hit| (paths::area(&hit.path), hit.path.matches('/').count(), hit.path.clone(), hit.line));
    let first = hits.first().map(|hit| paths::area(&hit.path));
    hits.retain(|hit| Some(paths::area(&hit.path)) == first);
    hits.into_iter().map(|hit| place(hit.path, hit.line, hit.text)).collect()
}
