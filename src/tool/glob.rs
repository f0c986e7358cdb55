//! `Glob`: finds files by name, the newest first.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkState;
use ignore::overrides::Override;
use schemars::JsonSchema;
use serde::Deserialize;

use super::blocking::off_thread;
use super::ignores::{Ignores, Sieve};
use super::input::spec_of;
use super::limit::counted;
use super::path::{argument, one_line, relative, resolve, revealed_line, title};
use super::walk::{LATE, Watch, check_walk_threads, walk};
use super::{Args, Concurrency, Plan, Tool, ToolContext, ToolOutput, parse_input};
use crate::message::{INTERRUPTED, ToolSpec};
use crate::permission::AccessKind;

const NAME: &str = "Glob";
/// Files shown.
const MAX_SHOWN: usize = 100;
/// Files remembered in order to find the newest.
const MAX_FOUND: usize = 200_000;

/// Finds files by name.
pub(super) struct Glob(pub(super) Ignores);

/// The input.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Pattern with * ? ** [a-z] {a,b}; one without a slash matches at any depth.
    pattern: String,
    /// Folder to search; the working directory unless given.
    #[serde(default, alias = "dir", alias = "directory")]
    path: Option<String>,
}

impl Tool for Glob {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        spec_of::<Input>(NAME, include_str!("../../assets/tools/Glob.md"))
    }

    fn concurrency(&self, _args: &Args) -> Concurrency {
        Concurrency::Parallel
    }

    fn title(&self, args: &Args, context: &ToolContext) -> String {
        let pattern = revealed_line(argument(args, &["pattern"]), 120);
        match argument(args, &["path", "dir", "directory"]) {
            "" | "." => pattern,
            path => format!("{pattern} in {}", title(path, context)),
        }
    }

    fn plan<'a>(&'a self, args: &'a Args, context: &'a ToolContext) -> BoxFuture<'a, Result<Plan, ToolOutput>> {
        async move {
            let input: Input = parse_input(NAME, args)?;
            off_thread(context, move |context| {
                let query = Query::new(&input, context)?;
                Ok(Plan::new(AccessKind::Read { path: query.root }))
            })
            .await
        }
        .boxed()
    }

    fn run<'a>(&'a self, args: &'a Args, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        async move {
            let input: Input = match parse_input(NAME, args) {
                Ok(input) => input,
                Err(failed) => return failed,
            };
            let ignores = self.0.clone();
            let done = off_thread(context, move |context| find(&Query::new(&input, context)?, &ignores, context)).await;
            done.unwrap_or_else(|failed| failed)
        }
        .boxed()
    }
}

/// What is looked for, and below which folder.
struct Query {
    root: PathBuf,
    matcher: GlobSet,
}

impl Query {
    fn new(input: &Input, context: &ToolContext) -> Result<Self, ToolOutput> {
        let pattern = input.pattern.trim();
        if pattern.is_empty() {
            return Err(ToolOutput::error("The pattern is empty. Use for example **/*.rs."));
        }
        let (folder, rest) = split(pattern);
        let base = input.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
        let start = match folder {
            "" => base.to_owned(),
            folder if folder.starts_with(['/', '~']) => folder.to_owned(),
            folder => format!("{base}/{folder}"),
        };
        let any_depth = if pattern.contains('/') { rest.to_owned() } else { format!("**/{rest}") };
        let glob = GlobBuilder::new(&any_depth).literal_separator(true).build();
        let matcher = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build()).map_err(|error| {
            let reason = one_line(&error.kind().to_string(), 200);
            ToolOutput::error(format!("The pattern does not work: {reason}. Use * ? ** [a-z] {{a,b}}."))
        })?;
        Ok(Self { root: resolve(&start, context)?, matcher })
    }
}

/// Splits a pattern into the folders before its first wildcard, and the rest.
fn split(pattern: &str) -> (&str, &str) {
    let wild = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(at) => (&pattern[..at], &pattern[at + 1..]),
        None => ("", pattern),
    }
}

fn find(query: &Query, ignores: &Ignores, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let shown_root = relative(&query.root, &context.cwd);
    match std::fs::metadata(&query.root) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(ToolOutput::error(format!("{shown_root} is not a folder. Name the folder to search."))),
        Err(error) => return Err(ToolOutput::error(format!("{shown_root}: {error}. Find the right folder with LS."))),
    }
    let watch = Watch::new(&context.cancel);
    let found: Mutex<Vec<(SystemTime, PathBuf)>> = Mutex::default();
    let unread = AtomicUsize::new(0);
    let sieve = Arc::new(Sieve::new(&query.root, ignores, Override::empty()));
    check_walk_threads()?;
    walk(&query.root, &sieve).build_parallel().run(|| {
        Box::new(|entry| {
            if watch.is_over() {
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                unread.fetch_add(1, Ordering::Relaxed);
                return WalkState::Continue;
            };
            if entry.file_type().is_none_or(|kind| kind.is_dir()) || !query.matches(entry.path()) {
                return WalkState::Continue;
            }
            let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.into_path()));
            if found.len() < MAX_FOUND { WalkState::Continue } else { WalkState::Quit }
        })
    });
    if context.cancel.is_cancelled() {
        return Err(ToolOutput::error(INTERRUPTED));
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by(|(a_time, a), (b_time, b)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
    let mut text: Vec<String> = found.iter().take(MAX_SHOWN).map(|(_, path)| relative(path, &context.cwd)).collect();
    if found.is_empty() {
        text.push("No files found.".to_owned());
    }
    if found.len() > MAX_SHOWN {
        text.push(format!("[{} more; narrow the pattern or the path]", found.len() - MAX_SHOWN));
    }
    match unread.into_inner() {
        0 => {}
        count => {
            text.push(format!("[{} could not be looked into: no permission, or too deep]", counted(count, "place")));
        }
    }
    if watch.is_late() {
        text.push(LATE.to_owned());
    }
    Ok(ToolOutput::text(text.join("\n"), counted(found.len(), "file")))
}

impl Query {
    fn matches(&self, path: &Path) -> bool {
        path.strip_prefix(&self.root).is_ok_and(|inside| self.matcher.is_match(inside))
    }
}
