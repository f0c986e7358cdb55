//! Other programs that are agents: whatever they write becomes bounded data without control characters, or is passed over.

use std::sync::Arc;

use belvedere::external::{
    CallUpdate, ExternalConnection, ExternalStart, ExternalUpdate, FromExternal, LaunchExternal, SessionStart,
};
use belvedere::launched::{LaunchedProgram, RunningProgram};
use belvedere::message::ExternalProgram;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::Choices;

/// Bytes of a text that is kept.
const MAX_TEXT: usize = 1 << 20;
const MAX_TITLE: usize = 400;
const MAX_TOKENS: u64 = 1_000_000_000_000;

struct Gone;

impl RunningProgram for Gone {
    fn end(self: Box<Self>) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

pub(super) fn programs(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let form = choices.below(5);
    // Rarely, what is said is longer than what is kept.
    let times = *choices.pick(&[1, 1, 1, 1, 1, 1, 1, 1 + 2 * MAX_TEXT / bytes.len().max(1)]);
    let mut said = Vec::new();
    for line in choices.rest().split(|byte| *byte == b'\n') {
        said.extend(written(line, form, times));
        said.push(b'\n');
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for heard in runtime.block_on(hear(said)) {
        check(&heard);
    }
}

/// Returns a line that a program writes.
fn written(line: &[u8], form: usize, times: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let long = || text.repeat(times);
    let update = |update: serde_json::Value| {
        json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}).to_string()
    };
    let content = |kind: &str| update(json!({"sessionUpdate": kind, "content": {"type": "text", "text": long()}}));
    let value = || serde_json::from_slice::<serde_json::Value>(line).unwrap_or_default();
    match form {
        0 => return line.to_vec(),
        1 => update(value()),
        2 => content("agent_message_chunk"),
        3 => update(json!({"sessionUpdate": "tool_call", "toolCallId": long(), "title": long(),
            "content": [{"type": "diff", "path": long(), "newText": long()}]})),
        _ => json!({"id": 7, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": value(),
            "options": [{"optionId": long(), "name": "n", "kind": "allow_once"}]}})
        .to_string(),
    }
    .into_bytes()
}

/// Returns what is heard of a program that opens a session and then writes these lines.
async fn hear(said: Vec<u8>) -> Vec<FromExternal> {
    let said = Arc::new(said);
    let launch: LaunchExternal = Arc::new(move |_| {
        let said = said.clone();
        async move {
            let (ours, theirs) = UnixStream::pair()?;
            tokio::spawn(async move {
                let (mut reader, mut writer) = theirs.into_split();
                let hello =
                    "{\"id\":1,\"result\":{\"protocolVersion\":1}}\n{\"id\":2,\"result\":{\"sessionId\":\"s\"}}\n";
                let _ = writer.write_all(hello.as_bytes()).await;
                let _ = writer.write_all(&said).await;
                drop(writer);
                let mut rest = Vec::new();
                let _ = reader.read_to_end(&mut rest).await;
            });
            Ok(LaunchedProgram { stream: ours, log: Box::new(tokio::io::empty()), process: Box::new(Gone) })
        }
        .boxed()
    });
    let program = ExternalProgram { command: "p".to_owned(), args: Vec::new(), env: Vec::new() };
    let start = ExternalStart { program, is_projects: false, cwd: "/".into() };
    let mut connection = ExternalConnection::open(&launch, start, &CancellationToken::new()).await.unwrap();
    connection.begin("/".as_ref(), &SessionStart::New, None, &[]).await.unwrap();
    // It may have ended already.
    let _ = connection.prompt("go", &[]);
    let mut all = Vec::new();
    loop {
        let heard = connection.next().await;
        let is_over = matches!(heard, FromExternal::Closed(_));
        all.push(heard);
        if is_over {
            connection.end().await;
            return all;
        }
    }
}

fn check(heard: &FromExternal) {
    match heard {
        FromExternal::Update(ExternalUpdate::Text(text) | ExternalUpdate::Thought(text)) => clean(text, 2 * MAX_TEXT),
        FromExternal::Update(ExternalUpdate::Call(call)) => check_call(call),
        FromExternal::Update(ExternalUpdate::Plan(steps)) => {
            assert!(steps.len() <= 100);
            for step in steps {
                clean_line(&step.content);
            }
        }
        FromExternal::Update(ExternalUpdate::Mode(mode)) => clean_line(mode),
        FromExternal::Update(ExternalUpdate::Usage { used, cost_usd }) => {
            assert!(*used <= MAX_TOKENS && cost_usd.is_none_or(|cost| (0.0..=1e9).contains(&cost)));
        }
        FromExternal::Update(ExternalUpdate::Other)
        | FromExternal::Changes(_)
        | FromExternal::Silent
        | FromExternal::Heard => {}
        FromExternal::Request(request) => {
            check_call(&request.question.call);
            for yes in [Some(true), Some(false), None] {
                let answer = request.question.answer(yes);
                assert!(answer["outcome"]["outcome"].is_string(), "{answer}");
            }
        }
        FromExternal::Ended(Ok(end)) => assert!(end.usage.is_none_or(|usage| usage.total() <= 4 * MAX_TOKENS)),
        FromExternal::Ended(Err(error)) | FromExternal::Closed(error) => clean(&error.to_string(), 4 * MAX_TITLE + 200),
    }
}

fn check_call(call: &CallUpdate) {
    assert!(call.id.len() <= MAX_TITLE && call.diffs.len() <= 50 && call.paths.len() <= 50);
    for line in call.title.iter().chain(&call.name) {
        clean_line(line);
    }
    clean(call.text.as_deref().unwrap_or_default(), 4 * MAX_TEXT);
    assert!(call.diffs.iter().all(|diff| diff.new.len() <= 4 * MAX_TEXT));
}

fn clean_line(text: &str) {
    assert!(text.chars().count() <= MAX_TITLE && !text.contains('\n'), "{text:?}");
    clean(text, 4 * MAX_TITLE);
}

fn clean(text: &str, bytes: usize) {
    assert!(text.len() <= bytes, "{} bytes", text.len());
    assert!(!text.chars().any(|c| c.is_control() && !"\n\t".contains(c)), "{text:?}");
}
