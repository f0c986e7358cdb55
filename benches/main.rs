//! All benchmarks, as one binary: `cargo bench`, or `cargo bench -- frame` for one of them.
//!
//! `cargo bench -- --test` runs each once and measures nothing. Guards that fail when the cost of something begins to
//! depend on what it must not depend on are tests, in `tests/it/load`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark says by its panic what went wrong")]

mod agents;
mod decode;
mod events;
mod frame;
mod grep;
mod markdown;
mod stage;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    frame::bench(&mut criterion);
    markdown::bench(&mut criterion);
    decode::bench(&mut criterion);
    grep::bench(&mut criterion);
    events::bench(&mut criterion);
    agents::bench(&mut criterion);
    criterion.final_summary();
}
