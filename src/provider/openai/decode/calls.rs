//! Tells the tool calls of one answer apart.
//!
//! After the API each piece has an index, and the first piece of a call has its id and name. Servers leave out the id,
//! the index or both, give two calls the same index, or send a call whole. Invariant: a call begins once its name is
//! known; what came of its input before that is kept.

use serde::de::IgnoredAny;

use crate::provider::StreamEvent;
use crate::provider::stream::Queue;

/// The calls so far, in the order they began.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

struct Call {
    wire_index: Option<i64>,
    id: String,
    name: String,
    input: String,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one piece.
    pub(super) fn piece(&mut self, index: Option<i64>, id: &str, name: &str, json: &str, out: &mut Queue) {
        let at = self.find(index, id, name, json).unwrap_or_else(|| {
            let (id, name, input) = (String::new(), String::new(), String::new());
            self.0.push(Call { wire_index: index, id, name, input });
            self.0.len() - 1
        });
        let call = &mut self.0[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let begins = call.name.is_empty() && !name.is_empty();
        if begins {
            name.clone_into(&mut call.name);
            out.push(StreamEvent::ToolCallStart { index: at, id: call.id.clone(), name: call.name.clone() });
            out.input(at, &call.input);
        }
        call.input.push_str(json);
        if !call.name.is_empty() {
            out.input(at, json);
        }
    }

    /// Begins the calls whose name never came, so that the model hears of it.
    pub(super) fn finish(&mut self, out: &mut Queue) {
        for (index, call) in self.0.iter().enumerate().filter(|(_, call)| call.name.is_empty()) {
            out.push(StreamEvent::ToolCallStart { index, id: call.id.clone(), name: String::new() });
            out.input(index, &call.input);
        }
    }

    /// Finds the call that a piece belongs to; `None` if it begins one.
    fn find(&self, index: Option<i64>, id: &str, name: &str, json: &str) -> Option<usize> {
        if !id.is_empty()
            && let Some(at) = self.0.iter().rposition(|call| call.id == id)
        {
            return Some(at);
        }
        let at = match index {
            Some(_) => self.0.iter().rposition(|call| call.wire_index == index)?,
            None => self.0.len().checked_sub(1)?,
        };
        let call = &self.0[at];
        if call.name.is_empty() || name.is_empty() {
            // A second id without a name is a server that makes up an id for each piece.
            return Some(at);
        }
        if !id.is_empty() && !call.id.is_empty() {
            return None;
        }
        // Named again: a new call if the last one is whole, otherwise a server that repeats the name.
        let another = name != call.name || (!json.is_empty() && is_whole(&call.input));
        (!another).then_some(at)
    }
}

fn is_whole(json: &str) -> bool {
    json.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(json).is_ok()
}
