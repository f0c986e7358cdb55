//! Lines that nobody meant: each is answered or left, all that is written is the protocol, and the process goes on.

use serde_json::json;

use super::Bench;
use super::client::Editor;
use crate::support::Dice;

const ROUNDS: u64 = 25;
/// Lines of a round: few enough that nobody waits for them to be read.
const LINES: u64 = 10;

/// What a client sends, to be damaged. The session is the one that is open.
fn lines(session: &str) -> Vec<String> {
    let request = |method: &str, params: serde_json::Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
    };
    let block = json!({"type": "text", "text": "where is verify_password defined?"});
    let image = json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="});
    let link = json!({"type": "resource_link", "name": "x", "uri": "file:///etc/passwd"});
    vec![
        request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": false}}})),
        request(
            "session/new",
            json!({"cwd": "relative", "mcpServers": [{"name": "x", "command": "y", "args": [], "env": []}]}),
        ),
        request("session/prompt", json!({"sessionId": session, "prompt": [block, image, link]})),
        request("session/set_mode", json!({"sessionId": session, "modeId": "plan"})),
        request("session/set_config_option", json!({"sessionId": session, "configId": "mode", "value": "default"})),
        request(
            "_belvedere.dev/folder/put",
            json!({"name": "x", "inside": "", "commit": "a", "size": 9, "offset": 0, "piece": "QQ=="}),
        ),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}})
            .to_string(),
    ]
}

/// Returns a line with some of its bytes replaced, left out or doubled.
fn damaged(dice: &mut Dice, line: &str) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    for _ in 0..=dice.roll(4) {
        let at = usize::try_from(dice.roll(bytes.len().max(1) as u64)).unwrap();
        let end = bytes.len().min(at + usize::try_from(dice.roll(9)).unwrap());
        match dice.roll(4) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.insert(at, u8::try_from(dice.roll(256)).unwrap()),
            2 => bytes.extend_from_within(at..end),
            _ => bytes.truncate(end),
        }
    }
    bytes.retain(|byte| *byte != b'\n');
    bytes.push(b'\n');
    bytes
}

#[test]
fn any_bytes_are_answered_or_left_and_the_process_goes_on() {
    let bench = Bench::new();
    let mut editor = Editor::offline(&bench);
    let lines = lines(&editor.session);
    let mut dice = Dice::new(11);
    for round in 0..ROUNDS {
        for _ in 0..LINES {
            let line = dice.pick(&lines).clone();
            editor.bytes(&damaged(&mut dice, &line));
        }
        let id = 1_000_000 + round;
        editor.send(&json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}}));
        assert!(editor.answer(id)["result"]["sessions"].is_array());
    }
    assert_eq!(editor.end().0, 0);
}
