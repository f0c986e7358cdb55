//! What people press many times a day, and the habits that they bring from elsewhere.

use belvedere::agent::{EventKind, Status, ToolEvent};
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::layout::LayoutMode;
use belvedere::app::{Effect, Event, Focus, LogSpan, Popup};
use belvedere::message::{AgentId, ToolResult};
use belvedere::permission::PermissionMode;
use belvedere::subagent::Command;
use belvedere::tool::ToolView;

use crate::screens::scenes;
use crate::screens::stage::{Stage, tool_started};

fn paste(stage: &mut Stage, text: &str) {
    stage.event(Event::Input(Input::Paste(text.to_owned())));
}

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("pasted {number}")).collect::<Vec<_>>().join("\n")
}

fn flash(stage: &Stage) -> &str {
    stage.app.flash().map_or("", |flash| flash.text.as_str())
}

/// Clicks where a text stands, with a frame after each half of the click.
fn click(stage: &mut Stage, text: &str) {
    let frame = stage.text();
    let (row, line) = frame.lines().enumerate().find(|(_, line)| line.contains(text)).expect("it is on the screen");
    let column = u16::try_from(line[..line.find(text).unwrap()].chars().count()).unwrap();
    for kind in [MouseKind::Press, MouseKind::Release] {
        let row = u16::try_from(row).unwrap();
        stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row })));
        stage.draw();
    }
}

#[test]
fn the_answer_to_a_key_is_gone_with_the_next_one() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("/background 99<enter>");
    assert!(flash(&stage).contains("usage: /background"), "{}", stage.text());
    stage.keys("a");
    assert_eq!(flash(&stage), "");
    stage.keys("<backspace>/layout side<enter>");
    assert_eq!(flash(&stage), "layout: side");
    paste(&mut stage, "words");
    assert_eq!(flash(&stage), "", "a paste ends it, too");
}

#[test]
fn what_came_of_a_key_is_gone_with_the_next_one_too() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+2>x");
    stage.ends(2, Status::Cancelled, "", Some("Stopped by the user."));
    assert_eq!(flash(&stage), "plan-2 stopped · r resumes");
    stage.keys("j");
    assert_eq!(flash(&stage), "");
}

#[test]
fn ctrl_t_opens_the_timeline_from_anywhere() {
    for place in ["", "half a sentence", "<alt+1>", "<alt+1><enter>"] {
        let mut stage = scenes::eight_agents(120, 40);
        stage.keys(place);
        stage.keys("<ctrl+t>");
        assert_eq!(stage.app.focus(), Focus::Timeline, "{place}");
    }
}

#[test]
fn news_stay_their_time_while_someone_writes() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+2>m");
    stage.ends(2, Status::Completed, "Done.", None);
    assert!(flash(&stage).contains("plan-2 has ended"), "{}", stage.text());
    stage.keys("some words");
    assert!(flash(&stage).contains("plan-2 has ended"), "nobody has read it with the next letter");
    stage.wait(5_000);
    assert_eq!(flash(&stage), "");
}

#[test]
fn a_letter_that_waited_to_act_is_answered_until_the_next_key() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+2>");
    stage.burst("y");
    stage.wait(400);
    assert!(flash(&stage).contains("copied"), "{}", stage.text());
    stage.keys("j");
    assert_eq!(flash(&stage), "");
}

#[test]
fn copying_says_what_was_copied() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.says(1, "I look at the login.");
    stage.keys("<alt+1>y");
    assert!(flash(&stage).starts_with("no report yet; copied its last message: "), "{}", flash(&stage));
    stage.ends(1, Status::Completed, "It is in the cookie.", None);
    stage.keys("<alt+1>y");
    assert!(flash(&stage).starts_with("copied the report: "), "{}", flash(&stage));
}

#[test]
fn ctrl_d_deletes_and_quits_an_empty_composer_at_the_second_press() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("ab<home><ctrl+d>");
    assert_eq!(stage.app.composer().text(), "b");
    stage.keys("<ctrl+d>");
    assert_eq!((stage.app.composer().text().as_str(), stage.app.is_quitting()), ("", false));
    assert_eq!(stage.keys("<ctrl+d>"), []);
    assert_eq!(flash(&stage), "ctrl+d again quits");
    assert!(stage.keys("<ctrl+d>").contains(&Effect::Quit));
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("<ctrl+d>x<backspace><ctrl+d>");
    assert!(!stage.app.is_quitting(), "another key between them disarms");
}

