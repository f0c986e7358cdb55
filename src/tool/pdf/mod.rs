//! PDF documents, page by page: some pages as a document of their own, or the text of pages.
//!
//! Owns which pages are meant, and the process that takes a document apart: this program, started once more, with limits
//! on its memory and time, because a document may be made to fill both. Leaves the document itself to `pages`, and what a
//! model reads of it to `output`. Invariant: whatever a file holds, an answer or an error comes within [`TIME_LIMIT`].

mod child;
pub(super) mod output;
mod pages;

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

pub use child::read_document_if_asked;

/// Pages of one call, and of a document that is read without naming any.
const MAX_PAGES: u32 = 20;
/// Bytes of a file that is taken apart.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Bytes of an answer, and so of the pages that were cut out.
const MAX_ANSWER: u64 = MAX_FILE_BYTES + (1 << 20);
/// How long taking a document apart may take. The processor's time has a limit of its own, see `child`.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The argument that makes this program take a document apart, which it reads from its standard input.
const READ_DOCUMENT: &str = "__read-document";

/// What is wanted of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PagesAs {
    Document,
    Text,
}

/// What a document was found to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PdfPages {
    /// All pages are wanted, and the file can be sent as it is.
    AsItIs {
        count: u32,
    },
    /// A document of these pages follows.
    Cut {
        first: u32,
        last: u32,
        count: u32,
    },
    /// The text of these pages, the first of which has this number; empty where there is none.
    Text {
        first: u32,
        texts: Vec<String>,
        count: u32,
    },
    /// More pages than are read without naming some.
    TooMany {
        count: u32,
    },
    /// It ends before the first of the pages.
    PastEnd {
        count: u32,
    },
    Locked,
    Damaged,
}

/// Returns the pages of a call: `3`, `1-5` or `10-20`.
///
/// # Errors
/// Returns what is wrong, and what to write instead.
fn page_range(words: &str) -> Result<RangeInclusive<u32>, String> {
    let number = |word: &str| word.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let range = match words.split_once(['-', '–']) {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(words).map(|page| (page, page)),
    };
    match range {
        Some((first, last)) if first <= last && last - first < MAX_PAGES => Ok(first..=last),
        Some((first, last)) if first <= last => {
            Err(format!("pages: {first}-{last} are {} pages; one call reads at most {MAX_PAGES}.", last - first + 1))
        }
        _ => Err("pages: write one page or a range, such as \"3\" or \"1-5\".".to_owned()),
    }
}

/// Has a document taken apart by a process of its own, a file of `program`. Returns what it is, and the bytes of a cut one.
///
/// # Errors
/// Returns an error if the process cannot be started, or did not come to an end within its limits.
async fn read_pages(
    program: &Path,
    file: File,
    pages: Option<&RangeInclusive<u32>>,
    wanted: PagesAs,
    cancel: &CancellationToken,
) -> io::Result<(PdfPages, Vec<u8>)> {
    let request =
        serde_json::to_string(&child::PdfRequest { pages: pages.map(|it| (*it.start(), *it.end())), wanted })?;
    let mut process = Command::new(program);
    process.args([READ_DOCUMENT, &request]).env_clear().kill_on_drop(true);
    let mut process = process.stdin(file).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut answer = Vec::new();
    let out = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let work = async {
        out.take(MAX_ANSWER).read_to_end(&mut answer).await?;
        process.wait().await
    };
    let gave_up = || io::Error::other("it takes more memory or time than a document should");
    let status = tokio::select! {
        status = work => status?,
        () = tokio::time::sleep(TIME_LIMIT) => return Err(gave_up()),
        () = cancel.cancelled() => return Err(io::Error::other(crate::message::INTERRUPTED)),
    };
    if !status.success() {
        return Err(gave_up());
    }
    let end = memchr::memchr(b'\n', &answer).ok_or_else(gave_up)?;
    let bytes = answer.split_off(end + 1);
    Ok((serde_json::from_slice(&answer)?, bytes))
}
