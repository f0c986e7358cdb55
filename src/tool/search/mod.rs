//! Looking for a regular expression in one file. Leaves which files there are to `walk` and `ignores`.
//!
//! Invariants: files that hold a NUL byte are binary and never match; a file that ends the search, by its size or by
//! never ending, does so within the bounds of the walk's watch.

pub(super) mod ignores;
pub(super) mod walk;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use self::walk::Watch;
use crate::tool::ToolOutput;
use crate::tool::file::{FileError, open_regular};
use crate::tool::grep::GrepInput;
use crate::tool::limit::cut;

/// Characters shown of one line.
const MAX_LINE: usize = 500;
/// Characters shown before the match in a line that is cut.
const LEAD: usize = 100;
/// Bytes that decide whether a file is text.
const SNIFF: usize = 8 << 10;
/// What a pattern may take in memory once it is compiled, and how long a line it may be looked for in, or across lines a
/// content. Within one line nothing stops a search, and its time grows with both.
const SIZES: [(usize, usize); 3] = [(16 << 10, 64 << 20), (128 << 10, 8 << 20), (4 << 20, 256 << 10)];
/// Memory for what is remembered of a pattern while it is looked for.
const MAX_REMEMBERED: usize = 16 << 20;

pub(super) struct Needle {
    matcher: RegexMatcher,
    multiline: bool,
    /// Memory for one file, or for one of its lines.
    heap: usize,
}

/// Which lines of a file are shown.
pub(super) struct PageWindow {
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) most: usize,
}

pub(super) struct Found {
    /// Number and mark: `:` for a match, `-` for context. `None` stands for a gap.
    pub(super) place: Option<(u64, char)>,
    /// The text, cut where it is long.
    pub(super) text: String,
}

impl Needle {
    pub(super) fn new(input: &GrepInput) -> Result<Self, ToolOutput> {
        if input.pattern.is_empty() {
            return Err(ToolOutput::error("The pattern is empty. Say what to look for."));
        }
        let multiline = input.multiline.unwrap_or(false);
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).case_insensitive(input.ignore_case.unwrap_or(false)).dot_matches_new_line(multiline);
        if !multiline {
            builder.crlf(true);
        }
        builder.dfa_size_limit(MAX_REMEMBERED);
        let mut error = String::new();
        for (size, heap) in SIZES {
            match builder.size_limit(size).build(&input.pattern) {
                Ok(matcher) => return Ok(Self { matcher, multiline, heap }),
                Err(why) => error = why.to_string(),
            }
            if !error.contains("size limit") {
                break;
            }
        }
        Err(ToolOutput::error(bad_pattern(&input.pattern, &error, multiline)))
    }

    fn builder(&self) -> SearcherBuilder {
        let mut builder = SearcherBuilder::new();
        builder.binary_detection(BinaryDetection::quit(0)).heap_limit(Some(self.heap)).multi_line(self.multiline);
        if !self.multiline {
            builder.line_terminator(LineTerminator::crlf());
        }
        builder
    }

    /// Returns a searcher for [`Self::count`] that stops after `most` matches.
    pub(super) fn counter(&self, most: Option<u64>) -> Searcher {
        self.builder().line_number(false).max_matches(most).build()
    }

    /// Returns the number of matching lines of a file, or `None` if it is no text; a vanished one has no such lines.
    ///
    /// # Errors
    /// Fails for a file that may not be read, or that has a line, or across lines a content, beyond what memory is spent
    /// on.
    pub(super) fn count(&self, searcher: &mut Searcher, path: &Path, watch: &Watch) -> io::Result<Option<u64>> {
        let mut count = Count { lines: 0, is_binary: false };
        match open(path, watch)? {
            Opened::Text(file) => searcher.search_reader(&self.matcher, file, &mut count)?,
            Opened::Binary => count.is_binary = true,
            Opened::Gone => {}
        }
        Ok((!count.is_binary).then_some(count.lines))
    }

    /// Returns the lines of a file that are to be shown.
    pub(super) fn lines(&self, path: &Path, window: &PageWindow, watch: &Watch) -> Vec<Found> {
        let mut searcher =
            self.builder().line_number(true).before_context(window.before).after_context(window.after).build();
        let mut lines = Collect { needle: self, found: Vec::new(), most: window.most };
        if let Ok(Opened::Text(file)) = open(path, watch) {
            // A fault half way leaves what was found until then.
            let _ = searcher.search_reader(&self.matcher, file, &mut lines);
        }
        lines.found
    }

    fn shown(&self, line: &[u8]) -> String {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        if text.len() <= MAX_LINE {
            return text.to_owned();
        }
        let at = self.matcher.find(text.as_bytes()).ok().flatten().map_or(0, |found| found.start());
        let before = text.get(..at).map_or(0, |before| before.chars().count()).saturating_sub(LEAD);
        let from = if before == 0 { 0 } else { text.char_indices().nth(before).map_or(0, |(from, _)| from) };
        let (part, is_cut) = cut(&text[from..], MAX_LINE);
        let lead = if from > 0 { "… " } else { "" };
        let rest = if is_cut { " …" } else { "" };
        format!("{lead}{part}{rest}")
    }
}

