//! The pictures of the documentation: the demonstration at good moments, as SVG and PNG.
//!
//! A committed SVG has to be what the screen looks like today. `BELVEDERE_UPDATE_SCREENSHOTS=1` writes them anew.

use std::path::{Path, PathBuf};

use belvedere::app::agent_files::FileNews;
use belvedere::tui::view::theme::{ColorDepth, Theme};

use super::gallery::Player;
use super::stage::as_text;
use super::svg::{to_png, to_svg};
use super::{agent_files, scenes};
use crate::docs::rewrites;

/// Most bytes of a PNG.
const MAX_PNG: usize = 300 * 1024;

/// Terminals that people have.
const SIZES: [(u16, u16); 4] = [(200, 60), (120, 40), (100, 30), (80, 24)];

/// Draws the player's screen in a theme, with its blocks of highlighted code, and compares it with the committed
/// picture of this name.
fn check(name: &str, player: Player, theme: &str, code: usize) {
    let theme = Theme::load(theme, ColorDepth::TrueColor).unwrap();
    let ground = theme.background();
    compare(name, &to_svg(&player.picture(theme, code), ground));
}

/// Compares a picture with the committed one of this name.
fn compare(name: &str, svg: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots").join(name);
    if rewrites() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let png = to_png(svg);
        assert!(png.len() <= MAX_PNG, "{name}.png has {} bytes; show less", png.len());
        std::fs::write(path.with_extension("png"), png).unwrap();
        std::fs::write(path.with_extension("svg"), svg).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(path.with_extension("svg")).unwrap_or_default();
    let differs = svg.lines().zip(committed.lines()).position(|(new, old)| new != old);
    assert!(
        svg == committed,
        "screenshots/{name}.svg differs from the screen at line {}; see whether that is meant, then run the tests with \
         BELVEDERE_UPDATE_SCREENSHOTS=1",
        differs.map_or(0, |line| line + 1)
    );
}

#[tokio::test(start_paused = true)]
async fn side_by_side() {
    let player = Player::demo(140, 41).await.until(9_500).await.keys("keep the cookie readable for 30 days");
    check("side-by-side", player.until(10_000).await, "dark", 0);
}

#[tokio::test(start_paused = true)]
async fn below() {
    check("below", Player::demo(100, 36).await.until(5_200).await, "dark", 0);
}

#[tokio::test(start_paused = true)]
async fn rail() {
    check("rail", Player::demo(60, 20).await.until(5_200).await, "dark", 0);
}

#[tokio::test(start_paused = true)]
async fn full() {
    let player = Player::demo(100, 32).await.until(9_500).await.keys("<alt+y>").until(11_200).await;
    let player = player.keys("<alt+y>").until(15_600).await.keys("<alt+4><enter>");
    check("full", player, "dark", 0);
}

#[test]
fn timeline() {
    // Not of the demonstration: how long its limited request waits is partly chance, and here it would show.
    let (buffer, _) = scenes::timeline_with(120, 16, "security").draw();
    compare("timeline", &to_svg(&buffer, Theme::load("dark", ColorDepth::TrueColor).unwrap().background()));
}

#[tokio::test(start_paused = true)]
async fn approval() {
    let player = Player::demo(100, 32).await.until(9_500).await.keys("<f6>");
    check("approval", player, "dark", 0);
}

#[tokio::test(start_paused = true)]
async fn welcome() {
    let player = Player::welcome(100, 24).await.keys("where is the session created?");
    check("welcome", player, "dark", 0);
}

#[tokio::test(start_paused = true)]
async fn agents() {
    let listing = agent_files::listing(agent_files::everything());
    let player = Player::welcome(110, 32).await.told(FileNews::Places(agent_files::places()));
    let player = player.told(FileNews::Listed(listing)).keys("/agents<enter>Gkkk");
    check("agents", player, "dark", 0);
}

#[tokio::test(start_paused = true)]
async fn light() {
    // A letter acts once no other has followed it for a moment.
    let player = Player::demo(150, 40).await.until(6_000).await.keys("<alt+8>x");
    let player = player.until(6_400).await.keys("<alt+6>x").until(6_800).await.keys("<esc>");
    let player = player.until(9_500).await.keys("<alt+y>").until(11_900).await.keys("<alt+y>");
    check("light", player.until(60_000).await, "light", 1);
}

/// Writes pictures into the folder that `BELVEDERE_PICTURES` names. Their names say how many rows of how many say
/// something.
#[test]
#[ignore = "writes pictures to look at"]
fn agents_at_work() {
    let folder = PathBuf::from(std::env::var_os("BELVEDERE_PICTURES").unwrap());
    let ground = Theme::load("dark", ColorDepth::TrueColor).unwrap().background();
    std::fs::create_dir_all(&folder).unwrap();
    for (count, (width, height)) in [1, 4, 8, 20].into_iter().flat_map(|count| SIZES.map(|size| (count, size))) {
        let buffer = scenes::at_work(count, width, height).frame();
        let says = |row: &&str| row.chars().filter(|sign| sign.is_alphabetic()).count() >= 3;
        let rows = as_text(&buffer).lines().filter(says).count();
        let name = format!("{count}-agents-{width}x{height}-{rows}-rows.png");
        std::fs::write(folder.join(name), to_png(&to_svg(&buffer, ground))).unwrap();
    }
}
