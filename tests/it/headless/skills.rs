//! Skills, commands and plugins, as the real binary finds them.

use super::{Bench, text};

fn put_all(bench: &Bench) {
    bench.at_home(".claude/skills/tea/SKILL.md", "---\ndescription: Brews tea\n---\nWhere is verify_password defined?");
    bench.at_home(".claude/commands/init.md", "MINE");
    bench.file(
        ".claude/commands/where.md",
        "---\ndescription: Finds code\nargument-hint: NAME\n---\nWhere is $1 defined?",
    );
    bench.file(".claude/skills/empty/SKILL.md", "---\ndescription: d\n---\n");
    bench.at_home("plugins/shop/skills/sell/SKILL.md", "Sells.");
}

#[test]
fn lines_call_skills_and_list_them() {
    let bench = Bench::new();
    put_all(&bench);
    let shop = bench.home.path().join("plugins/shop");
    let flags = ["--plain", "--model", "offline", "--plugin-dir", shop.to_str().unwrap()];
    let mut session = super::plain::Session::start(&bench, &flags);
    session.until("This folder brings 1 skill, 1 command, not used until you trust it: /trust");
    session.line("/where verify_password");
    session.until("/where waits for your trust: /trust shows what this folder brings");
    session.line("/skills");
    session.until("/where (project command): waits for your trust: /trust");
    session.line("/wherever");
    session.until("no command /wherever");
    session.line("/tea");
    session.until("Skill /tea (user): loaded.");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    let mut session = super::plain::Session::start(&bench, &[&flags[..], &["--trust"]].concat());
    session.line("/where verify_password");
    session.until("Skill /where (project): loaded.");
    session.line("/skills");
    session.until("/empty (project skill): broken: line 1: no text after the frontmatter");
    session.until("/shop:sell (plugin shop skill): Sells.");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("/tea (user skill): Brews tea"), "{out}");
    assert!(out.contains("/init (user command): the built-in /init wins"), "{out}");
}

#[test]
fn one_request_calls_a_skill_and_needs_trust_for_those_of_a_project() {
    let bench = Bench::new();
    put_all(&bench);
    let output = bench.ask("/where verify_password", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("brings 1 skill, 1 command that you have not trusted"), "{output:?}");
    let head = "---\nhooks:\n  Stop:\n    - hooks:\n        - {type: command, command: touch x}\n---\nSells.";
    bench.file(".claude/skills/sell/SKILL.md", head);
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.until("runs Stop: touch x");
    session.end();
    let output = bench.ask("/where verify_password", &["--trust", "--output-format", "events"]);
    let out = text(&output.stdout);
    assert!(out.contains("Skill /where (project)") && out.contains("Where is verify_password defined?"), "{out}");
}

const TILL: &str = r#"{"mcpServers": {"till": {"command": "${CLAUDE_PLUGIN_ROOT}/till"}}}"#;

