//! Eight subagents at once, on screens of every size: typing, folding, sizing, stopping, resizing.

use super::terminal::Terminal;
use super::{Home, SIZES};

/// Waits until all eight children are there.
fn eight(terminal: &Terminal) {
    terminal.wait("eight agents at work", |screen| screen.contains("8 running") || screen.contains("8 subagents"));
}

#[test]
fn typing_shows_at_once_while_eight_children_stream() {
    let home = Home::new();
    for size in SIZES {
        let terminal = home.start(size, &["demo"]);
        eight(&terminal);
        for letter in "quick brown".chars() {
            terminal.send(&letter.to_string());
        }
        terminal.shows("quick brown");
        terminal.send("\x15");
        terminal.wait("an empty composer", |screen| !screen.contains("quick brown"));
    }
}

#[test]
fn one_is_stopped_by_x_and_the_others_go_on() {
    let home = Home::new();
    for size in SIZES {
        let terminal = home.start(size, &["demo"]);
        eight(&terminal);
        terminal.send("\x1b2");
        terminal.send("x");
        terminal.wait("seven at work and one cancelled", |screen| {
            screen.contains("7 running") || screen.contains("7 subagents")
        });
    }
}

#[test]
fn everything_is_stopped_by_two_chords() {
    let home = Home::new();
    let terminal = home.start((120, 40), &["demo"]);
    eight(&terminal);
    terminal.send("\x18\x18");
    terminal.shows("stop");
    terminal.send("\x18\x18");
    terminal.wait("nothing at work", |screen| !screen.contains("running"));
}

#[test]
fn a_pane_takes_the_whole_screen_and_gives_it_back() {
    let home = Home::new();
    for size in SIZES {
        let terminal = home.start(size, &["demo"]);
        eight(&terminal);
        terminal.send("\x1b1");
        terminal.send("\r");
        terminal.wait("the first agent alone", |screen| screen.contains("Find auth fil") && !screen.contains("Design"));
        terminal.send("\x1b");
        terminal.wait("the others too", |screen| screen.contains("Design"));
    }
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let home = Home::new();
    let terminal = home.start((200, 50), &["demo"]);
    eight(&terminal);
    for (cols, rows) in [(60, 15), (20, 5), (1, 1), (120, 40)] {
        terminal.resize(cols, rows);
        terminal.wrote_more();
    }
    // There and back at once: the size is the same as before, the content is not.
    terminal.resize(200, 50);
    terminal.resize(100, 30);
    terminal.resize(200, 50);
    terminal.wait("the whole screen again", |screen| screen.contains("conversation") && screen.contains("ctrl+p"));
    terminal.send("\x03");
    terminal.send("\x03");
    terminal.ended();
}

#[test]
fn a_key_pressed_after_a_resize_shows_without_another() {
    let home = Home::new();
    let terminal = home.start((120, 40), &["demo"]);
    eight(&terminal);
    for (size, letter) in [((90, 30), "qa"), ((120, 40), "zb"), ((60, 15), "vc")] {
        terminal.resize(size.0, size.1);
        let rule = "─".repeat(usize::from(size.0) / 4);
        terminal.wait("the new size", |screen| screen.contains(&rule));
        for key in letter.chars() {
            terminal.send(&key.to_string());
            terminal.wait("the key", |screen| screen.lines().any(|line| line.starts_with('›') && line.contains(key)));
        }
    }
}

#[test]
fn an_approval_is_answered_without_leaving_the_composer() {
    let home = Home::new();
    let terminal = home.start((120, 40), &["demo"]);
    terminal.shows("src/auth/jwt.rs");
    terminal.shows("alt+y");
    terminal.send("half a word");
    terminal.shows("half a word");
    terminal.answers("\x1by", |screen| screen.contains("cargo test"));
    terminal.shows("half a word");
}

#[test]
fn a_message_to_one_agent_waits_and_is_then_read() {
    let home = Home::new();
    let terminal = home.start((120, 40), &["demo"]);
    eight(&terminal);
    terminal.send("\x1b2");
    terminal.send("\r");
    terminal.send("m");
    terminal.shows("→ explore-2");
    terminal.send("look at admin.rs too\r");
    terminal.wait("the message as read", |screen| {
        screen.contains("› look at admin.rs too") && !screen.contains("queued  look")
    });
    terminal.send("\x1b");
    terminal.wait("the keys of the full view", |screen| !screen.contains("→ explore-2"));
    terminal.send("\x1b");
    terminal.wait("the main conversation, without it", |screen| {
        screen.contains("I will look at this") && screen.contains("running")
    });
}

#[test]
fn an_address_sends_past_the_main_agent() {
    let home = Home::new();
    let terminal = home.start((120, 40), &["demo"]);
    eight(&terminal);
    terminal.send("@7 and the guard\r");
    terminal.shows("queued  and the guard");
    terminal.shows("› and the guard");
}
