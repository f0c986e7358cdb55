//! A storm: 100 subagents tell of 200 events a second each, for a minute, with a frame every 16 ms.
//!
//! Time is that of the events, so the whole storm takes as long as the work in it: what it takes of 60 s is the share
//! of a core that the screen needs.

use std::time::{Duration, Instant};

use criterion::Criterion;

use crate::stage::Stage;

const CHILDREN: u32 = 100;
/// Between two events of the whole tree: 100 × 200 a second.
const EVENTS_PER_FRAME: u32 = CHILDREN * 200 * 16 / 1_000;
const FRAME: Duration = Duration::from_millis(16);
const FRAMES: u32 = 60_000 / 16;

/// Plays a number of frames and returns how long each took, its events included.
fn play(stage: &mut Stage, frames: u32) -> Vec<Duration> {
    let mut count = 0_u32;
    let mut times = Vec::with_capacity(frames as usize);
    for _ in 0..frames {
        let began = Instant::now();
        for _ in 0..EVENTS_PER_FRAME {
            count = count.wrapping_add(1);
            let child = count % CHILDREN + 1;
            match count / CHILDREN % 40 {
                0 => stage.calls(child, &format!("call-{child}-{count}")),
                10 => stage.says(child, "\n\n"),
                _ => stage.says(child, "some more words "),
            }
        }
        stage.wait(FRAME);
        if stage.app.is_dirty() {
            stage.frame();
        }
        times.push(began.elapsed());
    }
    times
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events");
    group.sample_size(10);
    group.bench_function("a minute of 100 agents", |bencher| {
        bencher.iter_custom(|rounds| {
            (0..rounds).map(|_| play(&mut Stage::with_children(CHILDREN), FRAMES).iter().sum::<Duration>()).sum()
        });
    });
    group.bench_function("the slowest frame but one in a hundred", |bencher| {
        bencher.iter_custom(|rounds| {
            let slowest = || {
                let mut times = play(&mut Stage::with_children(CHILDREN), 600);
                times.sort_unstable();
                times[times.len() * 99 / 100]
            };
            (0..rounds).map(|_| slowest()).sum()
        });
    });
    group.finish();
}
