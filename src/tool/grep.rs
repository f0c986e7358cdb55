//! `Grep`: finds text in files.
//!
//! Owns the input, the choice of files and the layout of the result. Leaves looking into a file to `search`.
//! Invariant: the result depends on the files alone, not on the order in which threads found them.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::blocking::off_thread;
use super::file::missing::missing_words;
use super::file::path::{ResolvedPath, folder_or_cwd, plan_reading, relative, revealed_line, title};
use super::limit::{counted, grouped};
use super::search::ignores::{Ignores, Sieve};
use super::search::walk::{LATE, Watch, find_all, walk};
use super::search::{Needle, PageWindow};
use super::{Plan, Tool, ToolContext, ToolOutput};
use crate::message::split_list;
use crate::permission::ToolKind;

/// Lines or files shown unless told otherwise.
const DEFAULT_LIMIT: usize = 250;
const MAX_LIMIT: usize = 5_000;
/// Characters for the words that follow the lines, so that no middle is left out of the result.
const NOTE_ROOM: usize = 1_000;
const MAX_CONTEXT: usize = 50;
/// What is said of a pattern in another syntax that has found nothing.
const BAR: &str = "[`\\|` is a bar itself in this syntax; write `|` for \"or\"]\n";
const MAX_FILES: usize = 100_000;

pub(super) struct Grep(pub(super) Ignores);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GrepInput {
    /// Regular expression in the syntax of ripgrep; write \{ for a literal brace.
    pub(super) pattern: String,
    /// File or folder to search; the working directory by default.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose names match, such as *.rs or **/*.{ts,tsx}; separate several with spaces, exclude with !.
    #[serde(default)]
    glob: Option<String>,
    /// Only files of this type, such as rust, py, js, go.
    #[serde(default, rename = "type")]
    file_type: Option<String>,
    /// What to show; files_with_matches by default.
    #[serde(default)]
    output_mode: Mode,
    /// Lines to show after each match (content).
    #[serde(default, rename = "-A")]
    after: Option<usize>,
    /// Lines to show before each match (content).
    #[serde(default, rename = "-B")]
    before: Option<usize>,
    /// Lines to show before and after each match (content).
    #[serde(default, rename = "-C")]
    around: Option<usize>,
    /// Show line numbers (content); true by default.
    #[serde(default, rename = "-n")]
    numbers: Option<bool>,
    /// Ignore case.
    #[serde(default, rename = "-i")]
    pub(super) ignore_case: Option<bool>,
    /// Let . match line breaks, and matches span lines.
    #[serde(default)]
    pub(super) multiline: Option<bool>,
    /// Lines or files to show: 250 by default, 0 for as many as fit.
    #[serde(default)]
    head_limit: Option<usize>,
    /// Lines or files to skip first.
    #[serde(default)]
    offset: Option<usize>,
}

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

impl Tool for Grep {
    type Input = GrepInput;
    type Prepared = (ResolvedPath, Needle, GrepInput);

    const NAME: &'static str = "Grep";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/Grep.md");
    const KIND: ToolKind = ToolKind::Search;

    fn title(&self, input: &GrepInput, context: &ToolContext) -> String {
        let pattern = revealed_line(&input.pattern, 120);
        match input.path.as_deref().unwrap_or_default() {
            "" | "." => format!("\"{pattern}\""),
            path => format!("\"{pattern}\" in {}", title(path, context)),
        }
    }

    async fn prepare(&self, input: GrepInput, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        let needle = Needle::new(&input)?;
        let (plan, root) = plan_reading(folder_or_cwd(input.path.clone()), context).await?;
        Ok((plan, (root, needle, input)))
    }

    async fn run(
        &self,
        (root, needle, input): Self::Prepared,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        let ignores = self.0.clone();
        off_thread(context, move |context| grep(root.confirmed(context)?, &needle, &input, &ignores, context)).await
    }
}

struct Hit {
    path: PathBuf,
    count: u64,
}

fn grep(
    root: &Path,
    needle: &Needle,
    input: &GrepInput,
    ignores: &Ignores,
    context: &ToolContext,
) -> Result<ToolOutput, ToolOutput> {
    let shown = relative(root, &context.cwd);
    match std::fs::metadata(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ToolOutput::error(missing_words(root, &context.cwd, "Find the right path with LS or Glob.")));
        }
        Err(error) => return Err(ToolOutput::error(format!("{shown}: {error}. Find the right path with LS or Glob."))),
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            super::file::look_at(root, &shown)?;
        }
    }
    let watch = Watch::new(&context.cancel);
    let (files, sieve) = files(input, root, ignores, &context.cwd)?;
    let (hits, skipped) = hits(&files, needle, &watch, input.output_mode)?;
    let skipped = Skipped { ignored: sieve.unsearched(&context.cwd), ..skipped };
    context.check_cancelled()?;
    let mut page = Page::new(input, context.result_chars);
    for hit in &hits {
        if page.is_full() {
            break;
        }
        let name = relative(&hit.path, &context.cwd);
        match input.output_mode {
            Mode::FilesWithMatches => page.push(&name),
            Mode::Count => page.push(&format!("{name}:{}", hit.count)),
            Mode::Content => content(&mut page, &name, &hit.path, needle, input, &watch),
        }
    }
    context.check_cancelled()?;
    Ok(page.output(&hits, &skipped, input, &watch))
}

