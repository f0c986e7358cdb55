//! Settings: the order of the layers, what a project may not do, and files that are broken.

mod broken;
mod git;
mod ground;
mod launchers;
mod restrictions;
mod settings;

use std::fs;
use std::path::Path;

use belvedere::config::{
    Config, Environment, LimitSettings, Loaded, Overrides, Paths, ProjectRoot, SettingSources, load, settings_files,
};
use belvedere::message::{BudgetLimit, Dollars, Effort, Secret};
use belvedere::permission::PermissionMode;
use tempfile::TempDir;

/// A home and a project in it.
struct Place {
    home: TempDir,
    environment: Vec<(String, String)>,
    flags: Overrides,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let environment = vec![("HOME".to_owned(), home.path().to_str().unwrap().to_owned())];
        Self { home, environment, flags: Overrides::default() }
    }

    fn user(self, text: &str) -> Self {
        self.file(".config/belvedere/config.toml", text)
    }

    fn project(self, text: &str) -> Self {
        self.file("shop/.belvedere/config.toml", text)
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn load(&self) -> Loaded {
        let environment: Environment = self.environment.clone().into_iter().collect();
        let shop = self.home.path().join("shop");
        let ground = ProjectRoot { root: shop.clone(), is_project: true, foreign: Vec::new() };
        let (settings, mut faults) = settings_files(
            &self.home.path().join("etc"),
            &environment,
            (&ground, &shop),
            (None, SettingSources::default()),
        );
        let paths = Paths::resolve(&environment).unwrap();
        let mut loaded = load((Some(&paths), &[&shop]), &environment, &settings, &self.flags);
        faults.append(&mut loaded.diagnostics);
        Loaded { diagnostics: faults, ..loaded }
    }

    /// The diagnostics without the changing name of the home.
    fn errors(&self) -> Vec<String> {
        let home = format!("{}/", self.home.path().display());
        self.load().diagnostics.iter().map(|error| error.to_string().replace(&home, "")).collect()
    }

    fn config(&self) -> Config {
        let loaded = self.load();
        assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
        loaded.config
    }
}

#[test]
fn without_files_the_defaults_hold() {
    let config = Place::new().config();
    assert_eq!(config, Config::default());
    assert_eq!(config.permission_mode, PermissionMode::Default);
    assert_eq!((config.limits.max_parallel, config.limits.max_depth, config.limits.report_chars), (8, 1, 8_000));
}

#[test]
fn every_setting_can_be_written() {
    let config = Place::new()
        .user(
            r#"
            model = "anthropic/claude-sonnet-4-5"
            permission_mode = "acceptEdits"
            effort = "xhigh"
            allowed_tools = ["Bash(cargo test:*)", "WebFetch"]
            [limits]
            max_parallel = 4
            max_per_request = 10
            max_depth = 2
            max_turns = 30
            max_tool_calls = 0x40
            max_tool_calls_ceiling = 128
            idle_timeout_secs = 60
            wall_timeout_secs = 1_200
            report_chars = 4000
            result_chars = 20000
            thinking_tokens = 0
            min_task_chars = 10
            auto_compact_percent = 70
            budget_tokens = "1.5M"
            keep_days = 7
            keep_mb = 0
            budget_usd = 2.5
            [ui]
            theme = "dark"
            layout = "below"
            mouse = false
            ascii = true
            reduced_motion = true
            [keys.composer]
            newline = ["ctrl+j", "alt+enter"]
            "#,
        )
        .config();
    assert_eq!(config.model.as_deref(), Some("anthropic/claude-sonnet-4-5"));
    assert_eq!((config.permission_mode, config.effort), (PermissionMode::AcceptEdits, Some(Effort::XHigh)));
    assert_eq!(config.allowed_tools, ["Bash(cargo test:*)", "WebFetch"]);
    let limits = LimitSettings {
        keep_days: Some(7),
        keep_mb: None,
        max_parallel: 4,
        max_per_request: 10,
        max_depth: 2,
        max_turns: 30,
        max_tool_calls: 64,
        max_tool_calls_ceiling: Some(128),
        idle_timeout_secs: 60,
        wall_timeout_secs: Some(1_200),
        report_chars: 4_000,
        result_chars: 20_000,
        thinking_tokens: Some(0),
        min_task_chars: 10,
        auto_compact_percent: 70,
        budget: BudgetLimit { tokens: Some(1_500_000), usd: Some(Dollars::from(2.5)) },
    };
    assert_eq!(config.limits, limits);
    assert_eq!((config.ui.theme.as_str(), config.ui.layout.as_str()), ("dark", "below"));
    assert_eq!((config.ui.mouse, config.ui.ascii, config.ui.reduced_motion), (false, true, true));
    assert_eq!(config.keys["composer"]["newline"], ["ctrl+j", "alt+enter"]);
}

