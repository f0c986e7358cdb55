//! The process that takes a document apart.
//!
//! Owns its limits and its answer: a line of JSON, and the bytes of a document that was made. Leaves the document to
//! `pages`. Invariant: the limits are in force before the first byte is read.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use nix::sys::resource::{Resource, setrlimit};
use serde::{Deserialize, Serialize};

use super::pages::PdfFile;
use super::{MAX_FILE_BYTES, MAX_PAGES, PagesAs, PdfPages, READ_DOCUMENT};

/// Bytes of memory: a large file in pieces, and once more as what is made of it.
const MEMORY: u64 = 512 << 20;
/// Seconds of the processor.
const CPU_SECONDS: u64 = 8;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PdfRequest {
    /// First and last page; `None` for all of them.
    pub(super) pages: Option<(u32, u32)>,
    pub(super) wanted: PagesAs,
}

/// Takes a document apart if the arguments of this process say so. To be called before anything else.
pub fn read_document_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == READ_DOCUMENT).then(|| {
        let request = arguments.next().unwrap_or_default();
        match answer(&request.to_string_lossy()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(io::stderr(), "belvedere: {READ_DOCUMENT} is for internal use: {error}");
                ExitCode::FAILURE
            }
        }
    })
}

fn answer(request: &str) -> io::Result<()> {
    let PdfRequest { pages, wanted } = serde_json::from_str(request)?;
    for (resource, limit) in
        [(Resource::RLIMIT_AS, MEMORY), (Resource::RLIMIT_CPU, CPU_SECONDS), (Resource::RLIMIT_CORE, 0)]
    {
        let set = setrlimit(resource, limit, limit);
        // Not every system knows a limit on memory.
        if resource != Resource::RLIMIT_AS || cfg!(target_os = "linux") {
            set?;
        }
    }
    let mut bytes = Vec::new();
    io::stdin().take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    let (found, made) = read(&bytes, pages, wanted);
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &found)?;
    out.write_all(b"\n")?;
    out.write_all(&made)?;
    out.flush()
}

fn read(bytes: &[u8], pages: Option<(u32, u32)>, wanted: PagesAs) -> (PdfPages, Vec<u8>) {
    let file = match PdfFile::of(bytes) {
        Ok(file) => file,
        Err(why) => return (why, Vec::new()),
    };
    let count = file.count();
    let (first, last) = match pages {
        None if count > MAX_PAGES => return (PdfPages::TooMany { count }, Vec::new()),
        None if wanted == PagesAs::Document && !file.was_encrypted() => {
            return (PdfPages::AsItIs { count }, Vec::new());
        }
        None => (1, count),
        Some((first, _)) if first > count => return (PdfPages::PastEnd { count }, Vec::new()),
        Some((first, last)) => (first, last.min(count)),
    };
    match wanted {
        PagesAs::Text => (PdfPages::Text { first, texts: file.texts(first..=last), count }, Vec::new()),
        PagesAs::Document => match file.cut(first..=last) {
            Ok(made) => (PdfPages::Cut { first, last, count }, made),
            Err(_) => (PdfPages::Damaged, Vec::new()),
        },
    }
}
