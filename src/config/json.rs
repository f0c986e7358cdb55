//! Reading one file of JSON settings: an object in which no key stands twice.
//!
//! Owns the syntax and the places of faults. Leaves the meaning of keys to `settings` and `more_settings`. Invariant: of two
//! values of one key neither is chosen, for the one that is dropped may forbid something.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::message::Diagnostic;

/// Reads an object.
///
/// # Errors
/// Returns what is wrong with the text, at its place.
pub(super) fn object(text: &str, path: &Path) -> Result<Map<String, Value>, Diagnostic> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Unique.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(Value::Object(keys)) => Ok(keys),
        Ok(other) => Err(Diagnostic::in_file(path, format!("it holds {}, no object of settings", kind(&other)))),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let words = error.to_string();
            let place = format!(" at line {line} column {column}");
            let message = words.strip_suffix(&place).unwrap_or(&words).to_owned();
            Err(Diagnostic { line: Some(line), column: Some(column), ..Diagnostic::in_file(path, message) })
        }
    }
}

/// Says what kind of value this is.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns where a key first stands in a text, behind another one if that is named: good enough to point to it.
pub(super) fn offset_of(text: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    for part in name.split('.') {
        let key = serde_json::to_string(part).ok()?;
        from += text.get(from..)?.find(&key)?;
    }
    Some(from)
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, on: bool) -> Result<Value, E> {
        Ok(on.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
            let value = entries.next_value_seed(Self)?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}
