//! Delegation through the real loop, with a scripted model.

use belvedere::agent::{EventKind, Status, ToolEvent, TurnEvent};
use belvedere::definition::{Catalog, Source, Tier, parse};
use belvedere::message::{AgentId, Message, ToolResult};
use belvedere::permission::{Answer, PermissionMode};
use belvedere::session::Secrets;
use belvedere::subagent::Command;
use serde_json::json;

use super::{delegate, last_of_main, reply, results, script, task};
use crate::support::{Parts, Session};

#[tokio::test]
async fn only_reports_reach_the_parent_in_the_order_of_the_calls() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["slow", "fast"])),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "all done"})]),
        reply(
            json!({"task": "work called slow", "turn": 0}),
            vec![
                json!({"think": "CANARY-thought"}),
                json!({"say": "CANARY-aside"}),
                json!({"call": "Read", "input": {"file_path": "secret.txt"}}),
            ],
        ),
        reply(
            json!({"task": "work called slow", "turn": 1}),
            vec![json!({"wait_ms": 50}), json!({"say": "<summary>slow report</summary>"})],
        ),
        reply(json!({"task": "work called fast"}), vec![json!({"say": "<summary>fast report</summary>"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    std::fs::write(session.root().join("secret.txt"), "CANARY-file").unwrap();
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "all done"));
    let request = last_of_main(&provider);
    // Who has sent others out may wait for the next ones longer than services keep a prompt.
    let long = provider.requests().iter().filter(|request| request.waits_long).count();
    assert_eq!((request.waits_long, long), (true, 1), "neither before nor in a child");
    let texts: Vec<String> = results(&request).iter().map(ToolResult::joined_text).collect();
    assert!(texts[0].contains("slow report") && texts[1].contains("fast report"), "{texts:#?}");
    assert!(texts[0].starts_with("status: completed\nagent: explore-1 (explore)   tools: 1   "), "{}", texts[0]);
    assert!(!format!("{request:?}").contains("CANARY"), "something of a child leaked");
    let child = provider.requests().into_iter().find(|request| !results(request).is_empty()).unwrap();
    assert!(format!("{child:?}").contains("CANARY-file"), "the child itself must have read the file");
    session.quit().await;
}

#[tokio::test]
async fn a_child_starts_from_its_task_and_nothing_else() {
    let provider = script(&[
        reply(json!({"task": "private words", "turn": 0}), delegate(&["alone"])),
        reply(json!({"task": "work called alone"}), vec![json!({"say": "ok"})]),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("private words").await;
    let child = provider.requests().into_iter().nth(1).unwrap();
    assert_eq!(child.messages.len(), 1);
    assert_eq!(child.messages[0].as_ref(), &Message::user(task("alone")));
    assert!(child.tools.iter().all(|tool| tool.name != "Agent"), "children have no children by default");
    session.quit().await;
}

#[tokio::test]
async fn stopping_one_leaves_the_others_alone() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["first", "second"])),
        reply(json!({"task": "work called first"}), vec![json!({"say": "I had found"}), json!({"stall": true})]),
        reply(json!({"task": "work called second", "turn": 0}), vec![json!({"call": "LS", "input": {"path": "."}})]),
        reply(json!({"task": "work called second", "turn": 1}), vec![json!({"say": "<summary>fine</summary>"})]),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    session
        .wait(|event| {
            matches!(&event.kind, EventKind::Turn(TurnEvent::Text { text }) if text.contains("found")).then_some(())
        })
        .await;
    session.send(Command::Stop { agent: AgentId(1) });
    session.ended(AgentId::MAIN).await;
    let texts: Vec<String> = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect();
    assert!(texts[0].starts_with("status: cancelled") && texts[0].contains("I had found"), "{}", texts[0]);
    assert!(texts[1].starts_with("status: completed"), "{}", texts[1]);
    let seen = session.quit().await;
    for child in [AgentId(1), AgentId(2)] {
        let of_child: Vec<_> = seen.iter().filter(|event| event.agent == child).collect();
        let ends = of_child.iter().filter(|event| matches!(event.kind, EventKind::Ended { .. })).count();
        assert_eq!(ends, 1, "exactly one end record");
        assert!(matches!(of_child.last().unwrap().kind, EventKind::Ended { .. }), "nothing after it");
    }
}

