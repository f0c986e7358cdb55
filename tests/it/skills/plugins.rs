//! Plugins: which are used, and what they bring.

use std::path::PathBuf;
use std::sync::Arc;

use belvedere::definition::skill::{SkillDirs, SkillLibrary, SkillOrigin};
use belvedere::definition::{AgentDirs, KnownNames, Library, Plugin, PluginPlaces, Roots};
use belvedere::permission::{ItemTrust, Owner};

use super::{Shelf, text};

fn found(shelf: &Shelf, given: &[&str]) -> (Vec<Plugin>, Vec<String>) {
    let (plugins, errors) = Plugin::find(&places(shelf, given));
    (plugins, errors.iter().map(|error| error.message.clone()).collect())
}

fn places(shelf: &Shelf, given: &[&str]) -> PluginPlaces {
    PluginPlaces {
        claude: Some(shelf.path("~/.claude")),
        project: Some(shelf.path("")),
        owner: Owner::new(nix::unistd::geteuid().as_raw(), None),
        given: given.iter().map(|path| shelf.path(path)).collect(),
    }
}

fn names(plugins: &[Plugin]) -> Vec<&str> {
    plugins.iter().map(|plugin| plugin.name.as_str()).collect()
}

#[test]
fn both_versions_of_the_list_are_read_and_switches_are_kept() {
    let shelf = Shelf::with(&[
        ("~/cache/tea/1.0/.claude-plugin/plugin.json", r#"{"name": "tea", "version": "1.0"}"#),
        ("~/cache/cake/skills/bake/SKILL.md", "Bake."),
        ("~/cache/off/x", ""),
        ("~/.claude/settings.json", r#"{"enabledPlugins": {"off@shop": false, "tea@shop": true}}"#),
    ]);
    let at = |path: &str| shelf.path(path).display().to_string();
    let (here, tea, cake, off) = (at(""), at("~/cache/tea/1.0"), at("~/cache/cake"), at("~/cache/off"));
    let list = |text: String| super::put(&shelf.path("~/.claude/plugins/installed_plugins.json"), text);
    list(format!(
        r#"{{"version": 2, "plugins": {{
            "tea@shop": [{{"scope": "user", "installPath": "{tea}", "version": "1.0"}}],
            "cake@shop": [{{"scope": "project", "projectPath": "/elsewhere", "installPath": "{off}"}},
                          {{"scope": "project", "projectPath": "{here}", "installPath": "{cake}"}}],
            "other@shop": [{{"scope": "local", "projectPath": "/elsewhere", "installPath": "{off}"}}],
            "off@shop": [{{"scope": "user", "installPath": "{off}"}}]}}}}"#
    ));
    let (plugins, errors) = found(&shelf, &[]);
    assert_eq!((names(&plugins), errors.len()), (vec!["cake", "tea"], 0), "{errors:?}");
    list(format!(
        r#"{{"version": 1, "plugins": {{"tea@shop": {{"installPath": "{tea}"}}, "gone@shop": {{"installPath": "/none"}}}}}}"#
    ));
    let (plugins, errors) = found(&shelf, &[]);
    assert_eq!(names(&plugins), ["tea"]);
    assert!(errors.len() == 1 && errors[0].contains("plugin skipped"), "{errors:?}");
    super::put(&shelf.path(".claude/settings.json"), r#"{"enabledPlugins": {"tea@shop": false}}"#);
    assert!(found(&shelf, &[]).0.is_empty(), "a project may switch one off");
    super::put(&shelf.path("~/cache/tea/1.0/hooks/hooks.json"), r#"{"hooks": {"Stop": []}}"#);
    super::put(&shelf.path("~/cache/tea/1.0/skills/pour/SKILL.md"), "Pour.");
    let guards = found(&shelf, &[]).0.pop().unwrap();
    assert!(!guards.hooks.is_empty() && guards.skills.is_empty(), "but not the user's guards: {guards:?}");
    list("{ no json".to_owned());
    let (plugins, errors) = found(&shelf, &["~/cache/tea/1.0"]);
    assert_eq!(names(&plugins), ["tea"], "one that is given is used");
    assert!(errors[0].starts_with("not read: "), "{errors:?}");
}

#[test]
fn parts_bear_the_name_of_the_plugin_and_lie_in_its_folder() {
    let manifest = r#"{"name": "tea", "skills": ["./more", "./one", "./skills/pour", "../outside", "/etc"],
            "commands": "./extra/brew.md", "agents": ["./agents/waiter.md"], "hooks": {"hooks": {"SessionEnd": []}},
            "mcpServers": ["./extra/more.json", "../outside.json"]}"#;
    let shelf = Shelf::with(&[
        ("~/tea/.claude-plugin/plugin.json", manifest),
        (
            "~/tea/skills/pour/SKILL.md",
            "---\nallowed-tools: [\"Bash(${CLAUDE_PLUGIN_ROOT}/pour.sh:*)\"]\n---\n\
             Run ${CLAUDE_PLUGIN_ROOT}/pour.sh in ${CLAUDE_SKILL_DIR}",
        ),
        ("~/tea/more/sip/SKILL.md", "Sip."),
        ("~/tea/one/SKILL.md", "One."),
        ("~/tea/two/SKILL.md", "Not named."),
        ("~/tea/commands/sub/serve.md", "Serve."),
        ("~/tea/extra/brew.md", "Brew."),
        ("~/tea/extra/other.md", "Not named."),
        ("~/tea/agents/waiter.md", "---\nname: waiter\ndescription: Waits\n---\nYou wait."),
        (
            "~/tea/hooks/hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"command": "${CLAUDE_PLUGIN_ROOT}/stop.sh"}]}]}}"#,
        ),
        ("~/tea/.mcp.json", r#"{"pot": {"command": "${CLAUDE_PLUGIN_ROOT}/pot"}}"#),
        ("~/tea/extra/more.json", r#"{"mcpServers": {"cup": {"command": "cup"}}}"#),
        ("~/outside.json", r#"{"mcpServers": {"far": {"command": "far"}}}"#),
        ("~/outside/x/SKILL.md", "Outside."),
        ("~/.claude/skills/pour/SKILL.md", "Mine."),
    ]);
    let (plugins, errors) = found(&shelf, &["~/tea"]);
    assert!(errors.is_empty(), "{errors:?}");
    let (home, project) = (shelf.path("~/"), shelf.path(""));
    let roots = Roots {
        home: Some(&home),
        claude: None,
        kode: None,
        cwd: &project,
        project: Some(&project),
        owner: Owner::new(nix::unistd::geteuid().as_raw(), None),
    };
    let library = SkillLibrary::new(SkillDirs::new(&roots).with_plugins(&plugins), ItemTrust::default());
    library.reload();
    let all = library.catalog().all();
    let names: Vec<&str> = all.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["pour", "tea:pour", "tea:sip", "tea:one", "tea:sub:serve", "tea:brew"]);
    assert!(library.catalog().listing().iter().all(|listed| listed.shadowed_by.is_none()), "each once");
    let pour = library.catalog().get("tea:pour").unwrap();
    assert_eq!(pour.load("", "").allowed_tools, [format!("Bash({}/pour.sh:*)", shelf.path("~/tea").display())]);
    assert_eq!(pour.origin, SkillOrigin::Plugin("tea".to_owned()));
    let tea = shelf.path("~/tea").display().to_string();
    assert_eq!(text(&pour.load("", "")), format!("Run {tea}/pour.sh in {tea}/skills/pour"));
    let said = |parts: &[(PathBuf, serde_json::Value)]| -> Vec<String> {
        let file = |path: &PathBuf| path.strip_prefix(shelf.path("~/tea")).unwrap().display().to_string();
        parts.iter().map(|(path, value)| format!("{}: {value}", file(path))).collect()
    };
    assert_eq!(
        said(&plugins[0].hooks),
        [
            format!(r#"hooks/hooks.json: {{"Stop":[{{"hooks":[{{"command":"{tea}/stop.sh"}}]}}]}}"#),
            r#".claude-plugin/plugin.json: {"SessionEnd":[]}"#.to_owned()
        ]
    );
    assert_eq!(
        said(&plugins[0].servers),
        [
            format!(r#".mcp.json: {{"pot":{{"command":"{tea}/pot"}}}}"#),
            r#"extra/more.json: {"cup":{"command":"cup"}}"#.to_owned()
        ]
    );
    let agents = Library::new(AgentDirs::new(&roots), Vec::new(), KnownNames::default()).with_plugins(&plugins);
    agents.reload();
    assert_eq!(agents.catalog().listing().iter().filter(|listed| listed.name() == "tea:waiter").count(), 1);
    let waiter = agents.catalog().get("tea:waiter").unwrap();
    assert_eq!((waiter.name.as_str(), waiter.prompt.as_str()), ("tea:waiter", "You wait."));
    assert!(agents.reload().is_empty() && Arc::strong_count(&waiter) > 0, "nothing has changed");
}
