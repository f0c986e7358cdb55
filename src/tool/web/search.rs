//! `WebSearch`: what the web says about a query, by the service that answers the agent or by the user's own search engine.
//!
//! Owns the call, which sites may be found, and the words that the model reads. Leaves asking the service to `agent`,
//! which knows it, and the user's engine to `engine`. Invariants: a query goes where the question said, and nowhere else;
//! no hit comes from a site that was left out; what a page says is handed on as data.

use std::collections::HashSet;
use std::fmt::Write as _;

use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};

use super::{Fetcher, NOT_THE_USER};
use crate::message::{HostPort, INTERRUPTED, SearchHit, is_host_below};
use crate::permission::{AccessKind, Preview, ToolKind};
use crate::tool::file::path::revealed_line;
use crate::tool::limit::counted;
use crate::tool::{Plan, Tool, ToolContext, ToolOutput, ToolView};

const MAX_QUERY: usize = 400;
const MAX_DOMAINS: usize = 20;
const MAX_HITS: usize = 10;
const TITLE_CHARS: usize = 200;
const URL_CHARS: usize = 500;
const EXCERPT_CHARS: usize = 400;
const AGE_CHARS: usize = 40;
/// Characters of what the service says of its own.
const ANSWER_CHARS: usize = 8_000;

/// A search that is asked of the service which answers the agent. Whoever has the other end answers.
#[derive(Debug)]
pub struct SearchCall {
    pub query: SearchQuery,
    pub answer: oneshot::Sender<Result<SearchAnswer, String>>,
}

/// The way to the service that answers the agent.
#[derive(Debug, Clone)]
pub struct ServiceSearcher {
    /// What people call the service.
    pub name: String,
    pub calls: mpsc::Sender<SearchCall>,
}

/// What is searched for, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    pub words: String,
    /// Sites that alone may be found, with those below them; none means all.
    pub allowed: Vec<String>,
    pub blocked: Vec<String>,
}

/// What a search has led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    pub hits: Vec<SearchHit>,
    /// What the service says of them, in its own words; empty if it only searches.
    pub text: String,
    /// What that text rests on.
    pub cited: Vec<SearchHit>,
}

impl SearchQuery {
    /// Returns `true` if an address is of a site that may be found.
    fn admits(&self, url: &str) -> bool {
        let host = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let host = host.and_then(|url| url.host_str().map(|host| host.trim_end_matches('.').to_ascii_lowercase()));
        let Some(host) = host else { return false };
        let is_of = |site: &String| *site == host || is_host_below(site, &host);
        (self.allowed.is_empty() || self.allowed.iter().any(is_of)) && !self.blocked.iter().any(is_of)
    }

    /// Returns the words with the sites that alone may be found, as search engines take them.
    pub fn with_sites(&self) -> String {
        let sites: Vec<String> = self.allowed.iter().map(|site| format!("site:{site}")).collect();
        match sites.as_slice() {
            [] => self.words.clone(),
            [site] => format!("{} {site}", self.words),
            sites => format!("{} ({})", self.words, sites.join(" OR ")),
        }
    }

    fn is_bounded(&self) -> bool {
        !self.allowed.is_empty() || !self.blocked.is_empty()
    }
}

impl SearchAnswer {
    /// Returns what may be found, each page once. What the service says in its own words may rest on what may not: then it
    /// is left out.
    fn within(self, query: &SearchQuery) -> Self {
        let admitted = |hits: &[SearchHit]| hits.iter().all(|hit| query.admits(&hit.url));
        let is_empty = self.hits.is_empty() && self.cited.is_empty();
        let may_speak = !query.is_bounded() || (!is_empty && admitted(&self.hits) && admitted(&self.cited));
        let cited: Vec<SearchHit> =
            self.cited.into_iter().filter(|hit| query.admits(&hit.url)).take(MAX_HITS).collect();
        // A service may say only what it cites.
        let found = if self.hits.is_empty() { cited.clone() } else { self.hits };
        let mut seen = HashSet::new();
        let is_new = |hit: &SearchHit| query.admits(&hit.url) && seen.insert(hit.url.clone());
        let hits = found.into_iter().filter(is_new).take(MAX_HITS).collect();
        if may_speak { Self { hits, text: self.text, cited } } else { Self { hits, ..Self::default() } }
    }
}

pub(in crate::tool) struct WebSearch(pub(in crate::tool) Fetcher);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct WebSearchInput {
    /// What to search for, as one types it into a search engine.
    query: String,
    /// Sites to search alone, such as docs.rs. Not together with `blocked_domains`.
    #[serde(default)]
    allowed_domains: Vec<String>,
    /// Sites to leave out.
    #[serde(default)]
    blocked_domains: Vec<String>,
}

impl Tool for WebSearch {
    type Input = WebSearchInput;
    type Prepared = SearchQuery;

    const NAME: &'static str = "WebSearch";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/WebSearch.md");
    const KIND: ToolKind = ToolKind::Fetch;
    const KEEPS_TIME: bool = false;

    fn is_offered(&self, service_searches: bool) -> bool {
        service_searches || self.0.engine.is_some()
    }

    fn title(&self, input: &WebSearchInput, _context: &ToolContext) -> String {
        revealed_line(&input.query, MAX_QUERY)
    }

