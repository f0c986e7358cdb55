//! The text being written: editing, large pastes, history, completion.
//!
//! Owns the text and every key that edits it. Leaves keys with another meaning (send, new line, focus) to the keymap,
//! files to the front end, and drawing to `tui::view::composer`. Invariants: no edit splits a grapheme or a chip; what
//! an edit costs depends on the text shown, not on what was pasted.

mod chips;
mod completion;
mod draft;
mod editor;
pub mod files;
mod history;
pub(super) mod intent;
mod layout;
mod mentions;
pub(super) mod messages;
mod modal;
mod own_names;
pub mod pictures;
mod search;

mod vi;

use crate::app::files::FileIndex;
use crate::app::key::{Key, KeyCode, Mods};
use crate::definition::Listed;
use crate::message::{columns, mentions, sanitize};

pub use completion::{Candidate, Completion};
pub use draft::Draft;
pub use history::History;
pub use layout::{ComposerLayout, PieceKind};
pub use mentions::{Addressee, Mark, Mentions};
use own_names::OwnNames;
pub use search::HistorySearch;
use vi::Vi;
pub use vi::ViMode;

/// Columns before the text, for the prompt that stands there unless [`Composer::set_sign`] names another.
pub const PROMPT_WIDTH: u16 = 2;
/// The most rows that a composer asks for.
pub const MAX_ROWS: u16 = 10;

#[derive(Debug, Default)]
pub struct Composer {
    draft: Draft,
    /// A text that was put aside.
    stashed: Draft,
    /// What stands before the text in place of the prompt.
    prompt_label: Option<String>,
    history: History,
    mentions: Mentions,
    completion: Option<Completion>,
    /// The token whose completion was closed by the user; it stays closed until the token changes.
    dismissed: Option<String>,
    search: Option<HistorySearch>,
    vi: Option<Vi>,
    own: OwnNames,
    /// Whether what stands here came from the history, or stood here before one looked there, and was not edited since.
    walked: bool,
    /// Columns of the last drawing, for keys that move by rows.
    columns: u16,
}

impl Composer {
    #[must_use]
    pub fn new(history: History) -> Self {
        Self { history, ..Self::default() }
    }

    /// Returns the text as shown, with chips for large pastes.
    pub fn text(&self) -> String {
        self.draft.editor.text()
    }

    pub(super) fn lines(&self) -> &[String] {
        self.draft.lines()
    }

    pub fn expanded(&self) -> String {
        self.draft.expanded()
    }

    /// Returns the label and the text of the large paste at the cursor, else of the last one.
    pub fn pasted(&self) -> Option<(&str, &str)> {
        let Draft { editor, chips } = &self.draft;
        chips.at(&editor.before_cursor(), &editor.after_cursor()).or_else(|| chips.last_in(&editor.text()))
    }

    pub fn is_empty(&self) -> bool {
        self.draft.editor.is_empty()
    }

    /// Replaces the text and puts the cursor at its end; a text too large to edit becomes a chip.
    pub fn set_text(&mut self, text: &str) {
        self.clear();
        self.paste(text);
    }

    pub fn clear(&mut self) {
        self.draft.editor.set("");
        self.draft.chips.clear();
        self.leave_text();
    }

    /// Removes the text and returns it as it would be sent. Undo brings it back, and the history remembers it.
    pub fn discard(&mut self) -> String {
        let text = self.expanded();
        self.history.push(&text);
        self.draft.editor.remove_all();
        self.leave_text();
        text
    }

    /// Exchanges the text with the one that was put aside, and returns it as it would be sent if there was any.
    pub fn stash(&mut self) -> Option<String> {
        let text = Some(self.expanded()).filter(|_| !self.is_empty());
        if let Some(text) = &text {
            self.history.push(text);
        }
        std::mem::swap(&mut self.draft, &mut self.stashed);
        self.leave_text();
        text
    }

    fn leave_text(&mut self) {
        self.history.leave();
        self.walked = false;
        if let Some(vi) = &mut self.vi {
            // A new text is begun by typing.
            vi.mode = ViMode::Insert;
        }
        self.completion = None;
        self.search = None;
    }

    /// Remembers a text that is not sent.
    pub fn remember(&mut self, text: &str) {
        self.history.push(text);
    }

