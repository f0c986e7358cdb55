//! How hard the models think: the choice, and what came of it.
//!
//! Owns the list and the words. Leaves what a model takes to `provider`. Invariant: what is shown beside a model's name is
//! what it is told, not what was wished for.

use crate::app::lists::{ListCell, ListEntry, ListKind, ListStyle, cell};
use crate::app::{App, ListPopup, Popup};
use crate::message::Effort;
use crate::subagent::Command;

/// What was chosen, and what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::app) struct EffortChoice {
    /// What the main agent's model is told.
    pub(in crate::app) sent: Option<Effort>,
    wish: Option<Effort>,
    /// Whether the user waits for an answer.
    is_asked: bool,
}

/// The efforts, from the least to the most, and the services' own choice.
pub(in crate::app) static EFFORTS: ListKind = ListKind {
    name: "efforts",
    title: |_| "effort".to_owned(),
    columns: 70,
    head: None,
    has_query: false,
    entries: |app, _, _| choices().map(|choice| row(app, choice)).collect(),
    empty: "",
    accept_word: Some("use"),
    accept: |app, list| {
        if let Some(choice) = choices().nth(list.chosen) {
            choose(app, choice);
        }
    },
    acts: &[],
    shows_choice: false,
};

fn choices() -> impl Iterator<Item = Option<Effort>> {
    Effort::ALL.into_iter().map(Some).chain([None])
}

fn row(app: &App, choice: Option<Effort>) -> ListEntry {
    let name = choice.map_or("default", Effort::name);
    let mark = if app.settings.effort.wish == choice { "now " } else { "    " };
    let about = match choice {
        Some(Effort::Low) => "fast and cheap, for simple tasks",
        Some(Effort::Medium) => "between fast and thorough",
        Some(Effort::High) => "thorough; what most services do unasked",
        Some(Effort::XHigh) => "for long and hard tasks",
        Some(Effort::Max) => "whatever it takes, and costs",
        None => "what agent files, settings and the service say",
    };
    let text = |text: &'static str, style| -> ListCell { cell(text, style) };
    ListEntry::new(
        name,
        vec![text(mark, ListStyle::Accent), text(name, ListStyle::Text).wide(10), text(about, ListStyle::Muted)],
    )
}

/// Does what `/effort` says: shows the list, or takes what is named.
pub(in crate::app) fn slash(app: &mut App, word: &str) {
    if word.is_empty() {
        let present = choices().position(|choice| choice == app.settings.effort.wish).unwrap_or(0);
        app.overlay.open(Popup::List(ListPopup::new(&EFFORTS, present)));
        return;
    }
    match Effort::choice(word) {
        Ok(choice) => choose(app, choice),
        Err(why) => app.out.warn(why),
    }
}

fn choose(app: &mut App, choice: Option<Effort>) {
    app.settings.effort.is_asked = true;
    app.out.send(Command::SetEffort(choice));
}

/// Takes in how hard the main agent's model thinks.
pub(in crate::app) fn settled(app: &mut App, wish: Option<Effort>, sent: Option<Effort>) {
    let before = std::mem::replace(&mut app.settings.effort, EffortChoice { sent, wish, is_asked: false });
    if before.is_asked {
        let model = app.status.model.chosen().map(|model| model.display.as_str());
        app.out.answer(format!("{}, starting with the next message", effort_words(model, wish, sent)));
    }
}

/// Says how hard a model thinks, and what it does not take of what was wished for.
#[must_use]
pub fn effort_words(model: Option<&str>, wish: Option<Effort>, sent: Option<Effort>) -> String {
    match (model, wish, sent) {
        (_, None, _) => "effort: default".to_owned(),
        (Some(model), Some(wish), None) => format!("effort: {wish}, which {model} is not told: it takes none"),
        (Some(model), Some(wish), Some(sent)) if wish != sent => format!("effort: {sent}, as {model} takes no {wish}"),
        (_, Some(wish), _) => format!("effort: {wish}"),
    }
}
