//! What one line of a project states: version, license, the version of the language, entry points, what it is.
//!
//! Owns what such lines look like. Leaves dependencies to `dependencies`. Invariant: a line is quoted as it stands; what no
//! line states is said to be uncertain.

use std::collections::BTreeMap;

use super::manifest;
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, quotable, safe};
use crate::offline::request::Topic;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::{lists, sentence};

/// One topic that lines state.
#[derive(Debug)]
pub(crate) struct StatedFacts(pub(crate) Topic);

/// Lines looked at, and listed.
const MOST: usize = 60;
const LISTED: usize = 6;
const READMES: &str = "{README,Readme,readme}*";

/// Which lines state it, each pattern in certain files, those first that are surest; how the answer begins; what is said
/// where no line does.
type Row = (&'static [(&'static str, &'static str)], &'static str, &'static str);

const VERSION: Row = (
    &[
        (
            r#"^\s*[\w.]*"?(version|version_name)"?( \w+)? ?[=:] *["']?v?[0-9]|^\s*<version>[0-9]|^ac_init\(|^\s*(project\(.*)?\bversion:? '?[0-9]"#,
            "**/{MANIFESTS}",
        ),
        (r"^v?[0-9]+\.[0-9.]+", "{VERSION,VERSION.txt,version.txt,.version}"),
        (r#"^\s*(export const |const |pub const |var )?(__version__|version)\b[^=:]*[:=] *['"]?v?[0-9]+\."#, "**/*"),
    ],
    "The version is stated at",
    "Nothing certain: no manifest and no constant states a version.",
);
const LICENSE: Row = (
    &[
        (r#"^\s*[\w.]*"?licenses?"? ?[=:] *[\["'{]*[a-z]|<name>.*licen[sc]e"#, "**/{MANIFESTS}"),
        (
            r"(mit|apache|affero general public|lesser general public|general public|mozilla public|isc) licen[sc]e|^redistribution and use|cc0 1\.0|free and unencumbered|permission (is hereby granted|to use)",
            "{LICENSE,LICENCE,COPYING}*",
        ),
    ],
    "The license is stated at",
    "Nothing certain: no manifest states a license, and no file does in words that I know.",
);
const TOOLCHAIN: Row = (
    &[
        (
            r#"^(rust-version|requires-python|go [0-9])|required_ruby_version|python_requires|^\s*"(node|php)":"#,
            "**/{MANIFESTS}",
        ),
        ("^edition", "**/Cargo.toml"),
    ],
    "The required version is stated at",
    "Nothing certain: no manifest says which version it needs.",
);
const ENTRY_POINTS: Row = (
    &[
        (
            r#"^\s*["']?[\w-]+ ?= ?["']?[\w.]+:\w+|^\[\[bin\]\]|^ {2,4}"(bin|main)":"#,
            "**/{setup.cfg,setup.py,pyproject.toml,Cargo.toml,package.json}",
        ),
        (
            r"^\s*(pub )?(async )?fn main\(|^if __name__ ==|^func main\(|public static void main|^int main\(|^def main\(",
            "**/*",
        ),
    ],
    "A run begins at",
    "I found nothing certain: no manifest names an entry point, and there is no main function. It looks like a library.",
);
const ABOUT: Row = (
    &[(r#"^\s*[\w.]*"?(description|summary)"? ?[=:] *["'\w]|^\s*<description>"#, "**/{MANIFESTS}"), VERSION.0[0]],
    "The manifest says at",
    "No README and no manifest says what the project is.",
);

impl StatedFacts {
    fn row(&self) -> Row {
        match self.0 {
            Topic::Version => VERSION,
            Topic::License => LICENSE,
            Topic::Toolchain => TOOLCHAIN,
            Topic::EntryPoints => ENTRY_POINTS,
            _ => ABOUT,
        }
    }

    fn calls(&self) -> Vec<PlannedCall> {
        let call = |(pattern, files): &(&str, &str)| {
            PlannedCall::grep_in(pattern, &files.replace("{MANIFESTS}", &manifest::names()), MOST)
        };
        self.row().0.iter().map(call).collect()
    }

    /// Returns the lines, the surest first.
    fn lines(&self, evidence: &Evidence) -> Vec<CitedPlace> {
        let of = |call: &PlannedCall| {
            let mut hits = evidence.hits(call, "says");
            // An example begins a run too, where nothing else does.
            hits.retain(|hit| !matches!(paths::area(&hit.path), Area::Foreign | Area::Test));
            hits.retain(|hit| {
                !hit.path.ends_with("build.rs") && !lists("doc docs", hit.path.split('/').next().unwrap_or(""))
            });
            let indent = |hit: &CitedPlace| hit.text.len() - hit.text.trim_start().len();
            let is_example = |hit: &CitedPlace| paths::area(&hit.path) == Area::Example;
            hits.sort_by_key(|hit| {
                let depth = hit.path.matches('/').count();
                (is_example(hit), depth, manifest::row(&hit.path), hit.path.clone(), indent(hit), hit.line)
            });
            hits
        };
        // What a project is takes a line of each kind; of all else one kind is surer than the next.
        let most = if self.0 == Topic::About { 1 } else { MOST };
        let mut lines: Vec<CitedPlace> = self.calls().iter().flat_map(|call| of(call).into_iter().take(most)).collect();
        let is_source = |hit: &CitedPlace| matches!(paths::area(&hit.path), Area::Source | Area::Setting | Area::Doc);
        if lines.iter().any(is_source) {
            lines.retain(is_source);
        }
        lines
    }
}

impl AnswerPart for StatedFacts {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let readme = PlannedCall::glob(READMES);
        match n {
            0 => Some(self.calls().into_iter().chain((self.0 == Topic::About).then_some(readme)).collect()),
            1 => Some(evidence.paths(&readme).iter().take(1).map(|path| PlannedCall::read_part(path, 1, 60)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let (_, lead, nothing) = self.row();
        let lines = self.lines(evidence);
        // The same evidence may serve other topics, too.
        let readmes = if self.0 == Topic::About { evidence.paths(&PlannedCall::glob(READMES)) } else { Vec::new() };
        let readme = readmes.into_iter().next().and_then(|path| {
            let (line, text) = first_paragraph(&evidence.lines_of(&path))?;
            Some(format!("The README says (`{path}:{line}`): {}.", safe(&sentence(&text, 300))))
        });
        let stated = lines.first().map(|line| format!("{lead} {}: `{}`.", line.cite(), quotable(&line.text)));
        let summary = readme.or(stated).unwrap_or_else(|| nothing.to_owned());
        // A version or a license has one line, and others like it are of other things.
        let listed = if matches!(self.0, Topic::Version | Topic::License) { 1 } else { LISTED };
        let findings = lines.iter().take(listed).map(CitedPlace::bullet).collect();
        Report { summary, findings }
    }
}

/// Returns the first paragraph of prose, and not of marks, badges and headings.
fn first_paragraph(lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    // A short line says something if it ends as a sentence does.
    let is_prose = |text: &str| {
        let least = if text.trim_end().ends_with('.') { 2 } else { 4 };
        text.starts_with(char::is_alphanumeric) && text.split(' ').count() >= least
    };
    let (first, _) = lines.iter().find(|(_, line)| is_prose(line))?;
    let paragraph = lines.range(first..).map(|(_, line)| line.trim()).take_while(|line| !line.is_empty());
    Some((*first, paragraph.collect::<Vec<_>>().join(" ")))
}