#[test]
fn esc_twice_clears_the_text_and_undo_brings_it_back() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("a long question<esc>");
    assert_eq!((stage.app.composer().text().as_str(), flash(&stage)), ("a long question", "esc again clears the text"));
    stage.keys("<esc>");
    assert!(stage.app.composer().is_empty());
    stage.keys("<ctrl+_>");
    assert_eq!(stage.app.composer().text(), "a long question");
    stage.keys("<esc>s<esc>");
    assert_eq!(stage.app.composer().text(), "a long questions", "another key between them is typed");
    stage.asks("go");
    stage.keys("<esc><esc>");
    assert_eq!(stage.app.composer().text(), "a long questions", "while the main agent works, esc is about that");
}

#[test]
fn esc_clears_nothing_where_it_leaves_a_mode_of_vi() {
    let mut stage = Stage::with_setup(100, 30, |setup| setup.editing = belvedere::app::Editing::Vi);
    stage.keys("text<esc><esc><esc>");
    assert_eq!(stage.app.composer().text(), "text");
}

#[test]
fn q_leaves_the_agents_and_begins_a_sentence_all_the_same() {
    for view in ["<alt+1>", "<alt+1><enter>", "/timeline<enter>"] {
        let mut stage = scenes::eight_agents(120, 40);
        stage.keys(view);
        stage.keys("q");
        stage.wait(1_000);
        assert!(stage.app.composer().is_empty(), "{view}");
        assert_ne!(stage.app.focus(), Focus::Timeline, "{view}");
        assert!(view.contains("<enter>") || stage.app.focus() == Focus::Composer, "{view}: {:?}", stage.app.focus());
        let mut stage = scenes::eight_agents(120, 40);
        stage.keys(view);
        stage.wait(1_000);
        stage.burst("quite a question");
        assert_eq!(stage.app.composer().text(), "quite a question", "{view}");
    }
}

#[test]
fn a_click_on_a_call_opens_its_whole_output() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("count");
    stage.main(tool_started("b1", "Bash", "seq 1 200"));
    stage.main(EventKind::Tool(ToolEvent::Ended {
        result: ToolResult::text("b1", "out 200"),
        summary: "exit 0, 200 lines".to_owned(),
        view: Some(ToolView::Output { text: "out 200".to_owned() }),
        changes: Vec::new(),
    }));
    stage.says(0, "That was all.\n\n");
    click(&mut stage, "That was all");
    assert_eq!(stage.app.popup(), None, "words open nothing");
    stage.effects.clear();
    click(&mut stage, "Bash seq 1 200");
    let span = LogSpan::Output("b1".to_owned());
    let is_output = |effect: &Effect| matches!(effect, Effect::ReadLog(request) if request.span == span);
    assert!(stage.effects.iter().any(is_output), "{:?}", stage.effects);
    assert!(matches!(stage.app.popup(), Some(Popup::Output { .. })), "{}", stage.text());
    stage.keys("<esc>");
    let below = Mouse { kind: MouseKind::Press, column: 20, row: 20 };
    stage.event(Event::Input(Input::Mouse(below)));
    stage.event(Event::Input(Input::Mouse(Mouse { kind: MouseKind::Release, ..below })));
    stage.draw();
    assert_eq!(stage.app.popup(), None, "below the last line there is nothing to open");
}

#[test]
fn in_a_pane_the_first_click_chooses_and_the_second_opens() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+1><esc>");
    stage.calls(1, "c9", "Grep", "\"needle\"", "3 hits");
    click(&mut stage, "Grep \"needle\"");
    assert_eq!((stage.app.popup(), stage.app.marked_agent()), (None, Some(AgentId(1))));
    stage.wait(1_000);
    click(&mut stage, "Grep \"needle\"");
    assert!(matches!(stage.app.popup(), Some(Popup::Output { .. })), "{}", stage.text());
}

#[test]
fn a_paste_can_be_looked_into_before_it_is_sent() {
    let mut stage = Stage::new(100, 30).with_model();
    assert_eq!(stage.keys("see <tab>"), [], "without one, there is nothing to show");
    assert_eq!(stage.app.popup(), None);
    paste(&mut stage, &lines(500));
    assert!(stage.text().contains("tab show paste"), "{}", stage.text());
    stage.keys("<tab>");
    let text = stage.text();
    assert!(text.contains("[pasted 500 lines]") && text.contains("│ pasted 1 ") && text.contains(" of 500 "), "{text}");
    stage.keys("<esc>");
    assert_eq!(stage.app.composer().text(), "see [pasted 500 lines]");
    stage.keys(" and ");
    paste(&mut stage, &lines(20));
    let titled = |stage: &mut Stage, keys: &str| {
        stage.keys(keys);
        let Some(Popup::Output { title, .. }) = stage.app.popup() else { panic!("{}", stage.text()) };
        let title = title.clone();
        stage.keys("<esc>");
        title
    };
    assert_eq!(titled(&mut stage, "<tab>"), "[pasted 20 lines]");
    assert_eq!(
        titled(&mut stage, "<home><right><right><right><right><tab>"),
        "[pasted 500 lines]",
        "the one at the cursor"
    );
    assert_eq!(titled(&mut stage, "<home><tab>"), "[pasted 20 lines]", "else the last");
}

