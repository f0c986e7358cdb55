//! What keys do.

use belvedere::agent::{Author, EventKind, SessionEvent, Status};
use belvedere::app::key::Input;
use belvedere::app::layout::{LayoutForm, LayoutMode};
use belvedere::app::{Effect, Event, Focus, Movement, ProgramState};
use belvedere::message::{AgentId, MessageId};
use belvedere::permission::PermissionMode;
use belvedere::subagent::{Children, Command};

use crate::screens::scenes;
use crate::screens::stage::Stage;

/// Returns the requests to the engine among the effects.
fn commands(effects: &[Effect]) -> Vec<Command> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Command(command) => Some(command.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn enter_sends_the_message_and_remembers_it() {
    let mut stage = Stage::new(100, 30);
    let effects = stage.keys("hi there<enter>");
    assert_eq!(commands(&effects), [Command::Send { id: MessageId(1), text: "hi there".into() }]);
    assert!(effects.contains(&Effect::SaveHistory("hi there".to_owned())));
    assert!(stage.app.composer().is_empty());
}

#[test]
fn an_unknown_command_reaches_no_model() {
    let mut stage = Stage::new(100, 30);
    let effects = stage.keys("/hlep<enter><enter>");
    assert_eq!(commands(&effects), []);
    assert!(stage.text().contains("no command /hlep"));
}

#[test]
fn queued_messages_are_shown_and_taken_back() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("first");
    stage.keys("second<enter>third<enter>");
    assert_eq!(stage.app.queued(), ["second", "third"]);
    assert!(stage.text().contains("queued  second"));
    let effects = stage.keys("<up>");
    assert_eq!(commands(&effects), [Command::Unsend { id: MessageId(2) }], "the newest, and no other");
    assert_eq!((stage.app.composer().text().as_str(), stage.app.queued()), ("third", vec!["second"]));
    assert_eq!(commands(&stage.keys("<ctrl+c><up>")), [Command::Unsend { id: MessageId(1) }]);
    stage.main(EventKind::UserMessage { text: "second".to_owned(), by: Author::User, id: None });
    assert!(stage.app.composer().is_empty(), "it had been read already");
    stage.keys("fourth<enter>");
    stage.main(EventKind::UserMessage { text: "fourth".to_owned(), by: Author::User, id: None });
    assert!(stage.app.queued().is_empty());
}

#[test]
fn messages_are_told_apart_by_their_number_and_not_by_their_words() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("begin");
    stage.keys("again<enter>again<enter>");
    let (first, second) = (stage.sent("again")[0], stage.sent("again")[1]);
    assert_eq!(commands(&stage.keys("<up>")), [Command::Unsend { id: second }]);
    stage.main(EventKind::UserMessage { text: "again".to_owned(), by: Author::User, id: Some(first) });
    assert!(stage.app.queued().is_empty());
    assert_eq!(stage.app.composer().text(), "again", "the one that was taken back was not read");
    stage.keys("<ctrl+c>fix it<enter>fix it now<enter>");
    stage.main(EventKind::UserMessage { text: "fix it now".to_owned(), by: Author::User, id: None });
    assert_eq!(stage.app.queued(), ["fix it"], "a message that another one contains still waits");
}

#[test]
fn x_stops_the_chosen_agent_and_no_other() {
    let mut stage = scenes::eight_agents(120, 40);
    let effects = stage.keys("<down>jx");
    assert_eq!(commands(&effects), [Command::Stop { agent: AgentId(2) }]);
    stage.ends(2, Status::Cancelled, "", Some("stopped by the user"));
    assert!(stage.text().contains("plan-2 stopped · r resumes"), "{}", stage.text());
    let effects = stage.keys("4x");
    assert_eq!(commands(&effects), [], "an ended agent is not stopped again");
}

#[test]
fn esc_stops_nothing_wherever_it_is_pressed() {
    let views: [&str; 15] = [
        "",
        "<down>",
        "<alt+1><alt+1>",
        "<f6>",
        "<f6><f6>",
        "<f6><f6><f6>",
        "<ctrl+p>",
        "<f1>",
        "<alt+2>p",
        "/agents<enter>",
        "/agents<enter>/re<enter><enter>x",
        "/tasks<enter>",
        "<alt+3><alt+3>/needle",
        "<f6>e",
        "text",
    ];
    for view in views {
        let mut stage = scenes::approval(120, 40);
        stage.keys(view);
        for _ in 0..20 {
            stage.wait(300);
            let effects = stage.keys("<esc>");
            // Twice in the composer it interrupts the main agent, whose subagents go on.
            let kept = Command::Interrupt { children: Children::Keep };
            assert!(commands(&effects).iter().all(|command| *command == kept), "after {view:?}: {effects:?}");
        }
    }
}

