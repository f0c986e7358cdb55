//! Files as the user's editor has them open: with changes that are not saved.
//!
//! Owns when the editor is asked, and what its answer is worth. Leaves asking to whoever made the [`AskEditor`]. Invariants: it
//! is asked only about what an agent may read or change, once that is decided, and only below the project; an answer during which
//! the path may have led elsewhere is worth nothing; what is not saved is never written over.

use std::fmt;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use tokio::time::timeout;

use super::blocking::off_thread;
use super::file::open_regular;
use super::file::path::relative;
use super::{Plan, ToolContext, ToolOutput};

/// Asks the editor for the text of a file; `None` if it does not give it.
pub type AskEditor = Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// Bytes of a file that is compared.
const MAX_BYTES: usize = 4 << 20;
/// How long the editor may take. One that took longer is asked no more.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The clock by which file systems mark changes ticks slower than this.
const TICK: Duration = Duration::from_millis(100);

/// What the user's editor has open, if there is an editor. Clones ask the same one.
#[derive(Clone, Default)]
pub struct EditorFiles(Option<Arc<Shared>>);

impl fmt::Debug for EditorFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EditorFiles").field(&self.0.is_some()).finish()
    }
}

struct Shared {
    ask: AskEditor,
    is_deaf: AtomicBool,
}

/// What an editor has of a file.
pub(super) enum OpenText {
    /// Nothing that the disk does not have.
    Saved,
    /// This, which the disk does not have.
    Unsaved(String),
    Unanswered,
}

impl OpenText {
    /// Returns what the model is told beside the lines of a file.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Saved => None,
            Self::Unsaved(_) => Some(
                "[The user's editor has changes of this file that are not saved: these lines are from the editor, and differ \
                 from the disk. Nothing writes to the file before the user has saved it.]",
            ),
            Self::Unanswered => Some(
                "[The user's editor did not say whether it has changes of this file that are not saved; this is the file \
                 on the disk.]",
            ),
        }
    }
}

impl EditorFiles {
    #[must_use]
    pub fn new(ask: AskEditor) -> Self {
        Self(Some(Arc::new(Shared { ask, is_deaf: AtomicBool::new(false) })))
    }

    /// Asks the editor about a file that the agent may read. Of an agent that works apart it has nothing open.
    pub(super) async fn look(&self, path: &Path, context: &ToolContext) -> OpenText {
        let Some(shared) = self.0.as_ref().filter(|shared| !shared.is_deaf.load(Ordering::Relaxed)) else {
            return OpenText::Saved;
        };
        if context.project != context.origin || !path.starts_with(context.project.as_path()) {
            return OpenText::Saved;
        }
        let Some((disk, before)) = seen(path, context).await else { return OpenText::Saved };
        let asking = timeout(ANSWER_LIMIT, (shared.ask)(path.to_path_buf()));
        let answer = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return OpenText::Saved,
            answer = asking => answer,
        };
        let text = match answer {
            Ok(Some(text)) if text.len() <= 2 * MAX_BYTES => text,
            Ok(_) => return OpenText::Saved,
            Err(_) => {
                shared.is_deaf.store(true, Ordering::Relaxed);
                return OpenText::Unanswered;
            }
        };
        match seen(path, context).await {
            _ if plain(&text) == plain(&disk) => OpenText::Saved,
            // A link that stood there for a moment could have led the editor to what nobody may read.
            Some((same, after)) if after == before && same == disk => OpenText::Unsaved(text),
            _ => OpenText::Unanswered,
        }
    }

    /// Returns the plan of a change, which fails if the editor has changes of the file that are not saved.
    pub(super) async fn planned(&self, plan: Plan, path: &Path, context: &ToolContext) -> Plan {
        match self.guard(path, context).await {
            Ok(_) => plan,
            Err(failure) => Plan { failure: Some(failure), ..plan },
        }
    }

    /// Refuses a change of a file of which the editor has changes that are not saved. Returns what the model is told beside
    /// what came of it.
    pub(super) async fn guard(&self, path: &Path, context: &ToolContext) -> Result<Option<&'static str>, ToolOutput> {
        match self.look(path, context).await {
            OpenText::Unsaved(_) => Err(ToolOutput::error(format!(
                "{} has changes in the user's editor that are not saved. Nothing was written, so that they are not lost. Ask the \
                 user to save or to undo them, then read the file again.",
                relative(path, &context.cwd)
            ))),
            open => Ok(open.note()),
        }
    }
}

/// When, and as what, a file and the folders above it were last changed.
type Marks = Vec<(u64, u64, i64, i64)>;

/// Returns the text of a file and the marks of the way to it, up to the project; `None` if it is not compared. Marks that are
/// so fresh that another change could go unmarked are waited for once.
async fn seen(path: &Path, context: &ToolContext) -> Option<(String, Marks)> {
    for _ in 0..2 {
        let place = path.to_path_buf();
        let looked = off_thread(context, move |context| Ok(look_at(&place, context))).await.ok()?;
        let (text, marks, age) = looked?;
        if age > TICK {
            return Some((text, marks));
        }
        tokio::time::sleep(TICK).await;
    }
    None
}

fn look_at(path: &Path, context: &ToolContext) -> Option<(String, Marks, Duration)> {
    let (file, metadata) = open_regular(path, "").ok()?;
    if metadata.len() > MAX_BYTES as u64 {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_BYTES as u64).read_to_string(&mut text).ok()?;
    let mut marks = vec![(metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())];
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(context.project.as_path())) {
        let metadata = folder.symlink_metadata().ok()?;
        marks.push((metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let age = |(_, _, seconds, nanos): &(u64, u64, i64, i64)| {
        let at = Duration::new(u64::try_from(*seconds).unwrap_or(0), u32::try_from(*nanos).unwrap_or(0));
        now.saturating_sub(at)
    };
    let age = marks.iter().map(age).min()?;
    Some((text, marks, age))
}

/// Returns a text without what editors leave out: a byte order mark, carriage returns, and the line end at the end.
fn plain(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n").trim_end_matches('\n').to_owned()
}
