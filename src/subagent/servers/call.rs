//! A tool of an MCP server, as agents call it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::mcp::{McpContent, McpError, McpServers, McpToolInfo};
use crate::message::{INTERRUPTED, ResultPart, ToolSpec, checked_picture, reveal_line};
use crate::permission::{AccessKind, Preview, ToolKind};
use crate::subagent::servers::{harmless, harmless_line};
use crate::tool::{Args, Concurrency, Plan, Tool, ToolContext, ToolOutput, bound_text};

/// Characters of arguments behind a tool's name on the screen.
const TITLE_CHARS: usize = 200;
/// Pictures of one result.
const MAX_PICTURES: usize = 8;
/// Characters of the first line of a result that is shown.
const SUMMARY_CHARS: usize = 120;

pub(super) struct McpTool {
    pub(super) info: Arc<McpToolInfo>,
    pub(super) servers: McpServers,
}

impl Tool for McpTool {
    type Input = Args;
    type Prepared = Args;

    const NAME: &'static str = "mcp";
    const DESCRIPTION: &'static str = "";
    const KIND: ToolKind = ToolKind::Other;
    /// Each call has a deadline of its own.
    const KEEPS_TIME: bool = true;

    fn name(&self) -> &str {
        &self.info.name
    }

    fn description(&self) -> Cow<'_, str> {
        harmless(&self.info.description).into()
    }

    fn spec(&self) -> ToolSpec {
        let description = self.description().trim().to_owned();
        let name = self.info.name.clone();
        ToolSpec { name, description, input_schema: self.info.input_schema.as_ref().clone() }
    }

    fn concurrency(&self, _input: &Args) -> Concurrency {
        if self.info.only_reads { Concurrency::Parallel } else { Concurrency::InOrder }
    }

    fn title(&self, input: &Args, _context: &ToolContext) -> String {
        reveal_line(&bound_text(&json(input), TITLE_CHARS)).into_owned()
    }

    async fn prepare(&self, input: Args, _context: &ToolContext) -> Result<(Plan, Args), ToolOutput> {
        let McpToolInfo { server, tool, only_reads, .. } = &*self.info;
        let hint = if *only_reads { " (it says that it only reads)" } else { "" };
        let text = format!(
            "tool {} of the MCP server {}{hint}, with {}",
            reveal_line(tool),
            reveal_line(server),
            reveal_line(&json(&input))
        );
        let access = AccessKind::Call { server: server.clone(), only_reads: *only_reads };
        Ok((Plan { preview: Some(Preview::Note { text }), ..Plan::new(access) }, input))
    }

    async fn run(&self, input: Args, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let place = (self.info.server.as_str(), self.info.tool.as_str());
        match self.servers.call(place, input, &context.cancel).await {
            Ok(reply) => Ok(ToolOutput { is_error: reply.is_error, ..output(reply.content, context.result_chars) }),
            Err(McpError::Stopped) => Err(ToolOutput::error(INTERRUPTED)),
            Err(error) => Err(ToolOutput::error(harmless(&format!("{}: {error}.", self.info.name)))),
        }
    }
}

fn json(input: &Args) -> String {
    serde_json::to_string(input).unwrap_or_default()
}

/// Returns what a server has answered as the model reads it: text that is data, and pictures that services take.
pub(in crate::subagent) fn output(content: Vec<McpContent>, max_chars: usize) -> ToolOutput {
    let (mut texts, mut pictures): (Vec<String>, Vec<ResultPart>) = (Vec::new(), Vec::new());
    for part in content {
        match part {
            McpContent::Text(text) => texts.push(harmless(&text)),
            McpContent::Other(words) => texts.push(harmless_line(&words)),
            McpContent::Image { .. } if pictures.len() == MAX_PICTURES => {
                texts.push("[one more picture, left out]".to_owned());
            }
            McpContent::Image { media_type, data } => match checked_picture(&data) {
                Ok(picture) => pictures.push(picture),
                Err(why) => texts.push(format!("[a picture, {}, left out: {why}]", harmless_line(&media_type))),
            },
        }
    }
    let text = texts.join("\n");
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut summary: String = first.chars().take(SUMMARY_CHARS).collect();
    if summary.is_empty() {
        summary = if pictures.is_empty() { "no output".to_owned() } else { "a picture".to_owned() };
    }
    let text = if text.is_empty() && pictures.is_empty() { "(no output)".to_owned() } else { text };
    let mut output = ToolOutput::text(bound_text(&text, max_chars), summary);
    output.content.extend(pictures);
    output
}
