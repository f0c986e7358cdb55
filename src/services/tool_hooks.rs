//! Hooks that are a tool of an MCP server: it is called with what happens, and its answer read as what a command prints.
//!
//! Owns the input of the call, and its time. Leaves what answers mean to `hook`. Source: the reference of Claude Code's
//! hooks. Invariant: a call that fails, or whose input cannot be filled in, has judged nothing.

use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::hook::{HookExit, HookProcess, HookToolCall};
use crate::mcp::{McpContent, McpReply, McpServers};
use crate::message::sanitize_line;

/// Calls the tool, and returns its answer as the end of a program.
pub(super) async fn exit_of(call: &HookToolCall, process: HookProcess, servers: &McpServers) -> HookExit {
    let HookProcess { handler, input, stop, .. } = process;
    let args = match arguments(&call.input, &input) {
        Ok(args) => args,
        Err(why) => return HookExit::Unjudged(why),
    };
    let calling = servers.call((&call.server, &call.tool), args, &stop);
    let reply = tokio::select! {
        biased;
        () = stop.cancelled() => return HookExit::Stopped,
        reply = timeout(handler.timeout, calling) => reply,
    };
    match reply {
        Ok(Ok(McpReply { content, is_error: false })) => {
            HookExit::Exited { code: Some(0), stdout: text_of(&content), stderr: String::new() }
        }
        Ok(Ok(McpReply { content, .. })) => {
            HookExit::Unjudged(format!("{} has failed: {}", call.tool, sanitize_line(&text_of(&content))))
        }
        Ok(Err(why)) => HookExit::Unjudged(sanitize_line(&why.to_string()).into_owned()),
        Err(_) => HookExit::Unjudged(format!(
            "{} of {} has not answered within {} s",
            call.tool,
            call.server,
            handler.timeout.as_secs_f32()
        )),
    }
}

fn text_of(content: &[McpContent]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        McpContent::Text(text) => Some(text.as_str()),
        McpContent::Image { .. } | McpContent::Other(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Fills the fields of an event into the input of a call.
fn arguments(template: &str, event: &[u8]) -> Result<Map<String, Value>, String> {
    let mut args: Map<String, Value> = serde_json::from_str(template).map_err(|error| error.to_string())?;
    let event: Value = serde_json::from_slice(event).map_err(|error| error.to_string())?;
    for value in args.values_mut() {
        fill(value, &event)?;
    }
    Ok(args)
}

fn fill(value: &mut Value, event: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill(item, event)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| fill(field, event)),
        Value::String(text) => {
            *value = filled(text, event)?;
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Returns a text with its fields filled in. A text that is one field and nothing else becomes what that field is.
fn filled(text: &str, event: &Value) -> Result<Value, String> {
    let mut parts = text.split("${");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((path, rest)) = part.split_once('}') else {
            filled.push_str("${");
            filled.push_str(part);
            continue;
        };
        let field = path.split('.').try_fold(event, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        });
        let field = field.ok_or_else(|| format!("its input needs {}, which this call does not have", shown(path)))?;
        match field {
            field if text.len() == path.len() + "${}".len() => return Ok(field.clone()),
            Value::String(text) => filled.push_str(text),
            other => filled.push_str(&other.to_string()),
        }
        filled.push_str(rest);
    }
    Ok(filled.into())
}

fn shown(path: &str) -> String {
    format!("`{}`", sanitize_line(path).chars().take(80).collect::<String>())
}
