//! The books of a budget under every order of events: nothing is granted twice, and nobody is forgotten.

use belvedere::agent::budget::ledger::{Amount, Ask, BudgetVerdict, Ledger, Purpose, ReservationId};
use belvedere::message::{BudgetLimit, Dollars, Usage};
use belvedere::provider::Price;

use crate::support::Dice;

const PRICE: Price = Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, searches: 0.0 };

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Waiting { ask: Ask, since: usize },
    UnderWay { ask: Ask, output: u64 },
    Gone,
}

struct Game {
    ledger: Ledger,
    seats: Vec<(ReservationId, State)>,
    step: usize,
    dice: Dice,
}

impl Game {
    fn new(limit: BudgetLimit, seed: u64) -> Self {
        let mut ledger = Ledger::new(limit);
        let seats = (0..10).map(|_| (ledger.enter(), State::Idle)).collect();
        Self { ledger, seats, step: 0, dice: Dice::new(seed) }
    }

    fn ask(&mut self, at: usize, ask: Ask) {
        let (seat, before) = self.seats[at];
        let verdict = self.ledger.ask(seat, &ask);
        let mine = match before {
            State::Waiting { since, .. } => since,
            _ => self.step,
        };
        self.seats[at].1 = match verdict {
            BudgetVerdict::Granted { output } => {
                assert!(output >= ask.cap.min(1_000) && output <= ask.cap, "{output} of {}", ask.cap);
                let earlier = self.seats.iter().any(|(_, state)| {
                    matches!(state, State::Waiting { ask, since } if *since < mine && ask.purpose == Purpose::Work)
                });
                assert!(ask.purpose == Purpose::LastTurn || !earlier, "someone was passed over");
                State::UnderWay { ask, output }
            }
            BudgetVerdict::Wait { .. } => State::Waiting { ask, since: mine },
            // A last turn, or the end.
            BudgetVerdict::Refused if ask.purpose == Purpose::Work && self.dice.roll(2) == 0 => State::Idle,
            BudgetVerdict::Refused => {
                self.ledger.leave(seat);
                State::Gone
            }
        };
        self.check();
    }

    /// Whoever waits looks again, in any order, until nothing changes.
    fn settle_down(&mut self) {
        loop {
            let waiting: Vec<usize> = (0..10).filter(|at| matches!(self.seats[*at].1, State::Waiting { .. })).collect();
            let before = waiting.len();
            let first = usize::try_from(self.dice.roll(10)).unwrap();
            for turn in 0..before {
                let at = waiting[(turn + first) % before];
                if let State::Waiting { ask, .. } = self.seats[at].1 {
                    self.ask(at, ask);
                }
            }
            let after = self.seats.iter().filter(|(_, state)| matches!(state, State::Waiting { .. })).count();
            if after == before {
                let busy = self.seats.iter().any(|(_, state)| matches!(state, State::UnderWay { .. }));
                assert!(after == 0 || busy, "{after} wait for nothing");
                assert_eq!(self.ledger.waiting(), after);
                return;
            }
        }
    }

    fn play(&mut self) {
        let at = usize::try_from(self.dice.roll(10)).unwrap();
        let (seat, state) = self.seats[at];
        match state {
            State::Idle => {
                let purpose = if self.dice.roll(5) == 0 { Purpose::LastTurn } else { Purpose::Work };
                let price = (self.dice.roll(4) > 0).then_some(PRICE);
                let cap = *self.dice.pick(&[1, 500, 4_096, 32_000]);
                let input = 500 + self.dice.roll(20_000);
                self.ask(at, Ask { input, cap, price, purpose });
            }
            State::UnderWay { ask, output } if self.dice.roll(4) == 0 => {
                // The attempt fails after a part of the reply and is made again, if that still fits.
                let tokens = self.dice.roll(ask.input + output + 1);
                let usd = ask.price.map_or(0.0, |price| price.cost(&Usage { input: tokens, ..Usage::default() }));
                if let BudgetVerdict::Refused = self.ledger.again(seat, Amount { tokens, usd, ..Amount::default() }) {
                    self.seats[at].1 = State::Idle;
                }
            }
            State::UnderWay { ask, output } => {
                let (input, output) = (self.dice.roll(ask.input + 1), self.dice.roll(output + 1));
                let usd = ask.price.map_or(0.0, |price| {
                    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                    let cost = (input as f64 * price.input + output as f64 * price.output) / 1e6;
                    cost
                });
                self.ledger.settle(
                    seat,
                    Amount { tokens: input + output, usd, ..Amount::default() },
                    input + output,
                    &ask,
                );
                self.seats[at].1 = State::Idle;
                if ask.purpose == Purpose::LastTurn || self.dice.roll(6) == 0 {
                    self.ledger.leave(seat);
                    self.seats[at].1 = State::Gone;
                }
            }
            State::Waiting { .. } if self.dice.roll(4) == 0 => {
                self.ledger.leave(seat);
                self.seats[at].1 = State::Gone;
            }
            State::Waiting { .. } => {}
            State::Gone => self.seats[at] = (self.ledger.enter(), State::Idle),
        }
        self.check();
    }

    /// What is held is held for someone: the replies under way, and the last turns of agents that are there.
    fn check_held(&self) {
        let under_way = self.seats.iter().filter_map(|(_, state)| match state {
            State::UnderWay { ask, output } => Some(ask.input + output),
            _ => None,
        });
        assert_eq!(self.ledger.reserved().tokens, under_way.sum::<u64>(), "step {}", self.step);
        let (reserved, kept) = (self.ledger.reserved(), self.ledger.kept());
        if self.seats.iter().all(|(_, state)| *state == State::Gone) {
            assert_eq!((reserved, kept), (Amount::default(), Amount::default()), "step {}", self.step);
        }
    }

