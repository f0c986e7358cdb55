//! Which key means which action where.
//!
//! Owns the table of `assets/keymap.toml` and the user's changes to it. Leaves typing to the composer: a key that no
//! row names is not ours. Invariant: within one context no chord means two things, and none begins another.

use std::fmt::Write as _;
use std::sync::LazyLock;

use anyhow::{Context as _, Result};

use crate::app::action::Action;
use crate::app::key::Key;

const BUILTIN: &str = include_str!("../../../assets/keymap.toml");

/// Where a key was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Anywhere; asked after the context of the focus.
    Global,
    Composer,
    Conversation,
    Agents,
    AgentFull,
    /// The commands in the background.
    Commands,
    Approvals,
    AgentFiles,
    Timeline,
    /// A recorded session, but for its panes.
    Replay,
    /// A list or a line in front of everything else.
    Popup,
    Text,
    /// A question of the program itself.
    Confirm,
    /// What would come back with a message.
    Rewind,
    /// What an agent asks.
    Questions,
    Wizard,
}

impl Context {
    /// Every context, in the order of the help.
    pub const ALL: [Self; 16] = [
        Self::Global,
        Self::Composer,
        Self::Conversation,
        Self::Agents,
        Self::AgentFull,
        Self::Commands,
        Self::Timeline,
        Self::Replay,
        Self::Approvals,
        Self::AgentFiles,
        Self::Popup,
        Self::Text,
        Self::Confirm,
        Self::Rewind,
        Self::Questions,
        Self::Wizard,
    ];

    /// Returns the name of its section in the keymap file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Composer => "composer",
            Self::Conversation => "conversation",
            Self::Agents => "agents",
            Self::AgentFull => "agent-full",
            Self::Commands => "commands",
            Self::Approvals => "approvals",
            Self::AgentFiles => "agent-files",
            Self::Timeline => "timeline",
            Self::Replay => "replay",
            Self::Popup => "popup",
            Self::Text => "text",
            Self::Confirm => "confirm",
            Self::Rewind => "rewind",
            Self::Questions => "questions",
            Self::Wizard => "wizard",
        }
    }

    /// Returns what it is called in the help and in the README.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "anywhere",
            Self::Composer => "composer",
            Self::Conversation => "conversation",
            Self::Agents => "agents",
            Self::AgentFull => "agent, full",
            Self::Commands => "commands",
            Self::Approvals => "approvals",
            Self::AgentFiles => "agent files",
            Self::Timeline => "timeline",
            Self::Replay => "replay",
            Self::Popup => "list",
            Self::Text => "text",
            Self::Confirm => "question",
            Self::Rewind => "rewind",
            Self::Questions => "questions",
            Self::Wizard => "new agent",
        }
    }
}

/// The keys of a replay that matter most, with a short word for each.
const REPLAY_HINTS: &[(Action, &str)] = &[
    (Action::PlayOrPause, "play"),
    (Action::Earlier, "back"),
    (Action::Later, "on"),
    (Action::NextSpeed, "speed"),
    (Action::Timeline, "timeline"),
    (Action::Quit, "quit"),
    (Action::Beginning, "start"),
    (Action::Present, "end"),
];

/// The keys of the commands in the background, with a short word for each.
const COMMAND_HINTS: &[(Action, &str)] =
    &[(Action::Stop, "stop"), (Action::OpenOutput, "output"), (Action::Leave, "back"), (Action::Help, "keys")];

/// What a run of keys means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    Action(Action),
    /// The start of a longer chord, which would mean this.
    Pending(Action),
    None,
}

/// One row: where, which keys, what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub context: Context,
    /// The keys, pressed one after the other.
    pub chord: Vec<Key>,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    rows: Vec<Binding>,
}

impl Keymap {
    #[must_use]
    pub fn builtin() -> Self {
        static BUILT: LazyLock<Keymap> = LazyLock::new(|| {
            let mut keymap = Keymap { rows: Vec::new() };
            // The file is part of the program and a test reads it strictly, so that nothing can be reported here.
            let _ = keymap.apply(BUILTIN);
            keymap
        });
        BUILT.clone()
    }

    /// Applies a user's file on top and returns what in it could not be used, one sentence each.
    pub fn apply(&mut self, toml: &str) -> Result<Vec<String>> {
        let table: toml::Table = toml.parse().context("the keymap file is not valid TOML")?;
        let mut problems = Vec::new();
        for (section, rows) in &table {
            let Some(context) = Context::ALL.into_iter().find(|context| context.name() == section) else {
                let known = Context::ALL.map(Context::name).join(", ");
                problems.push(format!("keymap: no section [{section}]; the sections are {known}"));
                continue;
            };
            let Some(rows) = rows.as_table() else {
                problems.push(format!("keymap: write [{section}] as a section"));
                continue;
            };
            for (name, chords) in rows {
                if let Err(error) = self.rebind(context, name, chords) {
                    problems.push(format!("keymap: [{section}] {name}: {error:#}"));
                }
            }
        }
        problems.extend(self.drop_conflicts());
        problems.extend(self.hidden());
        Ok(problems)
    }

