//! Files with a fault in them: what can be read holds, and what may have been a limit is reported as lost.

use std::os::unix::fs::symlink;

use belvedere::config::{Environment, ProjectRoot, SettingSources, SettingsFile, settings_files};
use belvedere::message::Diagnostic;
use belvedere::permission::PermissionMode;

use super::Place;

const RULE: &str = "Bash(git push:*)";

impl Place {
    /// Returns what the settings files of a start in this folder of the shop say, and what is wrong with any file.
    pub(super) fn settings_in(&self, folder: &str) -> (Vec<SettingsFile>, Vec<Diagnostic>) {
        let environment: Environment = self.environment.clone().into_iter().collect();
        let root = self.home.path().join("shop");
        let cwd = root.join(folder);
        let ground = ProjectRoot { root, is_project: true, foreign: Vec::new() };
        let none = (None, SettingSources::default());
        let (files, unread) = settings_files(&self.home.path().join("etc"), &environment, (&ground, &cwd), none);
        let faults = files.iter().flat_map(|file| file.errors.clone()).collect::<Vec<_>>();
        (files, unread.into_iter().chain(faults).collect())
    }

    /// Returns what holds and what is lost: whether the rule is in force, and whether a guard is reported as lost.
    fn guarded(&self) -> (bool, bool) {
        let (files, faults) = self.settings_in("");
        let loaded = self.load();
        let holds = loaded.config.disallowed_tools.iter().chain(files.iter().flat_map(|file| &file.deny));
        let holds = holds.into_iter().any(|rule| rule == RULE);
        let lost = faults.iter().chain(&loaded.diagnostics).any(|known| known.loses_guard);
        (holds, lost)
    }
}

/// Forms of `config.toml` with the rule in it, and whether it holds. Each of them loses something.
const TOML: [(&str, bool); 36] = [
    ("disallowed_tools = [\"Bash(git push:*)\"]\n[limits\nmax_turns = 5\n", true),
    ("[limits\nmax_turns = 5\ndisallowed_tools = [\"Bash(git push:*)\"]\n", false),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nmodel = \n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nmodel = 'a\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\n\u{0}\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\n[ui]\nascii = true\n[ui]\nmouse = false\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nmodel = 'a'\nmodel = 'b'\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\n<<<<<<< HEAD\nmodel = 'a'\n=======\n>>>>>>> other\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nmodel: a\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\n// a remark\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\n{\"model\": \"a\"}\n", true),
    ("disallowed_tools = [\n  \"Bash(git push:*)\",\n  \"Read(secret.env)\"\n", false),
    ("disallowed_tools = [\"Bash(git push:*)\" \"Read(x)\"]\n", false),
    ("disallowed_tools = [\"Bash(git push:*)\"\n", false),
    ("disallowed_tools = \"Bash(git push:*)\n", false),
    ("disallowed_tools = [\"Bash(git push:*)\", 5]\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\", [\"Read(x)\"]]\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\", \"Read(x\"]\n", true),
    ("disallowed_tools = [\"\", \"Bash(git push:*)\"]\n", true),
    ("disallowed_tools = [\"rm -rf /\", \"Bash(git push:*)\"]\n", true),
    ("disallowed_tools = { rule = \"Bash(git push:*)\" }\n", false),
    ("disallowed_tools = true\n", false),
    ("[disallowed_tools]\nrules = [\"Bash(git push:*)\"]\n", false),
    ("disalowed_tools = [\"Bash(git push:*)\"]\n", false),
    ("disallowedTools = [\"Bash(git push:*)\"]\n", false),
    ("deny = [\"Bash(git push:*)\"]\n", false),
    ("[permissions]\ndeny = [\"Bash(git push:*)\"]\nblocked = true\n[sandbox]\ndeny_read = ['/x']\n", false),
    ("disallowed_tools = [\"Bash(git push:*)\"]\npermission_mode = \"plam\"\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\npermission_mode = 5\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nlimits.budget_tokens = \"100kk\"\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nlimits.budget_usd = [5]\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nlimits.max_turns = \"5\"\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nlimits.max_dept = 1\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\n[limit]\nmax_turns = 5\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nask_tools = [7]\n", true),
    ("disallowed_tools = [\"Bash(git push:*)\"]\nsandbox.hide = [\"secrets\"]\n", true),
];

#[test]
fn of_a_broken_configuration_what_can_be_read_holds_and_no_limit_is_lost_in_silence() {
    for (text, holds) in TOML {
        assert_eq!(Place::new().user(text).guarded(), (holds, true), "{text}");
        // A project hides nothing of the user's, whatever it names.
        let is_lost = !text.contains("sandbox.hide");
        assert_eq!(Place::new().project(text).guarded(), (holds, is_lost), "a project's: {text}");
    }
    for fine in ["", "model = 5\n", "modle = 'x'\n", "ui.theme = true\n", "effort = 'hihg'\n", "[keys]\nx = 1\n"] {
        let text = format!("disallowed_tools = [\"Bash(git push:*)\"]\n{fine}");
        assert_eq!(Place::new().user(&text).guarded(), (true, false), "nothing that limits: {text}");
    }
    let one = Place::new().user("disallowed_tools = \"Bash(git push:*), Read(x)\"");
    assert_eq!(
        (one.guarded(), one.load().config.disallowed_tools.len()),
        ((true, false), 2),
        "a text is read as a list"
    );
}

