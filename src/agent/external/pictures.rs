//! The pictures that a message to a program names.
//!
//! Owns which are sent. Leaves the bytes to `session`, and their form to `external`. Invariants: a program that takes none is
//! sent none, and the user is told; a prompt holds a bounded number.

use super::{Talk, called};
use crate::agent::EventKind;
use crate::agent::driver::{MAX_PICTURES, fitting};
use crate::message::{Attachment, picture_mark, picture_numbers, sanitize_line};

impl Talk<'_> {
    /// Returns the pictures that a text names, and says which of them the program is not shown.
    pub(super) async fn shown_with(&mut self, text: &str) -> Vec<Attachment> {
        let numbers = picture_numbers(text);
        if numbers.is_empty() {
            return Vec::new();
        }
        let takes_images = self.connection.as_ref().is_some_and(|connection| connection.takes_images);
        let (pictures, wanted) = (self.agent.pictures.clone(), numbers.clone());
        let load = move || {
            let mut found = pictures.load(&wanted[..wanted.len().min(MAX_PICTURES)]);
            // What a tool of ours has read of a document is no image.
            found.retain(|_, one| !one.is_document());
            if takes_images { fitting(found, &wanted) } else { found }
        };
        let found = tokio::task::spawn_blocking(load).await.unwrap_or_default();
        let program = sanitize_line(called(self.external));
        let (unsent, why): (Vec<u32>, _) = if takes_images {
            let unsent = numbers.iter().filter(|number| !found.contains_key(number));
            (unsent.copied().collect(), "there is no such image, or it is too much for one message")
        } else {
            (found.keys().copied().collect(), "it takes no images")
        };
        if !unsent.is_empty() {
            let marks: Vec<String> = unsent.into_iter().map(picture_mark).collect();
            let text = format!("{program} is not shown {}: {why}.", marks.join(", "));
            self.run.emit(EventKind::Notice { text }).await;
        }
        if takes_images { found.into_values().collect() } else { Vec::new() }
    }
}