    /// Returns `true` if nothing of its line stands behind the cursor.
    pub fn is_at_line_end(&self) -> bool {
        let after = self.draft.editor.after_cursor();
        after.is_empty() || after.starts_with('\n')
    }

    /// Returns `true` if the history was looked through since the text was last edited or sent.
    pub fn walks_history(&self) -> bool {
        self.walked
    }

    pub fn type_text(&mut self, text: &str) {
        if let Some(vi) = &mut self.vi {
            vi.cancel();
            vi.mode = ViMode::Insert;
        }
        self.search = None;
        self.walked = false;
        self.insert(text);
        self.note_typed();
    }

    /// Goes on in a new line where the cursor stands behind a `\` at the end of one. Returns `false` if it does not.
    pub fn continue_line(&mut self) -> bool {
        let editor = &mut self.draft.editor;
        let continues = editor.before_cursor().ends_with('\\') && editor.after_cursor().is_empty();
        if continues {
            editor.delete_grapheme_back();
            editor.newline();
        }
        continues
    }

    /// Removes the text and returns it as it is to be sent; the history remembers it.
    pub fn take(&mut self) -> String {
        let text = self.expanded();
        self.history.push(&text);
        self.clear();
        text
    }

    /// Replaces the text, with its chips and what can be undone, and returns the one before.
    pub fn swap(&mut self, draft: Draft) -> Draft {
        self.walked = false;
        self.history.leave();
        self.completion = None;
        self.search = None;
        std::mem::replace(&mut self.draft, draft)
    }

    pub fn set_sign(&mut self, prompt_label: Option<String>) {
        self.prompt_label = prompt_label;
    }

    pub fn prompt_label(&self) -> Option<&str> {
        self.prompt_label.as_deref()
    }

    /// Returns the columns before the text at a width.
    pub fn prompt_width(&self, width: u16) -> u16 {
        let taken = self.prompt_label.as_deref().map_or(0, |prompt_label| columns::width(prompt_label) + 1);
        u16::try_from(taken).unwrap_or(u16::MAX).min(width / 2).max(PROMPT_WIDTH)
    }

    pub fn insert(&mut self, text: &str) {
        self.draft.editor.insert(&sanitize(text));
    }

    pub fn newline(&mut self) {
        self.draft.editor.newline();
    }

    /// Inserts pasted text at the cursor: as a chip if it has more than 1,000 characters or 10 lines.
    pub fn paste(&mut self, text: &str) {
        self.walked = false;
        if let Some(label) = self.draft.chips.add(text) {
            return self.draft.editor.insert(&label);
        }
        self.insert(text.trim_end_matches('\r'));
        if !text.trim().contains(char::is_whitespace) {
            self.note_typed();
        }
    }

    /// Inserts what stands for a picture that is still being read. It is removed whole.
    pub(super) fn begin_attaching(&mut self, label: &str, pasted: &str) {
        self.walked = false;
        self.draft.chips.add_as(label, pasted);
        self.draft.editor.insert(label);
    }

    /// Returns what is being written here, and what was put aside.
    pub(super) fn drafts_mut(&mut self) -> [&mut Draft; 2] {
        [&mut self.draft, &mut self.stashed]
    }

    /// Takes a key that edits the text or moves in it; returns `false` if the key is none of these.
    ///
    /// A list of completions or a search of the history takes keys first. The keymap is asked before this for keys
    /// such as `enter`, except while [`Composer::is_choosing`].
    pub fn handle_key(&mut self, key: &Key) -> bool {
        if self.search.is_some() {
            return self.search_key(key);
        }
        if self.completion.is_some() && self.completion_key(key) {
            return true;
        }
        if self.in_normal_mode() && self.vi_key(key) {
            return true;
        }
        self.edit_key(key)
    }

    /// Returns `true` if a list of completions or a search of the history is open, which takes `enter`, `tab`, `esc` and
    /// the arrows.
    pub fn is_choosing(&self) -> bool {
        self.search.is_some() || self.completion.is_some()
    }

