//! What is kept of a session: one append-only file of records for each agent, and the program's own log.
//!
//! Owns the files below the state directory and their format. Leaves the meaning of records to those who write them,
//! so it does not know what an agent event is. Invariants: keeping never stops the work, whatever the disk does; no
//! secret that was named reaches a file; what is written is for the user alone (files 0600, folders 0700).

mod agent_log;
mod allowed;
mod catalog;
pub mod log;
mod merged;
mod meta;
mod part;
mod picture_store;
mod pieces;
mod reader;
mod record;
mod retention;
mod secrets;
mod store;
mod tokens;
mod trusted;
mod unsent;
mod writer;

pub use allowed::Allowed;
pub use catalog::{INDEX, MAIN, SessionFolder, SessionSummary, find, is_open, is_taken, sessions};
pub use merged::{MergedLine, MergedRecords};
pub use meta::{PromptFacts, SessionMeta};
pub use part::{LogPart, PartLine, Stretch, read_part};
pub use picture_store::{PictureStore, read_picture};
pub use pieces::PieceMask;
pub use reader::{Records, read};
pub use record::{Record, VERSION};
pub use retention::{Retention, remove_old};
pub use secrets::Secrets;
pub use store::{SessionError, Store, append_line, history_file, keep_file, project_dir};
pub use trusted::TrustedItems;
pub use unsent::Unsent;
pub use writer::{Route, Writer};
