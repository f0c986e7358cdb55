//! Answers to open questions, and grants that answers gave.
//!
//! Owns the way from a key to an answer. Leaves the queue to `approvals` and the timing to `guard`. Invariants: an answer
//! goes to the question that stood on screen, never to the one behind it; a yes goes only to what was shown in full.

use std::time::{Duration, Instant};

use ratatui::layout::Rect;

use super::question::{QuestionSeen, SeenRows, wanted_rows};
use super::{Approvals, Expanded, Hidden};
use crate::app::Effect;
use crate::app::action::Action;
use crate::app::key::{Input, Mods};
use crate::app::layout::QuestionRoom;
use crate::app::outbox::Outbox;
use crate::message::reveal;
use crate::permission::{
    AccessKind, ActiveGrant, Answer, ApprovalId, Grant, Preview, QuestionAnswer, RuleNotice, UserQuestion,
};
use crate::subagent::Command;

/// Rows of a question besides its details: its heading and its keys.
const AROUND: u16 = 2;
/// How soon questions that an answer settled count together.
const TOGETHER: Duration = Duration::from_secs(1);

/// What the user fills in before an answer goes out.
pub(in crate::app) enum AnswerForm {
    /// Why not.
    Comment(ApprovalId),
    /// What they choose.
    Questions(ApprovalId, Vec<UserQuestion>),
}

impl Approvals {
    pub(in crate::app) fn look(&mut self, action: Action) {
        match action {
            Action::NextQuestion => self.turn(1),
            Action::PreviousQuestion => self.turn(-1),
            _ => {
                self.expanded = match self.expanded {
                    Expanded::No => Expanded::Yes,
                    Expanded::Yes => Expanded::No,
                };
            }
        }
    }

    /// Scrolls the details of the question, or shows all of it first.
    pub(in crate::app) fn scroll_by(&mut self, lines: isize, end: usize) {
        if !self.expand() {
            self.scroll = self.scroll.saturating_add_signed(lines).min(end);
        }
    }

    /// Answers the question that is shown, once it is certain that the key was meant for it. A yes shows it in full
    /// first. Returns what the user shall fill in first, if anything. `vi` says that keys of vi edit what is written.
    pub(in crate::app) fn answer(&mut self, action: Action, vi: bool, out: &mut Outbox) -> Option<AnswerForm> {
        let Some(request) = self.shown() else {
            out.inform("nothing to approve");
            return None;
        };
        let (id, grant, is_whole) = (request.id.clone(), request.grant.is_some(), request.is_shown_whole());
        let (is_plan, questions) = (request.is_of_plan(), request.questions().map(<[_]>::to_vec));
        if !self.guard.lets_answer(self.since()) {
            self.refuse_haste(&id, out);
            return None;
        }
        // It may be an escape and a letter, which a terminal sends like a letter with alt.
        if vi && self.guard.key.is_some_and(|key| key.mods.contains(Mods::ALT)) {
            out.inform("in vi mode this may be esc plus a letter: press f6 first, then answer");
            return None;
        }
        if let Some(questions) = questions.filter(|_| matches!(action, Action::ApproveOnce | Action::ApproveAlways)) {
            return Some(AnswerForm::Questions(id, questions));
        }
        let plan = |accepts_edits| Answer::Plan { accepts_edits, text: self.edited() };
        let answer = match action {
            Action::ApproveOnce if is_plan => plan(false),
            Action::ApproveAlways if is_plan => plan(true),
            Action::ApproveOnce => self.edited().map_or(Answer::Once, |text| Answer::Edited { text }),
            Action::ApproveAlways | Action::ApproveEveryone | Action::ApproveProject if !grant => {
                out.warn("this can only be allowed once");
                return None;
            }
            Action::ApproveAlways => Answer::Always,
            Action::ApproveEveryone => Answer::Everyone,
            Action::ApproveProject => Answer::Project,
            Action::DenyWithComment => return Some(AnswerForm::Comment(id)),
            _ => Answer::No { comment: None },
        };
        let is_yes = answer.is_yes();
        if is_yes && !is_whole {
            out.warn("part of this cannot be shown: you can only deny it");
            return None;
        }
        match self.hidden() {
            Hidden::Rows if is_yes => {
                self.show_more();
                self.expanding = true;
            }
            Hidden::Everything if is_yes => out.warn("enlarge the terminal to allow"),
            _ => self.guard.hold(id, answer, out.now()),
        }
        None
    }

