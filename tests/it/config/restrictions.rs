//! Every key of Claude Code that restricts, and what becomes of it here.
//!
//! `tests/claude_keys.py` compares the keys that are known with the types of Anthropic's package.

use belvedere::cli::Cli;
use belvedere::config::{HttpHookLists, SettingsTier, server_lists};
use belvedere::definition::{Source, Tier, ToolsField, parse};
use belvedere::message::ServerPlace;

use super::Place;

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It holds.
    Heeded,
    /// Nothing begins without somebody who goes on without it.
    Refused,
    /// It cannot restrict anything here, for this reason.
    Idle(&'static str),
}

use Fate::{Heeded, Idle, Refused};

/// Whose file a key counts in.
const ANY: SettingsTier = SettingsTier::User;
const MANAGED: SettingsTier = SettingsTier::Managed;

const SETTINGS: [(&str, SettingsTier, &str, Fate); 71] = [
    ("permissions.deny", ANY, r#"["Bash"]"#, Heeded),
    ("permissions.ask", ANY, r#"["Bash"]"#, Heeded),
    ("permissions.defaultMode", ANY, r#""plan""#, Heeded),
    ("permissions.disableBypassPermissionsMode", ANY, r#""disable""#, Heeded),
    ("permissions.denyInsteadOfPrompting", ANY, "true", Heeded),
    ("permissions.blockReadsOutsideWorkingDirectories", ANY, "true", Refused),
    ("permissions.blockWritesOutsideWorkingDirectories", ANY, "true", Refused),
    ("permissions.blockReadsExemptPaths", ANY, r#"["/x"]"#, Idle("it only lifts what is refused")),
    ("permissions.workingDirectoriesAsGiven", ANY, r#"["/x"]"#, Idle("links are resolved in any case")),
    ("permissions.workingDirectoriesExclude", ANY, r#"["/x"]"#, Idle("it adds to what is refused")),
    ("permissions.disableAutoMode", ANY, r#""disable""#, Idle("there is no auto mode")),
    ("allowManagedPermissionRulesOnly", MANAGED, "true", Heeded),
    ("hooks", ANY, "{}", Heeded),
    ("allowManagedHooksOnly", MANAGED, "true", Heeded),
    ("allowedHttpHookUrls", ANY, "[]", Heeded),
    ("httpHookAllowedEnvVars", ANY, "[]", Heeded),
    ("disableSkillShellExecution", ANY, "true", Heeded),
    ("skillOverrides", ANY, r#"{"a": "off"}"#, Heeded),
    ("disableBundledSkills", ANY, "true", Idle("there are none")),
    ("enabledMcpjsonServers", ANY, r#"["a"]"#, Heeded),
    ("disabledMcpjsonServers", ANY, r#"["a"]"#, Heeded),
    ("allowedMcpServers", ANY, r#"[{"serverName": "a"}]"#, Heeded),
    ("deniedMcpServers", ANY, r#"[{"serverName": "a"}]"#, Heeded),
    ("allowManagedMcpServersOnly", MANAGED, "true", Heeded),
    ("disableClaudeAiConnectors", ANY, "true", Idle("there are none")),
    ("enabledPlugins", ANY, r#"{"a@b": false}"#, Heeded),
    ("disableSideloadFlags", MANAGED, "true", Heeded),
    ("strictPluginOnlyCustomization", MANAGED, "true", Refused),
    ("strictKnownMarketplaces", MANAGED, "[]", Idle("it says what may be added, and nothing is added here")),
    ("allowedMarketplaces", MANAGED, "[]", Idle("it says what may be added, and nothing is added here")),
    ("blockedMarketplaces", MANAGED, "[]", Idle("it says what may be added, and nothing is added here")),
    ("disableCommandPluginSources", MANAGED, "true", Idle("no plugin is installed here")),
    ("availableModels", ANY, r#"["opus"]"#, Refused),
    ("enforceAvailableModels", ANY, "true", Idle("it adds to what is refused")),
    ("availableModelsMatch", ANY, r#""exact""#, Idle("it adds to what is refused")),
    ("deniedModels", MANAGED, r#"["opus"]"#, Refused),
    ("maxEffortLevel", ANY, r#""low""#, Refused),
    ("modelSettings", ANY, r#"{"opus": {"maxEffortLevel": "low"}}"#, Refused),
    ("allowedProviders", MANAGED, r#"["bedrock"]"#, Refused),
    ("policyHelper", MANAGED, r#"{"path": "/x"}"#, Refused),
    ("forceRemoteSettingsRefresh", MANAGED, "true", Refused),
    ("forceLoginMethod", MANAGED, r#""console""#, Idle("nobody signs in to Claude Code here")),
    ("forceLoginOrgUUID", MANAGED, r#""x""#, Idle("nobody signs in to Claude Code here")),
    ("requiredMinimumVersion", MANAGED, r#""3.0.0""#, Idle("it is about versions of another program")),
    ("requiredMaximumVersion", MANAGED, r#""3.0.0""#, Idle("it is about versions of another program")),
    ("parentSettingsBehavior", MANAGED, r#""merge""#, Idle("no program hands its settings down here")),
    ("managedSourcesBehavior", MANAGED, r#""merge""#, Idle("every file of the organization counts")),
    ("disableAutoMode", ANY, r#""disable""#, Idle("there is no auto mode")),
    ("autoMode", ANY, r#"{"hard_deny": ["x"]}"#, Idle("there is no auto mode")),
    ("allowedChannelPlugins", MANAGED, "[]", Idle("there are no channels")),
    ("crossSessionInbound", ANY, r#""refuse""#, Idle("sessions do not write to each other")),
    ("isolatePeerMachines", ANY, "true", Idle("sessions do not write to each other")),
    ("disableRemoteControl", ANY, "true", Idle("there is none")),
    ("disableWorkflows", ANY, "true", Idle("there are none")),
    ("sandbox.enabled", ANY, "true", Heeded),
    ("sandbox.failIfUnavailable", ANY, "true", Heeded),
    ("sandbox.allowUnsandboxedCommands", ANY, "false", Heeded),
    ("sandbox.autoAllowBashIfSandboxed", ANY, "false", Heeded),
    ("sandbox.filesystem.denyRead", ANY, r#"["~/x"]"#, Heeded),
    ("sandbox.filesystem.denyWrite", ANY, r#"["./x"]"#, Heeded),
    ("sandbox.filesystem.allowWrite", ANY, r#"["/x"]"#, Heeded),
    ("sandbox.filesystem.allowManagedReadPathsOnly", MANAGED, "true", Idle("no path is read again that is hidden")),
    ("sandbox.credentials.files", ANY, r#"[{"path": "~/x", "mode": "mask"}]"#, Heeded),
    ("sandbox.credentials.envVars", ANY, r#"[{"name": "X", "mode": "deny"}]"#, Heeded),
    ("sandbox.network.allowedDomains", ANY, r#"["example.com"]"#, Heeded),
    ("sandbox.network.deniedDomains", ANY, r#"["example.com"]"#, Heeded),
    ("sandbox.network.allowManagedDomainsOnly", MANAGED, "true", Heeded),
    ("sandbox.network.strictAllowlist", ANY, "true", Idle("no host is asked for that is not on the list")),
    ("sandbox.network.httpProxyPort", ANY, "8080", Heeded),
    ("sandbox.network.denySomethingNew", ANY, "true", Refused),
    ("blockSomethingNew", ANY, "true", Refused),
];

/// Returns JSON in which a key with dots has this value.
fn nested(key: &str, value: &str) -> String {
    key.rsplit('.').fold(value.to_owned(), |inner, part| format!("{{\"{part}\": {inner}}}"))
}

#[test]
fn each_key_that_restricts_holds_or_refuses_or_cannot_restrict() {
    for (key, tier, value, fate) in SETTINGS {
        let path = if tier == MANAGED { "etc/managed-settings.json" } else { ".claude/settings.json" };
        let place = Place::new().file(path, &nested(key, value));
        let (files, faults) = place.settings_in("");
        let lost = faults.iter().any(|known| known.loses_guard);
        assert_eq!(lost, fate == Refused, "{key}: {fate:?} {faults:?}");
        if let Idle(why) = fate {
            assert!(!why.is_empty());
        }
        // A value that makes no sense is no way around it.
        if fate == Heeded && !key.starts_with("enabledPlugins") {
            let place = Place::new().file(path, &nested(key, r#"{"odd": [7]}"#));
            let (odd, faults) = place.settings_in("");
            let lost = faults.iter().any(|known| known.loses_guard);
            assert!(lost || odd[0] != files[0], "{key}: {faults:?}");
        }
    }
}

/// Fields of agent files that restrict.
const AGENT_FIELDS: [(&str, &str); 6] = [
    ("tools", "Read"),
    ("disallowedTools", "Write"),
    ("permissionMode", "plan"),
    ("maxTurns", "3"),
    ("mcpServers", "[]"),
    ("isolation", "worktree"),
];

#[test]
fn each_field_of_an_agent_that_restricts_holds() {
    for (field, value) in AGENT_FIELDS {
        let text = format!("---\nname: a\ndescription: x\n{field}: {value}\n---\nYou look.\n");
        let agent = parse(&text, Source { tier: Tier::UserClaude, path: None }).definition.unwrap();
        let holds = match field {
            "tools" => agent.tools == ToolsField::List(vec!["Read".to_owned()]),
            "disallowedTools" => agent.disallowed_tools == ["Write"],
            "permissionMode" => agent.permission_mode.is_some(),
            "maxTurns" => agent.max_turns == Some(3),
            "mcpServers" => agent.mcp_servers == Some(Vec::new()),
            _ => agent.isolation.is_some(),
        };
        assert!(holds, "{field}");
    }
}

/// Flags of Claude Code that restrict, and whether they are known here. An unknown one ends the start.
const FLAGS: [(&[&str], bool); 14] = [
    (&["--disallowedTools", "Bash"], true),
    (&["--disallowed-tools", "Bash"], true),
    (&["--allowedTools", "Bash"], true),
    (&["--tools", "Read"], true),
    (&["--permission-mode", "plan"], true),
    (&["--strict-mcp-config"], true),
    (&["--setting-sources", "user"], true),
    (&["--max-turns", "3"], true),
    (&["--max-budget-usd", "1"], true),
    (&["--max-thinking-tokens", "0"], true),
    (&["--disable-slash-commands"], false),
    (&["--managed-settings", "{}"], false),
    (&["--permission-prompts", "none"], false),
    (&["--block-something-new"], false),
];

#[test]
fn each_flag_that_restricts_is_known_or_ends_the_start() {
    for (flag, is_known) in FLAGS {
        let line = [&["belvedere", "-p", "hello"], flag].concat();
        assert_eq!(Cli::of(line.iter().map(Into::into)).is_ok(), is_known, "{flag:?}");
    }
}

#[test]
fn what_settings_ask_of_the_sandbox_narrows_ours() {
    let user = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "allowUnsandboxedCommands": false,
        "filesystem": {"denyRead": ["~/stuff", "//etc/x", "**/.env"], "denyWrite": ["./file.txt"], "allowWrite": ["~/out"]},
        "credentials": {"files": [{"path": "~/k", "mode": "mask"}], "envVars": [{"name": "TOKEN", "mode": "deny"}]},
        "network": {"allowedDomains": ["a.example", "*.b.example", "not a host"], "deniedDomains": ["x.b.example"]}}}"#;
    let place = Place::new()
        .file(".claude/settings.json", user)
        .user("sandbox.network = true\nsandbox.hosts = ['own.example', 'X.B.example']\n")
        .file(
            "shop/.claude/settings.json",
            r#"{"sandbox": {"filesystem": {"denyWrite": ["b"], "allowWrite": ["/"], "denyRead": ["secrets/**"]},
                "network": {"allowedDomains": ["evil.example"]}, "credentials": {"envVars": ["PLAIN"]}}}"#,
        );
    let config = place.config();
    let home = place.home.path().to_string_lossy().into_owned();
    let text = |paths: &[std::path::PathBuf]| -> Vec<String> {
        let mut texts: Vec<String> = paths.iter().map(|path| path.to_string_lossy().replace(&home, "HOME")).collect();
        texts.sort();
        texts
    };
    let sandbox = &config.sandbox;
    assert_eq!(
        text(&sandbox.hide),
        ["/etc/x", "HOME/**/.env", "HOME/shop/**/.env", "HOME/shop/secrets", "~/k", "~/stuff"]
    );
    assert_eq!(text(&sandbox.deny_write), ["HOME/file.txt", "HOME/shop/b", "HOME/shop/file.txt"]);
    assert_eq!(text(&sandbox.write), ["~/out"], "a project opens nothing");
    assert_eq!(sandbox.hosts, ["own.example", "a.example"]);
    assert!(!sandbox.network && sandbox.enabled);
    assert_eq!(sandbox.hidden_variables.len(), 2);
    assert!(sandbox.limits.is_required && sandbox.limits.is_closed && !sandbox.limits.asks);
    let managed = r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["m.example"]}}}"#;
    assert_eq!(place.file("etc/managed-settings.json", managed).config().sandbox.hosts, ["m.example"]);
    let proxied = r#"{"sandbox": {"network": {"httpProxyPort": 1, "allowedDomains": ["a.example"]}}}"#;
    assert!(Place::new().file(".claude/settings.json", proxied).config().sandbox.hosts.is_empty());
}

#[test]
fn lists_of_servers_allow_and_deny_by_name_command_and_address() {
    let place = Place::new()
        .file(
            ".claude/settings.json",
            r#"{"allowedMcpServers": [{"serverName": "good"}, {"serverName": "web"}, {"serverUrl": "https://*.example.com/*"},
                {"serverCommand": ["npx", "-y", "fine"]}],
                "deniedMcpServers": [{"serverName": "evil"}, {"serverUrl": "https://BAD.example.com*"}]}"#,
        )
        .file(
            "shop/.claude/settings.json",
            r#"{"deniedMcpServers": [{"serverCommand": ["rm"]}], "allowedMcpServers": [{"serverUrl": "*"}, {"serverCommand": ["npx", "-y", "fine"]}]}"#,
        );
    let lists = server_lists(&place.settings_in("").0);
    let fine = ["-y".to_owned(), "fine".to_owned()];
    for (name, server, allowed) in [
        ("good", ServerPlace::Command("npx", &fine), true),
        ("evil", ServerPlace::Command("npx", &fine), false),
        ("E.vil", ServerPlace::Command("npx", &fine), true),
        ("e-vil", ServerPlace::Command("npx", &fine), true),
        ("EVIL", ServerPlace::Command("npx", &fine), false),
        ("good", ServerPlace::Command("npx", &fine[..1]), false),
        ("good", ServerPlace::Command("rm", &[]), false),
        ("web", ServerPlace::Url("https://a.example.com/mcp"), true),
        ("web", ServerPlace::Url("https://bad.example.com/mcp"), false),
        ("web", ServerPlace::Url("https://example.org/mcp"), false),
        ("web", ServerPlace::Url("https://evil.org/.example.com/mcp"), false),
        ("web", ServerPlace::Url("https://evil.org?.example.com/mcp"), false),
        ("web", ServerPlace::Url("https://x.example.com:9/mcp"), false),
        ("good", ServerPlace::Caller, false),
    ] {
        assert_eq!(lists.refusal(name, server).is_none(), allowed, "{name} {server:?}");
    }
    let none = Place::new().file(".claude/settings.json", r#"{"allowedMcpServers": []}"#);
    let lists = server_lists(&none.settings_in("").0);
    assert_eq!(lists.refusal("good", ServerPlace::Caller), Some("allowedMcpServers"));
    assert_eq!(server_lists(&[]).refusal("good", ServerPlace::Caller), None);
}

#[test]
fn lists_of_addresses_allow_what_each_of_them_names() {
    let place = Place::new().file(
        ".claude/settings.json",
        r#"{"allowedHttpHookUrls": ["https://hooks.example.com/*", "https://*.corp.example/in/*", "http://localhost:*",
            "HTTPS://Exact.example", "example.net/*", 7], "httpHookAllowedEnvVars": ["TOKEN", "OTHER"]}"#,
    );
    let lists = HttpHookLists::of(&place.settings_in("").0);
    for (url, allowed) in [
        ("https://hooks.example.com/judge?x=1", true),
        ("https://HOOKS.example.com/judge", true),
        ("https://hooks.example.com:443/judge", true),
        ("https://hooks.example.com:8443/judge", false),
        ("http://hooks.example.com/judge", false),
        ("https://hooks.example.com.evil.org/judge", false),
        ("https://hooks.example.com@evil.org/judge", false),
        ("https://evil.org/https://hooks.example.com/judge", false),
        ("https://a.corp.example/in/x", true),
        ("https://a.corp.example/out", false),
        ("https://evil.org/.corp.example/in/x", false),
        ("https://evil.org#.corp.example/in/x", false),
        ("http://localhost:8080/hook", true),
        ("http://localhost/hook", true),
        ("http://localhost.evil.org:8080/hook", false),
        ("https://exact.example/", true),
        ("https://exact.example/more", false),
        ("https://example.net/x", false),
    ] {
        assert_eq!(lists.allow_url(&url.parse().unwrap()), allowed, "{url}");
    }
    assert!(lists.allow_variable("TOKEN") && !lists.allow_variable("HOME"));
    // A project's list narrows, and opens nothing.
    let both = place.file(
        "shop/.claude/settings.json",
        r#"{"allowedHttpHookUrls": ["http://localhost:*", "https://evil.org/*"], "httpHookAllowedEnvVars": ["HOME", "TOKEN"]}"#,
    );
    let lists = HttpHookLists::of(&both.settings_in("").0);
    let allows = |url: &str| lists.allow_url(&url.parse().unwrap());
    assert!(allows("http://localhost:1/") && !allows("https://evil.org/x") && !allows("https://hooks.example.com/x"));
    assert!(lists.allow_variable("TOKEN") && !lists.allow_variable("HOME") && !lists.allow_variable("OTHER"));
    let none = HttpHookLists::of(&[]);
    assert!(none.allow_url(&"http://any.example/".parse().unwrap()) && none.allow_variable("ANY"));
    for broken in [r#""https://x/""#, "{}", "true", "[]", r#"[""]"#] {
        let text = format!(r#"{{"allowedHttpHookUrls": {broken}, "httpHookAllowedEnvVars": {broken}}}"#);
        let lists = HttpHookLists::of(&Place::new().file(".claude/settings.json", &text).settings_in("").0);
        assert!(!lists.allow_url(&"https://x/".parse().unwrap()) && !lists.allow_variable("X"), "{broken}");
    }
}
