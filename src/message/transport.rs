//! How a service is reached beside its address, as `[providers.NAME]` says it: headers, and files of certificates.
//!
//! Owns which headers may be set. Leaves reading the table to `config`, and what is done with it to `provider`. Invariant:
//! a value of a header, which may be a secret, is printed as `***`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::header::{HeaderName, HeaderValue};

use super::Secret;

/// Headers that the program writes itself.
const OWN_HEADERS: [&str; 8] = [
    "accept",
    "accept-encoding",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "proxy-authorization",
    "transfer-encoding",
];
/// Headers that carry a key.
const KEY_HEADERS: [&str; 4] = ["api-key", "authorization", "x-api-key", "x-goog-api-key"];

/// How a service is reached beside its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransportSettings {
    /// Certificates of authorities that are believed beside the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate that we show to the server.
    pub client_cert: Option<PathBuf>,
    /// The key of it, if it does not stand in the same file.
    pub client_key: Option<PathBuf>,
    /// What is sent with each request, by names in small letters, with `${VAR}` as it is written.
    pub headers: BTreeMap<String, Secret>,
}

impl TransportSettings {
    /// Adds a header. On failure, returns why it cannot be sent, without its value.
    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let header = name.to_ascii_lowercase();
        if OWN_HEADERS.contains(&header.as_str()) {
            return Err(format!("`{name}` cannot be set here: it belongs to the request itself"));
        }
        let is_header = HeaderName::from_bytes(header.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok();
        let value = Secret::new(value).filter(|_| is_header);
        let value = value.ok_or_else(|| format!("`{name}` cannot be sent as a header"))?;
        match self.headers.insert(header, value) {
            None => Ok(()),
            Some(_) => Err(format!("the header `{name}` is set twice")),
        }
    }
}

/// Returns `true` for a header, named in small letters, that services take a key from.
pub fn is_key_header(name: &str) -> bool {
    KEY_HEADERS.contains(&name)
}
