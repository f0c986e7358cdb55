//! The envelope of a record: what a later version needs in order to understand it.

use serde::{Deserialize, Serialize};

/// Version of the format of this program. A record of a later one is not read.
pub const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record<T> {
    pub v: u32,
    /// Number within the session, over all its files, from 1. A gap means that something was lost.
    pub seq: u64,
    /// What happened; its fields stand beside `v` and `seq`.
    #[serde(flatten)]
    pub body: T,
}
