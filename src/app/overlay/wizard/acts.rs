//! What keys and events do to the wizard.
//!
//! Owns the way of a key while the wizard is open, and what the drafting agent and the disk have to say. Leaves the
//! answers to `form`. Invariant: leaving the wizard, by whatever key, loses nothing and stops no agent.

use super::form::{Arrived, Drafting, Way, Wizard, Writing, set};
use super::rows::{HowRow, ModelRow, ToolChoice, ToolRow, WizardStep, model_rows};
use crate::agent::{AgentEvent, EventKind, Outcome};
use crate::app::action::Action;
use crate::app::agent_files::{FileNews, FileRequest};
use crate::app::input::Taken;
use crate::app::key::Key;
use crate::app::keymap::Context;
use crate::app::{App, Effect, FlashSubject, Popup};
use crate::definition::{AgentDraft, CatalogChanges};
use crate::subagent::{Command, DRAFT_CALL};

/// The most columns of the wizard's box.
pub const WIZARD_COLUMNS: u16 = 78;

impl App {
    /// Opens the wizard where it was left.
    pub(in crate::app) fn open_wizard(&mut self) {
        self.popup = Some(Popup::Wizard);
    }

    /// Returns the wizard, open or left.
    #[must_use]
    pub fn wizard(&self) -> &Wizard {
        &self.wizard
    }

    /// Returns `true` if the wizard shows that it waits for the model.
    pub(in crate::app) fn wizard_waits(&self) -> bool {
        self.popup == Some(Popup::Wizard)
            && self.wizard.step() == WizardStep::Drafting
            && self.wizard.drafting.is_some()
    }

    /// Returns the keys that matter at this step: chord and a short word.
    #[must_use]
    pub fn wizard_hints(&self) -> Vec<(String, &'static str)> {
        let step = self.wizard.step();
        let chord = |action: Action| self.keymap.chord_of(Context::Wizard, action);
        let hint = |action: Action, word: &'static str| Some((chord(action)?, word));
        let mut hints = Vec::new();
        match step {
            WizardStep::Drafting => {
                hints.extend(hint(Action::Leave, "go on by hand"));
                hints.push(("x".to_owned(), "stop it"));
                return hints;
            }
            WizardStep::Summary => hints.extend(hint(Action::Accept, "write it")),
            WizardStep::Wish => hints.extend(hint(Action::Accept, "draft")),
            _ => hints.extend(hint(Action::Accept, "next")),
        }
        if step != WizardStep::How {
            hints.extend(hint(Action::Back, "back"));
        }
        if step == WizardStep::Tools {
            hints.push(("space".to_owned(), "tick"));
        }
        if step.is_text() {
            hints.extend(hint(Action::Editor, "editor"));
            hints.extend(hint(Action::Leave, "leave"));
            // Not every terminal can send the first ones.
            let newline = self.keymap.help(Context::Wizard).into_iter().find(|(_, action)| *action == Action::Newline);
            hints.extend(newline.and_then(|(chords, _)| Some((chords.last()?.clone(), "new line"))));
        } else {
            hints.extend(hint(Action::Leave, "leave, kept"));
        }
        hints
    }

    /// Carries out an action while the wizard is open.
    pub(in crate::app) fn act_in_wizard(&mut self, action: Action, effects: &mut Vec<Effect>) -> Taken {
        let step = self.wizard.step();
        match action {
            Action::Accept => self.accept_step(effects),
            Action::Back => self.wizard.go(step.previous()),
            Action::Leave if step == WizardStep::Drafting => {
                self.wizard.go(WizardStep::Where);
                self.wizard.note = Some("The model goes on. Its draft can be taken at the first step.".to_owned());
            }
            Action::Leave => {
                self.popup = None;
                if !self.wizard.is_blank() {
                    self.inform("kept as it is; /agents new goes on with it");
                }
            }
            Action::Editor => {
                if let Some(text) = self.wizard.text() {
                    effects.push(Effect::EditText(text.expanded()));
                    self.wizard.outside = Some(step);
                }
            }
            Action::Newline => {
                if let Some(text) = self.wizard.text_mut(step) {
                    text.newline();
                }
            }
            Action::MoveUp | Action::MoveDown if step.is_text() => return Taken::No,
            Action::MoveUp => self.move_in_wizard(-1),
            Action::MoveDown => self.move_in_wizard(1),
            Action::PageUp => self.move_in_wizard(-8),
            Action::PageDown => self.move_in_wizard(8),
            _ => return self.act(action, effects),
        }
        Taken::Yes
    }

    fn move_in_wizard(&mut self, by: isize) {
        let end = self.popup_end;
        let wizard = &mut self.wizard;
        if wizard.step() == WizardStep::Summary {
            wizard.scroll = wizard.scroll.saturating_add_signed(by).min(end);
            return;
        }
        wizard.chosen = wizard.chosen.saturating_add_signed(by).min(wizard.rows().saturating_sub(1));
    }