#[test]
fn esc_twice_interrupts_the_main_agent_and_no_subagent() {
    let mut stage = Stage::new(100, 30);
    stage.asks("a long task");
    assert_eq!(commands(&stage.keys("<esc>")), []);
    assert!(stage.text().contains("esc again interrupts"));
    assert_eq!(commands(&stage.keys("<esc>")), [Command::Interrupt { children: Children::Keep }]);

    stage.asks("another");
    stage.keys("<esc>");
    stage.wait(2_500);
    assert_eq!(commands(&stage.keys("<esc>")), [], "the second press came too late");

    stage.wait(3_000);
    stage.spawns(1, "explore", "Find things");
    assert_eq!(commands(&stage.keys("<esc>")), []);
    assert!(stage.text().contains("esc again interrupts, subagents keep running · ctrl+x ctrl+x stops all"));
    assert_eq!(commands(&stage.keys("<esc>")), [Command::Interrupt { children: Children::Keep }]);
    for keys in ["stop doing that please", "<left>", "<ctrl+a>", "<pageup>"] {
        assert_eq!(commands(&stage.keys("<esc>")), []);
        stage.effects.clear();
        stage.keys(keys);
        assert_eq!(commands(&stage.effects), [], "{keys}");
        assert!(!stage.text().contains("again interrupts"), "{keys} takes the question back");
        assert_eq!(commands(&stage.keys("<end><esc>")), [], "{keys} disarms");
        stage.wait(3_000);
    }
    assert_eq!(stage.app.composer().text(), "stop doing that please", "no letter is lost");
    stage.keys("<esc>");
    assert_eq!(commands(&stage.keys("<ctrl+x><ctrl+x>")), [Command::StopAll]);
}

#[test]
fn stopping_everything_takes_two_presses_and_says_how_many() {
    let mut stage = scenes::eight_agents(120, 40);
    assert_eq!(commands(&stage.keys("<ctrl+x>")), []);
    assert!(stage.text().contains("the main agent and 6 subagents"), "{}", stage.text());
    assert_eq!(commands(&stage.keys("<ctrl+x>")), [Command::StopAll]);
    stage.keys("<ctrl+x>");
    stage.wait(2_500);
    assert_eq!(commands(&stage.keys("<ctrl+x>")), [], "the first press was forgotten");
}

#[test]
fn ctrl_c_clears_then_names_what_runs_then_quits() {
    let mut stage = scenes::eight_agents(120, 40);
    let cleared = stage.keys("draft<ctrl+c>");
    assert!(stage.app.composer().is_empty() && cleared.contains(&Effect::SaveHistory("draft".to_owned())));
    stage.keys("<ctrl+_>");
    assert_eq!(stage.app.composer().text(), "draft", "undo brings it back");
    stage.keys("<ctrl+c><up>");
    assert_eq!(stage.app.composer().text(), "draft", "so does the history");
    stage.event(Event::Input(Input::Paste("line\n".repeat(500))));
    stage.keys("<ctrl+c><ctrl+_>");
    assert_eq!(stage.app.composer().expanded().lines().count(), 500, "a paste comes back whole");
    stage.keys("<ctrl+c>");
    for between in ["x<backspace>", "<left>", "<f1><esc>"] {
        stage.keys("<ctrl+c>");
        assert!(!stage.keys(&format!("{between}<ctrl+c>")).contains(&Effect::Quit), "{between} disarms");
        stage.wait(3_000);
    }
    stage.keys("<ctrl+c>");
    assert!(stage.text().contains("ctrl+c again quits and stops the main agent and 6 subagents"));
    let effects = stage.keys("<ctrl+c>");
    assert!(effects.contains(&Effect::Quit));
}

