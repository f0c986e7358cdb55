//! What part of the agents is on screen: focus, layout, panes, scrolling, selection.
//!
//! Owns where everything stands. Leaves drawing to `tui::view`. Invariant: it changes no agent.

pub(super) mod folding;
pub mod layout;
pub(super) mod log_scrollback;
pub(super) mod pane_state;
pub mod panes;
pub(super) mod scroll;
pub(super) mod selection;
