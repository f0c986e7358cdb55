//! One change to one file, shared by the tools that write: what it would look like, and doing it.
//!
//! Owns the rule that an agent changes only what it has seen. Leaves the writing to `file` and the comparing to
//! `diff`, and the right to write to `writers`. Invariant: a change either happened as a whole and is reported, or did
//! not happen.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::copies::FileVersions;
use super::diff::{diff_asked, diff_files, tally};
use super::path::{ResolvedPath, lexical, relative};
use super::replace::replace;
use super::writers::as_only_writer;
use super::{FileError, look_at, open_regular};
use crate::message::{DiffLine, FileDiff, Hunk, LineKind};
use crate::permission::{AccessKind, Preview};
use crate::tool::blocking::off_thread;
use crate::tool::limit::{counted, size};
use crate::tool::{ChangeKind, FileChange, Knowledge, Plan, Stamp, ToolContext, ToolOutput, ToolView};

/// Bytes of a file that can be edited or compared.
pub(super) const MAX_BYTES: u64 = 16 << 20;

pub(in crate::tool) struct FileBefore {
    pub(in crate::tool) stamp: Stamp,
    /// Its bytes; `None` if there are too many.
    pub(in crate::tool) bytes: Option<Vec<u8>>,
}

impl FileBefore {
    pub(in crate::tool) fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes.as_deref()?).ok()
    }
}

pub(in crate::tool) struct Change {
    pub(in crate::tool) path: PathBuf,
    /// What is there now; `None` for a new file.
    pub(in crate::tool) before: Option<FileBefore>,
    pub(in crate::tool) after: String,
    /// What else the model is told; empty or a sentence after a blank.
    pub(in crate::tool) note: &'static str,
    pub(in crate::tool) tool: &'static str,
}

/// Reads the file that is to be changed. `Ok(None)` means that there is none.
///
/// # Errors
/// Fails for what is not a regular file, and for a file that the agent has not read as it is now.
pub(in crate::tool) fn before(path: &Path, context: &ToolContext) -> Result<Option<FileBefore>, ToolOutput> {
    let shown = relative(path, &context.cwd);
    let metadata = match look_at(path, &shown) {
        Err(FileError::Missing(_)) => return Ok(None),
        looked => looked?,
    };
    if metadata.nlink() > 1 {
        return Err(FileError::Linked(shown, metadata.nlink()).into());
    }
    match context.freshness.knowledge(path, Stamp::of(&metadata)) {
        Knowledge::Fresh => {}
        known => return Err(ToolOutput::error(refusal(&shown, &known))),
    }
    let (file, metadata) = open_regular(path, &shown)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| FileError::system(&shown, error))?;
    let bytes = (bytes.len() as u64 <= MAX_BYTES).then_some(bytes);
    Ok(Some(FileBefore { stamp: Stamp::of(&metadata), bytes }))
}

/// Says why an agent may not change a file that it does not know as it is, and who has changed it.
fn refusal(shown: &str, known: &Knowledge) -> String {
    match known {
        Knowledge::Unread(None) | Knowledge::Fresh => {
            format!("{shown} exists and has not been read. Read it before changing it.")
        }
        Knowledge::Unread(Some(written)) => format!(
            "{shown} was written by {} ({}) and you have not read it. Read it before you change it.",
            written.by,
            written.how()
        ),
        Knowledge::Stale(Some(written)) => format!(
            "{shown} was changed by {} since you read it ({}). Read it again before you edit it.",
            written.by,
            written.how()
        ),
        Knowledge::Stale(None) => format!(
            "{shown} changed on disk since you read it, by a command, the user or another program. Read it again \
             before you edit it."
        ),
    }
}

/// Returns `true` if most lines of a text end in CRLF.
pub(in crate::tool) fn is_crlf(text: &str) -> bool {
    text.matches("\r\n").count() * 2 > memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Works out the change that an input asks for to the file at a path.
pub(in crate::tool) type ChangeMaker<I> = fn(&Path, &I, &ToolContext) -> Result<Change, ToolOutput>;

/// Says what a change to the file at `raw` would write. A change that cannot be made as things are is no error yet: the
/// reason is only for agents that may read the file.
pub(in crate::tool) async fn plan_change<I: Send + 'static>(
    raw: String,
    input: I,
    context: &ToolContext,
    change: ChangeMaker<I>,
) -> Result<(Plan, (ResolvedPath, I)), ToolOutput> {
    off_thread(context, move |context| {
        let named = Some(lexical(&raw, &context.cwd));
        let path = ResolvedPath::new(raw, context)?;
        let plan = change(path.place(), &input, context)
            .map_or_else(|failure| hopeless(path.place().to_path_buf(), failure), Change::plan);
        Ok((Plan { named, ..plan }, (path, input)))
    })
    .await
}

