//! The pictures of one session, as files of its folder.
//!
//! Owns their numbers and files. Leaves what a picture is to `message`, and which are sent to `agent`. Invariants: a number
//! is never given twice, also when the session is continued; a picture that no folder can keep is held in memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;

use super::SessionError;
use super::store::{create_private_dir, write_whole};
use crate::message::{
    Attachment, Attachments, DOCUMENT_BYTES, FittedPicture, PICTURE_FILE_BYTES, attachment_type, too_large,
};
use crate::whole_file::read_plain;

/// Where pictures are kept. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PictureStore(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Their folder; `None` keeps them in memory.
    folder: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The last number given; `None` before the folder was looked at.
    last: Option<u32>,
    known: Attachments,
    /// Those that a service has refused.
    refused: BTreeSet<u32>,
}

impl PictureStore {
    /// Returns the pictures of a session, with its files in this folder. Nothing is read or made until it is used.
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self(Arc::new(Shared { folder: Some(folder), state: Mutex::default() }))
    }

    /// Keeps a picture, whose facts were read, and returns its number. Blocks.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> Result<u32, SessionError> {
        let mut state = self.state();
        let number = self.last(&state) + 1;
        if let Some(folder) = &self.0.folder {
            create_private_dir(folder).map_err(|error| SessionError::new(folder, "created", error))?;
            write_whole(&folder.join(number.to_string()), bytes)?;
        }
        state.last = Some(number);
        if let Some(picture) = attachment(bytes) {
            state.known.insert(number, picture);
        }
        Ok(number)
    }

    /// Keeps a picture as services take it: made smaller if it is too large. Returns its number, and its size and kind. The
    /// error says of it what is wrong, and what to do: `is …`. Blocks; a large one takes a second or two.
    pub fn attach(&self, bytes: Vec<u8>) -> Result<(u32, String), String> {
        let picture = FittedPicture::of(bytes)?;
        let number = self.keep(&picture.bytes).map_err(|error| format!("cannot be kept: {error}"))?;
        Ok((number, picture.words()))
    }

    /// Notes that a service has refused these: they are loaded no more, also when the session is continued. Blocks.
    pub fn refuse(&self, numbers: &[u32]) {
        let mut state = self.state();
        for number in numbers {
            state.known.remove(number);
            state.refused.insert(*number);
            if let Some(folder) = &self.0.folder
                && let Err(error) = write_whole(&refusal_of(folder, *number), b"")
            {
                tracing::warn!(number, %error, "a refused picture is not marked");
            }
        }
    }

    fn is_refused(&self, number: u32, state: &State) -> bool {
        let is_marked = |folder: &PathBuf| refusal_of(folder, number).exists();
        state.refused.contains(&number) || self.0.folder.as_ref().is_some_and(is_marked)
    }

    /// Returns those of the pictures that there are, and that no service has refused; of what files hold, these alone stay in
    /// memory. Blocks.
    pub fn load(&self, numbers: &[u32]) -> Attachments {
        let mut state = self.state();
        let mut found = Attachments::new();
        for &number in numbers {
            if self.is_refused(number, &state) {
                continue;
            }
            if !state.known.contains_key(&number)
                && let Some(picture) = self.read(number)
            {
                state.known.insert(number, picture);
            }
            if let Some(picture) = state.known.get(&number) {
                found.insert(number, picture.clone());
            }
        }
        if self.0.folder.is_some() {
            state.known.clone_from(&found);
        }
        found
    }

    /// Returns the bytes of a picture in the session's folder. Blocks.
    pub fn bytes(&self, number: u32) -> Option<Vec<u8>> {
        let path = self.0.folder.as_ref()?.join(number.to_string());
        read_plain(&path, DOCUMENT_BYTES).ok()
    }

    fn read(&self, number: u32) -> Option<Attachment> {
        attachment(&self.bytes(number)?)
    }

    /// Returns the last number given, also by an earlier run of the program.
    fn last(&self, state: &State) -> u32 {
        let in_folder = || {
            let entries = std::fs::read_dir(self.0.folder.as_ref()?).ok()?;
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max()
        };
        state.last.or_else(in_folder).unwrap_or(0)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the file of a picture. The error says what is wrong with what lies there, and what to do. Blocks.
pub fn read_picture(path: &Path) -> Result<Vec<u8>, String> {
    let unread = |error: std::io::Error| format!("cannot be read: {error}");
    let facts = path.metadata().map_err(unread)?;
    if !facts.is_file() {
        return Err("is no file".to_owned());
    }
    if facts.len() > PICTURE_FILE_BYTES {
        return Err(too_large(facts.len(), PICTURE_FILE_BYTES));
    }
    read_plain(path, PICTURE_FILE_BYTES).map_err(unread)
}

/// Returns the file whose presence says that a picture was refused.
fn refusal_of(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number}.refused"))
}

fn attachment(bytes: &[u8]) -> Option<Attachment> {
    let data = base64::engine::general_purpose::STANDARD.encode(bytes).into();
    Some(Attachment { media_type: attachment_type(bytes)?, data })
}