#[test]
fn a_layout_is_tried_while_it_is_chosen() {
    let mut stage = scenes::eight_agents(140, 40);
    let before = stage.app.regions().form;
    assert_eq!(stage.keys("<ctrl+l>"), [], "the habit of redrawing changes nothing");
    assert!(stage.text().contains("one row for each agent"), "{}", stage.text());
    assert_eq!(stage.keys("<ctrl+l><ctrl+l>"), []);
    assert_ne!(stage.app.regions().form, before, "it is seen at once");
    assert_eq!(stage.keys("<esc>"), []);
    assert_eq!((stage.app.regions().form, stage.app.layout_mode()), (before, LayoutMode::Auto));
    stage.keys("/layout<enter><down><down><enter>");
    assert_eq!(stage.app.layout_mode(), LayoutMode::Below);
}

#[test]
fn a_command_that_names_nothing_offers_what_it_can_be_about() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.ends(1, Status::Completed, "Done.", None);
    stage.keys("/mode<enter>");
    let text = stage.text();
    for words in ["permission mode", "ask  ", "accept edits", "plan", "bypass"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("acceptEdits"), "one name each\n{text}");
    stage.keys("<down><enter>");
    assert_eq!(stage.app.status().mode, PermissionMode::AcceptEdits);
    let effects = stage.keys("/cancel<enter><enter>");
    assert!(
        effects.contains(&Effect::Command(Command::Stop { agent: AgentId(2) })),
        "the first that runs: {effects:?}"
    );
    let effects = stage.keys("/wrapup<enter><down><enter>");
    assert!(effects.contains(&Effect::Command(Command::WrapUp { agent: AgentId(3) })), "{effects:?}");
    stage.keys("/resume<enter>");
    assert!(stage.text().contains("resume an agent"), "{}", stage.text());
    stage.keys("<enter>");
    assert_eq!(stage.app.target().map(|agent| agent.id), Some(AgentId(1)), "what has ended, and asks what to do next");
}

#[test]
fn a_list_of_agents_keeps_its_rows_while_they_end() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("/cancel<enter><down>");
    stage.ends(1, Status::Completed, "Done.", None);
    let effects = stage.keys("<enter>");
    assert!(effects.contains(&Effect::Command(Command::Stop { agent: AgentId(2) })), "{effects:?}");
}

#[test]
fn a_command_without_an_agent_says_so() {
    let mut stage = Stage::new(100, 30).with_model();
    for (command, says) in [("cancel", "no agent to stop"), ("resume", "no agent to resume")] {
        stage.keys(&format!("/{command}<enter>"));
        assert_eq!((flash(&stage), stage.app.popup()), (says, None));
    }
}

#[test]
fn w_asks_before_it_interrupts_a_command() {
    let wrapped = |effects: &[Effect]| effects.contains(&Effect::Command(Command::WrapUp { agent: AgentId(1) }));
    let mut stage = Stage::new(120, 36).with_model();
    stage.asks("test it");
    stage.spawns(1, "code", "Run the tests");
    stage.starts(1);
    stage.agent(1, tool_started("b1", "Bash", "cargo test"));
    stage.wait(39_000);
    stage.keys("<alt+1>");
    assert!(!wrapped(&stage.keys("w")));
    assert!(flash(&stage).starts_with("w again interrupts Bash ("), "{}", flash(&stage));
    assert!(wrapped(&stage.keys("w")), "{}", stage.text());
    stage.tool_ends(1, "b1", "exit 0", None);
    stage.spawns(2, "code", "Look around");
    stage.starts(2);
    stage.keys("<alt+2>");
    let effects = stage.keys("w");
    assert!(effects.contains(&Effect::Command(Command::WrapUp { agent: AgentId(2) })), "nothing runs: {effects:?}");
}

