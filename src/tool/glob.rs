//! `Glob`: finds files by name, the newest first.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::DirEntry;
use ignore::overrides::Override;
use schemars::JsonSchema;
use serde::Deserialize;

use super::blocking::off_thread;
use super::file::missing::missing_words;
use super::file::path::{ResolvedPath, folder_or_cwd, one_line, plan_reading, relative, revealed_line, title};
use super::limit::counted;
use super::search::ignores::{Ignores, Sieve};
use super::search::walk::{LATE, Watch, find_all, walk};
use super::{Plan, Tool, ToolContext, ToolOutput};
use crate::permission::ToolKind;

const MAX_SHOWN: usize = 100;
/// Files remembered in order to find the newest.
const MAX_FOUND: usize = 200_000;

pub(super) struct Glob(pub(super) Ignores);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GlobInput {
    /// Pattern with * ? ** [a-z] {a,b}; one without a slash matches at any depth.
    pattern: String,
    /// Folder to search; the working directory by default.
    #[serde(default)]
    path: Option<String>,
}

impl Tool for Glob {
    type Input = GlobInput;
    /// The folder to search, and what is looked for below it.
    type Prepared = (ResolvedPath, GlobSet);

    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/Glob.md");
    const KIND: ToolKind = ToolKind::Read;

    fn title(&self, input: &GlobInput, context: &ToolContext) -> String {
        let pattern = revealed_line(&input.pattern, 120);
        match input.path.as_deref().unwrap_or_default() {
            "" | "." => pattern,
            path => format!("{pattern} in {}", title(path, context)),
        }
    }

    async fn prepare(&self, input: GlobInput, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        let (start, matcher) = query(input)?;
        let (plan, root) = plan_reading(start, context).await?;
        Ok((plan, (root, matcher)))
    }

    async fn run(&self, (root, matcher): Self::Prepared, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let ignores = self.0.clone();
        off_thread(context, move |context| find(root.confirmed(context)?, &matcher, &ignores, context)).await
    }
}

/// Returns the folder to search, and what is looked for below it.
fn query(input: GlobInput) -> Result<(String, GlobSet), ToolOutput> {
    let pattern = input.pattern.trim();
    if pattern.is_empty() {
        return Err(ToolOutput::error("The pattern is empty. Use one such as **/*.rs."));
    }
    let (folder, rest) = split(pattern);
    let base = folder_or_cwd(input.path);
    let start = match folder {
        "" => base,
        folder if folder.starts_with(['/', '~']) => folder.to_owned(),
        folder => format!("{base}/{folder}"),
    };
    let any_depth = if pattern.contains('/') { rest.to_owned() } else { format!("**/{rest}") };
    let glob = GlobBuilder::new(&any_depth).literal_separator(true).build();
    let matcher = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build()).map_err(|error| {
        let reason = one_line(&error.kind().to_string(), 200);
        ToolOutput::error(format!("Invalid pattern: {reason}. Use * ? ** [a-z] {{a,b}}."))
    })?;
    Ok((start, matcher))
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

fn find(root: &Path, matcher: &GlobSet, ignores: &Ignores, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let shown_root = relative(root, &context.cwd);
    match std::fs::metadata(root) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(ToolOutput::error(format!("{shown_root} is not a folder. Give the folder to search."))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ToolOutput::error(missing_words(root, &context.cwd, "Find the right folder with LS.")));
        }
        Err(error) => return Err(ToolOutput::error(format!("{shown_root}: {error}. Find the right folder with LS."))),
    }
    let watch = Watch::new(&context.cancel);
    let unread = AtomicUsize::new(0);
    let sieve = Arc::new(Sieve::new(root, ignores, Override::empty()));
    let files = walk(root, &sieve);
    let wanted = |entry: DirEntry| -> Option<(SystemTime, PathBuf)> {
        let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
        if !is_file || !entry.path().strip_prefix(root).is_ok_and(|inside| matcher.is_match(inside)) {
            return None;
        }
        let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        Some((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.into_path()))
    };
    let mut found = find_all(&files, &watch, MAX_FOUND, &unread, || wanted)?;
    context.check_cancelled()?;
    found.sort_unstable_by(|(a_time, a), (b_time, b)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
    let mut text: Vec<String> = found.iter().take(MAX_SHOWN).map(|(_, path)| relative(path, &context.cwd)).collect();
    if found.is_empty() {
        text.push("No files found.".to_owned());
        text.extend(Some(sieve.unsearched(&context.cwd).trim_end().to_owned()).filter(|words| !words.is_empty()));
    }
    if found.len() > MAX_SHOWN {
        text.push(format!("[{} more; narrow the pattern or the path]", found.len() - MAX_SHOWN));
    }
    match unread.into_inner() {
        0 => {}
        count => {
            text.push(format!("[{} could not be searched: no permission, or too deep]", counted(count, "place")));
        }
    }
    if watch.is_late() {
        text.push(LATE.to_owned());
    }
    Ok(ToolOutput::text(text.join("\n"), counted(found.len(), "file")))
}
