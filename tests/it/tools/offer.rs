//! What the model is offered, and what it is told when it gets the input wrong.

use std::path::Path;

use belvedere::subagent::{AGENT_TOOL, ASK_TOOLS, SKILL_TOOL, TASK_TOOLS, TOOL_SEARCH};
use serde_json::json;

use crate::support::standard_tools;

use super::{Bench, text_of};

/// The names of the files that describe tools, in order.
fn described() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/tools");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_offer_is_complete_plain_and_short() {
    let tools = standard_tools();
    let names: Vec<_> = tools.names().collect();
    // A prompt that begins as before is taken from the service's cache: what is new comes last.
    let first = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "LS", "TodoWrite"];
    assert!(names.starts_with(&first), "{names:?}");
    let mut described = described();
    let elsewhere = |name: &String| {
        name == TOOL_SEARCH || name == SKILL_TOOL || TASK_TOOLS.iter().chain(&ASK_TOOLS).any(|tool| tool == name)
    };
    described.retain(|name| name != AGENT_TOOL && !elsewhere(name));
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, described, "each tool is described, and each description is that of a tool");
    let specs = tools.specs();
    let size: usize = specs.iter().map(|spec| serde_json::to_string(spec).unwrap().len()).sum();
    assert!(size < 12_100, "{size} bytes");
    for spec in specs.iter() {
        let schema = serde_json::to_string(&spec.input_schema).unwrap();
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
        for noise in ["\"title\"", "\"format\"", "\"null\"", "$ref", "$schema", "oneOf", "anyOf", "\"default\":null"] {
            assert!(!schema.contains(noise), "{}: {noise} in {schema}", spec.name);
        }
    }
}

#[test]
fn inputs_have_claude_codes_fields() {
    let specs = standard_tools().specs();
    let fields = |name: &str| -> Vec<String> {
        let spec = specs.iter().find(|spec| spec.name == name).unwrap();
        spec.input_schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(fields("Read"), ["file_path", "offset", "limit", "pages"]);
    assert_eq!(fields("Write"), ["file_path", "content"]);
    assert_eq!(fields("Edit"), ["file_path", "old_string", "new_string", "replace_all"]);
    let bash = ["command", "timeout", "description", "dangerouslyDisableSandbox", "run_in_background", "notify_on"];
    assert_eq!(fields("Bash"), bash, "the last one is ours");
    assert_eq!(fields("Glob"), ["pattern", "path"]);
    assert_eq!(fields("LS"), ["path", "ignore"]);
    assert_eq!(fields("TodoWrite"), ["todos"]);
    let mut grep = fields("Grep");
    grep.sort();
    let mut expected = vec![
        "pattern",
        "path",
        "glob",
        "type",
        "output_mode",
        "-A",
        "-B",
        "-C",
        "-n",
        "-i",
        "multiline",
        "head_limit",
        "offset",
    ];
    expected.sort_unstable();
    assert_eq!(grep, expected);
    let grep = specs.iter().find(|spec| spec.name == "Grep").unwrap();
    assert_eq!(
        grep.input_schema["properties"]["output_mode"]["enum"],
        json!(["content", "files_with_matches", "count"])
    );
}

#[tokio::test]
async fn a_wrong_input_is_answered_with_the_fields() {
    let bench = Bench::new();
    for (tool, input, named) in [
        ("Read", json!({}), "file_path"),
        ("Read", json!({"file_path": "x", "offset": "ten"}), "offset"),
        ("Read", json!({"file_path": "x", "offset": -3}), "limit"),
        ("Edit", json!({"file_path": "x", "old_string": "a"}), "new_string"),
        ("Bash", json!({"command": ["ls"]}), "command"),
        ("Grep", json!({"pattern": "x", "output_mode": "lines"}), "files_with_matches"),
        ("TodoWrite", json!({"todos": [{"content": "x", "status": "maybe"}]}), "in_progress"),
        ("TodoWrite", json!({"todos": "write tests"}), "todos"),
    ] {
        let failed = bench.plan(tool, input.clone()).await.unwrap_err();
        assert!(failed.is_error && text_of(&failed).contains(named), "{tool} {input}: {}", text_of(&failed));
        assert_eq!(bench.run(tool, input).await, failed);
    }
}

#[tokio::test]
async fn a_value_in_the_wrong_wrapping_counts_as_what_it_holds() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\nthree\n");
    let input = json!({"file_path": "a", "offset": "2", "limit": 1.0});
    assert!(bench.text("Read", input).await.starts_with("     2\ttwo\n[Lines 2–2"));
    let input = json!({"file_path": "a", "old_string": "e", "new_string": "E", "replace_all": "True"});
    bench.text("Edit", input).await;
    let input = json!({"pattern": "E", "output_mode": null, "-i": null, "head_limit": "1"});
    assert!(bench.text("Grep", input).await.contains("\na\n"));
    let todos = r#"[{"content": "Run the tests", "status": "pending", "activeForm": "Running"}]"#;
    assert_eq!(bench.run("TodoWrite", json!({"todos": todos})).await.summary, "0 of 1 done");
    assert!(bench.error("Read", json!({"file_path": "a", "offset": "-2"})).await.contains("invalid type"));
    assert!(bench.error("Read", json!({"file_path": null})).await.contains("missing field"));
}

