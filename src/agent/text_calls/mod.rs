//! Tool calls that a server left in the text of a reply, because it has no parser for its model's form of them.
//!
//! Owns where in a reply such a call stands, and whether it may count as one. Leaves the forms themselves to `payload`,
//! holding back what is not to be seen to `gate`, and what follows to `step`. Invariants, as what counts is run: a call names a tool that the agent has and reads whole;
//! markup in a code block, in quotes, within a line of prose or before more text is never run, nor is what the conversation
//! held before in the words of somebody else. What might be meant as a call and is not clear is `Unclear`.

mod gate;
mod payload;

use std::collections::HashSet;

use serde_json::Value;

pub(super) use self::gate::MarkupGate;
use self::payload::{TextCall, bare_calls, is_markup, marked_calls};
use super::Agent;
use super::step::is_announcement;
use super::turn::{Turn, unique_id};
use crate::message::{Block, CodeBlocks, Message, ToolCall, ToolInput, is_quoted};
use crate::provider::{Request, StopReason};

/// What begins a call in the forms that models are trained on.
const OPENERS: [&str; 32] = [
    "<tool_call>",
    "<tool_calls>",
    "<toolcall>",
    "<TOOLCALL>",
    "<tool_use>",
    "<tool_code>",
    "<function_call>",
    "<function_calls>",
    "<antml:",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<start_function_call>",
    "<function=",
    "<function name=",
    "<invoke name=",
    "<｜DSML｜",
    "<｜tool",
    "<|tool",
    "<|python_tag|>",
    "<|action_start|>",
    "<|START_ACTION|>",
    "<|channel|>commentary",
    "<|channel|>analysis to=",
    "<|start|>assistant to=",
    "<|start|>assistant<|channel|>commentary",
    "[TOOL_CALLS]",
    "[TOOL_CALL]",
    "[TOOL_REQUEST]",
    "commentary to=functions.",
    "assistantcommentary to=functions.",
    "to=functions.",
    "<tool_request>",
];
/// Names of code blocks in which models write calls.
const CALL_BLOCKS: [&str; 6] = ["tool_code", "tool_call", "tool_calls", "tool_use", "function_call", "tool"];
/// Most places of a text that are looked at.
const MAX_OPENINGS: usize = 32;
/// Least length of a word by which a call is known again in what others have said.
const LEAST_WORD: usize = 3;

/// What of a text reads as calls.
enum TextCalls {
    Nothing,
    /// It ends in calls, which begin here.
    Whole(usize, Vec<TextCall>),
    /// It holds what might be meant as one.
    Unclear,
}

/// Takes the calls in the text of a reply as calls, if it holds no others. Notes what only might be one.
pub(super) fn recover(mut turn: Turn, agent: &Agent, request: &Request, ids: &mut HashSet<String>) -> Turn {
    let is_broken = matches!(turn.stop, Some(StopReason::Refusal | StopReason::PauseTurn | StopReason::ContextWindow));
    if request.tools.is_empty() || is_broken || turn.message.tool_calls().next().is_some() {
        return turn;
    }
    let is_cut = turn.stop == Some(StopReason::MaxTokens);
    let is_tool = |name: &str| agent.tools.find(name).is_some();
    let is_said = |block: &Block| matches!(block, Block::Text { text } if !text.trim().is_empty());
    let said = turn.message.content.iter().rposition(is_said);
    let thought = || turn.message.content.iter().rposition(|block| matches!(block, Block::Thinking { .. }));
    let Some(at) = said.or_else(thought) else { return turn };
    let (Block::Text { text } | Block::Thinking { text, .. }) = &turn.message.content[at] else { return turn };
    let found = match find(text, &is_tool, is_cut) {
        // What follows would be the rest of its input.
        TextCalls::Whole(..) if is_cut => TextCalls::Unclear,
        TextCalls::Whole(start, calls) if is_repeated(&text[start..], &calls, request) => TextCalls::Unclear,
        // In thoughts a call may be no more than considered, unless nothing else came of them.
        TextCalls::Whole(start, _) if said.is_none() && !is_markup(&text[start..]) => TextCalls::Unclear,
        // An aside in thoughts is no call.
        TextCalls::Unclear if said.is_none() => TextCalls::Nothing,
        found => found,
    };
    match found {
        TextCalls::Nothing => {}
        TextCalls::Unclear => turn.has_unclear_call = true,
        TextCalls::Whole(start, calls) => {
            match &mut turn.message.content[at] {
                Block::Text { text } | Block::Thinking { text, signature: None } => {
                    text.truncate(text[..start].trim_end().len());
                }
                _ => {}
            }
            turn.message.content.retain(|block| !matches!(block, Block::Text { text } if text.trim().is_empty()));
            turn.message.content.extend(calls.into_iter().map(|TextCall { name, input }| {
                Block::ToolCall(ToolCall { id: unique_id(agent.id, "", ids), name, input: ToolInput::Object(input) })
            }));
        }
    }
    turn
}

/// Returns `true` if a text that should be words for a reader ends in a call.
pub(super) fn is_call(text: &str, agent: &Agent) -> bool {
    matches!(find(text, &|name| agent.tools.find(name).is_some(), false), TextCalls::Whole(..))
}

