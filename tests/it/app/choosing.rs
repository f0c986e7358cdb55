//! Plans to approve, and questions of the agent.

use belvedere::agent::{EventKind, SessionEvent, ToolEvent};
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::{Effect, Event, Popup};
use belvedere::message::AgentId;
use belvedere::permission::{
    Access, AccessKind, Answer, ApprovalId, ApprovalRequest, PermissionMode, Preview, QuestionAnswer, QuestionOption,
    UserQuestion,
};
use belvedere::subagent::Command;

use crate::screens::stage::Stage;

fn ask(stage: &mut Stage, tool: &str, title: &str, preview: Preview) -> ApprovalId {
    let id = ApprovalId::new(AgentId::MAIN, "call-1");
    let access = Access::new(tool, AccessKind::Nothing);
    let (title, preview) = (title.to_owned(), Some(preview));
    let request = ApprovalRequest { id: id.clone(), access, title, preview, grant: None, reason: String::new() };
    stage.main(EventKind::Started);
    stage.main(EventKind::Tool(ToolEvent::ApprovalRequested { request }));
    id
}

fn answers(effects: &[Effect]) -> Vec<Answer> {
    let answer = |effect: &Effect| match effect {
        Effect::Command(Command::Answer { answer, .. }) => Some(answer.clone()),
        _ => None,
    };
    effects.iter().filter_map(answer).collect()
}

fn plan(stage: &mut Stage, text: &str) {
    ask(stage, "ExitPlanMode", "plan", Preview::Plan { text: text.to_owned() });
}

#[test]
fn a_plan_is_approved_in_one_of_two_ways_or_worked_on() {
    let asking = |accepts_edits| Answer::Plan { accepts_edits, text: None };
    for (keys, expected) in [
        ("<f6>y", asking(false)),
        ("<f6>a", asking(true)),
        ("<alt+y>", asking(false)),
        ("<alt+a>", asking(true)),
        ("<alt+n>", Answer::No { comment: None }),
        ("<f6>eno tests yet<enter>", Answer::No { comment: Some("no tests yet".to_owned()) }),
    ] {
        let mut stage = Stage::new(100, 30).with_model();
        plan(&mut stage, "# Plan\n1. Read it\n2. Mend it");
        let text = stage.text();
        for part in ["main asks you to approve a plan", "2. Mend it", "yes, ask", "accept edits", "keep planning"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        let effects = stage.keys(keys);
        assert_eq!(answers(&effects), [expected], "{keys}");
    }
}

#[test]
fn a_yes_counts_for_no_plan_that_was_not_seen_and_an_edited_one_is_shown_again() {
    let mut stage = Stage::new(80, 24).with_model();
    let long: String = (1..=60).map(|step| format!("{step}. do it\n")).collect();
    plan(&mut stage, &long);
    stage.draw();
    assert_eq!(answers(&stage.burst("<alt+y>")), [], "typed ahead");
    assert_eq!(answers(&stage.keys("<alt+y>")), [], "there is more");
    let edits = |effects: &[Effect]| {
        effects.iter().any(|effect| matches!(effect, Effect::EditText(text) if text.contains("60. do it")))
    };
    assert!(edits(&stage.keys("<f6><ctrl+g>")));
    stage.event(Event::Edited(Some("1. only this".to_owned())));
    assert!(stage.text().contains("1. only this"), "{}", stage.text());
    let edited = Answer::Plan { accepts_edits: true, text: Some("1. only this".to_owned()) };
    assert_eq!(answers(&stage.keys("a")), [edited]);
    stage.session(SessionEvent::ModeChanged { mode: PermissionMode::AcceptEdits });
    assert_eq!(stage.app.status().mode, PermissionMode::AcceptEdits);
}

fn option(label: &str, preview: Option<&str>) -> QuestionOption {
    let description = format!("what {label} means");
    QuestionOption { label: label.to_owned(), description, preview: preview.map(str::to_owned) }
}

fn questions() -> Vec<UserQuestion> {
    let one = |question: &str, header: &str, options, multi_select| UserQuestion {
        question: question.to_owned(),
        header: header.to_owned(),
        options,
        multi_select,
    };
    vec![
        one(
            "Which layout?",
            "Layout",
            vec![option("Rows", Some("+---+\n| a |\n+---+")), option("Columns", Some("| a | b |"))],
            false,
        ),
        one("Which checks?", "Checks", vec![option("Lint", None), option("Tests", None), option("Types", None)], true),
    ]
}

fn chosen(labels: &[&str], other: Option<&str>) -> QuestionAnswer {
    QuestionAnswer { chosen: labels.iter().map(|&label| label.to_owned()).collect(), other: other.map(str::to_owned) }
}

fn asked(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    ask(&mut stage, "AskUserQuestion", "Which layout?\nWhich checks?", Preview::Questions { questions: questions() });
    stage
}

#[test]
fn questions_are_answered_by_keys_with_previews_and_own_words() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut stage = asked(width, height);
        for part in ["main asks you", "Layout: Rows · Columns", "Checks: Lint · Tests · Types", "answer"] {
            assert!(stage.text().contains(part), "no {part:?} in {}", stage.text());
        }
        stage.keys("<alt+y>");
        let text = stage.text();
        for part in ["Layout · 1 of 2", "Which layout?", "what Columns means", "| a |", "in your own words"] {
            assert!(text.contains(part), "no {part:?} at {width}x{height} in {text}");
        }
        stage.keys("<down>");
        assert!(stage.text().contains("| a | b |"), "{}", stage.text());
        assert_eq!(answers(&stage.keys("<enter>")), [], "one is left");
        assert!(stage.text().contains("Checks · 2 of 2"), "{}", stage.text());
        stage.keys("<space><down><down><space><down>and typos");
        let effects = stage.keys("<enter>");
        let both = vec![chosen(&["Columns"], None), chosen(&["Lint", "Types"], Some("and typos"))];
        assert_eq!(answers(&effects), [Answer::Choices { answers: both }]);
        assert!(stage.app.popup().is_none() && stage.app.approvals().is_empty());
    }
}

