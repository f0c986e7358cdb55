//! Lists to choose from: each is a row of data, and all are drawn, moved in and clicked on alike.
//!
//! Owns the rows: what a list is called, what it offers, what `enter` and other keys do. Leaves drawing to the views.
//! Invariant: an act is about the entry that was shown as chosen.

use std::time::Duration;

use super::line_edit::LineEdit;
use super::outputs;
use super::popup::{PaletteAct, Popup, palette};
use super::rewind;
use crate::agent::{KeptWorktree, WorktreeAct};
use crate::app::agent_files::FileRequest;
use crate::app::input::Handled;
use crate::app::keymap::Context;
use crate::app::layout::LayoutMode;
use crate::app::settings::{models, sessions, skills};
use crate::app::{Action, AgentState, AgentView, App, Effect};
use crate::message::columns::width;
use crate::message::{AgentId, reveal_line, sanitize_line};
use crate::permission::PermissionMode;
use crate::session::Secrets;

/// What a key does with an entry, named by its place.
pub(in crate::app) type EntryAct = fn(&mut App, usize);

/// A list to choose from.
pub struct ListKind {
    pub name: &'static str,
    /// What its frame says.
    pub title: fn(&App) -> String,
    pub columns: u16,
    /// A line above the entries.
    pub head: Option<fn(&App) -> String>,
    /// Whether a line is typed that its entries have to match.
    pub has_query: bool,
    /// Returns its entries, for what was typed and for this many columns.
    pub entries: fn(&App, &str, u16) -> Vec<ListEntry>,
    /// What it says without entries.
    pub empty: &'static str,
    /// What `enter` does, in a word; `None` if it only closes the list.
    pub accept_word: Option<&'static str>,
    /// Does it. The list is closed by then.
    pub(in crate::app) accept: fn(&mut App, &ListPopup),
    /// What other keys do with the chosen entry.
    pub(in crate::app) acts: &'static [(Action, EntryAct)],
    /// Whether choosing an entry shows something, so that the second click takes it.
    pub(in crate::app) shows_choice: bool,
}

#[derive(Clone)]
pub struct ListPopup {
    pub kind: &'static ListKind,
    pub query: LineEdit,
    pub chosen: usize,
}

impl PartialEq for ListPopup {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.query == other.query && self.chosen == other.chosen
    }
}

impl Eq for ListPopup {}

impl std::fmt::Debug for ListPopup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {}", self.kind.name, self.query.text(), self.chosen)
    }
}

impl ListPopup {
    #[must_use]
    pub fn new(kind: &'static ListKind, chosen: usize) -> Self {
        Self { kind, query: LineEdit::default(), chosen }
    }

    pub fn entries(&self, app: &App, columns: u16) -> Vec<ListEntry> {
        (self.kind.entries)(app, self.query.text(), columns)
    }

    /// Returns `true` if an action means something in this list.
    pub(in crate::app) fn offers(&self, action: Action) -> bool {
        let moves = matches!(action, Action::MoveUp | Action::MoveDown | Action::PageUp | Action::PageDown);
        moves || matches!(action, Action::Accept | Action::Leave) || self.act_of(action).is_some()
    }

