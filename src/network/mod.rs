//! What everyone who connects has to know: which addresses are near, and whose certificates count.
//!
//! Owns both, and nothing that connects. Leaves requests to those who make them.

mod address;
mod tls;

pub use address::is_near;
pub use tls::{with_certificates, without_certificates};