#[test]
fn nothing_is_answered_by_haste_and_a_question_that_is_left_stays_open() {
    let mut stage = asked(100, 30);
    stage.keys("<alt+y>");
    assert_eq!(answers(&stage.burst("<enter><enter>")), []);
    assert!(stage.text().contains("too quick"), "{}", stage.text());
    stage.keys("<esc>");
    assert!(stage.app.popup().is_none() && !stage.app.approvals().is_empty());
    stage.keys("a sentence");
    assert_eq!(stage.app.composer().text(), "a sentence", "nobody's keyboard is taken");
    assert_eq!(answers(&stage.keys("<alt+n>")), [Answer::No { comment: None }]);
}

#[test]
fn a_question_is_answered_by_the_mouse() {
    let mut stage = asked(120, 40);
    let click = |stage: &mut Stage, words: &str| {
        stage.wait(1_000);
        let text = stage.text();
        let (row, line) = text.lines().enumerate().find(|(_, line)| line.contains(words)).expect(words);
        let column = line[..line.find(words).unwrap()].chars().count();
        let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        stage.input(Input::Mouse(Mouse { kind: MouseKind::Press, column, row }))
    };
    click(&mut stage, "alt+y answer");
    assert!(matches!(stage.app.popup(), Some(Popup::Questions(_))), "{}", stage.text());
    click(&mut stage, "Columns");
    assert!(stage.text().contains("| a | b |"), "{}", stage.text());
    click(&mut stage, "Columns");
    assert!(stage.text().contains("Which checks?"), "{}", stage.text());
    click(&mut stage, "Tests");
    let effects = stage.keys("<enter>");
    let both = vec![chosen(&["Columns"], None), chosen(&["Tests"], None)];
    assert_eq!(answers(&effects), [Answer::Choices { answers: both }]);
}

#[test]
fn a_question_that_is_withdrawn_closes_its_form() {
    let mut stage = asked(100, 30);
    stage.keys("<alt+y>");
    let id = stage.app.approvals().shown().unwrap().id.clone();
    stage.main(EventKind::Tool(ToolEvent::ApprovalResolved { id, answer: None, by_grant: false }));
    assert!(stage.app.popup().is_none());
    assert!(stage.text().contains("no longer open"), "{}", stage.text());
}