    /// Lists which chords that work anywhere are cut off by a shorter or longer one of a context. The same chord with a
    /// meaning of its own is no fault: it is what contexts are for.
    fn hidden(&self) -> Vec<String> {
        let own = self.rows.iter().filter(|row| row.context != Context::Global);
        let global = |row: &Binding| {
            self.rows.iter().find(|other| {
                other.context == Context::Global && other.chord != row.chord && overlap(&other.chord, &row.chord)
            })
        };
        own.filter_map(|row| {
            let other = global(row)?;
            Some(format!(
                "keymap: [{}] {} is bound to {}, so {} ({}) does not work there",
                row.context.name(),
                spell(&row.chord),
                row.action.name(),
                spell(&other.chord),
                other.action.name()
            ))
        })
        .collect()
    }

    /// Replaces the chords of one action in one context.
    fn rebind(&mut self, context: Context, name: &str, chords: &toml::Value) -> Result<()> {
        let action = Action::from_name(name).context("no such action; `?` lists them")?;
        let texts: Vec<&str> = match chords {
            toml::Value::String(one) => vec![one.as_str()],
            toml::Value::Array(many) => many
                .iter()
                .map(|chord| chord.as_str().context("a key must be a string in quotes"))
                .collect::<Result<_>>()?,
            _ => anyhow::bail!("write the keys as a list of strings"),
        };
        let mut chords: Vec<Vec<Key>> = Vec::new();
        for chord in texts.into_iter().map(Key::parse_chords) {
            let chord = chord?;
            let types = matches!(context, Context::Global | Context::Composer);
            if let Some(letter) = chord.first().and_then(Key::typed).filter(|_| types) {
                anyhow::bail!("{letter:?} is needed for typing; add ctrl+ or alt+");
            }
            if !chords.contains(&chord) {
                chords.push(chord);
            }
        }
        self.rows.retain(|row| (row.context, row.action) != (context, action));
        self.rows.extend(chords.into_iter().map(|chord| Binding { context, chord, action }));
        Ok(())
    }

    /// Removes rows that a later row of the same context makes unreachable, or that would make it so.
    fn drop_conflicts(&mut self) -> Vec<String> {
        let mut lost: Vec<(Binding, Action)> = Vec::new();
        let mut kept: Vec<Binding> = Vec::new();
        for row in self.rows.drain(..).rev() {
            let rival = kept
                .iter()
                .find(|other| other.context == row.context && overlap(&other.chord, &row.chord))
                .map(|other| other.action);
            match rival {
                Some(rival) => lost.push((row, rival)),
                None => kept.push(row),
            }
        }
        kept.reverse();
        let problems = lost
            .iter()
            .rev()
            .map(|(row, rival)| {
                let place = row.context;
                let other = kept.iter().any(|known| known.context == place && known.action == row.action);
                let left = if other { String::new() } else { format!(", and {} has no key there", row.action.name()) };
                let (chord, action, rival) = (spell(&row.chord), row.action.name(), rival.name());
                format!("keymap: [{}] {chord} is bound to both {action} and {rival}; using {rival}{left}", place.name())
            })
            .collect();
        // TOML sections have no order of their own: the help follows the list of actions.
        kept.sort_by_cached_key(|row| {
            let place = Context::ALL.iter().position(|context| *context == row.context);
            (place, Action::all().position(|action| action == row.action))
        });
        self.rows = kept;
        problems
    }

    /// Returns what the keys mean in a context: its own rows first, then those that work anywhere.
    pub fn lookup(&self, context: Context, keys: &[Key]) -> Lookup {
        let own = self.lookup_in(context, keys);
        if own == Lookup::None { self.lookup_in(Context::Global, keys) } else { own }
    }

    fn lookup_in(&self, context: Context, keys: &[Key]) -> Lookup {
        let row = self.rows.iter().find(|row| row.context == context && row.chord.starts_with(keys));
        match row {
            Some(row) if row.chord.len() == keys.len() => Lookup::Action(row.action),
            Some(row) if !keys.is_empty() => Lookup::Pending(row.action),
            _ => Lookup::None,
        }
    }

    /// Returns all rows, by context and action.
    pub fn rows(&self) -> &[Binding] {
        &self.rows
    }

    /// Returns the first chord of an action, spelled for people: the context's own, else the one that works anywhere.
    pub fn chord_of(&self, context: Context, action: Action) -> Option<String> {
        [context, Context::Global]
            .into_iter()
            .find_map(|place| self.rows.iter().find(|row| row.context == place && row.action == action))
            .map(|row| spell(&row.chord))
    }