#[test]
fn the_heading_holds_the_question_that_is_out_of_sight() {
    let mut stage = scenes::eight_agents(120, 40);
    let head = |stage: &mut Stage| stage.text().lines().next().unwrap().to_owned();
    assert!(head(&mut stage).contains("─ conversation ─"), "{}", stage.text());
    stage.says(0, &"A line of the answer.\n\n".repeat(60));
    assert!(head(&mut stage).contains("› Refactor auth to use JWT ─"), "{}", stage.text());
    stage.keys("<f6>");
    while stage.app.focus() != Focus::Conversation {
        stage.keys("<f6>");
    }
    stage.keys("g");
    assert!(head(&mut stage).contains("─ conversation ─"), "it is on the screen again\n{}", stage.text());
}

#[test]
fn the_first_screen_says_how_to_connect_a_model_however_small_it_is() {
    for (width, height) in [(60, 15), (40, 10), (80, 24), (120, 36)] {
        let mut stage = scenes::welcome(width, height);
        let text = stage.text();
        for words in ["belvedere", "Ask", "Ollama."] {
            assert!(text.contains(words), "{width}x{height} {words}\n{text}");
        }
        let column = text.lines().find_map(|line| line.find("belvedere")).unwrap();
        stage.asks("hi");
        let text = stage.text();
        assert_eq!(text.lines().find_map(|line| line.find('›')), Some(column), "nothing moves aside\n{text}");
    }
}

#[test]
fn nothing_spent_is_a_sentence_and_no_empty_table() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("/cost<enter>");
    let text = stage.text();
    assert!(text.contains("Nothing spent yet.") && !text.contains("subtree"), "{text}");
}

#[test]
fn an_open_question_names_its_answers_once() {
    let mut stage = scenes::approval(80, 24);
    stage.keys("<f6>");
    let text = stage.text();
    assert_eq!(text.matches("y once").count(), 1, "{text}");
}

#[test]
fn no_row_of_a_pane_is_blank_between_its_paragraphs() {
    let mut stage = Stage::new(120, 40).with_model();
    stage.asks("look around");
    stage.spawns(1, "explore", "Find it");
    stage.starts(1);
    stage.says(
        1,
        "First paragraph.\n\nSecond paragraph.\n\n- one\n- two\n\n```\nlet a = 1;\n\nlet b = 2;\n```\n\nThird.\n\n",
    );
    stage.says(1, "Fourth.\n\n Fifth, still");
    let streamed = stage.text();
    let fourth = streamed.lines().position(|line| line.contains("Fourth.")).unwrap();
    assert!(streamed.lines().nth(fourth + 1).unwrap().contains("Fifth, still"), "{streamed}");
    stage.calls(1, "c1", "Grep", "needle", "3 hits");
    let body = |stage: &mut Stage| {
        let text = stage.text();
        let rows = text.lines().filter_map(|line| Some(line.split_once('▎')?.1.trim().to_owned()));
        rows.take_while(|row| !row.starts_with("● Grep")).collect::<Vec<_>>()
    };
    let rows = body(&mut stage);
    let blank = rows.iter().filter(|row| row.is_empty()).count();
    assert_eq!(blank, 1, "only the one that is part of the code\n{}", stage.text());
    stage.keys("<alt+1><enter>");
    let rows = body(&mut stage);
    let first = rows.iter().position(|row| row == "First paragraph.").unwrap();
    assert_eq!(
        (rows[first + 1].as_str(), rows[first + 2].as_str()),
        ("", "Second paragraph."),
        "alone, it has the room"
    );
}

#[test]
fn a_text_is_put_aside_and_comes_back() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<ctrl+s>");
    assert_eq!(flash(&stage), "nothing to stash");
    let effects = stage.keys("half a thought<ctrl+s>");
    assert!(effects.contains(&Effect::SaveHistory("half a thought".to_owned())), "it is not lost: {effects:?}");
    assert_eq!((stage.app.composer().text().as_str(), flash(&stage)), ("", "stashed · ctrl+s brings it back"));
    stage.keys("first this<ctrl+s>");
    assert_eq!(stage.app.composer().text(), "half a thought");
    assert_eq!(flash(&stage), "stashed; the other text is back");
    stage.keys("<ctrl+u><ctrl+s>");
    assert_eq!((stage.app.composer().text().as_str(), flash(&stage)), ("first this", "the stashed text is back"));
}

#[test]
fn the_history_is_walked_down_with_the_key_of_readline_too() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("one<ctrl+c>two<ctrl+c><up><up>");
    assert_eq!(stage.app.composer().text(), "one");
    stage.keys("<ctrl+n>");
    assert_eq!(stage.app.composer().text(), "two");
}