/// Makes a change that was allowed. It is worked out anew: the file may be another since.
pub(in crate::tool) async fn make_change<I: Send + 'static>(
    (path, input): (ResolvedPath, I),
    context: &ToolContext,
    change: ChangeMaker<I>,
) -> Result<ToolOutput, ToolOutput> {
    as_only_writer(path, context, move |path, context| change(path, &input, context)?.apply(context)).await
}

fn hopeless(path: PathBuf, failure: ToolOutput) -> Plan {
    let preview = Some(Preview::Note { text: format!("This would fail: {}", failure.summary) });
    Plan { preview, failure: Some(failure), ..Plan::new(AccessKind::Write { path }) }
}

impl Change {
    fn plan(self) -> Plan {
        let preview = Some(Preview::Diff(self.asked()));
        Plan { preview, ..Plan::new(AccessKind::Write { path: self.path }) }
    }

    /// Returns all that would be written. What it takes the place of is named by its size where it is no text.
    fn asked(&self) -> FileDiff {
        let Some(before) = &self.before else { return diff_asked(&self.path, "", &self.after) };
        if let Some(old) = before.text() {
            return diff_asked(&self.path, old, &self.after);
        }
        let mut diff = diff_asked(&self.path, "", &self.after);
        let what = if before.bytes.is_some() { "of binary data" } else { "(too large to compare)" };
        let text = format!("{} {what}", size(before.stamp.len));
        diff.hunks.insert(0, Hunk { lines: vec![DiffLine { kind: LineKind::Removed, number: 1, text }] });
        diff.removed = 1;
        diff
    }

    fn apply(self, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let shown = relative(&self.path, &context.cwd);
        let diff = self.diff();
        let lines = counted(self.after.lines().count(), "line");
        if self.before.as_ref().is_some_and(|old| old.bytes.as_deref() == Some(self.after.as_bytes())) {
            return Ok(ToolOutput::text(
                format!("{shown} already has exactly this content; nothing was written."),
                "no change",
            ));
        }
        let expected = self.before.as_ref().map(|old| old.stamp);
        let writers = &context.freshness.writers;
        let copies = &writers.copies;
        let kept = self.before.as_ref().map(|old| copies.keep_before(&self.path, old.stamp, old.bytes.as_deref()));
        let stamp = writers.write(&self.path, self.after.as_bytes(), |bytes| {
            replace(&self.path, &shown, bytes, expected, &context.cancel)
        })?;
        context.freshness.note_write(&self.path, stamp, self.tool);
        let after = copies.keep_after(&self.path, stamp, self.after.as_bytes());
        let versions = match (kept, after) {
            (Some(None), _) | (_, None) => None,
            (before, after) => Some(FileVersions { before: before.flatten(), after, ..FileVersions::default() }),
        };
        let summary = diff.as_ref().map_or_else(|| self.blind_words(), tally);
        let (verb, kind) = match self.before {
            Some(_) => ("Changed", ChangeKind::Modified),
            None => ("Created", ChangeKind::Created),
        };
        let mut output = ToolOutput::text(format!("{verb} {shown} ({summary}; now {lines}).{}", self.note), summary);
        output.view = diff.map(ToolView::Diff);
        output.changes.push(FileChange { path: self.path, kind, versions });
        Ok(output)
    }

    /// Returns the difference, where both versions are text of a size that can be compared.
    fn diff(&self) -> Option<FileDiff> {
        let old = self.before.as_ref().map_or(Some(""), FileBefore::text)?;
        (self.after.len() as u64 <= MAX_BYTES).then(|| diff_files(&self.path, old, &self.after))
    }

    fn blind_words(&self) -> String {
        let old = self.before.as_ref().map_or(0, |before| before.stamp.len);
        format!("{} replaced by {}", size(old), size(self.after.len() as u64))
    }
}