    /// Moves what is chosen, or the summary, as the wheel turns; a list row by row, so that none is passed over.
    pub(in crate::app) fn wheel_in_wizard(&mut self, lines: i32) {
        let lines = isize::try_from(lines).unwrap_or(0);
        match self.wizard.step() {
            WizardStep::Summary => self.move_in_wizard(lines),
            step if step.is_text() => {}
            _ => self.move_in_wizard(lines.signum()),
        }
    }

    /// Takes the entry that was clicked on: a tool is ticked, a name of one's own waits to be typed, all else answers.
    pub(in crate::app) fn click_in_wizard(&mut self, entry: usize, effects: &mut Vec<Effect>) {
        let wizard = &mut self.wizard;
        // The frame may be older than the list.
        if entry >= wizard.rows() {
            return;
        }
        wizard.chosen = entry;
        match wizard.step() {
            WizardStep::Tools if matches!(wizard.tool_rows().get(entry), Some(ToolRow::Tool(..))) => self.tick_chosen(),
            WizardStep::Model if model_rows().get(entry) == Some(&ModelRow::Typed) => {}
            _ => self.accept_step(effects),
        }
    }

    /// Takes the answer to the step, and goes on.
    fn accept_step(&mut self, effects: &mut Vec<Effect>) {
        let wizard = &mut self.wizard;
        match wizard.step() {
            WizardStep::How => return self.accept_how(effects),
            WizardStep::Wish => return self.ask_for_draft(effects),
            WizardStep::Drafting => return,
            WizardStep::Where => wizard.tier = wizard.homes.get(wizard.chosen).map(|home| home.tier),
            WizardStep::Tools => match wizard.tool_rows().get(wizard.chosen) {
                // There is nothing ticked yet that could be gone on with.
                Some(ToolRow::Preset(ToolChoice::Custom)) if wizard.tool_choice() != ToolChoice::Custom => {
                    wizard.chosen += 1;
                    wizard.note = Some("Tick with space what it may use, then go on with enter.".to_owned());
                    return;
                }
                Some(ToolRow::Preset(choice)) => wizard.choose_tools(choice.clone()),
                _ => {}
            },
            WizardStep::Model => {
                wizard.model = match model_rows().get(wizard.chosen) {
                    Some(ModelRow::Alias(alias)) => Some((*alias).to_owned()),
                    Some(ModelRow::Typed) => {
                        Some(wizard.typed.text().trim().to_owned()).filter(|name| !name.is_empty())
                    }
                    Some(ModelRow::Inherit) | None => None,
                };
            }
            WizardStep::Color => {
                let row = wizard.color_rows().get(wizard.chosen).copied().flatten();
                wizard.color = row.map(str::to_owned);
            }
            WizardStep::Summary => return self.write_agent(effects),
            WizardStep::Name | WizardStep::Description | WizardStep::Prompt => {}
        }
        wizard.advance(&self.listing);
    }

    fn accept_how(&mut self, effects: &mut Vec<Effect>) {
        effects.push(Effect::AgentFiles(FileRequest::Homes));
        let wizard = &mut self.wizard;
        match wizard.how_rows().get(wizard.chosen) {
            Some(HowRow::Draft) => wizard.go(WizardStep::Wish),
            Some(HowRow::Watch) => wizard.go(WizardStep::Drafting),
            Some(HowRow::Take) => {
                if let Some(arrived) = wizard.arrived.take() {
                    wizard.take(arrived, &self.listing);
                }
            }
            Some(HowRow::Anew) => {
                wizard.clear();
            }
            Some(HowRow::ByHand) | None => wizard.go(WizardStep::Where),
        }
    }

    fn ask_for_draft(&mut self, effects: &mut Vec<Effect>) {
        let wizard = &mut self.wizard;
        if let Some(problem) = wizard.problem(WizardStep::Wish, &self.listing) {
            wizard.note = Some(problem);
            return;
        }
        if wizard.drafting.is_none() {
            wizard.drafting = Some(Drafting { since: self.now, agent: None });
            wizard.arrived = None;
            effects.push(Effect::Engine(Command::Draft { wish: wizard.wish.expanded() }));
        }
        wizard.go(WizardStep::Drafting);
    }

    fn write_agent(&mut self, effects: &mut Vec<Effect>) {
        let wizard = &mut self.wizard;
        let open = wizard.first_open(&self.listing);
        let problem = wizard.problem(open, &self.listing);
        match (wizard.tier, problem) {
            (Some(tier), None) if wizard.writing == Writing::No => {
                wizard.writing = Writing::Yes;
                wizard.note = None;
                let draft = Box::new(wizard.draft());
                effects.push(Effect::AgentFiles(FileRequest::Create { tier, draft }));
            }
            (_, Some(problem)) => {
                wizard.go(open);
                wizard.note = Some(problem);
            }
            _ => {}
        }
    }

