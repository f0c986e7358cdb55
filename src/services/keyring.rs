//! The system's keyring: the Secret Service on Linux, the Keychain on macOS.
//!
//! Owns what an entry is called, and the record of the services that have one. Leaves the order of sources to `keys`.
//! Invariants: the keyring is opened only for a service that `belvedere keys set` was run for, and only when that service
//! is asked; the record holds names, never a key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyring_core::{CredentialStore, Entry, Error};

use crate::message::Secret;
use crate::message::format::words_of;
use crate::session::{SessionError, keep_file};

/// What the entries belong to, as the keyring shows it.
const APPLICATION: &str = "belvedere";
const MAX_RECORD_BYTES: u64 = 64 << 10;
/// Longest excerpt of an error of the system, in characters.
const ERROR_CHARS: usize = 200;

/// Makes the connection to a keyring. Blocks.
type Connect = Arc<dyn Fn() -> Result<Arc<CredentialStore>, Error> + Send + Sync>;

/// A keyring, which is connected to when it is asked.
#[derive(Clone)]
pub struct Keyring(Connect);

impl Keyring {
    #[must_use]
    pub fn of_system() -> Self {
        Self(Arc::new(system_store))
    }

    /// Returns a keyring over a store that is there already.
    #[must_use]
    pub fn of_store(store: Arc<CredentialStore>) -> Self {
        Self(Arc::new(move || Ok(Arc::clone(&store))))
    }

    /// Returns the key of a service, if there is one. Blocks, perhaps until the user has unlocked the keyring. Returns an
    /// error if there is no keyring, or it does not open.
    pub fn get(&self, service: &str) -> Result<Option<Secret>, String> {
        match self.entry(service)?.get_password() {
            Ok(key) => Ok(Secret::new(&key)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(words(&error)),
        }
    }

    /// Keeps the key of a service, in the place of an earlier one. Blocks.
    pub fn set(&self, service: &str, key: &Secret) -> Result<(), String> {
        self.entry(service)?.set_password(key.expose()).map_err(|error| words(&error))
    }

    /// Removes the key of a service. Returns `false` if there was none. Blocks.
    pub fn remove(&self, service: &str) -> Result<bool, String> {
        match self.entry(service)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(words(&error)),
        }
    }

    fn entry(&self, service: &str) -> Result<Entry, String> {
        let entry = (self.0)().and_then(|store| store.build(APPLICATION, service, None));
        entry.map_err(|error| format!("there is no keyring that can be used: {}", words(&error)))
    }
}

/// Says what went wrong. Some errors hold the key; these say only that it is not text.
fn words(error: &Error) -> String {
    words_of(&error.to_string(), ERROR_CHARS)
}

#[cfg(all(feature = "keyring", target_os = "linux"))]
fn system_store() -> Result<Arc<CredentialStore>, Error> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(all(feature = "keyring", target_os = "macos"))]
fn system_store() -> Result<Arc<CredentialStore>, Error> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(not(all(feature = "keyring", any(target_os = "linux", target_os = "macos"))))]
fn system_store() -> Result<Arc<CredentialStore>, Error> {
    Err(Error::NotSupportedByStore("Belvedere was built without it".to_owned()))
}

/// Which services have a key in the keyring.
#[derive(Debug, Clone)]
pub struct KeyringRecord(PathBuf);

impl KeyringRecord {
    #[must_use]
    pub fn in_dir(state_dir: &Path) -> Self {
        Self(state_dir.join("keyring"))
    }

    /// Returns the names of the services.
    pub fn services(&self) -> Vec<String> {
        let text = super::servers::read(&self.0, MAX_RECORD_BYTES).unwrap_or_default();
        text.lines().filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Notes that a service has a key there, or has none any more. Blocks.
    pub fn note(&self, service: &str, has_key: bool) -> Result<(), SessionError> {
        let mut services = self.services();
        services.retain(|name| name != service);
        services.extend(has_key.then(|| service.to_owned()));
        keep_file(&self.0, &services.iter().map(|name| format!("{name}\n")).collect::<String>())
    }
}
