//! The gate before a service, in paused time: random requests, refusals, lost connections and stops.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belvedere::provider::choice::{Endpoint, ModelEndpoint};
use belvedere::provider::rate_limiter::{Load, Permit, QueueTicket, RateLimiter, RateLimiters, RequestStep};
use proptest::prelude::*;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What becomes of one attempt.
#[derive(Debug, Clone)]
enum Fate {
    Answered { first: u64, rest: u64 },
    Refused { after: u64, wait: u64 },
    Lost { after: u64 },
}

#[derive(Debug, Clone)]
struct Plan {
    start: u64,
    /// What its attempts come to; past the last it is answered.
    fates: Vec<Fate>,
    /// When it is stopped, if it is.
    stop: Option<u64>,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let fate = prop_oneof![
        (0_u64..3_000, 0_u64..9_000).prop_map(|(first, rest)| Fate::Answered { first, rest }),
        (0_u64..900, 0_u64..7_000).prop_map(|(after, wait)| Fate::Refused { after, wait }),
        (0_u64..900).prop_map(|after| Fate::Lost { after }),
    ];
    let stop = prop_oneof![2 => Just(None), 1 => (0_u64..20_000).prop_map(Some)];
    (0_u64..8_000, prop::collection::vec(fate, 0..5), stop).prop_map(|(start, fates, stop)| Plan { start, fates, stop })
}

/// What the test itself counts, without asking the gate.
#[derive(Debug, Default)]
struct Seen {
    in_flight: usize,
    unanswered: usize,
    waiting: BTreeSet<usize>,
    tickets: usize,
    blocked_until: Option<Instant>,
    /// Nobody was answered since the last refusal.
    is_refused: bool,
}

type Shared = Arc<Mutex<Seen>>;

/// Takes a request out of the counts, also when it is dropped.
struct Counted {
    seen: Shared,
    waits: Option<usize>,
    flies: Option<Flight>,
}

#[derive(Clone, Copy, PartialEq)]
enum Flight {
    Sent,
    Answered,
}

impl Counted {
    fn land(&mut self) {
        let mut seen = self.seen.lock().unwrap();
        if let Some(flight) = self.flies.take() {
            seen.in_flight -= 1;
            seen.unanswered -= usize::from(flight == Flight::Sent);
        }
        if let Some(number) = self.waits.take() {
            seen.waiting.remove(&number);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.land();
    }
}

async fn enter(gate: &RateLimiter, ticket: &mut QueueTicket, number: usize, counted: &mut Counted) -> Permit {
    let mut told: Option<Instant> = None;
    loop {
        match ticket.step().await {
            RequestStep::Wait(outlook) => {
                let now = Instant::now();
                assert!(told.is_none_or(|last| now - last >= ms(1_000)), "told more than once a second");
                assert!(outlook.until.is_none_or(|until| until > now));
                told = Some(now);
                counted.seen.lock().unwrap().waiting.insert(number);
                counted.waits = Some(number);
            }
            RequestStep::Enter(pass) => {
                counted.land();
                let mut seen = counted.seen.lock().unwrap();
                let load = gate.load();
                assert!(load.allowed.is_none_or(|most| seen.in_flight < most), "{load:?} {seen:?}");
                assert!(seen.waiting.first().is_none_or(|first| *first > number), "{number} goes before {seen:?}");
                assert!(seen.blocked_until.is_none_or(|until| Instant::now() >= until), "sent in the pause");
                assert!(!seen.is_refused || seen.unanswered == 0, "a storm: {seen:?}");
                seen.in_flight += 1;
                seen.unanswered += 1;
                assert_eq!(seen.in_flight, load.in_flight);
                counted.flies = Some(Flight::Sent);
                return pass;
            }
        }
    }
}

/// Sends one request until it is answered.
async fn send(gate: RateLimiter, plan: Plan, seen: Shared) {
    sleep(ms(plan.start)).await;
    let mut ticket = gate.ticket();
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.tickets += 1;
        seen.tickets
    };
    let mut counted = Counted { seen: seen.clone(), waits: None, flies: None };
    let last = [Fate::Answered { first: 10, rest: 10 }];
    for fate in plan.fates.into_iter().chain(last) {
        let mut pass = enter(&gate, &mut ticket, number, &mut counted).await;
        match fate {
            Fate::Answered { first, rest } => {
                sleep(ms(first)).await;
                pass.answered();
                seen.lock().unwrap().unanswered -= 1;
                counted.flies = Some(Flight::Answered);
                sleep(ms(rest)).await;
                counted.land();
                seen.lock().unwrap().is_refused = false;
                pass.succeeded();
                return;
            }
            Fate::Refused { after, wait } => {
                sleep(ms(after)).await;
                counted.land();
                let pause = pass.refused(ms(wait));
                assert!(pause >= ms(wait), "a wait is never shorter than the service asks");
                let mut seen = seen.lock().unwrap();
                seen.is_refused = true;
                seen.blocked_until = seen.blocked_until.max(Some(Instant::now() + pause));
                ticket.mark_announced(pause);
            }
            Fate::Lost { after } => {
                sleep(ms(after)).await;
                counted.land();
                drop(pass);
                sleep(ms(500)).await;
            }
        }
    }
}

