//! The terminal's answer to the question whether it shows pictures.
//!
//! Owns telling it from what is typed: it comes on the same way, and the library takes it for keys. Leaves what follows from it
//! to the caller. Invariant: what is no answer reaches the program as it was typed, in its order, after a moment at most.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Asks a terminal whether it knows the graphics protocol of kitty, by a picture of one pixel that it does not keep.
pub(super) const QUESTION: &[u8] = b"\x1b_Gi=48879,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";
/// How its answer begins, after the mark of a command to programs (APC).
const BEGINNING: &str = "Gi=48879;";
/// What it says if it does.
const YES: &str = "OK";
/// Characters of the longest answer.
const MAX_CHARS: usize = 200;

/// Hears whether the terminal shows pictures, once.
pub(super) type AnswerListener = Box<dyn FnOnce(bool) + Send>;

/// Takes the answer out of the input.
pub(super) struct AnswerFilter {
    /// `None` once it has come, or where nothing was asked.
    listener: Option<AnswerListener>,
    /// What may be the answer, so far.
    held: Vec<Event>,
    text: String,
}

impl AnswerFilter {
    pub(super) fn new(listener: Option<AnswerListener>) -> Self {
        Self { listener, held: Vec::new(), text: String::new() }
    }

    /// Returns `true` if something is held back.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes in what was read, and returns what is no answer.
    pub(super) fn take(&mut self, event: Event) -> Vec<Event> {
        if self.listener.is_none() {
            return vec![event];
        }
        let key = if let Event::Key(key) = &event { Some(*key) } else { None };
        let is_alt = |sign: char| key.is_some_and(|key| is(key, sign, true));
        if self.held.is_empty() {
            if !is_alt('_') {
                return vec![event];
            }
            self.held.push(event);
            return Vec::new();
        }
        self.held.push(event);
        if is_alt('\\') && self.text.starts_with(BEGINNING) {
            self.held.clear();
            let says = self.text.strip_prefix(BEGINNING) == Some(YES);
            if let Some(listener) = self.listener.take() {
                listener(says);
            }
            return Vec::new();
        }
        match key.map(|key| (key.code, key)) {
            Some((KeyCode::Char(sign), key)) if is(key, sign, false) && self.text.len() < MAX_CHARS => {
                self.text.push(sign);
                let is_so = BEGINNING.starts_with(&self.text) || self.text.starts_with(BEGINNING);
                if is_so { Vec::new() } else { self.release() }
            }
            _ => self.release(),
        }
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

/// Returns `true` if a terminal with these variables is asked: one that is known to draw pictures in the cells of a text.
/// Others are not, whatever they would say; those that pass over a question that they do not know are not all.
pub(super) fn is_asked(variable: impl Fn(&str) -> Option<String>) -> bool {
    let value = |name: &str| variable(name).unwrap_or_default().to_lowercase();
    let is_set = |name: &str| !value(name).is_empty();
    let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
    // What stands between us and the terminal keeps cells of its own.
    let is_between = ["TMUX", "STY", "ZELLIJ"].into_iter().any(is_set)
        || ["screen", "tmux", "dumb"].iter().any(|prefix| term.starts_with(prefix));
    let is_known = ["xterm-kitty", "xterm-ghostty"].contains(&term.as_str())
        || ["kitty", "ghostty"].contains(&program.as_str())
        || is_set("KITTY_WINDOW_ID");
    is_known && !is_between && !is_set("NO_COLOR")
}