    /// Returns the keys that matter most in a context, for the status line: chord, action and a short word.
    pub fn hints(&self, context: Context) -> Vec<(String, Action, &'static str)> {
        let wanted: &[(Action, &'static str)] = match context {
            Context::Composer => &[
                (Action::Interrupt, "to main"),
                (Action::OpenOutput, "show paste"),
                (Action::IntoAgents, "agents"),
                (Action::Palette, "actions"),
                (Action::CycleMode, "mode"),
            ],
            Context::Agents => &[
                (Action::Stop, "stop"),
                (Action::WrapUp, "wrap up"),
                (Action::Resume, "resume"),
                (Action::CopyReport, "copy"),
                (Action::Message, "message"),
                (Action::Background, "background"),
                (Action::Full, "full"),
                (Action::Help, "keys"),
                (Action::Fold, "fold"),
                (Action::Timeline, "timeline"),
            ],
            Context::AgentFull => &[
                (Action::Stop, "stop"),
                (Action::WrapUp, "wrap up"),
                (Action::Resume, "resume"),
                (Action::CopyReport, "copy"),
                (Action::Message, "message"),
                (Action::Leave, "back"),
                (Action::Search, "search"),
                (Action::FoldTools, "tools"),
                (Action::Background, "background"),
            ],
            Context::Commands => COMMAND_HINTS,
            Context::Approvals => &[
                // The answers stand below the question.
                (Action::Leave, "back"),
                (Action::NextQuestion, "next"),
                (Action::Help, "keys"),
            ],
            Context::Conversation => &[
                (Action::ScrollUp, "up"),
                (Action::ScrollDown, "down"),
                (Action::Bottom, "follow"),
                (Action::Leave, "back"),
            ],
            Context::AgentFiles => &[
                (Action::Accept, "show"),
                (Action::Search, "find"),
                (Action::NewAgent, "new"),
                (Action::EditAgent, "edit"),
                (Action::DuplicateAgent, "copy"),
                (Action::DeleteAgent, "delete"),
                (Action::Leave, "back"),
                (Action::UseAgent, "use"),
                (Action::ReloadAgents, "reload"),
            ],
            Context::Timeline => &[
                (Action::OpenThere, "open"),
                (Action::ZoomIn, "zoom in"),
                (Action::ZoomOut, "zoom out"),
                (Action::Present, "now"),
                (Action::Leave, "back"),
            ],
            Context::Replay => REPLAY_HINTS,
            Context::Popup => &[(Action::Accept, "choose"), (Action::Leave, "close")],
            Context::Rewind => &[
                (Action::RewindBoth, "both"),
                (Action::RewindConversation, "conversation"),
                (Action::RewindFiles, "files"),
                (Action::Leave, "cancel"),
            ],
            Context::Text | Context::Confirm => &[(Action::Leave, "close")],
            // They stand in its box.
            Context::Questions | Context::Wizard => &[],
            Context::Global => &[(Action::Palette, "actions"), (Action::Help, "keys")],
        };
        let row = |(action, word): &(Action, &'static str)| Some((self.chord_of(context, *action)?, *action, *word));
        wanted.iter().filter_map(row).collect()
    }

    pub fn help(&self, context: Context) -> Vec<(Vec<String>, Action)> {
        let mut help: Vec<(Vec<String>, Action)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.context == context) {
            match help.iter_mut().find(|(_, action)| *action == row.action) {
                Some((chords, _)) => chords.push(spell(&row.chord)),
                None => help.push((vec![spell(&row.chord)], row.action)),
            }
        }
        help
    }

    /// Returns the table of all keys in Markdown, as the README holds it: one row for each act.
    pub fn markdown_table(&self) -> String {
        let mut table = String::from("| where | key | act |\n|---|---|---|\n");
        for context in Context::ALL {
            let mut rows: Vec<(Vec<String>, &str)> = Vec::new();
            for (chords, action) in self.help(context) {
                let chords = chords.iter().map(|chord| format!("`{chord}`"));
                let act = action.description_in(context);
                match rows.last_mut().filter(|(_, known)| *known == act) {
                    Some((all, _)) => all.extend(chords),
                    None => rows.push((chords.collect(), act)),
                }
            }
            for (chords, act) in rows {
                let _ = writeln!(table, "| {} | {} | {act} |", context.title(), chords.join(" "));
            }
        }
        table
    }
}

/// Returns `true` if one chord is the other or its beginning.
fn overlap(a: &[Key], b: &[Key]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

pub fn spell(chord: &[Key]) -> String {
    let keys: Vec<String> = chord.iter().map(ToString::to_string).collect();
    keys.join(" ")
}