    fn edit_key(&mut self, key: &Key) -> bool {
        if key.code == KeyCode::Esc && self.leave_insert() {
            return true;
        }
        let editor = &mut self.draft.editor;
        match (key.mods, key.code) {
            (Mods::NONE, KeyCode::Char(c)) => editor.insert(c.encode_utf8(&mut [0; 4])),
            (Mods::NONE | Mods::SHIFT, KeyCode::Backspace) | (Mods::CTRL, KeyCode::Char('h')) => self.backspace(),
            (Mods::NONE, KeyCode::Delete) | (Mods::CTRL, KeyCode::Char('d')) => self.delete(),
            (Mods::NONE, KeyCode::Left) | (Mods::CTRL, KeyCode::Char('b')) => self.left(),
            (Mods::NONE, KeyCode::Right) | (Mods::CTRL, KeyCode::Char('f')) => self.right(),
            (Mods::NONE, KeyCode::Up) => return self.up(),
            (Mods::NONE, KeyCode::Down) | (Mods::CTRL, KeyCode::Char('n')) => return self.down(),
            (Mods::NONE, KeyCode::Home) | (Mods::CTRL, KeyCode::Char('a')) => editor.home(),
            (Mods::NONE, KeyCode::End) | (Mods::CTRL, KeyCode::Char('e')) => editor.end(),
            (Mods::CTRL, KeyCode::Home) => editor.top(),
            (Mods::CTRL, KeyCode::End) => editor.bottom(),
            (Mods::CTRL, KeyCode::Char('k')) => editor.kill_to_end(),
            (Mods::CTRL, KeyCode::Char('u')) => editor.kill_to_start(),
            (Mods::CTRL, KeyCode::Char('w') | KeyCode::Backspace) | (Mods::ALT, KeyCode::Backspace) => {
                editor.kill_word_back();
            }
            (Mods::ALT, KeyCode::Char('d') | KeyCode::Delete) | (Mods::CTRL, KeyCode::Delete) => editor.kill_word(),
            (Mods::CTRL, KeyCode::Char('y')) => editor.yank(),
            (Mods::ALT, KeyCode::Char('b') | KeyCode::Left) | (Mods::CTRL, KeyCode::Left) => editor.word_left(),
            (Mods::ALT, KeyCode::Char('f') | KeyCode::Right) | (Mods::CTRL, KeyCode::Right) => editor.word_right(),
            (Mods::CTRL, KeyCode::Char('_' | '/' | '7')) => editor.undo(),
            (Mods::ALT, KeyCode::Char('_' | '/')) => editor.redo(),
            _ => return false,
        }
        let moves = matches!(key.code, KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right);
        self.walked &= moves || matches!(key.code, KeyCode::Home | KeyCode::End);
        if key.typed().is_some() {
            self.note_typed();
        }
        self.draft.editor.leave_chip(&self.draft.chips);
        true
    }

    fn backspace(&mut self) {
        let before = self.draft.editor.before_cursor();
        match self.draft.chips.ending(&before) {
            Some(length) => self.draft.editor.delete_back(length),
            None => self.draft.editor.delete_grapheme_back(),
        }
    }

    fn delete(&mut self) {
        let after = self.draft.editor.after_cursor();
        match self.draft.chips.starting(&after) {
            Some(length) => self.draft.editor.delete_forward(length),
            None => self.draft.editor.delete_grapheme(),
        }
    }

    fn left(&mut self) {
        let before = self.draft.editor.before_cursor();
        match self.draft.chips.ending(&before) {
            Some(length) => self.draft.editor.move_back(length),
            None => self.draft.editor.left(),
        }
    }

    fn right(&mut self) {
        let after = self.draft.editor.after_cursor();
        match self.draft.chips.starting(&after) {
            Some(length) => self.draft.editor.move_forward(length),
            None => self.draft.editor.right(),
        }
    }

    /// Moves up a row; on the first one, to the message sent before. Returns `false` if there is none.
    fn up(&mut self) -> bool {
        if !self.at_first_row() {
            self.move_rows(-1);
            return true;
        }
        let text = self.draft.editor.text();
        match self.history.older(&self.draft.chips.expand(&text)) {
            Some(entry) => self.recall(&entry),
            None => return false,
        }
        true
    }

    /// Moves down a row; on the last one, to the message sent after it, and at last to the draft. Returns `false` if
    /// the draft is what stands there already.
    fn down(&mut self) -> bool {
        if !self.at_last_row() {
            self.move_rows(1);
            return true;
        }
        match self.history.newer() {
            Some(entry) => self.recall(&entry),
            None => return false,
        }
        true
    }

    fn recall(&mut self, text: &str) {
        self.draft.editor.set("");
        self.draft.chips.clear();
        self.paste(text);
        self.walked = true;
    }

