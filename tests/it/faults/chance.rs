//! Many faults at random, over runs of eight subagents each.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use belvedere::agent::{AgentEvent, EventKind, Outcome, Status, ToolEvent};
use belvedere::message::AgentId;
use belvedere::permission::PermissionMode;

use super::Remote;
use super::clock::Work;
use super::fault::Fault;
use super::once::marks;
use super::server::{Asked, Asker, CHILDREN, Choose, Server, child_name};
use crate::screens::stage::Stage;
use crate::support::{Api, Dice, Parts, Session};

/// Faults in a usual run; the variable asks for another number.
const FAULTS: u64 = 50;
const VARIABLE: &str = "BELVEDERE_FAULTS";
/// Commands that each subagent runs.
const CALLS: usize = 2;

/// Faults of the main agent's answers: those that another attempt mends, and those that nobody notices.
const SPARING: [Fault; 12] = [
    Fault::HangUp,
    Fault::Status(429),
    Fault::Status(503),
    Fault::RateLimited,
    Fault::Empty,
    Fault::Close,
    Fault::Reset,
    Fault::CutChunk,
    Fault::HalfCharacter,
    Fault::Unknown,
    Fault::ByteByByte,
    Fault::ResetAfterStop,
];

#[tokio::test(start_paused = true)]
async fn eight_subagents_and_the_truth_agree_whatever_breaks() {
    let wanted = std::env::var(VARIABLE).ok().and_then(|count| count.parse().ok()).unwrap_or(FAULTS);
    let (mut faults, mut seed) = (0, 0);
    while faults < wanted {
        seed += 1;
        let api = if seed % 2 == 0 { Api::Chat } else { Api::Anthropic };
        faults += broken_run(api, seed).await;
    }
}

/// Returns dice for one asker, so that it does not matter who comes first.
fn choice(seed: u64, struck: Arc<AtomicU64>) -> Choose {
    let mut dice: HashMap<Option<usize>, Dice> = HashMap::new();
    let all: Vec<Fault> = super::once::TABLE.iter().map(|(fault, ..)| *fault).collect();
    Box::new(move |asked: Asked, events| {
        let child = match asked.by {
            Asker::Main => None,
            Asker::Child(number) => Some(number),
        };
        let number = u64::try_from(child.map_or(0, |number| number + 1)).unwrap();
        let dice = dice.entry(child).or_insert_with(|| Dice::new(seed * 1_000_003 + number * 7_919));
        let (strikes, among) = match asked.by {
            Asker::Main => (dice.roll(3) == 0, &SPARING[..]),
            Asker::Child(_) => (dice.roll(2) == 0, &all[..]),
        };
        let (fault, cut) = (*dice.pick(among), dice.roll(u64::try_from(events - 2).unwrap()) + 1);
        struck.fetch_add(u64::from(strikes), Ordering::SeqCst);
        strikes.then_some((fault, usize::try_from(cut).unwrap()))
    })
}

/// Lets eight subagents work before a server whose answers break, and holds what is said of them against what was
/// delivered. Returns how many answers broke.
async fn broken_run(api: Api, seed: u64) -> u64 {
    let work = Arc::<Work>::default();
    let _clock = work.drive_clock();
    let struck = Arc::<AtomicU64>::default();
    let server = Server::start(api, CALLS, work.clone(), choice(seed, struck.clone())).await;
    let mut parts = Parts::new(Remote::connect(api, &server.base));
    parts.mode = PermissionMode::BypassPermissions;
    parts.limits.child.idle_timeout = Some(Duration::from_mins(1));
    parts.listeners = vec![work.listener()];
    let mut session = Session::start(parts);
    let outcome = session.ask("go eight").await;
    let marks = marks(&session.root());
    let log = session.quit().await;
    let what = format!("{api:?}, seed {seed}");
    let truth = server.truth();
    let broken = struck.load(Ordering::SeqCst);
    assert_eq!(
        (outcome.status, truth.answered.contains(&Asker::Main)),
        (Status::Completed, true),
        "{what}: {outcome:?}"
    );
    let delivered: Vec<usize> = truth.calls.iter().filter(|(_, whole)| **whole).map(|(mark, _)| *mark).collect();
    assert_eq!(marks, delivered, "{what}: each call that was delivered runs once, and no other does");
    tools_end(&log, &what);
    nothing_runs(&log, &what);
    let reports: BTreeMap<String, String> = api.results(&truth.last).into_iter().collect();
    assert_eq!(reports.len(), CHILDREN, "{what}");
    for (child, (call, outcome)) in children(&log, &what) {
        let is_answered = truth.answered.contains(&Asker::Child(child));
        assert_eq!(outcome.status.is_complete(), is_answered, "{what}, child {child}: {outcome:?}");
        let status = format!("status: {}\\n", outcome.status.name());
        assert!(reports[&call].contains(&status), "{what}, child {child}: {outcome:?} {}", reports[&call]);
    }
    broken
}

/// Returns the call and the end of each child, which has one end and nothing after it.
fn children(log: &[Arc<AgentEvent>], what: &str) -> BTreeMap<usize, (String, Outcome)> {
    let mut found = BTreeMap::new();
    for event in log {
        let EventKind::Spawned(spawn) = &event.kind else { continue };
        let child = (0..CHILDREN).find(|number| spawn.prompt.contains(&child_name(*number))).unwrap();
        let own: Vec<&EventKind> =
            log.iter().filter(|other| other.agent == event.agent).map(|other| &other.kind).collect();
        let ends = own.iter().filter(|kind| matches!(kind, EventKind::Ended { .. })).count();
        let Some(EventKind::Ended { outcome }) = own.last() else { panic!("{what}, child {child}: {own:#?}") };
        assert_eq!(ends, 1, "{what}, child {child}");
        found.insert(child, (spawn.call_id.clone(), outcome.clone()));
    }
    assert_eq!(found.len(), CHILDREN, "{what}");
    found
}

fn tools_end(log: &[Arc<AgentEvent>], what: &str) {
    let mut open: HashMap<(AgentId, &str), i32> = HashMap::new();
    for event in log {
        match &event.kind {
            EventKind::Tool(ToolEvent::Started { call, .. }) => *open.entry((event.agent, &call.id)).or_default() += 1,
            EventKind::Tool(ToolEvent::Ended { result, .. }) => {
                *open.entry((event.agent, &result.call_id)).or_default() -= 1;
            }
            _ => {}
        }
    }
    open.retain(|_, count| *count != 0);
    assert!(open.is_empty(), "{what}: {open:?}");
}

/// Checks that no pane of a screen that has seen it all says that its agent is at work.
fn nothing_runs(log: &[Arc<AgentEvent>], what: &str) {
    let mut stage = Stage::new(120, 40).with_model();
    stage.asks("go eight");
    for event in log {
        stage.agent(event.agent.0, event.kind.clone());
    }
    assert_eq!((stage.app.agents().len(), stage.app.agents().running().count()), (CHILDREN, 0), "{what}");
}
