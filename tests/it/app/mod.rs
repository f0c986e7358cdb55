//! The app, driven by keys and events.

mod agent_files;
mod agents;
mod approvals;
mod budget;
mod calm;
mod choices;
mod fuzz;
mod held;
mod keys;
mod layout;
mod lists;
mod lives;
mod mentions;
mod mouse;
mod nested;
mod past;
mod rate_limit;
mod scrolling;
mod stalled;
mod steering;
mod timeline;
mod wizard;
mod worktrees;