    fn edited(&self) -> Option<String> {
        self.queue.get(self.at)?.edited.clone()
    }

    /// Opens the plan or the report that the question is about in `$EDITOR`.
    pub(in crate::app) fn open_editor(&mut self, out: &mut Outbox) {
        let Some(open) = self.queue.get(self.at) else { return };
        let Some(Preview::Report { text } | Preview::Plan { text }) = &open.request.preview else {
            out.inform("only plans and reports can be edited");
            return;
        };
        let text = open.edited.clone().unwrap_or_else(|| text.clone());
        self.editing = Some(open.request.id.clone());
        out.push(Effect::EditText(text));
    }

    /// Takes it back from `$EDITOR`, to be shown anew before it is approved or sent. Returns `false` if none was there.
    pub(in crate::app) fn edited_outside(&mut self, text: &str, out: &mut Outbox) -> bool {
        let Some(id) = self.editing.take() else { return false };
        let Some(open) = self.queue.iter_mut().find(|open| open.request.id == id) else {
            out.inform("the question is no longer open");
            return true;
        };
        let shown = reveal(text).into_owned();
        let is_plan = open.request.is_of_plan();
        open.request.preview =
            Some(if is_plan { Preview::Plan { text: shown } } else { Preview::Report { text: shown } });
        (open.edited, open.seen) = (Some(text.to_owned()), SeenRows::default());
        self.edits += 1;
        out.redraw();
        true
    }

    /// Answers the questions of an agent.
    pub(in crate::app) fn choose(&mut self, id: ApprovalId, answers: Vec<QuestionAnswer>, out: &mut Outbox) {
        if !self.is_open(&id) {
            out.inform("the question is no longer open");
            return;
        }
        self.settle(&id);
        out.send(Command::Answer { id, answer: Answer::Choices { answers } });
    }

    /// Says no to a question, and why.
    pub(in crate::app) fn deny(&mut self, id: ApprovalId, comment: &str, out: &mut Outbox) {
        if !self.is_open(&id) {
            out.inform("the question is no longer open");
            return;
        }
        let comment = Some(comment.trim().to_owned()).filter(|text| !text.is_empty());
        self.settle(&id);
        out.send(Command::Answer { id, answer: Answer::No { comment } });
    }

    /// Says once for a question that a key came too early to be meant for it.
    fn refuse_haste(&mut self, id: &ApprovalId, out: &mut Outbox) {
        if self.guard.refuse(id) {
            out.inform("too quick: read it first, then answer");
        }
    }

    /// Takes note of an input, which shows an answer that still waits to be part of a burst.
    pub(in crate::app) fn pressed(&mut self, input: &Input, out: &mut Outbox) {
        if let Some(held) = self.guard.pressed(input, out.now()) {
            self.refuse_haste(&held.id, out);
        }
    }

    /// Lets an answer go whose time has come.
    pub(in crate::app) fn send_due(&mut self, out: &mut Outbox) {
        let Some(held) = self.guard.take_due(out.now()) else { return };
        if self.is_open(&held.id) {
            self.settle(&held.id);
            out.send(Command::Answer { id: held.id, answer: held.answer });
            out.redraw();
        }
    }

