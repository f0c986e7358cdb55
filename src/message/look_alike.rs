//! Characters that pose as others: letters of another script in a Latin word, spaces that are none, marks in heaps.
//!
//! Owns what of a text a reader would take for something else. Leaves the sign that is shown instead to `sanitize`.
//! Invariant: text of one script, Russian or Greek as well as English, holds no look-alikes but odd spaces and signs.

use unicode_width::UnicodeWidthChar as _;

use super::sanitize::ZWJ;

/// Most characters without a width of their own that one sign carries: a terminal gets them all for one cell.
const MAX_MARKS: u32 = 16;

/// Counts what is written upon one sign.
#[derive(Default)]
pub(super) struct Pile {
    marks: u32,
    after_joiner: bool,
}

impl Pile {
    /// Takes the next character and returns `true` if it is one mark too many.
    pub(super) fn exceeds(&mut self, c: char) -> bool {
        let is_mark = is_mark(c);
        if is_mark {
            self.marks += 1;
        } else if !self.after_joiner || c == '\n' {
            self.marks = 0;
        }
        let exceeds = is_mark && self.marks > MAX_MARKS;
        self.after_joiner = c == ZWJ && !exceeds;
        exceeds
    }
}

/// Returns `true` if a sign carries more marks than a cell can show.
pub(super) fn has_pile(text: &str) -> bool {
    let mut pile = Pile::default();
    !text.is_ascii() && text.chars().any(|c| pile.exceeds(c))
}

/// Returns `true` if a character is drawn over the one before it.
fn is_mark(c: char) -> bool {
    c >= '\u{300}' && c.width() == Some(0)
}

/// Returns the places of characters that pose as others, in ascending order.
pub(super) fn places(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let is_foreign = text.chars().any(is_distinct);
    let (mut pile, mut before) = (Pile::default(), ' ');
    let mut word = Word::default();
    for (at, c) in text.char_indices() {
        let is_heaped = pile.exceeds(c);
        if c.is_alphanumeric() || c == '_' {
            word.letter(at, c);
        } else if !is_mark(c) {
            word.end(is_foreign, &mut found);
        }
        // What makes an emoji of a character makes nothing of a letter, and would hide there.
        let hidden = matches!(c, '\u{FE0E}' | '\u{FE0F}') && before.is_ascii_alphabetic();
        if poses_alone(c) || hidden || is_heaped {
            found.push(at);
        }
        before = c;
    }
    word.end(is_foreign, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

#[derive(Default)]
struct Word {
    /// Where letters stand that look like Latin ones.
    posing: Vec<usize>,
    letters: usize,
    has_latin: bool,
}

impl Word {
    fn letter(&mut self, at: usize, c: char) {
        self.letters += usize::from(c.is_alphabetic());
        self.has_latin |= c.is_ascii_alphabetic();
        if poses_as_latin(c) {
            self.posing.push(at);
        }
    }

    /// Ends the word. Beside Latin letters, or alone in a text that is of no such script, its look-alikes count.
    fn end(&mut self, is_foreign: bool, found: &mut Vec<usize>) {
        let word = std::mem::take(self);
        if word.has_latin || (word.posing.len() == word.letters && !is_foreign) {
            found.extend(word.posing);
        }
    }
}

/// Spaces of another kind than the one that separates words, blank signs, and the doubles of `/`, `.`, `:`, `;`, `|`, `!` and `-`.
fn poses_alone(c: char) -> bool {
    matches!(c,
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{2800}' | '\u{3000}'
        | '\u{2024}' | '\u{2044}' | '\u{2215}' | '\u{29F8}' | '\u{37E}' | '\u{589}' | '\u{A789}' | '\u{2236}'
        | '\u{1C0}' | '\u{2223}' | '\u{1C3}' | '\u{2010}' | '\u{2011}' | '\u{1D400}'..='\u{1D7FF}')
}

/// Letters of other scripts that a reader takes for Latin ones.
fn poses_as_latin(c: char) -> bool {
    "аеорсухіјѕһԁԛԝѵӏАВЕЗКМНОРСТУХІЈЅԌԚԜѴӀοναριυγκΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհզՍՕɑɡſ\u{212A}\u{212B}".contains(c)
        || matches!(c, '\u{13A0}'..='\u{13FF}' | '\u{A4D0}'..='\u{A4F7}' | '\u{2C80}'..='\u{2CE3}')
}

/// Letters of those scripts that nobody takes for Latin ones.
fn is_distinct(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{58F}') && c.is_alphabetic() && !poses_as_latin(c)
}
