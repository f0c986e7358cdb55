//! JSON-RPC, a message a line, over the standard input and output of a program.
//!
//! Owns what is a message. Leaves their meaning to `connection`. Invariants: a line is bounded; what is no message is noted in
//! the program's log and passed over, as many programs print a greeting first.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader, WriteHalf};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::launched::ProgramLog;

/// Bytes of the longest line: a call may hold two versions of a file.
const MAX_LINE: u64 = 16 << 20;
/// Lines without a message, one after the other, that are passed over.
const MAX_STRAY: u32 = 1_000;

/// What a request was refused with.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

/// A message of the program.
#[derive(Debug)]
pub(super) enum Frame {
    Request { id: Value, method: String, params: Box<RawValue> },
    Notification { method: String, params: Box<RawValue> },
    Response { id: Value, result: Result<Value, RpcError> },
}

#[derive(Deserialize)]
struct WireFrame {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

#[derive(Serialize)]
struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(flatten)]
    body: P,
}

/// Returns a request, or without an id a notification, as a line.
pub(super) fn call_line(id: Option<&Value>, method: &str, params: &Value) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        method: &'a str,
        params: &'a Value,
    }
    line(id, Body { method, params })
}

/// Returns the answer to a request of the program as a line.
pub(super) fn answer_line(id: &Value, result: &Value) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        result: &'a Value,
    }
    line(Some(id), Body { result })
}

/// Returns the refusal of a request of the program as a line.
pub(super) fn refusal_line(id: &Value, code: i64, message: &str) -> String {
    #[derive(Serialize)]
    struct Body {
        error: Value,
    }
    line(Some(id), Body { error: serde_json::json!({"code": code, "message": message}) })
}

fn line(id: Option<&Value>, body: impl Serialize) -> String {
    let text = serde_json::to_string(&Outgoing { jsonrpc: "2.0", id, body });
    // Plain data of our own always becomes text.
    text.unwrap_or_default() + "\n"
}

/// The messages of a program, one after the other.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    log: ProgramLog,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, log: ProgramLog) -> Self {
        Self { reader: BufReader::new(reader), log }
    }

    /// Waits for the next message. `Err` says why there is none any more.
    pub(super) async fn next(&mut self) -> Result<Frame, String> {
        for _ in 0..MAX_STRAY {
            let mut line = Vec::new();
            match (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut line).await {
                Ok(0) => return Err("it has ended".to_owned()),
                Err(error) => return Err(format!("its connection is lost ({error})")),
                Ok(_) if !line.ends_with(b"\n") && line.len() as u64 == MAX_LINE => {
                    return Err(format!("it wrote a line of more than {} MiB", MAX_LINE >> 20));
                }
                Ok(_) => {}
            }
            match frame(&line) {
                Some(frame) => return Ok(frame),
                None => self.log.add(&String::from_utf8_lossy(&line[..line.len().min(4_096)])),
            }
        }
        Err("it does not speak the Agent Client Protocol".to_owned())
    }
}

fn frame(line: &[u8]) -> Option<Frame> {
    let WireFrame { id, method, params, result, error } = serde_json::from_slice(line).ok()?;
    let params = params.unwrap_or_else(|| RawValue::NULL.to_owned());
    match (method, id) {
        (Some(method), Some(id)) => Some(Frame::Request { id, method, params }),
        (Some(method), None) => Some(Frame::Notification { method, params }),
        (None, Some(id)) => {
            let result = error.map_or_else(|| Ok(result.unwrap_or_default()), Err);
            Some(Frame::Response { id, result })
        }
        (None, None) => None,
    }
}

/// Writes lines as they come, until there are no more of them or nothing more is to be said.
pub(super) async fn write(
    mut writer: WriteHalf<UnixStream>,
    mut lines: mpsc::Receiver<String>,
    closing: CancellationToken,
) {
    let writing = async {
        while let Some(line) = lines.recv().await {
            if writer.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = writing => {}
    }
    let _ = writer.shutdown().await;
}
