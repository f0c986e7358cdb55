//! `Write`: creates a file, or replaces one that was read.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::blocking::off_thread;
use super::change::{Change, before, hopeless, is_crlf};
use super::input::spec_of;
use super::path::{argument, resolve, title};
use super::writers::as_only_writer;
use super::{Args, Concurrency, Plan, Tool, ToolContext, ToolOutput, parse_input};
use crate::message::ToolSpec;

const NAME: &str = "Write";

/// Writes whole files.
pub(super) struct Write;

/// The input.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// File to write, absolute or relative to the working directory.
    #[serde(alias = "path", alias = "filePath", alias = "file")]
    file_path: String,
    /// The whole content.
    #[serde(alias = "contents")]
    content: String,
}

impl Tool for Write {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        spec_of::<Input>(NAME, include_str!("../../assets/tools/Write.md"))
    }

    fn concurrency(&self, _args: &Args) -> Concurrency {
        Concurrency::InOrder
    }

    fn title(&self, args: &Args, context: &ToolContext) -> String {
        title(argument(args, &["file_path", "path", "filePath", "file"]), context)
    }

    fn plan<'a>(&'a self, args: &'a Args, context: &'a ToolContext) -> BoxFuture<'a, Result<Plan, ToolOutput>> {
        async move {
            let input: Input = parse_input(NAME, args)?;
            off_thread(context, move |context| {
                let path = resolve(&input.file_path, context)?;
                Ok(change(input, context).map_or_else(|failed| hopeless(path, failed), Change::plan))
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
            let file = input.file_path.clone();
            let done = as_only_writer(&file, context, move |context| change(input, context)?.apply(context));
            done.await.unwrap_or_else(|failed| failed)
        }
        .boxed()
    }
}

fn change(input: Input, context: &ToolContext) -> Result<Change, ToolOutput> {
    let path = resolve(&input.file_path, context)?;
    let before = before(&path, context)?;
    let old = before.as_ref().and_then(|old| std::str::from_utf8(old.bytes.as_deref()?).ok());
    let (after, note) = in_style_of(old.unwrap_or_default(), input.content);
    Ok(Change { path, before, after, note, tool: NAME })
}

/// Gives the new content the line ends and the byte order mark of the old one. `Read` shows neither, so a model that
/// leaves them out does not mean to change them.
fn in_style_of(old: &str, mut new: String) -> (String, &'static str) {
    let mut note = "";
    if is_crlf(old) && !new.contains('\r') && new.contains('\n') {
        new = new.replace('\n', "\r\n");
        note = " Its lines end in CRLF as before.";
    }
    if old.starts_with('\u{feff}') && !new.starts_with('\u{feff}') {
        new.insert(0, '\u{feff}');
    }
    (new, note)
}
