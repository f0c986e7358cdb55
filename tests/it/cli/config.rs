//! `belvedere config`: what is in force, and changing one setting.

use std::os::unix::fs::PermissionsExt as _;

use belvedere::config::{Config, config_schema, setting_names, setting_value};
use serde_json::Value;

use super::Bench;

const OWN: &str = ".config/belvedere/config.toml";

#[test]
fn a_setting_is_changed_and_all_else_stays() {
    let bench = Bench::new();
    let before = "# mine\nmodel = \"offline\" # for now\n\n[limits]\n# few\nmax_turns = 5    # not many\n\n[aliases]\nx = \"openai/y\"\n";
    let file = bench.file(OWN, before);
    for (name, value) in [
        ("limits.max_turns", "30"),
        ("model", "anthropic/sonnet"),
        ("ui.mouse", "off"),
        ("sandbox.hosts", "crates.io,*.example.com"),
        ("aliases.cheap", "openai/mini"),
        ("limits.budget_usd", "2.50"),
    ] {
        let ran = bench.run("shop", &["config", "set", name, value]);
        assert_eq!((ran.status, ran.out.starts_with(&format!("Set {name} in "))), (0, true), "{ran:?}");
    }
    let after = std::fs::read_to_string(file).unwrap();
    assert_eq!(
        after,
        "# mine\nmodel = \"anthropic/sonnet\" # for now\n\n[limits]\n# few\nmax_turns = 30    # not many\nbudget_usd = 2.50\n\n\
         [aliases]\nx = \"openai/y\"\ncheap = \"openai/mini\"\n\n[ui]\nmouse = false\n\n[sandbox]\nhosts = [\"crates.io\", \
         \"*.example.com\"]\n"
    );
    let got = |name: &str| bench.run("shop", &["config", "get", name]).out;
    assert_eq!((got("limits.max_turns").as_str(), got("ui.mouse").as_str()), ("30\n", "false\n"));
    assert_eq!(got("sandbox.hosts"), "[\"crates.io\",\"*.example.com\"]\n");
    let all = bench.run("shop", &["config", "get"]).out;
    assert!(all.contains("limits.max_turns = 30  # config.toml\n") && all.contains("limits.max_depth = 1\n"), "{all}");
}

#[test]
fn what_cannot_be_is_refused_and_the_file_stays() {
    let bench = Bench::new();
    let file = bench.file(OWN, "model = \"offline\"\n");
    for (setting, words) in [
        (["limits.max_turns", "many"], "`limits.max_turns`: expects a whole number, found `many`"),
        (["limits.max_turns", "0"], "0 is out of range; it goes from 1 to 10000"),
        (["ui.layout", "sideways"], "unknown layout `sideways`"),
        (["limits.max_turn", "5"], "unknown key `limits.max_turn`; did you mean `limits.max_turns`?"),
        (["reports", "never"], "unknown word `never`; one of send, ask"),
        (["providers.x.url", "no address"], "`providers.x`"),
        (["providers.anthropic.api_key", "sk-canary"], "others can read command lines"),
        (["providers.anthropic", "{api_key = \"sk-canary\"}"], "others can read command lines"),
        (["model.name", "x"], "`model` is no table"),
    ] {
        let ran = bench.run("shop", &[&["config", "set"], &setting[..]].concat());
        assert_eq!((ran.status, ran.err.contains(words)), (2, true), "{setting:?}: {ran:?}");
    }
    let ran = bench.run("shop", &["config", "set", "--project", "model", "x"]);
    assert!(ran.status == 2 && ran.err.contains("a project may not set `model`"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "model = \"offline\"\n");
    let ran = bench.run("shop", &["config", "get", "limits.max_turn"]);
    assert!(ran.status == 2 && ran.err.contains("did you mean `limits.max_turns`?"), "{ran:?}");
    std::fs::write(&file, "model = \n").unwrap();
    let ran = bench.run("shop", &["config", "set", "model", "offline"]);
    assert!(ran.status == 2 && ran.err.contains("Mend it first"), "{ran:?}");
}

#[test]
fn a_new_file_is_the_users_alone_and_no_secret_goes_where_others_read() {
    let bench = Bench::new();
    assert_eq!(bench.run("shop", &["config", "set", "ui.ascii", "true"]).status, 0);
    let file = bench.path(OWN);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let header =
        ["config", "set", "mcp_servers.more", "{url = \"https://example.com\", headers = {X-Key = \"canary\"}}"];
    let entry = ["config", "set", "mcp_servers.docs.url", "https://example.com"];
    assert_eq!(bench.run("shop", &entry).status, 0);
    let secret = ["config", "set", "mcp_servers.docs.headers.X-Key", "canary"];
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in [&secret[..], &header[..]] {
        let ran = bench.run("shop", command);
        assert_eq!(ran.status, 2, "{command:?}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains("canary"));
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(bench.run("shop", &secret).status, 0);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(bench.run("shop", &["config", "set", "--project", "limits.max_turns", "3"]).status, 0);
    assert!(bench.path("shop/.belvedere/config.toml").exists());
    let paths = bench.run("shop", &["config", "path"]).out;
    assert!(paths.contains("config.toml  (yours)") && paths.contains("(the project's)"), "{paths}");
}

#[test]
fn the_schema_has_each_setting_and_each_default_fits() {
    let schema = config_schema();
    let defaults = Config::default();
    for name in setting_names() {
        let of = name.split('.').fold(&schema, |schema, key| &schema["properties"][key]);
        assert!(of.is_object(), "{name}");
        let value = setting_value(&defaults, name).unwrap_or_else(|| panic!("{name} has no value"));
        let Some(default) = of.get("default") else {
            assert_eq!(value, Value::Null, "{name}");
            continue;
        };
        let fits = match of["type"].as_str() {
            Some("integer") => {
                let number = default.as_u64().unwrap();
                number >= of["minimum"].as_u64().unwrap() && number <= of["maximum"].as_u64().unwrap()
            }
            Some("boolean") => default.is_boolean(),
            Some("array") => default.is_array(),
            Some("string") => default.is_string(),
            _ => of["enum"].as_array().map_or(default.is_number(), |words| words.contains(default)),
        };
        assert!(fits, "{name}: {of}");
    }
    let bench = Bench::new();
    assert_eq!(bench.run("shop", &["config", "schema"]).json(), schema);
}

#[test]
fn the_editor_gets_the_file_and_what_is_wrong_is_said() {
    let mut bench = Bench::new();
    let editor = bench.file("editor.sh", "printf 'modle = 1\\n' >\"$1\"\n");
    bench.env.push(("EDITOR", format!("sh {}", editor.display()).into()));
    let ran = bench.run("shop", &["config", "edit"]);
    assert!(ran.status == 1 && ran.err.contains("unknown key `modle`; did you mean `model`?"), "{ran:?}");
}

#[test]
fn a_theme_that_is_not_there_is_refused() {
    let bench = Bench::new();
    let ran = bench.run("shop", &["config", "set", "ui.theme", "nope"]);
    assert!(ran.status == 2 && ran.err.contains("no theme `nope`; one of auto, "), "{ran:?}");
    assert!(!bench.path(".config/belvedere/config.toml").exists());
    assert_eq!(bench.run("shop", &["config", "set", "ui.theme", "auto"]).status, 0);
}
