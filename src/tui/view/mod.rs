//! Drawing: pure functions from what the app knows to cells.

pub mod composer;
pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod theme;
pub mod wrap;