#[tokio::test]
async fn a_parameter_that_is_not_known_is_refused_by_name() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    for (tool, input, unknown, near) in [
        ("Read", json!({"file_path": "a", "limits": 1}), "limits", "Did you mean `limit`?"),
        ("Grep", json!({"pattern": "x", "excluded": "src"}), "excluded", "Parameters: "),
        ("Bash", json!({"command": "true", "time_out": 5, "sandbox": true}), "sandbox", "Parameters: command"),
        ("LS", json!({"ignored": ["a"]}), "ignored", "Did you mean `ignore`?"),
    ] {
        let failed = text_of(&bench.plan(tool, input.clone()).await.unwrap_err());
        assert!(failed.contains(&format!("unknown parameter `{unknown}`")), "{tool} {input}: {failed}");
        assert!(failed.contains(near), "{tool} {input}: {failed}");
    }
    // What has no value restricts nothing, and another spelling of a name is that name.
    assert_eq!(bench.text("Read", json!({"filePath": "a", "Limit": 1, "pages": null})).await, "     1\tone\n");
    for spec in standard_tools().specs().iter() {
        assert_eq!(spec.input_schema["additionalProperties"], false, "{}", spec.name);
    }
}

#[test]
fn tools_are_found_by_the_names_that_other_programs_give_them() {
    let tools = standard_tools();
    for (name, ours) in [
        ("bash", "Bash"),
        ("read_file", "Read"),
        ("Write_File", "Write"),
        ("edit_file", "Edit"),
        ("list_directory", "LS"),
        ("run_shell_command", "Bash"),
        ("search_file_content", "Grep"),
    ] {
        assert_eq!(tools.find(name).map(|tool| tool.name()), Some(ours), "{name}");
    }
    assert!(tools.find("find_symbol").is_none());
}

#[tokio::test]
async fn other_names_of_the_path_are_understood() {
    let bench = Bench::new();
    bench.put("a.txt", "one\n");
    for input in [json!({"path": "a.txt"}), json!({"filePath": "a.txt"}), json!({"file_path": bench.path("a.txt")})] {
        assert_eq!(bench.text("Read", input.clone()).await, "     1\tone\n");
        assert_eq!(bench.title("Read", input), "a.txt");
    }
}

#[test]
fn titles_bear_any_input_and_are_one_line() {
    let bench = Bench::new();
    let odd = [json!({}), json!({"file_path": 3, "command": null, "pattern": [1], "todos": "x", "path": {}})];
    for name in standard_tools().names() {
        for input in &odd {
            assert!(!bench.title(name, input.clone()).contains('\n'));
        }
    }
    assert_eq!(bench.title("Read", json!({"file_path": "src/../a\nb"})), "a\\nb");
    assert_eq!(bench.title("Read", json!({"file_path": "../x"})), bench.outside("x").to_str().unwrap());
    assert_eq!(bench.title("Bash", json!({"command": "cd x &&\n  make"})), "cd x && ⏎ make");
    assert_eq!(bench.title("Grep", json!({"pattern": "fn main", "path": "src/"})), "\"fn main\" in src");
    assert_eq!(bench.title("LS", json!({})), ".");
    assert_eq!(
        bench.title("Edit", json!({"file_path": "a\nb", "old_string": 3})),
        "a ⏎ b",
        "its first text, if it does not fit"
    );
}

#[tokio::test]
async fn todos_are_counted_and_shown() {
    let bench = Bench::new();
    let todos = json!({"todos": [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
        {"content": "Test", "status": "pending"},
    ]});
    let output = bench.run("TodoWrite", todos).await;
    assert_eq!(output.summary, "1 of 3 done");
    let view = serde_json::to_value(output.view.unwrap()).unwrap();
    assert_eq!(view["items"][1]["activeForm"], "Writing");
}

#[tokio::test]
async fn titles_and_summaries_hold_nothing_that_moves_or_hides_text() {
    let bench = Bench::new();
    let evil = "a\u{202e}b\u{1b}[31mc\u{200b}d";
    for (tool, field) in
        [("Read", "file_path"), ("Bash", "command"), ("Grep", "pattern"), ("Glob", "pattern"), ("LS", "path")]
    {
        let title = bench.title(tool, json!({field: evil}));
        assert!(!title.contains(['\u{202e}', '\u{1b}', '\u{200b}', '\n']), "{tool}: {title:?}");
        let output = bench.run(tool, json!({field: evil})).await;
        assert!(!output.summary.contains(['\u{202e}', '\u{1b}', '\u{200b}', '\n']), "{tool}: {:?}", output.summary);
    }
}
