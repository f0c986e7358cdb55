//! Themes: readable, complete, and within what the terminal can show.
#![allow(clippy::disallowed_types, reason = "colours are what is tested")]

use belvedere::tui::view::theme::{ColorDepth, Glyphs, Theme, ThemeFile, Themes};
use ratatui::style::{Color, Modifier, Style};

fn load(name: &str, depth: ColorDepth) -> Theme {
    Themes::default().load(name, depth).unwrap().0
}

/// The themes that know their ground, with the least contrast of their texts: WCAG AA, and AAA.
pub(crate) const GROUNDED: [(&str, f64); 3] = [("dark", 4.5), ("light", 4.5), ("high-contrast", 7.0)];
/// The least contrast of what is no text, such as borders.
pub(crate) const MARKS: f64 = 3.0;

/// The values of xterm's 256 colours from 16 on.
fn rgb(color: Color) -> [u8; 3] {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match color {
        Color::Rgb(r, g, b) => [r, g, b],
        Color::Indexed(index @ 16..=231) => [36, 6, 1].map(|divisor| STEPS[usize::from((index - 16) / divisor % 6)]),
        Color::Indexed(index @ 232..) => [8 + (index - 232) * 10; 3],
        color => panic!("{color:?} has no value of its own"),
    }
}

fn luminance(color: Color) -> f64 {
    let linear = rgb(color).map(|channel| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

/// Contrast as WCAG 2 defines it.
pub(crate) fn contrast(a: Color, b: Color) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Every style on every ground it can stand on: its own, else the theme's and that of a chosen row.
fn pairs(theme: &Theme) -> Vec<(String, Color, Color)> {
    let row = theme.selected_row;
    let kinds = ["explore", "plan", "code", "reviewer", "architect", "test-writer", "docs-writer", "x", "y"];
    let colors = [None, Some("red"), Some("navy"), Some("#112233"), Some("ivory"), Some("#808080"), Some("junk")];
    let agents = kinds
        .iter()
        .flat_map(|kind| colors.map(|color| (format!("the agent {kind} in {color:?}"), theme.agent(color, kind))));
    let named = Theme::STYLES.iter().map(|name| ((*name).to_owned(), theme.style(name).unwrap()));
    let mut pairs = Vec::new();
    for (name, style) in named.chain(agents) {
        let Some(fg) = style.fg else { continue };
        pairs.push((name.clone(), fg, style.bg.unwrap_or(theme.background())));
        let moves = style.bg.is_none() && row.fg.is_none() && !name.starts_with("border");
        pairs.extend(row.bg.filter(|_| moves).map(|bg| (format!("{name} on a chosen row"), fg, bg)));
    }
    pairs
}

#[test]
fn every_text_stands_out_from_every_ground_it_can_stand_on() {
    for (name, least) in GROUNDED {
        for depth in [ColorDepth::TrueColor, ColorDepth::Ansi256] {
            let theme = Theme::load(name, depth).unwrap();
            for (text, fg, bg) in pairs(&theme) {
                let least = if text.starts_with("border") { MARKS } else { least };
                let found = contrast(fg, bg);
                assert!(found >= least, "{name} at {depth:?}: {text} has a contrast of {found:.2}");
            }
        }
    }
}

#[test]
fn a_theme_with_a_ground_dims_nothing() {
    // How much a terminal dims is its own affair, so that nothing could be said about the contrast.
    for (name, _) in GROUNDED {
        let theme = Theme::load(name, ColorDepth::TrueColor).unwrap();
        for style in Theme::STYLES {
            assert!(!theme.style(style).unwrap().add_modifier.contains(Modifier::DIM), "{style} of {name}");
        }
    }
}

#[test]
fn terminal_16_names_the_terminals_own_colours_only() {
    let theme = Theme::load("terminal-16", ColorDepth::TrueColor).unwrap();
    let own = |color: Option<Color>| !matches!(color, Some(Color::Rgb(..) | Color::Indexed(_)));
    for style in Theme::STYLES {
        let found = theme.style(style).unwrap();
        assert!(own(found.fg) && own(found.bg), "{style}: {found:?}");
    }
    for kind in ["explore", "plan", "code", "reviewer", "a", "b", "c", "d"] {
        assert!(own(theme.agent(None, kind).fg));
        assert!(own(theme.agent(Some("#123456"), kind).fg), "also where an agent file says otherwise");
    }
}

#[test]
fn without_colours_only_modifiers_are_left() {
    for name in Themes::default().names() {
        let theme = load(&name, ColorDepth::None);
        for style in Theme::STYLES {
            let style = theme.style(style).unwrap();
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_eq!(theme.agent(Some("red"), "x").fg, None);
        assert!(theme.selection.add_modifier.contains(Modifier::REVERSED));
    }
}

#[test]
fn a_depth_shows_only_its_own_colours() {
    for name in Themes::default().names() {
        for (depth, allowed) in [
            (ColorDepth::Ansi256, (|color| !matches!(color, Color::Rgb(..))) as fn(Color) -> bool),
            (ColorDepth::Ansi16, |color| !matches!(color, Color::Rgb(..) | Color::Indexed(_))),
        ] {
            let theme = load(&name, depth);
            let styles = Theme::STYLES.iter().map(|style| theme.style(style).unwrap());
            for style in styles.chain([theme.agent(Some("#123456"), "a"), theme.agent(None, "b")]) {
                assert!(style.fg.is_none_or(allowed) && style.bg.is_none_or(allowed), "{name} at {depth:?}: {style:?}");
            }
        }
    }
}

#[test]
fn an_agent_type_keeps_its_colour() {
    let theme = Theme::load("dark", ColorDepth::TrueColor).unwrap();
    assert_eq!(theme.agent(None, "explore"), theme.agent(None, "explore"));
    assert_eq!(theme.agent(Some("junk"), "explore"), theme.agent(None, "explore"));
    assert_ne!(theme.agent(Some("red"), "explore"), theme.agent(Some("blue"), "explore"));
}

/// Returns the theme of a user's file, and what is wrong with the file.
fn mine(toml: &str) -> (Theme, Vec<String>) {
    let file = ThemeFile { path: "mine.toml".into(), text: toml.to_owned() };
    let themes = Themes::new([("mine".to_owned(), file)].into(), "dark");
    let (theme, errors) = themes.load("mine", ColorDepth::TrueColor).unwrap();
    (theme, errors.iter().map(ToString::to_string).collect())
}

#[test]
fn a_theme_of_the_users_changes_what_it_names_and_takes_the_rest_from_its_base() {
    let light = Theme::load("light", ColorDepth::TrueColor).unwrap();
    let (theme, errors) = mine("base = \"light\"\ntext = \"#101010 bold\"\nagents = [\"#800000\"]\n");
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(theme.text, Style::new().fg(Color::Rgb(16, 16, 16)).add_modifier(Modifier::BOLD));
    assert_eq!((theme.muted, theme.background()), (light.muted, light.background()));
    assert_eq!(theme.agent(None, "explore").fg, Some(Color::Rgb(0x80, 0, 0)));
    assert_eq!(mine("").0.text, Theme::load("dark", ColorDepth::TrueColor).unwrap().text);
}

#[test]
fn faults_of_a_theme_are_told_with_their_line_and_cost_only_their_own_key() {
    let dark = Theme::load("dark", ColorDepth::TrueColor).unwrap();
    let (theme, errors) = mine("txt = \"red\"\ntext = \"reddish\"\nmuted = 3\naccent = \"#ff0000\"\ncontrast = 99\n");
    assert_eq!((theme.text, theme.muted), (dark.text, dark.muted));
    assert_eq!(theme.accent.fg, Some(Color::Rgb(255, 0, 0)));
    let starts: Vec<&str> = errors.iter().map(|error| error.split(' ').next().unwrap()).collect();
    assert_eq!(starts, ["mine.toml:1:1:", "mine.toml:2:1:", "mine.toml:3:1:", "mine.toml:5:1:"], "{errors:#?}");
    assert!(errors[0].contains("`txt`") && errors[1].contains("reddish"), "{errors:#?}");
    for (text, hint) in [("base = \"drak\"", "high-contrast"), ("text = ", "dark is used"), ("agents = [1]", "list")] {
        let (theme, errors) = mine(text);
        assert_eq!((theme.text, errors.len()), (dark.text, 1), "{errors:#?}");
        assert!(errors[0].contains(hint), "{errors:#?}");
    }
    let nonsense: String = (0..3_000).map(|number| format!("nonsense_{number} = 1\n")).collect();
    assert_eq!(mine(&nonsense).1.len(), 9, "a long list of faults is cut");
}

#[test]
fn the_users_theme_comes_before_one_of_the_program_with_the_same_name() {
    let file = ThemeFile { path: "dark.toml".into(), text: "text = \"#abcdef\"".to_owned() };
    let themes = Themes::new([("dark".to_owned(), file)].into(), "dark");
    assert_eq!(themes.names(), ["auto", "dark", "light", "high-contrast", "terminal-16"]);
    let (theme, _) = themes.load("auto", ColorDepth::TrueColor).unwrap();
    assert_eq!(theme.text.fg, Some(Color::Rgb(0xab, 0xcd, 0xef)));
    assert!(themes.load("nope", ColorDepth::TrueColor).is_none());
}

#[test]
fn the_environment_chooses_depth_and_signs() {
    let depth = |set: &[(&str, &str)]| {
        ColorDepth::detect(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(depth(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]), ColorDepth::None);
    assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), ColorDepth::TrueColor);
    assert_eq!(depth(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]), ColorDepth::Ansi256);
    assert_eq!(depth(&[("TERM", "dumb")]), ColorDepth::None);
    let glyphs = |lang: &str| Glyphs::detect(|name| (name == "LANG").then(|| lang.to_owned()));
    assert_eq!(glyphs("en_US.UTF-8"), Glyphs::UNICODE);
    assert_eq!(glyphs("ja_JP.UTF-8"), Glyphs::ASCII);
    assert_eq!(glyphs("C"), Glyphs::ASCII);
}

#[test]
fn sixteen_colours_are_readable_where_blue_is_dark() {
    let theme = Theme::load("terminal-16", ColorDepth::Ansi16).unwrap();
    for name in Theme::STYLES {
        let style = theme.style(name).unwrap();
        assert_ne!(style.fg, Some(Color::Blue), "{name}");
        let is_coloured = style.fg.is_some_and(|color| color != Color::Reset);
        assert!(!is_coloured || !style.add_modifier.contains(Modifier::DIM), "{name} is dim and has a color");
    }
    for kind in ["explore", "plan", "code", "review", "search", "docs-writer", "tester", "debug", "architect"] {
        assert_ne!(theme.agent(None, kind).fg, Some(Color::Blue), "{kind}");
    }
}

#[test]
fn headings_have_weight_and_are_no_links() {
    for name in ["dark", "light", "high-contrast", "terminal-16"] {
        let heading = Theme::load(name, ColorDepth::TrueColor).unwrap().heading;
        assert!(heading.add_modifier.contains(Modifier::BOLD) && !heading.add_modifier.contains(Modifier::UNDERLINED));
    }
}
