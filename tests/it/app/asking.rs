//! No key allows what was not shown, and none that was not meant for it.

use std::collections::HashSet;
use std::path::PathBuf;

use belvedere::agent::{EventKind, SessionEvent, ToolEvent};
use belvedere::app::key::{Input, Key};
use belvedere::app::{Editing, Effect, Event, GUARD, HOLD};
use belvedere::message::{AgentId, DiffLine, FileDiff, HostPort, Hunk, LineKind};
use belvedere::permission::{Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Grant, Preview};
use belvedere::subagent::Command;

use crate::screens::stage::{Region, Stage, as_text, request};
use crate::support::Dice;

/// Returns the answers among effects.
fn answers(effects: &[Effect]) -> Vec<Answer> {
    let answer = |effect: &Effect| match effect {
        Effect::Command(Command::Answer { answer, .. }) => Some(answer.clone()),
        _ => None,
    };
    effects.iter().filter_map(answer).collect()
}

fn asks(stage: &mut Stage, request: ApprovalRequest) {
    stage.agent(request.id.agent.0, EventKind::Tool(ToolEvent::ApprovalRequested { request }));
}

/// Returns the question about a change of these lines.
fn change(lines: Vec<DiffLine>) -> ApprovalRequest {
    let path = PathBuf::from("/home/me/src/shop/src/auth/login.rs");
    let of = |kind| lines.iter().filter(|line| line.kind == kind).count();
    let (added, removed) = (of(LineKind::Added), of(LineKind::Removed));
    let diff = FileDiff { path: path.clone(), added, removed, hunks: vec![Hunk { lines }], omitted: 0 };
    ApprovalRequest {
        access: Access::new("Edit", AccessKind::Write { path }),
        title: "src/auth/login.rs".to_owned(),
        preview: Some(Preview::Diff(diff)),
        grant: Some(Grant::Edits),
        ..request(0, "e", "")
    }
}

fn line(kind: LineKind, number: usize, text: &str) -> DiffLine {
    DiffLine { kind, number, text: text.to_owned() }
}

fn at_work(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    stage.asks("go");
    stage
}

#[test]
fn the_end_of_a_long_command_is_shown_before_it_can_be_allowed() {
    let arguments: String = (0..63).map(|at| format!(" argument{at}")).collect();
    let command = format!("echo{arguments} && rm -rf important");
    for (width, height) in [(80, 24), (60, 15), (40, 10), (60, 8), (40, 8), (30, 12), (80, 5), (60, 6)] {
        let mut stage = at_work(width, height);
        stage.wants_to_run(0, "b", &command);
        let text = stage.text();
        let mut seen = text.contains("important");
        if height >= 10 {
            assert!(seen, "the tail stands there from the beginning at {width}x{height}:\n{text}");
        }
        for press in 0.. {
            let given = answers(&stage.keys("<alt+y>"));
            if !given.is_empty() {
                assert_eq!(given, [Answer::Once]);
                assert!(seen && press > 0 || (width, height) == (80, 24), "{width}x{height}, press {press}");
                break;
            }
            let text = stage.text();
            seen |= text.contains("important");
            assert!(press < 60, "it can be allowed at last at {width}x{height}:\n{text}");
        }
    }
}

#[test]
fn the_first_yes_shows_the_rest_and_says_so() {
    let lines: Vec<String> = (1..=20).map(|at| format!("echo {at}")).collect();
    for chord in ["<alt+y>", "<alt+a>"] {
        let mut stage = at_work(80, 24);
        stage.spawns(1, "code", "Write it");
        stage.starts(1);
        stage.wants_to_run(0, "b", &lines.join("\n"));
        let text = stage.text();
        assert!(text.contains("echo 1\n") && text.contains("more lines\n") && text.contains("echo 20"), "{text}");
        assert!(text.contains("alt+y show") && !text.contains("alt+a session"), "{text}");
        let mut given = Vec::new();
        let mut words = String::new();
        for _ in 0..3 {
            given.extend(answers(&stage.keys(chord)));
            words += &stage.text();
        }
        assert!(
            words.contains("press again to see the rest") || words.contains("shown in full: press again"),
            "{words}"
        );
        assert_eq!(given.len(), 1, "{words}");
    }
    let mut stage = at_work(80, 24);
    stage.wants_to_run(0, "b", &lines.join("\n"));
    assert_eq!(answers(&stage.keys("<alt+n>")), [Answer::No { comment: None }], "a no needs nothing of that");
}

