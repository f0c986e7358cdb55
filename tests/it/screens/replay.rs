//! A recorded session on the screen: the same at any speed, a moment at a time, and without any effect.

use std::time::{Duration, Instant};

use belvedere::agent::{EventKind, SessionEvent, Status, ToolEvent};
use belvedere::app::key::{Input, Key};
use belvedere::app::timeline::{PlaybackRequest, PlaybackSpeed};
use belvedere::app::{App, Effect, Event};
use belvedere::permission::ActiveGrant;
use belvedere::tui::replay::Player;
use belvedere::tui::view::Screen;
use belvedere::tui::view::highlight::Highlighter;
use belvedere::tui::view::theme::{ColorDepth, Theme};
use proptest::prelude::*;
use ratatui::buffer::Buffer;

use super::stage::{as_text, setup};
use crate::export::session::{MAIN, Recorded, refactoring};

/// A replay with its views, and a clock on the wall of its own.
struct Replay {
    player: Player,
    app: App,
    screen: Screen,
    _session: Recorded,
}

impl Replay {
    fn open(session: Recorded, speed: PlaybackSpeed) -> Self {
        let setup = setup(Instant::now(), (120, 36));
        let (player, app) = Player::open(&session.save(), setup, speed).unwrap();
        let screen = Screen::new(Theme::load("dark", ColorDepth::TrueColor).unwrap(), Highlighter::off());
        Self { player, app, screen, _session: session }
    }

    fn draw(&mut self) -> Buffer {
        let mut buffer = Buffer::empty(self.app.size());
        let painted = self.screen.draw(&self.app, &mut buffer);
        assert!(self.app.update(self.player.now(), Event::Drawn(painted.drawn)).is_empty());
        buffer
    }

    /// Returns the settled frame as text, without the speed of which it speaks.
    fn text_at_any_speed(&mut self) -> String {
        while self.player.playback().speed != PlaybackSpeed::Recorded {
            self.keys("s");
        }
        self.text()
    }

    /// Returns the settled frame as text.
    fn text(&mut self) -> String {
        self.draw();
        self.draw();
        as_text(&self.draw())
    }

    /// Lets time pass on the wall, a frame at a time.
    fn wait(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(100) {
            self.player.advance(Duration::from_millis(100), &mut self.app);
            self.draw();
        }
    }

    /// Presses keys, and does what they ask of the replay. Returns the other effects.
    fn keys(&mut self, keys: &str) -> Vec<Effect> {
        let mut others = Vec::new();
        for key in Key::parse_sequence(keys).unwrap() {
            for effect in self.app.update(self.player.now(), Event::Input(Input::Key(key))) {
                match effect {
                    Effect::Playback(request) => self.player.obey(request, &mut self.app).unwrap(),
                    other => others.push(other),
                }
            }
            self.draw();
        }
        others
    }

    fn position(&self) -> u128 {
        self.player.playback().position.as_millis()
    }
}

/// A session with what a screen may react to: a question, another message of the user, what ends unseen.
fn session() -> Recorded {
    let mut it = refactoring();
    it.asks("And now?").says(MAIN, "Something else.");
    let more = it.spawns(MAIN, 4, "Late work");
    it.wait(70_000).says(more, "Done at last.").ends(more, Status::Completed, "Done at last.");
    it.answers(MAIN, "spawn-4", "Done at last.", None).says(MAIN, "All done.");
    it.ends(MAIN, Status::Completed, "All done.");
    it
}

#[test]
fn the_last_screen_is_the_same_at_any_speed() {
    let mut at_once = Replay::open(session(), PlaybackSpeed::End);
    assert!(at_once.text().contains("replay paused to the end"), "{}", at_once.text());
    let expected = at_once.text_at_any_speed();
    assert!(expected.contains("All done."), "{expected}");
    for speed in [PlaybackSpeed::Recorded, PlaybackSpeed::Tenfold] {
        let mut replay = Replay::open(session(), speed);
        replay.wait(60_000);
        assert!(!replay.player.is_playing(), "it is over");
        assert_eq!(replay.text_at_any_speed(), expected);
    }
    let mut scrubbed = Replay::open(session(), PlaybackSpeed::Tenfold);
    scrubbed.keys("<end><home><right><right><pagedown><left><end>");
    assert_eq!(scrubbed.text_at_any_speed(), expected);
}

