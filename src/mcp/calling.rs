//! Servers that live in the program that drives this one (`"type": "sdk"`): their messages go as control requests.
//!
//! Owns the stream that stands for such a server. Leaves the protocol to `client`, and asking to `launched`.

use std::collections::HashMap;

use futures::StreamExt as _;
use futures::future::{AbortHandle, Abortable};
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::mpsc;

use crate::launched::CallingProgram;

/// Bytes on their way in one direction.
const BUFFER: usize = 64 << 10;
/// What JSON-RPC calls a failure of the other side.
const INTERNAL_ERROR: i32 = -32_603;

/// Returns a stream of JSON-RPC messages, a line each, whose other end is a server of this name in the program. It ends
/// with the stream.
pub(super) fn server_stream(program: CallingProgram, server: &str) -> DuplexStream {
    let (theirs, ours) = duplex(BUFFER);
    let (reader, writer) = split(theirs);
    let heard = program.heard_from(server);
    let relay = Relay { program, server: server.to_owned(), writer, asked: HashMap::new() };
    tokio::spawn(relay.run(reader, heard));
    ours
}

struct Relay {
    program: CallingProgram,
    server: String,
    writer: WriteHalf<DuplexStream>,
    /// What gives up the requests under way, by their ids.
    asked: HashMap<String, AbortHandle>,
}

impl Relay {
    async fn run(mut self, reader: ReadHalf<DuplexStream>, mut heard: mpsc::UnboundedReceiver<Value>) {
        let mut lines = BufReader::new(reader).lines();
        let mut waiting = FuturesUnordered::new();
        loop {
            let message = tokio::select! {
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { return };
                    let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                    self.give_up_cancelled(&message);
                    let (handle, registration) = AbortHandle::new_pair();
                    if let Some(id) = message.get("id") {
                        self.asked.insert(id.to_string(), handle);
                    }
                    let answer = answered(self.program.clone(), self.server.clone(), message);
                    waiting.push(Abortable::new(answer, registration));
                    continue;
                }
                Some(answer) = waiting.next() => match answer {
                    Ok(Some(answer)) => answer,
                    _ => continue,
                },
                Some(message) = heard.recv() => message,
            };
            if let Some(id) = message.get("id") {
                self.asked.remove(&id.to_string());
            }
            if self.writer.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// Gives up the request that a message takes back.
    fn give_up_cancelled(&mut self, message: &Value) {
        let id = (message["method"] == "notifications/cancelled").then(|| message["params"]["requestId"].to_string());
        if let Some(handle) = id.and_then(|id| self.asked.remove(&id)) {
            handle.abort();
        }
    }
}

/// Hands a message to the server. Returns what it answers; `None` to one that wants no answer.
async fn answered(program: CallingProgram, server: String, message: Value) -> Option<Value> {
    let id = message.get("id").cloned();
    let answer = program.ask(json!({"subtype": "mcp_message", "server_name": server, "message": message})).await;
    let id = id?;
    Some(match answer.map(|mut answer| answer["mcp_response"].take()) {
        Ok(Value::Object(mut answer)) => {
            answer.insert("id".to_owned(), id);
            Value::Object(answer)
        }
        Ok(_) => failure(&id, "the calling program has answered something that is no message"),
        Err(why) => failure(&id, &why.to_string()),
    })
}

fn failure(id: &Value, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": INTERNAL_ERROR, "message": why}})
}