#[tokio::test]
async fn refusals_make_no_pane_and_say_what_to_do() {
    let call = |input: serde_json::Value| json!({"call": "Agent", "input": input});
    let long = task("x");
    let provider = script(&[
        reply(
            json!({"turn": 0}),
            vec![
                call(json!({"description": "d", "subagent_type": "wizard", "prompt": long})),
                call(json!({"description": "d", "prompt": "fix it"})),
                call(
                    json!({"description": "d", "subagent_type": "explore", "prompt": long, "allowed_tools": ["Write", "Foo"]}),
                ),
                call(json!({"description": "d", "prompt": long, "model": "missing"})),
                call(json!({"description": "d"})),
                json!({"call": "Agent", "raw": "{\"prompt\": "}),
                json!({"call": "Teleport", "input": {}}),
            ],
        ),
        reply(json!({"turn": 1}), vec![json!({"say": "I see"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let results = results(&last_of_main(&provider));
    assert!(results.iter().all(|result| result.is_error), "{results:#?}");
    let texts: Vec<String> = results.iter().map(ToolResult::joined_text).collect();
    for (text, expected) in texts.iter().zip([
        "Available: ",
        "too brief",
        "Write is not among this agent's tools, Foo is not a tool",
        "no model `missing`",
        "missing field `prompt`",
        "not a JSON object",
        "There is no tool `Teleport`",
    ]) {
        assert!(text.contains(expected), "{expected:?} is not in {text:?}");
    }
    let seen = session.quit().await;
    assert!(seen.iter().all(|event| !matches!(event.kind, EventKind::Spawned(_))));
}

#[tokio::test]
async fn what_does_not_fit_waits_visibly_and_starts_in_order() {
    waits_and_starts_in_order().await;
}

/// There, the task that was spawned last runs first.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_does_not_fit_starts_in_order_on_a_worker_thread() {
    waits_and_starts_in_order().await;
}

async fn waits_and_starts_in_order() {
    let names = ["a1", "b2", "c3", "d4"];
    let mut lines = vec![reply(json!({"task": "go", "turn": 0}), delegate(&names))];
    lines.extend(names.iter().map(|name| {
        let steps = vec![json!({"wait_ms": 20}), json!({"say": "ok"})];
        reply(json!({"task": format!("work called {name}")}), steps)
    }));
    lines.push(reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]));
    let mut parts = Parts::new(script(&lines));
    parts.limits.max_parallel = 1;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let order: Vec<(u32, &str)> = session
        .seen
        .iter()
        .filter(|event| !event.agent.is_main())
        .filter_map(|event| match event.kind {
            EventKind::Spawned(_) => Some((event.agent.0, "spawned")),
            EventKind::Started => Some((event.agent.0, "started")),
            EventKind::Ended { .. } => Some((event.agent.0, "ended")),
            _ => None,
        })
        .collect();
    let mut expected: Vec<(u32, &str)> = (1..=4).map(|id| (id, "spawned")).collect();
    expected.extend((1..=4).flat_map(|id| [(id, "started"), (id, "ended")]));
    let (spawns, lives): (Vec<_>, Vec<_>) = order.into_iter().partition(|(_, what)| *what == "spawned");
    assert_eq!([spawns, lives].concat(), expected);
    session.quit().await;
}

#[tokio::test]
async fn limits_end_in_a_report_that_says_so() {
    let provider = script(&[
        reply(
            json!({"task": "go", "turn": 0}),
            vec![json!({"call": "Agent", "input": {
            "description": "many", "prompt": task("many"), "max_tool_calls": 2}})],
        ),
        reply(
            json!({"task": "work called many", "last": "limit of this run"}),
            vec![json!({"say": "<summary>what I have</summary>"})],
        ),
        reply(
            json!({"task": "work called many"}),
            vec![
                json!({"call": "LS", "input": {}}),
                json!({"call": "LS", "input": {}}),
                json!({"call": "LS", "input": {}}),
            ],
        ),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let text = results(&last_of_main(&provider))[0].joined_text();
    assert!(text.starts_with("status: tool_limit\n"), "{text}");
    assert!(
        text.contains("tools: 2 ") && text.contains("what I have") && text.contains("limit of 2 tool calls"),
        "{text}"
    );
    session.quit().await;
}

#[tokio::test]
async fn one_request_spawns_only_so_many() {
    let mut parts = Parts::new(script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one", "two", "three"])),
        reply(json!({"task": "work called"}), vec![json!({"say": "ok"})]),
        reply(json!({"task": "go"}), vec![json!({"say": "done"})]),
    ]));
    parts.limits.max_per_request = 2;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let refused = session.of(AgentId::MAIN).filter(|kind| {
        matches!(kind, EventKind::Tool(ToolEvent::Ended { result, .. }) if result.joined_text().contains("Use your own tools instead"))
    });
    assert_eq!(refused.count(), 1);
    session.quit().await;
}

#[tokio::test]
async fn a_question_of_a_child_reaches_the_user_and_its_answer_the_child() {
    let write = json!({"call": "Write", "input": {"file_path": "new.txt", "content": "hello\n"}});
    let provider = script(&[
        reply(
            json!({"task": "go", "turn": 0}),
            vec![json!({"call": "Agent", "input": {
            "description": "w", "subagent_type": "code", "prompt": task("writer")}})],
        ),
        reply(json!({"task": "work called writer", "turn": 0}), vec![write.clone()]),
        reply(json!({"task": "work called writer", "turn": 1}), vec![write]),
        reply(json!({"task": "work called writer", "turn": 2}), vec![json!({"say": "<summary>written</summary>"})]),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    let question = |event: &belvedere::agent::AgentEvent| match &event.kind {
        EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
        _ => None,
    };
    let first = session.wait(question).await;
    assert_eq!(first.id.agent, AgentId(1));
    let comment = Some("not yet".to_owned());
    session.send(Command::Answer { id: first.id, answer: Answer::No { comment } });
    let second = session.wait(question).await;
    assert!(!session.root().join("new.txt").exists());
    session.send(Command::Answer { id: second.id, answer: Answer::Once });
    session.ended(AgentId::MAIN).await;
    assert_eq!(std::fs::read_to_string(session.root().join("new.txt")).unwrap(), "hello\n");
    let report = results(&last_of_main(&provider))[0].joined_text();
    assert!(report.contains("files created: new.txt"), "{report}");
    let refused =
        provider.requests().iter().any(|request| format!("{request:?}").contains("said no to this call: not yet"));
    assert!(refused, "the comment reaches the model");
    session.quit().await;
}

#[tokio::test]
async fn a_change_of_mode_answers_no_question_with_yes() {
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "Write", "input": {"file_path": "a.txt", "content": "x"}})]),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider));
    session.say("go");
    session
        .wait(|event| matches!(event.kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. })).then_some(()))
        .await;
    for mode in [PermissionMode::AcceptEdits, PermissionMode::BypassPermissions, PermissionMode::Plan] {
        assert!(!session.root().join("a.txt").exists(), "nobody has said yes");
        session.send(Command::SetMode(mode));
    }
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Completed, "plan mode says no");
    assert!(!session.root().join("a.txt").exists());
    session.quit().await;
}

