//! What `Symbols` reads from each language, against what stands in the fixtures: names, lines and kinds.
//!
//! `tests/fixtures/symbols` has one file a language with the forms that are easily misread, and beside each its
//! definitions in the form of ctags. Those lists were taken from the tool's own answer and then read against the file, so
//! they hold what is right in place; they are no second opinion. Bodies on the line of their head are not in them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::json;

use super::Bench;

/// The share of definitions that each language has to reach, in percent.
const GOAL: usize = 95;

fn fixtures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/symbols");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().unwrap() != "tags").collect();
    files.sort();
    files
}

/// Returns name, line and kind of each definition in a file of tags.
fn tags(text: &str) -> BTreeSet<(String, usize, String)> {
    let tag = |line: &str| {
        let mut fields = line.split('\t');
        let (name, _, place) = (fields.next()?.to_owned(), fields.next()?, fields.next()?);
        Some((name, place.trim_end_matches(";\"").parse().ok()?, fields.next()?.to_owned()))
    };
    text.lines().map(|line| tag(line).unwrap()).collect()
}

/// Returns the same of an outline, without what is said of the file itself.
fn outline(text: &str) -> BTreeSet<(String, usize, String)> {
    let entry = |line: &str| {
        let (place, rest) = line.split_once("  ")?;
        let (kind, rest) = rest.split_once(' ')?;
        let line = place.rsplit_once(':')?.1.parse().ok()?;
        Some((rest.to_owned(), line, kind.to_owned()))
    };
    text.lines().filter_map(entry).filter(|(.., kind)| kind != "file").collect()
}

#[tokio::test]
async fn each_language_is_read_as_its_fixture_says() {
    let mut report = String::new();
    let files = fixtures();
    assert!(files.len() >= 15, "{files:?}");
    for path in files {
        let bench = Bench::new();
        let name = path.file_name().unwrap().to_str().unwrap();
        bench.put(name, std::fs::read(&path).unwrap());
        let wanted = tags(&std::fs::read_to_string(path.with_file_name(format!("{name}.tags"))).unwrap());
        let found = outline(&bench.text("Symbols", json!({"path": name, "limit": 500})).await);
        // An entry says `Owner.name: signature`; a name may have colons and dots itself.
        let is_of = |entry: &str, name: &str| {
            let after = |rest: &str| rest.is_empty() || rest.starts_with(": ");
            let owned = entry.match_indices('.').any(|(at, _)| entry[at + 1..].strip_prefix(name).is_some_and(after));
            owned || entry.strip_prefix(name).is_some_and(after)
        };
        let has = |(name, line, kind): &&(String, usize, String)| {
            found.iter().any(|(entry, at, what)| at == line && what == kind && is_of(entry, name))
        };
        let right = wanted.iter().filter(has).count();
        let share = 100 * right / wanted.len();
        let extra = found.len().saturating_sub(right);
        let _ = writeln!(report, "{name}: {right} of {} ({share} %), {extra} more", wanted.len());
        let missing: Vec<_> = wanted.iter().filter(|tag| !has(tag)).collect();
        assert!(share >= GOAL, "{name}: {share} %; missing {missing:?}\n{report}");
        assert!(extra * 20 <= wanted.len(), "{name}: {extra} that are none\n{found:?}");
    }
}
