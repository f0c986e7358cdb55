//! What settings files of Claude Code say about the mode and the rules.

use belvedere::config::{Environment, ProjectRoot, SettingSources, set_allow_rule, settings_files};
use belvedere::permission::PermissionMode;

use super::Place;

#[test]
fn the_mode_of_settings_counts_below_ones_own_and_a_projects_only_makes_it_stricter() {
    let mode = |name: &str| format!("{{\"permissions\": {{\"defaultMode\": \"{name}\"}}}}");
    let at_home = |name: &str| Place::new().file(".claude/settings.json", &mode(name));
    let of = |place: Place| place.config().permission_mode;
    assert_eq!(of(at_home("acceptEdits")), PermissionMode::AcceptEdits);
    assert_eq!(of(at_home("plan").user("permission_mode = 'acceptEdits'")), PermissionMode::AcceptEdits);
    let projects = |place: Place, name: &str| place.file("shop/.claude/settings.json", &mode(name));
    assert_eq!(of(projects(at_home("acceptEdits"), "plan")), PermissionMode::Plan);
    assert_eq!(of(projects(at_home("plan"), "acceptEdits")), PermissionMode::Plan);
    for (name, words) in [
        ("auto", "`defaultMode` `auto` works as `default` here"),
        ("dontAsk", "`defaultMode` `dontAsk` works as `default` here"),
        ("bypassPermissions", "is not taken over. Start with --permission-mode bypassPermissions"),
        ("yolo", "unknown permission mode `yolo`"),
    ] {
        let loaded = at_home(name).load();
        assert_eq!(loaded.config.permission_mode, PermissionMode::Default, "{name}");
        assert!(loaded.diagnostics[0].to_string().contains(words), "{:?}", loaded.diagnostics);
    }
}

#[test]
fn an_organization_can_forbid_the_mode_that_allows_everything_and_all_other_rules() {
    let managed = r#"{"permissions": {"disableBypassPermissionsMode": "disable", "deny": ["WebFetch"]},
        "allowManagedPermissionRulesOnly": true}"#;
    let place = Place::new()
        .file("etc/managed-settings.json", managed)
        .file("etc/managed-settings.d/10.json", r#"{"permissions": {"ask": ["Bash(curl:*)"]}}"#)
        .file(".claude/settings.json", r#"{"permissions": {"allow": ["Bash"]}}"#)
        .user("permission_mode = 'bypassPermissions'");
    let loaded = place.load();
    assert_eq!((loaded.config.permission_mode, loaded.config.forbids_bypass), (PermissionMode::Default, true));
    assert!(loaded.diagnostics[0].to_string().contains("is switched off here"), "{:?}", loaded.diagnostics);
    let environment: Environment = place.environment.clone().into_iter().collect();
    let ground = ProjectRoot { root: place.home.path().join("shop"), is_project: true, foreign: Vec::new() };
    let (settings, _) = settings_files(
        &place.home.path().join("etc"),
        &environment,
        (&ground, &ground.root),
        (None, SettingSources::default()),
    );
    let rules: Vec<_> = settings.iter().flat_map(|file| file.allow.iter().chain(&file.ask).chain(&file.deny)).collect();
    assert_eq!(rules, ["WebFetch", "Bash(curl:*)"]);
}

#[test]
fn a_rule_is_put_into_settings_and_all_else_in_them_stays() {
    let place =
        Place::new().file("shop/.claude/settings.local.json", r#"{"z": 1, "permissions": {"deny": ["X"]}, "a": [2]}"#);
    let root = place.home.path().canonicalize().unwrap().join("shop");
    let path = root.join(".claude/settings.local.json");
    let text = || std::fs::read_to_string(&path).unwrap().split_whitespace().collect::<String>();
    for _ in 0..2 {
        set_allow_rule(&root, &path, "Bash(make)", true).unwrap();
    }
    assert_eq!(text(), r#"{"z":1,"permissions":{"deny":["X"],"allow":["Bash(make)"]},"a":[2]}"#);
    set_allow_rule(&root, &path, "Bash(make)", false).unwrap();
    assert_eq!(text(), r#"{"z":1,"permissions":{"deny":["X"],"allow":[]},"a":[2]}"#);
    for odd in ["[]", "{\"permissions\": 1}", "{\"permissions\": {\"allow\": {}}}", "not JSON"] {
        std::fs::write(&path, odd).unwrap();
        assert!(set_allow_rule(&root, &path, "Bash(make)", true).is_err(), "{odd}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), odd);
    }
    std::fs::remove_dir_all(root.join(".claude")).unwrap();
    std::os::unix::fs::symlink(place.home.path(), root.join(".claude")).unwrap();
    assert!(set_allow_rule(&root, &path, "Bash(make)", true).is_err(), "it leads out of the project");
}
