//! The models to choose from, and the choice that is under way.
//!
//! Owns the list, the words of its rows and what answers if a choice comes to nothing. Leaves asking services to
//! `services`. Invariant: a name that cannot be had changes nothing but the words that say so.

use std::collections::BTreeMap;

use crate::agent::{AgentEvent, EventKind, TurnEvent};
use crate::app::keymap::Context;
use crate::app::lists::{self, ListCell, ListEntry, ListStyle, cell};
use crate::app::{Action, App, ListPopup, ModelFact, ModelState, Popup};
use crate::message::columns::width;
use crate::message::format::tokens;
use crate::message::{AgentId, grouped, sanitize_line};
use crate::provider::offer::OfferedModel;
use crate::subagent::Command;

/// What can be chosen.
#[derive(Debug, Default)]
pub(in crate::app) struct ModelChoices {
    models: Vec<OfferedModel>,
    is_whole: bool,
    /// The subagent that a model is chosen for; `None` is the main agent.
    subagent: Option<AgentId>,
    /// Milliseconds that the last reply of a model has taken to begin, by what the model is shown as.
    latencies: BTreeMap<String, u64>,
    /// Who answered before a choice that is under way, and the name that was chosen.
    wanted: Option<(Option<ModelFact>, String)>,
}

impl ModelChoices {
    pub(in crate::app) fn listed(&mut self, models: Vec<OfferedModel>, is_whole: bool) {
        // What is known of the services comes first, and says less.
        if is_whole || !self.is_whole {
            (self.models, self.is_whole) = (models, is_whole);
        }
    }

    /// Returns the models whose name holds all words of a query.
    fn matching<'a>(&'a self, query: &str) -> impl Iterator<Item = &'a OfferedModel> {
        let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        self.models.iter().filter(move |model| {
            let name = format!("{} {}", model.name(), model.display).to_lowercase();
            words.iter().all(|word| name.contains(word))
        })
    }

    /// Returns who answered before the choice that has come to its end, and the name that was chosen.
    pub(in crate::app) fn take_wanted(&mut self) -> Option<(Option<ModelFact>, String)> {
        self.wanted.take()
    }
}

/// Opens the list of models for a subagent, else for the main agent, with the present one chosen, and asks the services what they have.
pub(in crate::app) fn open(app: &mut App, subagent: Option<AgentId>) {
    app.models.subagent = subagent;
    app.out.push(crate::app::Effect::ListModels);
    let present = app.models.models.iter().position(|model| is_present(app, model)).unwrap_or(0);
    app.overlay.open(Popup::List(ListPopup::new(&lists::MODELS, present)));
}

/// Lets the model with this name answer starting with the next message.
pub(in crate::app) fn choose(app: &mut App, name: &str) {
    app.out.inform(format!("looking for {}", sanitize_line(name)));
    let before = match app.models.take_wanted() {
        Some((before, _)) => before,
        None => app.status.model.chosen().cloned(),
    };
    app.models.wanted = Some((before, name.to_owned()));
    app.out.send(Command::UseModel { agent: AgentId::MAIN, name: name.to_owned() });
}

/// Takes in that the model that was chosen answers.
pub(in crate::app) fn chosen(app: &mut App) {
    if let (Some(_), Some(model)) = (app.models.take_wanted(), app.status.model.chosen()) {
        let by = if model.provider == model.display { String::new() } else { format!(" ({})", model.provider) };
        app.out.answer(format!("model: {}{by}, starting with the next message", model.display));
    }
}

/// Takes in that a model cannot be had. Returns `true` if another one goes on answering.
pub(in crate::app) fn refused(app: &mut App, reason: &str) -> bool {
    let Some((Some(before), name)) = app.models.take_wanted() else { return false };
    app.error(&format!("{reason}\nStill using {}.", before.display));
    app.out.warn(format!("no model {:?}; still using {}", sanitize_line(&name), before.display));
    app.status.model = ModelState::Chosen(before);
    true
}

/// Takes the chosen model, else what was typed as a name.
pub(in crate::app) fn accept(app: &mut App, list: &ListPopup) {
    let query = list.query.text().trim();
    let named = app.models.matching(query).nth(list.chosen).map(OfferedModel::name);
    let name = named.unwrap_or_else(|| query.to_owned());
    match app.models.subagent {
        _ if name.is_empty() => {}
        None => choose(app, &name),
        Some(agent) => choose_for(app, agent, &name),
    }
}

/// Lets another model answer a subagent starting with its next run.
pub(in crate::app) fn choose_for(app: &mut App, agent: AgentId, name: &str) {
    let Some(view) = app.agents.get(agent) else { return };
    let (label, ended) = (view.name.clone(), view.has_ended());
    let key = app.keymap().chord_of(Context::Agents, Action::Resume).unwrap_or_default();
    let when = if ended { format!("once it is resumed ({key})") } else { "starting with its next run".to_owned() };
    app.out.inform(format!("{label}: {} {when}", sanitize_line(name)));
    app.out.send(Command::UseModel { agent, name: name.to_owned() });
}

