//! Files that the editor has open, with changes that are not saved.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Bench;
use super::client::{Editor, calls, model, says};
use crate::support::Planned;

/// Reads a file, changes it, and says so.
fn change(_: &str, results: usize) -> Planned {
    match results {
        0 => calls("", &[("Read", json!({"file_path": "src/lib.rs"}))]),
        1 => calls("", &[("Edit", json!({"file_path": "src/lib.rs", "old_string": "true", "new_string": "false"}))]),
        _ => says("That is all."),
    }
}

/// What a request for a file becomes.
type Answer = Box<dyn FnMut(&Bench, &Value) -> Option<Value> + Send>;

/// Has the file changed, with an editor that answers so when it is asked for it. Returns the results that the model got, and the file.
async fn changed(mut answer: Answer) -> (Vec<String>, String) {
    let (base, requests) = model(change).await;
    let work = move || {
        let bench = Bench::new();
        let mut editor = Editor::with_open_files(&bench, &base);
        let prompt = editor.prompt("change it");
        loop {
            let message = editor.until(|message| message["id"].is_number());
            match message["method"].as_str() {
                Some("fs/read_text_file") => {
                    assert_eq!(message["params"]["sessionId"], json!(editor.session));
                    if let Some(fields) = answer(&bench, &message["params"]) {
                        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
                        answer.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
                        editor.send(&answer);
                    }
                }
                Some("session/request_permission") => editor.choose(&message, "allow_once"),
                Some(other) => panic!("{other}"),
                None if message["id"] == prompt => break,
                None => {}
            }
        }
        let file = std::fs::read_to_string(bench.project.path().join("src/lib.rs")).unwrap();
        assert_eq!(editor.end().0, 0);
        file
    };
    let file = tokio::task::spawn_blocking(work).await.unwrap();
    let requests = requests.lock().unwrap();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let results = results.filter(|part| part["type"] == "tool_result").map(|part| part["content"].to_string());
    (results.collect(), file)
}

fn path_of(params: &Value) -> PathBuf {
    params["path"].as_str().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_saved_is_read_and_never_written_over() {
    let (results, file) = changed(Box::new(|_, params| {
        assert!(path_of(params).ends_with("src/lib.rs"), "{params}");
        Some(json!({"result": {"content": "//! A shop that is not saved.\n"}}))
    }))
    .await;
    let [read, edit] = results.as_slice() else { panic!("{results:?}") };
    assert!(read.contains("1\\t//! A shop that is not saved.") && !read.contains("verify_password"), "{read}");
    assert!(read.contains("changes of this file that are not saved"), "{read}");
    assert!(edit.contains("src/lib.rs has changes in the user's editor that are not saved"), "{edit}");
    assert!(file.contains("    true\n"), "{file}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_saved_and_one_that_the_editor_does_not_know_are_those_of_the_disk() {
    let mut asked = 0;
    let (results, file) = changed(Box::new(move |_, params| {
        asked += 1;
        let text = std::fs::read_to_string(path_of(params)).unwrap();
        Some(if asked == 1 {
            // Editors have one kind of line end, and may leave out the last one.
            json!({"result": {"content": text.trim_end().replace('\n', "\r\n")}})
        } else {
            json!({"error": {"code": -32603, "message": "Resource not found"}})
        })
    }))
    .await;
    let [read, edit] = results.as_slice() else { panic!("{results:?}") };
    assert!(read.contains("verify_password") && !read.contains("editor"), "{read}");
    assert!(edit.contains("Changed src/lib.rs") && file.contains("    false\n"), "{edit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_does_not_answer_is_waited_for_once_and_the_model_is_told() {
    let asked: Arc<Mutex<usize>> = Arc::default();
    let count = asked.clone();
    let (results, file) = changed(Box::new(move |_, _| {
        *count.lock().unwrap() += 1;
        None
    }))
    .await;
    let [read, _] = results.as_slice() else { panic!("{results:?}") };
    assert!(read.contains("verify_password") && read.contains("did not say whether it has changes"), "{read}");
    assert!(file.contains("    false\n") && *asked.lock().unwrap() == 1, "{file}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_link_led_the_editor_to_is_not_read() {
    let (results, _) = changed(Box::new(|bench, params| {
        // For a moment, the path leads to what no agent may read; the editor does not notice.
        let (path, aside) = (path_of(params), bench.project.path().join("aside"));
        std::fs::rename(&path, &aside).unwrap();
        symlink(bench.home.path().join("secret"), &path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&aside, &path).unwrap();
        Some(json!({"result": {"content": "the secret"}}))
    }))
    .await;
    assert!(!format!("{results:?}").contains("the secret"), "{results:?}");
    assert!(results[0].contains("did not say whether it has changes"), "{results:?}");
}
