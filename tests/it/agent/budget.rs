//! A budget over the whole tree, through the real loop: what is sent fits, who is refused still reports, and the books
//! are what the log says.

use std::sync::Arc;

use belvedere::agent::{AgentEvent, Budget, EventKind, Hold, LastWords, Outcome, SessionEvent, Status, TurnEvent};
use belvedere::message::{AgentId, BudgetLimit, Dollars, Usage};
use belvedere::provider::Price;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{delegate, reply, script};
use crate::support::{Parts, Session};

fn tokens(limit: u64) -> BudgetLimit {
    BudgetLimit { tokens: Some(limit), usd: None }
}

fn usage(input: u64, output: u64) -> Value {
    json!({"usage": {"input": input, "output": output, "cache_read": 0, "cache_write": 0}})
}

/// Turns for which agents find something else to look at.
const MOST_LOOKS: usize = 100;

/// A call that differs from turn to turn: one that repeats itself is stopped.
fn look(turn: usize) -> Value {
    json!({"call": "Read", "input": {"file_path": "a.txt", "limit": turn + 1}})
}

/// Replies that go on for ever, unless the agent has to report.
fn restless(main: Vec<Value>) -> Arc<Scripted> {
    let mut lines = vec![
        reply(
            json!({"last": "reached the limit"}),
            vec![json!({"say": "<summary>so far</summary>"}), usage(3_100, 80)],
        ),
        reply(json!({"task": "go", "turn": 0}), main),
    ];
    for turn in 0..MOST_LOOKS {
        for task in ["work called", "look"] {
            lines.push(reply(json!({"task": task, "turn": turn}), vec![look(turn), usage(3_000, 150)]));
        }
    }
    lines.push(reply(json!({}), vec![json!({"say": "all done"}), usage(4_000, 100)]));
    script(&lines)
}

fn parts(provider: Arc<Scripted>, budget: &Budget) -> Parts {
    let mut parts = Parts::new(provider);
    parts.budget = budget.clone();
    parts.files = vec![("a.txt", "one\ntwo\n".to_owned())];
    parts
}

/// Returns what the events say was used.
fn logged(events: &[Arc<AgentEvent>]) -> (Usage, f64) {
    let mut sum = (Usage::default(), 0.0);
    for event in events {
        if let EventKind::Turn(TurnEvent::Ended { usage, cost_usd, .. }) = &event.kind {
            sum.0 += *usage;
            sum.1 += cost_usd.unwrap_or(0.0);
        }
    }
    sum
}

fn ends(events: &[Arc<AgentEvent>]) -> Vec<(AgentId, Outcome)> {
    let ended = events.iter().filter_map(|event| match &event.kind {
        EventKind::Ended { outcome } => Some((event.agent, outcome.clone())),
        _ => None,
    });
    ended.collect()
}

fn notices(events: &[Arc<AgentEvent>], word: &str) -> usize {
    let told = events.iter().filter(|event| match &event.kind {
        EventKind::Notice { text } => event.agent.is_main() && text.contains(word),
        _ => false,
    });
    told.count()
}

