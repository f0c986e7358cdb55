//! `Write`: creates a file, or replaces one that was read.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::file::change::{Change, FileBefore, before, is_crlf, make_change, plan_change};
use super::file::path::{ResolvedPath, title};
use super::{EditorFiles, LanguageServers, Plan, Tool, ToolContext, ToolOutput};
use crate::permission::ToolKind;

pub(super) struct Write(pub(super) LanguageServers, pub(super) EditorFiles);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteInput {
    /// File to write, absolute or relative to the working directory.
    file_path: String,
    /// The whole content.
    content: String,
}

impl Tool for Write {
    type Input = WriteInput;
    type Prepared = (ResolvedPath, WriteInput);

    const NAME: &'static str = "Write";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/Write.md");
    const KIND: ToolKind = ToolKind::Write;

    fn title(&self, input: &WriteInput, context: &ToolContext) -> String {
        title(&input.file_path, context)
    }

    async fn prepare(&self, input: WriteInput, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        let (plan, prepared) = plan_change(input.file_path.clone(), input, context, change).await?;
        Ok((self.1.planned(plan, prepared.0.place(), context).await, prepared))
    }

    async fn run(&self, prepared: Self::Prepared, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let note = self.1.guard(prepared.0.place(), context).await?;
        let output = make_change(prepared, context, change).await?;
        Ok(self.0.checked(output.noting(note), context).await)
    }
}

fn change(path: &Path, input: &WriteInput, context: &ToolContext) -> Result<Change, ToolOutput> {
    let before = before(path, context)?;
    let old = before.as_ref().and_then(FileBefore::text);
    let (after, note) = in_style_of(old.unwrap_or_default(), input.content.clone());
    Ok(Change { path: path.to_path_buf(), before, after, note, tool: Write::NAME })
}

/// Gives the new content the line ends and the byte order mark of the old one. `Read` shows neither, so a model that
/// leaves them out does not mean to change them.
fn in_style_of(old: &str, mut new: String) -> (String, &'static str) {
    let mut note = "";
    if is_crlf(old) && !new.contains('\r') && new.contains('\n') {
        new = new.replace('\n', "\r\n");
        note = " Line endings stay CRLF.";
    }
    if old.starts_with('\u{feff}') && !new.starts_with('\u{feff}') {
        new.insert(0, '\u{feff}');
    }
    (new, note)
}