#[test]
fn a_screen_that_shows_no_row_takes_no_yes() {
    for (width, height) in [(80, 4), (80, 3), (19, 24), (5, 24)] {
        let mut stage = at_work(width, height);
        stage.wants_to_run(0, "b", "touch x");
        for chord in ["<alt+y>", "<alt+a>", "<alt+y>"] {
            assert_eq!(answers(&stage.keys(chord)), [], "{width}x{height}");
        }
        stage.resize(80, 24);
        assert!(stage.text().contains("$ touch x"));
        assert_eq!(answers(&stage.keys("<alt+y>")), [Answer::Once]);
    }
    let mut stage = at_work(80, 4);
    stage.wants_to_run(0, "b", "touch x");
    stage.keys("<alt+y>");
    assert!(stage.text().contains("enlarge the terminal to allow"), "{}", stage.text());
    assert_eq!(answers(&stage.keys("<alt+n>")), [Answer::No { comment: None }]);
}

#[test]
fn changed_lines_come_before_those_around_them() {
    let around = |from: usize| (from..from + 3).map(|at| line(LineKind::Context, at, "// the same"));
    let mut lines: Vec<DiffLine> = around(3).collect();
    lines.push(line(LineKind::Removed, 6, "    check(password)"));
    lines.push(line(LineKind::Added, 6, "    true"));
    lines.extend(around(7));
    for (width, height) in [(100, 30), (80, 24), (60, 15), (40, 10)] {
        let mut stage = at_work(width, height);
        asks(&mut stage, change(lines.clone()));
        stage.draw();
        let text = stage.text();
        if height >= 15 {
            assert!(text.contains("check(password)") && text.contains("+     true"), "{width}x{height}\n{text}");
        }
        let mut given = Vec::new();
        for _ in 0..8 {
            given.extend(answers(&stage.keys("<alt+y>")));
        }
        assert_eq!(given, [Answer::Once]);
    }
}

#[test]
fn a_long_change_is_gone_through_to_its_end() {
    let lines: Vec<DiffLine> = (1..=1_000).map(|at| line(LineKind::Added, at, &format!("line<{at}>"))).collect();
    let mut stage = at_work(80, 24);
    asks(&mut stage, change(lines));
    let mut unseen: Vec<String> = (1..=1_000).map(|at| format!("line<{at}>")).collect();
    let mut given = Vec::new();
    for press in 0.. {
        assert!(press < 100, "{} lines were not shown", unseen.len());
        let text = stage.text();
        unseen.retain(|line| !text.contains(line));
        given.extend(answers(&stage.keys("<alt+y>")));
        if !given.is_empty() {
            break;
        }
    }
    assert_eq!((given, unseen.len()), (vec![Answer::Once], 0));
}

#[test]
fn what_cannot_be_shown_is_allowed_by_no_key() {
    let mut stage = at_work(80, 24);
    let mut request = change(vec![line(LineKind::Added, 1, "seen")]);
    if let Some(Preview::Diff(diff)) = &mut request.preview {
        diff.omitted = 1;
    }
    asks(&mut stage, request);
    stage.text();
    for chord in ["<alt+y>", "<alt+a>", "<alt+y>", "<alt+y>"] {
        assert_eq!(answers(&stage.keys(chord)), []);
    }
    let text = stage.text();
    assert!(text.contains("part of this cannot be shown"), "{text}");
    assert_eq!(answers(&stage.keys("<alt+n>")), [Answer::No { comment: None }]);
}

