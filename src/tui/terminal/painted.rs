//! Pictures that the terminal paints over its cells.
//!
//! Owns which are on the screen, which of those have to go, and which are to be painted. Leaves their bytes to `view` and
//! cells to `canvas`. Invariants: a picture goes by its cells being written anew, and only then; one that is on the screen,
//! and of whose cells none is written, is not sent again.

use std::sync::Arc;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};

/// A picture in a frame. What is drawn in its cells are blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedPicture {
    pub area: Rect,
    /// What paints it where the cursor stands, and nothing beside its area.
    pub bytes: Arc<[u8]>,
}

/// The pictures of the last frame.
#[derive(Debug, Default)]
pub(super) struct PaintedPictures(Vec<PlacedPicture>);

impl PaintedPictures {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes that the screen was emptied.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Makes the cells of all pictures that the next frame has not, or has elsewhere, differ from any other.
    pub(super) fn give_up(&self, next: &[PlacedPicture], shown: &mut Buffer) {
        // No sign of a frame whose pictures are painted over it.
        let unknown = Cell::new("\u{10eeee}");
        for gone in self.0.iter().filter(|picture| !next.contains(picture)) {
            for at in gone.area.intersection(shown.area).positions() {
                shown[at] = unknown.clone();
            }
        }
    }

    /// Takes in the pictures of a frame, and returns those to paint when its cells are there: `written` says where some are
    /// written.
    pub(super) fn take(
        &mut self,
        next: Vec<PlacedPicture>,
        written: impl Iterator<Item = Position>,
    ) -> Vec<PlacedPicture> {
        let mut is_intact: Vec<bool> = next.iter().map(|picture| self.0.contains(picture)).collect();
        if !next.is_empty() {
            for at in written {
                for (is_intact, picture) in is_intact.iter_mut().zip(&next) {
                    *is_intact &= !picture.area.contains(at);
                }
            }
        }
        let painted = next.iter().zip(is_intact).filter(|(_, is_intact)| !is_intact);
        let painted = painted.map(|(picture, _)| picture.clone()).collect();
        self.0 = next;
        painted
    }
}