/// Returns the walk over the files that the input asks for.
fn files(
    input: &GrepInput,
    root: &Path,
    ignores: &Ignores,
    cwd: &Path,
) -> Result<(WalkBuilder, Arc<Sieve>), ToolOutput> {
    let wanted = wanted(input, root, cwd)?;
    let sieve = Arc::new(Sieve::new(root, ignores, wanted.clone()));
    let mut builder = walk(root, &sieve);
    builder.overrides(wanted);
    if let Some(name) = input.file_type.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        let mut types = TypesBuilder::new();
        types.add_defaults().select(known_type(name));
        builder.types(types.build().map_err(|_| {
            ToolOutput::error(format!("`{name}` is not a known file type. Use glob instead, such as *.{name}."))
        })?);
    }
    Ok((builder, sieve))
}

fn wanted(input: &GrepInput, root: &Path, cwd: &Path) -> Result<Override, ToolOutput> {
    let mut overrides = OverrideBuilder::new(root);
    let globs = |list| split_list(list, ['{', '}'], |c| c == ',' || c.is_whitespace());
    for glob in input.glob.as_deref().into_iter().flat_map(globs) {
        for form in forms(glob, root, cwd) {
            overrides.add(&form).map_err(|error| ToolOutput::error(format!("Invalid glob `{glob}`: {error}.")))?;
        }
    }
    overrides.build().map_err(|error| ToolOutput::error(format!("Invalid glob: {error}.")))
}

/// Returns the forms in which a glob is looked up below `root`: models write it as seen from the folder searched, from the
/// working directory, or from the root of the file system, and name a folder for what is in it.
fn forms(glob: &str, root: &Path, cwd: &Path) -> Vec<String> {
    let (not, glob) = glob.strip_prefix('!').map_or(("", glob), |glob| ("!", glob));
    let glob = glob.trim_start_matches("./");
    let inside = |place: &Path| {
        let place = place.to_str().filter(|place| !place.is_empty())?;
        glob.strip_prefix(place)?.strip_prefix('/').map(|rest| format!("/{rest}"))
    };
    let seen_from_cwd = root.strip_prefix(cwd).ok().and_then(inside);
    let mut forms: Vec<String> = [Some(glob.to_owned()), seen_from_cwd, inside(root)].into_iter().flatten().collect();
    for form in &mut forms {
        if form.ends_with('/') {
            form.push_str("**");
        }
        form.insert_str(0, not);
    }
    forms
}

/// Returns ripgrep's name of a file type for those that models use for it.
fn known_type(name: &str) -> &str {
    match name {
        "javascript" | "jsx" | "mjs" => "js",
        "tsx" => "ts",
        "c++" | "cc" | "cxx" => "cpp",
        "golang" => "go",
        "rs" => "rust",
        "rb" => "ruby",
        "bash" | "shell" => "sh",
        "yml" => "yaml",
        "htm" => "html",
        "kt" => "kotlin",
        name => name,
    }
}

/// What a search has not looked through.
#[derive(Default)]
struct Skipped {
    /// Places that could not be read.
    unread: AtomicUsize,
    binary: AtomicUsize,
    /// Words on what ignore files exclude.
    ignored: String,
}

impl Skipped {
    fn unread(&self) -> String {
        match self.unread.load(Ordering::Relaxed) {
            0 => String::new(),
            count => format!("[{} could not be searched: no permission, or too large]\n", counted(count, "place")),
        }
    }

    fn binary(&self) -> String {
        match self.binary.load(Ordering::Relaxed) {
            0 => String::new(),
            1 => "[1 binary file was not searched]\n".to_owned(),
            count => format!("[{count} binary files were not searched]\n"),
        }
    }
}

