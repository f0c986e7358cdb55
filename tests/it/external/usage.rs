//! What other programs have used, as far as they say so.

use belvedere::agent::{Budget, EventKind, Status};
use belvedere::message::{AgentId, BudgetLimit, MessageId, ToolResult, Usage, UsageTable};
use belvedere::subagent::Command;

use super::{ONE, Programs, session_of};
use crate::agent::{last_of_main, results};
use crate::support::Session;

fn limit(tokens: u64) -> BudgetLimit {
    BudgetLimit { tokens: Some(tokens), usd: None }
}

/// Returns what the events of the session say that the subagent has used.
fn used(session: &Session) -> Usage {
    let mut table = UsageTable::default();
    session.log.iter().for_each(|event| table.apply(event));
    table.agents().find(|(id, _)| *id == ONE).map(|(_, spent)| spent.usage).unwrap_or_default()
}

/// Runs a program to its end. Returns its report, what it has used, and what its budget has counted of it.
async fn run(kind: &str) -> (String, Usage, u64) {
    let programs = Programs::default();
    let budget = Budget::new(limit(1_000_000));
    let (mut session, provider) = session_of(kind, &programs, |parts| parts.budget = budget.clone());
    session.ask("go").await;
    let report = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect::<String>();
    let (whole, used) = (session_total(&session), used(&session));
    let main = whole.total() - used.total();
    let notices: Vec<&str> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::Notice { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let is_said = notices.contains(&"What program has used is not known, and no budget counts it.");
    assert_eq!(is_said, used.unknown, "{notices:?}");
    let EventKind::Ended { outcome } = session.of(ONE).last().unwrap() else { panic!("no end") };
    assert_eq!(outcome.usage, used, "the outcome says what the events say");
    session.quit().await;
    (report, used, budget.spent().tokens - main)
}

fn session_total(session: &Session) -> Usage {
    let mut table = UsageTable::default();
    session.log.iter().for_each(|event| table.apply(event));
    table.total().usage
}

#[tokio::test]
async fn a_program_that_does_not_say_has_used_an_unknown_amount() {
    let (report, used, counted) = run("quiet").await;
    assert!(report.contains("tokens: unknown\n"), "{report}");
    assert!(used.is_unknown() && counted == 0, "{used:?} {counted}");
}

#[tokio::test]
async fn the_context_that_a_program_speaks_of_is_the_least_it_has_used() {
    let (report, used, counted) = run("fills").await;
    assert!(report.contains("tokens: ≥5,000\n"), "{report}");
    assert!(used.unknown && used.total() == 5_000 && counted == 5_000, "{used:?} {counted}");
}

#[tokio::test]
async fn what_a_program_says_counts_in_the_budget() {
    let (report, used, counted) = run("other").await;
    assert!(report.contains("tokens: 120\n") && !used.unknown, "{report}");
    assert_eq!(counted, 120);
}

#[tokio::test]
async fn what_gemini_says_in_its_own_way_counts_too_and_its_new_files_are_new() {
    let (report, used, counted) = run("meters").await;
    assert!(report.contains("tokens: 34\n") && report.contains("files created: src/new.rs"), "{report}");
    assert_eq!((used.unknown, counted), (false, 34));
}

#[tokio::test]
async fn numbers_that_nobody_can_have_used_are_bounded() {
    let (_, used, counted) = run("boasts").await;
    assert_eq!((used.total(), counted), (2_000_000_000_000, 2_000_000_000_000));
}

#[tokio::test]
async fn one_that_is_stopped_has_used_what_nobody_knows() {
    let programs = Programs::default();
    let (mut session, _) = session_of("dies", &programs, |_| {});
    session.say("go");
    let outcome = session.ended(ONE).await;
    assert!(outcome.usage.is_unknown() && used(&session).is_unknown(), "{outcome:?}");
    session.quit().await;
}

#[tokio::test]
async fn one_that_never_began_has_used_nothing() {
    let programs = Programs::default();
    let (mut session, _) = session_of("locked", &programs, |_| {});
    session.say("go");
    assert_eq!(session.ended(ONE).await.usage, Usage::default());
    session.quit().await;
}

#[tokio::test]
async fn nothing_is_asked_of_a_program_once_the_budget_is_used_up() {
    let programs = Programs::default();
    let (mut session, _) = session_of("other", &programs, |_| {});
    session.ask("go").await;
    session.send(Command::SetBudget(limit(1)));
    session.send(Command::Resume { agent: ONE, message: Some((MessageId(7), "and now the tests".into())) });
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.is_broken_off()), (Status::Budget, true));
    assert!(outcome.reason.as_deref().unwrap().starts_with("No budget left: "), "{outcome:?}");
    assert_eq!(programs.prompts().len(), 1);
    session.quit().await;
}