#[tokio::test(start_paused = true)]
async fn ten_children_never_pass_the_budget_and_still_report() {
    let names: Vec<String> = (0..10).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for limit in [40_000, 100_000, 250_000, 600_000] {
        let budget = Budget::new(tokens(limit));
        let mut main = delegate(&names);
        main.push(usage(2_000, 500));
        let mut parts = parts(restless(main), &budget);
        // One that is quicker than the others shall meet no other limit.
        (parts.limits.child.max_turns, parts.limits.child.max_tool_calls) = (None, None);
        let mut session = Session::start(parts);
        session.ask("go").await;
        let events = session.quit().await;
        let (used, _) = logged(&events);
        assert!(used.total() <= limit, "{} of {limit}", used.total());
        assert_eq!(budget.spent().tokens, used.total(), "the books are what the log says");
        assert_eq!(budget.left().tokens, Some(limit - used.total()));
        let ends = ends(&events);
        let children: Vec<&Outcome> = ends.iter().filter(|(id, _)| !id.is_main()).map(|(_, outcome)| outcome).collect();
        if limit >= 100_000 {
            assert_eq!(children.len(), 10);
            assert!(used.total() * 2 > limit, "most of it is of use: {} of {limit}", used.total());
        }
        for outcome in children {
            assert_eq!(outcome.status, Status::Budget, "{outcome:?}");
            assert!(outcome.reason.as_ref().unwrap().contains("/budget"));
            let reported = outcome.text == "<summary>so far</summary>";
            assert_eq!(outcome.words, if reported { LastWords::Report } else { LastWords::Partial });
            // Who has begun gets to report: what it needs for that is kept from the beginning.
            assert_eq!(reported, outcome.turns > 0, "{outcome:?}");
        }
        assert_eq!(notices(&events, "80%"), usize::from(used.total() >= limit / 5 * 4));
        assert!(notices(&events, "Too little of the budget") <= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_main_agent_reports_at_the_limit_and_goes_on_once_it_is_raised() {
    let budget = Budget::new(tokens(60_000));
    let provider = restless(Vec::new());
    let mut session = Session::start(parts(provider.clone(), &budget));
    let outcome = session.ask("look").await;
    assert_eq!((outcome.status, outcome.words), (Status::Budget, LastWords::Report));
    assert!(outcome.text.contains("so far"));
    let (first, last) = (provider.requests()[0].clone(), provider.requests().last().unwrap().clone());
    assert!(last.tools.is_empty() && last.withheld == first.tools, "the last turn has no tools, but knows of them");
    let sent = provider.requests().len();
    // What is left is too little from the start: nothing is sent.
    session.send(Command::SetBudget(tokens(budget.spent().tokens + 1_000)));
    let outcome = session.ask("and now").await;
    assert_eq!((outcome.status, outcome.words, outcome.turns), (Status::Budget, LastWords::Partial, 0));
    assert!(outcome.reason.unwrap().contains("Raise it with /budget"));
    assert_eq!(provider.requests().len(), sent);
    session.send(Command::SetBudget(BudgetLimit::default()));
    let told = session.wait_session(|event| match event {
        SessionEvent::BudgetChanged { limit } => Some(*limit),
        _ => None,
    });
    assert_eq!(told.await, BudgetLimit::default());
    session.say("look again");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Ended { .. })).then_some(())).await;
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_while_others_hold_what_it_needs_and_lifting_the_budget_lets_it_go() {
    let slow = vec![json!({"wait_ms": 5_000}), json!({"say": "<summary>ok</summary>"}), usage(3_000, 100)];
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one", "two", "three"])),
        reply(json!({"task": "work called"}), slow),
        reply(json!({}), vec![json!({"say": "done"}), usage(3_000, 100)]),
    ]);
    // The model may say much, so that one request holds most of it.
    let budget = Budget::new(tokens(75_000));
    let mut parts = parts(provider, &budget);
    parts.model.max_output_tokens = 32_000;
    let mut session = Session::start(parts);
    let outcome = session.ask("go").await;
    assert_eq!(outcome.status, Status::Completed);
    let events = session.quit().await;
    let held: Vec<AgentId> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Held { why: Hold::Budget, .. }))
        .map(|event| event.agent)
        .collect();
    assert!(!held.is_empty());
    let ends = ends(&events);
    assert!(ends.iter().all(|(_, outcome)| outcome.status == Status::Completed), "{ends:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_stopped_child_has_used_is_booked_and_what_it_held_is_free() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["stuck"])),
        reply(json!({"task": "work called"}), vec![json!({"say": "I "}), usage(5_000, 7), json!({"stall": true})]),
        reply(json!({}), vec![json!({"say": "done"}), usage(2_000, 20)]),
    ]);
    let budget = Budget::new(tokens(100_000));
    let mut session = Session::start(parts(provider, &budget));
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Stop { agent: AgentId(1) });
    let outcome = session.ended(AgentId(1)).await;
    assert_eq!((outcome.status, outcome.usage.total()), (Status::Cancelled, 5_007));
    session.ended(AgentId::MAIN).await;
    let events = session.quit().await;
    assert_eq!(budget.spent().tokens, logged(&events).0.total());
}

