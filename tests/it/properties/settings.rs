//! Files of settings: faults stand where they are, and a stranger's file gives itself nothing.

use std::collections::BTreeMap;
use std::path::Path;

use belvedere::app::key::Key;
use belvedere::app::keymap::{Context, Keymap};
use belvedere::config::{Config, Environment, Overrides, Paths, load};
use belvedere::message::Diagnostic;
use belvedere::tui::view::theme::{ColorDepth, ThemeFile, Themes};
use tempfile::TempDir;

/// Panics unless faults lie inside their text.
fn assert_inside(diagnostics: &[Diagnostic], text: &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for diagnostic in diagnostics {
        let Some(line) = diagnostic.line else { continue };
        let width = lines.get(line - 1).map(|line| line.chars().count());
        let column = diagnostic.column.unwrap_or(1);
        assert!(width.is_some_and(|width| (1..=width + 1).contains(&column)), "{diagnostic} in {text:?}");
    }
}

pub(super) fn keymap(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut keymap = Keymap::builtin();
    if keymap.apply(&text).is_err() {
        assert_eq!(keymap, Keymap::builtin(), "a file that is no TOML changes nothing");
        return;
    }
    for row in keymap.rows() {
        assert!(!row.chord.is_empty());
        let spelled: Vec<String> = row.chord.iter().map(ToString::to_string).collect();
        assert_eq!(Key::parse_chords(&spelled.join(" ")).ok().as_ref(), Some(&row.chord), "{spelled:?} reads back");
        let types = matches!(row.context, Context::Global | Context::Composer);
        assert!(!types || row.chord[0].typed().is_none(), "{spelled:?} is needed for typing");
        let rival = keymap.rows().iter().find(|other| {
            !std::ptr::eq(*other, row) && other.context == row.context && other.chord.starts_with(&row.chord)
        });
        assert_eq!(rival, None, "{row:?} cuts it off");
    }
    let once = keymap.clone();
    keymap.apply(&text).unwrap();
    assert_eq!(keymap.rows().len(), once.rows().len(), "the same file once more adds nothing");
}

pub(super) fn theme(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let file = ThemeFile { path: "own.toml".into(), text: text.clone() };
    let themes = Themes::new(BTreeMap::from([("own".to_owned(), file)]), "dark");
    for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
        let (_, faults) = themes.load("own", depth).unwrap();
        assert!(faults.len() <= 9, "{} faults", faults.len());
        assert_inside(&faults, &text);
    }
}

pub(super) fn config(bytes: &[u8]) {
    let dir = TempDir::new().unwrap();
    let (own, project) = (dir.path().join("own"), dir.path().join("project"));
    let paths = Paths { config_dir: own.clone(), state_dir: own.join("state"), cache_dir: own.join("cache") };
    let (users, projects) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&[][..], bytes),
    };
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(project.join(".belvedere")).unwrap();
    std::fs::write(paths.config_file(), users).unwrap();
    let environment = Environment::from_iter([("HOME", dir.path().to_str().unwrap())]);
    let read = |project: &Path| load((Some(&paths), &[project]), &environment, &[], &Overrides::default());
    let without = read(&own);
    assert_inside(&without.diagnostics, &String::from_utf8_lossy(users));
    std::fs::write(project.join(".belvedere/config.toml"), projects).unwrap();
    let with = read(&project);
    let (of_user, of_project) = with.diagnostics.split_at(without.diagnostics.len());
    assert_eq!(of_user, without.diagnostics);
    assert_inside(of_project, &String::from_utf8_lossy(projects));
    assert_stricter(&with.config, &without.config);
}

/// Panics if the settings with a project's file let more happen than those without.
fn assert_stricter(with: &Config, without: &Config) {
    assert!(with.permission_mode.leeway() <= without.permission_mode.leeway());
    assert_eq!((&with.model, &with.compact_model), (&without.model, &without.compact_model));
    assert_eq!((&with.allowed_tools, &with.tool_environment), (&without.allowed_tools, &without.tool_environment));
    assert_eq!((&with.keys, &with.aliases, &with.providers), (&without.keys, &without.aliases, &without.providers));
    let (inside, outside) = (&with.sandbox, &without.sandbox);
    assert_eq!((&inside.write, &inside.hide, &inside.hosts), (&outside.write, &outside.hide, &outside.hosts));
    assert!(inside.enabled >= outside.enabled && inside.network <= outside.network);
    let (limits, own) = (&with.limits, &without.limits);
    assert!(limits.max_parallel <= own.max_parallel && limits.max_per_request <= own.max_per_request);
    assert!(limits.max_depth <= own.max_depth && limits.max_turns <= own.max_turns);
    assert!(limits.max_tool_calls <= own.max_tool_calls && limits.idle_timeout_secs <= own.idle_timeout_secs);
    assert!(limits.min_task_chars >= own.min_task_chars && limits.result_chars <= own.result_chars);
    assert_eq!((limits.keep_days, limits.keep_mb), (own.keep_days, own.keep_mb));
    let within = |limit: Option<u64>, own: Option<u64>| own.is_none_or(|own| limit.is_some_and(|limit| limit <= own));
    assert!(within(limits.wall_timeout_secs, own.wall_timeout_secs));
    assert!(within(limits.budget.tokens, own.budget.tokens));
}
