//! What a model may choose from, as the description of a tool lists it: agents for `Agent`, skills for `Skill`.
//!
//! Owns how much of it a model reads, and when. Leaves which there are to `definition`. Invariants: the list is bounded,
//! however many files a project has; what a project's files say is one line each, and stands apart as data; within a
//! conversation the list stays as it was, and what has changed follows in a message.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::sanitize_line;
use crate::subagent::run::report::escape;
use crate::subagent::servers::ServerOffer;

/// Bytes of the names of entries beyond those that are listed; the rest is counted.
const MAX_NAMES_BYTES: usize = 4 << 10;
/// Bytes of a message on what has changed.
const MAX_NEWS_BYTES: usize = 4 << 10;

/// Something on offer.
#[derive(Debug, Clone)]
pub(in crate::subagent) struct OfferEntry {
    name: String,
    /// Its line in the list.
    line: String,
    is_of_project: bool,
}

impl OfferEntry {
    /// Returns an entry with at most so many characters of what it is for.
    pub(in crate::subagent) fn new(name: &str, about: &str, max: usize, is_of_project: bool) -> Self {
        let line = format!("- {}: {}", shown(name), line(about, max));
        Self { name: name.to_owned(), line, is_of_project }
    }

    /// Adds words of our own.
    pub(in crate::subagent) fn with(self, words: &str, max: usize) -> Self {
        Self { line: format!("{} ({})", self.line, line(words, max)), ..self }
    }
}

/// How a list speaks of what is in it.
pub(in crate::subagent) struct OfferWords {
    /// `agents`.
    pub(in crate::subagent) subject: &'static str,
    /// What stands before those of the project, and the tag around them.
    pub(in crate::subagent) foreign: &'static str,
    pub(in crate::subagent) tag: &'static str,
}

/// What one agent has been offered in its conversation.
#[derive(Default)]
pub struct Offers {
    pub(in crate::subagent) agents: Offer,
    pub(in crate::subagent) skills: Offer,
    /// What it has been offered of MCP servers.
    pub(in crate::subagent) servers: Arc<ServerOffer>,
    /// Skills about files that it has read or changed.
    met: Mutex<BTreeSet<String>>,
}

impl Offers {
    /// Returns the skills about files that the agent has read or changed, by name.
    pub(in crate::subagent) fn met_skills(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A list as it was offered in a conversation.
///
/// A service reads a request anew from the first byte that has changed, and the descriptions of tools come first in it.
#[derive(Debug, Default)]
pub(in crate::subagent) struct Offer(Mutex<Option<Announced>>);

#[derive(Debug)]
struct Announced {
    /// The list in the description of the tool.
    list: String,
    /// The entries that the model has read last, by name.
    entries: BTreeMap<String, String>,
}

impl Offer {
    /// Returns the list as it was when it was made first, in so many bytes.
    pub(in crate::subagent) fn list(
        &self,
        words: &OfferWords,
        room: usize,
        entries: impl FnOnce() -> Vec<OfferEntry>,
    ) -> String {
        let mut announced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let announced = announced.get_or_insert_with(|| {
            let entries = entries();
            Announced { list: list(words, room, &entries), entries: lines_of(&entries) }
        });
        announced.list.clone()
    }

    /// Returns what has changed since the model was told last. If that is much, the list is made anew instead.
    pub(in crate::subagent) fn news(
        &self,
        words: &OfferWords,
        room: usize,
        entries: impl FnOnce() -> Vec<OfferEntry>,
    ) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let announced = state.as_mut()?;
        let entries = entries();
        let before = std::mem::replace(&mut announced.entries, lines_of(&entries));
        let is_new = |entry: &OfferEntry| before.get(&entry.name) != Some(&entry.line);
        let new: Vec<OfferEntry> = entries.into_iter().filter(is_new).collect();
        let gone: Vec<String> =
            before.keys().filter(|name| !announced.entries.contains_key(*name)).map(|name| shown(name)).collect();
        if new.is_empty() && gone.is_empty() {
            return None;
        }
        // Users read the first line alone.
        let counts =
            [(new.len(), "new or changed"), (gone.len(), "removed")].into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, words)| format!("{count} {words}")).collect();
        let mut news = format!("The available {} have changed: {}.", words.subject, counts.join(", "));
        if !new.is_empty() {
            let _ = write!(news, "\n\n{}", list(words, room, &new));
        }
        if !gone.is_empty() {
            let _ = write!(news, "\n\nRemoved: {}", gone.join(", "));
        }
        if news.len() > MAX_NEWS_BYTES {
            *state = None;
            return None;
        }
        Some(news)
    }
}

fn lines_of(entries: &[OfferEntry]) -> BTreeMap<String, String> {
    entries.iter().map(|entry| (entry.name.clone(), entry.line.clone())).collect()
}

fn list(words: &OfferWords, mut room: usize, entries: &[OfferEntry]) -> String {
    let (foreign, own): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.is_of_project);
    let mut text = lines(words, &own, &mut room);
    if !foreign.is_empty() {
        let (tag, before) = (words.tag, words.foreign);
        let _ = write!(text, "\n{before}\n<{tag}>\n{}</{tag}>", lines(words, &foreign, &mut room));
    }
    text.trim_end().to_owned()
}

/// Lists entries as long as there is room, and names the others.
fn lines(words: &OfferWords, entries: &[&OfferEntry], room: &mut usize) -> String {
    let mut text = String::new();
    let mut entries = entries.iter();
    let mut rest = Vec::new();
    for entry in entries.by_ref() {
        let Some(left) = room.checked_sub(entry.line.len() + 1) else {
            rest.push(shown(&entry.name));
            break;
        };
        *room = left;
        let _ = writeln!(text, "{}", entry.line);
    }
    let mut uncounted = 0;
    let mut bytes = 0;
    for entry in entries {
        let name = shown(&entry.name);
        bytes += name.len() + 2;
        if bytes > MAX_NAMES_BYTES {
            uncounted += 1;
        } else {
            rest.push(name);
        }
    }
    if !rest.is_empty() {
        let more = if uncounted > 0 { format!(" and {uncounted} more") } else { String::new() };
        let _ = writeln!(text, "- More {}, by name: {}{more}", words.subject, rest.join(", "));
    }
    text
}

fn shown(name: &str) -> String {
    escape(&sanitize_line(name))
}

/// Returns a text on one line, cut to so many characters.
fn line(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = sanitize_line(&line);
    match line.char_indices().nth(max) {
        Some((cut, _)) => escape(&line[..cut]) + " …",
        None => escape(&line),
    }
}
