//! The terminal's answers to the questions whether it shows pictures and keeps records of program status.
//!
//! Owns telling them from what is typed: they come on the same way, and the library takes them for keys. Leaves what follows
//! from them to the caller. Invariant: what is no answer reaches the program as it was typed, in its order, after a moment at
//! most.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Asks a terminal whether it knows the graphics protocol of kitty, by a picture of one pixel that it does not keep.
pub(super) const PICTURES: &[u8] = b"\x1b_Gi=48879,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";
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
    /// What follows then if the answer is yes.
    yes: &'static str,
    listener: AnswerListener,
}

impl AwaitedAnswer {
    /// The answer about pictures, which is a command to programs (APC).
    pub(super) fn of_pictures(listener: AnswerListener) -> Self {
        Self { opens: '_', beginning: "Gi=48879;", yes: "OK", listener }
    }

    /// The answer about records of program status, which is the question itself.
    pub(super) fn of_status(listener: AnswerListener) -> Self {
        Self { opens: ']', beginning: "7501;?", yes: "", listener }
    }
}

/// Takes the answers out of the input.
pub(super) struct AnswerFilter {
    /// Those that have not come.
    awaited: Vec<AwaitedAnswer>,
    /// Which of them may be coming.
    coming: usize,
    /// What may be an answer, so far.
    held: Vec<Event>,
    text: String,
}

impl AnswerFilter {
    pub(super) fn new(awaited: Vec<AwaitedAnswer>) -> Self {
        Self { awaited, coming: 0, held: Vec::new(), text: String::new() }
    }

    /// Returns `true` if something is held back.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes in what was read, and returns what is no answer.
    pub(super) fn take(&mut self, event: Event) -> Vec<Event> {
        let key = if let Event::Key(key) = &event { Some(*key) } else { None };
        let is_alt = |sign: char| key.is_some_and(|key| is(key, sign, true));
        if self.held.is_empty() {
            let Some(coming) = self.awaited.iter().position(|answer| is_alt(answer.opens)) else { return vec![event] };
            self.coming = coming;
            self.held.push(event);
            return Vec::new();
        }
        self.held.push(event);
        let AwaitedAnswer { beginning, yes, .. } = self.awaited[self.coming];
        if is_alt('\\') && self.text.starts_with(beginning) {
            self.held.clear();
            let says = self.text.strip_prefix(beginning) == Some(yes);
            self.text.clear();
            (self.awaited.remove(self.coming).listener)(says);
            return Vec::new();
        }
        match key.map(|key| (key.code, key)) {
            Some((KeyCode::Char(sign), key)) if is(key, sign, false) && self.text.len() < MAX_CHARS => {
                self.text.push(sign);
                let is_so = beginning.starts_with(&self.text) || self.text.starts_with(beginning);
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