#[test]
fn later_layers_win() {
    let mut place = Place::new().user("model = 'a/user'\n[limits]\nmax_turns = 40\nmax_parallel = 6");
    assert_eq!(place.config().model.as_deref(), Some("a/user"));
    place = place.project("[limits]\nmax_turns = 30\n[ui]\ntheme = 'light'");
    assert_eq!((place.config().limits.max_turns, place.config().ui.theme.as_str()), (30, "light"));
    place = place.variable("BELVEDERE_MODEL", "b/env").variable("BELVEDERE_LIMITS_MAX_TURNS", "20");
    place = place.variable("BELVEDERE_UI_ASCII", "1").variable("BELVEDERE_UI_THEME", "");
    let config = place.config();
    assert_eq!((config.model.as_deref(), config.limits.max_turns, config.ui.ascii), (Some("b/env"), 20, true));
    assert_eq!(config.ui.theme, "light", "an empty variable counts as unset");
    place.flags = Overrides {
        fallback_model: None,
        model: Some("c/flag".into()),
        permission_mode: Some(PermissionMode::BypassPermissions),
        max_turns: Some(10),
        budget: BudgetLimit { tokens: Some(1_000), usd: None },
    };
    let config = place.config();
    assert_eq!((config.model.as_deref(), config.limits.max_turns), (Some("c/flag"), 10));
    assert_eq!(config.permission_mode, PermissionMode::BypassPermissions);
    assert_eq!(config.limits.max_parallel, 6);
}

#[test]
fn a_budget_is_written_in_many_ways_and_a_project_can_only_lower_it() {
    let budget = |place: Place| place.config().limits.budget;
    let tokens = |tokens| BudgetLimit { tokens, usd: None };
    assert_eq!(budget(Place::new().user("[limits]\nbudget_tokens = 200_000")), tokens(Some(200_000)));
    assert_eq!(budget(Place::new().user("[limits]\nbudget_tokens = 0\nbudget_usd = 0.0")), tokens(None));
    assert_eq!(budget(Place::new().variable("BELVEDERE_LIMITS_BUDGET_TOKENS", "200k")), tokens(Some(200_000)));
    let usd = budget(Place::new().variable("BELVEDERE_LIMITS_BUDGET_USD", "$3")).usd;
    assert_eq!(usd, Some(Dollars::from(3.0)));
    let lowered = Place::new().user("[limits]\nbudget_tokens = '1M'").project("[limits]\nbudget_tokens = '500k'");
    assert_eq!(budget(lowered), tokens(Some(500_000)));
    let raised = Place::new().user("[limits]\nbudget_tokens = '1M'").project("[limits]\nbudget_tokens = 0");
    assert!(raised.errors()[0].contains("laxer than your own setting"), "{:?}", raised.errors());
    let wrong = Place::new().user("[limits]\nbudget_tokens = 'lots'\nbudget_usd = true\nbudget_euro = 5");
    let errors = wrong.errors();
    assert!(errors[0].contains("write 200000, 200k or 1.5M"), "{errors:?}");
    assert!(errors[1].contains("expects a number, found true or false"), "{errors:?}");
    assert!(errors[2].contains("did you mean `limits.budget_usd`"), "{errors:?}");
}

