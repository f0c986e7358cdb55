//! Copies of agents: the same text in the folder of another tier, or under another name in its own.
//!
//! Owns the name and the text of a copy. Leaves writing to `draft`. Invariant: a copy has the text of its original, but
//! for the name where that must differ, and no file is overwritten.

use std::path::{Path, PathBuf};

use super::{DraftError, Listed, Source, Tier, builtin, load, text_file, write_new};
use crate::whole_file::{WrittenFile, read_plain_text};

/// Copies of one agent in one folder.
const MOST: usize = 99;

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It is not in a file.
    #[error("`{0}` has no file to copy. Create a new agent instead.")]
    NoText(String),
    #[error("Cannot read {}: {error}. Check its permissions.", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    /// Its name cannot be changed by a program.
    #[error(
        "Cannot rename the copy: `name` in the file of `{0}` has an unusual form. Copy the file by hand, or \
             create a new agent."
    )]
    Unnameable(String),
    #[error(transparent)]
    Unwritten(#[from] DraftError),
}

/// Copies an agent into the folder of a tier and returns the new file. In another tier the copy keeps its name, so that
/// one of the two shadows the other; in its own it is called `name-copy`. Fails if there is no text to copy, or no file
/// to write it to.
pub fn duplicate(original: &Listed, tier: Tier, folder: &Path) -> Result<WrittenFile, CopyError> {
    let name = original.name();
    let text = text_of(original, &name)?;
    let stem = original.source.file_stem().map_or_else(|| name.clone(), str::to_owned);
    if original.source.tier != tier {
        return Ok(write_new(&folder.join(format!("{stem}.md")), &text)?);
    }
    let mut taken = None;
    for number in 1..=MOST {
        let suffix = if number == 1 { "-copy".to_owned() } else { format!("-copy-{number}") };
        let text = renamed(&text, &format!("{name}{suffix}")).ok_or_else(|| CopyError::Unnameable(name.clone()))?;
        match write_new(&folder.join(format!("{stem}{suffix}.md")), &text) {
            Err(DraftError::Exists(path)) => taken = Some(DraftError::Exists(path)),
            written => return Ok(written?),
        }
    }
    Err(taken.map_or_else(|| CopyError::NoText(name), CopyError::from))
}

fn text_of(original: &Listed, name: &str) -> Result<String, CopyError> {
    match &original.source {
        Source { path: Some(path), .. } => read_plain_text(path, text_file::MAX_BYTES)
            .map_err(|error| CopyError::Unreadable { path: path.clone(), error }),
        Source { tier: Tier::BuiltIn, .. } => {
            builtin::text_of(name).map(str::to_owned).ok_or_else(|| CopyError::NoText(name.to_owned()))
        }
        Source { .. } => Err(CopyError::NoText(name.to_owned())),
    }
}

/// Returns the text with another name in its head; `None` if the result does not read back under that name.
fn renamed(text: &str, name: &str) -> Option<String> {
    let field = format!("name: {}\n", serde_json::Value::from(name));
    let mut out = String::with_capacity(text.len() + field.len());
    let (mut fences, mut done) = (0, false);
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start_matches('\u{feff}').trim_end() == "---";
        if is_fence && fences == 1 && !done {
            out.push_str(&field);
            done = true;
        }
        fences += usize::from(is_fence);
        if fences == 1 && !done && line.starts_with("name:") {
            out.push_str(&field);
            done = true;
        } else {
            out.push_str(line);
        }
    }
    let read = load::parse(&out, Source { tier: Tier::BuiltIn, path: None });
    Some(out).filter(|_| read.definition.is_some_and(|definition| definition.name == name))
}