#[test]
fn time_is_the_recorded_one_and_silence_is_shortened() {
    let mut replay = Replay::open(session(), PlaybackSpeed::Recorded);
    let whole = replay.player.playback().length;
    assert!(replay.text().contains("replay playing ×1  00:00 / 01:"), "{}", replay.text());
    replay.wait(3_000);
    assert_eq!(replay.position(), 3_000, "a second is a second");
    let text = replay.text();
    assert!(text.contains("Read src/login.rs") && !text.contains("Done at last"), "{text}");
    let mut waited = 3_000;
    while replay.player.is_playing() {
        replay.wait(100);
        waited += 100;
    }
    assert!(waited < whole.as_millis() / 4, "{waited} of {}", whole.as_millis());
    replay.keys("<space>");
    assert!(replay.position() < 200 && replay.player.is_playing(), "at its end, it begins again");
    replay.keys("<space>s");
    assert!(replay.text().contains("replay paused ×10"), "{}", replay.text());
    replay.wait(500);
    assert!(replay.position() < 200);
}

#[test]
fn the_timeline_is_the_scrubber() {
    let mut replay = Replay::open(session(), PlaybackSpeed::End);
    replay.keys("t");
    let end = replay.text();
    assert!(end.contains("timeline") && end.contains("explore-4"), "{end}");
    replay.keys("<home>");
    let beginning = replay.text();
    assert!(!beginning.contains("explore-1") && beginning.contains("main"), "{beginning}");
    replay.keys("<pagedown><left>");
    let before = replay.position();
    replay.keys("<left>");
    assert!(replay.position() < before);
    replay.keys("<right>");
    assert_eq!(replay.position(), before);
    replay.player.obey(PlaybackRequest::Seek(Duration::from_secs(3)), &mut replay.app).unwrap();
    let text = replay.text();
    assert!(text.contains("explore-1") && !text.contains("explore-4"), "{text}");
    replay.keys("t");
    assert!(replay.text().contains("Find auth files"), "the panes are as they were then");
    assert_eq!(replay.keys("q"), [Effect::Quit]);
}

#[test]
fn an_unknown_kind_of_record_is_passed_over() {
    let mut it = refactoring();
    it.raw(MAIN, "{\"v\":1,\"seq\":2,\"agent\":0,\"at\":\"2026-11-22T10:00:00Z\",\"event\":\"of_tomorrow\"}\nx\n");
    it.session(SessionEvent::GrantsChanged { grants: Vec::<ActiveGrant>::new() });
    it.event(MAIN, EventKind::Tool(ToolEvent::Progress { call_id: "none".to_owned(), tail: "…".to_owned() }));
    let mut replay = Replay::open(it, PlaybackSpeed::End);
    assert!(replay.text().contains("I'll look at two things."), "{}", replay.text());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_key_sends_runs_or_changes_anything(keys in proptest::collection::vec(0..KEYS.len(), 1..60)) {
        let mut replay = Replay::open(session(), PlaybackSpeed::Tenfold);
        for key in keys {
            for effect in replay.keys(KEYS[key]) {
                let harmless = matches!(
                    effect,
                    Effect::Copy(_) | Effect::ReadLog(_) | Effect::Suspend | Effect::CaptureMouse(_)
                        | Effect::SetTheme(_) | Effect::Quit
                );
                prop_assert!(harmless, "{effect:?}");
            }
            replay.wait(100);
        }
        replay.keys("<esc><esc><esc><esc><esc><esc><end>");
        prop_assert_eq!(replay.player.playback().position, replay.player.playback().length);
    }
}

/// Keys that do something anywhere, and some that are text.
const KEYS: [&str; 44] = [
    "x", "w", "r", "m", "b", "y", "a", "p", "n", "e", "t", "q", "s", "h", "l", "j", "k", "v", "i", "?", "/", "+", "-",
    "1", "4", "<space>", "<enter>", "<esc>", "<tab>", "<left>", "<right>", "<home>", "<end>", "<up>", "<down>", "<f6>",
    "<alt+y>", "<alt+1>", "<ctrl+x>", "<ctrl+p>", "<ctrl+l>", "<ctrl+g>", "<ctrl+c>", "<f2>",
];