#[test]
fn a_list_in_the_environment_is_cut_at_commas_outside_parentheses() {
    let config = Place::new().variable("BELVEDERE_ALLOWED_TOOLS", "Bash(echo a, b), WebFetch,").config();
    assert_eq!(config.allowed_tools, ["Bash(echo a, b)", "WebFetch"]);
    let place = Place::new().variable("BELVEDERE_UI_MOUSE", "perhaps").variable("BELVEDERE_LIMITS_MAX_DEPTH", "9");
    assert_eq!(
        place.errors(),
        [
            "BELVEDERE_LIMITS_MAX_DEPTH: `limits.max_depth`: 9 is out of range; it goes from 0 to 5. Ignored.",
            "BELVEDERE_UI_MOUSE: expects true or false, found `perhaps`. Ignored.",
        ]
    );
}

#[test]
fn a_tree_deeper_than_five_levels_is_refused_by_name() {
    let place = Place::new().user("[limits]\nmax_depth = 6\n");
    let errors = place.errors();
    assert!(
        matches!(errors.as_slice(), [error] if error.contains("`limits.max_depth`: 6 is out of range; it goes from 0 to 5")),
        "{errors:?}"
    );
    assert_eq!(Place::new().user("[limits]\nmax_depth = 5\n").config().limits.max_depth, 5);
}

#[test]
fn a_project_cannot_loosen_anything() {
    let hostile = r#"
        model = "evil/collector"
        permission_mode = "bypassPermissions"
        allowed_tools = ["Bash"]
        [limits]
        max_parallel = 9
        max_per_request = 21
        max_depth = 2
        max_turns = 51
        max_tool_calls = 101
        max_tool_calls_ceiling = 101
        idle_timeout_secs = 601
        report_chars = 8001
        result_chars = 50001
        min_task_chars = 29
        [keys.approvals]
        approve-always = "n"
    "#;
    let place = Place::new().project(hostile);
    let Loaded { config, diagnostics } = place.load();
    assert_eq!(config, Config::default());
    assert_eq!(diagnostics.len(), 14, "one for each key: {diagnostics:#?}");
    assert!(diagnostics.iter().all(|error| error.message.contains("a project may not set")));
    assert_eq!(
        place.errors()[1],
        "shop/.belvedere/config.toml:3:9: a project may not set `permission_mode`: it would be laxer than your own \
         setting. Ignored; set it in your own config.toml if you want it."
    );
}

#[test]
fn a_project_can_be_stricter_than_its_user() {
    let config = Place::new()
        .user("permission_mode = 'acceptEdits'")
        .project("permission_mode = 'plan'\n[limits]\nmax_depth = 0\nwall_timeout_secs = 60\nmin_task_chars = 50")
        .config();
    assert_eq!(config.permission_mode, PermissionMode::Plan);
    assert_eq!(
        (config.limits.max_depth, config.limits.wall_timeout_secs, config.limits.min_task_chars),
        (0, Some(60), 50)
    );
    // A limit that the user has cannot be taken away, and a middle mode is measured against the user's.
    let place = Place::new()
        .user("permission_mode = 'plan'\nlimits.wall_timeout_secs = 90")
        .project("permission_mode = 'default'\nlimits.wall_timeout_secs = 0");
    assert_eq!(place.load().config.permission_mode, PermissionMode::Plan);
    assert_eq!(place.load().config.limits.wall_timeout_secs, Some(90));
    assert_eq!(place.errors().len(), 2);
}

