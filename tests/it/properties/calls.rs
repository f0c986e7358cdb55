//! Calls of tools: what is nearly JSON is read as what it means, and never as more.

use belvedere::message::ToolInput;
use serde_json::{Map, Value};

/// Places at which a text is cut.
const MAX_CUTS: usize = 200;

fn object(text: &str) -> Option<Map<String, Value>> {
    match ToolInput::parse_whole(text) {
        ToolInput::Object(object) => Some(object),
        ToolInput::Malformed(same) => {
            assert_eq!(same, text, "what cannot be read is shown as it came");
            None
        }
    }
}

pub(super) fn calls(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = object(&text);
    if let ToolInput::Object(strict) = ToolInput::parse(&text) {
        assert_eq!(read.as_ref(), Some(&strict), "JSON means what it says");
    }
    let Some(read) = read.filter(|read| !read.is_empty()) else { return };
    let json = Value::Object(read.clone()).to_string();
    assert_eq!(object(&json).as_ref(), Some(&read), "what was read reads back");
    for dressed in
        [format!("```json\n{json}\n```"), format!("{{}}{json}"), format!("{json}{json}"), format!("{json}}}")]
    {
        assert_eq!(object(&dressed).as_ref(), Some(&read), "{dressed}");
    }
    // A number at the end may go on.
    let is_closed = !read.values().next_back().is_some_and(Value::is_number);
    assert_eq!(object(&json[..json.len() - 1]), is_closed.then(|| read.clone()), "the last brace is missing: {json}");
    for (at, _) in json.char_indices().skip(1).take(MAX_CUTS) {
        let cut = &json[..at];
        for (name, value) in object(cut).unwrap_or_default() {
            assert_eq!(read.get(&name), Some(&value), "{name} was cut off in {cut}");
        }
    }
}