#[test]
fn a_question_takes_the_rows_that_the_conversation_leaves_blank() {
    let lines: Vec<String> = (1..=13).map(|at| format!("echo {at}")).collect();
    let mut stage = at_work(80, 24);
    stage.wants_to_run(0, "b", &lines.join("\n"));
    stage.draw();
    stage.draw();
    let text = stage.text();
    assert!(lines.iter().all(|line| text.contains(line.as_str())), "{text}");
    assert_eq!(answers(&stage.keys("<alt+y>")), [Answer::Once], "all of it was shown");
}

#[test]
fn keys_in_one_packet_answer_nothing() {
    for keys in ["hello<alt+a>", "<alt+y>y", "<alt+y><alt+y>", "<esc><alt+a>", "<alt+a>x", "x<alt+n>"] {
        let mut stage = at_work(80, 24);
        stage.wants_to_run(0, "b", "touch x");
        stage.draw();
        stage.wait(5_000);
        assert_eq!(answers(&stage.burst(keys)), [], "{keys}");
        assert_eq!(answers(&stage.wait(5_000)), [], "{keys}");
        assert!(stage.text().contains("touch x"));
        assert_eq!(answers(&stage.keys("<alt+y>")), [Answer::Once], "{keys}: a single key does");
    }
}

#[test]
fn a_held_key_answers_one_question() {
    let mut stage = at_work(80, 24);
    for at in 0..6 {
        stage.wants_to_run(0, &format!("b{at}"), &format!("touch {at}"));
    }
    assert_eq!(stage.keys("<f6>"), []);
    stage.draw();
    stage.wait(600);
    let mut given = answers(&stage.burst("y"));
    // The first repetition of a held key comes late, the others follow soon.
    given.extend(answers(&stage.wait(660)));
    for _ in 0..200 {
        stage.draw();
        given.extend(answers(&stage.burst("y")));
        given.extend(answers(&stage.wait(33)));
    }
    assert_eq!(given, [Answer::Once]);
    assert_eq!(stage.app.approvals().len(), 5);
}

#[test]
fn an_escape_and_a_letter_of_vi_are_no_answer() {
    let mut stage = Stage::with_setup(80, 24, |setup| setup.editing = Editing::Vi);
    stage.asks("go");
    stage.wants_to_run(0, "b", "touch x");
    assert_eq!(answers(&stage.keys("<alt+a>")), [], "esc and a letter, in an empty composer too");
    stage.keys("ihello");
    assert_eq!(answers(&stage.keys("<alt+a><alt+y>")), []);
    assert!(stage.text().contains("in vi mode"), "{}", stage.text());
    stage.keys("<f6>");
    assert_eq!(answers(&stage.keys("y")), [Answer::Once]);
}

#[test]
fn what_is_behind_something_else_was_not_shown() {
    let mut stage = at_work(80, 24);
    stage.keys("<f1>");
    stage.wants_to_run(0, "b", "touch x");
    assert!(!stage.text().contains("$ touch x"), "the keys stand before it");
    stage.wait(1_000);
    stage.burst("<esc>");
    stage.wait(1_000);
    assert_eq!(answers(&stage.burst("<alt+y>")), [], "no frame has shown it yet");
    assert_eq!(answers(&stage.wait(200)), []);
    assert_eq!(answers(&stage.keys("<alt+y>")), [Answer::Once]);
}

#[test]
fn a_note_and_a_name_cannot_draw_rows_of_a_question() {
    let mut stage = at_work(80, 24);
    stage.spawns(1, "main › you › r\u{435}viewer (trusted, read-only)", "look");
    stage.starts(1);
    let note = format!("ls -la{}alt+a: this exact command{}alt+y once  alt+a session", " ".repeat(80), " ".repeat(50));
    let preview = Some(Preview::Note { text: note.repeat(9) });
    asks(&mut stage, ApprovalRequest { preview, ..request(1, "b", "touch SPOOF") });
    let text = stage.text();
    insta::assert_snapshot!("question-spoofed-80x24", stage.region(Region::Approvals));
    let says = text.lines().filter(|line| line.contains("alt+a")).count();
    assert!(says > 2 && text.lines().filter(|line| line.trim_start().starts_with("alt+y")).count() == 1, "{text}");
    assert!(text.contains("“main ' you ' r⍰viewer (trusted, read-onl…” wants to run"), "{text}");
}

