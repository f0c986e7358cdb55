//! Contrast as it is on the screen: every cell of many screens, in every theme that knows its ground.
#![allow(clippy::disallowed_types, reason = "colours are what is tested")]

use belvedere::tui::view::theme::{ColorDepth, Theme};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::gallery::Player;
use crate::text::theme::{GROUNDED, MARKS, contrast};

/// Returns what is hard to read.
fn faint(buffer: &Buffer, background: Color, least: f64) -> Vec<String> {
    let ground = |color: Color| if color == Color::Reset { background } else { color };
    let is_faint = |cell: &&Cell| {
        // Without a colour it is the terminal's own on its own ground.
        if cell.symbol().trim().is_empty() || cell.modifier.contains(Modifier::REVERSED) || cell.fg == Color::Reset {
            return false;
        }
        let is_mark = cell.symbol().chars().all(|c| matches!(c, '\u{2500}'..='\u{259f}'));
        contrast(cell.fg, ground(cell.bg)) < if is_mark { MARKS } else { least }
    };
    let mut found: Vec<String> = buffer
        .content
        .iter()
        .filter(is_faint)
        .map(|cell| format!("{:?} {:?} on {:?}", cell.symbol(), cell.fg, ground(cell.bg)))
        .collect();
    found.sort();
    found.dedup();
    found
}

async fn is_readable(what: &str, screen: impl AsyncFn() -> Player) {
    let mut player = screen().await;
    for (name, least) in GROUNDED {
        let theme = Theme::load(name, ColorDepth::TrueColor).unwrap();
        let background = theme.background();
        let buffer = player.draw_in(theme, 0);
        let found = faint(&buffer, background, least);
        assert!(found.is_empty(), "{what} in {name}: {found:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn agents_and_a_chosen_one() {
    is_readable("agents", async || Player::demo(144, 42).await.until(5_200).await.keys("<alt+2>")).await;
    is_readable("a rail", async || Player::demo(60, 20).await.until(5_200).await.keys("<alt+3>")).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_and_its_diff() {
    is_readable("a question", async || Player::demo(100, 32).await.until(9_500).await.keys("<f6>")).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_alone_with_a_search() {
    is_readable("a search", async || Player::demo(100, 32).await.until(7_000).await.keys("<alt+1><alt+1>/auth<enter>"))
        .await;
}

#[tokio::test(start_paused = true)]
async fn lists_and_help() {
    for keys in ["<ctrl+p>", "/theme<enter>", "/agents<enter>", "/", "<f1>", "<ctrl+r>", "<ctrl+c>", "<ctrl+x>"] {
        is_readable(keys, async || Player::demo(100, 32).await.until(5_200).await.keys(keys)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_and_the_beginning() {
    is_readable("the end", async || {
        let player = Player::demo(150, 40).await.until(9_500).await.keys("<alt+y>").until(11_900).await;
        player.keys("<alt+y>").until(60_000).await
    })
    .await;
    is_readable("the first screen", async || Player::welcome(100, 24).await).await;
}
