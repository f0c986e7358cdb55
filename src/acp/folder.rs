//! A folder that the client sends to be worked in, and what has changed in it.
//!
//! Owns the pieces on their way in and out. Leaves files to `worktree`. Invariants: one folder for a client, bounded in size; it
//! is gone once the client is; what is asked for is answered in turn, while sessions go on.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::schema::{Error, RequestId};
use super::wire::{Params, invalid, saying};
use crate::message::{FolderState, MAX_PACK, extension, sanitize_line};
use crate::worktree::ReceivedFolder;

#[derive(Deserialize)]
struct Put {
    name: String,
    #[serde(default)]
    inside: PathBuf,
    commit: String,
    size: usize,
    offset: usize,
    piece: String,
}

#[derive(Deserialize)]
struct Changes {
    since: String,
}

#[derive(Deserialize)]
struct Read {
    offset: usize,
}

enum Asked {
    Put(Put),
    Changes(Changes),
    Read(Read),
}

#[derive(Default)]
struct Carried {
    /// What of the folder has come in.
    coming: Vec<u8>,
    folder: Option<ReceivedFolder>,
    /// The changes that are being fetched.
    going: Arc<Vec<u8>>,
}

/// The folder of a client.
#[derive(Default)]
pub(super) struct ClientFolder {
    carried: Arc<Mutex<Carried>>,
    stop: CancellationToken,
    jobs: JoinSet<()>,
}

impl ClientFolder {
    /// Begins to answer a request, if it is one about folders.
    pub(super) fn take(
        &mut self,
        client: &Client,
        id: &RequestId,
        (method, params): (&str, &Params),
    ) -> Result<bool, Error> {
        let asked = match method {
            extension::PUT => Asked::Put(params.read()?),
            extension::CHANGES => Asked::Changes(params.read()?),
            extension::READ => Asked::Read(params.read()?),
            _ => return Ok(false),
        };
        while self.jobs.try_join_next().is_some() {}
        let (client, id, carried, stop) = (client.clone(), id.clone(), self.carried.clone(), self.stop.clone());
        self.jobs.spawn(async move {
            let answer = carried.lock().await.answer(asked, &stop).await;
            let line = client.answer(&id, answer);
            client.send(line).await;
        });
        Ok(true)
    }

    /// Removes the folder.
    pub(super) async fn end(mut self) {
        self.stop.cancel();
        while self.jobs.join_next().await.is_some() {}
        let folder = self.carried.lock().await.folder.take();
        if let Some(folder) = folder {
            folder.remove().await;
        }
    }
}

impl Carried {
    async fn answer(&mut self, asked: Asked, stop: &CancellationToken) -> Result<Value, Error> {
        match asked {
            Asked::Put(put) => self.put(put, stop).await,
            Asked::Changes(Changes { since }) => self.changes(&since, stop).await,
            Asked::Read(Read { offset }) => {
                let rest = self.going.get(offset..).filter(|rest| !rest.is_empty());
                let rest = rest.ok_or_else(|| invalid("there is no such piece"))?;
                Ok(json!({ "piece": STANDARD.encode(&rest[..rest.len().min(extension::PIECE)]) }))
            }
        }
    }

    async fn put(&mut self, put: Put, stop: &CancellationToken) -> Result<Value, Error> {
        let Put { name, inside, commit, size, offset, piece } = put;
        if self.folder.is_some() {
            return Err(invalid("there is a folder already"));
        }
        if offset == 0 {
            self.coming.clear();
        }
        let piece = STANDARD.decode(&piece).map_err(|_| invalid("a piece is base64"))?;
        let end = offset.saturating_add(piece.len());
        if size > MAX_PACK || offset != self.coming.len() || end > size || piece.is_empty() {
            return Err(invalid("the piece does not fit"));
        }
        self.coming.extend_from_slice(&piece);
        if self.coming.len() < size {
            return Ok(json!({}));
        }
        let state = FolderState { commit, pack: Arc::new(std::mem::take(&mut self.coming)), left_out: Vec::new() };
        let unpacked = Box::pin(ReceivedFolder::unpack((&name, &inside), &state, stop)).await;
        let folder = self.folder.insert(unpacked.map_err(|error| failed(&error))?);
        Ok(json!({ "root": folder.root() }))
    }

    async fn changes(&mut self, since: &str, stop: &CancellationToken) -> Result<Value, Error> {
        let folder = self.folder.as_mut().ok_or_else(|| invalid("there is no folder"))?;
        let changes = Box::pin(folder.changes(since, stop)).await.map_err(|error| failed(&error))?;
        let Some(FolderState { commit, pack, left_out }) = changes else { return Ok(json!({})) };
        let left_out: Vec<_> = left_out.iter().map(|path| path.to_string_lossy()).collect();
        let answer = json!({ "commit": commit, "size": pack.len(), "leftOut": left_out });
        self.going = pack;
        Ok(answer)
    }
}

fn failed(error: &crate::worktree::WorktreeError) -> Error {
    saying(Error::internal_error(), sanitize_line(&error.to_string()))
}
