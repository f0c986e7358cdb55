//! The agents that a message can name: `@agent-explore`, or `@run-agent-explore` as in Kode; and those at work that it
//! can be addressed to: `@explore-1`, or `@1`.
//!
//! Owns how a mention is spelled and which agents a word could mean. Leaves what comes of a mention to the engine, and
//! files to `FileIndex`. Invariants: only agents in force are offered; a spelling holds no blank, because a word is
//! completed.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::Candidate;
use crate::definition::{DefinitionState, Listed};
use crate::message::{AgentId, sanitize_line};

/// What stands before an agent's name.
const AGENT: &str = "agent-";
/// The same, as Kode writes it.
const RUN_AGENT: &str = "run-agent-";
/// Characters of a description that are shown.
const DETAIL_CHARS: usize = 120;
/// Agents at work that are listed.
const ADDRESSEES_SHOWN: usize = 6;
/// Letters that have to be typed before the start of a name brings agents before files.
const TELLING: usize = 2;

/// What is needed to draw an agent in its colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub name: String,
    pub color: Option<String>,
}

#[derive(Debug)]
struct Mentioned {
    /// The name as a word.
    slug: String,
    detail: String,
    mark: Mark,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressee {
    number: String,
    slug: String,
    detail: String,
    mark: Mark,
}

impl Addressee {
    /// Returns what a message needs to be addressed to an agent.
    #[must_use]
    pub fn new(id: AgentId, name: &str, description: &str, kind: &str, color: Option<String>) -> Self {
        let words: Vec<&str> = name.split_whitespace().collect();
        Self {
            number: id.0.to_string(),
            slug: words.join("-"),
            detail: description.chars().take(DETAIL_CHARS).collect(),
            mark: Mark { name: kind.to_owned(), color },
        }
    }

    /// Returns `true` if a word behind an `@` is its name. What looks like the mention of a kind of agent never is.
    pub fn is_called(&self, word: &str) -> bool {
        !names_kind(word) && self.slug.eq_ignore_ascii_case(word)
    }

    /// Returns its entry in a list, if the word could become its number or its name.
    fn candidate(&self, word: &str) -> Option<Candidate> {
        if !word.is_empty() && self.number.starts_with(word) {
            let detail = format!("{}  {}", self.slug, self.detail);
            return Some(Candidate { label: self.number.clone(), detail });
        }
        let fits = !names_kind(&self.slug) && begins_word(&self.slug, word);
        fits.then(|| Candidate { label: self.slug.clone(), detail: self.detail.clone() })
    }
}

/// Returns `true` if a word behind an `@` is the mention of a kind of agent.
fn names_kind(word: &str) -> bool {
    let begins = |sign: &str| word.get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign));
    begins(AGENT) || begins(RUN_AGENT)
}

#[derive(Debug, Default)]
pub struct Mentions {
    agents: Vec<Mentioned>,
    running: Vec<Addressee>,
    /// Resources of MCP servers, as `server:uri`.
    resources: Vec<Candidate>,
    changed: bool,
}

/// What comes first in the list of a word that may name a file or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Agents,
    Files,
}

/// The part of a word that tells agents apart, and how the mention begins.
struct MentionQuery<'a> {
    prefix: &'static str,
    name: &'a str,
    first: First,
}

impl Mentions {
    pub(super) fn set(&mut self, listing: &[Listed]) {
        let mut in_force: Vec<&Listed> =
            listing.iter().filter(|listed| listed.standing == DefinitionState::InForce).collect();
        // Those of the project first, those that are part of the program last.
        in_force.sort_by_key(|listed| Reverse(listed.source.tier));
        let agents = in_force.into_iter().filter_map(|listed| {
            let definition = listed.definition.as_deref()?;
            let words: Vec<&str> = definition.name.split_whitespace().collect();
            let head = definition.description.trim().lines().next().unwrap_or_default();
            let head: String = head.chars().take(DETAIL_CHARS).collect();
            Some(Mentioned {
                slug: sanitize_line(&words.join("-")).into_owned(),
                detail: sanitize_line(&head).into_owned(),
                mark: Mark { name: definition.name.clone(), color: definition.color.clone() },
            })
        });
        self.agents = agents.collect();
        self.changed = true;
    }

