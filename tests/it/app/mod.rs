//! The app, driven by keys and events.

mod agents;
mod approvals;
mod choices;
mod keys;
mod layout;
mod mouse;
mod scrolling;
