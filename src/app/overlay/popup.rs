//! What can stand in front of everything else.
//!
//! Owns which popup is open and where it stands. Leaves its contents to the views, which take them from the keymap,
//! the agents and so on. Invariant: at most one popup is open, and `esc` closes it.

use std::path::PathBuf;
use std::time::Instant;

use super::line_edit::LineEdit;
use super::list::{ListKind, ListPopup};
use super::question_form::QuestionForm;
use super::rewind::RewindView;
use crate::app::action::Action;
use crate::app::command::{COMMANDS, SlashCommand};
use crate::app::keymap::{Context, Keymap};
use crate::app::settings::skills::skill_words;
use crate::app::{App, Scroll};
use crate::message::AgentId;
use crate::permission::ApprovalId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Popup {
    List(ListPopup),
    Help {
        /// First visible line.
        scroll: usize,
        /// What is typed to show only some of the keys.
        query: Option<LineEdit>,
    },
    /// The wizard that makes a new agent; the app keeps its state also while it is closed.
    Wizard,
    /// The task an agent was given.
    Prompt {
        agent: AgentId,
        scroll: usize,
    },
    Cost {
        scroll: usize,
    },
    /// What fills the context of an agent.
    Context {
        agent: AgentId,
        scroll: usize,
    },
    Text {
        title: String,
        /// Markdown.
        body: String,
        scroll: usize,
    },
    /// The output of a call, or a long message.
    Output {
        title: String,
        text: String,
        /// The call, while all of its output may still be read.
        call_id: Option<String>,
        scroll: usize,
    },
    /// The output of a command in the background, as it comes.
    CommandOutput {
        id: String,
        /// First visible line; past the end it follows what comes.
        scroll: usize,
    },
    /// What would come back with a message, before it does.
    Rewind(Box<RewindView>),
    /// What an agent asks, to be answered.
    Questions(Box<QuestionForm>),
    Comment {
        id: ApprovalId,
        text: LineEdit,
    },
    Search {
        agent: AgentId,
        query: LineEdit,
        /// Where the view stood, and what was sought there before.
        before: Box<(Scroll, Option<String>)>,
    },
    /// Whether what the folder brings is trusted.
    Trust {
        scroll: usize,
        /// Since when it stands there.
        since: Instant,
    },
    /// Whether to delete an agent's file.
    DeleteAgent {
        name: String,
        path: PathBuf,
    },
}

impl Popup {
    #[must_use]
    pub fn list(kind: &'static ListKind) -> Self {
        Self::List(ListPopup::new(kind, 0))
    }

    #[must_use]
    pub fn help() -> Self {
        Self::Help { scroll: 0, query: None }
    }

    pub fn is_list(&self, kind: &ListKind) -> bool {
        matches!(self, Self::List(list) if list.kind.name == kind.name)
    }

    pub fn line(&mut self) -> Option<&mut LineEdit> {
        match self {
            Self::List(list) if list.kind.has_query => {
                list.chosen = 0;
                Some(&mut list.query)
            }
            Self::Help { scroll, query: Some(query) } => {
                *scroll = 0;
                Some(query)
            }
            Self::Comment { text, .. } => Some(text),
            Self::Questions(form) => form.line(),
            Self::Search { query, .. } => Some(query),
            _ => None,
        }
    }

    /// Returns `true` if letters are part of what is typed into it.
    pub fn takes_text(&self) -> bool {
        match self {
            Self::List(list) => list.kind.has_query,
            Self::Questions(form) => form.takes_text(),
            Self::Comment { .. } | Self::Search { .. } | Self::Help { query: Some(_), .. } | Self::Wizard => true,
            _ => false,
        }
    }

    pub fn context(&self) -> Context {
        match self {
            Self::Wizard => Context::Wizard,
            Self::DeleteAgent { .. } | Self::Trust { .. } => Context::Confirm,
            Self::Rewind(_) => Context::Rewind,
            Self::Questions(_) => Context::Questions,
            Self::List(_) | Self::Comment { .. } | Self::Search { .. } | Self::Help { query: Some(_), .. } => {
                Context::Popup
            }
            Self::Help { .. }
            | Self::Prompt { .. }
            | Self::Cost { .. }
            | Self::Context { .. }
            | Self::Text { .. }
            | Self::CommandOutput { .. }
            | Self::Output { .. } => Context::Text,
        }
    }

