//! How a service is reached beside its address: its headers with the values of their variables, and its files.
//!
//! Owns filling in the variables. Leaves reading the files to `network`. Invariants: a header whose variable is not set
//! is never sent half; what headers hold is marked as sensitive and printed by nothing.

use std::path::{Path, PathBuf};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::message::{TransportSettings, expand_variables, is_key_header};
use crate::network::TlsFiles;

/// How a service is reached beside its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    pub(super) headers: HeaderMap,
    pub(super) files: TlsFiles,
}

/// Why a service cannot be reached as the settings say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokenTransport {
    /// Which header cannot be sent, and why.
    pub(super) why: String,
    /// Whether one of the headers authenticates the requests.
    pub(super) has_key: bool,
}

impl Transport {
    /// Fills in what `variable` says.
    pub(super) fn new(
        settings: &TransportSettings,
        home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, BrokenTransport> {
        let has_key = settings.headers.keys().any(|name| is_key_header(name));
        Self::filled(settings, home, variable).map_err(|why| BrokenTransport { why, has_key })
    }

    /// The same; on failure, returns which header cannot be sent and why.
    fn filled(
        settings: &TransportSettings,
        home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let filled = expand_variables(value.expose(), &|name| Ok(variable(name)));
            let filled = filled.map_err(|why| format!("the header `{name}` cannot be sent: {why}"))?;
            let value = HeaderValue::from_str(filled.trim()).ok().filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| {
                format!("the header `{name}` cannot be sent: a variable in it is empty or holds a line break")
            })?;
            let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
            headers.insert(name, sensitive(value));
        }
        let place = |path: &Option<PathBuf>| path.as_ref().map(|path| below(home, path));
        let files = TlsFiles {
            ca_file: place(&settings.ca_file),
            client_cert: place(&settings.client_cert),
            client_key: place(&settings.client_key),
        };
        Ok(Self { headers, files })
    }

    /// Returns `true` if a header authenticates the requests.
    pub(super) fn has_key(&self) -> bool {
        self.headers.keys().any(|name| is_key_header(name.as_str()))
    }

    /// Returns the values of the headers, and of each what stands behind a word such as `Bearer`.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        // The names of features are known to everybody.
        let secret = self.headers.iter().filter(|(name, _)| *name != "anthropic-beta");
        let values = secret.filter_map(|(_, value)| value.to_str().ok());
        values.flat_map(|value| [Some(value), value.split_once(' ').map(|(_, rest)| rest.trim())]).flatten()
    }
}

fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// Returns a path with the home in the place of its `~`.
fn below(home: Option<&Path>, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
