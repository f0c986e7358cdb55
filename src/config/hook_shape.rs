//! Whether the hooks of a settings file can all be read.
//!
//! Owns the form that events, groups and hooks have. Leaves what they do to `hook`. Invariant: a hook that cannot be read is
//! named as lost, for it may be one that forbids.

use serde_json::Value;

use super::json::kind;

/// Events at which a hook only takes note.
const NOTES: [&str; 6] = ["Notification", "SessionStart", "SessionEnd", "StopFailure", "PostCompact", "MessageDisplay"];
/// The types that a hook may have.
const TYPES: [&str; 5] = ["command", "prompt", "http", "agent", "mcp_tool"];

/// Returns which parts of `hooks` are no hooks, each with its key.
pub(super) fn errors_in(hooks: &Value) -> Vec<(String, String)> {
    let Value::Object(events) = hooks else {
        return vec![("hooks".to_owned(), format!("is {}, no object of events: none of its hooks run", kind(hooks)))];
    };
    let mut found = Vec::new();
    let is_guard = |(event, groups): &(&String, &Value)| !groups.is_null() && !NOTES.contains(&event.as_str());
    for (event, groups) in events.iter().filter(is_guard) {
        let mut say = |words: String| found.push((format!("hooks.{event}"), words));
        let Value::Array(groups) = groups else {
            say(format!("is {}, no list: its hooks do not run", kind(groups)));
            continue;
        };
        for group in groups {
            let matcher = group.get("matcher");
            match group.get("hooks").and_then(Value::as_array) {
                Some(_) if !matcher.is_none_or(Value::is_string) => {
                    say("has an entry whose `matcher` is no text: its hooks do not run".to_owned());
                }
                Some(hooks) if !hooks.iter().all(is_hook) => {
                    say("has a hook without a known `type`, or without a `command` for bash: it does not run"
                        .to_owned());
                }
                Some(_) => {}
                None => say("has an entry without a list of `hooks`: it does not run".to_owned()),
            }
        }
    }
    found
}

fn is_hook(hook: &Value) -> bool {
    let is_line = |text: &str| !text.trim().is_empty() && !text.contains('\0');
    let kind = hook["type"].as_str().filter(|kind| TYPES.contains(kind));
    let shell = hook.get("shell").is_none_or(|shell| shell == "bash");
    kind.is_some_and(|kind| kind != "command" || shell && hook["command"].as_str().is_some_and(is_line))
}