    /// Takes in what a frame showed of the question.
    pub(in crate::app) fn on_drawn(&mut self, shown: Option<QuestionSeen>, out: &mut Outbox) {
        let unseen = self.drawn(shown, out.now());
        if let Some(unseen) = unseen.filter(|_| std::mem::take(&mut self.expanding)) {
            out.inform(match unseen {
                0 => "shown in full: press again to allow",
                _ => "press again to see the rest",
            });
        }
    }

    /// Returns how many rows the open question would like, and how much of the screen it may take. Of the conversation
    /// it leaves `talk` rows, if that is given. `terms` is what answers allow, and why it is asked.
    pub(in crate::app) fn rows(&self, screen: Rect, terms: &str, talk: Option<u16>) -> (u16, QuestionRoom) {
        let Some(request) = self.shown() else { return (0, QuestionRoom::Half) };
        let room = match (self.expanded, talk) {
            (Expanded::Yes, _) => QuestionRoom::Whole,
            (Expanded::No, Some(rows)) => QuestionRoom::Blank(rows),
            (Expanded::No, None) => QuestionRoom::Half,
        };
        // What the composer and the status line take of that is cut by the layout.
        let most = room.rows(screen.height, screen.height).saturating_sub(AROUND).max(1);
        let columns = usize::from(screen.width.saturating_sub(4).max(1));
        let rows = wanted_rows(request, terms, columns, usize::from(most));
        (u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(AROUND), room)
    }

    /// Says that an answer has settled a question besides the one it was given to.
    pub(in crate::app) fn allowed_too(&mut self, id: &ApprovalId, out: &mut Outbox) {
        let Some(request) = self.find(id) else { return };
        let noun = match request.access.kind {
            AccessKind::Write { .. } => "edit",
            AccessKind::Execute { .. } | AccessKind::Reach { .. } => "command",
            AccessKind::Search { .. } => "search",
            AccessKind::Start { .. } => "agent",
            AccessKind::Read { .. }
            | AccessKind::Fetch { .. }
            | AccessKind::Call { .. }
            | AccessKind::Skill { .. }
            | AccessKind::Nothing => "call",
        };
        let before = self.also_allowed.filter(|(_, until)| out.now() <= *until).map_or(0, |(count, _)| count);
        let count = before + 1;
        self.also_allowed = Some((count, out.now() + TOGETHER));
        let plural = if count == 1 { "" } else { "s" };
        out.inform(format!("{count} waiting {noun}{plural} allowed too · /permissions"));
    }

    pub(in crate::app) fn grants(&self) -> &[ActiveGrant] {
        &self.grants
    }

    pub(in crate::app) fn set_grants(&mut self, grants: &[ActiveGrant]) {
        self.grants = grants.to_vec();
        self.grants.sort_by_key(|given| given.origin);
    }

    /// Returns `true` if an answer lets some agents edit files.
    pub(in crate::app) fn lets_edit(&self) -> bool {
        self.grants.iter().any(|given| given.grant == Grant::Edits && given.origin.is_answer())
    }

    /// Returns `true` if the key that is being taken may answer a question that stands since then.
    pub(in crate::app) fn lets_answer(&self, since: Instant) -> bool {
        self.guard.lets_answer(Some(since))
    }

    pub(in crate::app) fn rules(&self) -> &[RuleNotice] {
        &self.rules
    }

    pub(in crate::app) fn set_rules(&mut self, rules: &[RuleNotice]) {
        self.rules = rules.to_vec();
    }

    /// Takes back a grant, by its place in the list of grants and rules. A rule is changed where it is written.
    pub(in crate::app) fn revoke(&self, place: usize, out: &mut Outbox) {
        if let Some(given) = self.grants.get(place).cloned() {
            out.send(Command::Forget { grant: given.grant, holder: given.holder });
        } else if let Some(rule) = self.rules.get(place.saturating_sub(self.grants.len())) {
            out.inform(format!("this rule is from {}; change it there", rule.origin));
        }
    }

    pub(in crate::app) fn due(&self) -> Option<std::time::Instant> {
        self.guard.due()
    }
}