#[tokio::test(start_paused = true)]
async fn attempts_that_failed_are_paid_for_too() {
    let provider = script(&[
        json!({"times": 1, "steps": [{"say": "half"}, usage(4_000, 40), {"fail": "network", "detail": "gone"}]}),
        json!({"steps": [{"say": "whole"}, usage(4_000, 60)]}),
    ]);
    let budget = Budget::new(tokens(100_000));
    let mut session = Session::start(parts(provider, &budget));
    let outcome = session.ask("hello").await;
    assert_eq!((outcome.text.as_str(), outcome.usage.total()), ("whole", 8_100));
    let events = session.quit().await;
    assert_eq!((logged(&events).0.total(), budget.spent().tokens), (8_100, 8_100));
}

#[tokio::test(start_paused = true)]
async fn a_budget_in_dollars_holds_where_prices_are_known_and_says_where_not() {
    let limit = BudgetLimit { tokens: None, usd: Some(Dollars::from(0.4)) };
    let budget = Budget::new(limit);
    let mut priced = parts(restless(Vec::new()), &budget);
    priced.model.price = Some(Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, searches: 0.0 });
    let mut session = Session::start(priced);
    let outcome = session.ask("look").await;
    assert_eq!(outcome.status, Status::Budget);
    let events = session.quit().await;
    let cost = logged(&events).1;
    assert!(cost > 0.2 && cost <= 0.4, "{cost}");
    assert!((budget.spent().usd - cost).abs() < 1e-9);
    assert_eq!(notices(&events, "80%"), usize::from(cost >= 0.32));

    let mut main = delegate(&["one", "two"]);
    main.push(usage(1_000, 10));
    let unpriced = script(&[
        reply(json!({"task": "go", "turn": 0}), main),
        reply(json!({}), vec![json!({"say": "<summary>ok</summary>"}), usage(900_000, 10)]),
    ]);
    let mut session = Session::start(parts(unpriced, &Budget::new(limit)));
    assert_eq!(session.ask("go").await.status, Status::Completed, "what cannot be counted is not refused");
    let events = session.quit().await;
    assert_eq!(notices(&events, "is unknown"), 1, "it is said once for a model");
}

#[tokio::test(start_paused = true)]
async fn the_cap_on_a_reply_is_lowered_to_what_is_left() {
    let provider = script(&[json!({"steps": [{"say": "ok"}, usage(3_000, 10)]})]);
    let budget = Budget::new(tokens(60_000));
    let mut parts = parts(provider.clone(), &budget);
    parts.model.max_output_tokens = 32_000;
    let mut session = Session::start(parts);
    session.ask("hello").await;
    let cap = provider.requests()[0].max_output_tokens;
    assert!((1_000..32_000).contains(&cap), "{cap}");
    session.quit().await;
}

/// Replies without a count of tokens, as some gateways send them, or with a count of nothing.
fn uncounted(count: Option<&Value>) -> Arc<Scripted> {
    let mut lines = vec![reply(json!({"last": "reached the limit"}), vec![json!({"say": "so far"}), usage(0, 0)])];
    for turn in 0..MOST_LOOKS {
        let mut steps = vec![json!({"say": "I shall look at the file once more."}), look(turn)];
        steps.extend(count.cloned().or_else(|| Some(usage(0, 0))));
        lines.push(reply(json!({"task": "look", "turn": turn}), steps));
    }
    lines.push(reply(json!({}), vec![json!({"say": "all done"}), usage(0, 0)]));
    script(&lines)
}

