//! Keys and tokens that must not reach a file, a screen or a model.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const MASK: &str = "***";
/// Below this a secret is too likely to be an ordinary word.
const MIN_LENGTH: usize = 8;

/// Texts that are replaced by `***` in everything that is kept. Only whole occurrences within one text are found: a
/// secret that a model streams in two pieces is not.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[Secret]>);

struct Secret {
    plain: String,
    /// As it looks inside a JSON string.
    escaped: String,
}

impl Secrets {
    /// Takes the secrets. Those shorter than eight bytes are passed over.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().map(Into::into).filter(|secret: &String| secret.len() >= MIN_LENGTH).collect();
        // The longest first, so that one that contains another leaves nothing of itself behind.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let secrets = secrets.into_iter().map(|plain| {
            let quoted = Value::String(plain.clone()).to_string();
            Secret { plain, escaped: quoted[1..quoted.len() - 1].to_owned() }
        });
        Self(secrets.collect())
    }

    /// Masks the secrets in a text.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.0.iter() {
            if text.contains(&secret.plain) {
                text = Cow::Owned(text.replace(&secret.plain, MASK));
            }
        }
        text
    }

    /// Masks the secrets in all texts of a value. One that holds none is returned as it is.
    #[must_use]
    pub fn redact_all<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        if self.0.is_empty() {
            return value;
        }
        let Ok(json) = serde_json::to_string(&value) else { return value };
        if !self.0.iter().any(|secret| json.contains(&secret.escaped)) {
            return value;
        }
        serde_json::from_str(&self.redact_json(json)).unwrap_or(value)
    }

    /// Masks the secrets in the strings of a JSON document, which stays a JSON document.
    pub(super) fn redact_json(&self, json: String) -> String {
        if !self.0.iter().any(|secret| json.contains(&secret.escaped)) {
            return json;
        }
        match serde_json::from_str(&json) {
            Ok(value) => self.redact_value(value).to_string(),
            Err(_) => self.redact(&json).into_owned(),
        }
    }

    fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                fields.map(|(key, value)| (self.redact(&key).into_owned(), self.redact_value(value))).collect()
            }
            value => value,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}
