//! One entry of a configuration of servers, in the format of Claude Code.
//!
//! Owns its grammar, and the words that show it. Invariant: an entry that is not understood is no server, and says why; a
//! project's entry cannot name the variables that hold our keys.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value};

use super::config::{CALL_TIMEOUT, McpConfig, McpScope, McpWay, START_TIMEOUT, SignInSettings};
use super::names::is_server_name;
use super::sources::McpSources;
use crate::message::expand_variables;
use crate::message::format::shell_word;

/// Longest name of a server, in bytes.
const MAX_SERVER_NAME: usize = 64;
/// Longest time that an entry may ask for.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

type Entry = Map<String, Value>;

/// Reads one entry. The error says what is wrong with it, without any value of a variable.
pub(super) fn read(name: &str, entry: &Value, scope: McpScope, sources: &McpSources) -> Result<McpConfig, String> {
    if name.len() > MAX_SERVER_NAME || !is_server_name(name) {
        return Err(format!("its name must be 1 to {MAX_SERVER_NAME} characters, without `__` or a `_` at the end"));
    }
    let entry = entry.as_object().ok_or("it is no table or object")?;
    let lookup = |variable: &str| sources.variable(variable, scope);
    let filled = |text: String| {
        let text = expand_variables(&text, &lookup)?;
        if text.contains('\0') { Err("it holds a NUL character".to_owned()) } else { Ok(text) }
    };
    let all = |list: Vec<String>| list.into_iter().map(filled).collect::<Result<Vec<_>, _>>();
    let pairs = |list: Vec<(String, String)>| {
        list.into_iter().map(|(key, value)| Ok((key, filled(value)?))).collect::<Result<Vec<_>, String>>()
    };
    if entry.contains_key("headersHelper") {
        return Err("`headersHelper` is not supported; write `headers`".to_owned());
    }
    let way = match Reached::of(entry)? {
        Reached::Program(command) => McpWay::Stdio {
            command: filled(command)?,
            args: all(texts(entry, "args")?)?,
            env: pairs(table(entry, "env")?)?,
        },
        Reached::Http(url) => McpWay::Http { url: address(&filled(url)?)?, headers: pairs(table(entry, "headers")?)? },
        Reached::Sse(url) => McpWay::Sse { url: address(&filled(url)?)?, headers: pairs(table(entry, "headers")?)? },
        Reached::Calling if scope == McpScope::Given => McpWay::Calling,
        Reached::Calling => {
            return Err("its type `sdk` is for the program that drives this one (--mcp-config)".to_owned());
        }
    };
    if let Some(key) = sources.lists.refusal(name, way.place()) {
        return Err(format!("your settings do not let it be used (`{key}`)"));
    }
    if matches!(&way, McpWay::Stdio { command, .. } if command.trim().is_empty()) {
        return Err("its `command` is empty".to_owned());
    }
    let is_disabled = entry.get("disabled").and_then(Value::as_bool).unwrap_or(false)
        || entry.get("enabled").and_then(Value::as_bool).is_some_and(|enabled| !enabled);
    let off = is_disabled.then(|| "its entry says `disabled`".to_owned());
    Ok(McpConfig {
        name: name.to_owned(),
        scope,
        way,
        shown: shown(entry),
        is_projects: scope == McpScope::Project,
        outside: outside(entry)?,
        call_timeout: timeout(entry)?.or(sources.millis("MCP_TOOL_TIMEOUT")).unwrap_or(CALL_TIMEOUT),
        start_timeout: sources.millis("MCP_TIMEOUT").unwrap_or(START_TIMEOUT),
        off,
        sign_in: match entry.get("oauth") {
            None | Some(Value::Null) => SignInSettings::default(),
            Some(Value::Object(said)) => SignInSettings {
                client_id: text(said, "clientId")?.map(filled).transpose()?,
                client_secret: text(said, "clientSecret")?.map(filled).transpose()?,
                port: port(said)?,
                scopes: texts(said, "scopes")?,
            },
            Some(_) => return Err("its `oauth` is no table or object".to_owned()),
        },
    })
}

/// How a server is reached, as its entry is written: what is started and what is shown both follow from this.
enum Reached {
    Program(String),
    Http(String),
    Sse(String),
    Calling,
}

