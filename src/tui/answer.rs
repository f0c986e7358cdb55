//! The terminal's answers to the questions whether it shows pictures and keeps records of program status.
//!
//! Owns telling them from what is typed: they come on the same way, and the library takes them for keys. Leaves what follows
//! from them to the caller, and the one answer that the library keeps for itself to `attributes`. Invariant: what is no answer
//! reaches the program as it was typed, in its order, after a moment at most.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Characters of the longest answer.
const MAX_CHARS: usize = 200;

/// Hears what the terminal says, once.
pub(super) type AnswerListener = Box<dyn FnOnce(bool) + Send>;

/// An answer that is waited for.
pub(super) struct AwaitedAnswer {
    /// The sign behind the escape character.
    opens: char,
    /// How it begins after that.
    beginning: &'static str,
    /// What follows then if the answer is yes; `None` if that is all the same.
    yes: Option<&'static str>,
    listener: AnswerListener,
}

impl AwaitedAnswer {
    /// The answer about the pictures of kitty, which is a command to programs (APC).
    pub(super) fn of_kitty(listener: AnswerListener) -> Self {
        Self { opens: '_', beginning: "Gi=48879;", yes: Some("OK"), listener }
    }

    /// The answer of terminals that know the pictures of iTerm2: how large a cell is.
    pub(super) fn of_iterm(listener: AnswerListener) -> Self {
        Self { opens: ']', beginning: "1337;ReportCellSize=", yes: None, listener }
    }

    /// The answer about records of program status, which is the question itself.
    pub(super) fn of_status(listener: AnswerListener) -> Self {
        Self { opens: ']', beginning: "7501;?", yes: Some(""), listener }
    }
}

/// Takes the answers out of the input.
pub(super) struct AnswerFilter {
    /// Those that have not come.
    awaited: Vec<AwaitedAnswer>,
    /// What may be an answer, so far.
    held: Vec<Event>,
    /// The sign behind the escape character of what may be one.
    opened: char,
    text: String,
}

impl AnswerFilter {
    pub(super) fn new(awaited: Vec<AwaitedAnswer>) -> Self {
        Self { awaited, held: Vec::new(), opened: char::default(), text: String::new() }
    }

    /// Returns `true` if something is held back.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes in what was read, and returns what is no answer.
    pub(super) fn take(&mut self, event: Event) -> Vec<Event> {
        let key = if let Event::Key(key) = &event { Some(*key) } else { None };
        if self.held.is_empty() {
            let opens = |answer: &AwaitedAnswer| key.is_some_and(|key| is(key, answer.opens, true));
            let Some(answer) = self.awaited.iter().find(|answer| opens(answer)) else { return vec![event] };
            self.opened = answer.opens;
            self.held.push(event);
            return Vec::new();
        }
        self.held.push(event);
        if key.is_some_and(is_end)
            && let Some(at) = self.coming(|text, beginning| text.starts_with(beginning))
        {
            self.held.clear();
            let AwaitedAnswer { beginning, yes, listener, .. } = self.awaited.remove(at);
            let rest = self.text.strip_prefix(beginning).unwrap_or_default();
            listener(yes.is_none_or(|yes| rest == yes));
            self.text.clear();
            return Vec::new();
        }
        match key.map(|key| (key.code, key)) {
            Some((KeyCode::Char(sign), key)) if is(key, sign, false) && self.text.len() < MAX_CHARS => {
                self.text.push(sign);
                let is_so = |text: &str, beginning: &str| beginning.starts_with(text) || text.starts_with(beginning);
                if self.coming(is_so).is_some() { Vec::new() } else { self.release() }
            }
            _ => self.release(),
        }
    }

    /// Returns the place of the awaited answer that may be coming.
    fn coming(&self, is_so: impl Fn(&str, &str) -> bool) -> Option<usize> {
        self.awaited.iter().position(|answer| answer.opens == self.opened && is_so(&self.text, answer.beginning))
    }

    /// Returns what is held back: nothing more has come.
    pub(super) fn release(&mut self) -> Vec<Event> {
        self.text.clear();
        std::mem::take(&mut self.held)
    }
}

fn is(key: KeyEvent, sign: char, with_alt: bool) -> bool {
    key.code == KeyCode::Char(sign)
        && key.modifiers.contains(KeyModifiers::ALT) == with_alt
        && !key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Returns `true` for what ends an answer: ST, or the bell, by which some end theirs.
fn is_end(key: KeyEvent) -> bool {
    is(key, '\\', true) || (key.code == KeyCode::Char('g') && key.modifiers == KeyModifiers::CONTROL)
}
