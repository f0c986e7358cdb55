//! Assigns the pieces of an answer to its tool calls.
//!
//! After the API each piece has an index, and the first piece of a call has its id and name. Servers leave out the id,
//! the index or both, give two calls the same index, or send a call whole. Invariants: a call begins once its name is
//! known; what came of its input before that is kept; a piece costs time by its own length, not by what came before.

use std::collections::HashMap;

use crate::provider::StreamEvent;
use crate::provider::feed::Queue;

/// The calls so far, in the order they began.
#[derive(Default)]
pub(super) struct Calls {
    in_order: Vec<Call>,
    /// The latest call with each id, and with each index.
    by_id: HashMap<String, usize>,
    by_index: HashMap<i64, usize>,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    /// What came of the input before the name.
    held: String,
    input: Extent,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    /// Takes a piece and returns the place of its call; `None` if the reply has no room for another call.
    pub(super) fn piece(
        &mut self,
        index: Option<i64>,
        id: &str,
        name: &str,
        json: &str,
        out: &mut Queue,
    ) -> Option<usize> {
        let at = match self.find(index, id, name, json) {
            Some(at) => at,
            None if !out.charge_part(0) => return None,
            None => {
                self.in_order.push(Call::default());
                let at = self.in_order.len() - 1;
                if let Some(index) = index {
                    self.by_index.insert(index, at);
                }
                at
            }
        };
        let call = &mut self.in_order[at];
        if call.id.is_empty() && !id.is_empty() && out.charge(id.len()) {
            id.clone_into(&mut call.id);
            self.by_id.insert(id.to_owned(), at);
        }
        if call.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut call.name);
            out.push(StreamEvent::ToolCallStart { index: at, id: call.id.clone(), name: call.name.clone() });
            out.input(at, &std::mem::take(&mut call.held));
        }
        call.input.extend(json);
        if !call.name.is_empty() {
            out.input(at, json);
        } else if out.charge(json.len()) {
            call.held.push_str(json);
        }
        Some(at)
    }

    /// Begins the calls whose name never came, so that the model gets an error.
    pub(super) fn finish(&mut self, out: &mut Queue) {
        for (index, call) in self.in_order.iter().enumerate().filter(|(_, call)| call.name.is_empty()) {
            out.push(StreamEvent::ToolCallStart { index, id: call.id.clone(), name: String::new() });
            out.input(index, &call.held);
        }
    }

    /// Finds the call that a piece belongs to; `None` if it begins one.
    fn find(&self, index: Option<i64>, id: &str, name: &str, json: &str) -> Option<usize> {
        if let Some(at) = self.by_id.get(id) {
            return Some(*at);
        }
        let at = match index {
            Some(index) => *self.by_index.get(&index)?,
            None => self.in_order.len().checked_sub(1)?,
        };
        let call = &self.in_order[at];
        if call.name.is_empty() || name.is_empty() {
            // A second id without a name is a server that makes up an id for each piece.
            return Some(at);
        }
        if !id.is_empty() && !call.id.is_empty() {
            return None;
        }
        // Named again: a new call if the last one is whole, otherwise a server that repeats the name.
        let another = name != call.name || (!json.is_empty() && call.input.is_whole());
        (!another).then_some(at)
    }
}

/// How far a JSON object has come, by its brackets: reading it again for each piece would take time without bound.
#[derive(Default)]
struct Extent {
    depth: usize,
    in_string: bool,
    after_backslash: bool,
    end: End,
}

#[derive(Default, PartialEq)]
enum End {
    /// Nothing but blanks has come, or its end has not.
    #[default]
    Open,
    Whole,
    /// Something else than an object came, or something behind it.
    Never,
}

impl Extent {
    fn is_whole(&self) -> bool {
        self.end == End::Whole
    }

    fn extend(&mut self, json: &str) {
        for byte in json.bytes() {
            match byte {
                _ if self.after_backslash => self.after_backslash = false,
                b'\\' if self.in_string => self.after_backslash = true,
                b'"' if self.depth > 0 => self.in_string = !self.in_string,
                _ if self.in_string || byte.is_ascii_whitespace() => {}
                b'{' if self.depth == 0 && self.end == End::Open => self.depth = 1,
                _ if self.depth == 0 => self.end = End::Never,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.end = End::Whole;
                    }
                }
                _ => {}
            }
        }
    }
}
