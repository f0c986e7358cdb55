//! What one agent has been given of memory files in its conversation.
//!
//! Owns the words around the files, and what has changed since. Leaves finding files to `find`, and when to look to `agent`.
//! Everything that reads blocks. Invariants: within a conversation the section of the prompt stays as it was made, and what
//! has changed follows in a message, because a service reads a request anew from the first byte that differs; a file of
//! its own is given once, and once more after what was said of it has become a summary; no file can end its own tag.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{MemoryFile, MemoryRead, MemoryReader};
use crate::message::{Diagnostic, escape_tags, sanitize_line, speaks, tag_name};

/// The tag around each file; its attributes `path` and `of` say which it is and whose.
pub const MEMORY_TAG: &str = "memory_file";
/// How a message begins that gives files anew.
const CHANGED: &str = "Memory changed: ";
/// How a message begins that gives files which belong to what the agent has read.
const JOINED: &str = "Memory added: ";

const INTRODUCTION: &str = include_str!("../../assets/prompts/memory.md");
/// Paths that an agent has touched and that are kept in mind.
const MAX_TOUCHED: usize = 10_000;

/// Returns `true` for a message that gives memory files in the middle of a conversation.
#[must_use]
pub fn gives_memory(message: &str) -> bool {
    message.starts_with(CHANGED) || message.starts_with(JOINED)
}

/// What one agent has been given; clones share it.
#[derive(Debug, Clone, Default)]
pub struct GivenMemory(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    reader: MemoryReader,
    state: Mutex<GivenState>,
}

#[derive(Debug, Default)]
struct GivenState {
    /// The section of the prompt, once it was made, and the files in it.
    section: Option<(Arc<str>, Vec<MemoryFile>)>,
    /// What the model has read last of each file.
    told: BTreeMap<PathBuf, MemoryFile>,
    /// What the agent has read and written since it was given everything.
    touched: BTreeSet<PathBuf>,
    said: HashSet<Diagnostic>,
    /// Whether the section was made, or all was forgotten, and nobody has looked since.
    is_new: bool,
    is_forgotten: bool,
}

/// What an agent is given between two requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryNews {
    /// Messages for the model. The first line of each is for the user, too.
    pub messages: Vec<String>,
    /// What could not be read and was not said before.
    pub diagnostics: Vec<Diagnostic>,
}

impl GivenMemory {
    /// Returns the memory of an agent that is given the files which a reader finds.
    #[must_use]
    pub fn new(reader: MemoryReader) -> Self {
        Self(Some(Arc::new(Shared { reader, state: Mutex::default() })))
    }

    /// Returns `true` for an agent that is given nothing.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the section of the prompt as it was made first, and what could not be read; empty if there is no file.
    pub fn section(&self) -> (Arc<str>, Vec<Diagnostic>) {
        let Some(shared) = &self.0 else { return Default::default() };
        if let Some((section, _)) = &shared.state().section {
            return (section.clone(), Vec::new());
        }
        let MemoryRead { files, diagnostics, .. } = shared.reader.read(&BTreeSet::new());
        let section: Arc<str> = section_of(&files).into();
        let mut state = shared.state();
        state.told = files.iter().map(|file| (file.path.clone(), file.clone())).collect();
        state.section = Some((section.clone(), files));
        state.is_new = true;
        (section, state.unsaid(diagnostics))
    }

    /// Returns `true` if there is a reason to look: the user has spoken, or the agent has touched other files.
    pub fn is_due(&self, has_user_spoken: bool, touched: &BTreeSet<PathBuf>) -> bool {
        self.0.as_ref().is_some_and(|shared| {
            let state = shared.state();
            has_user_spoken || state.is_forgotten || !touched.is_subset(&state.touched)
        })
    }

    /// Looks at what has changed. Unless the user has spoken, only files count that belong to what was touched. `was_told`
    /// says that the conversation holds such news from before the section was made.
    pub fn news(&self, has_user_spoken: bool, touched: BTreeSet<PathBuf>, was_told: bool) -> MemoryNews {
        let Some(shared) = &self.0 else { return MemoryNews::default() };
        let looked_for = {
            let mut state = shared.state();
            let is_as_made = std::mem::take(&mut state.is_new) && !state.is_forgotten;
            if is_as_made && was_told {
                state.told.clear();
            } else if is_as_made && touched.is_empty() {
                return MemoryNews::default();
            }
            state.touched.extend(touched);
            if state.touched.len() > MAX_TOUCHED {
                state.touched.clear();
            }
            state.touched.clone()
        };
        let MemoryRead { files, diagnostics, .. } = shared.reader.read(&looked_for);
        let mut state = shared.state();
        let is_whole = has_user_spoken || std::mem::take(&mut state.is_forgotten);
        let messages = state.compare(&files, is_whole, &shared.reader.project);
        MemoryNews { messages, diagnostics: state.unsaid(diagnostics) }
    }

