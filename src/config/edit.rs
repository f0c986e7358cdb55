//! Changing one setting in a configuration file.
//!
//! Owns the text: comments, order and spelling of all else stay. Leaves what a setting takes to `layer`. Invariants: what a
//! reader of the file would report afterwards, and did not before, is refused; a key of a service is never written.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Key, Table, TableLike, Value};

use super::layer::{self, Origin};
use super::rows::ROWS;
use super::{Loaded, file};

/// The last words of names whose values are secrets.
const SECRETS: [&str; 2] = ["api_key", "clientSecret"];
/// Tables in which values may be secrets.
const MAYBE_SECRET: [&str; 3] = ["headers", "env", "oauth"];

/// Returns the text of a file in which a setting has this value, which is TOML or a plain word.
///
/// # Errors
/// Returns why it stays as it is.
pub fn edited(text: &str, path: &Path, (name, value): (&str, &str), is_projects: bool) -> Result<String, String> {
    let keys = Key::parse(name).map_err(|_| format!("`{name}` is no name of a setting"))?;
    let Some((last, sections)) = keys.split_last() else { return Err("name a setting".to_owned()) };
    if SECRETS.contains(&last.get()) || SECRETS.iter().any(|word| value.contains(word)) {
        return Err(format!(
            "`{name}` is a key, and others can read command lines: store it with `belvedere keys set`, or edit the file"
        ));
    }
    let origin = if is_projects { Origin::Project } else { Origin::User };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        format!("{} has an error: {}. Mend it first (belvedere config edit)", path.display(), error.message())
    })?;
    let value = written(name, value)?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for section in sections {
        let made = || {
            let mut made = Table::new();
            made.set_implicit(true);
            Item::Table(made)
        };
        let item = table.entry(section.get()).or_insert_with(made);
        table = item.as_table_like_mut().ok_or_else(|| format!("`{}` is no table", section.get()))?;
    }
    match table.get_mut(last.get()) {
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        Some(item) if !item.is_none() => return Err(format!("`{name}` is a table; name a key of it")),
        _ => drop(table.insert(last.get(), Item::Value(value))),
    }
    let new = document.to_string();
    let reports = |text: &str| {
        let mut loaded = Loaded::default();
        file::apply(&mut loaded, text, path, origin);
        loaded.diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect::<Vec<_>>()
    };
    let before = reports(text);
    match reports(&new).into_iter().find(|message| !before.contains(message)) {
        Some(message) => Err(message),
        None => Ok(new),
    }
}

/// Returns `true` if this value of a setting may hold a secret, which nobody else should be able to read.
#[must_use]
pub fn may_be_secret(name: &str, value: &str) -> bool {
    let keys = Key::parse(name).unwrap_or_default();
    keys.iter().any(|key| MAYBE_SECRET.contains(&key.get())) || MAYBE_SECRET.iter().any(|word| value.contains(word))
}

/// Returns a value as TOML: of a known setting by its kind, of another as it is written, or else as a text.
fn written(name: &str, value: &str) -> Result<Value, String> {
    let as_toml = || value.trim().parse::<Value>().ok();
    let Some(row) = ROWS.iter().find(|row| row.name == name) else {
        return Ok(as_toml().unwrap_or_else(|| Value::from(value)));
    };
    if let Some(list) = as_toml().filter(Value::is_array) {
        return Ok(list);
    }
    Ok(match layer::parse(row, value).map_err(|error| format!("`{name}`: {error}"))? {
        layer::Value::Number(number) => Value::from(number),
        layer::Value::Switch(on) => Value::from(on),
        layer::Value::List(items) => Value::Array(items.into_iter().collect::<Array>()),
        layer::Value::Text(text) => as_toml().filter(|it| it.is_integer() || it.is_float()).map_or_else(
            || Value::from(text.trim_matches('"')),
            |number| if layer::takes_numbers(row) { number } else { Value::from(text.as_str()) },
        ),
        layer::Value::Decimal(_) | layer::Value::Other(_) => Value::from(value),
    })
}
