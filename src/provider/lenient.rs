//! Fields of an answer, read as far as they can be: servers leave fields out, or send them in another type.
//!
//! Owns the forms that a text, a count and a part of an answer may have. Leaves the meaning of fields to the decoders.
//! Invariant: a field of another type counts as a missing one and costs no other field.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Most tokens that a count is believed; a larger one is no count.
const MAX_TOKENS: u64 = 1 << 40;

/// A value of type `T`, or nothing if what stands there is something else.
#[derive(Debug, Clone)]
pub(super) struct Lenient<T>(pub(super) Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de: 'a, 'a, T: Deserialize<'a>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

/// A list without the elements that are something else than a `T`.
pub(super) type List<T> = Lenient<Vec<Lenient<T>>>;

impl<T> List<T> {
    pub(super) fn elements(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten().filter_map(|element| element.0.as_ref())
    }

    pub(super) fn into_elements(self) -> impl Iterator<Item = T> {
        self.0.into_iter().flatten().filter_map(|element| element.0)
    }
}

/// Reads an event; `None` if it is JSON, but no object.
pub(super) fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Result<Option<T>, serde_json::Error> {
    if json.starts_with('{') {
        serde_json::from_str(json).map(Some)
    } else {
        serde_json::from_str::<IgnoredAny>(json).map(|_| None)
    }
}

/// A string of an answer, borrowed where the JSON has no escapes in it.
///
/// A number counts as its digits, a list of parts as their text, and null and everything else as nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    /// Returns the number that stands there, in digits or as a string of them.
    pub(super) fn number(&self) -> Option<u64> {
        self.0.trim().parse().ok()
    }

    pub(super) fn tokens(&self) -> Option<u64> {
        self.number().filter(|count| *count <= MAX_TOKENS)
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor { in_list: false }).map(Text)
    }
}

struct TextVisitor {
    /// Whether this is a part of a text that is sent as a list.
    in_list: bool,
}

/// One part of a text that is sent as a list: a string, or an object with a text.
struct Part<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor { in_list: true }).map(Part)
    }
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut text = Cow::Borrowed("");
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if self.in_list && &*key == "text" {
                text = map.next_value::<Text<'de>>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut text = String::new();
        if self.in_list {
            while parts.next_element::<IgnoredAny>()?.is_some() {}
        } else {
            while let Some(part) = parts.next_element::<Part<'de>>()? {
                text.push_str(&part.0);
            }
        }
        Ok(Cow::Owned(text))
    }
}