#[test]
fn a_run_that_ends_between_two_ctrl_c_does_not_undo_the_first() {
    let mut stage = Stage::new(80, 24);
    stage.asks("go");
    stage.keys("<ctrl+c>");
    stage.ends(0, Status::Completed, "Done.", None);
    assert!(stage.text().contains("ctrl+c again quits"), "{}", stage.text());
    assert!(stage.keys("<ctrl+c>").contains(&Effect::Quit));
    // An interrupt has nothing left to interrupt, and is not asked for any more.
    stage.asks("go");
    stage.keys("<esc>");
    stage.ends(0, Status::Completed, "Done.", None);
    assert!(!stage.text().contains("again interrupts"), "{}", stage.text());
}

#[test]
fn alt_number_focuses_and_again_fills_the_screen() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+3>");
    assert_eq!((stage.app.focus(), stage.app.focused_agent()), (Focus::Agents, Some(AgentId(3))));
    stage.keys("<alt+3>");
    assert!(stage.text().starts_with("▾ 3 Implement the tokens"));
    stage.keys("<esc><esc>");
    assert_eq!(stage.app.focus(), Focus::Composer);
}

#[test]
fn a_typed_text_never_becomes_a_command_of_another_region() {
    let mut stage = scenes::approval(120, 40);
    let effects = stage.keys("yes, no and x<enter>");
    assert_eq!(commands(&effects), [Command::Send { id: MessageId(1), text: "yes, no and x".into() }]);
}

#[test]
fn the_palette_finds_by_letters_and_carries_out() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<ctrl+p>next permission");
    assert!(stage.text().contains("switch to the next permission mode"), "{}", stage.text());
    let effects = stage.keys("<enter>");
    assert_eq!(commands(&effects), [Command::SetMode(PermissionMode::AcceptEdits)]);
    assert_eq!(stage.app.popup(), None);
}

#[test]
fn slash_commands_do_what_they_say() {
    let mut stage = scenes::eight_agents(120, 40);
    assert_eq!(commands(&stage.keys("/cancel 2<enter>")), [Command::Stop { agent: AgentId(2) }]);
    assert_eq!(commands(&stage.keys("/cancel all<enter>")), [Command::StopAll]);
    assert_eq!(commands(&stage.keys("/mode plan<enter>")), [Command::SetMode(PermissionMode::Plan)]);
    let named = Command::UseModel { agent: AgentId::MAIN, name: "llamacpp".to_owned() };
    assert_eq!(commands(&stage.keys("/model llamacpp<enter>")), [named]);
    stage.keys("/layout rail<enter>");
    assert!(stage.text().contains("layout: rail"));
    stage.keys("/cost<enter>");
    assert!(stage.text().contains("all agents"));
    stage.keys("<esc>");
    assert!(Stage::new(80, 24).keys("/clear<enter>").contains(&Effect::Command(Command::Clear)));
}

#[test]
fn clear_names_what_it_stops_and_what_is_stopped_can_be_resumed() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+1>mhalf a thought<esc>second<enter>");
    assert_eq!(commands(&stage.keys("/clear<enter>")), []);
    assert!(stage.text().contains("enter again starts over and stops the main agent and 6 subagents: explore-1"));
    assert_eq!(commands(&stage.keys("<left><enter>")), [], "any other key disarms");
    assert_eq!(stage.app.agents().len(), 8);
    assert_eq!(commands(&stage.keys("<enter>")), [Command::Clear]);
    let names = |stage: &Stage| stage.app.agents().children().map(|agent| agent.id.0).collect::<Vec<_>>();
    assert_eq!(names(&stage), [1, 2, 3, 5, 7, 8], "those that were stopped stay");
    for agent in [1, 2, 3, 5, 7, 8] {
        stage.ends(agent, Status::Cancelled, "", Some("stopped by the user"));
    }
    stage.session(SessionEvent::Cleared);
    assert_eq!(names(&stage), [1, 2, 3, 5, 7, 8]);
    assert!(stage.text().contains("explore"), "{}", stage.text());
    let resumed = [Command::Resume { agent: AgentId(2), message: None }];
    assert_eq!(commands(&stage.keys("<alt+2>r")), resumed);
    stage.keys("<alt+1>m");
    assert_eq!(stage.app.composer().text(), "half a thought", "no draft is lost");
    assert!(stage.app.composer().history().entries().contains(&"second".to_owned()), "nor what had waited");
}