/// Forms of `settings.json` with the rule in it, and whether it holds. Each of them loses something.
const JSON: [(&str, bool); 42] = [
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},}"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)",]}}"#, false),
    ("{\"permissions\":{\"deny\":[\"Bash(git push:*)\"]} // mine\n}", false),
    ("/* mine */ {\"permissions\":{\"deny\":[\"Bash(git push:*)\"]}}", false),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]}"#, false),
    (r#"{"permissions":{"deny":["Bash(git pu"#, false),
    ("{", false),
    ("{'permissions':{'deny':['Bash(git push:*)']}}", false),
    (r#"{permissions:{deny:["Bash(git push:*)"]}}"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]}} {}"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]}}}"#, false),
    ("<<<<<<< HEAD\n{\"permissions\":{\"deny\":[\"Bash(git push:*)\"]}}\n=======\n{}\n>>>>>>> other", false),
    ("{\"permissions\":{\"deny\":[\"Bash(git push:*)\"]}}\u{0}\u{0}", false),
    ("\u{0}\u{0}\u{0}", false),
    ("[]", false),
    ("null", false),
    ("\"\"", false),
    (r#"[{"permissions":{"deny":["Bash(git push:*)"]}}]"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"permissions":{}}"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)"],"deny":[]}}"#, false),
    (r#"{"permissions":[]}"#, false),
    (r#"{"permissions":["Bash(git push:*)"]}"#, false),
    (r#"{"permissions":"deny"}"#, false),
    (r#"{"permissions":{"deny":{"Bash":"git push"}}}"#, false),
    (r#"{"permissions":{"deny":true}}"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)",5]}}"#, true),
    (r#"{"permissions":{"deny":[{"tool":"Bash"},"Bash(git push:*)"]}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"],"ask":{}}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"],"defaultMode":7}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"],"defaultMode":"plam"}}"#, true),
    (r#"{"permissions":{"dney":["Bash(git push:*)"]}}"#, false),
    (r#"{"permissions":{"Deny":["Bash(git push:*)"]}}"#, false),
    (r#"{"permissions":{"denied":["Bash(git push:*)"]}}"#, false),
    (r#"{"permisions":{"deny":["Bash(git push:*)"]}}"#, false),
    (r#"{"deny":["Bash(git push:*)"]}"#, false),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"hooks":[]}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"hooks":{"PreToolUse":{}}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"hooks":{"PreToolUse":[{"matcher":"Bash"}]}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"hooks":{"PreToolUse":[{"hooks":[{"type":"command"}]}]}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"disabledMcpjsonServers":{"a":1}}"#, true),
    (r#"{"permissions":{"deny":["Bash(git push:*)"]},"enabledMcpjsonServers":[5]}"#, true),
];

#[test]
fn of_broken_settings_what_can_be_read_holds_and_no_guard_is_lost_in_silence() {
    for (text, holds) in JSON {
        for path in [
            ".claude/settings.json",
            "shop/.claude/settings.json",
            "shop/.claude/settings.local.json",
            "etc/managed-settings.json",
            "etc/managed-settings.d/1.json",
        ] {
            assert_eq!(Place::new().file(path, text).guarded(), (holds, true), "{path}: {text}");
        }
    }
    let rest = [
        "\"theme\":5",
        "\"env\":{\"A\":[]}",
        "\"model\":[]",
        "\"modle\":\"x\"",
        "\"hooks\":{\"Notification\":{}}",
        "\"hooks\":null",
    ];
    for fine in rest {
        let text = format!(r#"{{"permissions":{{"deny":["Bash(git push:*)"],"allow":"Bash(ls)"}},{fine}}}"#);
        assert_eq!(Place::new().file(".claude/settings.json", &text).guarded(), (true, false), "{text}");
    }
    let one = Place::new().file(".claude/settings.json", r#"{"permissions":{"deny":"Bash(git push:*)"}}"#);
    assert_eq!(one.guarded(), (true, false), "a text is a list of one");
}

#[test]
fn what_lies_in_the_place_of_a_file_is_no_file_that_says_nothing() {
    type Put = fn(&std::path::Path);
    let paths = [".claude/settings.json", ".config/belvedere/config.toml", "shop/.belvedere/config.toml"];
    let put: [(&str, Put); 5] = [
        ("a folder", |path| std::fs::create_dir_all(path).unwrap()),
        ("a link to nothing", |path| symlink("/nowhere/at/all", path).unwrap()),
        ("a link to itself", |path| symlink(path, path).unwrap()),
        ("UTF-16", |path| std::fs::write(path, b"\xff\xfe{\0}\0").unwrap()),
        ("too much", |path| std::fs::write(path, vec![b' '; (1 << 20) + 1]).unwrap()),
    ];
    for path in paths {
        for (what, put) in put {
            let place = Place::new();
            let full = place.home.path().join(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            put(&full);
            assert_eq!(place.guarded(), (false, true), "{path}: {what}");
        }
        let place = Place::new();
        let folder = place.home.path().join(path);
        let folder = folder.parent().unwrap();
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        symlink("/nowhere/at/all", folder).unwrap();
        assert_eq!(place.guarded(), (false, true), "{path}: its folder is a link to nothing");
        assert_eq!(Place::new().file(path, " \n").guarded(), (false, false), "{path}: it says nothing");
    }
    assert_eq!(Place::new().guarded(), (false, false), "nothing is there");
}

#[test]
fn a_fault_is_named_with_its_line_and_column() {
    let of = |text: &str| {
        let faults = Place::new().file(".claude/settings.json", text).settings_in("").1;
        faults.iter().map(|known| (known.line, known.column, known.message.clone())).collect::<Vec<_>>()
    };
    let [(line, column, words)] = &of("{\n  \"permissions\": {\"deny\": [\"X\"]},\n}")[..] else { panic!() };
    assert_eq!((line, column), (&Some(3), &Some(1)));
    assert_eq!(words, "trailing comma. None of its rules, hooks and other settings hold.");
    let [(line, column, words)] = &of("{\n  \"permissions\": {\n    \"deny\": 5}}")[..] else { panic!() };
    assert_eq!(
        (line, column, words.as_str()),
        (&Some(3), &Some(5), "`permissions.deny` is a number, no list: none of it holds.")
    );
}

#[test]
fn variables_of_the_environment_lose_no_limit_in_silence() {
    for (name, value, is_lost) in [
        ("BELVEDERE_PERMISSION_MODE", "plam", true),
        ("BELVEDERE_LIMITS_BUDGET_TOKENS", "100kk", true),
        ("BELVEDERE_LIMITS_MAX_TURNS", "5x", true),
        ("BELVEDERE_UI_LAYOUT", "nope", false),
    ] {
        assert_eq!(Place::new().variable(name, value).guarded(), (false, is_lost), "{name}={value}");
    }
    let place = Place::new().variable("BELVEDERE_DISALLOWED_TOOLS", "Bash(git push:*),Read(x");
    assert_eq!(place.guarded(), (true, true));
}

#[test]
fn settings_are_found_from_the_folder_one_starts_in_up_to_the_root() {
    let deny = |rule: &str| format!(r#"{{"permissions":{{"deny":["{rule}"],"defaultMode":"plan"}}}}"#);
    let place = Place::new()
        .file(".claude/settings.json", &deny("Bash(user)"))
        .file("shop/.claude/settings.json", &deny("Bash(root)"))
        .file("shop/pkg/.claude/settings.local.json", &deny("Bash(middle)"))
        .file("shop/pkg/app/.claude/settings.json", &deny("Bash(app)"))
        .file("shop/pkg/other/.claude/settings.json", &deny("Bash(other)"))
        .file("shop/pkg/.belvedere/config.toml", "disallowed_tools = ['Bash(git push:*)']\nmodel = 'a/b'\n");
    std::fs::create_dir_all(place.home.path().join("shop/pkg/app/src")).unwrap();
    let rules = |folder: &str| {
        let (files, faults) = place.settings_in(folder);
        assert!(faults.is_empty(), "{faults:?}");
        files.into_iter().flat_map(|file| file.deny).collect::<Vec<_>>()
    };
    assert_eq!(rules("pkg/app/src"), ["Bash(app)", "Bash(middle)", "Bash(root)", "Bash(user)"]);
    assert_eq!(rules("pkg"), ["Bash(middle)", "Bash(root)", "Bash(user)"]);
    assert_eq!(rules(""), ["Bash(root)", "Bash(user)"]);
    let (files, _) = place.settings_in("pkg/app");
    assert!(files[0].folder().ends_with("shop/pkg/app"), "{:?}", files[0].folder());
    assert_eq!(place.load().config.permission_mode, PermissionMode::Plan);
    let (shop, pkg) = (place.home.path().join("shop"), place.home.path().join("shop/pkg"));
    let loaded = belvedere::config::load((None, &[&pkg, &shop]), &Environment::default(), &[], &place.flags);
    assert_eq!((loaded.config.disallowed_tools, loaded.config.model), (vec![RULE.to_owned()], None));
}

#[test]
fn of_a_malformed_file_the_lines_before_the_fault_hold() {
    let place = Place::new().user("model = 'a/b'\n[limits\nmax_turns = 5").project("[ui]\nascii = true");
    let loaded = place.load();
    assert_eq!(loaded.config.model.as_deref(), Some("a/b"), "what stands before holds");
    assert!(loaded.config.ui.ascii, "the other file still counts");
    let [error] = loaded.diagnostics.as_slice() else { panic!("{:#?}", loaded.diagnostics) };
    assert_eq!((error.line, error.column), (Some(2), Some(8)));
    assert!(
        error.message.ends_with("Nothing from line 2 on holds, whatever it limits.") && error.loses_guard,
        "{error}"
    );
}
