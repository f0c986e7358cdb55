//! Going back to an earlier message, by key strings.

use std::path::PathBuf;

use belvedere::agent::{EventKind, RewoundFile, SessionEvent, Status};
use belvedere::app::{Effect, Event, Popup};
use belvedere::message::{DiffLine, FileDiff, Hunk, LineKind};
use belvedere::subagent::{Command, PlannedFile, RewindPlan, RewindRequest};
use belvedere::tool::{CommandEvent, EndedBy, FileRewind, FileVersions};

use crate::screens::stage::Stage;

/// Three messages, all answered.
fn stage() -> Stage {
    let mut stage = Stage::new(100, 30).with_model();
    for text in ["fix the login", "now the tests", "and the docs"] {
        stage.asks(text);
        stage.ends_turn(0, &format!("answer to: {text}"), 100);
        stage.ends(0, Status::Completed, "done", None);
    }
    stage
}

fn file() -> FileRewind {
    FileRewind::new(
        PathBuf::from("/shop/src/login.rs"),
        FileVersions { before: Some(1), after: Some(2), ..FileVersions::default() },
    )
}

pub(crate) fn plan(words: &str) -> RewindPlan {
    let line = |kind, text: &str| DiffLine { kind, number: 4, text: format!("{text} {words}") };
    let lines = vec![line(LineKind::Removed, "let a = 2;"), line(LineKind::Added, "let a = 1;")];
    let diff = FileDiff { path: file().path, added: 1, removed: 1, hunks: vec![Hunk { lines }], omitted: 0 };
    RewindPlan {
        files: vec![PlannedFile { shown: format!("src/login.rs{words}"), rewind: file(), diff }],
        stays: vec![(format!("notes.md{words}"), "something other than an agent's edit has changed it too".to_owned())],
        commands: 2,
        merges: 0,
        notes: vec![format!("Ignored files are not restored; changed or deleted: target{words}")],
    }
}

