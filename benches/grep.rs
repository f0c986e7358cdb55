//! The Grep tool on a generated tree of 2,000 files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use belvedere::tool::{
    Args, CommandHost, EditorFiles, Fetcher, Freshness, LanguageServers, SandboxUse, Shell, ToolContext, standard_tools,
};
use criterion::Criterion;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const FOLDERS: usize = 40;
const FILES: usize = 50;

/// Writes files of about 6 KB, one in ten of which holds the sought word.
fn generate(root: &Path) {
    let filler = "let value = compute(value, 17); // and some words of comment\n".repeat(100);
    for folder in 0..FOLDERS {
        let path = root.join(format!("part{folder}/src"));
        fs::create_dir_all(&path).unwrap();
        for file in 0..FILES {
            let needle = if file % 10 == 0 { "fn verify_password() {}\n" } else { "" };
            fs::write(path.join(format!("file{file}.rs")), format!("{filler}{needle}")).unwrap();
        }
    }
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path());
    let root = Arc::new(folder.path().canonicalize().unwrap());
    let context = ToolContext {
        call_id: "call-1".to_owned(),
        cwd: Arc::clone(&root),
        origin: Arc::clone(&root),
        project: root,
        cancel: CancellationToken::new(),
        progress: watch::channel(String::new()).0,
        result_chars: 50_000,
        freshness: Arc::new(Freshness::default()),
        sandbox: SandboxUse::Outside,
        hosts: Vec::new(),
        service_search: None,
        reads_documents: false,
        background: CommandHost::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let tools =
        standard_tools(&Shell::default(), &Fetcher::default(), &LanguageServers::default(), &EditorFiles::default());
    let tool = tools.find("Grep").unwrap();
    let mut group = criterion.benchmark_group("grep");
    group.sample_size(20);
    for (name, input) in [
        ("files", json!({"pattern": "verify_password"})),
        ("lines", json!({"pattern": "verify_pass\\w+", "output_mode": "content", "-C": 2})),
        ("nothing", json!({"pattern": "no_such_word_anywhere"})),
    ] {
        let args: Args = input.as_object().unwrap().clone();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let output = runtime.block_on(async {
                    match tool.parse(&args).prepare(&context).await {
                        Ok(prepared) => prepared.run.await,
                        Err(failed) => failed,
                    }
                });
                assert!(!output.is_error);
                output
            });
        });
    }
    group.finish();
}
