//! Themes: readable, complete, and within what the terminal can show.
#![allow(clippy::disallowed_types, reason = "colours are what is tested")]

use belvedere::tui::view::theme::{ColorDepth, Glyphs, Theme};
use ratatui::style::{Color, Modifier, Style};

fn luminance(color: Color) -> f64 {
    let Color::Rgb(r, g, b) = color else { panic!("{color:?} has no value of its own") };
    let linear = [r, g, b].map(|channel| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(style: Style, background: Color) -> f64 {
    let (a, b) = (luminance(style.fg.unwrap()), luminance(style.bg.unwrap_or(background)));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn every_text_stands_out_from_its_ground() {
    for (name, least) in [("dark", 4.5), ("light", 4.5), ("high-contrast", 7.0)] {
        let theme = Theme::load(name, ColorDepth::TrueColor).unwrap();
        for style in Theme::STYLES.iter().filter(|style| !style.starts_with("border")) {
            let found = contrast(theme.style(style).unwrap(), theme.background());
            assert!(found >= least, "{style} of {name} has a contrast of {found:.2}");
        }
        for kind in ["explore", "plan", "code", "reviewer", "architect", "test-writer", "docs-writer", "x", "y"] {
            for color in [None, Some("red"), Some("navy"), Some("#112233"), Some("ivory"), Some("junk")] {
                let found = contrast(theme.agent(color, kind), theme.background());
                assert!(found >= 4.5, "agent {kind} in {color:?} of {name} has a contrast of {found:.2}");
            }
        }
    }
}

#[test]
fn without_colours_only_modifiers_are_left() {
    for name in Theme::names() {
        let theme = Theme::load(name, ColorDepth::None).unwrap();
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
    for name in Theme::names() {
        for (depth, allowed) in [
            (ColorDepth::Ansi256, (|color| !matches!(color, Color::Rgb(..))) as fn(Color) -> bool),
            (ColorDepth::Ansi16, |color| !matches!(color, Color::Rgb(..) | Color::Indexed(_))),
        ] {
            let theme = Theme::load(name, depth).unwrap();
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

#[test]
fn a_broken_theme_says_what_is_wrong() {
    let error = |toml: &str| format!("{:#}", Theme::parse(toml, ColorDepth::TrueColor).unwrap_err());
    assert!(error("txt = \"red\"").contains("\"txt\""));
    assert!(error("text = \"reddish\"").contains("reddish"));
    assert!(format!("{:#}", Theme::load("nope", ColorDepth::None).unwrap_err()).contains("dark"));
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
