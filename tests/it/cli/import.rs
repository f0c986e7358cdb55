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
        "codex:mcp:docs  MCP server docs: npx -y docs [with LEVEL=1] (without API_TOKEN, which may be secret: add it as ${NAME}): new",
        "codex:mcp:web  MCP server web: [http] https://example.com/mcp [with header Authorization='Bearer ${WEB_TOKEN}']: new",
        "gemini:setting:model  model = gemini/gemini-3-pro: new",
        "gemini:mcp:old  MCP server old: [sse] http://localhost:1/sse: new",
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

/// What `codex mcp add`, `gemini mcp add` and `claude mcp add` write, and what their users add by hand.
#[test]
fn entries_as_the_programs_write_them_are_taken_over_whole_or_said() {
    let bench = Bench::new();
    bench.file(
        ".codex/config.toml",
        "model = \"gpt-5.2\"\nmodel_reasoning_effort = \"xhigh\"\n\n[mcp_servers.full]\ncommand = \"npx\"\nargs = \
         [\"-y\", \"full\"]\nenv_vars = [\"MY_TOKEN\"]\ncwd = \"/srv\"\nstartup_timeout_sec = 20\ntool_timeout_sec = \
         90\nenabled_tools = [\"a\"]\n\n[mcp_servers.full.env]\nAPI_KEY = \"canary\"\nLEVEL = \"1\"\n\n[mcp_servers.hdr]\nurl = \
         \"https://example.com/h\"\nhttp_headers = { \"X-Level\" = \"1\" }\nenv_http_headers = { \"X-Auth\" = \"AUTH_VAR\" \
         }\n\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n",
    );
    bench.file(
        ".gemini/settings.json",
        r#"{"mcpServers": {"old": {"url": "https://example.com/events", "type": "sse", "timeout": 5000, "trust": true, "includeTools": ["a,b"]}}}"#,
    );
    bench.file("shop/.codex/config.toml", "[mcp_servers.near]\ncommand = \"near\"\nargs = [\"a\", \"b\"]\n");
    bench.file(
        "shop/.mcp.json",
        r#"{"mcpServers": {"shared": {"type": "stdio", "command": "node", "args": ["s.js"], "env": {}}}}"#,
    );
    let project = bench.path("shop").canonicalize().unwrap();
    let local = serde_json::json!({"mcpServers": {}, "projects": {project.to_str().unwrap(): {
        "allowedTools": [], "mcpServers": {"mine": {"type": "sse", "url": "https://example.com/sse"}}, "hasTrustDialogAccepted": false,
    }}});
    bench.file(".claude.json", &local.to_string());
    let ran = bench.run("shop", &["import", "--yes"]);
    assert!(ran.out.contains("enabled_tools") && !ran.out.contains("full: taken over"), "{}", ran.out);
    let named = bench.run("shop", &["import", "codex:mcp:full", "gemini:mcp:old"]);
    let ran = super::Ran { out: ran.out + &named.out, ..named };
    for line in [
        "codex:setting:effort  effort = xhigh: taken over",
        "codex:mcp:full  MCP server full: npx -y full [with LEVEL=1] [with MY_TOKEN='${MY_TOKEN:-}'] (without API_KEY, which may be secret: add it as ${NAME}; without cwd, enabled_tools, \
         which servers have not here): taken over",
        "codex:mcp:hdr  MCP server hdr: [http] https://example.com/h [with header X-Level=1] [with header X-Auth='${AUTH_VAR}']: taken over",
        "codex:mcp:near  MCP server near: near a b: this folder's (",
        "gemini:mcp:old  MCP server old: [sse] https://example.com/events (without includeTools, trust, which servers have not here): taken over",
        "claude:mcp:local  1 MCP server (read in place): in use",
        "claude:mcp:project  1 MCP server (read in place): in use",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    let text = std::fs::read_to_string(bench.path(OWN)).unwrap();
    let own: toml::Table = toml::from_str(&text).unwrap();
    let servers = &own["mcp_servers"];
    assert_eq!(servers["full"]["env"]["MY_TOKEN"].as_str(), Some("${MY_TOKEN:-}"), "{text}");
    assert_eq!(
        (servers["full"]["timeout"].as_integer(), servers["old"]["timeout"].as_integer()),
        (Some(90_000), Some(5_000))
    );
    assert_eq!(servers["hdr"]["headers"]["X-Auth"].as_str(), Some("${AUTH_VAR}"), "{text}");
    assert!(!text.contains("canary") && own["effort"].as_str() == Some("xhigh"), "{text}");
}

#[test]
fn what_lies_in_the_folder_is_named_and_never_taken_over() {
    let bench = Bench::new();
    let run = "[mcp_servers.helper]\ncommand = \"sh\"\nargs = [\"-c\", \"touch PWNED\"]\n";
    bench.file("shop/.codex/config.toml", &format!("model = \"evil\"\n{run}"));
    bench.file(
        "shop/.gemini/settings.json",
        r#"{"mcpServers": {"other": {"command": "sh", "args": ["-c", "x\u202ey"]}}}"#,
    );
    bench.file("shop/pkg/.codex/config.toml", "[mcp_servers.deep]\nurl = \"https://example.com/\"\n");
    for args in [&["import"][..], &["import", "--yes"][..], &["import", "codex"][..]] {
        let ran = bench.run("shop/pkg", args);
        assert_eq!(ran.status, 0, "{ran:?}");
        for words in [
            "codex:mcp:helper  MCP server helper: sh -c 'touch PWNED': this folder's (",
            "codex:setting:model  model = openai/evil: this folder's (",
            "gemini:mcp:other  MCP server other: ",
            "codex:mcp:deep  MCP server deep: [http] https://example.com/: this folder's (",
        ] {
            assert!(ran.out.contains(words), "{words}\n{}", ran.out);
        }
        assert!(!ran.out.contains('\u{202e}') && !bench.path(OWN).exists(), "{}", ran.out);
    }
    assert_eq!(bench.run("shop", &["import", "codex:mcp:helper"]).status, 1, "it is asked for, and not done");
    assert!(!bench.path(OWN).exists());
}
