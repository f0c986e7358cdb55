//! What stands in front of the panes: popups, the view of all agents, the wizard.
//!
//! Owns which of them is open. Leaves drawing to the views. Invariant: the one in front is offered a key first.

pub mod agent_files;
pub(super) mod line_edit;
pub(super) mod popup;
pub mod wizard;
