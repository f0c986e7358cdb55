//! Five hundred agent files, in the shapes that are in circulation: read for the first time, and read anew after one of
//! them changed.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belvedere::definition::{AgentDir, KnownNames, Library, Tier};
use criterion::{BatchSize, Criterion};
use tempfile::TempDir;

const FILES: usize = 500;

fn library(folder: &Path) -> Library {
    let dirs = vec![AgentDir { tier: Tier::ProjectClaude, path: folder.to_path_buf(), bounds: None }];
    let tools = ["Read", "Grep", "Bash"].map(str::to_owned).to_vec();
    Library::new(dirs.into(), Vec::new(), KnownNames { tools, ..KnownNames::default() })
}

/// Writes the fixtures of the tests again and again, each time with a prompt of usual length.
fn files() -> TempDir {
    let ground = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents");
    let mut shapes: Vec<PathBuf> = fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()).collect();
    shapes.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    shapes.sort();
    for at in 0..FILES {
        let mut bytes = fs::read(&shapes[at % shapes.len()]).unwrap();
        bytes.extend("You do one thing and do it well. Say what you did.\n".repeat(80).bytes());
        fs::write(ground.path().join(format!("{at}.md")), bytes).unwrap();
    }
    ground
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("agents");
    group.sample_size(20);
    let ground = files();
    group.bench_function("load_500", |bencher| {
        bencher.iter_batched(|| library(ground.path()), |library| library.reload(), BatchSize::PerIteration);
    });
    // Younger files may change without a trace, and are read every time.
    std::thread::sleep(Duration::from_secs(4));
    let library = library(ground.path());
    library.reload();
    let edited = ground.path().join("0.md");
    let count = Cell::new(0);
    let edit = || {
        count.set(count.get() + 1);
        let text = format!("---\nname: edited\ndescription: Number {}\n---\nBody.", count.get());
        fs::write(&edited, text).unwrap();
    };
    group.bench_function("load_500/one_changed", |bencher| {
        bencher.iter_batched(edit, |()| assert!(!library.reload().is_empty()), BatchSize::PerIteration);
    });
    group.finish();
}
