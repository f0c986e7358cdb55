//! `belvedere import`: what other programs have configured.

use super::Bench;

const OWN: &str = ".config/belvedere/config.toml";

fn others() -> Bench {
    let bench = Bench::new();
    bench.file(
        ".codex/config.toml",
        "model = \"gpt-5\"\napproval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n\n[mcp_servers.docs]\ncommand = \
         \"npx\"\nargs = [\"-y\", \"docs\"]\nenv = { API_TOKEN = \"canary\", LEVEL = \"1\" }\n\n[mcp_servers.web]\nurl = \
         \"https://example.com/mcp\"\nbearer_token_env_var = \"WEB_TOKEN\"\n",
    );
    bench.file(
        ".gemini/settings.json",
        "{\n // a comment\n \"model\": {\"name\": \"gemini-3-pro\"},\n \"mcpServers\": {\"old\": {\"url\": \"http://localhost:1/sse\"}, \
         \"docs\": {\"command\": \"other\"}}}",
    );
    bench.file(".kode.json", "{\"mcpServers\": {\"kode\": {\"type\": \"stdio\", \"command\": \"kode-server\"}}}");
    bench.file(".claude/agents/a.md", "---\nname: a\ndescription: d\n---\nYou.\n");
    bench.file(".claude.json", "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}");
    bench
}

#[test]
fn without_a_choice_all_is_shown_and_nothing_written() {
    let bench = others();
    let ran = bench.run("shop", &["import"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    for line in [
        "codex:setting:model  model = openai/gpt-5: new",
        "codex:setting:permission_mode  permission_mode = acceptEdits: new",
        "codex:mcp:docs  MCP server docs: npx (without API_TOKEN, which may be secret: add it as ${NAME}): new",
        "codex:mcp:web  MCP server web: https://example.com/mcp: new",
        "gemini:setting:model  model = gemini/gemini-3-pro: new",
        "gemini:mcp:old  MCP server old: http://localhost:1/sse: new",
        "kode:mcp:kode  MCP server kode: kode-server: new",
        "claude:agents:user  1 agent (read in place): in use",
        "claude:mcp:user  1 MCP server (read in place): in use",
        "Nothing was written.",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    assert!(!ran.out.contains("canary") && !bench.path(OWN).exists());
}

#[test]
fn what_is_chosen_is_taken_over_and_nothing_overwritten() {
    let bench = others();
    bench.file(OWN, "# mine\nmodel = \"offline\"\n");
    let ran = bench.run("shop", &["import", "codex", "gemini:mcp:docs"]);
    assert_eq!(ran.status, 1, "one name is taken: {ran:?}");
    assert!(ran.out.contains("codex:setting:model  model = openai/gpt-5: kept: you have one already"), "{}", ran.out);
    assert!(
        ran.out.contains("gemini:mcp:docs  MCP server docs: other: failed: it has a server `docs` already"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("kode:mcp:kode  MCP server kode: kode-server: new"), "{}", ran.out);
    let text = std::fs::read_to_string(bench.path(OWN)).unwrap();
    assert!(text.starts_with("# mine\nmodel = \"offline\"\npermission_mode = \"acceptEdits\"\n"), "{text}");
    assert!(
        text.contains("Bearer ${WEB_TOKEN}") && text.contains("LEVEL = \"1\"") && !text.contains("canary"),
        "{text}"
    );
    let list = bench.run("shop", &["mcp", "list"]).out;
    assert!(list.contains("docs") && list.contains("web"), "{list}");

    let ran = bench.run("shop", &["import", "--yes"]);
    assert!(ran.out.contains("kode:mcp:kode  MCP server kode: kode-server: taken over"), "{}", ran.out);
    let again = bench.run("shop", &["import", "--yes"]);
    assert!(again.status == 0 && !again.out.contains("taken over") && !again.out.contains(": new"), "{}", again.out);
    assert_eq!(bench.run("shop", &["import", "codex:mcp:none"]).status, 2);
}

#[test]
fn what_cannot_be_read_is_said() {
    let bench = Bench::new();
    assert!(bench.run("shop", &["import"]).out.starts_with("Nothing of Claude Code"));
    bench.file(".codex/config.toml", "model = \n");
    bench.file(".gemini/settings.json", "{");
    let out = bench.run("shop", &["import"]).out;
    assert!(out.contains("! ") && out.contains(".codex/config.toml") && out.contains(".gemini/settings.json"), "{out}");
}