#[test]
fn what_cannot_be_understood_is_named_with_its_place_and_the_rest_holds() {
    let place = Place::new().user(
        "modle = 'x'\nzebra = 1\nui = 3\n\n[limit]\nmax_turns = 5\n\n[limits]\nmax_turn = 5\nmax_depth = 'two'\n\
         max_parallel = 0\nreport_chars = 99999999999\nmax_tool_calls = 7\n",
    );
    let file = ".config/belvedere/config.toml";
    assert_eq!(
        place.errors(),
        [
            format!("{file}:1:1: unknown key `modle`; did you mean `model`?"),
            format!("{file}:2:1: unknown key `zebra`"),
            format!("{file}:3:1: `ui` is a table: write `[ui]`"),
            format!("{file}:5:2: unknown key `limit`; did you mean `limits`?"),
            format!("{file}:9:1: unknown key `limits.max_turn`; did you mean `limits.max_turns`?"),
            format!("{file}:10:1: `limits.max_depth`: expects a whole number, found a string"),
            format!("{file}:11:1: `limits.max_parallel`: 0 is out of range; it goes from 1 to 64"),
            format!("{file}:12:1: `limits.report_chars`: 99999999999 is out of range; it goes from 200 to 200000"),
        ]
    );
    assert_eq!(place.load().config.limits, LimitSettings { max_tool_calls: 7, ..LimitSettings::default() });
}

#[test]
fn bad_values_say_what_would_be_good() {
    let place = Place::new().user(
        "permission_mode = 'yolo'\nallowed_tools = ['Bash(']\n[ui]\nlayout = 'left'\nmouse = 1\n[keys]\na = 1\n\
         [keys.composer]\nx = 2",
    );
    let errors = place.errors().join("\n");
    for words in [
        "acceptEdits",
        "`Bash(` is not a rule",
        "one of auto, side",
        "expects true or false, found a whole number",
        "write `[keys.a]`",
        "`x` expects a key as a string, or a list of keys",
    ] {
        assert!(errors.contains(words), "{words}\n{errors}");
    }
    assert_eq!(place.load().config, Config::default());
}

