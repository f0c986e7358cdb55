//! What the user chooses in a session: the permission mode and the model.
//!
//! Owns how both are offered, as modes and as options. Invariant: `bypassPermissions` is offered only to who started the
//! program with it.

use super::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use crate::agent::{LogEvent, SessionEvent};
use crate::message::sanitize_line;
use crate::permission::PermissionMode;
use crate::provider::offer::OfferedModel;

/// The names of the options.
pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";

pub(super) struct EditorChoices {
    modes: Vec<PermissionMode>,
    pub(super) mode: PermissionMode,
    models: Vec<OfferedModel>,
    /// The name of the model that answers; `None` until it is known.
    model: Option<String>,
    /// The one that answered before a choice that is under way.
    before: Option<String>,
    /// Why no model answers.
    pub(super) no_model: Option<String>,
}

impl EditorChoices {
    pub(super) fn new(mode: PermissionMode, models: Vec<OfferedModel>) -> Self {
        let is_offered = |known: &PermissionMode| *known != PermissionMode::BypassPermissions || *known == mode;
        let modes = PermissionMode::ALL.into_iter().filter(is_offered).collect();
        Self { modes, mode, models, model: None, before: None, no_model: None }
    }

    /// Returns the mode of this name, if it is offered.
    pub(super) fn mode_named(&self, name: &str) -> Option<PermissionMode> {
        self.modes.iter().copied().find(|mode| mode.id() == name)
    }

    /// Returns `true` if a model of this name is offered.
    pub(super) fn has_model(&self, name: &str) -> bool {
        self.models.iter().any(|model| model.name() == name) || self.model.as_deref() == Some(name)
    }

    /// Notes that a model was chosen. Returns its name, unless it answers already.
    pub(super) fn choose(&mut self, name: &str) -> Option<String> {
        if self.model.as_deref() == Some(name) {
            return None;
        }
        let present = self.model.replace(name.to_owned());
        self.before = self.before.take().or(present);
        Some(name.to_owned())
    }

    /// Knows these models instead. Returns `true` if that changes anything.
    pub(super) fn set_models(&mut self, models: Vec<OfferedModel>) -> bool {
        let is_new = !models.is_empty() && models != self.models;
        if is_new {
            self.models = models;
        }
        is_new
    }

    /// Notes what an event says of the choices. Returns `true` if the client has to know.
    pub(super) fn apply(&mut self, event: &LogEvent) -> bool {
        match event.of_session() {
            Some(SessionEvent::ModeChanged { mode }) => {
                let is_new = self.mode != *mode;
                self.mode = *mode;
                is_new
            }
            Some(SessionEvent::ModelChosen { provider, display, .. }) => {
                let is_it = |model: &&OfferedModel| model.provider == *provider && model.display == *display;
                let name = self.models.iter().find(is_it).map(OfferedModel::name);
                self.model = Some(name.unwrap_or_else(|| format!("{provider}/{display}")));
                (self.before, self.no_model) = (None, None);
                true
            }
            Some(SessionEvent::NoModel { reason }) => {
                // The one before goes on.
                if let Some(before) = self.before.take() {
                    self.model = Some(before);
                    return true;
                }
                self.no_model = Some(reason.clone());
                false
            }
            _ => false,
        }
    }

    pub(super) fn is_settled(event: &LogEvent) -> bool {
        matches!(
            event.of_session(),
            Some(SessionEvent::ModelChosen { .. } | SessionEvent::NoModel { .. } | SessionEvent::ModelSearch { .. })
        )
    }

    pub(super) fn modes(&self) -> SessionModeState {
        let mode =
            |mode: &PermissionMode| SessionMode::new(mode.id(), mode.word()).description(mode.about().to_owned());
        SessionModeState::new(self.mode.id(), self.modes.iter().map(mode).collect())
    }

    /// Returns what can be chosen. The mode is there too, for clients that know options only.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let modes: Vec<SessionConfigSelectOption> = self
            .modes
            .iter()
            .map(|mode| SessionConfigSelectOption::new(mode.id(), mode.word()).description(mode.about().to_owned()))
            .collect();
        let mode = SessionConfigOption::select(MODE, "Permissions", self.mode.id(), modes)
            .category(SessionConfigOptionCategory::Mode);
        let Some(current) = &self.model else { return vec![mode] };
        let mut models: Vec<SessionConfigSelectOption> = self.models.iter().map(of_model).collect();
        if !self.models.iter().any(|model| model.name() == *current) {
            models.insert(0, SessionConfigSelectOption::new(current.clone(), sanitize_line(current).into_owned()));
        }
        let model = SessionConfigOption::select(MODEL, "Model", current.clone(), models)
            .category(SessionConfigOptionCategory::Model);
        vec![mode, model]
    }
}

fn of_model(model: &OfferedModel) -> SessionConfigSelectOption {
    let name = sanitize_line(&model.display).into_owned();
    SessionConfigSelectOption::new(model.name(), name).description(sanitize_line(&model.provider).into_owned())
}
