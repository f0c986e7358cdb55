//! Hooks that the calling program runs itself: its callbacks, as it names them when it begins.
//!
//! Owns their format. Leaves asking the program to `services`. Source of the format: the `initialize` request of the Claude
//! Agent SDK. Invariant: one that cannot be read ends the start, for it may be a guard.

use serde::Deserialize;
use serde_json::Value;

use super::command::HookCommand;
use super::event::HookEvent;
use super::handler::{HookHandler, HookSource, OnFailure, bounded_timeout};
use super::matcher::HookMatcher;
use crate::message::sanitize_line;

/// Seconds that a callback may take unless the program says otherwise.
const USUAL_TIMEOUT: f64 = 60.0;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallbackGroup {
    #[serde(default)]
    matcher: Option<String>,
    #[serde(rename = "hookCallbackIds")]
    ids: Vec<String>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    on_failure: Option<String>,
}

impl HookHandler {
    /// Reads the callbacks of a program. Returns them, and what is to be said of those that never run.
    ///
    /// # Errors
    /// Returns what cannot be read.
    pub fn callbacks(hooks: &Value) -> Result<(Vec<Self>, Vec<String>), String> {
        let events = match hooks {
            Value::Null => return Ok(Default::default()),
            Value::Object(events) => events,
            _ => return Err("`hooks` is no object of events".to_owned()),
        };
        let (mut handlers, mut said) = (Vec::new(), Vec::new());
        for (name, groups) in events {
            let shown = sanitize_line(name);
            let groups = Vec::<CallbackGroup>::deserialize(groups).map_err(|error| format!("{shown}: {error}"))?;
            match HookEvent::named(name) {
                Ok(event) => {
                    for group in groups {
                        handlers.extend(group.handlers(event).map_err(|why| format!("{shown}: {why}"))?);
                    }
                }
                Err(why) => said.push(sanitize_line(&format!("hooks of the calling program: {why}")).into_owned()),
            }
        }
        Ok((handlers, said))
    }
}

impl CallbackGroup {
    fn handlers(self, event: HookEvent) -> Result<Vec<HookHandler>, String> {
        let matcher_text = self.matcher.unwrap_or_default();
        let matcher = HookMatcher::read(&matcher_text).map_err(|why| format!("a matcher {why}"))?;
        let timeout = bounded_timeout(event, self.timeout.or(Some(USUAL_TIMEOUT)));
        let on_failure = match self.on_failure.as_deref() {
            Some("continue") => OnFailure::Continue,
            Some(_) if event.can_block() => OnFailure::Block,
            _ => OnFailure::Unsaid,
        };
        let handler = |id: String| HookHandler {
            event,
            matcher_text: matcher_text.trim().to_owned(),
            matcher: matcher.clone(),
            condition: None,
            command: HookCommand::Callback(id),
            timeout,
            is_async: false,
            is_once: false,
            on_failure,
            outside: None,
            source: HookSource {
                place: "the calling program".into(),
                is_projects: false,
                is_managed: false,
                plugin: None,
            },
        };
        Ok(self.ids.into_iter().map(handler).collect())
    }
}
