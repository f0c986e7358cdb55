//! What keys and events do to the self.
//!
//! Owns the way of a key while the wizard is open, and what the drafting agent and the disk have to say. Leaves the
//! answers to `form`. Invariant: leaving the wizard, by whatever key, loses nothing and stops no agent.

use super::form::{Arrived, Drafting, Way, Wizard, Writing, set};
use super::rows::{HowRow, ModelRow, ToolChoice, ToolRow, WizardStep, model_rows};
use crate::agent::{AgentEvent, EventKind, Outcome};
use crate::app::action::Action;
use crate::app::agent_files::{FileNews, FileRequest};
use crate::app::key::Key;
use crate::app::keymap::{Context, Keymap};
use crate::app::outbox::Outbox;
use crate::app::{Effect, FlashSubject};
use crate::definition::{AgentDraft, Listing};
use crate::subagent::{Command, DRAFT_CALL};

/// The most columns of the wizard's box.
pub const WIZARD_COLUMNS: u16 = 78;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum WizardAct {
    Consumed,
    Ignored,
    /// Nothing here, where its key types.
    Type,
    Close,
}

impl Wizard {
    /// Returns `true` if it waits for the model.
    pub(in crate::app) fn waits(&self) -> bool {
        self.step() == WizardStep::Drafting && self.drafting.is_some()
    }

    /// Returns the keys that matter at this step: chord and a short word.
    pub(in crate::app) fn hints(&self, keymap: &Keymap) -> Vec<(String, &'static str)> {
        let step = self.step();
        let chord = |action: Action| keymap.chord_of(Context::Wizard, action);
        let hint = |action: Action, word: &'static str| Some((chord(action)?, word));
        let mut hints = Vec::new();
        match step {
            WizardStep::Drafting => {
                hints.extend(hint(Action::Leave, "continue by hand"));
                hints.extend(hint(Action::Stop, "stop"));
                return hints;
            }
            WizardStep::Summary => hints.extend(hint(Action::Accept, "create")),
            WizardStep::Wish => hints.extend(hint(Action::Accept, "draft")),
            _ => hints.extend(hint(Action::Accept, "next")),
        }
        if step != WizardStep::How {
            hints.extend(hint(Action::Back, "back"));
        }
        if step == WizardStep::Tools {
            hints.extend(hint(Action::Toggle, "check"));
        }
        if step.is_text() {
            hints.extend(hint(Action::Editor, "editor"));
            hints.extend(hint(Action::Leave, "leave"));
            // Not every terminal can send the first ones.
            let newline = keymap.help(Context::Wizard).into_iter().find(|(_, action)| *action == Action::Newline);
            hints.extend(newline.and_then(|(chords, _)| Some((chords.last()?.clone(), "new line"))));
        } else {
            hints.extend(hint(Action::Leave, "save, close"));
        }
        hints
    }

    /// Carries out an action while the wizard is open.
    pub(in crate::app) fn act(&mut self, action: Action, listing: &Listing, end: usize, out: &mut Outbox) -> WizardAct {
        let step = self.step();
        match action {
            Action::Accept => self.accept_step(listing, out),
            Action::Back => self.go(step.previous()),
            Action::Leave if step == WizardStep::Drafting => {
                self.go(WizardStep::Where);
                self.note = Some("The model is still drafting. Pick up its draft in step 1.".to_owned());
            }
            Action::Leave => {
                if !self.is_blank() {
                    out.inform("draft kept; /agents new continues it");
                }
                return WizardAct::Close;
            }
            Action::Editor => {
                if let Some(text) = self.text() {
                    out.push(Effect::EditText(text.expanded()));
                    self.outside = Some(step);
                }
            }
            Action::Newline => {
                if let Some(text) = self.text_mut(step) {
                    text.newline();
                }
            }
            Action::Stop if step == WizardStep::Drafting => {
                if let Some(agent) = self.drafting.and_then(|drafting| drafting.agent) {
                    out.send(Command::Stop { agent });
                }
            }
            Action::Toggle if step == WizardStep::Tools => self.tick_chosen(),
            Action::EditStep(number) if step == WizardStep::Summary => {
                self.go(WizardStep::COUNTED[usize::from(number.clamp(2, 8)) - 1]);
            }
            Action::Stop | Action::Toggle | Action::EditStep(_) => return WizardAct::Type,
            Action::MoveUp | Action::MoveDown if step.is_text() => return WizardAct::Type,
            Action::MoveUp => self.move_by(-1, end),
            Action::MoveDown => self.move_by(1, end),
            Action::PageUp => self.move_by(-8, end),
            Action::PageDown => self.move_by(8, end),
            _ => return WizardAct::Ignored,
        }
        WizardAct::Consumed
    }

