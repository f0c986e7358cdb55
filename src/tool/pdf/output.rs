//! What a model reads of a PDF document: pages as a document, where its service takes them, or else their text.
//!
//! Owns the words. Leaves the pages to the process that takes the document apart. Invariant: no document goes to a service
//! before its pages were counted.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{MAX_FILE_BYTES, MAX_PAGES, PagesAs, PdfPages, page_range, read_pages};
use crate::message::{DOCUMENT_BYTES, PDF, ResultPart, without_speakers};
use crate::tool::blocking::off_thread;
use crate::tool::file::FileError;
use crate::tool::limit::{counted, size};
use crate::tool::{ToolContext, ToolOutput};

/// Characters for the words beside the pages.
const NOTE_ROOM: usize = 500;

/// A file that begins as a PDF document does.
pub(in crate::tool) struct PdfDocument {
    pub(in crate::tool) file: File,
    pub(in crate::tool) shown: String,
    pub(in crate::tool) length: u64,
}

impl PdfDocument {
    /// Reads these pages, or all of them, with the help of `program`, which is this one.
    pub(in crate::tool) async fn output(
        self,
        program: &Path,
        pages: Option<&str>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        let Self { mut file, shown, length } = self;
        let pages = pages.map(str::trim).filter(|words| !words.is_empty()).map(page_range).transpose();
        let pages = pages.map_err(ToolOutput::error)?;
        if length > MAX_FILE_BYTES {
            return Err(ToolOutput::error(format!(
                "{shown} is a PDF document of {}; the limit is {}. Use Bash with pdfseparate, qpdf or pdftotext for some of \
                 its pages.",
                size(length),
                size(MAX_FILE_BYTES)
            )));
        }
        let system = |error| ToolOutput::from(FileError::system(&shown, error));
        file.rewind().map_err(system)?;
        let whole = file.try_clone().map_err(system)?;
        let wanted = if context.reads_documents { PagesAs::Document } else { PagesAs::Text };
        let (found, made) =
            read_pages(program, file, pages.as_ref(), wanted, &context.cancel).await.map_err(|error| {
                ToolOutput::error(format!("{shown} cannot be read as a PDF document: {error}. Try pdftotext in Bash."))
            })?;
        match found {
            PdfPages::AsItIs { count } if length > DOCUMENT_BYTES => Err(too_large(&shown, length, count)),
            PdfPages::AsItIs { count } => {
                let read = move |_: &ToolContext| {
                    let (mut file, mut bytes) = (whole, Vec::new());
                    file.rewind()
                        .and_then(|()| file.take(DOCUMENT_BYTES).read_to_end(&mut bytes))
                        .map(|_| bytes)
                        .map_err(|error| ToolOutput::error(error.to_string()))
                };
                let bytes = off_thread(context, read).await?;
                Ok(document(&shown, &counted(count as usize, "page"), &bytes))
            }
            PdfPages::Cut { count, .. } if made.len() as u64 > DOCUMENT_BYTES => {
                Err(too_large(&shown, made.len() as u64, count))
            }
            PdfPages::Cut { first, last, count } => Ok(document(&shown, &of(first, last, count), &made)),
            PdfPages::Text { first, texts, count } => text(&shown, first, &texts, count, context.result_chars),
            PdfPages::TooMany { count } => Err(ToolOutput::error(format!(
                "{shown} has {count} pages. Read at most {MAX_PAGES} at a time: call again with pages, such as \"1-{MAX_PAGES}\"."
            ))),
            PdfPages::PastEnd { count } => {
                Err(ToolOutput::error(format!("{shown} ends with page {count}. Call again with pages up to {count}.")))
            }
            PdfPages::Locked => Err(ToolOutput::error(format!(
                "{shown} is protected with a password. Ask the user for a copy without one (qpdf --decrypt)."
            ))),
            PdfPages::Damaged => Err(ToolOutput::error(format!(
                "{shown} begins like a PDF document, but its pages cannot be found: it is damaged or not complete. Try \
                 pdftotext in Bash, or ask the user for another copy."
            ))),
        }
    }
}

/// Returns which pages of how many, in words.
fn of(first: u32, last: u32, count: u32) -> String {
    if first == last { format!("page {first} of {count}") } else { format!("pages {first}–{last} of {count}") }
}

fn too_large(shown: &str, length: u64, count: u32) -> ToolOutput {
    let advice = if count > 1 {
        "Call again with pages, for fewer of them"
    } else {
        "Use Bash with pdftotext, or with pdftoppm for an image of it"
    };
    ToolOutput::error(format!(
        "{shown}: these pages are {}; the limit is {}. {advice}.",
        size(length),
        size(DOCUMENT_BYTES)
    ))
}

fn document(shown: &str, pages: &str, bytes: &[u8]) -> ToolOutput {
    let words = format!("{PDF}, {pages}, {}", size(bytes.len() as u64));
    let mut output = ToolOutput::text(format!("{shown}: {words}"), words);
    output.content.push(ResultPart::Image { media_type: PDF.to_owned(), data: STANDARD.encode(bytes) });
    output
}

/// Returns the text of pages, as many as there is room for.
fn text(shown: &str, first: u32, texts: &[String], count: u32, room: usize) -> Result<ToolOutput, ToolOutput> {
    if texts.iter().all(|text| text.trim().is_empty()) {
        return Err(ToolOutput::error(format!(
            "{shown} ({}) holds no text that can be taken out: it may be scanned. You cannot see PDF documents; use Bash \
             with an OCR program, or ask the user.",
            counted(count as usize, "page")
        )));
    }
    let room = room.saturating_sub(NOTE_ROOM);
    let (mut out, mut last, mut chars) = (String::new(), first, 0);
    for (page, text) in (first..).zip(texts) {
        let text = without_speakers(text.trim());
        chars += text.chars().count() + 20;
        if chars > room && page > first {
            break;
        }
        last = page;
        let text = if text.is_empty() { "(no text)" } else { &text };
        let _ = write!(out, "[Page {page}]\n{text}\n\n");
    }
    let pages = of(first, last, count);
    let _ = write!(out, "[Text of {pages} of {shown}; you cannot see PDF documents as they look.");
    if last < count {
        let _ = write!(out, " Continue with pages \"{}-{}\".", last + 1, count.min(last + MAX_PAGES));
    }
    out.push_str("]\n");
    Ok(ToolOutput::text(out, format!("text of {pages}")))
}
