//! Each tier overrides the one before it, as `agents list` tells and as a model is offered it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::{Bench, called, json_path};

/// Asks a model something from a folder and returns the text of the `Agent` tool in the request that reaches its server.
fn offered(bench: &Bench, cwd: &str) -> String {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let (stream, _) = server.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let mut length = 0;
        for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
            if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let chunk =
            json!({"id": "c", "choices": [{"index": 0, "delta": {"content": "done"}, "finish_reason": "stop"}]});
        let answer = format!("data: {chunk}\n\ndata: [DONE]\n\n");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
        write!(&stream, "{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
        body
    });
    let mut command = bench.command(cwd, &["-p", "Hello.", "--trust", "--model", "openai/test"]);
    command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", format!("http://{address}/v1"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let request: Value = serde_json::from_slice(&served.join().unwrap()).unwrap();
    let tools = request["tools"].as_array().unwrap();
    let agent = tools.iter().find(|tool| tool["function"]["name"] == "Agent").unwrap();
    agent["function"]["description"].as_str().unwrap().to_owned()
}

/// Adds one file for `reviewer` after the other, each in a stronger folder, and checks that it is the one in force.
fn each_overrides_the_one_before(bench: &Bench, cwd: &str, folders: &[(&str, &str, &str)]) {
    let mut winner = ("built-in", serde_json::Value::Null);
    for (count, (folder, tier, label)) in folders.iter().enumerate() {
        let before = winner;
        let path = bench.agent(folder, "reviewer", &format!("From {folder}"));
        winner = (tier, json_path(&path));
        let list = bench.run(cwd, &["agents", "list", "--json"]).json();
        let all = called(&list, "reviewer");
        assert_eq!(all.len(), count + 2, "{list:#}");
        for agent in &all {
            let is_winner = agent["path"] == winner.1 && agent["tier"] == winner.0;
            assert_eq!(agent["standing"], if is_winner { "in_force" } else { "shadowed" }, "{agent:#}");
            if !is_winner {
                assert_eq!(agent["shadowed_by"], json!({"tier": winner.0, "path": winner.1}));
            }
        }
        let loser = all.iter().find(|agent| agent["path"] == before.1).unwrap();
        assert_eq!(loser["tier"], before.0);
        let text = bench.run(cwd, &["agents"]).out;
        assert_eq!(text.matches(&format!("shadowed by {label}, ")).count(), count + 1, "{text}");
        let shown = bench.run(cwd, &["agents", "show", "reviewer", "--json"]).json();
        assert_eq!((&shown["path"], shown["shadows"].as_array().unwrap().len()), (&winner.1, count + 1));
        assert_eq!(shown["description"], format!("From {folder}"));
        let offer = offered(bench, cwd);
        assert!(offer.contains(&format!("- reviewer: From {folder} (")), "{offer}");
        assert_eq!(offer.matches("- reviewer: ").count(), 1);
    }
}

#[test]
fn each_tier_overrides_the_one_before() {
    let folders = [
        (".claude/agents", "user", "user (.claude)"),
        (".kode/agents", "user-kode", "user (.kode)"),
        ("shop/.claude/agents", "project", "project (.claude)"),
        ("shop/.kode/agents", "project-kode", "project (.kode)"),
    ];
    each_overrides_the_one_before(&Bench::new(), "shop", &folders);
}

#[test]
fn the_folder_nearest_to_the_working_directory_wins_within_its_tier() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("shop/web/till")).unwrap();
    let folders = [
        ("shop/.claude/agents", "project", "project (.claude)"),
        ("shop/web/.claude/agents", "project", "project (.claude)"),
        ("shop/web/till/.claude/agents/deep/down", "project", "project (.claude)"),
        ("shop/.kode/agents", "project-kode", "project (.kode)"),
        ("shop/web/till/.kode/agents", "project-kode", "project (.kode)"),
    ];
    each_overrides_the_one_before(&bench, "shop/web/till", &folders);
    // From further up, what lies below is not seen.
    let list = bench.run("shop", &["agents", "--json"]).json();
    assert_eq!(called(&list, "reviewer").len(), 3, "{list:#}");
    // What lies above the repository is no part of the project.
    bench.agent("above/.claude/agents", "stranger", "From above");
    std::fs::create_dir_all(bench.path("above/inner/.git")).unwrap();
    let list = bench.run("above/inner", &["agents", "--json"]).json();
    assert!(called(&list, "stranger").is_empty(), "{list:#}");
}

#[test]
fn variables_replace_the_folders_of_the_user() {
    let mut bench = Bench::new();
    bench.agent(".claude/agents", "left-behind", "In the home");
    bench.agent(".kode/agents", "left-behind", "In the home");
    bench.env = vec![("CLAUDE_CONFIG_DIR", bench.path("one")), ("KODE_CONFIG_DIR", bench.path("two"))];
    let folders = [
        ("one/agents", "user", "user (.claude)"),
        ("two/agents", "user-kode", "user (.kode)"),
        ("shop/.claude/agents", "project", "project (.claude)"),
    ];
    each_overrides_the_one_before(&bench, "shop", &folders);
    assert!(!bench.run("shop", &["agents"]).out.contains("left-behind"));
}

#[test]
fn the_command_line_wins_over_all() {
    let bench = Bench::new();
    bench.agent("shop/.kode/agents", "reviewer", "From a file");
    let given = r#"{"Reviewer": {"description": "From the command line", "prompt": "One\ntwo", "tools": ["Read"]}}"#;
    for args in [["agents", "--agents", given, "--json"], ["--agents", given, "agents", "--json"]] {
        let list = bench.run("shop", &args).json();
        let given = called(&list, "Reviewer");
        assert_eq!((&given[0]["tier"], &given[0]["standing"]), (&"command-line".into(), &"in_force".into()));
        assert_eq!((&given[0]["path"], &given[0]["tools"]), (&json!(null), &json!(["Read"])));
        assert_eq!(called(&list, "reviewer").len(), 2, "a file and the built-in one, both shadowed");
    }
    let shown = bench.run("shop", &["agents", "show", "re_viewer", "--agents", given]);
    assert!(shown.out.ends_with("\nOne\ntwo\n") && shown.out.contains("command line"), "{shown:?}");
    for wrong in ["{", "[]"] {
        let ran = bench.run("shop", &["agents", "--agents", wrong]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains(r#"{"name": {"description""#), "{}", ran.err);
    }
    let broken = bench.run("shop", &["agents", "--agents", r#"{"x": 3}"#]);
    assert_eq!(broken.status, 0, "the program always starts");
    assert!(broken.out.contains("`x` in --agents: not an object"), "{broken:?}");
}

#[test]
fn the_folder_is_that_of_the_flag_wherever_it_stands() {
    let bench = Bench::new();
    bench.agent("shop/.claude/agents", "clerk", "Sells");
    let shop = bench.path("shop");
    let shop = shop.to_str().unwrap();
    let joined = format!("--cd={shop}");
    for args in
        [&["-C", shop, "agents"][..], &["agents", "-C", shop], &["agents", "list", "--cd", shop], &[&joined, "agents"]]
    {
        let ran = bench.run("", args);
        assert!(ran.out.contains("clerk"), "{args:?}: {ran:?}");
    }
    let ran = bench.run("", &["-C", "nowhere", "agents"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("cannot enter nowhere"), "{}", ran.err);
}