    fn text_columns(&self) -> u16 {
        // Before the first drawing nothing is known, and no line is taken to wrap.
        if self.columns == 0 { u16::MAX } else { self.columns }
    }

    fn move_rows(&mut self, rows: isize) {
        let columns = self.text_columns();
        self.draft.editor.move_rows(rows, columns);
        self.draft.editor.leave_chip(&self.draft.chips);
    }

    pub fn at_first_row(&self) -> bool {
        self.draft.editor.row_in(self.text_columns()).0 == 0
    }

    pub fn at_last_row(&self) -> bool {
        let (row, count) = self.draft.editor.row_in(self.text_columns());
        row + 1 == count
    }

    /// Sets how many columns the composer has, prompt included, for keys that move by rows.
    pub fn set_width(&mut self, width: u16) {
        self.columns = width.saturating_sub(self.prompt_width(width)).max(1);
    }

    /// Returns the rows that the text takes at a width, prompt included: from 1 to [`MAX_ROWS`].
    pub fn height(&self, width: u16) -> u16 {
        let (_, rows) = self.draft.editor.row_in(width.saturating_sub(self.prompt_width(width)).max(1));
        u16::try_from(rows).unwrap_or(MAX_ROWS).clamp(1, MAX_ROWS)
    }

    /// Returns the rows to draw in an area of this size, prompt included.
    pub fn view(&self, width: u16, height: u16) -> ComposerLayout {
        let columns = width.saturating_sub(self.prompt_width(width)).max(1);
        layout::view(&self.draft.editor, &self.draft.chips, columns, height)
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// Replaces what was sent before, once the front end has read it.
    pub fn set_history(&mut self, history: History) {
        self.history = history;
    }

    pub fn set_agents(&mut self, listing: &[Listed]) {
        self.mentions.set(listing);
    }

    pub fn set_addressees(&mut self, running: Vec<Addressee>) {
        self.mentions.set_running(running);
    }

    pub fn mentions(&self) -> &Mentions {
        &self.mentions
    }

    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }

    pub fn take_completion(&mut self, at: usize) {
        if let Some(search) = &mut self.search {
            search.choose(at);
            self.handle_key(&Key { code: KeyCode::Tab, mods: Mods::NONE });
        } else if let Some(completion) = &mut self.completion {
            completion.choose(at);
            self.handle_key(&Key { code: KeyCode::Tab, mods: Mods::NONE });
        }
    }

    pub(super) fn set_resources(&mut self, resources: Vec<Candidate>) {
        self.mentions.set_resources(resources);
    }

    /// Brings the list of completions up to date; called after each edit. `commands` are offered for a `/` at the
    /// start, the files of the index and the agents for an `@`.
    pub fn refresh_completion(&mut self, files: &mut FileIndex, commands: &[Candidate]) {
        let before = self.draft.editor.before_cursor();
        let Some(token) = completion::token(&before, self.draft.editor.cursor().0) else {
            self.completion = None;
            self.dismissed = None;
            return;
        };
        if self.dismissed.as_deref() == Some(token) {
            return;
        }
        self.dismissed = None;
        let is_start = token.len() == before.len() && self.draft.editor.cursor().0 == 0;
        let addressed = if is_start { self.mentions.addressed(token) } else { Vec::new() };
        self.completion = Completion::of(token, files, commands, &mut self.mentions, self.completion.take());
        self.completion = Completion::led_by(&addressed, token, self.completion.take());
    }

    fn completion_key(&mut self, key: &Key) -> bool {
        let Some(completion) = &mut self.completion else { return false };
        match (key.mods, key.code) {
            (Mods::NONE, KeyCode::Up) | (Mods::CTRL, KeyCode::Char('p')) => completion.previous(),
            (Mods::NONE, KeyCode::Down) | (Mods::CTRL, KeyCode::Char('n')) => completion.next(),
            (Mods::NONE, KeyCode::Esc) => {
                self.dismissed = Some(completion.token.clone());
                self.completion = None;
            }
            (Mods::NONE, KeyCode::Tab | KeyCode::Enter) => {
                let length = completion.token.chars().count();
                let text = completion.accepted();
                self.draft.editor.delete_back(length);
                self.draft.editor.insert(&text);
                self.own.add(mentions(&text).map(|mention| mention.name));
                self.completion = None;
            }
            _ => return false,
        }
        true
    }
}