    /// Returns what an action does with an entry.
    pub(in crate::app) fn act_of(&self, action: Action) -> Option<EntryAct> {
        self.kind.acts.iter().find(|(offered, _)| *offered == action).map(|(_, act)| *act)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ListEntry {
    /// What it is about, whatever stands on its row.
    pub id: String,
    pub cells: Vec<ListCell>,
    /// A chord that stands at the end of its row.
    pub chord: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ListCell {
    pub text: ListText,
    pub style: ListStyle,
    pub columns: Option<usize>,
    /// Whether it is cut where the whole row has no room.
    pub gives_way: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ListText {
    Plain(String),
    Time(Duration),
    State(AgentState),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListStyle {
    Text,
    Muted,
    Faint,
    Accent,
    State,
    Agent(AgentId),
}

pub(in crate::app) fn cell(text: impl Into<String>, style: ListStyle) -> ListCell {
    ListCell { text: ListText::Plain(text.into()), style, columns: None, gives_way: false }
}

impl ListCell {
    pub(in crate::app) fn wide(self, columns: usize) -> Self {
        Self { columns: Some(columns), ..self }
    }
}

impl ListEntry {
    pub(in crate::app) fn new(id: impl Into<String>, cells: Vec<ListCell>) -> Self {
        Self { id: id.into(), cells, chord: None }
    }
}

pub static PALETTE: ListKind = ListKind {
    name: "palette",
    title: |_| "actions".to_owned(),
    columns: 76,
    head: None,
    has_query: true,
    entries: |app, query, _| {
        let entries = palette(app, query);
        let row = |entry: super::popup::PaletteEntry| {
            let words = entry.act.words();
            let letter = |(at, c): (usize, char)| {
                let matched = u32::try_from(at).is_ok_and(|at| entry.matched.binary_search(&at).is_ok());
                cell(c, if matched { ListStyle::Accent } else { ListStyle::Text })
            };
            let cells = words.chars().enumerate().map(letter).collect();
            ListEntry { chord: Some(entry.chord.clone().unwrap_or_default()), ..ListEntry::new(words.clone(), cells) }
        };
        entries.into_iter().map(row).collect()
    },
    empty: "no action matches",
    accept_word: Some("run"),
    accept: |app, list| {
        let entries = palette(app, list.query.text());
        match entries.get(list.chosen).map(|entry| entry.act.clone()) {
            Some(PaletteAct::Skill { name, .. }) => skills::write_call(app, &name),
            Some(PaletteAct::Command(command)) => {
                app.run_slash(command.name);
            }
            Some(PaletteAct::Action(action)) if app.act(action) == Handled::Ignored => app.out.inform("not now"),
            Some(PaletteAct::Action(_)) | None => {}
        }
    },
    acts: &[],
    shows_choice: false,
};

pub static AGENTS: ListKind = ListKind {
    name: "agents",
    title: |_| "agents of this session".to_owned(),
    columns: 90,
    head: None,
    has_query: false,
    entries: |app, _, _| agent_rows(app),
    empty: "",
    accept_word: Some("open"),
    accept: |app, list| {
        if let Some(id) = app.agents.children().nth(list.chosen).map(|agent| agent.id) {
            app.view.open_full(id);
        }
    },
    acts: &[],
    shows_choice: false,
};

fn agent_rows(app: &App) -> Vec<ListEntry> {
    let agents = app.agents();
    let indented = |agent: &AgentView| {
        let depth = agents.order().get(agent.id).map_or(0, |kin| kin.depth.min(4));
        format!("{}{}", " ".repeat(2 * usize::from(depth)), agent.name)
    };
    let columns = |agent: &AgentView| width(&indented(agent));
    let names = agents.children().map(columns).max().unwrap_or(0).clamp(18, 28);
    let row = |agent: &AgentView| {
        let (state, time) = (app.state_of(agent), agent.elapsed(app.now()));
        let said = |text, style| ListCell { text, ..cell("", style) };
        ListEntry::new(
            agent.id.to_string(),
            vec![
                cell(format!("{:>3} ", agent.id.to_string()), ListStyle::Muted),
                cell(indented(agent), ListStyle::Agent(agent.id)).wide(names),
                said(ListText::State(state), ListStyle::State).wide(12),
                said(ListText::Time(time), ListStyle::Muted).wide(7),
                cell(agent.description.clone(), ListStyle::Text),
            ],
        )
    };
    agents.children().map(row).collect()
}

/// The ways of placing the agents; the chosen one is tried.
pub static LAYOUTS: ListKind = ListKind {
    name: "layouts",
    title: |_| "layout".to_owned(),
    columns: 50,
    head: None,
    has_query: false,
    entries: |_, _, _| LayoutMode::ALL.iter().map(|mode| named(mode.name(), 8, mode.about())).collect(),
    empty: "",
    accept_word: Some("use"),
    accept: |app, list| {
        if let Some(mode) = LayoutMode::ALL.get(list.chosen) {
            app.use_layout(*mode);
        }
    },
    // The key that opens the list goes on in it.
    acts: &[(Action::Layout, |app, chosen| {
        if let Some(list) = app.overlay.list_mut() {
            list.chosen = (chosen + 1) % LayoutMode::ALL.len();
        }
    })],
    shows_choice: true,
};

pub static MODES: ListKind = ListKind {
    name: "modes",
    title: |_| "permission mode".to_owned(),
    columns: 80,
    head: None,
    has_query: false,
    entries: |app, _, _| PermissionMode::ALL.iter().map(|it| named(it.word(), 14, app.about_mode(*it))).collect(),
    empty: "",
    accept_word: Some("use"),
    accept: |app, list| {
        if let Some(mode) = PermissionMode::ALL.get(list.chosen) {
            app.set_mode(*mode);
        }
    },
    acts: &[],
    shows_choice: false,
};

/// Returns the row of something that has a name, and what it is.
fn named(name: &str, columns: usize, about: &str) -> ListEntry {
    ListEntry::new(name, vec![cell(name, ListStyle::Text).wide(columns), cell(about, ListStyle::Muted)])
}

/// All themes; the chosen one is tried.
pub static THEMES: ListKind = ListKind {
    name: "themes",
    title: |_| "theme".to_owned(),
    columns: 50,
    head: None,
    has_query: false,
    entries: |app, _, _| {
        let row = |name: &String| {
            let about = about_theme(name).map(|words| format!("  {words}")).unwrap_or_default();
            let cells = vec![cell(sanitize_line(name), ListStyle::Text).wide(16), cell(about, ListStyle::Muted)];
            ListEntry::new(name.clone(), cells)
        };
        app.themes().iter().map(row).collect()
    },
    empty: "",
    accept_word: Some("use"),
    accept: |app, list| {
        if let Some(name) = app.themes().get(list.chosen).cloned() {
            app.settings.use_theme(&name, &mut app.out);
        }
    },
    acts: &[],
    shows_choice: true,
};

/// Outputs of calls and long messages of the agent that is looked at.
pub static OUTPUTS: ListKind = ListKind {
    name: "outputs",
    title: |_| "whole outputs, newest first".to_owned(),
    columns: 100,
    head: None,
    has_query: true,
    entries: outputs::entries,
    empty: "no call matches",
    accept_word: Some("open"),
    accept: outputs::accept,
    acts: &[],
    shows_choice: false,
};

/// Returns which terminals a theme of the program is made for: the ground stays that of the terminal.
pub(in crate::app) fn about_theme(name: &str) -> Option<&'static str> {
    match name {
        "dark" | "high-contrast" => Some("for dark terminals"),
        "light" => Some("for light terminals"),
        "terminal-16" => Some("the terminal's own colors"),
        _ => None,
    }
}

/// The models that the services offer.
pub static MODELS: ListKind = ListKind {
    name: "models",
    title: models::title,
    columns: 100,
    head: Some(models::head),
    has_query: true,
    entries: models::entries,
    empty: "no listed model matches; enter uses the name as typed",
    accept_word: Some("use"),
    accept: models::accept,
    acts: &[],
    shows_choice: false,
};

/// The sessions to go on with.
pub static SESSIONS: ListKind = ListKind {
    name: "sessions",
    title: |_| "sessions".to_owned(),
    columns: 110,
    head: Some(sessions::head),
    has_query: true,
    entries: sessions::entries,
    empty: "no session matches",
    accept_word: Some("go on"),
    accept: sessions::accept,
    acts: &[],
    shows_choice: true,
};

/// The messages to go back to, the last one first.
pub static REWIND: ListKind = ListKind {
    name: "rewind",
    title: |_| "rewind to before a message".to_owned(),
    columns: 90,
    head: Some(|_| "previews the changes first".to_owned()),
    has_query: false,
    entries: |app, _, _| rewind::entries(app),
    empty: "",
    accept_word: Some("show"),
    accept: rewind::accept,
    acts: &[],
    shows_choice: false,
};

/// What answers allow, to look at and to take back, and the rules of the settings.
pub static GRANTS: ListKind = ListKind {
    name: "grants",
    title: |_| "permissions".to_owned(),
    columns: 90,
    head: Some(|app| format!("permission mode: {}", app.status().mode.word())),
    has_query: false,
    entries: |app, _, _| {
        let remove = app.keymap().chord_of(Context::Popup, Action::Remove);
        let rows = app.grants().iter().map(|given| {
            let key = remove.as_deref().filter(|_| given.origin.is_answer());
            let key = key.map(|chord| format!("  {chord} revoke")).unwrap_or_default();
            let holder = if given.holder.is_everyone() { String::new() } else { format!("  {}", given.holder.words()) };
            let grant = given.grant.to_string();
            let grant = cell(reveal_line(&Secrets::default().mask_act(&grant)), ListStyle::Text);
            ListEntry::new(
                format!("{given:?}"),
                vec![
                    cell(given.origin.word(), ListStyle::Muted).wide(16),
                    ListCell { gives_way: true, ..grant },
                    cell(holder, ListStyle::Muted),
                    cell(key, ListStyle::Faint),
                ],
            )
        });
        let rules = app.rules().iter().map(|rule| {
            let text = cell(reveal_line(&rule.text), ListStyle::Text);
            ListEntry::new(
                format!("{rule:?}"),
                vec![
                    cell(rule.effect.word(), ListStyle::Muted).wide(16),
                    ListCell { gives_way: true, ..text },
                    cell(format!("  {}", rule.origin), ListStyle::Muted),
                ],
            )
        });
        rows.chain(rules).collect()
    },
    empty: "nothing yet; to add one, answer “session” or “project”",
    accept_word: None,
    accept: |_, _| {},
    acts: &[(Action::Remove, |app, chosen| app.approvals.revoke(chosen, &mut app.out))],
    shows_choice: true,
};

pub static WORKTREES: ListKind = ListKind {
    name: "worktrees",
    title: |_| "unmerged worktrees".to_owned(),
    columns: 96,
    head: Some(|_| "enter diff · m merge · d d discard".to_owned()),
    has_query: false,
    entries: |app, _, columns| {
        let name = if columns >= 60 { 20 } else { 12 };
        let row = |one: &KeptWorktree| {
            let number = one.agent.map_or_else(|| "-".to_owned(), |agent| agent.to_string());
            ListEntry::new(
                one.branch.clone(),
                vec![
                    cell(format!("{number:>3} "), ListStyle::Muted),
                    cell(sanitize_line(&one.name), ListStyle::Accent).wide(name),
                    cell(format!(" {}", one.size()), ListStyle::Text).wide(25),
                    cell(format!(" {}", one.age_secs.map(age).unwrap_or_default()), ListStyle::Muted).wide(10),
                    cell(sanitize_line(&one.branch), ListStyle::Faint),
                ],
            )
        };
        app.kept_worktrees().iter().map(row).collect()
    },
    empty: "",
    accept_word: Some("diff"),
    accept: |app, list| {
        if let Some((title, body)) = app.agents.kept().describe(list.chosen) {
            app.overlay.open(Popup::Text { title, body, scroll: 0 });
        }
    },
    acts: &[
        (Action::Merge, |app, chosen| app.agents.kept_mut().ask_for(chosen, WorktreeAct::Merge, &mut app.out)),
        (Action::Discard, discard),
        (Action::Remove, discard),
    ],
    shows_choice: false,
};

fn discard(app: &mut App, chosen: usize) {
    app.agents.kept_mut().ask_for(chosen, WorktreeAct::Discard, &mut app.out);
}

/// The folders that a copy of an agent may go to.
pub static FOLDERS: ListKind = ListKind {
    name: "folders",
    title: |app| {
        let name = app.agent_files.copying().map(|(_, name)| sanitize_line(name)).unwrap_or_default();
        format!("duplicate {name} into")
    },
    columns: 80,
    head: None,
    has_query: false,
    entries: |app, _, _| {
        let places = app.agent_places();
        let from = app.agent_files.copying().map(|(source, _)| source.tier);
        let rows = places.homes().into_iter().map(|(tier, folder)| {
            let own = if Some(tier) == from { "  under another name" } else { "" };
            ListEntry::new(
                tier.label(),
                vec![
                    cell(tier.label(), ListStyle::Text).wide(18),
                    cell(places.shown(folder), ListStyle::Muted),
                    cell(own, ListStyle::Faint),
                ],
            )
        });
        rows.collect()
    },
    empty: "no folder for agents",
    accept_word: Some("copy"),
    accept: |app, list| {
        let tier = app.agent_files.places().homes().get(list.chosen).map(|(tier, _)| *tier);
        if let (Some(tier), Some((source, name))) = (tier, app.agent_files.copying().cloned()) {
            app.out.push(Effect::AgentFiles(FileRequest::Duplicate { source, name, tier }));
        }
    },
    acts: &[],
    shows_choice: false,
};

/// Returns how long ago something was, in a word.
pub(in crate::app) fn age(seconds: u64) -> String {
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