#[test]
fn two_presses_answer_one_question() {
    let mut stage = asked(100, 30);
    stage.keys("<alt+y>");
    stage.draw();
    stage.wait(1_000);
    assert_eq!(answers(&stage.burst("<enter><enter>")), []);
    stage.draw();
    assert_eq!(answers(&stage.burst("<enter>")), [], "drawn, and not yet read");
    assert!(stage.text().contains("Checks · 2 of 2") && stage.text().contains("too quick"), "{}", stage.text());
    stage.wait(1_000);
    assert_eq!(answers(&stage.burst("<enter>")).len(), 1, "once it was read");
}

#[test]
fn a_question_that_one_turns_to_is_read_first() {
    let mut stage = asked(100, 30);
    stage.keys("<alt+y>");
    stage.draw();
    stage.wait(1_000);
    stage.burst("<right>");
    stage.draw();
    stage.burst("<enter>");
    assert!(stage.text().contains("Checks · 2 of 2") && stage.text().contains("too quick"), "{}", stage.text());
    stage.wait(1_000);
    stage.burst("<enter>");
    assert!(stage.text().contains("Layout · 1 of 2"), "{}", stage.text());
}

/// Four options with labels as long as they may be, below the longest question.
fn long_question(multi_select: bool) -> Vec<UserQuestion> {
    let option = |at: usize| QuestionOption {
        label: format!("{at}{}", " long label".repeat(5)).chars().take(50).collect(),
        description: format!("what {at} means, {}", "in many words ".repeat(6)),
        preview: None,
    };
    let question = format!("{} Which?", "word ".repeat(78));
    vec![UserQuestion { question, header: String::new(), options: (1..=4).map(option).collect(), multi_select }]
}

#[test]
fn no_key_takes_an_option_that_was_not_shown() {
    for (width, height) in [(60, 15), (40, 20), (80, 24)] {
        let mut stage = Stage::new(width, height).with_model();
        ask(&mut stage, "AskUserQuestion", "Which?", Preview::Questions { questions: long_question(false) });
        stage.keys("<alt+y>");
        let text = stage.text();
        assert!(text.contains("Which?") && text.contains("☐ 1 long label"), "{width}x{height}\n{text}");
        stage.wait(1_000);
        if height < 24 {
            assert!(!text.contains("4 long label"), "{text}");
            assert_eq!(answers(&stage.burst("<down><down><down><enter>")), [], "{width}x{height}");
            assert!(stage.text().contains("look at it first"), "{}", stage.text());
        }
        stage.keys("<up><up><up><up><down>");
        stage.draw();
        let text = stage.text();
        assert!(text.contains("☐ 2 long label"), "{text}");
        let label = &long_question(false)[0].options[1].label;
        let given = answers(&stage.keys("<enter>"));
        assert_eq!(given, [Answer::Choices { answers: vec![chosen(&[label], None)] }], "{width}x{height}");
    }
    let mut stage = Stage::new(60, 15).with_model();
    ask(&mut stage, "AskUserQuestion", "Which?", Preview::Questions { questions: long_question(true) });
    stage.keys("<alt+y>");
    stage.draw();
    stage.wait(1_000);
    stage.burst("<down><down><down>");
    stage.keys("<space>");
    assert!(stage.text().contains("look at it first"), "{}", stage.text());
    let last = &long_question(true)[0].options[3].label;
    let given = answers(&stage.keys("<space><enter>"));
    assert_eq!(given, [Answer::Choices { answers: vec![chosen(&[last], None)] }], "it was checked once, seen");
}

#[test]
fn a_question_that_is_not_shown_whole_is_not_answered() {
    for (width, height) in [(60, 10), (60, 12), (30, 15), (40, 10)] {
        let mut stage = Stage::new(width, height).with_model();
        ask(&mut stage, "AskUserQuestion", "Which?", Preview::Questions { questions: long_question(false) });
        stage.keys("<alt+y>");
        assert!(matches!(stage.app.popup(), Some(Popup::Questions(_))), "{}", stage.text());
        assert_eq!(answers(&stage.keys("<enter>")), [], "{width}x{height}");
        stage.resize(60, 15);
        stage.draw();
        assert_eq!(answers(&stage.keys("<enter>")).len(), 1, "{width}x{height}");
    }
}
