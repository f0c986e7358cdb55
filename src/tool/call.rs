//! One call of a tool, from the model's arguments to the result.
//!
//! Owns how the loop holds tools whose types differ: [`AnyTool`] stands for every [`Tool`]. Invariant: arguments are
//! parsed once, and what was judged is what runs: a run has nothing but what its preparation has returned.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::file::path::revealed_line;
use super::input::{PlainArgs, parse_input, plain_args, schema_of};
use super::{Args, Concurrency, Plan, Tool, ToolContext, ToolOutput};
use crate::message::ToolSpec;
use crate::permission::ToolKind;

/// Characters of the title of a call whose arguments do not fit.
const TITLE_CHARS: usize = 200;

/// A [`Tool`], whatever its input.
pub trait AnyTool: Send + Sync {
    fn name(&self) -> &str;

    /// Returns the offer to the model, made anew for each request.
    fn spec(&self) -> ToolSpec;

    /// Returns what has changed since the model read the offer, if the offer does not say so itself.
    fn news(&self) -> Option<String>;

    /// Says how a tool of this name is got, which the agent does not have.
    fn hint(&self, name: &str) -> Option<String>;

    fn kind(&self) -> ToolKind;

    /// Says whether it is of use to an agent whose model is, or is not, at a service that searches the web itself.
    fn is_offered(&self, service_searches: bool) -> bool;

    fn keeps_time(&self) -> bool;

    /// Says whether the model is told of the tool as things are.
    fn applies(&self) -> bool;

    /// Puts the arguments of a call under the tool's own names, as far as its schema says which these are.
    fn plain<'a>(&self, args: &'a Args) -> PlainArgs<'a>;

    /// Parses the arguments of a call. Those that do not fit are a call that fails when it is prepared.
    fn parse<'t>(&'t self, args: &Args) -> Box<dyn ParsedCall<'t> + 't>;
}

/// A call whose arguments are parsed.
pub trait ParsedCall<'t>: Send {
    fn concurrency(&self) -> Concurrency;

    /// Returns what a screen shows behind the tool's name.
    fn title(&self, context: &ToolContext) -> String;

    /// Says what running the call would touch, without touching anything.
    fn prepare<'c>(self: Box<Self>, context: &'c ToolContext) -> BoxFuture<'c, Result<PreparedCall<'c>, ToolOutput>>
    where
        't: 'c;
}

/// A call that waits for permission.
pub struct PreparedCall<'c> {
    pub plan: Plan,
    /// Does the work when it is polled, which has to wait until the plan's access is allowed.
    pub run: BoxFuture<'c, ToolOutput>,
}

impl<T: Tool> AnyTool for T {
    fn name(&self) -> &str {
        Tool::name(self)
    }

    fn spec(&self) -> ToolSpec {
        Tool::spec(self)
    }

    fn news(&self) -> Option<String> {
        Tool::news(self)
    }

    fn hint(&self, name: &str) -> Option<String> {
        Tool::hint(self, name)
    }

    fn kind(&self) -> ToolKind {
        Tool::kind(self)
    }

    fn is_offered(&self, service_searches: bool) -> bool {
        Tool::is_offered(self, service_searches)
    }

    fn keeps_time(&self) -> bool {
        T::KEEPS_TIME
    }

    fn applies(&self) -> bool {
        Tool::applies(self)
    }

    fn plain<'a>(&self, args: &'a Args) -> PlainArgs<'a> {
        plain_args(Tool::name(self), &schema_of::<T::Input>(), args)
    }

    fn parse<'t>(&'t self, args: &Args) -> Box<dyn ParsedCall<'t> + 't> {
        let input = parse_input(Tool::name(self), args).map_err(|failed| {
            let text = args.values().find_map(Value::as_str).unwrap_or_default();
            (failed, revealed_line(text, TITLE_CHARS))
        });
        Box::new(Parsed { tool: self, input })
    }
}

struct Parsed<'t, T: Tool> {
    tool: &'t T,
    /// What the arguments say; or why they do not fit, and their first text, which may tell what they were about.
    input: Result<T::Input, (ToolOutput, String)>,
}

impl<'t, T: Tool> ParsedCall<'t> for Parsed<'t, T> {
    fn concurrency(&self) -> Concurrency {
        self.input.as_ref().map_or(Concurrency::Parallel, |input| self.tool.concurrency(input))
    }

    fn title(&self, context: &ToolContext) -> String {
        match &self.input {
            Ok(input) => self.tool.title(input, context),
            Err((_, title)) => title.clone(),
        }
    }

    fn prepare<'c>(self: Box<Self>, context: &'c ToolContext) -> BoxFuture<'c, Result<PreparedCall<'c>, ToolOutput>>
    where
        't: 'c,
    {
        async move {
            let (tool, input) = (self.tool, self.input.map_err(|(failed, _)| failed)?);
            let (plan, prepared) = tool.prepare(input, context).await?;
            let run = async move { tool.run(prepared, context).await.unwrap_or_else(|failed| failed) };
            Ok(PreparedCall { plan, run: run.boxed() })
        }
        .boxed()
    }
}
