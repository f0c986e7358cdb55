//! What a reading of files has found that others wait for: changes of what is in force, and what a project brings.
//!
//! Owns handing each change over once. Leaves reading to the libraries.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, watch};

use super::CatalogChanges;
use crate::permission::BroughtItem;

#[derive(Debug, Default)]
pub(super) struct LibraryNews {
    changes: Mutex<VecDeque<CatalogChanges>>,
    told: Notify,
    brought: watch::Sender<Vec<BroughtItem>>,
}

impl LibraryNews {
    /// Returns what follows the items of the project that were read last.
    pub(super) fn brought(&self) -> watch::Receiver<Vec<BroughtItem>> {
        self.brought.subscribe()
    }

    /// Takes in what of the project was read.
    pub(super) fn bring(&self, mut items: Vec<BroughtItem>) {
        items.sort();
        self.brought.send_if_modified(|last| {
            let is_new = *last != items;
            *last = items;
            is_new
        });
    }

    /// Hands a change over, if it is one, and returns it.
    pub(super) fn tell(&self, changes: CatalogChanges) -> CatalogChanges {
        if !changes.is_empty() {
            self.changes.lock().unwrap_or_else(PoisonError::into_inner).push_back(changes.clone());
            self.told.notify_one();
        }
        changes
    }

    /// Waits for the next change. There is one listener: each change is returned once.
    pub(super) async fn next(&self) -> CatalogChanges {
        loop {
            let next = self.changes.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match next {
                Some(changes) => return changes,
                None => self.told.notified().await,
            }
        }
    }
}
