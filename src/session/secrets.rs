//! Keys and tokens that must not reach a file, a screen or a model.
//!
//! Owns those that are named. Leaves those that are known by their shape to `tokens`: they are masked in what people see
//! and what is kept, but not for models, because an agent that works with such a text has to see it as it is.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tokens::{LineMask, mask_middles, mask_tokens, may_hold_token, part_at_end, settled};
use crate::message::FileDiff;

pub(super) const MASK: &str = "***";
/// Below this a secret is too likely to be an ordinary word.
const MIN_LENGTH: usize = 8;

/// Texts that are replaced by `***` in everything that is kept. Only whole occurrences within one text are found: a
/// secret that a model streams in two pieces is not. Clones are the same: what one learns, all mask.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Arc<[Named]>>>);

struct Named {
    plain: String,
    /// As it looks inside a JSON string.
    escaped: String,
}

impl Secrets {
    /// Takes the secrets. Those shorter than eight bytes are passed over.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let found = Self::default();
        found.learn(secrets);
        found
    }

    /// Adds secrets, which are masked from now on. Those shorter than eight bytes are passed over.
    pub fn learn(&self, secrets: impl IntoIterator<Item = impl Into<String>>) {
        let mut named = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = named.iter().map(|secret| secret.plain.clone());
        let mut all: Vec<String> = known.chain(secrets.into_iter().map(Into::into)).collect();
        all.retain(|secret| secret.len() >= MIN_LENGTH);
        // The longest first, so that one that contains another leaves nothing of itself behind.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        let all = all.into_iter().map(|plain| {
            let quoted = Value::String(plain.clone()).to_string();
            Named { plain, escaped: quoted[1..quoted.len() - 1].to_owned() }
        });
        *named = all.collect();
    }

    fn named(&self) -> Arc<[Named]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.named().iter() {
            if text.contains(&secret.plain) {
                text = Cow::Owned(text.replace(&secret.plain, MASK));
            }
        }
        text
    }

    /// Masks the secrets in a text that is shown or kept, and what looks like one.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        mask_tokens(self.redact(text))
    }

    /// Masks the same in what somebody is asked to allow. Of what looks like a token the ends stay, and nothing is masked
    /// that a shell could act on.
    pub fn mask_act<'a>(&self, text: &'a str) -> Cow<'a, str> {
        mask_middles(self.redact(text))
    }

    /// Masks the secrets, and what looks like one, in a change of a file.
    pub fn mask_diff(&self, diff: &mut FileDiff) {
        for hunk in &mut diff.hunks {
            let mut keys = LineMask::default();
            for line in &mut hunk.lines {
                let masked = keys.inside(&line.text).map_or_else(|| self.mask(&line.text), Cow::Borrowed);
                line.text = masked.into_owned();
            }
        }
    }

    /// Masks the secrets, and what looks like one, in all texts of a value. One that holds none is returned as it is.
    pub fn mask_all<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let Ok(json) = serde_json::to_string(&value) else { return value };
        if !self.may_hold(&json) {
            return value;
        }
        let Ok(document) = serde_json::from_str(&json) else { return value };
        serde_json::from_value(in_texts(document, &|text| self.mask(text).into_owned())).unwrap_or(value)
    }

    /// Returns how many bytes of a text can be masked by themselves, whatever follows.
    pub(super) fn settled(&self, text: &str) -> usize {
        self.named().iter().fold(settled(text), |settled, Named { plain, .. }| {
            let settled = settled.min(text.len() - part_at_end(text, plain));
            let cut =
                text.match_indices(plain).map(|(at, _)| at).find(|at| *at < settled && settled < at + plain.len());
            cut.unwrap_or(settled)
        })
    }

    fn may_hold(&self, json: &str) -> bool {
        self.named().iter().any(|secret| json.contains(&secret.escaped)) || may_hold_token(json)
    }

    /// Masks the secrets, and what looks like one, in the strings of a JSON document that is kept. It stays a JSON
    /// document.
    pub(super) fn mask_json(&self, json: String) -> String {
        if !self.may_hold(&json) {
            return json;
        }
        match serde_json::from_str(&json) {
            Ok(document) => in_texts(document, &|text| self.mask(text).into_owned()).to_string(),
            Err(_) => self.mask(&json).into_owned(),
        }
    }
}

/// Returns a document with all its texts changed, names of fields included.
fn in_texts(document: Value, change: &impl Fn(&str) -> String) -> Value {
    match document {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => items.into_iter().map(|item| in_texts(item, change)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (change(&key), in_texts(value, change))).collect()
        }
        other => other,
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.named().len())
    }
}