impl Reached {
    fn of(entry: &Entry) -> Result<Self, String> {
        let kind = text(entry, "type")?.or(text(entry, "transport")?);
        match (kind.as_deref(), text(entry, "command")?, text(entry, "url")?) {
            (None | Some("stdio"), Some(command), _) => Ok(Self::Program(command)),
            (None | Some("http" | "streamable-http" | "streamableHttp" | "streamable_http"), None, Some(url)) => {
                Ok(Self::Http(url))
            }
            (Some("sse"), _, Some(url)) => Ok(Self::Sse(url)),
            (Some("sdk"), _, _) => Ok(Self::Calling),
            (None | Some("stdio"), None, _) => Err("it has no `command` and no `url`".to_owned()),
            (Some("http" | "sse" | "streamable-http" | "streamableHttp" | "streamable_http"), _, None) => {
                Err("it has no `url`".to_owned())
            }
            (Some(other), ..) => Err(format!("its type `{other}` is unknown; one of stdio, http, sse")),
        }
    }
}

/// Returns what an entry would do, with nothing left out: what the user trusts is this.
pub(super) fn shown(entry: &Entry) -> String {
    let mut words = Vec::new();
    // An address that is reached is not the same word as a program of that name. No word of a command has such brackets.
    match Reached::of(entry) {
        Ok(Reached::Program(_)) => {}
        Ok(Reached::Http(_)) => words.push("[http]".to_owned()),
        Ok(Reached::Sse(_)) => words.push("[sse]".to_owned()),
        Ok(Reached::Calling) => words.push("[in the calling program]".to_owned()),
        Err(_) => words.push("[left out]".to_owned()),
    }
    for key in ["command", "url"] {
        words.extend(entry.get(key).and_then(Value::as_str).map(|word| shell_word(word).into_owned()));
    }
    if let Some(args) = entry.get("args").and_then(Value::as_array) {
        words.extend(args.iter().map(|arg| shell_word(&plain_text(arg)).into_owned()));
    }
    for (key, word) in [("env", "with"), ("headers", "with header"), ("oauth", "signing in with")] {
        if let Some(table) = entry.get(key).and_then(Value::as_object) {
            words.extend(
                table
                    .iter()
                    .map(|(name, value)| format!("[{word} {}={}]", shell_word(name), shell_word(&plain_text(value)))),
            );
        }
    }
    if entry.get("outside") == Some(&Value::Bool(true)) {
        words.push("[outside the sandbox]".to_owned());
    }
    words.join(" ")
}

fn outside(entry: &Entry) -> Result<Option<bool>, String> {
    match entry.get("outside") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(outside)) => Ok(Some(*outside)),
        Some(_) => Err("its `outside` is neither true nor false".to_owned()),
    }
}

fn plain_text(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

fn address(url: &str) -> Result<String, String> {
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("its `url` is no address: {error}"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(url.to_owned()),
        other => Err(format!("its `url` begins with {other}:, not http: or https:")),
    }
}

fn timeout(entry: &Entry) -> Result<Option<Duration>, String> {
    match entry.get("timeout") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().map(Duration::from_millis) {
            Some(time) if time > Duration::ZERO && time <= MAX_TIMEOUT => Ok(Some(time)),
            _ => Err("its `timeout` is no number of milliseconds".to_owned()),
        },
    }
}

fn port(said: &Entry) -> Result<Option<u16>, String> {
    match said.get("callbackPort") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0) {
            Some(port) => Ok(Some(port)),
            None => Err("its `oauth.callbackPort` is no port".to_owned()),
        },
    }
}

fn text(entry: &Entry, key: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("its `{key}` is no string")),
    }
}

fn texts(entry: &Entry, key: &str) -> Result<Vec<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            let text = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            list.iter()
                .map(text)
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("its `{key}` is no list of strings"))
        }
        Some(_) => Err(format!("its `{key}` is no list of strings")),
    }
}

fn table(entry: &Entry, key: &str) -> Result<Vec<(String, String)>, String> {
    let no_table = || format!("its `{key}` is no table of strings");
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(table)) => {
            let pair = |(name, value): (&String, &Value)| match value {
                Value::String(text) => Some((name.clone(), text.clone())),
                Value::Number(_) | Value::Bool(_) => Some((name.clone(), value.to_string())),
                _ => None,
            };
            table.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(no_table)
        }
        Some(_) => Err(no_table()),
    }
}