async fn all_end(plans: Vec<Plan>) {
    let (gate, seen) = (RateLimiter::default(), Shared::default());
    let tasks: Vec<_> = plans
        .into_iter()
        .map(|plan| {
            let (stop, sent) = (plan.stop, send(gate.clone(), plan, seen.clone()));
            tokio::spawn(async move {
                match stop {
                    Some(stop) => timeout(ms(stop), sent).await.map_or((), |()| ()),
                    None => sent.await,
                }
            })
        })
        .collect();
    for task in tasks {
        timeout(Duration::from_hours(1), task).await.expect("a request was forgotten").unwrap();
    }
    let load = gate.load();
    assert_eq!((load.in_flight, load.waiting), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_more_than_allowed_are_in_flight_the_oldest_goes_first_and_none_is_forgotten(
        plans in prop::collection::vec(any_plan(), 1..14),
    ) {
        let paused = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        paused.block_on(all_end(plans));
    }
}

async fn granted(ticket: &mut QueueTicket) -> Permit {
    match ticket.step().await {
        RequestStep::Enter(pass) => pass,
        RequestStep::Wait(outlook) => panic!("it waits: {outlook:?}"),
    }
}

async fn waits(ticket: &mut QueueTicket) -> (Option<Duration>, u32) {
    match ticket.step().await {
        RequestStep::Wait(outlook) => (outlook.until.map(|until| until - Instant::now()), outlook.ahead),
        RequestStep::Enter(_) => panic!("it was let in"),
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_of_one_burst_halve_once_and_the_longest_pause_counts() {
    let gate = RateLimiter::default();
    let mut tickets: Vec<QueueTicket> = (0..8).map(|_| gate.ticket()).collect();
    let mut passes = Vec::new();
    for ticket in &mut tickets {
        passes.push(granted(ticket).await);
    }
    assert_eq!(gate.load(), Load { in_flight: 8, allowed: None, waiting: 0 });
    assert_eq!(passes.pop().unwrap().refused(ms(3_000)), ms(3_000));
    assert_eq!(passes.pop().unwrap().refused(ms(9_000)), ms(9_000));
    assert_eq!(passes.pop().unwrap().refused(ms(1_000)), ms(9_000));
    assert_eq!(gate.load().allowed, Some(4));
    let (mut first, mut second) = (gate.ticket(), gate.ticket());
    assert_eq!(waits(&mut first).await, (Some(ms(9_000)), 0));
    assert_eq!(waits(&mut second).await, (Some(ms(9_000)), 1));
    passes.into_iter().for_each(Permit::succeeded);
    sleep(ms(9_000)).await;
    let mut pass = granted(&mut first).await;
    assert_eq!(waits(&mut second).await, (None, 0), "one by one");
    pass.answered();
    drop(granted(&mut second).await);
}

#[tokio::test(start_paused = true)]
async fn successes_widen_what_was_narrowed() {
    let gate = RateLimiter::default();
    let mut ticket = gate.ticket();
    let _ = granted(&mut ticket).await.refused(Duration::ZERO);
    assert_eq!(gate.load().allowed, Some(1));
    for _ in 0..4 {
        granted(&mut ticket).await.succeeded();
    }
    assert_eq!(gate.load().allowed, Some(2));
    let passes = [granted(&mut gate.ticket()).await, granted(&mut gate.ticket()).await];
    assert_eq!(waits(&mut gate.ticket()).await, (None, 0));
    drop(passes);
    granted(&mut ticket).await.succeeded();
}

#[tokio::test(start_paused = true)]
async fn who_is_dropped_in_the_queue_or_in_flight_frees_its_place_at_once() {
    let gate = RateLimiter::default();
    let _ = granted(&mut gate.ticket()).await.refused(Duration::ZERO);
    let pass = granted(&mut gate.ticket()).await;
    let (mut first, mut second) = (gate.ticket(), gate.ticket());
    assert_eq!(waits(&mut first).await, (None, 0));
    assert_eq!(waits(&mut second).await, (None, 1));
    let next = tokio::spawn(async move {
        matches!(second.step().await, RequestStep::Wait(_)) && matches!(second.step().await, RequestStep::Enter(_))
    });
    yield_now().await;
    drop(first);
    sleep(ms(1_500)).await;
    drop(pass);
    let at = Instant::now();
    assert!(next.await.unwrap(), "its new place is told, then it goes");
    assert_eq!(at.elapsed(), Duration::ZERO);
    assert_eq!(gate.load(), Load { in_flight: 0, allowed: Some(1), waiting: 0 });
}

#[test]
fn one_service_and_key_have_one_gate_whatever_the_model() {
    let chosen = |key: &str, model: &str| {
        let (provider, base) = (super::row("openai"), "http://127.0.0.1:1/v1".parse().unwrap());
        let endpoint =
            Endpoint { provider, base, credential: super::key(key), transport: Arc::default(), is_named: true };
        ModelEndpoint { endpoint, model: model.to_owned(), context_window: None }
    };
    let endpoint = |key, model| chosen(key, model).endpoint;
    let gates = RateLimiters::default();
    let waiting = gates.of(&endpoint("a", "large")).ticket();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let pass = runtime.block_on(async {
        let mut ticket = waiting;
        granted(&mut ticket).await
    });
    assert_eq!(gates.clone().of(&endpoint("a", "small")).load().in_flight, 1);
    assert_eq!(gates.of(&endpoint("b", "large")).load().in_flight, 0);
    drop(pass);
}
