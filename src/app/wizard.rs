//! The wizard that makes a new agent.
//!
//! Owns its opening. Leaves the steps to come. Invariant: nothing is written before the last step.

use super::App;

impl App {
    /// Opens the wizard.
    pub(super) fn open_wizard(&mut self) {
        self.inform("a new agent is a file in one of these folders");
    }
}