/// Looks through all files and returns those that match, by path, and what was not looked through.
fn hits(files: &WalkBuilder, needle: &Needle, watch: &Watch, mode: Mode) -> Result<(Vec<Hit>, Skipped), ToolOutput> {
    let skipped = Skipped::default();
    let finder = || {
        let mut searcher = needle.counter((mode == Mode::FilesWithMatches).then_some(1));
        let skipped = &skipped;
        move |entry: DirEntry| {
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return None;
            }
            let not_looked_through = match needle.count(&mut searcher, entry.path(), watch) {
                Ok(Some(0)) => return None,
                Ok(Some(count)) => return Some(Hit { path: entry.into_path(), count }),
                Ok(None) => &skipped.binary,
                Err(_) => &skipped.unread,
            };
            not_looked_through.fetch_add(1, Ordering::Relaxed);
            None
        }
    };
    let mut found = find_all(files, watch, MAX_FILES, &skipped.unread, finder)?;
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok((found, skipped))
}

fn content(page: &mut Page, name: &str, path: &Path, needle: &Needle, input: &GrepInput, watch: &Watch) {
    let around = input.around.unwrap_or(0);
    let window = PageWindow {
        before: input.before.unwrap_or(around).min(MAX_CONTEXT),
        after: input.after.unwrap_or(around).min(MAX_CONTEXT),
        most: page.wanted(),
    };
    let numbers = input.numbers.unwrap_or(true);
    if window.before + window.after > 0 && page.taken > 0 {
        page.push("--");
    }
    for line in needle.lines(path, &window, watch) {
        match line.place {
            None => page.push("--"),
            Some((number, mark)) if numbers => page.push(&format!("{name}{mark}{number}{mark}{}", line.text)),
            Some((_, mark)) => page.push(&format!("{name}{mark}{}", line.text)),
        }
    }
}

/// The part of the result that is shown.
struct Page {
    text: String,
    skip: usize,
    limit: usize,
    /// Lines offered so far, skipped ones included.
    taken: usize,
    shown: usize,
    chars: usize,
    /// How many characters may be shown.
    room: usize,
    /// Whether something was offered that is not shown.
    cut: bool,
}

impl Page {
    fn new(input: &GrepInput, result_chars: usize) -> Self {
        let limit = match input.head_limit {
            None => DEFAULT_LIMIT,
            Some(0) => MAX_LIMIT,
            Some(limit) => limit.min(MAX_LIMIT),
        };
        let skip = input.offset.unwrap_or(0);
        let room = result_chars.saturating_sub(NOTE_ROOM);
        Self { text: String::new(), skip, limit, taken: 0, shown: 0, chars: 0, room, cut: false }
    }

    /// Returns how many more lines can be of use, one more than can be shown so that a cut is noticed.
    fn wanted(&self) -> usize {
        self.skip.saturating_add(self.limit).saturating_sub(self.taken).saturating_add(1)
    }

    /// Returns `true` if nothing more will be shown and that this is known to be a cut.
    fn is_full(&self) -> bool {
        self.cut
    }

    fn push(&mut self, line: &str) {
        self.taken += 1;
        if self.taken <= self.skip {
            return;
        }
        let chars = line.chars().count() + 1;
        if self.cut || self.shown == self.limit || self.chars + chars > self.room {
            self.cut = true;
            return;
        }
        self.shown += 1;
        self.chars += chars;
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn output(mut self, hits: &[Hit], skipped: &Skipped, input: &GrepInput, watch: &Watch) -> ToolOutput {
        let files = counted(hits.len(), "file");
        let total: u64 = hits.iter().map(|hit| hit.count).sum();
        let matches = format!("{} {} in {files}", grouped(total), if total == 1 { "hit" } else { "hits" });
        let summary = match input.output_mode {
            Mode::FilesWithMatches => files,
            Mode::Content | Mode::Count => matches,
        };
        let unread = skipped.unread();
        if hits.is_empty() {
            let advice = if watch.is_late() { LATE } else { "No matches found." };
            let bar = if input.pattern.contains(r"\|") { BAR } else { "" };
            let notes = format!("{bar}{}{unread}{}", skipped.binary(), skipped.ignored);
            return ToolOutput::text(format!("{advice}\n{notes}").trim_end(), summary);
        }
        let mut text = match input.output_mode {
            Mode::FilesWithMatches => format!("Found {summary}\n"),
            Mode::Content | Mode::Count => String::new(),
        };
        text.push_str(&self.text);
        if self.shown == 0 {
            let _ = writeln!(text, "[offset {} is past the end of the results]", self.skip);
        }
        if self.cut {
            self.skip += self.shown;
            let _ = writeln!(text, "[{summary} in total; continue with offset {}, or narrow the search]", self.skip);
        }
        text.push_str(&unread);
        if watch.is_late() {
            text.push_str(LATE);
        }
        ToolOutput::text(text, summary)
    }
}
