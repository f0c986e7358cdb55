//! `Edit`: replaces one passage of a file, or all of its occurrences.
//!
//! Owns finding the passage and saying why it was not found. Leaves the change itself to `change`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::file::change::{Change, before, is_crlf, make_change, plan_change};
use super::file::nearest::not_found;
use super::file::path::{ResolvedPath, relative, title};
use super::{EditorFiles, LanguageServers, Plan, Tool, ToolContext, ToolOutput};
use crate::permission::ToolKind;

pub(super) struct Edit(pub(super) LanguageServers, pub(super) EditorFiles);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditInput {
    /// File to change, absolute or relative to the working directory.
    file_path: String,
    /// Text to replace, exactly as in the file and without line numbers.
    old_string: String,
    /// Text to put in its place.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
    /// How often `old_string` has to occur, where the model says that.
    #[serde(default)]
    #[schemars(skip)]
    expected_replacements: Option<usize>,
    /// Whether `old_string` is whole lines, as in a patch: a part of a longer line is another line.
    #[serde(default)]
    #[schemars(skip)]
    whole_lines: bool,
}

impl Tool for Edit {
    type Input = EditInput;
    type Prepared = (ResolvedPath, EditInput);

    const NAME: &'static str = "Edit";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/Edit.md");
    const KIND: ToolKind = ToolKind::Write;

    fn title(&self, input: &EditInput, context: &ToolContext) -> String {
        title(&input.file_path, context)
    }

    async fn prepare(&self, input: EditInput, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        let (plan, prepared) = plan_change(input.file_path.clone(), input, context, change).await?;
        Ok((self.1.planned(plan, prepared.0.place(), context).await, prepared))
    }

    async fn run(&self, prepared: Self::Prepared, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let note = self.1.guard(prepared.0.place(), context).await?;
        let output = make_change(prepared, context, change).await?;
        Ok(self.0.checked(output.noting(note), context).await)
    }
}

fn change(path: &Path, input: &EditInput, context: &ToolContext) -> Result<Change, ToolOutput> {
    if input.old_string.is_empty() {
        return Err(ToolOutput::error("old_string is empty. Give the text to replace; to create a file, use Write."));
    }
    if input.old_string == input.new_string {
        return Err(ToolOutput::error("old_string and new_string are the same: there is nothing to change."));
    }
    let shown = relative(path, &context.cwd);
    let Some(old) = before(path, context)? else {
        return Err(ToolOutput::error(format!("{shown} does not exist. To create a file, use Write.")));
    };
    let Some(bytes) = &old.bytes else {
        return Err(ToolOutput::error(format!("{shown} is too large to edit here. Use Bash with sed or a script.")));
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(ToolOutput::error(format!("{shown} is not valid UTF-8 and an edit could damage it. Use Bash.")));
    };
    let after = replaced(text, input, &shown)?;
    Ok(Change { path: path.to_path_buf(), after, before: Some(old), note: "", tool: Edit::NAME })
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn replaced(text: &str, input: &EditInput, shown: &str) -> Result<String, ToolOutput> {
    let passage = Passage::find(text, input);
    let found: Vec<usize> = text.match_indices(&passage.old).map(|(at, _)| at).collect();
    let found: Vec<usize> =
        found.into_iter().filter(|at| !input.whole_lines || passage.is_lines_at(text, *at)).collect();
    let hits = found.len();
    // Who expects several means all of them.
    let is_all = input.replace_all || input.expected_replacements.is_some_and(|expected| expected > 1);
    if let Some(expected) = input.expected_replacements.filter(|expected| hits > 0 && *expected != hits) {
        return Err(ToolOutput::error(format!(
            "old_string occurs {} in {shown}, and not {expected} times: nothing was changed. Say which are meant.",
            times(hits)
        )));
    }
    match hits {
        0 => Err(ToolOutput::error(not_found(text, &input.old_string, shown))),
        1 => Ok([&text[..found[0]], passage.new.as_str(), &text[found[0] + passage.old.len()..]].concat()),
        _ if is_all => Ok(text.replace(&passage.old, &passage.new)),
        _ => {
            let number = |at: &usize| (memchr::memchr_iter(b'\n', &text.as_bytes()[..*at]).count() + 1).to_string();
            let lines: Vec<String> = found.iter().take(10).map(number).collect();
            Err(ToolOutput::error(format!(
                "old_string occurs {hits} times in {shown} (lines {}{}). Add surrounding lines until it is unique, or \
                 set replace_all.",
                lines.join(", "),
                if hits > lines.len() { ", …" } else { "" }
            )))
        }
    }
}

/// The passage and its replacement in the line ends of the file. Models write `\n`, whatever the file has.
struct Passage {
    old: String,
    new: String,
}

impl Passage {
    /// Returns `true` if the passage at this place of a text begins and ends with a line.
    fn is_lines_at(&self, text: &str, at: usize) -> bool {
        let (before, after) = (&text[..at], &text[at + self.old.len()..]);
        let is_end = self.old.ends_with('\n') || after.is_empty() || after.starts_with(['\n', '\r']);
        (before.is_empty() || before.ends_with('\n')) && is_end
    }

    fn find(text: &str, input: &EditInput) -> Self {
        let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        let as_given = Self { old: input.old_string.clone(), new: input.new_string.clone() };
        let as_windows = Self { old: crlf(&input.old_string), new: crlf(&input.new_string) };
        if is_crlf(text) {
            if text.contains(&as_windows.old) { as_windows } else { Self { new: as_windows.new, ..as_given } }
        } else if !text.contains(&as_given.old) && text.contains("\r\n") {
            as_windows
        } else {
            as_given
        }
    }
}
