//! The forms in which models write calls: JSON, tags, special tokens, lines of Python.
//!
//! Pure. Owns their grammar. Leaves where they stand, and whether they count, to its parent. Invariants: a text is read as
//! calls only if all of it is; time is linear in its length.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::message::ToolInput;

pub(super) struct TextCall {
    pub(super) name: String,
    pub(super) input: Map<String, Value>,
}

/// Keys by which a call in JSON says what is called, and with what.
const NAME_KEYS: [&str; 5] = ["name", "tool", "tool_name", "function", "recipient_name"];
const INPUT_KEYS: [&str; 6] = ["arguments", "parameters", "args", "input", "tool_input", "params"];
/// Keys that stand beside them.
const OTHER_KEYS: [&str; 6] = ["id", "type", "index", "call_id", "tool_call_id", "server_name"];
/// Keys under which whole calls stand.
const LIST_KEYS: [&str; 4] = ["tool_calls", "function_call", "tool_uses", "calls"];

/// Compiles a pattern of this file.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// What stands around and between calls: blanks, closing tags, special tokens, the tags that calls are wrapped in.
static WRAPPING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:[\s,;]+|</[^<>\n]{1,60}>|<\|[^<>|\n]{1,60}\|>|<｜[^<>｜\n]{1,60}｜>|<(?:[\w｜]+:)?(?:TOOLCALL|tool_?calls?|tool_use|tool_code|tool_request|function_calls?|start_function_call|end_function_call)>|<｜DSML｜(?:function|tool)_calls>|\[/?(?:TOOL_CALLS?|TOOL_REQUEST|END_TOOL_REQUEST|ARGS)\]|\[CALL_ID\]\w+|```\w*|function<｜tool▁sep｜>)+",
    )
});
static CHANNEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:<\|start\|>)?(?:assistant)?(?:<\|channel\|>)?\s*(?:commentary|analysis)?\s*to=(?:functions\.)?([\w-]+)(?:<\|channel\|>\s*\w+)?\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*(?:<\|message\|>)?\s*",
    )
});
static FUNCTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"^<function(?:=|\s+name\s*=\s*)["']?([\w.:-]+)["']?\s*>"#));
static INVOKE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"^<(?:antml:|｜DSML｜)?invoke\s+name\s*=\s*["']([\w.:-]+)["']\s*>"#));
static PARAMETER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"^\s*<(?:antml:|｜DSML｜)?parameter(?:=|\s+name\s*=\s*)["']?([\w-]+)["']?(?:\s+string\s*=\s*"(true|false)")?\s*>"#,
    )
});
static PARAMETER_END: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"</(?:antml:|｜DSML｜)?parameter\s*>"));
static BLOCK_END: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s*</(?:antml:|｜DSML｜)?(?:function|invoke)\s*>"));
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:functions\.)?([A-Za-z_][\w-]*)(?::\d+)?\s*(?:\[CALL_ID\]\w+)?(?:\[ARGS\]|<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|<\|tool_sep\|>|```json|\s)*",
    )
});
static ARGUMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s*<arg_key>\s*([\w-]+)\s*</arg_key>\s*<arg_value>"));
static NAME_TAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:<server_name>[^<]*</server_name>\s*)?<(?:tool_)?name>\s*([\w.-]+)\s*</(?:tool_)?name>\s*<(?:arguments|parameters|input)>\s*",
    )
});
static PYTHON_CALL: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:print\()?(?:default_api\.|functions\.)?([A-Za-z_]\w*)(?:\.call)?\("));
static PYTHON_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^[\s,]*([A-Za-z_]\w*)\s*=\s*"));

/// Reads a text that begins with the markup of a call; `None` if it holds anything but calls.
pub(super) fn marked_calls(text: &str) -> Option<Vec<TextCall>> {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        if let Some((name, after)) = take(&CHANNEL, rest) {
            let (input, after) = json_object(after)?;
            calls.push(TextCall { name: name.to_owned(), input });
            rest = after;
        } else if let Some(after) = skip(&WRAPPING, rest) {
            rest = after;
        } else if rest.is_empty() {
            break;
        } else {
            rest = one(rest, &mut calls)?;
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// Reads a text without any markup that is calls and nothing else: JSON, or a list in Python's form.
pub(super) fn bare_calls(text: &str) -> Option<Vec<TextCall>> {
    let mut calls = Vec::new();
    let rest = match text.chars().next()? {
        '{' | '[' => one(text, &mut calls)?,
        _ => return None,
    };
    (rest.trim().is_empty() && !calls.is_empty()).then_some(calls)
}

/// Returns `true` if markup is followed by what a call begins with, and not by prose.
pub(super) fn is_markup(text: &str) -> bool {
    let Some(rest) = skip(&WRAPPING, text) else {
        return [&CHANNEL, &FUNCTION, &INVOKE].iter().any(|form| take(form, text).is_some());
    };
    let is_named = take(&NAMED, rest).is_some_and(|(_, after)| after.starts_with(['{', '<', '(', ':']));
    rest.is_empty() || rest.starts_with(['{', '[', '<', '"']) || is_named
}

/// Returns the first group of a pattern at the beginning of a text, and what follows.
fn take<'a>(form: &LazyLock<Option<Regex>>, text: &'a str) -> Option<(&'a str, &'a str)> {
    let found = form.as_ref()?.captures(text)?;
    Some((found.get(1).map_or("", |group| group.as_str()), &text[found.get(0)?.end()..]))
}

fn skip<'a>(form: &LazyLock<Option<Regex>>, text: &'a str) -> Option<&'a str> {
    let found = form.as_ref()?.find(text)?;
    (found.end() > 0).then(|| &text[found.end()..])
}