    fn move_by(&mut self, by: isize, end: usize) {
        if self.step() == WizardStep::Summary {
            self.scroll = self.scroll.saturating_add_signed(by).min(end);
            return;
        }
        self.chosen = self.chosen.saturating_add_signed(by).min(self.rows().saturating_sub(1));
    }

    /// Moves what is chosen, or the summary, as the wheel turns; a list row by row, so that none is passed over.
    pub(in crate::app) fn wheel(&mut self, lines: i32, end: usize) {
        let lines = isize::try_from(lines).unwrap_or(0);
        match self.step() {
            WizardStep::Summary => self.move_by(lines, end),
            step if step.is_text() => {}
            _ => self.move_by(lines.signum(), end),
        }
    }

    /// Takes the entry that was clicked on: a tool is ticked, a name of one's own waits to be typed, all else answers.
    pub(in crate::app) fn click(&mut self, entry: usize, listing: &Listing, out: &mut Outbox) {
        // The frame may be older than the list.
        if entry >= self.rows() {
            return;
        }
        self.chosen = entry;
        match self.step() {
            WizardStep::Tools if matches!(self.tool_rows().get(entry), Some(ToolRow::Tool(..))) => self.tick_chosen(),
            WizardStep::Model if model_rows().get(entry) == Some(&ModelRow::Typed) => {}
            _ => self.accept_step(listing, out),
        }
    }

    /// Takes the answer to the step, and goes on.
    fn accept_step(&mut self, listing: &Listing, out: &mut Outbox) {
        match self.step() {
            WizardStep::How => return self.accept_how(listing, out),
            WizardStep::Wish => return self.ask_for_draft(listing, out),
            WizardStep::Drafting => return,
            WizardStep::Where => self.tier = self.homes.get(self.chosen).map(|home| home.tier),
            WizardStep::Tools => match self.tool_rows().get(self.chosen) {
                // There is nothing ticked yet that could be gone on with.
                Some(ToolRow::Preset(ToolChoice::Custom)) if self.tool_choice() != ToolChoice::Custom => {
                    self.chosen += 1;
                    self.note = Some("Check tools with space, then press enter.".to_owned());
                    return;
                }
                Some(ToolRow::Preset(choice)) => self.choose_tools(choice.clone()),
                _ => {}
            },
            WizardStep::Model => {
                self.model = match model_rows().get(self.chosen) {
                    Some(ModelRow::Alias(alias)) => Some((*alias).to_owned()),
                    Some(ModelRow::Typed) => Some(self.typed.text().trim().to_owned()).filter(|name| !name.is_empty()),
                    Some(ModelRow::Inherit) | None => None,
                };
            }
            WizardStep::Color => {
                let row = self.color_rows().get(self.chosen).copied().flatten();
                self.color = row.map(str::to_owned);
            }
            WizardStep::Summary => return self.write_agent(listing, out),
            WizardStep::Name | WizardStep::Description | WizardStep::Prompt => {}
        }
        self.advance(listing);
    }

    fn accept_how(&mut self, listing: &Listing, out: &mut Outbox) {
        out.push(Effect::AgentFiles(FileRequest::Homes));
        match self.how_rows().get(self.chosen) {
            Some(HowRow::Draft) => self.go(WizardStep::Wish),
            Some(HowRow::Watch) => self.go(WizardStep::Drafting),
            Some(HowRow::Take) => {
                if let Some(arrived) = self.arrived.take() {
                    self.take(arrived, listing);
                }
            }
            Some(HowRow::Anew) => {
                self.clear();
            }
            Some(HowRow::ByHand) | None => self.go(WizardStep::Where),
        }
    }

    fn ask_for_draft(&mut self, listing: &Listing, out: &mut Outbox) {
        if let Some(problem) = self.problem(WizardStep::Wish, listing) {
            self.note = Some(problem);
            return;
        }
        if self.drafting.is_none() {
            self.drafting = Some(Drafting { since: out.now(), agent: None });
            self.arrived = None;
            out.send(Command::Draft { wish: self.wish.expanded() });
        }
        self.go(WizardStep::Drafting);
    }