#[tokio::test]
async fn an_agent_that_only_reads_stays_so_in_every_mode() {
    let mut parts = Parts::new(script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["hands off"])),
        reply(
            json!({"task": "hands off", "turn": 0}),
            vec![
                json!({"call": "Bash", "input": {"command": "touch made.txt"}}),
                json!({"call": "Write", "input": {"file_path": "made.txt", "content": "x"}}),
            ],
        ),
        reply(json!({"task": "hands off", "turn": 1}), vec![json!({"say": "could not"})]),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
    ]));
    parts.mode = PermissionMode::BypassPermissions;
    let mut session = Session::start(parts);
    session.ask("go").await;
    assert!(!session.root().join("made.txt").exists());
    session.quit().await;
}

#[tokio::test]
async fn a_report_too_long_is_cut_and_kept_whole() {
    let long = format!("<summary>{}END</summary>", "a line of the report\n".repeat(40));
    let mut parts = Parts::new(script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["long"])),
        reply(json!({"task": "work called long"}), vec![json!({"say": long})]),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
    ]));
    parts.limits.report_chars = 300;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let result = session.of(AgentId::MAIN).find_map(|kind| match kind {
        EventKind::Tool(ToolEvent::Ended { result, .. }) => Some(result.joined_text()),
        _ => None,
    });
    let result = result.unwrap();
    let path = session.reports.path().join("explore-1.report.md");
    assert!(!result.contains("END") && result.contains(&path.display().to_string()), "{result}");
    assert!(std::fs::read_to_string(path).unwrap().contains("END"));
    session.quit().await;
}