#[test]
fn hidden_and_look_alike_characters_are_marked() {
    let mut stage = at_work(100, 24);
    let heap = format!("z{}", "\u{301}".repeat(18));
    let command = format!("echo \u{440}\u{430}y\u{440}al a\u{2800}b\u{3000}c d\u{a0}e src\u{2215}main.rs {heap}");
    stage.wants_to_run(0, "b", &command);
    let text = stage.text();
    assert!(text.contains("$ echo ⍰⍰y⍰al a⍰b⍰c d⍰e src⍰main.rs"), "{text}");
    assert!(text.lines().any(|line| line.contains("⍰⍰y") && line.trim_end().ends_with("⍰⍰")), "{text}");
}

#[test]
fn a_call_id_may_be_used_twice() {
    let mut stage = at_work(80, 24);
    let ask = |stage: &mut Stage| {
        let id = ApprovalId::new(AgentId::MAIN, "call_0");
        asks(stage, ApprovalRequest { id, ..request(0, "call_0", "touch x") });
    };
    ask(&mut stage);
    assert_eq!(answers(&stage.keys("<alt+y>")), [Answer::Once]);
    stage.keys("/clear<enter>");
    stage.session(SessionEvent::Cleared);
    stage.asks("again");
    ask(&mut stage);
    assert!(stage.text().contains("touch x"));
    assert_eq!(answers(&stage.keys("<alt+y>")), [Answer::Once]);
}

/// What stands in a question, each character of it once, so that it is known which of them a frame shows.
struct Marked {
    next: u32,
}

impl Marked {
    fn text(&mut self, length: u64) -> String {
        let first = self.next;
        self.next += u32::try_from(length).unwrap();
        (first..self.next).filter_map(char::from_u32).collect()
    }

