//! Several agents that write the same files: whoever comes second is told who came first.

use crate::support::standard_tools;
use std::sync::Arc;
use std::time::Duration;

use belvedere::tool::{Freshness, ToolContext, ToolOutput, Writers};
use futures::future::join;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{Bench, run, text_of};

/// Agents in one project.
struct Team {
    bench: Bench,
    writers: Writers,
}

impl Team {
    fn new() -> Self {
        Self { bench: Bench::new(), writers: Writers::default() }
    }

    fn member(&self, name: &str) -> ToolContext {
        let freshness = Arc::new(Freshness::new(name, &self.writers));
        ToolContext { freshness, ..self.bench.context.clone() }
    }
}

async fn call(context: &ToolContext, tool: &str, input: Value) -> ToolOutput {
    run(&standard_tools(), tool, input, context).await
}

async fn read(context: &ToolContext) {
    assert!(!call(context, "Read", json!({"file_path": "a.txt"})).await.is_error);
}

async fn edit(context: &ToolContext, old: &str, new: &str) -> ToolOutput {
    call(context, "Edit", json!({"file_path": "a.txt", "old_string": old, "new_string": new})).await
}

#[tokio::test(start_paused = true)]
async fn a_change_that_no_stamp_shows_is_noticed_and_has_a_name() {
    let team = Team::new();
    let path = team.bench.put("a.txt", "one two\n");
    let (main, code) = (team.member("main"), team.member("code-2"));
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    read(&main).await;
    read(&code).await;
    assert!(!edit(&code, "one", "ONE").await.is_error);
    // As many bytes as before, and the same time: what a coarse clock makes of two writes.
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    sleep(Duration::from_secs(12)).await;
    let refused = edit(&main, "two", "TWO").await;
    let words = "a.txt was changed by code-2 since you read it (Edit, 12 s ago). Read it again before you edit it.";
    assert_eq!((text_of(&refused).as_str(), refused.summary.as_str()), (words, words));
    assert_eq!(team.bench.get("a.txt"), "ONE two\n");
    read(&main).await;
    assert!(!edit(&main, "two", "TWO").await.is_error);
    assert_eq!(team.bench.get("a.txt"), "ONE TWO\n");
    sleep(Duration::from_mins(5)).await;
    let words = text_of(&edit(&code, "ONE", "1").await);
    assert!(words.starts_with("a.txt was changed by main since you read it (Edit, 5 min ago)."), "{words}");
}

#[tokio::test]
async fn a_change_by_a_command_or_the_user_is_nobodys() {
    let team = Team::new();
    team.bench.put("a.txt", "one\n");
    let (main, code) = (team.member("main"), team.member("code-2"));
    read(&main).await;
    read(&code).await;
    assert!(!call(&code, "Bash", json!({"command": "echo two >> a.txt"})).await.is_error);
    for who in [&main, &code] {
        let words = text_of(&edit(who, "one", "1").await);
        assert!(words.starts_with("a.txt changed on disk since you read it"), "{words}");
        assert!(words.contains("Read it again"), "{words}");
    }
}

#[tokio::test]
async fn of_two_that_make_the_same_file_the_second_is_told() {
    let team = Team::new();
    let (one, other) = (team.member("code-1"), team.member("code-2"));
    let write = |who: &'static str| json!({"file_path": "new/a.txt", "content": format!("by {who}\n")});
    let (first, second) = join(call(&one, "Write", write("1")), call(&other, "Write", write("2"))).await;
    let (loser, winner) = if first.is_error { (first, "code-2") } else { (second, "code-1") };
    let words = text_of(&loser);
    assert!(loser.is_error && words.contains("was written by"), "{words}");
    assert!(words.contains(&format!("{winner} (Write, just now) and you have not read it.")), "{words}");
    assert_eq!(team.bench.get("new/a.txt"), format!("by {}\n", &winner[5..]));
}

#[tokio::test]
async fn edits_at_the_same_moment_lose_nothing() {
    let team = Team::new();
    team.bench.put("a.txt", "one two\n");
    let (main, code) = (team.member("main"), team.member("code-2"));
    for round in 0..20 {
        team.bench.put("a.txt", "one two\n");
        read(&main).await;
        read(&code).await;
        let (first, second) = join(edit(&main, "one", "1"), edit(&code, "two", "2")).await;
        assert!(first.is_error != second.is_error, "round {round}: one of the two has to look again");
        let found = team.bench.get("a.txt");
        assert_eq!(found, if first.is_error { "one 2\n" } else { "1 two\n" });
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_leaves_the_file_to_others() {
    let team = Team::new();
    team.bench.put("a.txt", "one\n");
    let code = team.member("code-2");
    for number in 0..20 {
        let stopped = ToolContext { cancel: CancellationToken::new(), ..team.member("code-1") };
        read(&stopped).await;
        let cancel = stopped.cancel.clone();
        let stop = async {
            for _ in 0..number {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        join(edit(&stopped, "one", "one"), join(edit(&stopped, "one", "1\none"), stop)).await;
        read(&code).await;
        let done = timeout(Duration::from_mins(1), edit(&code, "one", "2\none")).await.expect("the file stays shut");
        assert!(!done.is_error, "{}", text_of(&done));
    }
    assert_eq!(team.bench.get("a.txt").matches('2').count(), 20);
}
