//! The form in which the user answers an agent's questions: one after the other, by keys or by the mouse.
//!
//! Owns what is chosen and written. Leaves drawing to the views, and what becomes of the answers to `approvals`.
//! Invariants: no question is answered within [`GUARD`] of being shown, and no key takes what no frame has shown; what is
//! written stays while one looks at other questions.

use std::collections::BTreeSet;
use std::time::Instant;

use super::line_edit::LineEdit;
use super::popup::Popup;
use crate::app::action::Action;
use crate::app::approvals::answer::AnswerForm;
use crate::app::input::Handled;
use crate::app::{App, GUARD};
use crate::permission::{ApprovalId, QuestionAnswer, UserQuestion};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionForm {
    pub id: ApprovalId,
    questions: Vec<FormQuestion>,
    at: usize,
    /// Since when it stands there.
    since: Instant,
}

/// One question with what is chosen so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormQuestion {
    pub asked: UserQuestion,
    /// The row that is selected: an option, or behind them the one for the user's own words.
    pub row: usize,
    pub picked: BTreeSet<usize>,
    pub other: LineEdit,
    pub is_answered: bool,
    /// The rows that a frame has shown below the whole question, each with its whole label.
    seen: BTreeSet<usize>,
}

impl FormQuestion {
    fn new(asked: UserQuestion) -> Self {
        let (picked, seen, other) = (BTreeSet::new(), BTreeSet::new(), LineEdit::default());
        Self { asked, row: 0, picked, other, is_answered: false, seen }
    }

    /// Returns `true` if the selected row was shown.
    fn is_seen(&self) -> bool {
        self.seen.contains(&self.row)
    }

    /// Returns `true` if the user's own words are selected.
    pub fn is_on_other(&self) -> bool {
        self.row >= self.asked.options.len()
    }

    fn toggle(&mut self) {
        if self.is_on_other() {
            return;
        }
        let was_picked = self.picked.remove(&self.row);
        if !self.asked.multi_select {
            self.picked.clear();
        }
        if !was_picked {
            self.picked.insert(self.row);
        }
    }

    /// Takes what is selected as the answer. Returns `false` if there is none yet.
    fn accept(&mut self) -> bool {
        let words = !self.other.text().trim().is_empty();
        if !self.asked.multi_select {
            self.picked.clear();
        }
        match (self.is_on_other(), self.asked.multi_select) {
            (true, false) => self.is_answered = words,
            (true, true) => self.is_answered = words || !self.picked.is_empty(),
            (false, multi) => {
                if !multi || self.picked.is_empty() && !words {
                    self.picked.insert(self.row);
                }
                self.is_answered = true;
            }
        }
        self.is_answered
    }

    fn answer(&self) -> QuestionAnswer {
        let options = self.picked.iter().filter_map(|at| self.asked.options.get(*at));
        let chosen: Vec<String> = options.map(|option| option.label.clone()).collect();
        let other = Some(self.other.text().trim().to_owned()).filter(|words| !words.is_empty());
        let other = other.filter(|_| self.asked.multi_select || chosen.is_empty());
        QuestionAnswer { chosen, other }
    }
}

impl QuestionForm {
    #[must_use]
    pub fn new(id: ApprovalId, questions: Vec<UserQuestion>, since: Instant) -> Self {
        Self { id, questions: questions.into_iter().map(FormQuestion::new).collect(), at: 0, since }
    }

    /// Returns the question that is shown, its place from 1, and how many there are.
    pub fn shown(&self) -> Option<(&FormQuestion, usize, usize)> {
        Some((self.questions.get(self.at)?, self.at + 1, self.questions.len()))
    }

    fn present(&mut self) -> Option<&mut FormQuestion> {
        self.questions.get_mut(self.at)
    }

    /// Returns what is being written, while that is selected.
    pub(in crate::app) fn line(&mut self) -> Option<&mut LineEdit> {
        self.present().filter(|one| one.is_on_other()).map(|one| &mut one.other)
    }