    pub(super) fn set_resources(&mut self, resources: Vec<Candidate>) {
        self.changed |= self.resources != resources;
        self.resources = resources;
    }

    /// Returns the resources that a word behind an `@` begins.
    pub(super) fn resources(&self, query: &str, limit: usize) -> Vec<Candidate> {
        let begins = |item: &&Candidate| {
            let start = item.label.get(..query.len());
            !query.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(query))
        };
        self.resources.iter().filter(begins).take(limit).cloned().collect()
    }

    pub(super) fn set_running(&mut self, running: Vec<Addressee>) {
        self.changed |= self.running != running;
        self.running = running;
    }

    /// Returns the agents at work that a word with its `@` could mean, in the order of their numbers.
    pub(super) fn addressed(&self, token: &str) -> Vec<Candidate> {
        let Some(word) = token.strip_prefix('@') else { return Vec::new() };
        self.running.iter().filter_map(|agent| agent.candidate(word)).take(ADDRESSEES_SHOWN).collect()
    }

    /// Returns `true` if the agents were replaced since the last search.
    pub(super) fn is_changing(&self) -> bool {
        self.changed
    }

    /// Returns how to draw the agent that a mention (with or without its `@`) names, if there is one.
    pub fn mark(&self, mention: &str) -> Option<&Mark> {
        let word = mention.strip_prefix('@').unwrap_or(mention);
        let at_work = self.running.iter().find(|agent| agent.number == word || agent.is_called(word));
        if let Some(agent) = at_work {
            return Some(&agent.mark);
        }
        let slug = word.strip_prefix(RUN_AGENT).or_else(|| word.strip_prefix(AGENT))?;
        self.agents.iter().find(|agent| agent.slug.eq_ignore_ascii_case(slug)).map(|agent| &agent.mark)
    }

    /// Returns the agents that a word after `@` could mean, best first, at most `limit`, and whether they come before
    /// the files.
    pub(super) fn search(&mut self, query: &str, limit: usize) -> (First, Vec<Candidate>) {
        self.changed = false;
        let wish = MentionQuery::of(query);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::parse(wish.name, CaseMatching::Ignore, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut scored: Vec<(bool, u32, &Mentioned)> = Vec::new();
        for agent in &self.agents {
            if let Some(score) = pattern.score(Utf32Str::new(&agent.slug, &mut buffer), &mut matcher) {
                scored.push((begins_word(&agent.slug, wish.name), score, agent));
            }
        }
        // Equals stay in the order of their tiers.
        scored.sort_by_key(|(begins, score, _)| (!begins, Reverse(*score)));
        let telling = wish.name.chars().count() >= TELLING && scored.first().is_some_and(|(begins, ..)| *begins);
        let first = if telling { First::Agents } else { wish.first };
        let found = scored.into_iter().take(limit).map(|(.., agent)| Candidate {
            label: format!("{}{}", wish.prefix, agent.slug),
            detail: agent.detail.clone(),
        });
        (first, found.collect())
    }
}

impl<'a> MentionQuery<'a> {
    fn of(query: &'a str) -> Self {
        // The sign is often left out while the word is still being typed.
        for (prefix, sign) in [(RUN_AGENT, "run-agent"), (AGENT, "agent")] {
            let rest = query.get(..sign.len()).filter(|start| start.eq_ignore_ascii_case(sign));
            if rest.is_some() {
                let name = &query[sign.len()..];
                return Self { prefix, name: name.strip_prefix('-').unwrap_or(name), first: First::Agents };
            }
        }
        Self { prefix: AGENT, name: query, first: First::Files }
    }
}

/// Returns `true` if a name, or a word in it, begins with this.
fn begins_word(slug: &str, start: &str) -> bool {
    let (slug, start) = (slug.to_lowercase(), start.to_lowercase());
    slug.match_indices(&start).any(|(at, _)| slug[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}