/// Hooks that leave a file with this name in the project.
fn leaving(file: &str) -> String {
    let line = format!(r#"test -d \"$CLAUDE_PLUGIN_ROOT/hooks\" && touch \"${{CLAUDE_PROJECT_DIR}}/{file}\""#);
    format!(r#"{{"hooks": {{"UserPromptSubmit": [{{"hooks": [{{"type": "command", "command": "{line}"}}]}}]}}}}"#)
}

#[test]
fn the_hooks_and_the_servers_of_a_plugin_are_the_users() {
    let bench = Bench::new();
    bench.at_home("plugins/shop/hooks/hooks.json", &leaving("heard"));
    bench.at_home("plugins/shop/.mcp.json", TILL);
    let shop = bench.home.path().join("plugins/shop").to_string_lossy().into_owned();
    let output = bench.ask("Where is verify_password defined?", &["--plugin-dir", &shop]);
    assert!(bench.project.path().join("heard").exists(), "{output:?}");
    let output = bench.command(&["mcp", "list", "--plugin-dir", &shop]).output().unwrap();
    let out = text(&output.stdout);
    assert!(out.contains("plugin:shop:till") && out.contains("plugins/shop/till"), "{output:?}");
}

#[test]
fn what_a_plugin_in_the_project_brings_waits_for_trust() {
    let bench = Bench::new();
    bench.file(".git/HEAD", "ref: refs/heads/main\n");
    bench.file("plugins/shop/hooks/hooks.json", &leaving("heard"));
    bench.file("plugins/shop/.mcp.json", TILL);
    bench.file("plugins/shop/skills/sell/SKILL.md", "Sells.");
    bench.file("plugins/shop/agents/clerk.md", "---\nname: clerk\ndescription: d\n---\nYou sell.\n");
    let flags = ["--plugin-dir", "plugins/shop"];
    let output = bench.ask("hello", &flags);
    assert_eq!(output.status.code(), Some(2));
    let brings = "brings 1 agent, 1 skill, 1 hook, 1 MCP server that you have not trusted";
    assert!(text(&output.stderr).contains(brings), "{output:?}");
    let output = bench.command(&[&["mcp", "list"][..], &flags].concat()).output().unwrap();
    assert!(text(&output.stdout).contains("not trusted"), "{output:?}");
    let mut session = super::plain::Session::start(&bench, &[&["--plain", "--model", "offline"][..], &flags].concat());
    session.until("not used until you trust it");
    session.line("hello");
    session.until("main: I am");
    session.line("/trust");
    session.until("starts plugin:shop:till");
    assert!(!bench.project.path().join("heard").exists());
    session.line("/trust yes");
    session.line("hello");
    session.until("main: ");
    std::fs::remove_file(bench.project.path().join("heard")).unwrap();
    assert!(!bench.project.path().join("heard").exists());
    session.line("/shop:sell");
    session.until("Skill /shop:sell (plugin shop): loaded.");
    assert!(bench.project.path().join("heard").exists());
    bench.file("plugins/shop/hooks/hooks.json", &leaving("changed"));
    session.until("Plugins changed: shop");
    session.until("New or changed, not used until you trust it: runs UserPromptSubmit");
    session.line("where is verify_password defined?");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(!bench.project.path().join("changed").exists());
}

#[test]
fn plugins_that_come_and_go_while_the_program_runs_are_in_force_with_the_next_message() {
    let bench = Bench::new();
    let heard = bench.project.path().join("heard");
    let installed = bench.home.path().join("cache/shop");
    let mut session = super::plain::Session::offline(&bench);
    session.until("No model connected");
    bench.at_home("cache/shop/hooks/hooks.json", &leaving("heard"));
    bench.at_home("cache/shop/skills/sell/SKILL.md", "Where is verify_password defined?");
    bench.at_home("cache/shop/agents/clerk.md", "---\nname: clerk\ndescription: Sells\n---\nYou sell.\n");
    let list = format!(
        r#"{{"version": 2, "plugins": {{"shop@mall": [{{"scope": "user", "installPath": "{}"}}]}}}}"#,
        installed.display()
    );
    bench.at_home(".claude/plugins/installed_plugins.json", &list);
    session.until("Plugins new: shop");
    session.line("/hooks");
    session.until("cache/shop/hooks/hooks.json");
    session.line("hello");
    session.until("main: I am");
    assert!(heard.exists());
    session.line("/skills");
    session.until("/shop:sell (plugin shop skill)");
    session.line("/agents");
    session.until("shop:clerk (plugin): Sells");
    bench.at_home("cache/shop/.mcp.json", TILL);
    session.until("Plugins changed: shop");
    session.line("/mcp");
    session.until("plugin:shop:till");
    // While it is being written, the old list holds.
    bench.at_home(".claude/plugins/installed_plugins.json", "{");
    session.until("not read: ");
    std::fs::remove_file(&heard).unwrap();
    session.line("hello");
    session.until("main: ");
    assert!(heard.exists());
    bench.at_home(".claude/settings.json", r#"{"enabledPlugins": {"shop@mall": false}}"#);
    bench.at_home(".claude/plugins/installed_plugins.json", &list);
    session.until("Plugins removed: shop");
    std::fs::remove_file(&heard).unwrap();
    session.line("/shop:sell");
    session.until("no command /shop:sell");
    session.line("where is verify_password defined?");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(!heard.exists(), "{out}");
}
