//! Choices: tried, made, handed on to be remembered, and found again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::layout::{LayoutForm, LayoutMode};
use belvedere::app::{Arrangement, Effect, Event, UserChoice};
use belvedere::config::Ui;
use belvedere::message::ExportFormat;
use belvedere::tui::remembered::{Persister, Recalled, RememberedChoices};

use crate::screens::scenes;
use crate::screens::stage::Stage;

fn set(name: &str) -> Effect {
    Effect::SetTheme(name.to_owned())
}

fn keep(name: &str) -> Effect {
    Effect::Remember(UserChoice::Theme(name.to_owned()))
}

fn placed(mode: LayoutMode, split: Option<u16>) -> Effect {
    Effect::Remember(UserChoice::Arrangement(Arrangement { mode, split }))
}

#[test]
fn a_theme_is_seen_while_it_is_chosen_and_kept_once_it_is() {
    let mut stage = scenes::ended(120, 40);
    let before = stage.draw().0;
    stage.keys("/theme<enter>");
    let text = stage.text();
    assert!(text.contains("high-contrast") && text.contains("light             for light terminals"), "{text}");
    assert_eq!(stage.keys("<down>"), [set("light")]);
    assert_ne!(stage.draw().0[(1, 0)].style(), before[(1, 0)].style(), "it is drawn at once");
    assert_eq!(stage.keys("<down>"), [set("high-contrast")]);
    assert_eq!(stage.keys("<up><enter>"), [set("light"), keep("light")]);
    assert_eq!(stage.app.theme(), "light");
    let effects = stage.keys("/theme dark<enter>");
    assert!(effects.contains(&set("dark")) && effects.contains(&keep("dark")), "{effects:?}");
    assert_eq!(stage.draw().0[(1, 0)].style(), before[(1, 0)].style());
    stage.keys("/theme blue<enter>");
    assert!(stage.text().contains("usage: /theme auto, dark, light"), "{}", stage.text());
}

#[test]
fn a_theme_that_was_only_tried_goes_however_the_list_is_left() {
    for leave in ["<esc>", "<ctrl+c>", "<alt+1>", "<f1>"] {
        let mut stage = scenes::ended(120, 40);
        stage.keys("/theme<enter>");
        assert_eq!(stage.keys("<down>"), [set("light")]);
        let effects = stage.keys(leave);
        assert_eq!(effects, [set("dark")], "{leave}");
    }
    let mut stage = scenes::ended(120, 40);
    stage.keys("/theme<enter><down>");
    let press = Mouse { kind: MouseKind::Press, column: 1, row: 1 };
    assert_eq!(stage.event(Event::Input(Input::Mouse(press))), [set("dark")], "a click beside it");
}

#[test]
fn a_layout_is_handed_on_when_it_is_chosen_and_a_border_when_it_is_let_go() {
    let mut stage = scenes::eight_agents(140, 40);
    assert_eq!(stage.keys("<ctrl+l><ctrl+l><enter>"), [placed(LayoutMode::Side, None)]);
    let divider = stage.app.regions().divider;
    let mut mouse = |kind, column| stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row: 5 })));
    assert_eq!(mouse(MouseKind::Press, divider.x), []);
    for column in 60..100 {
        assert_eq!(mouse(MouseKind::Drag, column), [], "a drag is not a choice yet");
    }
    assert_eq!(mouse(MouseKind::Release, 99), [placed(LayoutMode::Side, Some(29))]);
    let effects = stage.keys("/layout auto<enter>");
    assert!(effects.contains(&placed(LayoutMode::Auto, None)), "the way back from a dragged border: {effects:?}");
}

#[test]
fn the_screen_opens_as_it_was_left() {
    let mut stage = Stage::with_setup(140, 40, |setup| {
        setup.arrangement = Arrangement { mode: LayoutMode::Side, split: Some(30) };
    });
    stage.asks("go");
    stage.spawns(1, "explore", "Find things");
    stage.text();
    let regions = stage.app.regions();
    assert_eq!((regions.form, regions.divider.x), (LayoutForm::Side, 97));
}

/// A state directory, and what the configuration says.
struct Kept {
    state: tempfile::TempDir,
    configured: Ui,
}

impl Kept {
    fn new() -> Self {
        Self { state: tempfile::tempdir().unwrap(), configured: Ui::default() }
    }

    fn memory(&self, project: &str) -> RememberedChoices {
        RememberedChoices::new(self.state.path(), project.as_ref(), self.configured.clone())
    }

    /// What is found again, without a notice.
    fn recall(&self, project: &str) -> Recalled {
        let mut notices = Vec::new();
        let recalled = self.memory(project).recall(&mut notices);
        assert_eq!(notices, Vec::<String>::new());
        recalled
    }
}