#[tokio::test]
async fn a_call_never_widens_what_an_agent_may_have() {
    let mut parts = Parts::new(script(&[
        reply(
            json!({"task": "go", "turn": 0}),
            vec![json!({"call": "Agent", "input": {
                "description": "narrow", "prompt": task("narrow"), "allowed_tools": ["Read"]}})],
        ),
        reply(json!({}), vec![json!({"say": "ok"})]),
    ]));
    parts.limits.max_depth = 3;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let spawn = session.of(AgentId(1)).find_map(|kind| match kind {
        EventKind::Spawned(spawn) => Some(spawn.tools.clone()),
        _ => None,
    });
    assert_eq!(spawn.unwrap(), ["Read"], "and no `Agent`");
    session.quit().await;
}

#[tokio::test]
async fn an_agent_of_which_no_tool_is_known_is_refused() {
    let file = "---\nname: lost\ndescription: d\ntools: Browser, mcp__x\n---\nYou search.";
    let source = Source { tier: Tier::BuiltIn, path: None };
    let provider = script(&[
        reply(
            json!({"turn": 0}),
            vec![json!({"call": "Agent", "input": {
                "description": "d", "subagent_type": "Lost", "prompt": task("lost")}})],
        ),
        reply(json!({"turn": 1}), vec![json!({"say": "I see"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.catalog = Catalog::of(vec![parse(file, source).definition.unwrap()]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    let text = results(&last_of_main(&provider))[0].joined_text();
    assert!(text.contains("Browser is not a tool, mcp__x is not a tool"), "{text}");
    assert!(session.quit().await.iter().all(|event| !matches!(event.kind, EventKind::Spawned(_))));
}

#[tokio::test]
async fn a_key_of_this_program_reaches_neither_a_model_nor_a_listener() {
    let key = "sk-very-secret-0123456789";
    let read = json!({"call": "Read", "input": {"file_path": "leak.txt"}});
    let edit = json!({"call": "Edit", "input": {
        "file_path": "leak.txt", "old_string": "the key", "new_string": "a key"}});
    let provider = script(&[
        reply(json!({"turn": 0}), vec![read]),
        reply(json!({"turn": 1}), vec![edit]),
        reply(json!({"turn": 2}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.secrets = Secrets::new([key]);
    parts.mode = PermissionMode::AcceptEdits;
    let mut session = Session::start(parts);
    std::fs::write(session.root().join("leak.txt"), format!("the key is {key}\n")).unwrap();
    session.ask("go").await;
    assert_eq!(std::fs::read_to_string(session.root().join("leak.txt")).unwrap(), format!("a key is {key}\n"));
    assert!(format!("{:?}", provider.requests()).contains("the key is ***"));
    assert!(!format!("{:?} {:?}", provider.requests(), session.seen).contains(key));
    session.quit().await;
}

#[tokio::test]
async fn calls_of_other_programs_keep_their_restrictions() {
    let long = "WHAT: the work called narrow. WHERE: here. RETURN: a word.";
    let provider = script(&[
        reply(
            json!({"task": "go", "turn": 0}),
            vec![
                json!({"call": "spawn_subtask", "input": {"task": long, "allowedTools": ["read_file", "list_directory"],
                    "maxTokens": 777, "maxToolCalls": 2}}),
                json!({"call": "Task", "input": {"prompt": "Find it", "agent_type": "explore"}}),
                json!({"call": "run_subagent", "input": {"task": long, "allow_tools": ["Read"]}}),
                json!({"call": "task", "input": {"prompt": "Find it"}}),
            ],
        ),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
        reply(json!({"turn": 0}), vec![json!({"say": "<summary>ok</summary>"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let texts: Vec<String> = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect();
    assert!(texts[0].contains("(general-purpose)") && texts[1].contains("(explore)"), "{texts:#?}");
    assert!(texts[2].contains("unknown parameter `allow_tools`"), "{texts:#?}");
    assert!(texts[2].contains("Did you mean `allowed_tools`?"), "{texts:#?}");
    assert!(texts[3].contains("The task is too brief (7 characters; write at least 30)"), "{texts:#?}");
    let requests = provider.requests();
    let child =
        requests.iter().find(|request| format!("{:?}", request.messages).contains("narrow") && request.tools.len() < 5);
    let child = child.expect("a child with few tools");
    let names: Vec<&str> = child.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((names, child.max_output_tokens), (vec!["Read", "LS"], 777));
    let events = session.quit().await;
    let titles: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Spawned(spawn) => Some(spawn.description.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(titles, ["the work called narrow. WHERE", "Find it"]);
}

#[tokio::test]
async fn the_offer_says_how_many_tool_calls_a_call_may_ask_for() {
    let call = |calls: u32| {
        let prompt = task(&format!("{calls} calls"));
        json!({"call": "Agent", "input": {"description": "d", "prompt": prompt, "max_tool_calls": calls}})
    };
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![call(20), call(500)]),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
        reply(json!({"turn": 0}), vec![json!({"say": "<summary>ok</summary>"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    (parts.limits.child.max_tool_calls, parts.limits.max_tool_calls_ceiling) = (Some(10), Some(40));
    let mut session = Session::start(parts);
    session.ask("go").await;
    let offer = provider.requests()[0].tools.iter().find(|tool| tool.name == "Agent").unwrap().input_schema.clone();
    let calls = &offer["properties"]["max_tool_calls"];
    assert_eq!((&calls["default"], &calls["maximum"], &calls["minimum"]), (&json!(10), &json!(40), &json!(1)));
    assert!(calls["description"].as_str().unwrap().contains("10 by default, 40 at most"), "{calls}");
    let bounds: Vec<Option<u32>> = session
        .quit()
        .await
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Spawned(spawn) => Some(spawn.bounds.max_tool_calls),
            _ => None,
        })
        .collect();
    assert_eq!(bounds, [Some(20), Some(40)]);
}

#[tokio::test]
async fn a_report_that_was_cut_names_the_tools_that_ran() {
    let call = |tool: &str, input: serde_json::Value| json!({"call": tool, "input": input});
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["cut"])),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
        reply(
            json!({"task": "work called cut", "turn": 0}),
            vec![
                call("Nope", json!({})),
                call("Agent", json!({"prompt": "x"})),
                call("LS", json!({})),
                call("ls", json!({"path": "."})),
                call("Bash", json!({"command": "touch x"})),
                call("Read", json!({"path_of_file": "a"})),
            ],
        ),
        reply(json!({"task": "work called cut", "turn": 1}), vec![json!({"fail": "bad_request", "detail": "no"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let text = results(&last_of_main(&provider))[0].joined_text();
    assert!(text.contains("Tools run: LS ×2.\n"), "{text}");
    session.quit().await;
}
