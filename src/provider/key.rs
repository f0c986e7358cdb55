//! A key that is fetched when its service is asked: by a command of the user, or from the system's keyring.
//!
//! Owns keeping it, and that one fetch serves all who wait. Leaves where it comes from to `services`. Invariants: nothing
//! is fetched before a request needs it; a key that was refused is not sent again unless the same one comes back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use crate::message::Secret;

/// Fetches a key. On failure, returns why, in words without a secret.
pub type FetchKey = Box<dyn Fn() -> BoxFuture<'static, Result<Secret, String>> + Send + Sync>;

/// Where a key comes from, and the key once it is there. Clones share it.
#[derive(Clone)]
pub struct KeySource(Arc<Inner>);

struct Inner {
    place: String,
    /// Whether it is a token as well as a key.
    is_token_too: bool,
    fetch: FetchKey,
    kept: Mutex<Kept>,
    /// Held by the one that fetches.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Kept {
    /// The last one; also after it was refused, so that it can be blotted out of what the service says.
    key: Option<Secret>,
    is_refused: bool,
}

/// A key to send.
#[derive(Debug)]
pub(super) struct FetchedKey {
    pub(super) secret: Secret,
    /// Whether it was fetched for the request at hand.
    is_new: bool,
}

impl FetchedKey {
    pub(super) fn at_hand(secret: Secret) -> Self {
        Self { secret, is_new: false }
    }
}

impl KeySource {
    /// Takes what fetches the key, and what errors call the place it comes from.
    #[must_use]
    pub fn new(place: impl Into<String>, fetch: FetchKey) -> Self {
        let (kept, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { place: place.into(), is_token_too: false, fetch, kept, turn }))
    }

    /// Takes the same for a key that goes into the header of keys and into that of tokens, as gateways read either.
    #[must_use]
    pub fn for_both_headers(place: impl Into<String>, fetch: FetchKey) -> Self {
        let (kept, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { place: place.into(), is_token_too: true, fetch, kept, turn }))
    }

    pub(super) fn is_token_too(&self) -> bool {
        self.0.is_token_too
    }

    pub(super) fn place(&self) -> &str {
        &self.0.place
    }

    pub(super) fn known(&self) -> Option<Secret> {
        self.kept().key.clone()
    }

    /// Returns the key, fetched if there is none or if the last one was refused.
    pub(super) async fn fetch(&self) -> Result<FetchedKey, String> {
        let _turn = self.0.turn.lock().await;
        let usable = Some(self.kept()).filter(|kept| !kept.is_refused).and_then(|kept| kept.key.clone());
        if let Some(secret) = usable {
            return Ok(FetchedKey::at_hand(secret));
        }
        let secret = (self.0.fetch)().await?;
        *self.kept() = Kept { key: Some(secret.clone()), is_refused: false };
        Ok(FetchedKey { secret, is_new: true })
    }

    /// Returns the key, fetched if it is not known yet. On failure, returns why.
    pub async fn secret(&self) -> Result<Secret, String> {
        self.fetch().await.map(|key| key.secret)
    }

    /// Notes that a key was refused. Returns `true` if it had been fetched for an earlier request: another one may have
    /// taken its place.
    pub(super) fn forget(&self, refused: &FetchedKey) -> bool {
        let mut kept = self.kept();
        kept.is_refused |= kept.key.as_ref() == Some(&refused.secret);
        !refused.is_new
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for KeySource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KeySource {}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySource({})", self.0.place)
    }
}
