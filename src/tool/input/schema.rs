//! The JSON Schema of a tool's input, as model APIs want it.
//!
//! Owns the plainest form of what `schemars` says. Invariant: it is worked out once for each type, and says nothing that
//! contradicts itself.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the JSON Schema of a tool's input, inlined and in the plainest form, as model APIs want it: no titles, no
/// formats, optional fields without a `null` alternative, and choices as `enum`. It is worked out once for each type:
/// every request holds it.
#[must_use]
pub fn schema_of<T: JsonSchema + 'static>() -> Value {
    static KNOWN: Mutex<BTreeMap<TypeId, Value>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(TypeId::of::<T>()).or_insert_with(generate::<T>).clone()
}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        // The root's description is that of the Rust type; the tool has its own.
        root.shift_remove("description");
    }
    schema
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for note in ["title", "format"] {
                if map.get(note).is_some_and(Value::is_string) {
                    map.shift_remove(note);
                }
            }
            if map.get("default").is_some_and(|value| value.is_null() || value == "") {
                map.shift_remove("default");
            }
            // What is allowed anyway need not be said.
            if map.get("additionalProperties") == Some(&Value::Bool(true)) {
                map.shift_remove("additionalProperties");
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                // A choice that is of no type costs the whole request at some services.
                if let Some(Value::Array(choices)) = map.get_mut("enum") {
                    choices.retain(|choice| !choice.is_null());
                }
            }
            if let Some(Value::Array(types)) = map.get("type")
                && let [only] = types.as_slice()
            {
                let only = only.clone();
                map.insert("type".to_owned(), only);
            }
            if let Some(choices) = constants(map) {
                map.shift_remove("oneOf");
                map.insert("type".to_owned(), Value::from("string"));
                map.insert("enum".to_owned(), choices);
            }
            map.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Returns the values of a `oneOf` whose members are all constants.
fn constants(map: &Map<String, Value>) -> Option<Value> {
    map.get("oneOf")?
        .as_array()?
        .iter()
        .map(|choice| choice.get("const").cloned())
        .collect::<Option<Vec<_>>>()
        .map(Value::from)
}