/// Reads what stands at the beginning, a call or a list of them, and returns what follows.
fn one<'a>(text: &'a str, calls: &mut Vec<TextCall>) -> Option<&'a str> {
    if text.starts_with('{') {
        let (object, rest) = json_object(text)?;
        of_object(object, calls)?;
        return Some(rest);
    }
    if text.starts_with('[') {
        return list(text, calls);
    }
    if let Some((name, body)) = take(&FUNCTION, text).or_else(|| take(&INVOKE, text)) {
        let (input, rest) = parameters(body)?;
        calls.push(TextCall { name: name.to_owned(), input });
        return Some(rest);
    }
    if let Some((name, body)) = take(&NAME_TAGS, text) {
        let (input, rest) = json_object(body)?;
        calls.push(TextCall { name: name.to_owned(), input });
        return Some(rest);
    }
    if let Some((name, rest)) = take(&PYTHON_CALL, text) {
        let (input, rest) = keywords(rest)?;
        calls.push(TextCall { name: name.to_owned(), input });
        return Some(if text.starts_with("print(") { rest.strip_prefix(')')? } else { rest });
    }
    let (name, rest) = take(&NAMED, text)?;
    let (input, rest) = if rest.starts_with("<arg_key>") { pairs(rest)? } else { json_object(rest)? };
    calls.push(TextCall { name: name.to_owned(), input });
    Some(rest)
}