/// Finds the calls in a text, which is cut off in its middle or came to its end.
fn find(text: &str, is_tool: &dyn Fn(&str) -> bool, is_cut: bool) -> TextCalls {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return TextCalls::Nothing;
    }
    for opened in openings(text) {
        let marked = marked_calls(&text[opened.at..]);
        let are_tools = marked.as_ref().is_some_and(|calls| calls.iter().all(|call| is_tool(&call.name)));
        match marked {
            Some(calls) if are_tools && opened.stands_alone => return TextCalls::Whole(opened.at, calls),
            Some(_) => return TextCalls::Unclear,
            None if opened.stands_alone && is_markup(&text[opened.at..]) => return TextCalls::Unclear,
            // A word about calls.
            None => {}
        }
    }
    let start = text.len() - text.trim_start().len();
    let names_tools = |calls: &[TextCall]| calls.iter().all(|call| is_tool(&call.name));
    match bare_calls(trimmed) {
        Some(calls) if names_tools(&calls) => return TextCalls::Whole(start, calls),
        _ if names_a_tool_in_json(trimmed, is_tool, is_cut) => return TextCalls::Unclear,
        _ => {}
    }
    let is_unclear = in_code_block(trimmed, is_tool) || in_tags(trimmed, is_tool) || in_words(trimmed, is_tool);
    if is_unclear { TextCalls::Unclear } else { TextCalls::Nothing }
}

struct Opening {
    at: usize,
    /// Whether no line of prose leads into it.
    stands_alone: bool,
}

/// Returns where the markup of a call may begin, line by line: not where it is shown as code or in quotes.
fn openings(text: &str) -> Vec<Opening> {
    let (mut code, mut found, mut start) = (CodeBlocks::default(), Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        if found.len() == MAX_OPENINGS {
            break;
        }
        let indent = line.len() - line.trim_start().len();
        if !code.take_line(line)
            && indent < 4
            && let Some(at) = OPENERS.iter().filter_map(|opener| line.find(opener)).min()
            && !is_quoted(line, at)
        {
            // A sentence that has ended does not lead into what follows it.
            let stands_alone = at == indent || line[..at].trim_end().ends_with(['.', '!', '?', '…', '。']);
            found.push(Opening { at: start + at, stands_alone });
        }
        start += line.len();
    }
    found
}

/// Returns `true` if the text is JSON, or nearly so, of a call that lacks something.
fn names_a_tool_in_json(text: &str, is_tool: &dyn Fn(&str) -> bool, is_cut: bool) -> bool {
    let is_json = text.starts_with(['{', '[']) && (is_cut || text.ends_with(['}', ']']));
    let names = ["\"name\"", "\"tool\"", "\"tool_name\"", "\"function\""];
    is_json
        && names.iter().filter_map(|key| text.split_once(key)).any(|(_, rest)| {
            let named = rest.trim_start().strip_prefix(':').and_then(|rest| rest.trim_start().strip_prefix('"'));
            named.and_then(|rest| rest.split('"').next()).is_some_and(is_tool)
        })
}

/// Returns `true` if the text ends in a code block that holds a call, and says no more than that one follows.
fn in_code_block(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let Some(inside) = text.strip_suffix("```") else { return false };
    let Some(open) = inside.rfind("```") else { return false };
    let (before, block) = (text[..open].trim(), &inside[open + 3..]);
    let (language, body) = block.split_once('\n').unwrap_or(("", block));
    let is_for_calls = CALL_BLOCKS.contains(&language.trim());
    if !is_for_calls && !before.is_empty() && !is_announcement(before) {
        return false;
    }
    let body = body.trim();
    let calls = bare_calls(body).or_else(|| marked_calls(body));
    calls.is_some_and(|calls| calls.iter().any(|call| is_tool(&call.name)))
        || names_a_tool_in_json(body, is_tool, false)
}

/// Returns `true` if the text ends in tags that are named after a tool: `<Read><file_path>a</file_path></Read>`.
fn in_tags(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let Some((_, name)) = text.strip_suffix('>').and_then(|inside| inside.rsplit_once("</")) else { return false };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut code = CodeBlocks::default();
    let opener = format!("<{name}>");
    let mut lines = text.lines();
    is_name && is_tool(name) && lines.any(|line| !code.take_line(line) && line.starts_with(&opener))
}

/// Returns `true` if the text ends in the two lines of the ReAct form.
fn in_words(text: &str, is_tool: &dyn Fn(&str) -> bool) -> bool {
    let Some((before, input)) = text.rsplit_once("\nAction Input:") else { return false };
    let named = before.lines().next_back().and_then(|line| line.trim().strip_prefix("Action:"));
    named.is_some_and(|name| is_tool(name.trim())) && input.trim().starts_with('{')
}

/// Returns `true` if somebody else has written the same call in this conversation: a file that was read, a page, the user.
/// Then it is repeated, and not made.
fn is_repeated(markup: &str, calls: &[TextCall], request: &Request) -> bool {
    let bare = if markup.starts_with('{') || markup.contains("\"name\"") { "\"name\"" } else { "(" };
    let opener = OPENERS.iter().find(|opener| markup.starts_with(**opener)).copied().unwrap_or(bare);
    request.messages.iter().any(|message| match message.as_ref() {
        Message::User { text } => holds(text, opener, calls),
        Message::ToolResults { results } => results.iter().any(|result| holds(&result.joined_text(), opener, calls)),
        Message::Assistant(_) => false,
    })
}

fn holds(text: &str, opener: &str, calls: &[TextCall]) -> bool {
    let text = text.replace("&lt;", "<");
    text.contains(opener)
        && calls.iter().any(|call| {
            let mut words: Vec<&str> = vec![&call.name];
            call.input.values().for_each(|value| words_of(value, &mut words));
            words
                .iter()
                .filter(|word| word.len() >= LEAST_WORD)
                .all(|word| text.contains(*word) || text.contains(Value::from(*word).to_string().trim_matches('"')))
        })
}

/// Adds the texts of a value, line by line: files are read with a number before each.
fn words_of<'a>(value: &'a Value, words: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => words.extend(text.lines()),
        Value::Array(items) => items.iter().for_each(|item| words_of(item, words)),
        Value::Object(map) => map.values().for_each(|item| words_of(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
