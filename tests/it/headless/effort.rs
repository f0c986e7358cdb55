//! How hard models think, from flags, settings and variables to the bodies of requests: the real binary before a server.

use serde_json::{Value, json};

use super::providers::{SETTINGS, ask};
use super::text;

const ENV: [(&str, &str); 4] = [
    ("ANTHROPIC_BASE_URL", "{base}/claude"),
    ("ANTHROPIC_API_KEY", "sk-12345678"),
    ("OPENAI_BASE_URL", "{base}/gpt"),
    ("OPENAI_API_KEY", "sk-87654321"),
];
const LOCAL: &str = "[providers.mine]\nwire = \"openai\"\nurl = \"{base}/v1\"\n";

/// Returns what one request says of thinking: its effort, and its tokens or kind.
async fn said(model: &str, user: &str, project: &str, args: &[&str], env: &[(&str, &str)]) -> (Value, Value) {
    let (args, env) = ([&["--model", model], args].concat(), [&ENV, env].concat());
    let (output, seen) = ask(user, project, &args, &env).await;
    let Some(request) = seen.last() else { panic!("{}", text(&output.stderr)) };
    let body = &request.body;
    let effort = body["output_config"].get("effort").or(body.get("reasoning_effort")).cloned().unwrap_or_default();
    let thinking = &body["thinking"];
    (effort, thinking.get("budget_tokens").or(thinking.get("type")).cloned().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_come_before_settings_and_each_model_is_told_in_its_own_way() {
    let opus = "anthropic/claude-opus-5-5";
    let own = "effort = \"low\"\n";
    let claude = [(SETTINGS, r#"{"effortLevel": "medium", "alwaysThinkingEnabled": false}"#)];
    let variable = [claude[0], ("CLAUDE_CODE_EFFORT_LEVEL", "xhigh")];
    let adaptive = json!("adaptive");
    for (user, args, env, effort, thinking) in [
        ("", &[][..], &[][..], Value::Null, adaptive.clone()),
        (own, &[], &claude[..0], json!("low"), adaptive.clone()),
        (own, &["--effort", "max"], &[], json!("max"), adaptive.clone()),
        (own, &[], &[("BELVEDERE_EFFORT", "high")], json!("high"), adaptive.clone()),
        // The project's settings file says otherwise.
        ("", &[], &claude, json!("medium"), json!("disabled")),
        ("", &[], &variable, json!("xhigh"), json!("disabled")),
        (own, &[], &variable, json!("low"), json!("disabled")),
        ("effort = \"default\"\n", &[], &[("MAX_THINKING_TOKENS", "0")], Value::Null, json!("disabled")),
    ] {
        assert_eq!(said(opus, user, "", args, env).await, (effort, thinking), "{user} {args:?} {env:?}");
    }
    let tokens = [("MAX_THINKING_TOKENS", "5000")];
    assert_eq!(said("anthropic/claude-haiku-4-5", own, "", &[], &tokens).await, (Value::Null, json!(5_000)));
    assert_eq!(said("anthropic/claude-haiku-4-5", own, "", &[], &[]).await, (Value::Null, json!(4_000)));
    let limit = "[limits]\nthinking_tokens = 6000\n";
    assert_eq!(said("anthropic/claude-haiku-4-5", limit, "", &[], &tokens).await.1, json!(6_000));
    let flag = ["--max-thinking-tokens", "7000"];
    assert_eq!(said("anthropic/claude-haiku-4-5", limit, "", &flag, &tokens).await.1, json!(7_000));
    assert_eq!(said(opus, "", "", &["--thinking", "disabled"], &[]).await.1, json!("disabled"));
    assert_eq!(said(opus, "", "", &["--thinking", "adaptive"], &[]).await.1, adaptive);
    // Over Chat Completions: the service's own model, one that takes none, one that nobody knows.
    assert_eq!(said("openai/gpt-5.2", own, "", &[], &[]).await.0, json!("low"));
    assert_eq!(said("openai/gpt-4o", own, "", &["--effort", "max"], &[]).await.0, Value::Null);
    assert_eq!(said("mine/other", LOCAL, "", &["--effort", "max"], &[]).await.0, json!("high"));
    assert_eq!(said("mine/other", LOCAL, "", &[], &claude).await.0, Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_lets_nobody_think_harder() {
    let opus = "anthropic/claude-opus-5-5";
    for (user, project, effort) in [
        ("", "effort = \"max\"\n", Value::Null),
        ("", "effort = \"low\"\n", json!("low")),
        ("effort = \"medium\"\n", "effort = \"high\"\n", json!("medium")),
        ("effort = \"max\"\n", "effort = \"high\"\n", json!("high")),
        ("", "[limits]\nthinking_tokens = 30000\n", Value::Null),
    ] {
        assert_eq!(said(opus, user, project, &[], &[]).await.0, effort, "{user} {project}");
    }
    let (output, seen) = ask("effort = \"much\"\n", "effort = \"max\"\n", &["--model", opus], &ENV).await;
    let said = text(&output.stderr);
    let unknown = "`effort`: `much` is not an effort; write low, medium, high, xhigh, max or default";
    assert!(said.contains(unknown) && said.contains("a project may not set `effort`: it would be laxer"), "{said}");
    assert_eq!(seen[0].body.get("output_config"), None);
}