    pub(in crate::app) fn takes_text(&self) -> bool {
        self.questions.get(self.at).is_some_and(FormQuestion::is_on_other)
    }

    /// Takes note of the rows that a frame has shown.
    pub(in crate::app) fn on_shown(&mut self, rows: impl Iterator<Item = usize>) {
        if let Some(one) = self.present() {
            one.seen.extend(rows);
        }
    }

    fn move_by(&mut self, step: isize) {
        if let Some(one) = self.present() {
            one.row = one.row.saturating_add_signed(step).min(one.asked.options.len());
        }
    }

    /// Shows a question before or after, which has to be read first, too.
    fn turn(&mut self, step: isize, now: Instant) {
        let at = self.at.saturating_add_signed(step).min(self.questions.len().saturating_sub(1));
        if at != self.at {
            (self.at, self.since) = (at, now);
        }
    }

    /// Goes on to the next question without an answer. Returns the answers once there is none.
    fn go_on(&mut self, now: Instant) -> Option<Vec<QuestionAnswer>> {
        let order = (self.at + 1..self.questions.len()).chain(0..=self.at);
        match order.into_iter().find(|at| self.questions.get(*at).is_some_and(|one| !one.is_answered)) {
            Some(next) => {
                (self.at, self.since) = (next, now);
                None
            }
            None => Some(self.questions.iter().map(FormQuestion::answer).collect()),
        }
    }
}

const UNSEEN: &str = "look at it first, or enlarge the terminal";

/// Returns what an answer is filled in with.
pub(in crate::app) fn popup(form: AnswerForm, now: Instant) -> Popup {
    match form {
        AnswerForm::Comment(id) => Popup::Comment { id, text: LineEdit::default() },
        AnswerForm::Questions(id, questions) => Popup::Questions(Box::new(QuestionForm::new(id, questions, now))),
    }
}

/// Does what an action means in the form.
pub(super) fn act(app: &mut App, action: Action) -> Handled {
    let now = app.out.now();
    let Some(Popup::Questions(form)) = app.overlay.popup_mut() else { return Handled::Ignored };
    match action {
        Action::MoveUp => form.move_by(-1),
        Action::MoveDown => form.move_by(1),
        Action::NextQuestion => form.turn(1, now),
        Action::PreviousQuestion => form.turn(-1, now),
        Action::Toggle => match form.present() {
            Some(one) if one.is_seen() => one.toggle(),
            _ => app.out.inform(UNSEEN),
        },
        Action::Accept => accept(app),
        Action::Leave => {
            app.overlay.close();
            app.out.inform("the question is still waiting for you");
        }
        _ => return Handled::Ignored,
    }
    Handled::Consumed
}

fn accept(app: &mut App) {
    let now = app.out.now();
    let Some(Popup::Questions(form)) = app.overlay.popup_mut() else { return };
    if now.saturating_duration_since(form.since) < GUARD {
        return app.out.inform("too quick: read it first, then answer");
    }
    let Some(one) = form.present() else { return };
    if !one.is_seen() {
        return app.out.inform(UNSEEN);
    }
    if !one.accept() {
        return app.out.inform("write your answer first");
    }
    if let Some(answers) = form.go_on(now) {
        let id = form.id.clone();
        app.overlay.close();
        app.approvals.choose(id, answers, &mut app.out);
        app.leave_empty_regions();
    }
}

/// Takes a click on a row: the first one selects it; the next one takes it or, where several may be chosen, each one
/// checks or unchecks it.
pub(super) fn press(app: &mut App, row: usize) {
    let Some(Popup::Questions(form)) = app.overlay.popup_mut() else { return };
    let Some(one) = form.present() else { return };
    let was_selected = std::mem::replace(&mut one.row, row) == row;
    if one.asked.multi_select {
        one.toggle();
    } else if was_selected && !one.is_on_other() {
        accept(app);
    }
}