    /// Returns what taking the chosen entry, or what was typed, means here; `None` where there is nothing to take.
    pub fn accept_word(&self) -> Option<&'static str> {
        match self {
            Self::List(list) => list.kind.accept_word,
            Self::Comment { .. } => Some("deny"),
            Self::Search { .. } => Some("find"),
            _ => None,
        }
    }

    /// Returns the first visible line of a popup that scrolls.
    pub fn scroll(&mut self) -> Option<&mut usize> {
        match self {
            Self::Help { scroll, .. }
            | Self::Prompt { scroll, .. }
            | Self::Cost { scroll }
            | Self::Context { scroll, .. }
            | Self::Output { scroll, .. }
            | Self::CommandOutput { scroll, .. }
            | Self::Text { scroll, .. }
            | Self::Trust { scroll, .. } => Some(scroll),
            Self::Rewind(view) => Some(&mut view.scroll),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub enum PaletteAct {
    Action(Action),
    Command(&'static SlashCommand),
    /// Something of the user's own, and what it does.
    Skill {
        name: String,
        words: String,
    },
}

impl PaletteAct {
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Action(action) => action.description().to_owned(),
            Self::Command(command) => format!("/{} · {}", command.name, command.help),
            Self::Skill { name, words } => format!("/{name} · {words}"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct PaletteEntry {
    pub act: PaletteAct,
    pub chord: Option<String>,
    /// Places of the sought characters in the words, counted in characters.
    pub matched: Vec<u32>,
}

/// Returns the actions and commands that match the query, best first; all of them for an empty query.
pub fn palette(app: &App, query: &str) -> Vec<PaletteEntry> {
    use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
    use nucleo_matcher::{Config, Matcher, Utf32Str};

    let (keymap, context) = (app.keymap(), app.context_behind_popup());
    let own = app.skills().callable();
    let own = own.map(|skill| PaletteAct::Skill { name: skill.name.clone(), words: skill_words(skill) });
    let pattern = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let is_offered =
        |action: &Action| !action.is_of_replays() && (!action.is_numbered() || *action == Action::FocusAgent(1));
    let actions = Action::all().filter(is_offered);
    let mut found: Vec<(u32, PaletteEntry)> = actions
        .map(PaletteAct::Action)
        .chain(COMMANDS.iter().map(PaletteAct::Command))
        .chain(own)
        .filter_map(|act| {
            let mut buffer = Vec::new();
            let mut matched = Vec::new();
            let words = act.words();
            let score = pattern.indices(Utf32Str::new(&words, &mut buffer), &mut matcher, &mut matched)?;
            matched.sort_unstable();
            let chord = match act {
                PaletteAct::Action(action) => {
                    std::iter::once(context).chain(Context::ALL).find_map(|place| keymap.chord_of(place, action))
                }
                PaletteAct::Command(_) | PaletteAct::Skill { .. } => None,
            };
            Some((score, PaletteEntry { act, chord, matched }))
        })
        .collect();
    // What can be done now comes first, then commands, then names and words that begin as what was typed.
    found.sort_by_cached_key(|(score, entry)| {
        let (words, is_action) = (entry.act.words(), matches!(entry.act, PaletteAct::Action(_)));
        let rank = (!is_possible(&entry.act, keymap, context), beginning(&words, query), is_action);
        // Of equal matches the shorter one is closer to what was typed; without a query the order is that of the list.
        (rank, std::cmp::Reverse(*score), if query.is_empty() { 0 } else { words.len() })
    });
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns `true` if an act means something where the user is: a command does anywhere.
fn is_possible(act: &PaletteAct, keymap: &Keymap, context: Context) -> bool {
    match act {
        PaletteAct::Command(_) | PaletteAct::Skill { .. } => true,
        PaletteAct::Action(action) => keymap.chord_of(context, *action).is_some(),
    }
}

/// Returns how far from their beginning words hold a query: 0 at the beginning of all, 1 at that of a word, 2 elsewhere.
fn beginning(words: &str, query: &str) -> u8 {
    let query = query.trim().to_lowercase();
    let words = words.trim_start_matches('/').to_lowercase();
    match () {
        () if words.starts_with(&query) => 0,
        () if words.split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(&query)) => 1,
        () => 2,
    }
}