/// What was found at a path.
enum Opened<'w> {
    Text(Watched<'w>),
    Binary,
    /// Nothing that could be searched.
    Gone,
}

/// Opens a text file. Whether a file is text is decided by its beginning, before any search, so that it does not depend
/// on how far the search gets. UTF-16 with a byte order mark is text.
fn open<'w>(path: &Path, watch: &'w Watch) -> io::Result<Opened<'w>> {
    let mut file = match open_regular(path, "") {
        Ok((file, _)) => file,
        Err(FileError::System(_, error)) => return Err(error),
        Err(_) => return Ok(Opened::Gone),
    };
    let mut start = Vec::with_capacity(SNIFF);
    file.by_ref().take(SNIFF as u64).read_to_end(&mut start)?;
    let is_wide = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    if !is_wide && start.contains(&0) {
        return Ok(Opened::Binary);
    }
    Ok(Opened::Text(Watched { stream: Cursor::new(start).chain(file), watch }))
}

/// A file that stops being readable when its watch is over.
struct Watched<'w> {
    stream: Chain<Cursor<Vec<u8>>, File>,
    watch: &'w Watch,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.is_over() {
            return Err(io::Error::other("the search is over"));
        }
        self.stream.read(buffer)
    }
}

struct Count {
    lines: u64,
    /// Whether a NUL byte came after all.
    is_binary: bool,
}

impl Sink for &mut Count {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, _found: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

struct Collect<'n> {
    needle: &'n Needle,
    found: Vec<Found>,
    most: usize,
}

impl Collect<'_> {
    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        if self.found.len() < self.most {
            let text = self.needle.shown(line);
            self.found.push(Found { place: Some((number.unwrap_or(0), mark)), text });
        }
    }
}

impl Sink for &mut Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        for (at, line) in found.lines().enumerate() {
            self.push(found.line_number().map(|first| first + at as u64), ':', line);
        }
        Ok(self.found.len() < self.most)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.push(context.line_number(), '-', context.bytes());
        Ok(self.found.len() < self.most)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        if self.found.len() < self.most {
            self.found.push(Found { place: None, text: String::new() });
        }
        Ok(self.found.len() < self.most)
    }
}

/// Says what is wrong with a pattern and how it could be meant.
fn bad_pattern(pattern: &str, error: &str, multiline: bool) -> String {
    let reason = error.lines().map(str::trim).rfind(|line| line.starts_with("error:")).unwrap_or(error);
    let mut words = format!("Invalid or unsupported regular expression ({reason}).");
    if reason.contains("size limit") {
        words.push_str(" It compiles too large: repeat less, and do not nest repetitions.");
    } else if reason.contains("look-around") || reason.contains("backreference") {
        words.push_str(" Use a simpler pattern with context lines, and check the matches yourself.");
    } else if pattern.contains("\\n") || pattern.contains('\n') {
        if !multiline {
            words.push_str(" To match across lines, set multiline.");
        }
    } else {
        let _ = write!(words, " To find the literal text, escape it: {}", regex::escape(pattern));
    }
    words
}
