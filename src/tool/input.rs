//! From a model's JSON to a tool's typed input, with errors the model can mend.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Args, ToolOutput};

/// Decodes the arguments of a call.
///
/// # Errors
/// Returns a failed output that names the fault and the fields the tool has.
pub fn parse_input<T: DeserializeOwned + JsonSchema>(tool: &str, args: &Args) -> Result<T, ToolOutput> {
    serde_json::from_value(Value::Object(args.clone())).map_err(|fault| {
        let schema = schema_of::<T>();
        let fields: Vec<&str> =
            schema["properties"].as_object().map(|all| all.keys().map(String::as_str).collect()).unwrap_or_default();
        let required =
            schema["required"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        ToolOutput::error(format!(
            "{tool}: the input does not fit: {fault}. Fields: {}. Required: {}. Call it again with a corrected input.",
            fields.join(", "),
            required.filter(|names| !names.is_empty()).map_or_else(|| "none".to_owned(), |names| names.join(", ")),
        ))
    })
}

/// Returns the JSON Schema of a tool's input, inlined and without titles, as model APIs want it.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip_titles(&mut schema);
    schema
}

fn strip_titles(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for note in ["title", "format"] {
                if map.get(note).is_some_and(Value::is_string) {
                    map.shift_remove(note);
                }
            }
            map.values_mut().for_each(strip_titles);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_titles),
        _ => {}
    }
}
