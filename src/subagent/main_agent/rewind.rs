//! Going back to an earlier message: the conversation as it was before it, and files as they were.
//!
//! Owns what is remembered for that. Leaves which files are meant to the front end, and putting them back to `tool`.
//! Invariants: nothing is taken back while anything runs; nothing but what the user has seen.

use crate::agent::{RewoundFile, SessionEvent};
use crate::message::{AgentId, Transcript, sanitize};
use crate::subagent::RewindRequest;
use crate::subagent::tree::Tree;
use crate::tool::{FileRewind, Writers};

/// The conversation before a message of the user.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The message, as the user wrote it.
    pub said: String,
    pub before: Transcript,
    /// The first subagent that can come after it, where that is known.
    pub(in crate::subagent) next: Option<AgentId>,
}

impl Checkpoint {
    #[must_use]
    pub fn new(said: &str, before: &Transcript) -> Self {
        Self { said: said.to_owned(), before: before.clone(), next: None }
    }
}

/// Returns where the messages of a request begin among the checkpoints; none if it takes back no message. On failure,
/// says why nothing is taken back.
pub(super) fn beginning(request: &RewindRequest, checkpoints: &[Checkpoint]) -> Result<Option<usize>, &'static str> {
    if request.messages == 0 {
        return Ok(None);
    }
    let at = checkpoints.len().checked_sub(request.messages);
    match at.filter(|at| sanitize(&checkpoints[*at].said) == request.said) {
        Some(at) => Ok(Some(at)),
        None => Err("the conversation has changed meanwhile; open /rewind again"),
    }
}

impl Tree {
    /// Puts files back, one after the other, and returns what became of them.
    pub(super) async fn put_back(&self, files: Vec<FileRewind>, messages: usize) -> SessionEvent {
        let writers = self.writers().clone();
        let done = tokio::task::spawn_blocking(move || put_back(&files, &writers)).await;
        let (files, left) = done.unwrap_or_default();
        SessionEvent::Rewound { messages, files, left }
    }
}

fn put_back(files: &[FileRewind], writers: &Writers) -> (Vec<RewoundFile>, Vec<(String, String)>) {
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for (path, put_back) in FileRewind::put_back_all(files, writers) {
        match put_back {
            Ok(versions) => done.push(RewoundFile { path, versions }),
            Err(why) => left.push((path.to_string_lossy().into_owned(), why)),
        }
    }
    (done, left)
}