/// Returns what the frame of the list says: for whom one chooses, and who answers now.
pub(in crate::app) fn title(app: &App) -> String {
    match (app.models.subagent.and_then(|id| app.agents.get(id)), app.status().model.chosen()) {
        (Some(agent), _) => format!("model of {}, starting with its next run", agent.name),
        (_, Some(model)) if model.provider == model.display => format!("model · now {}", model.display),
        (_, Some(model)) => {
            let effort = app.effort().map(|effort| format!(", effort {effort}")).unwrap_or_default();
            format!("model · now {} ({}){effort}", model.display, model.provider)
        }
        (_, None) => "model".to_owned(),
    }
}

/// Returns `true` if a model answers whom one chooses for.
fn is_present(app: &App, model: &OfferedModel) -> bool {
    if let Some(agent) = app.models.subagent.and_then(|id| app.agents.get(id)) {
        return agent.model == model.display;
    }
    let present = app.status.model.chosen();
    present.is_some_and(|present| present.provider == model.provider && present.display == model.display)
}

/// Notes how fast a model has answered.
pub(in crate::app) fn note_latency(app: &mut App, event: &AgentEvent) {
    let EventKind::Turn(TurnEvent::Ended { latency_ms: Some(latency), .. }) = &event.kind else { return };
    let model = match app.status.model.chosen().filter(|_| event.agent.is_main()) {
        Some(model) => Some(model.display.clone()),
        None => app.agents.get(event.agent).map(|agent| agent.model.clone()),
    };
    app.models.latencies.extend(model.map(|model| (model, *latency)));
}

pub(in crate::app) fn entries(app: &App, query: &str, columns: u16) -> Vec<ListEntry> {
    let all: Vec<&OfferedModel> = app.models.matching(query).collect();
    let widest = |of: fn(&OfferedModel) -> &str, most: usize| {
        all.iter().map(|model| width(of(model))).max().unwrap_or(0).min(most)
    };
    let is_timed = all.iter().any(|model| app.models.latencies.contains_key(&model.display));
    let (name, provider) = (widest(|model| &model.id, 40), widest(|model| &model.provider, 14));
    let row = |model: &&OfferedModel| {
        let here = is_present(app, model);
        let window = model.context_window.map(|size| format!("{} ctx", tokens(size))).unwrap_or_default();
        let id = ListCell { gives_way: true, ..cell(sanitize_line(&model.id), ListStyle::Text).wide(name) };
        let mut cells = vec![cell(if here { "now " } else { "    " }, ListStyle::Accent), id];
        cells.push(cell(format!("  {}", sanitize_line(&model.provider)), ListStyle::Muted).wide(provider + 2));
        if columns >= 50 {
            cells.push(cell(format!("  {window:>9}"), ListStyle::Muted));
        }
        if is_timed && columns >= 70 {
            let latency = app.models.latencies.get(&model.display).map(|latency| format!("{} ms", grouped(*latency)));
            cells.push(cell(format!("  {:>9}", latency.unwrap_or_default()), ListStyle::Muted));
        }
        cells.push(cell(format!("  {}", price(model)), ListStyle::Muted));
        ListEntry::new(model.name(), cells)
    };
    all.iter().map(row).collect()
}

fn price(model: &OfferedModel) -> String {
    match &model.price {
        Some(price) if price.input <= 0.0 && price.output <= 0.0 => "free".to_owned(),
        Some(price) => format!("${} in · ${} out", dollars(price.input), dollars(price.output)),
        None => "price unknown".to_owned(),
    }
}

fn dollars(amount: f64) -> String {
    let text = format!("{amount:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the line above the list: who answers now, and what is missing to choose from more.
pub(in crate::app) fn head(app: &App) -> String {
    let now = match &app.status.model {
        ModelState::Chosen(_) if app.models.models.is_empty() => "fetching the models".to_owned(),
        ModelState::Chosen(_) if app.models.latencies.is_empty() => "prices per million tokens".to_owned(),
        ModelState::Chosen(_) => "prices per million tokens · ms until the last reply began".to_owned(),
        ModelState::Searching(None) => "Still looking for a model.".to_owned(),
        ModelState::Searching(Some(place)) => format!("Still looking for a model at {place}."),
        ModelState::Missing(reason) => format!("No model connected. {reason}"),
    };
    match app.models.models.iter().any(|model| model.id != model.provider) {
        true if app.models.is_whole => now,
        true => format!("{now} · fetching the models"),
        false => {
            let keys = crate::provider::table::ProviderTable::default();
            format!("{now} · to connect a service, set {}", keys.main_keys().join(" or "))
        }
    }
}
