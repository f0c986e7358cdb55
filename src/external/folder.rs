//! The folder of a project on its way to a program that works somewhere else, and what it sends back.
//!
//! Owns the pieces and their order. Leaves packing and unpacking to `worktree`. Invariants: what comes back is bounded, and taken
//! in piece by piece between other messages; a piece that does not fit ends all of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::connection::{ExternalConnection, FromExternal};
use super::{ExternalError, lines::RpcError};
use crate::message::{FolderState, MAX_PACK, extension, sanitize_line};

/// How long a piece may take to arrive, or to be unpacked.
const PIECE_LIMIT: Duration = Duration::from_mins(5);
/// Folders that are named as left out.
const MAX_LEFT_OUT: usize = 20;

/// How far the program's changes have come in.
#[derive(Debug)]
pub(super) struct IncomingChanges {
    /// The number of the request that is open.
    request: i64,
    /// What the first answer has said; `None` until then.
    state: Option<(String, usize, Vec<PathBuf>)>,
    pack: Vec<u8>,
}

/// What came back: the changes, or nothing that is new.
pub type CameBack = Result<Option<FolderState>, ExternalError>;

impl ExternalConnection {
    /// Sends a folder to work in. Returns its root over there.
    ///
    /// # Errors
    /// Returns why it was not taken.
    pub async fn send_folder(
        &mut self,
        (name, inside): (&str, &Path),
        state: &FolderState,
    ) -> Result<PathBuf, ExternalError> {
        let pack = state.pack.clone();
        let mut answer = Value::Null;
        for (at, piece) in pack.chunks(extension::PIECE).enumerate() {
            let params = json!({
                "name": name, "inside": inside, "commit": state.commit, "size": pack.len(),
                "offset": at * extension::PIECE, "piece": STANDARD.encode(piece),
            });
            answer = self.request(extension::PUT, &params, PIECE_LIMIT).await?;
        }
        let root = answer.get("root").and_then(Value::as_str).map(PathBuf::from).filter(|root| root.is_absolute());
        root.ok_or_else(|| ExternalError::Refused("it does not say where it has put the folder".to_owned()))
    }

    /// Asks what has changed since a state. What comes of it is said by [`ExternalConnection::next`].
    ///
    /// # Errors
    /// Returns that it does not read what it is told.
    pub fn ask_changes(&mut self, since: &str) -> Result<(), ExternalError> {
        let request = self.send_request(extension::CHANGES, &json!({ "since": since }))?;
        self.changes = Some(IncomingChanges { request, state: None, pack: Vec::new() });
        Ok(())
    }

    /// Returns `true` if an answer is one that was asked for here.
    pub(super) fn is_of_changes(&self, id: &Value) -> bool {
        self.changes.as_ref().is_some_and(|incoming| *id == json!(incoming.request))
    }

    /// Takes an answer in. Returns what came back once that is whole.
    pub(super) fn take_changes(&mut self, answer: Result<Value, RpcError>) -> Option<FromExternal> {
        let mut incoming = self.changes.take()?;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Some(FromExternal::Changes(Err(super::connection::refused(&error)))),
        };
        match incoming.take(&answer) {
            Ok(Progress::Unchanged) => Some(FromExternal::Changes(Ok(None))),
            Ok(Progress::Whole(state)) => Some(FromExternal::Changes(Ok(Some(state)))),
            Ok(Progress::More) => {
                let params = json!({ "offset": incoming.pack.len() });
                match self.send_request(extension::READ, &params) {
                    Ok(request) => {
                        self.changes = Some(IncomingChanges { request, ..incoming });
                        None
                    }
                    Err(error) => Some(FromExternal::Changes(Err(error))),
                }
            }
            Err(why) => Some(FromExternal::Changes(Err(ExternalError::Refused(why)))),
        }
    }
}

enum Progress {
    Unchanged,
    More,
    Whole(FolderState),
}

impl IncomingChanges {
    fn take(&mut self, answer: &Value) -> Result<Progress, String> {
        let Some((commit, size, left_out)) = &self.state else {
            let Some(commit) = answer.get("commit").and_then(Value::as_str) else { return Ok(Progress::Unchanged) };
            let size = answer.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
            let size = size.filter(|size| (1..=MAX_PACK).contains(size)).ok_or("what changed is too large")?;
            if !FolderState::is_commit(commit) {
                return Err("what changed has no name".to_owned());
            }
            let named = answer.get("leftOut").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let named = named.take(MAX_LEFT_OUT).map(|path| PathBuf::from(sanitize_line(path).into_owned()));
            self.state = Some((commit.to_owned(), size, named.collect()));
            return Ok(Progress::More);
        };
        let piece = answer.get("piece").and_then(Value::as_str).unwrap_or_default();
        let piece = STANDARD.decode(piece).map_err(|_| "a piece of what changed is not understood")?;
        if piece.is_empty() || piece.len() > size - self.pack.len() {
            return Err("a piece of what changed does not fit".to_owned());
        }
        self.pack.extend_from_slice(&piece);
        if self.pack.len() < *size {
            return Ok(Progress::More);
        }
        let pack = Arc::new(std::mem::take(&mut self.pack));
        Ok(Progress::Whole(FolderState { commit: commit.clone(), pack, left_out: left_out.clone() }))
    }
}