fn requests(effects: &[Effect]) -> Vec<RewindRequest> {
    let of = |effect: &Effect| match effect {
        Effect::Command(Command::Rewind(request)) => Some(request.clone()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn what_would_come_back_is_shown_before_anything_does() {
    let mut stage = stage();
    stage.keys("<esc>");
    assert!(stage.text().contains("esc again goes back to an earlier message"), "{}", stage.text());
    stage.keys("<esc>");
    let text = stage.text();
    assert!(text.contains("1 and the docs") && text.contains("3 fix the login"), "{text}");
    let effects = stage.keys("<down><enter>");
    assert!(effects.contains(&Effect::PlanRewind { messages: 2 }), "{effects:?}");
    // Nothing is known yet.
    for keys in ["b", "c", "f"] {
        assert_eq!(requests(&stage.keys(keys)), []);
        assert!(matches!(stage.app.popup(), Some(Popup::Rewind(_))));
    }
    stage.event(Event::RewindPlanned { messages: 1, plan: RewindPlan::default() });
    assert!(stage.text().contains("checking"), "that is what would come back with another message");
    stage.event(Event::RewindPlanned { messages: 2, plan: plan("") });
    let text = stage.text();
    for words in [
        "2 messages · back to before “now the tests”",
        "1 file would change",
        "src/login.rs · +1 −1",
        "+let a = 1;",
        "notes.md is not restored: something other",
        "The effects of 2 commands are not undone.",
        "Ignored files are not restored; changed or deleted: target",
        "b both",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    stage.keys("<enter>");
    assert!(stage.app.popup().is_none(), "enter takes nothing back");
}

#[test]
fn a_key_takes_back_the_conversation_the_files_or_both() {
    for (key, messages, files) in [("b", 2, 1), ("c", 2, 0), ("f", 0, 1)] {
        let mut stage = stage();
        stage.keys("/rewind<enter><down><enter>");
        stage.event(Event::RewindPlanned { messages: 2, plan: plan("") });
        stage.draw();
        let asked = requests(&stage.keys(key));
        let [request] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!((request.messages, request.files.len()), (messages, files), "{key}");
        assert_eq!(request.said, "now the tests");
    }
    let mut stage = stage();
    stage.keys("/rewind<enter><enter>");
    stage.event(Event::RewindPlanned { messages: 1, plan: RewindPlan::default() });
    stage.draw();
    assert_eq!(requests(&stage.keys("f")), []);
    assert!(stage.text().contains("no files to restore"), "{}", stage.text());
}

#[test]
fn a_sentence_typed_over_the_question_takes_nothing_back() {
    let mut stage = stage();
    stage.keys("/rewind<enter><enter>");
    stage.event(Event::RewindPlanned { messages: 1, plan: plan("") });
    stage.draw();
    assert_eq!(requests(&stage.burst("before you do that")), []);
    assert_eq!(stage.app.composer().text(), "before you do that");
}

#[test]
fn what_was_taken_back_is_gone_from_the_conversation_and_can_be_said_again() {
    let mut stage = stage();
    let versions = FileVersions { before: Some(2), after: Some(1), ..FileVersions::default() };
    let files = vec![RewoundFile { path: file().path, versions }];
    let left = vec![("notes.md".to_owned(), "it was deleted since".to_owned())];
    stage.session(SessionEvent::Rewound { messages: 2, files: files.clone(), left });
    let text = stage.text();
    assert!(text.contains("answer to: fix the login") && !text.contains("answer to: now the tests"), "{text}");
    let words = "rewound: 2 messages undone, 1 file restored, notes.md kept: it was deleted since";
    assert!(text.contains(words), "{text}");
    assert_eq!(stage.app.composer().text(), "now the tests");
    // What is being written stays.
    let mut stage = self::stage();
    stage.keys("half a thought");
    stage.session(SessionEvent::Rewound { messages: 1, files, left: Vec::new() });
    assert_eq!(stage.app.composer().text(), "half a thought");
}

#[test]
fn more_than_is_held_is_taken_back_as_far_as_it_is() {
    let mut stage = stage();
    stage.session(SessionEvent::Rewound { messages: 5, files: Vec::new(), left: Vec::new() });
    let text = stage.text();
    assert!(!text.contains("answer to:") && text.contains("rewound: 5 messages undone"), "{text}");
    assert!(stage.app.composer().is_empty());
}

#[test]
fn nothing_is_rewound_while_agents_run_or_nothing_was_said() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("/rewind<enter>");
    assert!(stage.app.popup().is_none() && stage.text().contains("no message to go back to"), "{}", stage.text());
    stage.asks("go");
    stage.spawns(1, "explore", "look");
    stage.starts(1);
    stage.keys("/rewind<enter>");
    assert!(stage.app.popup().is_none() && stage.text().contains("still running: "), "{}", stage.text());
}

#[test]
fn a_command_that_goes_on_is_named_before_files_are_put_back() {
    let mut stage = stage();
    for (id, line, by_user) in
        [("bash_1", "npm run dev", false), ("bash_2", "make watch", true), ("bash_3", "true", false)]
    {
        let started = CommandEvent::Started { command_id: id.to_owned(), command: line.to_owned(), by_user };
        stage.agent(0, EventKind::Command(started));
    }
    let ended = CommandEvent::Ended {
        command_id: "bash_3".to_owned(),
        how: "exit 0".to_owned(),
        is_error: false,
        ended_by: EndedBy::Itself,
        tail: String::new(),
        lines: 0,
    };
    stage.agent(0, EventKind::Command(ended));
    stage.keys("/rewind<enter><enter>");
    stage.event(Event::RewindPlanned { messages: 1, plan: plan("") });
    let text = stage.text();
    for words in [
        "npm run dev goes on, and may change files again: /cancel bash_1 stops it.",
        "!make watch goes on, and may change files again: esc stops it.",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("bash_3 stops"), "{text}");
    assert_eq!(requests(&stage.keys("b")).len(), 1, "they hold nothing up");
}