    async fn prepare(&self, input: WebSearchInput, context: &ToolContext) -> Result<(Plan, SearchQuery), ToolOutput> {
        let words = input.query.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            return Err(ToolOutput::error("`query` is empty; say what to search for."));
        }
        if words.chars().count() > MAX_QUERY {
            return Err(ToolOutput::error(format!(
                "`query` is longer than {MAX_QUERY} characters; use a few key words."
            )));
        }
        if !input.allowed_domains.is_empty() && !input.blocked_domains.is_empty() {
            return Err(ToolOutput::error("Give `allowed_domains` or `blocked_domains`, not both."));
        }
        let (allowed, blocked) = (sites(&input.allowed_domains)?, sites(&input.blocked_domains)?);
        let query = SearchQuery { words, allowed, blocked };
        let place = match (&context.service_search, &self.0.engine) {
            (Some(service), _) => service.name.clone(),
            (None, Some(engine)) => engine.name(),
            // Nobody searches here; a call of one that remembers the tool says so when it runs.
            (None, None) => "nobody".to_owned(),
        };
        let kind = AccessKind::Search { query: query.with_sites() };
        let text = format!("The query goes to {place}.");
        Ok((Plan { preview: Some(Preview::Note { text }), ..Plan::new(kind) }, query))
    }

    async fn run(&self, query: SearchQuery, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let search = async {
            match (&context.service_search, &self.0.engine) {
                (Some(service), _) => Ok((service.name.clone(), service.ask(query.clone()).await?)),
                (None, Some(engine)) => {
                    let hits = engine.find(&query).await?;
                    Ok((engine.name(), SearchAnswer { hits, ..SearchAnswer::default() }))
                }
                (None, None) => {
                    Err("This model's service cannot search, and no search engine is set up. The user can \
                                     set `[web.search]` in config.toml. Continue without it."
                        .to_owned())
                }
            }
        };
        let found: Result<_, String> = tokio::select! {
            found = search => found,
            () = context.cancel.cancelled() => return Err(ToolOutput::error(INTERRUPTED)),
        };
        let (place, answer) = found.map_err(ToolOutput::error)?;
        Ok(written(&query, &place, &answer.within(&query)))
    }
}

impl ServiceSearcher {
    async fn ask(&self, query: SearchQuery) -> Result<SearchAnswer, String> {
        let gone = || "The search was stopped.".to_owned();
        let (answer, answered) = oneshot::channel();
        self.calls.send(SearchCall { query, answer }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// Reads names of sites: `docs.rs`, also with what a browser writes before and behind it.
fn sites(names: &[String]) -> Result<Vec<String>, ToolOutput> {
    if names.len() > MAX_DOMAINS {
        return Err(ToolOutput::error(format!("At most {MAX_DOMAINS} domains can be named.")));
    }
    let read = |name: &String| {
        let bare = name.trim();
        let bare = bare.split_once("://").map_or(bare, |(_, rest)| rest);
        let bare = bare.split(['/', '?', '#']).next().unwrap_or_default();
        let bare = bare.strip_prefix("*.").unwrap_or(bare);
        let place = HostPort::new(bare, 0).filter(|place| place.host().contains('.'));
        place.map(|place| place.host().to_owned()).ok_or_else(|| {
            ToolOutput::error(format!(
                "`{}` is no domain; write one such as docs.rs.",
                revealed_line(name, TITLE_CHARS)
            ))
        })
    };
    names.iter().map(read).collect()
}

/// Writes what was found: a line for each page, with what it says below; then what the service says, and what that rests on.
fn written(query: &SearchQuery, place: &str, answer: &SearchAnswer) -> ToolOutput {
    let mut lines = String::new();
    let mut text = format!("Web search by {place}: {}\n{NOT_THE_USER}\n", query.with_sites());
    for (number, hit) in (1..).zip(&answer.hits) {
        let line = line(hit);
        let _ = write!(text, "\n{number}. {line}");
        let _ = writeln!(lines, "{number}. {line}");
        if let Some(excerpt) = excerpt(hit) {
            let _ = write!(text, "\n   {excerpt}");
        }
    }
    if answer.hits.is_empty() {
        text.push_str("\n(Nothing was found.)");
    }
    if !answer.text.trim().is_empty() {
        let said: String = answer.text.trim().chars().take(ANSWER_CHARS).collect();
        let _ = write!(text, "\n\n{place} sums up:\n{said}");
        for hit in &answer.cited {
            let quoted = excerpt(hit).map(|excerpt| format!(": \"{excerpt}\"")).unwrap_or_default();
            let _ = write!(text, "\n- cited: {}{quoted}", line(hit));
            let _ = writeln!(lines, "cited: {}", line(hit));
        }
    }
    let summary = format!("{} · {place}", counted(answer.hits.len(), "result"));
    let view = (!lines.is_empty()).then(|| ToolView::Output { text: lines.trim_end().to_owned() });
    ToolOutput { view, ..ToolOutput::text(text, summary) }
}

fn line(hit: &SearchHit) -> String {
    let title = revealed_line(&hit.title, TITLE_CHARS);
    let age = hit.age.as_deref().map(|age| format!(" ({})", revealed_line(age, AGE_CHARS))).unwrap_or_default();
    let dash = if title.is_empty() { "" } else { " — " };
    format!("{title}{dash}{}{age}", revealed_line(&hit.url, URL_CHARS))
}

fn excerpt(hit: &SearchHit) -> Option<String> {
    let words = hit.excerpt.as_deref()?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(revealed_line(&words, EXCERPT_CHARS)).filter(|words| !words.is_empty())
}