/// Reads a list of calls: of JSON, or `[Read(file_path="a")]`.
fn list<'a>(text: &'a str, calls: &mut Vec<TextCall>) -> Option<&'a str> {
    let end = extent(text);
    if let Some(Value::Array(items)) = end.and_then(|end| serde_json::from_str(&text[..end]).ok()) {
        for item in items {
            let Value::Object(object) = item else { return None };
            of_object(object, calls)?;
        }
        return Some(&text[end?..]);
    }
    let mut rest = text[1..].trim_start();
    loop {
        let (name, after) = take(&PYTHON_CALL, rest)?;
        let (input, after) = keywords(after)?;
        calls.push(TextCall { name: name.to_owned(), input });
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix(']') {
            return Some(after);
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

/// Reads a call, or several, from an object.
fn of_object(mut object: Map<String, Value>, calls: &mut Vec<TextCall>) -> Option<()> {
    if let Some(key) = LIST_KEYS.iter().find(|key| object.contains_key(**key)) {
        let is_alone = object.len() == 1;
        return match object.remove(*key)? {
            Value::Array(items) if is_alone => items.into_iter().try_for_each(|item| match item {
                Value::Object(item) => of_object(item, calls),
                _ => None,
            }),
            Value::Object(item) if is_alone => of_object(item, calls),
            _ => None,
        };
    }
    if let Some(Value::Object(_)) = object.get("function") {
        let Some(Value::Object(inner)) = object.remove("function") else { return None };
        return object.keys().all(|key| OTHER_KEYS.contains(&key.as_str())).then(|| of_object(inner, calls))?;
    }
    let name_key = NAME_KEYS.iter().find(|key| object.get(**key).is_some_and(Value::is_string))?;
    let Some(Value::String(name)) = object.remove(*name_key) else { return None };
    let input_key = INPUT_KEYS.iter().find(|key| object.contains_key(**key))?;
    let input = match object.remove(*input_key)? {
        Value::Object(input) => input,
        Value::String(text) => match ToolInput::parse(&text) {
            ToolInput::Object(input) => input,
            ToolInput::Malformed(_) => return None,
        },
        Value::Null => Map::new(),
        _ => return None,
    };
    let name = name.strip_prefix("functions.").unwrap_or(&name).to_owned();
    object.keys().all(|key| OTHER_KEYS.contains(&key.as_str())).then(|| calls.push(TextCall { name, input }))
}

/// Reads an object at the beginning, and returns what follows.
fn json_object(text: &str) -> Option<(Map<String, Value>, &str)> {
    let end = extent(text).filter(|_| text.starts_with('{'))?;
    match ToolInput::parse(&text[..end]) {
        ToolInput::Object(object) => Some((object, &text[end..])),
        ToolInput::Malformed(_) => None,
    }
}

/// Returns where the value ends whose bracket begins the text.
fn extent(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads the parameters of `<function=…>` or `<invoke …>`, each in tags of its own, or all as JSON.
fn parameters(body: &str) -> Option<(Map<String, Value>, &str)> {
    if body.trim_start().starts_with('{') {
        let (input, rest) = json_object(body.trim_start())?;
        return Some((input, skip(&BLOCK_END, rest)?));
    }
    let mut input = Map::new();
    let mut rest = body;
    while let Some(found) = PARAMETER.as_ref()?.captures(rest) {
        let after = &rest[found.get(0)?.end()..];
        let end = PARAMETER_END.as_ref()?.find(after)?;
        let text = one_line_less(&after[..end.start()]);
        let is_json = found.get(2).is_some_and(|group| group.as_str() == "false");
        let value = if is_json { serde_json::from_str(text.trim()).ok()? } else { Value::from(text) };
        input.insert(found.get(1)?.as_str().to_owned(), value);
        rest = &after[end.end()..];
    }
    Some((input, skip(&BLOCK_END, rest)?))
}

/// Reads `<arg_key>…</arg_key><arg_value>…</arg_value>` pairs.
fn pairs(text: &str) -> Option<(Map<String, Value>, &str)> {
    let mut input = Map::new();
    let mut rest = text;
    while let Some((key, after)) = take(&ARGUMENT, rest) {
        let (value, after) = after.split_once("</arg_value>")?;
        input.insert(key.to_owned(), Value::from(value));
        rest = after;
    }
    Some((input, rest))
}

/// Takes off the line breaks between a tag and a text that was written below it.
fn one_line_less(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
}

/// Reads `key="value", other=1)`, up to the bracket that closes a call.
fn keywords(text: &str) -> Option<(Map<String, Value>, &str)> {
    let mut input = Map::new();
    let mut rest = text;
    while let Some((key, after)) = take(&PYTHON_KEY, rest) {
        let (value, after) = literal(after)?;
        input.insert(key.to_owned(), value);
        rest = after;
    }
    Some((input, rest.trim_start_matches([' ', '\n', ',']).strip_prefix(')')?))
}

/// Reads a value as Python writes it.
fn literal(text: &str) -> Option<(Value, &str)> {
    let quote = text.chars().next()?;
    if matches!(quote, '"' | '\'') {
        return string(&text[1..], quote);
    }
    if matches!(quote, '[' | '{') {
        let end = extent(text)?;
        return Some((serde_json::from_str(&text[..end]).ok()?, &text[end..]));
    }
    let end = text.find([',', ')'])?;
    let value = match text[..end].trim() {
        "True" | "true" => Value::from(true),
        "False" | "false" => Value::from(false),
        "None" | "null" => Value::Null,
        number => serde_json::from_str(number).ok().filter(Value::is_number)?,
    };
    Some((value, &text[end..]))
}

/// Reads a string behind its opening quote.
fn string(text: &str, quote: char) -> Option<(Value, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                other @ ('\\' | '\'' | '"') => value.push(other),
                _ => return None,
            },
            _ if letter == quote => return Some((Value::from(value), &text[at + 1..])),
            _ => value.push(letter),
        }
    }
    None
}