#[tokio::test(start_paused = true)]
async fn a_service_that_counts_nothing_is_stopped_at_the_budget_like_one_that_does() {
    let mut turns = Vec::new();
    for count in [None, Some(usage(1_600, 30))] {
        let budget = Budget::new(tokens(60_000));
        let provider = uncounted(count.as_ref());
        let mut session = Session::start(parts(provider.clone(), &budget));
        let outcome = session.ask("look").await;
        assert_eq!(outcome.status, Status::Budget, "{outcome:?}");
        assert!(outcome.usage.total() > 20_000 && outcome.usage.total() <= 60_000, "{outcome:?}");
        let events = session.quit().await;
        let (used, _) = logged(&events);
        assert_eq!((used.total(), used.estimated), (budget.spent().tokens, true), "the books are what the log says");
        assert_eq!(budget.spent().estimated, used.estimated);
        turns.push(outcome.turns);
    }
    assert!(turns[0] <= turns[1], "an estimate is on the large side: {turns:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_stopped_before_its_count_came_is_booked_by_estimate() {
    let prompt = "long ".repeat(3_000);
    let child = json!({"call": "Agent", "input": {"description": "dig", "prompt": format!("work called {prompt}")}});
    let said = "word ".repeat(400);
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![child, usage(2_000, 4_000)]),
        reply(json!({"task": "work called"}), vec![json!({"say": said}), json!({"stall": true})]),
        reply(json!({}), vec![json!({"say": "done"}), usage(2_000, 20)]),
    ]);
    let budget = Budget::new(tokens(200_000));
    let mut session = Session::start(parts(provider, &budget));
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Stop { agent: AgentId(1) });
    let outcome = session.ended(AgentId(1)).await;
    assert!(outcome.usage.estimated && outcome.usage.context() > 5_000, "{outcome:?}");
    assert_eq!(outcome.usage.output, 500, "bytes of the reply, four for each token");
    session.ended(AgentId::MAIN).await;
    let events = session.quit().await;
    assert_eq!(budget.spent().tokens, logged(&events).0.total());
}

#[tokio::test(start_paused = true)]
async fn what_was_counted_is_no_estimate_and_what_failed_at_once_has_used_nothing() {
    let provider = script(&[
        json!({"times": 2, "steps": [{"fail": "network", "detail": "gone"}]}),
        json!({"steps": [{"say": "whole"}, usage(4_000, 60)]}),
    ]);
    let budget = Budget::new(tokens(100_000));
    let mut session = Session::start(parts(provider, &budget));
    let outcome = session.ask("hello").await;
    assert_eq!((outcome.usage.total(), outcome.usage.estimated), (4_060, false));
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_how_much_the_next_request_needs() {
    let budget = Budget::new(tokens(8_000));
    let mut session = Session::start(parts(restless(Vec::new()), &budget));
    let outcome = session.ask("look").await;
    let reason = outcome.reason.unwrap();
    let (_, rest) = reason.split_once("0 of 8,000 tokens spent, the next one needs about ").expect(&reason);
    let needs: u64 = rest.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    session.quit().await;
    for (limit, turns) in [(needs - 200, 0), (needs, 1)] {
        let mut session = Session::start(parts(restless(Vec::new()), &Budget::new(tokens(limit))));
        assert!(session.ask("look").await.turns.min(1) == turns, "{limit}: {reason}");
        session.quit().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_passed_already_is_called_so() {
    let budget = Budget::new(tokens(300_000));
    let steps = vec![json!({"say": "half "}), json!({"wait_ms": 5_000}), json!({"say": "done"}), usage(100_500, 100)];
    let mut session = Session::start(parts(script(&[reply(json!({}), steps)]), &budget));
    // A smaller request could not have so many tokens.
    session.say(&"hello ".repeat(20_000));
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::SetBudget(tokens(60_000)));
    session.ended(AgentId::MAIN).await;
    let events = session.quit().await;
    assert_eq!(notices(&events, "Over budget (167%): 100,600 of 60,000 tokens."), 1);
    assert_eq!(notices(&events, "80%"), 0);
}