#[test]
fn y_copies_the_report_and_p_shows_the_task() {
    let mut stage = scenes::eight_agents(120, 40);
    let effects = stage.keys("<alt+4>y");
    let copied = effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    });
    assert!(copied.unwrap().contains("**31 tests**"));
    stage.keys("p");
    assert!(stage.text().contains("RETURN: a short report."));
}

#[test]
fn the_user_is_told_only_while_looking_elsewhere() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.wants_to_run(1, "b1", "make");
    scenes::look_away(&mut stage);
    stage.wants_to_run(2, "b2", "make check");
    let told: Vec<&Effect> = stage.effects.iter().filter(|effect| matches!(effect, Effect::Notify(_))).collect();
    assert_eq!(told, [&Effect::Notify("main › plan-2 needs your permission: make check".to_owned())]);
    let told = stage.effects.iter().rev().find_map(|effect| match effect {
        Effect::TellStatus(status) => Some(status.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!(
        (told.title.as_str(), told.agents[0].state),
        ("(2) belvedere: waiting for you", ProgramState::NeedsPermission)
    );
    let wait = stage.app.next_wakeup().unwrap().saturating_duration_since(stage.app.now());
    assert!(wait.as_millis() > 120, "only clocks move where another window has the focus");
}

#[test]
fn nothing_wakes_an_idle_screen() {
    let mut stage = scenes::welcome(120, 40);
    stage.draw();
    stage.wait(10_000);
    stage.draw();
    assert_eq!(stage.app.next_wakeup(), None);
    assert!(!stage.app.is_dirty());
    stage.event(Event::Wakeup);
    assert!(!stage.app.is_dirty(), "time alone changes nothing");
}

#[test]
fn five_ended_panes_come_to_rest() {
    let mut stage = scenes::eight_agents(200, 60);
    for agent in [1, 2, 3, 5, 7, 8] {
        stage.ends(agent, Status::Completed, "<summary>done</summary>", None);
    }
    stage.ends(0, Status::Completed, "", None);
    for _ in 0..5 {
        stage.draw();
        stage.wait(4_000);
    }
    stage.draw();
    stage.wait(4_000);
    stage.draw();
    assert_eq!(stage.app.next_wakeup(), None);
}

#[test]
fn slash_quit_names_what_runs_first() {
    let mut stage = scenes::eight_agents(120, 40);
    assert!(!stage.keys("/quit<enter>").contains(&Effect::Quit));
    assert!(stage.text().contains("the main agent and 6 subagents: explore-1"), "{}", stage.text());
    assert!(!stage.keys("<left><enter>").contains(&Effect::Quit), "any other key disarms");
    assert!(stage.keys("<enter>").contains(&Effect::Quit));
    let mut idle = Stage::new(80, 24);
    assert!(idle.keys("/quit<enter>").contains(&Effect::Quit));
}

#[test]
fn a_command_that_is_written_out_is_the_one_that_runs() {
    let mut stage = Stage::new(120, 40);
    stage.keys("/mode<enter>");
    assert!(stage.text().contains("permission mode"), "this is not /model\n{}", stage.text());
}

#[test]
fn files_are_offered_as_soon_as_they_are_known() {
    let mut stage = Stage::new(120, 40);
    assert!(stage.keys("look at @lay").contains(&Effect::ListFiles));
    assert!(stage.app.composer().completion().is_none());
    stage.event(Event::FilesListed(vec!["src/layout.rs".to_owned()]));
    assert!(stage.text().contains("src/layout.rs"));
}

#[test]
fn no_key_is_named_that_would_do_nothing() {
    let hints = |stage: &Stage| stage.app.hints().into_iter().map(|(_, word)| word).collect::<Vec<_>>();
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+1>");
    assert!(hints(&stage).contains(&"stop") && !hints(&stage).contains(&"resume"));
    stage.keys("<alt+4>");
    assert!(!hints(&stage).contains(&"stop") && hints(&stage).contains(&"resume"), "it has ended");
    stage.keys("<f1>");
    assert_eq!(hints(&stage), ["close"]);
    let mut asked = scenes::approval(120, 40);
    asked.keys("<f6>e");
    assert_eq!(hints(&asked), ["deny", "close"]);
    assert!(!hints(&Stage::new(120, 40)).contains(&"agents"), "there are none");
}

#[test]
fn layout_and_motion_are_as_the_configuration_says() {
    let mut stage = Stage::with_setup(120, 40, |setup| {
        setup.arrangement.mode = LayoutMode::Below;
        setup.motion = Movement::Reduced;
    });
    stage.asks("go");
    stage.spawns(1, "explore", "Find things");
    stage.starts(1);
    stage.text();
    assert_eq!(stage.app.regions().form, LayoutForm::Below);
    let frame = stage.app.spinner_frame();
    let wait = stage.app.next_wakeup().unwrap().duration_since(stage.app.now());
    stage.wait(500);
    assert_eq!(stage.app.spinner_frame(), frame, "nothing turns");
    assert!(wait > std::time::Duration::from_millis(500), "only the clock counts: {wait:?}");
}

#[test]
fn a_chosen_row_has_one_ground_in_every_theme() {
    for name in ["dark", "light", "high-contrast", "terminal-16"] {
        let mut stage = scenes::eight_agents(120, 40);
        stage.keys(&format!("/theme {name}<enter><esc><alt+3>"));
        stage.draw();
        let (buffer, _) = stage.draw();
        let row = stage.app.regions().pane(AgentId(3)).unwrap().area;
        let ground = |x: u16| {
            let style = buffer[(x, row.y)].style();
            let reversed = style.add_modifier.contains(ratatui::style::Modifier::REVERSED);
            if reversed { style.fg } else { style.bg }
        };
        assert!((row.x..row.right()).all(|x| ground(x) == ground(row.x)), "{name}");
    }
}

#[test]
fn an_act_on_no_agent_says_what_is_missing() {
    for act in ["stop this agent", "fold or unfold the pane", "show the agent's task"] {
        let mut stage = scenes::eight_agents(120, 40);
        assert_eq!(commands(&stage.keys(&format!("<ctrl+p>{}<enter>", act.replace(' ', "<space>")))), []);
        assert!(stage.text().contains("select an agent first"), "{act}: {}", stage.text());
    }
}

#[test]
fn agents_above_nine_are_chosen_by_typing_their_number() {
    let mut stage = Stage::new(120, 40).with_model();
    stage.asks("work");
    for agent in 1..=13 {
        stage.spawns(agent, "explore", "Look around");
        stage.starts(agent);
    }
    stage.draw();
    stage.keys("<alt+2>12");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(12)));
    stage.keys("1");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(1)), "after a while a number begins anew");
    stage.keys("1");
    stage.keys("3");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(3)));
    stage.keys("10");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(10)));
    // Fast, as a number is typed, and over an agent that has the focus already.
    stage.keys("1");
    stage.wait(1_000);
    stage.burst("13");
    assert_eq!((stage.app.focused_agent(), stage.app.composer().text()), (Some(AgentId(13)), String::new()));
    stage.keys("0");
    assert!(stage.text().contains("no agent 0"), "{}", stage.text());
}