    /// Takes a key that no action is bound to.
    pub(in crate::app) fn type_in_wizard(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let step = self.wizard.step();
        let width = self.size.width;
        if let Some(text) = self.wizard.text_mut(step) {
            text.set_width(width.min(WIZARD_COLUMNS).saturating_sub(4));
            text.handle_key(&key);
        } else if let Some(line) = self.wizard.line_mut() {
            line.key(key);
        } else {
            match (step, key.typed()) {
                (WizardStep::Drafting, Some('x')) => {
                    if let Some(agent) = self.wizard.drafting.and_then(|drafting| drafting.agent) {
                        effects.push(Effect::Engine(Command::Stop { agent }));
                    }
                }
                (WizardStep::Tools, Some(' ')) => self.tick_chosen(),
                (WizardStep::Summary, Some(digit @ '2'..='8')) => {
                    let at = usize::from(digit as u8 - b'1');
                    self.wizard.go(WizardStep::COUNTED[at]);
                }
                (WizardStep::Model, Some(c)) if c != ' ' => {
                    // Whoever types means the row for typing.
                    self.wizard.chosen = model_rows().len() - 1;
                    self.wizard.typed.key(key);
                }
                _ => {}
            }
        }
    }

    fn tick_chosen(&mut self) {
        let wizard = &mut self.wizard;
        match wizard.tool_rows().get(wizard.chosen) {
            Some(ToolRow::Tool(_, name)) => wizard.tick(name),
            Some(ToolRow::Preset(choice)) => wizard.choose_tools(choice.clone()),
            None => {}
        }
        wizard.note = None;
    }

    /// Takes pasted text.
    pub(in crate::app) fn paste_in_wizard(&mut self, text: &str) {
        let step = self.wizard.step();
        if let Some(composer) = self.wizard.text_mut(step) {
            composer.insert(text);
        } else if let Some(line) = self.wizard.line_mut() {
            line.insert(text);
        }
    }

    /// Takes a text back from the editor; returns `false` if the wizard had not sent it.
    pub(in crate::app) fn edited_in_wizard(&mut self, text: &str) -> bool {
        let sent = self.wizard.outside.take();
        match sent.and_then(|step| self.wizard.text_mut(step)) {
            Some(composer) => set(composer, text),
            None => return false,
        }
        true
    }

    /// Hears what the drafting agent does.
    pub(in crate::app) fn wizard_hears(&mut self, event: &AgentEvent) {
        let Some(drafting) = &mut self.wizard.drafting else { return };
        match &event.kind {
            EventKind::Spawned(spawn) if spawn.call_id == DRAFT_CALL && spawn.parent.is_main() => {
                drafting.agent.get_or_insert(event.agent);
            }
            EventKind::Ended { outcome } if drafting.agent == Some(event.agent) => self.draft_ended(outcome),
            _ => {}
        }
    }

    fn draft_ended(&mut self, outcome: &Outcome) {
        let wizard = &mut self.wizard;
        wizard.drafting = None;
        self.dirty = true;
        let waited = wizard.step() == WizardStep::Drafting;
        let arrived = match AgentDraft::from_answer(&outcome.text) {
            _ if outcome.is_broken_off() || outcome.text.trim().is_empty() => {
                let reason = outcome.reason.as_deref().unwrap_or("It ended without a word.");
                let note = format!("There is no draft: {} Go on by hand.", crate::message::sanitize_line(reason));
                if waited {
                    wizard.way = Way::Forward;
                    wizard.go(WizardStep::Where);
                }
                wizard.note = Some(note);
                return;
            }
            Ok(draft) => Arrived::Draft(Box::new(draft)),
            Err(error) => Arrived::Text { text: outcome.text.clone(), error },
        };
        if waited {
            wizard.take(arrived, &self.listing);
        } else {
            wizard.arrived = Some(arrived);
        }
        if !waited || self.popup != Some(Popup::Wizard) {
            self.inform("the draft is ready: /agents new");
        }
    }

    /// Returns `true` if these changes are the file that was just written, of which the user reads already.
    pub(in crate::app) fn wizard_told(&self, changes: &CatalogChanges) -> bool {
        let [name] = changes.added.as_slice() else { return false };
        let about = FlashSubject::NewAgent(name.clone());
        let announced = self.flash.as_ref().is_some_and(|flash| flash.about == about);
        announced && *changes == CatalogChanges { added: changes.added.clone(), ..CatalogChanges::default() }
    }

    /// Hears what came of a change to the agent files, and returns the news that are not the wizard's.
    pub(in crate::app) fn wizard_files(&mut self, news: FileNews) -> Option<FileNews> {
        let writes = self.wizard.writing == Writing::Yes;
        match news {
            FileNews::Homes(homes) => {
                self.wizard.homes = homes;
                if self.wizard.step() == WizardStep::Where {
                    let note = self.wizard.note.take();
                    self.wizard.go(WizardStep::Where);
                    self.wizard.note = note;
                }
            }
            FileNews::Created(path) if writes => {
                let name = self.wizard.name.text().to_owned();
                self.wizard.clear();
                if self.popup == Some(Popup::Wizard) {
                    self.popup = None;
                }
                let text = format!("@agent-{name} can be used now: {}", path.display());
                self.inform_about(FlashSubject::NewAgent(name), text);
            }
            FileNews::Failed(text) if writes => {
                self.wizard.writing = Writing::No;
                self.wizard.note = Some(text);
            }
            news => return Some(news),
        }
        None
    }
}
