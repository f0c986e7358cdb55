//! The app, driven by keys and events.

mod agents;
mod approvals;
mod keys;
mod layout;
mod mouse;
mod scrolling;
mod wizard;