#[test]
fn a_theme_is_found_again_everywhere_and_a_layout_in_its_project() {
    let kept = Kept::new();
    assert_eq!(kept.recall("/src/shop"), Recalled::default());
    let arrangement = Arrangement { mode: LayoutMode::Below, split: Some(33) };
    kept.memory("/src/shop").write(&UserChoice::Theme("light".to_owned())).unwrap();
    kept.memory("/src/shop").write(&UserChoice::Arrangement(arrangement)).unwrap();
    let theme = Some("light".to_owned());
    assert_eq!(kept.recall("/src/shop"), Recalled { theme: theme.clone(), arrangement: Some(arrangement) });
    assert_eq!(kept.recall("/elsewhere/shop"), Recalled { theme, arrangement: None });
}

#[test]
fn a_choice_holds_until_the_configuration_says_something_else() {
    let mut kept = Kept::new();
    kept.memory("/src/shop").write(&UserChoice::Theme("light".to_owned())).unwrap();
    kept.memory("/src/shop")
        .write(&UserChoice::Arrangement(Arrangement { mode: LayoutMode::Rail, split: None }))
        .unwrap();
    kept.configured.theme = "high-contrast".to_owned();
    let recalled = kept.recall("/src/shop");
    assert_eq!((recalled.theme, recalled.arrangement.map(|found| found.mode)), (None, Some(LayoutMode::Rail)));
    kept.configured.layout = "side".to_owned();
    assert_eq!(kept.recall("/src/shop"), Recalled::default());
    kept.memory("/src/shop").write(&UserChoice::Theme("dark".to_owned())).unwrap();
    assert_eq!(kept.recall("/src/shop").theme.as_deref(), Some("dark"), "a later choice comes before it again");
}

#[test]
fn a_file_that_cannot_be_used_is_a_notice() {
    let kept = Kept::new();
    let memory = kept.memory("/src/shop");
    memory.write(&UserChoice::Theme("light".to_owned())).unwrap();
    memory.write(&UserChoice::Arrangement(Arrangement::default())).unwrap();
    let layout = std::fs::read_dir(kept.state.path().join("projects")).unwrap().next().unwrap().unwrap().path();
    for broken in [&b"theme = "[..], b"\xff\xfe", b"layout = 3", b"configured = \"auto\"\nlayout = \"upside\""] {
        std::fs::write(kept.state.path().join("ui.toml"), broken).unwrap();
        std::fs::write(layout.join("ui.toml"), broken).unwrap();
        let mut notices = Vec::new();
        assert_eq!(memory.recall(&mut notices), Recalled::default());
        assert!(
            notices.len() == 2 && notices.iter().all(|text| text.contains("ui.toml: the file is ignored")),
            "{notices:?}"
        );
    }
    memory.write(&UserChoice::Theme("light".to_owned())).unwrap();
    assert_eq!(memory.recall(&mut Vec::new()).theme.as_deref(), Some("light"), "the next choice mends it");
}

#[tokio::test(start_paused = true)]
async fn many_choices_are_written_once_and_the_last_one_also_at_the_end() {
    let (writes, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (counted, seen) = (writes.clone(), last.clone());
    let keeper = Persister::start(move |choice| {
        counted.fetch_add(1, Ordering::SeqCst);
        seen.lock().unwrap().push(choice);
    });
    let split = |percent| UserChoice::Arrangement(Arrangement { mode: LayoutMode::Side, split: Some(percent) });
    for percent in 20..80 {
        keeper.keep(split(percent));
        keeper.keep(UserChoice::Theme("light".to_owned()));
    }
    keeper.finish().await;
    assert_eq!(writes.load(Ordering::SeqCst), 2);
    assert!(last.lock().unwrap().contains(&split(79)));
}

#[test]
fn an_export_has_the_format_and_the_place_that_are_named() {
    let exported = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::Export { format, place } => Some((*format, place.clone())),
            _ => None,
        })
    };
    let mut stage = scenes::ended(120, 40);
    assert_eq!(exported(&stage.keys("/export<enter>")), Some((ExportFormat::Markdown, None)));
    let named = Some("~/talks/a b.md".to_owned());
    assert_eq!(exported(&stage.keys("/export ~/talks/a b.md<enter>")), Some((ExportFormat::Markdown, named.clone())));
    assert_eq!(exported(&stage.keys("/export html ~/talks/a b.md<enter>")), Some((ExportFormat::Html, named)));
    assert!(stage.keys("/usr/bin/env is where?<enter>").iter().any(|effect| matches!(effect, Effect::Command(_))));
}
