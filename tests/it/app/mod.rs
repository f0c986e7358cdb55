//! The app, driven by keys and events.

mod agent_files;
mod agents;
mod approvals;
mod asking;
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
mod search_for_model;
mod stalled;
mod steering;
mod timeline;
mod typing;
mod wizard;
mod worktrees;
