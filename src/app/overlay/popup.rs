//! What can stand in front of everything else.
//!
//! Owns which popup is open and where it stands. Leaves its contents to the views, which take them from the keymap,
//! the agents and so on. Invariant: at most one popup is open, and `esc` closes it.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::app::action::Action;
use crate::app::keymap::{Context, Keymap};
use crate::app::line_edit::LineEdit;
use crate::definition::Source;
use crate::message::AgentId;
use crate::permission::ApprovalId;

/// An open popup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Popup {
    /// All keys.
    Help {
        /// First visible line.
        scroll: usize,
    },
    /// All actions, to choose from.
    Palette {
        /// What is sought.
        query: LineEdit,
        /// Place in the list.
        chosen: usize,
    },
    /// All agents, to choose from.
    Agents {
        /// Place in the list.
        chosen: usize,
    },
    /// All themes, to choose from.
    Themes {
        /// Place in the list.
        chosen: usize,
    },
    /// What is allowed in advance, to look at and to take back.
    Permissions {
        /// Place in the list.
        chosen: usize,
    },
    /// The unmerged worktrees for the user.
    Worktrees {
        /// Place in the list.
        chosen: usize,
    },
    /// The wizard that makes a new agent; the app keeps its state also while it is closed.
    Wizard,
    /// The task an agent was given.
    Prompt {
        /// Which one.
        agent: AgentId,
        /// First visible line.
        scroll: usize,
    },
    /// Tokens and cost, live.
    Cost {
        /// First visible line.
        scroll: usize,
    },
    /// Some text.
    Text {
        /// What it is.
        title: String,
        /// Markdown.
        body: String,
        /// First visible line.
        scroll: usize,
    },
    /// The words that go with a no.
    Comment {
        /// The question that is answered.
        id: ApprovalId,
        /// The words.
        text: LineEdit,
    },
    /// What is sought in a transcript.
    Search {
        /// Whose transcript.
        agent: AgentId,
        /// What is sought.
        query: LineEdit,
    },
    /// Whether to delete an agent's file.
    DeleteAgent {
        /// The agent.
        name: String,
        /// Its file.
        path: PathBuf,
    },
    /// The folders that a copy of an agent may go to.
    DuplicateAgent {
        /// Where the agent comes from.
        source: Source,
        /// The agent.
        name: String,
        /// Place in the list.
        chosen: usize,
    },
}

impl Popup {
    /// Returns the line that is being typed, if there is one.
    pub fn line(&mut self) -> Option<&mut LineEdit> {
        match self {
            Self::Palette { query, chosen } => {
                *chosen = 0;
                Some(query)
            }
            Self::Comment { text, .. } => Some(text),
            Self::Search { query, .. } => Some(query),
            _ => None,
        }
    }

    /// Returns `true` if letters are part of what is typed into it.
    #[must_use]
    pub fn takes_text(&self) -> bool {
        matches!(self, Self::Palette { .. } | Self::Comment { .. } | Self::Search { .. } | Self::Wizard)
    }

    /// Returns `true` if it is a text that scrolls.
    #[must_use]
    pub fn scrolls(&self) -> bool {
        matches!(self, Self::Help { .. } | Self::Prompt { .. } | Self::Cost { .. } | Self::Text { .. })
    }

    /// Returns the place in the list, where there is one.
    pub fn chosen(&mut self) -> Option<&mut usize> {
        match self {
            Self::Palette { chosen, .. }
            | Self::Agents { chosen }
            | Self::Themes { chosen }
            | Self::Permissions { chosen }
            | Self::Worktrees { chosen }
            | Self::DuplicateAgent { chosen, .. } => Some(chosen),
            _ => None,
        }
    }

    /// Returns what taking the chosen entry, or what was typed, means here; `None` where there is nothing to take.
    #[must_use]
    pub fn accept_word(&self) -> Option<&'static str> {
        match self {
            Self::Palette { .. } => Some("do it"),
            Self::Agents { .. } => Some("open"),
            Self::Worktrees { .. } => Some("diff"),
            Self::Themes { .. } => Some("use"),
            Self::Comment { .. } => Some("say no"),
            Self::Search { .. } => Some("find"),
            Self::DuplicateAgent { .. } => Some("copy"),
            Self::Wizard
            | Self::Help { .. }
            | Self::Permissions { .. }
            | Self::Prompt { .. }
            | Self::Cost { .. }
            | Self::Text { .. }
            | Self::DeleteAgent { .. } => None,
        }
    }

    /// Returns the first visible line of a popup that scrolls.
    pub fn scroll(&mut self) -> Option<&mut usize> {
        match self {
            Self::Help { scroll } | Self::Prompt { scroll, .. } | Self::Cost { scroll } | Self::Text { scroll, .. } => {
                Some(scroll)
            }
            _ => None,
        }
    }
}

/// What an entry of the palette does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaletteAct {
    /// What a key may do.
    Action(Action),
    /// A slash command: its name with the slash, and what it does.
    Command(&'static str, &'static str),
}

impl PaletteAct {
    /// Returns the words that are sought in.
    #[must_use]
    pub fn words(self) -> Cow<'static, str> {
        match self {
            Self::Action(action) => Cow::Borrowed(action.description()),
            Self::Command(name, what) => Cow::Owned(format!("{name} · {what}")),
        }
    }
}

/// An entry of the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteEntry {
    /// What it does.
    pub act: PaletteAct,
    /// Its chord, where it has one.
    pub chord: Option<String>,
    /// Places of the sought characters in the words, counted in characters.
    pub matched: Vec<u32>,
}

/// Returns the actions and commands that match the query, best first; all of them for an empty query.
#[must_use]
pub fn palette(keymap: &Keymap, context: Context, query: &str) -> Vec<PaletteEntry> {
    use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
    use nucleo_matcher::{Config, Matcher, Utf32Str};

    let pattern = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let actions = Action::all().filter(|action| !matches!(action, Action::FocusAgent(number) if *number > 1));
    let commands = crate::app::SLASH_COMMANDS.iter().map(|(name, what)| PaletteAct::Command(name, what));
    let mut found: Vec<(u32, PaletteEntry)> = actions
        .map(PaletteAct::Action)
        .chain(commands)
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
                PaletteAct::Command(..) => None,
            };
            Some((score, PaletteEntry { act, chord, matched }))
        })
        .collect();
    // Of equal matches the shorter one is closer to what was typed; without a query the order is that of the list.
    found.sort_by_key(|(score, entry)| {
        (std::cmp::Reverse(*score), if query.is_empty() { 0 } else { entry.act.words().len() })
    });
    found.into_iter().map(|(_, entry)| entry).collect()
}
