//! What a frame costs: with few and many agents, quiet and talking, and below a short and a long transcript.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion};

use crate::stage::Stage;

/// What an agent says between two frames: a dozen words, now and then a new paragraph.
const WORDS: [&str; 4] = ["and so it goes on ", "`with code` and **more** ", "until it is said.\n\n", "- an item\n"];

pub(crate) fn bench(criterion: &mut Criterion) {
    agents(criterion);
    transcripts(criterion);
}

fn agents(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    for count in [8, 100] {
        group.bench_function(BenchmarkId::new("unchanged", count), |bencher| {
            let mut stage = Stage::with_children(count);
            bencher.iter(|| black_box(stage.frame()));
        });
        for (name, talking, keys) in [
            ("one streams", 1, ""),
            ("all stream", count, ""),
            // Three steps on from the automatic layout, every agent is one line.
            ("all stream, folded", count, "<ctrl+l><ctrl+l><ctrl+l>"),
        ] {
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                let mut stage = Stage::with_children(count);
                stage.keys(keys);
                let mut turn = 0;
                bencher.iter(|| {
                    turn += 1;
                    for child in 1..=talking {
                        stage.says(child, WORDS[turn % WORDS.len()]);
                    }
                    black_box(stage.frame())
                });
            });
        }
    }
    group.finish();
}

/// The same frame below 1,000 and below 100,000 lines.
fn transcripts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame of a transcript");
    for lines in [1_000_u32, 100_000] {
        let stage = || {
            let mut stage = Stage::new();
            stage.main(belvedere::agent::EventKind::Started);
            for line in 0..lines / 10 {
                stage.calls(0, &format!("call-{line}"));
                stage.says(0, &format!("Step {line}.\n{}", "One more line of what was found.\n\n".repeat(4)));
            }
            stage.frame();
            stage
        };
        group.bench_function(BenchmarkId::new("streaming", lines), |bencher| {
            let mut stage = stage();
            let mut turn = 0;
            bencher.iter(|| {
                turn += 1;
                stage.says(0, WORDS[turn % WORDS.len()]);
                black_box(stage.frame())
            });
        });
        group.bench_function(BenchmarkId::new("paging", lines), |bencher| {
            let mut stage = stage();
            let mut turn = 0;
            bencher.iter(|| {
                turn += 1;
                stage.keys(if turn % 20 < 10 { "<pageup>" } else { "<pagedown>" });
                black_box(stage.frame())
            });
        });
    }
    group.finish();
}