    /// Notes that what followed the prompt has become a summary: what the prompt does not hold is given again.
    pub fn forget_news(&self) {
        let Some(shared) = &self.0 else { return };
        let mut state = shared.state();
        let made = state.section.iter().flat_map(|(_, files)| files.iter());
        state.told = made.map(|file| (file.path.clone(), file.clone())).collect();
        state.touched.clear();
        state.is_forgotten = true;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, GivenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GivenState {
    /// Compares what is there with what the model has read, and says what differs.
    fn compare(&mut self, files: &[MemoryFile], is_whole: bool, project: &Path) -> Vec<String> {
        let known = |file: &MemoryFile| self.told.get(&file.path);
        let (joined, other): (Vec<_>, Vec<_>) =
            files.iter().cloned().partition(|file| file.is_nested && known(file).is_none());
        let changed: Vec<MemoryFile> =
            other.into_iter().filter(|file| known(file).is_none_or(|told| told.text != file.text)).collect();
        let is_there = |path: &PathBuf| files.iter().any(|file| file.path == *path);
        let gone: Vec<PathBuf> = self.told.keys().filter(|path| !is_there(path)).cloned().collect();
        let mut messages = Vec::new();
        if is_whole && !(changed.is_empty() && gone.is_empty()) {
            messages.push(changes(&changed, &gone, project));
            self.told.retain(|path, _| !gone.contains(path));
            self.told.extend(changed.into_iter().map(|file| (file.path.clone(), file)));
        }
        if !joined.is_empty() {
            messages.push(additions(&joined, project));
            self.told.extend(joined.into_iter().map(|file| (file.path.clone(), file)));
        }
        messages
    }

    fn unsaid(&mut self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        diagnostics.into_iter().filter(|diagnostic| self.said.insert(diagnostic.clone())).collect()
    }
}

fn section_of(files: &[MemoryFile]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!("{}\n{}", INTRODUCTION.trim_end(), elements(files))
}

fn changes(changed: &[MemoryFile], gone: &[PathBuf], project: &Path) -> String {
    let removed = |path: &PathBuf| format!("{} (removed)", shown(path, project));
    let names: Vec<String> =
        changed.iter().map(|file| shown(&file.path, project)).chain(gone.iter().map(removed)).collect();
    let mut text = format!("{CHANGED}{}.\n", names.join(", "));
    if !changed.is_empty() {
        let _ = write!(text, "\nFrom now on these files hold as they stand here:\n{}", elements(changed));
    }
    if !gone.is_empty() {
        let paths: Vec<String> = gone.iter().map(|path| attribute(&path.to_string_lossy())).collect();
        let _ = write!(text, "\nNo longer there, and no longer to be followed: {}", paths.join(", "));
    }
    text
}

fn additions(joined: &[MemoryFile], project: &Path) -> String {
    let names: Vec<String> = joined.iter().map(|file| shown(&file.path, project)).collect();
    let words = "These memory files are about files that you have opened; they hold like those in your instructions:";
    format!("{JOINED}{}.\n\n{words}\n{}", names.join(", "), elements(joined))
}

fn elements(files: &[MemoryFile]) -> String {
    let mut text = String::new();
    for file in files {
        let (path, of) = (attribute(&file.path.to_string_lossy()), file.owner.words());
        let words = escape_tags(file.text.trim(), |piece| speaks(piece) || is_ours(piece));
        let _ = write!(text, "\n<{MEMORY_TAG} path=\"{path}\" of=\"{of}\">\n{words}\n</{MEMORY_TAG}>\n");
    }
    text
}

/// Returns `true` for a tag by which the program sets apart what stands in a prompt.
fn is_ours(piece: &str) -> bool {
    [MEMORY_TAG, "memory"].iter().any(|tag| tag_name(piece).eq_ignore_ascii_case(tag))
}

/// Returns a name that somebody else may have chosen, such that it does not end the attribute that it stands in.
fn attribute(name: &str) -> String {
    sanitize_line(name).replace(['"', '<', '>'], "_")
}

/// Returns a file's path for a line: below the project, if it lies there.
fn shown(path: &Path, project: &Path) -> String {
    attribute(&path.strip_prefix(project).unwrap_or(path).to_string_lossy())
}
