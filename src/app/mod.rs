//! What the screen knows: keys, actions, the composer, and the index of the project's files.

pub mod action;
pub mod composer;
pub mod files;
pub mod key;
pub mod keymap;
