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
    #[serde(alias = "path", alias = "filePath", alias = "file")]
    file_path: String,
    /// Text to replace, exactly as in the file and without line numbers.
    #[serde(alias = "oldString", alias = "old_str")]
    old_string: String,
    /// Text to put in its place.
    #[serde(alias = "newString", alias = "new_str")]
    new_string: String,
    /// Replace every occurrence.
    #[serde(default, alias = "replaceAll")]
    replace_all: bool,
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

fn replaced(text: &str, input: &EditInput, shown: &str) -> Result<String, ToolOutput> {
    let passage = Passage::find(text, input);
    let hits = text.matches(&passage.old).count();
    match hits {
        0 => Err(ToolOutput::error(not_found(text, &input.old_string, shown))),
        1 => Ok(text.replacen(&passage.old, &passage.new, 1)),
        _ if input.replace_all => Ok(text.replace(&passage.old, &passage.new)),
        _ => {
            let lines: Vec<String> = text
                .match_indices(&passage.old)
                .take(10)
                .map(|(at, _)| (memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1).to_string())
                .collect();
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
