//! The field `acp`: the program that is an agent.
//!
//! Owns its three forms: a line, a list of words, and an object with `command`, `args` and `env`. Invariant: a field that is not
//! understood gives the agent up, so that no other one works in its place.

use serde_json::{Map, Value};

use super::fields::{Reader, scalar};
use crate::message::{ExternalProgram, is_variable, sanitize_line};
use crate::permission::shell_words;

const KEY: &str = "acp";

impl Reader<'_> {
    /// Returns the program that is this agent. `Err` says that there is one and nobody knows which; that was reported.
    pub(super) fn program(&mut self) -> Result<Option<ExternalProgram>, ()> {
        let Some(value) = self.value(KEY).cloned() else { return Ok(None) };
        read(&value).map(Some).map_err(|why| {
            let hint = "Write a command, such as `acp: gemini --acp`, or a list of its words";
            self.report_at(KEY, format!("`{KEY}` {}. {hint}. File skipped.", sanitize_line(&why)));
        })
    }
}

fn read(value: &Value) -> Result<ExternalProgram, String> {
    let (words, env) = match value {
        Value::String(line) => (shell_words(line), Vec::new()),
        Value::Array(words) => (texts(words)?, Vec::new()),
        Value::Object(entry) => from_entry(entry)?,
        _ => return Err("is no command".to_owned()),
    };
    let mut words = words.into_iter();
    let command = words.next().filter(|command| !command.trim().is_empty()).ok_or("is empty")?;
    let program = ExternalProgram { command, args: words.collect(), env };
    let has_nul = std::iter::once(&program.command).chain(&program.args).any(|word| word.contains('\0'));
    if has_nul { Err("holds a NUL character".to_owned()) } else { Ok(program) }
}

/// The words of a command, and its variables.
type CommandParts = (Vec<String>, Vec<(String, String)>);

fn from_entry(entry: &Map<String, Value>) -> Result<CommandParts, String> {
    if let Some(other) = entry.keys().find(|key| !["command", "args", "env"].contains(&key.as_str())) {
        return Err(format!("has the unknown key `{other}`"));
    }
    let command = entry.get("command").and_then(scalar).ok_or("has no `command`")?;
    let args = match entry.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(words)) => texts(words)?,
        Some(_) => return Err("has `args` that are no list".to_owned()),
    };
    let env = match entry.get("env") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(table)) => table.iter().map(variable).collect::<Result<_, _>>()?,
        Some(_) => return Err("has an `env` that is no table of variables".to_owned()),
    };
    Ok((std::iter::once(command).chain(args).collect(), env))
}

fn texts(words: &[Value]) -> Result<Vec<String>, String> {
    words.iter().map(|word| scalar(word).ok_or_else(|| "has a word that is no text".to_owned())).collect()
}

fn variable((name, value): (&String, &Value)) -> Result<(String, String), String> {
    let value = scalar(value).unwrap_or_default();
    if is_variable(name) { Ok((name.clone(), value)) } else { Err(format!("sets `{name}`, which is no variable")) }
}