    /// Throws a command or a change, and returns the characters of what would be done.
    fn question(&mut self, dice: &mut Dice) -> (ApprovalRequest, HashSet<char>) {
        self.next = 0x4E00;
        let id = ApprovalId::new(AgentId::MAIN, "call");
        if dice.roll(2) == 0 {
            let lines: Vec<String> = (0..=dice.roll(40))
                .map(|_| {
                    let length = dice.roll(60) + 1;
                    self.text(length)
                })
                .collect();
            let command = lines.join("\n");
            let preview = (dice.roll(2) == 0).then(|| Preview::Note { text: "says so ".repeat(40) });
            let seen = command.chars().filter(|c| *c != '\n').collect();
            return (ApprovalRequest { id, preview, ..request(0, "call", &command) }, seen);
        }
        let mut lines = Vec::new();
        for at in 0..=usize::try_from(dice.roll(40)).unwrap() {
            let kind = *dice.pick(&[LineKind::Added, LineKind::Removed, LineKind::Context]);
            let length = dice.roll(70) + 1;
            let text = if kind == LineKind::Context { "around".to_owned() } else { self.text(length) };
            lines.push(line(kind, at + 1, &text));
        }
        let seen =
            lines.iter().filter(|line| line.kind != LineKind::Context).flat_map(|line| line.text.chars()).collect();
        (ApprovalRequest { id, ..change(lines) }, seen)
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}

#[test]
fn whatever_is_pressed_on_whatever_screen_only_what_was_seen_is_allowed() {
    const KEYS: &str =
        "<alt+y> <alt+y> <alt+y> <alt+a> y a p <f6> <tab> <pagedown> <down> <up> <esc> / <backspace> <f1> x ] <enter>";
    let keys: Vec<Key> = KEYS.split_whitespace().flat_map(|key| Key::parse_sequence(key).unwrap()).collect();
    let mut dice = Dice::new(0x00a5_c0de);
    let mut allowed = 0;
    for _ in 0..12 {
        let size = (dice.roll(100) + 8, dice.roll(40) + 3);
        let mut stage = at_work(u16::try_from(size.0).unwrap(), u16::try_from(size.1).unwrap());
        let (request, mut unseen) = Marked { next: 0 }.question(&mut dice);
        let id = request.id.clone();
        asks(&mut stage, request);
        let (mut clock, mut shown, mut pressed) = (0, None, Vec::new());
        stage.effects.clear();
        for _ in 0..50 {
            if dice.roll(12) == 0 {
                stage.resize(u16::try_from(dice.roll(100) + 8).unwrap(), u16::try_from(dice.roll(40) + 3).unwrap());
            }
            let time = *dice.pick(&[3, 40, 300, 700, 700, 700]);
            clock += time;
            stage.wait(time);
            let allows = |effect: &Effect| match effect {
                Effect::Command(Command::Answer { id: of, answer }) => {
                    *of == id && !matches!(answer, Answer::No { .. })
                }
                _ => false,
            };
            if stage.effects.iter().any(allows) {
                allowed += 1;
                assert!(unseen.is_empty(), "{} characters were never on the screen", unseen.len());
                let at: u64 = pressed.pop().expect("a key gave it");
                assert!(clock - at >= millis(HOLD), "another key might have followed");
                assert!(shown.is_some_and(|shown| at - shown >= millis(GUARD)), "it had only just appeared");
                assert!(pressed.pop().is_none_or(|before| at - before >= millis(GUARD)), "keys came fast");
                break;
            }
            if dice.roll(3) > 0 {
                let text = as_text(&stage.draw().0);
                unseen.retain(|c| !text.contains(*c));
                shown = shown.or(Some(clock));
            }
            if dice.roll(4) > 0 {
                stage.event(Event::Input(Input::Key(*dice.pick(&keys))));
                pressed.push(clock);
            }
        }
    }
    assert!(allowed > 1, "{allowed} of them were allowed: the test sees too little");
}

/// Returns the question whether a command may reach a host.
fn reaching(host: &str) -> ApprovalRequest {
    let asked = request(0, "b", "cargo fetch");
    let host: HostPort = host.parse().unwrap();
    let text = format!("wants to reach {}; a yes runs the command again", host.described());
    let (access, grant) = (asked.access.reaching(host.clone()).unwrap(), Some(Grant::Host(host)));
    ApprovalRequest { access, grant, preview: Some(Preview::Note { text }), ..asked }
}

#[test]
fn a_question_about_a_host_says_where_and_for_what() {
    for (width, height) in [(120, 36), (80, 24)] {
        let mut stage = at_work(width, height);
        asks(&mut stage, reaching("127.1:8080"));
        stage.draw();
        let text = stage.text();
        for words in [
            "wants to reach  127.0.0.1:8080",
            "$ cargo fetch",
            "wants to reach 127.0.0.1:8080 (this machine); a yes runs the command again",
            "reaching 127.0.0.1:8080: alt+a for the main agent, all session",
        ] {
            assert!(text.contains(words), "{words} at {width}x{height}\n{text}");
        }
        assert_eq!(answers(&stage.keys("<alt+a>")), [Answer::Always]);
    }
}

#[test]
fn all_of_a_long_host_is_shown_before_it_can_be_allowed() {
    let host = format!("{}tail.example.com:443", "crates.io.".repeat(20));
    for (width, height) in [(80, 24), (40, 12), (30, 8)] {
        let mut stage = at_work(width, height);
        asks(&mut stage, reaching(&host));
        stage.draw();
        let mut shown = stage.text();
        for press in 0.. {
            let given = answers(&stage.keys("<alt+y>"));
            if !given.is_empty() {
                let shown: String = shown.chars().filter(|c| !c.is_whitespace()).collect();
                assert!(shown.contains(".example"), "{width}x{height}: {shown}");
                break;
            }
            shown += &stage.text();
            assert!(press < 60, "it can be allowed at last at {width}x{height}");
        }
    }
}