#[test]
fn plus_gives_a_pane_rows_until_it_has_the_screen() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.text();
    stage.keys("<alt+3>");
    let mut rows = stage.app.regions().pane(AgentId(3)).unwrap().area.height;
    for _ in 0..40 {
        stage.keys("+");
        stage.text();
        if stage.app.regions().form == LayoutForm::Full {
            return;
        }
        let now = stage.app.regions().pane(AgentId(3)).unwrap().area.height;
        assert!(now > rows, "{now} rows after {rows}");
        rows = now;
    }
    panic!("it never had the whole screen");
}

#[test]
fn ended_agents_fold_into_one_row_with_the_next_message() {
    let mut stage = scenes::ended(120, 40);
    stage.text();
    let before = stage.app.regions().panes.len();
    assert!(before > 0 && !stage.text().contains("a show"));
    stage.asks("and now?");
    assert!(stage.app.regions().panes.is_empty(), "{}", stage.text());
    assert!(stage.text().contains("a show"), "{}", stage.text());
    stage.keys("<alt+1>");
    assert!(stage.app.regions().pane(AgentId(1)).is_some(), "its number still finds it");
    stage.keys("a");
    assert_eq!(stage.app.regions().panes.len(), before);
    assert!(stage.text().contains("a fold"), "{}", stage.text());
}

#[test]
fn a_passing_message_covers_no_hint() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+1>w");
    let text = stage.text();
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[rows.len() - 1].contains("x stop  w wrap up"), "{text}");
    assert!(text.contains("explore-1 is wrapping up") && !rows[rows.len() - 1].contains("is wrapping up"), "{text}");
}
