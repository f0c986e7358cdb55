//! `Write`: creates a file, or replaces one that was read.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::blocking::off_thread;
use super::change::{Change, before};
use super::input::spec_of;
use super::path::{argument, resolve, title};
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
            off_thread(context, move |context| Ok(change(input, context)?.plan())).await
        }
        .boxed()
    }

    fn run<'a>(&'a self, args: &'a Args, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        async move {
            let input: Input = match parse_input(NAME, args) {
                Ok(input) => input,
                Err(failed) => return failed,
            };
            let done = off_thread(context, move |context| change(input, context)?.apply(context)).await;
            done.unwrap_or_else(|failed| failed)
        }
        .boxed()
    }
}

fn change(input: Input, context: &ToolContext) -> Result<Change, ToolOutput> {
    let path = resolve(&input.file_path, context)?;
    Ok(Change { before: before(&path, context)?, path, after: input.content })
}