    /// Everyone leaves, wherever they are.
    fn end(&mut self) {
        for at in 0..self.seats.len() {
            self.ledger.leave(self.seats[at].0);
            self.seats[at].1 = State::Gone;
            self.check_held();
        }
        assert_eq!(self.ledger.waiting(), 0);
    }

    fn check(&self) {
        self.check_held();
        let (spent, reserved, kept) = (self.ledger.spent(), self.ledger.reserved(), self.ledger.kept());
        let limit = self.ledger.limit();
        if let Some(limit) = limit.tokens {
            assert!(spent.tokens + reserved.tokens + kept.tokens <= limit, "step {}: over the limit", self.step);
            assert_eq!(spent.tokens + self.ledger.left().tokens.unwrap(), limit);
        }
        if let Some(limit) = limit.usd.map(f64::from) {
            assert!(spent.usd + reserved.usd + kept.usd <= limit + 1e-6, "step {}: over the limit", self.step);
            assert!((spent.usd + self.ledger.left().usd.unwrap() - limit).abs() < 1e-6);
        }
    }
}

#[test]
fn whatever_happens_in_whatever_order_the_limit_holds_and_nobody_is_forgotten() {
    for seed in 1..=300 {
        let limit = match seed % 3 {
            0 => BudgetLimit { tokens: Some(seed * 4_000), usd: None },
            1 => BudgetLimit { tokens: None, usd: Some(Dollars::from(f64::from(u32::try_from(seed).unwrap()) / 40.0)) },
            _ => BudgetLimit { tokens: Some(seed * 4_000), usd: Some(Dollars::from(2.0)) },
        };
        let mut game = Game::new(limit, seed * 7_919);
        for step in 0..400 {
            game.step = step;
            game.play();
            game.settle_down();
        }
        game.end();
    }
}

#[test]
fn every_agent_can_still_report_when_all_are_refused_at_once() {
    let mut ledger = Ledger::new(BudgetLimit { tokens: Some(200_000), usd: None });
    let ask = |purpose| Ask { input: 6_000, cap: 4_096, price: None, purpose };
    let seats: Vec<ReservationId> = (0..10).map(|_| ledger.enter()).collect();
    let mut working = Vec::new();
    for seat in seats {
        if let BudgetVerdict::Granted { .. } = ledger.ask(seat, &ask(Purpose::Work)) {
            ledger.settle(seat, Amount { tokens: 6_500, ..Amount::default() }, 6_500, &ask(Purpose::Work));
            working.push(seat);
        }
    }
    assert!(working.len() >= 8, "{}", working.len());
    // Now they use up what they can.
    let more = |purpose| Ask { input: 6_500, ..ask(purpose) };
    while let BudgetVerdict::Granted { .. } = ledger.ask(working[0], &more(Purpose::Work)) {
        ledger.settle(working[0], Amount { tokens: 7_000, ..Amount::default() }, 6_500, &more(Purpose::Work));
    }
    for seat in working {
        let verdict = ledger.ask(seat, &more(Purpose::LastTurn));
        assert!(matches!(verdict, BudgetVerdict::Granted { output } if output >= 1_000), "{verdict:?}");
    }
    assert!(ledger.reserved().tokens <= ledger.left().tokens.unwrap());
}

#[test]
fn amounts_are_read_as_people_write_them() {
    use belvedere::message::parse_tokens;
    let read = |text: &str| parse_tokens(text).ok();
    assert_eq!(
        ["200000", "200_000", "200k", "1.5M", " 2 m "].map(read),
        [Some(200_000), Some(200_000), Some(200_000), Some(1_500_000), Some(2_000_000)]
    );
    for wrong in ["", "k", "0", "-5", "1e9", "nan", "inf", "200kk", "0.4", "lots", "1.2.3", "99999999999999999999M"] {
        assert!(parse_tokens(wrong).unwrap_err().contains("200k"), "{wrong}");
    }
    let dollars = |text: &str| text.parse::<Dollars>().map(f64::from).ok();
    assert_eq!(["2", "$2", "0.75", "$ 1.25"].map(dollars), [Some(2.0), Some(2.0), Some(0.75), Some(1.25)]);
    for wrong in ["", "$", "0", "-1", "2k", "nan", "two"] {
        assert!(wrong.parse::<Dollars>().unwrap_err().contains("2.50"), "{wrong}");
    }
    assert_eq!(Dollars::from(2.0).to_string(), "$2.00");
    let none = BudgetLimit::default();
    let both = none.changed("500k $2", 0, 0.0).unwrap();
    assert_eq!(both, BudgetLimit { tokens: Some(500_000), usd: Some(Dollars::from(2.0)) });
    assert_eq!(both.changed("+100k", 20_000, 0.5).unwrap().tokens, Some(120_000));
    assert_eq!(both.changed("+$1", 20_000, 0.5).unwrap().usd, Some(Dollars::from(1.5)));
    assert_eq!(both.changed("off", 0, 0.0).unwrap(), none);
    assert!(both.changed("much", 0, 0.0).is_err());
    assert_eq!(serde_json::to_string(&both).unwrap(), r#"{"tokens":500000,"usd":2.0}"#);
}