#[test]
fn whatever_lies_at_the_path_the_program_starts() {
    let place = Place::new().user("\u{feff}model = 'a/b'\r\n");
    assert_eq!(place.config().model.as_deref(), Some("a/b"), "a byte order mark and CRLF are no fault");
    let path = place.home.path().join(".config/belvedere/config.toml");
    fs::write(&path, b"model = '\xff'").unwrap();
    assert!(place.errors()[0].contains("not UTF-8"));
    fs::write(&path, " ".repeat((1 << 20) + 1)).unwrap();
    assert!(place.errors()[0].contains("larger than 1 MiB"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(place.errors()[0].contains("not a regular file"));
    #[cfg(unix)]
    {
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(place.errors()[0].contains("not a regular file"));
    }
}

#[test]
#[cfg(unix)]
fn directories_follow_xdg_and_ignore_relative_ones() {
    let paths = |variables: &[(&str, &str)]| Paths::resolve(&variables.iter().copied().collect());
    let home = paths(&[("HOME", "/h"), ("XDG_CACHE_HOME", "relative")]).unwrap();
    assert_eq!(home.config_file(), Path::new("/h/.config/belvedere/config.toml"));
    assert_eq!(home.state_dir, Path::new("/h/.local/state/belvedere"));
    assert_eq!(home.cache_dir, Path::new("/h/.cache/belvedere"));
    let own = [("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s"), ("XDG_CACHE_HOME", "/k")];
    assert_eq!(paths(&own).unwrap().state_dir, Path::new("/s/belvedere"));
    let missing = paths(&own[..1]).unwrap_err().to_string();
    assert!(missing.contains("Set HOME (or XDG_STATE_HOME)"), "{missing}");
}

#[test]
fn the_settings_in_the_documentation_are_the_defaults() {
    let page = crate::docs::text("docs/configuration.md");
    let (_, rest) = page.split_once("All settings, with their defaults:").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (settings, _) = rest.split_once("```").unwrap();
    assert_eq!(Place::new().user(settings).config(), Config::default());
    // What is commented out is valid as well.
    let uncommented = settings.replace("\n# [", "\n[").replace("\n# \"", "\n\"").replacen("# model", "model", 1);
    let config = Place::new().user(&uncommented).config();
    assert!(config.model.is_some() && config.keys.contains_key("composer"));
}

#[test]
fn the_service_in_the_documentation_can_be_added() {
    let page = crate::docs::text("docs/configuration.md");
    let (_, rest) = page.split_once("### A service of your own").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let config = Place::new().user(rest.split("```").next().unwrap()).config();
    assert_eq!(config.transports["cerebras"].headers["x-team"].expose(), "shop");
}

#[test]
fn names_for_models_are_the_users_alone() {
    let aliases = "[aliases]\nPenny = \"openai/gpt-5-mini\"\nbest = \"opus\"\n";
    let config = Place::new().user(aliases).config();
    let named: Vec<(&str, &str)> = config.aliases.iter().map(|(name, model)| (name.as_str(), model.as_str())).collect();
    assert_eq!(named, [("best", "opus"), ("penny", "openai/gpt-5-mini")]);
    let place = Place::new().project(aliases).user("aliases = 1\n");
    assert!(place.load().config.aliases.is_empty());
    assert_eq!(
        place.errors(),
        [
            ".config/belvedere/config.toml:1:1: `aliases` is a table: write `[aliases]`",
            "shop/.belvedere/config.toml:1:2: a project may not set `aliases`: it decides who receives your files. \
             Ignored; set it in your own config.toml if you want it.",
        ]
    );
    let errors = Place::new().user("[aliases]\nx = 1\n").errors();
    assert_eq!(errors, [".config/belvedere/config.toml:2:1: `aliases.x` expects a model as a string"]);
}

#[test]
fn without_a_home_flags_environment_and_the_projects_file_hold() {
    let place = Place::new().project("[limits]\nmax_parallel = 2\n").variable("BELVEDERE_LIMITS_MAX_TURNS", "7");
    let environment: Environment = place.environment.clone().into_iter().collect();
    let flags = Overrides {
        permission_mode: Some(PermissionMode::Plan),
        budget: BudgetLimit { tokens: Some(200), ..BudgetLimit::default() },
        ..Overrides::default()
    };
    let config = load((None, &[&place.home.path().join("shop")]), &environment, &[], &flags).config;
    assert_eq!((config.permission_mode, config.limits.budget.tokens), (PermissionMode::Plan, Some(200)));
    assert_eq!((config.limits.max_parallel, config.limits.max_turns), (2, 7));
}

#[test]
fn a_service_is_added_by_the_user_alone_and_a_broken_one_is_named() {
    let mine = "[providers.mine]\nwire = \"openai\"\nurl = \"https://llm.example/v1\"\nkey_env = \"MINE_KEY\"\n";
    let config = Place::new().user(mine).config();
    let [row] = config.providers.as_slice() else { panic!("{config:?}") };
    assert_eq!((row.name.as_str(), row.url.as_str()), ("mine", "https://llm.example/v1"));
    let place = Place::new().project(mine).user("providers = 1\n");
    assert!(place.load().config.providers.is_empty());
    assert_eq!(
        place.errors(),
        [
            ".config/belvedere/config.toml:1:1: `providers` is a table: write `[providers]`",
            "shop/.belvedere/config.toml:1:2: a project may not set `providers`: it decides who receives your files and \
             keys. Ignored; set it in your own config.toml if you want it.",
        ]
    );
    for (line, column, keys, words) in [
        (2, 1, "base = \"https://h/v1\"", "unknown field `base`, expected one of `display`, `wire`, `url`"),
        (2, 8, "wire = \"grpc\"", "unknown variant `grpc`, expected one of `anthropic`, `openai`, `responses`"),
        (1, 1, "wire = \"openai\"", "missing field `url`"),
        (
            2,
            7,
            "url = \"llm.example\"",
            "`llm.example` is not an address; write http://host:port/v1, without a password",
        ),
        (2, 7, "url = \"https://me:hush@h/v1\"", "`h/v1` is not an address"),
        (2, 11, "key_env = 7", "invalid type: integer `7`, expected a string"),
        (
            1,
            12,
            "key_env = \"sk-12345\"\nwire = \"openai\"\nurl = \"https://h\"",
            "a variable name is made of A-Z, 0-9 and `_`; a key itself is `api_key`",
        ),
        (2, 13, "headers = { Host = \"h\" }", "`Host` cannot be set here: it belongs to the request itself"),
        (2, 21, "headers = { \"X-A\" = 12345 }", "a header's value is a string"),
        (2, 13, "headers = { \"X A\" = \"hush\" }", "`X A` cannot be sent as a header"),
        (2, 27, "headers = { X-A = \"hush\", x-a = \"hush\" }", "the header `x-a` is set twice"),
        (2, 11, "headers = [\"hush\"]", "`headers` expects a table"),
    ] {
        let errors = Place::new().user(&format!("[providers.mine]\n{keys}\n")).errors();
        let [error] = errors.as_slice() else { panic!("{keys}: {errors:?}") };
        let begin = format!(".config/belvedere/config.toml:{line}:{column}: `providers.mine`: ");
        assert!(
            error.starts_with(&begin) && error.contains(words) && !error.contains("hush") && !error.contains("12345"),
            "{keys}: {error}"
        );
        assert!(error.ends_with("The provider is skipped."), "{error}");
    }
    let reserved = Place::new().user(&mine.replace("mine]", "offline]")).errors();
    assert!(reserved[0].contains("`providers.offline`: this name has another meaning"), "{reserved:?}");
    let upper = Place::new().user(&mine.replace("mine]", "Mine]")).errors();
    assert!(upper[0].contains("is made of a-z, 0-9"), "{upper:?}");
}

#[test]
fn a_key_or_a_command_for_it_is_the_users_alone_and_never_shown() {
    use std::os::unix::fs::PermissionsExt as _;
    let keys = "[providers.openai]\napi_key = \" key-12345678 \"\napi_key_command = \"pass show openai\"\n";
    let place = Place::new().user(keys).project(keys);
    let own = place.home.path().join(".config/belvedere/config.toml");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
    let config = place.load().config;
    let settings = &config.service_keys["openai"];
    assert_eq!(settings.command.as_deref(), Some("pass show openai"));
    assert_eq!(settings.key.as_ref().map(Secret::expose), Some("key-12345678"));
    assert!(config.providers.is_empty() && !format!("{config:?}").contains("12345678"), "{config:?}");
    let errors = place.errors();
    assert!(errors.len() == 1 && errors[0].contains("a project may not set `providers`"), "{errors:?}");
    assert!(Place::new().project(keys).load().config.service_keys.is_empty());

    fs::set_permissions(&own, fs::Permissions::from_mode(0o640)).unwrap();
    let warned = &place.errors()[0];
    assert!(warned.contains("config.toml:2:11: others can read this key: run chmod 600 "), "{warned}");
    for (keys, error) in [
        ("api_key = 12345678", "1:36: `providers.openai.api_key` expects a string"),
        ("api_key_command = [\"pass\"]", "1:44: `providers.openai.api_key_command` expects a string"),
        ("api_key_command = \" \"", "1:44: `providers.openai.api_key_command` expects a string"),
    ] {
        let errors = Place::new().user(&format!("providers = {{ openai = {{ {keys} }} }}")).errors();
        let [.., last] = errors.as_slice() else { panic!("{keys}: {errors:?}") };
        assert!(last.ends_with(error), "{keys}: {errors:?}");
        assert!(!last.contains("12345678"), "{last}");
    }
}
