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
    bench.file("plugins/shop/skills/sell/SKILL.md", "Sells.");
}

#[test]
fn lines_call_skills_and_list_them() {
    let bench = Bench::new();
    put_all(&bench);
    let flags = ["--plain", "--model", "offline", "--plugin-dir", "plugins/shop"];
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
    let output = bench.ask("/where verify_password", &["--trust", "--output-format", "stream-json"]);
    let out = text(&output.stdout);
    assert!(out.contains("Skill /where (project)") && out.contains("Where is verify_password defined?"), "{out}");
}

#[test]
fn the_hooks_and_the_servers_of_a_plugin_are_the_users() {
    let bench = Bench::new();
    let line = r#"test -d \"$CLAUDE_PLUGIN_ROOT/hooks\" && touch \"${CLAUDE_PROJECT_DIR}/heard\""#;
    bench.file(
        "plugins/shop/hooks/hooks.json",
        &format!(r#"{{"hooks": {{"UserPromptSubmit": [{{"hooks": [{{"type": "command", "command": "{line}"}}]}}]}}}}"#),
    );
    bench.file("plugins/shop/.mcp.json", r#"{"mcpServers": {"till": {"command": "${CLAUDE_PLUGIN_ROOT}/till"}}}"#);
    let output = bench.ask("Where is verify_password defined?", &["--plugin-dir", "plugins/shop"]);
    assert!(bench.project.path().join("heard").exists(), "{output:?}");
    let output = bench.command(&["mcp", "list", "--plugin-dir", "plugins/shop"]).output().unwrap();
    let out = text(&output.stdout);
    assert!(out.contains("plugin:shop:till") && out.contains("plugins/shop/till"), "{output:?}");
}