    fn write_agent(&mut self, listing: &Listing, out: &mut Outbox) {
        let open = self.first_open(listing);
        let problem = self.problem(open, listing);
        match (self.tier, problem) {
            (Some(tier), None) if self.writing == Writing::No => {
                self.writing = Writing::Yes;
                self.note = None;
                let draft = Box::new(self.draft());
                out.push(Effect::AgentFiles(FileRequest::Create { tier, draft }));
            }
            (_, Some(problem)) => {
                self.go(open);
                self.note = Some(problem);
            }
            _ => {}
        }
    }

    /// Takes a key that no action is bound to.
    pub(in crate::app) fn type_key(&mut self, key: Key, width: u16) {
        let step = self.step();
        if let Some(text) = self.text_mut(step) {
            text.set_width(width.min(WIZARD_COLUMNS).saturating_sub(4));
            text.handle_key(&key);
        } else if let Some(line) = self.line_mut() {
            line.key(key);
        } else if step == WizardStep::Model && key.typed().is_some_and(|typed| typed != ' ') {
            // Whoever types means the row for typing.
            self.chosen = model_rows().len() - 1;
            self.typed.key(key);
        }
    }

    fn tick_chosen(&mut self) {
        match self.tool_rows().get(self.chosen) {
            Some(ToolRow::Tool(_, name)) => self.tick(name),
            Some(ToolRow::Preset(choice)) => self.choose_tools(choice.clone()),
            None => {}
        }
        self.note = None;
    }

    pub(in crate::app) fn paste(&mut self, text: &str) {
        let step = self.step();
        if let Some(composer) = self.text_mut(step) {
            composer.insert(text);
        } else if let Some(line) = self.line_mut() {
            line.insert(text);
        }
    }

    /// Takes a text back from the editor; returns `false` if the wizard had not sent it.
    pub(in crate::app) fn edited_outside(&mut self, text: &str) -> bool {
        let sent = self.outside.take();
        match sent.and_then(|step| self.text_mut(step)) {
            Some(composer) => set(composer, text),
            None => return false,
        }
        true
    }

    /// Applies what the drafting agent does.
    pub(in crate::app) fn apply(&mut self, event: &AgentEvent, listing: &Listing, is_open: bool, out: &mut Outbox) {
        let Some(drafting) = &mut self.drafting else { return };
        match &event.kind {
            EventKind::Spawned(spawn) if spawn.call_id == DRAFT_CALL && spawn.parent.is_main() => {
                drafting.agent.get_or_insert(event.agent);
            }
            EventKind::Ended { outcome } if drafting.agent == Some(event.agent) => {
                self.draft_ended(outcome, listing, is_open, out);
            }
            _ => {}
        }
    }

    fn draft_ended(&mut self, outcome: &Outcome, listing: &Listing, is_open: bool, out: &mut Outbox) {
        self.drafting = None;
        out.redraw();
        let waited = self.step() == WizardStep::Drafting;
        let arrived = match AgentDraft::from_answer(&outcome.text) {
            _ if outcome.is_broken_off() || outcome.text.trim().is_empty() => {
                let reason = outcome.reason.as_deref().unwrap_or("It ended without an answer.");
                let note = format!("No draft: {} Continue by hand.", crate::message::sanitize_line(reason));
                if waited {
                    self.way = Way::Forward;
                    self.go(WizardStep::Where);
                }
                self.note = Some(note);
                return;
            }
            Ok(draft) => Arrived::Draft(Box::new(draft)),
            Err(error) => Arrived::Text { text: outcome.text.clone(), error },
        };
        if waited {
            self.take(arrived, listing);
        } else {
            self.arrived = Some(arrived);
        }
        if !waited || !is_open {
            out.inform("the draft is ready: /agents new");
        }
    }

    /// Applies what came of a change to the agent files, and returns the news that are not the wizard's. `close` is
    /// called once the file is written.
    pub(in crate::app) fn apply_news(
        &mut self,
        news: FileNews,
        close: impl FnOnce(),
        out: &mut Outbox,
    ) -> Option<FileNews> {
        let writes = self.writing == Writing::Yes;
        match news {
            FileNews::Homes(homes) => {
                self.homes = homes;
                if self.step() == WizardStep::Where {
                    let note = self.note.take();
                    self.go(WizardStep::Where);
                    self.note = note;
                }
            }
            FileNews::Created(path) if writes => {
                let name = self.name.text().to_owned();
                self.clear();
                close();
                let text = format!("@agent-{name} is ready: {}", path.display());
                out.inform_about(FlashSubject::NewAgent(name), text);
            }
            FileNews::Failed(text) if writes => {
                self.writing = Writing::No;
                self.note = Some(text);
            }
            news => return Some(news),
        }
        None
    }
}
