//! Exports in a session of lines: each is written on a thread of its own, and said when it is there.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc;

use crate::export::{ExportError, export, place_of};
use crate::message::ExportFormat;
use crate::session::Store;

/// What exports this session.
#[derive(Debug)]
pub(super) struct Exporter {
    store: Option<Store>,
    cwd: PathBuf,
    pending: usize,
    done: mpsc::UnboundedSender<String>,
    said: mpsc::UnboundedReceiver<String>,
}

impl Exporter {
    pub(super) fn new(store: Option<Store>, cwd: PathBuf) -> Self {
        let (done, said) = mpsc::unbounded_channel();
        Self { store, cwd, pending: 0, done, said }
    }

    /// Returns where the session is kept, and the folder it works in.
    pub(super) fn kept(&self) -> Option<(&Store, &Path)> {
        Some((self.store.as_ref()?, &self.cwd))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending == 0
    }

    /// Begins an export; what follows the command says of what kind, and where to.
    pub(super) fn begin(&mut self, words: &str) {
        let (format, place) = ExportFormat::parse_words(words);
        let place = place.map(|place| place_of(&self.cwd, place));
        let (store, done) = (self.store.clone(), self.done.clone());
        self.pending += 1;
        tokio::task::spawn_blocking(move || {
            let exported = match &store {
                None => Err(ExportError::Unkept),
                Some(store) => export(store, store.dir(), format, place.as_deref()),
            };
            let _ = done.send(match exported {
                Ok(path) => format!("exported to {}", path.display()),
                Err(error) => error.to_string(),
            });
        });
    }

    /// Waits until an export has ended, and returns what to say of it.
    pub(super) async fn ended(&mut self) -> String {
        let said = self.said.recv().await.unwrap_or_default();
        self.pending = self.pending.saturating_sub(1);
        said
    }
}
