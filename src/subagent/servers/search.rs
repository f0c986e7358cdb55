//! `ToolSearch`: finds tools of MCP servers that are not offered yet, and offers them from the next turn on.
//!
//! Owns how they are ranked. Invariant: what it finds joins at the end of the list, so that what stands before stays as
//! it was read.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::McpState;
use crate::permission::ToolKind;
use crate::subagent::servers::{FoundTool, ServerReach, harmless_line};
use crate::tool::{Plan, Tool, ToolContext, ToolOutput};

pub const TOOL_SEARCH: &str = "ToolSearch";

/// How many tools one search adds, unless it asks for another number, and at most.
const FOUND: (usize, usize) = (5, 20);
/// How long a search waits for servers that are starting.
const START_WAIT: Duration = Duration::from_secs(20);
/// Characters of a description in the answer: the whole of it comes with the tool.
const ABOUT_CHARS: usize = 200;
/// Names of servers in the description.
const MAX_SERVERS: usize = 40;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolSearchInput {
    /// Words that describe what you need, such as "create issue"; or `select:` and the names of tools, with commas
    /// between them.
    query: String,
    /// How many tools to add at most; 5 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    max_results: Option<usize>,
}

pub(super) struct ToolSearch {
    pub(super) reach: ServerReach,
    /// As it was when it was first offered.
    pub(super) description: String,
}

/// Returns the description of the search for these servers.
pub(super) fn description<'a>(servers: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = servers.take(MAX_SERVERS).map(harmless_line).collect();
    ToolSearch::DESCRIPTION.replace("{{servers}}", &names.join(", "))
}

impl Tool for ToolSearch {
    type Input = ToolSearchInput;
    type Prepared = ToolSearchInput;

    const NAME: &'static str = TOOL_SEARCH;
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/ToolSearch.md");
    const KIND: ToolKind = ToolKind::Other;
    const KEEPS_TIME: bool = true;

    fn description(&self) -> Cow<'_, str> {
        self.description.as_str().into()
    }

    fn news(&self) -> Option<String> {
        self.reach.news()
    }

    fn hint(&self, name: &str) -> Option<String> {
        self.reach.hint(name)
    }

    fn title(&self, input: &ToolSearchInput, _context: &ToolContext) -> String {
        format!("{:?}", input.query)
    }

    async fn prepare(
        &self,
        input: ToolSearchInput,
        _context: &ToolContext,
    ) -> Result<(Plan, ToolSearchInput), ToolOutput> {
        Ok((Plan::free(), input))
    }

    async fn run(&self, input: ToolSearchInput, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let most = input.max_results.unwrap_or(FOUND.0).clamp(1, FOUND.1);
        let wanted = self.wanted_servers(&input.query);
        let mut found = ranked(self.reach.tools(), &input.query);
        if found.is_empty() || !wanted.is_empty() {
            let counts = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => {}
                () = self.reach.servers.settled(counts, START_WAIT) => {}
            }
            found = ranked(self.reach.tools(), &input.query);
        }
        if found.is_empty() {
            return Err(ToolOutput::error(self.nothing(&input.query)));
        }
        found.truncate(most);
        let mut text = "You can call these from now on:\n".to_owned();
        for tool in &found {
            self.reach.offer(tool.clone());
            let info = &tool.1;
            let about: String = harmless_line(&info.description).chars().take(ABOUT_CHARS).collect();
            let _ = write!(text, "\n- {}: {about}", info.name);
        }
        let count = found.len();
        Ok(ToolOutput::text(text, format!("{count} {}", if count == 1 { "tool" } else { "tools" })))
    }
}

impl ToolSearch {
    /// Returns the servers on their way that a query names.
    fn wanted_servers(&self, query: &str) -> Vec<String> {
        let query = query.to_lowercase();
        let starting = self.reach.states().into_iter().filter(|(_, state)| *state == McpState::Starting);
        starting.map(|(name, _)| name).filter(|name| query.contains(&name.to_lowercase())).collect()
    }

    /// Says that nothing was found, and where it could have been.
    fn nothing(&self, query: &str) -> String {
        let mut text = format!("No tool of an MCP server matches {query:?}. Servers:");
        for (name, state) in self.reach.states().into_iter().take(MAX_SERVERS) {
            let _ = write!(text, "\n- {}: {}", harmless_line(&name), state.word());
            if let Some(why) = state.why() {
                let _ = write!(text, " ({})", harmless_line(why));
            }
        }
        let tools = self.reach.tools();
        if !tools.is_empty() {
            let names: Vec<&str> = tools.iter().take(MAX_SERVERS).map(|(_, info)| info.name.as_str()).collect();
            let _ = write!(text, "\nTools: {}", names.join(", "));
        }
        text
    }
}

/// Returns the tools that a query means, the best first.
fn ranked(tools: Vec<FoundTool>, query: &str) -> Vec<FoundTool> {
    if let Some(names) = query.trim().strip_prefix("select:") {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let is_meant = |(_, info): &FoundTool| {
            names.iter().any(|name| info.name.eq_ignore_ascii_case(name) || info.tool.eq_ignore_ascii_case(name))
        };
        return tools.into_iter().filter(is_meant).collect();
    }
    let query = query.to_lowercase();
    let words: Vec<&str> = words_of(&query).collect();
    let score = |(_, info): &FoundTool| -> usize {
        let (name, about) = (info.name.to_lowercase(), info.description.to_lowercase());
        let begun = |text: &str, word: &str| usize::from(words_of(text).any(|known| known.starts_with(word)));
        words.iter().map(|word| 4 * begun(&name, word) + begun(&about, word)).sum()
    };
    let mut scored: Vec<(usize, FoundTool)> = tools.into_iter().map(|tool| (score(&tool), tool)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, tool)| tool).collect()
}

/// Returns the words that tell tools apart.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2 && *word != "mcp")
}
