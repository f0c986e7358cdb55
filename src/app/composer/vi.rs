//! The keys of vi, for those who choose them (`ui.editing = "vi"`).
//!
//! Owns the modes, counts, operators and motions. Leaves the buffer to `editor`, and rows, history and completion to
//! the composer. Invariant: a motion is a pure function of the text, and an operator acts on exactly what the motion
//! passes over.

use std::ops::Range;

/// What keys mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ViMode {
    #[default]
    Insert,
    Normal,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Vi {
    pub(super) mode: ViMode,
    count: Option<usize>,
    operator: Option<Operator>,
    /// A key that waits for another.
    waiting: Option<char>,
    register: String,
    lines: Lines,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Yank,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Lines {
    #[default]
    Part,
    Whole,
}

/// What a key asks of the composer. Places are counted in characters from the start of the text, line ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    /// Not ours: another reads it.
    Pass,
    Go(usize),
    /// Move by rows, or in the history where there are no more.
    ComposerRows(isize),
    /// Replace a part of the text and stand at the place.
    Replace(Range<usize>, String, usize),
    Undo,
    Redo,
}

impl Vi {
    /// Leaves typing; the cursor steps back onto the last character, as vi does.
    pub(super) fn leave_insert(&mut self, text: &[char], at: usize) -> Deed {
        self.mode = ViMode::Normal;
        self.forget();
        Deed::Go(if at > line_start(text, at) { at - 1 } else { at })
    }

    fn forget(&mut self) {
        (self.count, self.operator, self.waiting) = (None, None, None);
    }

    pub(super) fn is_pending(&self) -> bool {
        self.count.is_some() || self.operator.is_some() || self.waiting.is_some()
    }

    pub(super) fn cancel(&mut self) {
        self.forget();
    }

    /// Takes a character typed in normal mode.
    pub(super) fn key(&mut self, c: char, text: &[char], at: usize) -> Deed {
        if let Some(first) = self.waiting.take() {
            let deed = self.second(first, c, text, at);
            self.forget();
            return deed;
        }
        match c {
            '1'..='9' | '0' if c != '0' || self.count.is_some() => {
                let digit = c.to_digit(10).unwrap_or(0) as usize;
                self.count = Some((self.count.unwrap_or(0) * 10 + digit).min(9_999));
                return Deed::Nothing;
            }
            'f' | 'F' | 't' | 'T' | 'g' | 'r' => {
                self.waiting = Some(c);
                return Deed::Nothing;
            }
            'i' | 'a' if self.operator.is_some() => {
                self.waiting = Some(c);
                return Deed::Nothing;
            }
            'd' | 'c' | 'y' if self.operator.is_none() => {
                self.operator = Some(operator(c));
                return Deed::Nothing;
            }
            _ => {}
        }
        let deed = match self.operator {
            Some(with) => self.operated(with, c, text, at),
            None => self.plain(c, text, at),
        };
        self.forget();
        deed
    }

    fn times(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// A command of one key.
    fn plain(&mut self, c: char, text: &[char], at: usize) -> Deed {
        let times = self.times();
        let (start, end) = (line_start(text, at), line_end(text, at));
        match c {
            'j' => return Deed::ComposerRows(isize::try_from(times).unwrap_or(1)),
            'k' => return Deed::ComposerRows(-isize::try_from(times).unwrap_or(1)),
            'i' | 'a' | 'I' | 'A' => {
                self.mode = ViMode::Insert;
                return Deed::Go(match c {
                    'a' => (at + 1).min(end),
                    'I' => first_word(text, at),
                    'A' => end,
                    _ => at,
                });
            }
            'o' => return self.insert_at(end..end, "\n", end + 1),
            'O' => return self.insert_at(start..start, "\n", start),
            'x' => return self.cut(at..(at + times).min(end), Lines::Part),
            'X' => return self.cut(at.saturating_sub(times).max(start)..at, Lines::Part),
            'D' => return self.cut(at..end, Lines::Part),
            's' => return self.change(at..(at + times).min(end)),
            'C' => return self.change(at..end),
            'S' => return self.change(start..end),
            '~' => return flip_case(text, at..(at + times).min(end)),
            'J' => return join(text, end),
            'p' | 'P' => return self.put(c, text, at),
            'u' => return Deed::Undo,
            '\u{12}' => return Deed::Redo,
            _ => {}
        }
        match motion(c, times, text, at) {
            Some(Motion { to, .. }) => Deed::Go(to.min(last_place(text, to))),
            None => Deed::Pass,
        }
    }

    /// An operator with the key after it.
    fn operated(&mut self, with: Operator, c: char, text: &[char], at: usize) -> Deed {
        let times = self.times();
        if operator_key(with) == c {
            return self.apply(with, whole_lines(text, at, times), Lines::Whole, text);
        }
        // vi's own exception: changing a word leaves the space behind it.
        let c = match (with, c) {
            (Operator::Change, 'w') => 'e',
            (Operator::Change, 'W') => 'E',
            _ => c,
        };
        match c {
            'j' => return self.apply(with, whole_lines(text, at, times + 1), Lines::Whole, text),
            'k' => {
                let above = (0..times).fold(at, |at, _| line_start(text, at).saturating_sub(1));
                return self.apply(with, line_start(text, above)..whole_lines(text, at, 1).end, Lines::Whole, text);
            }
            _ => {}
        }
        let Some(Motion { to, reach }) = motion(c, times, text, at) else { return Deed::Nothing };
        self.apply(with, passed(at, to, reach, text), Lines::Part, text)
    }

    /// The second key of `f x`, `g g`, `r x`, `d i w` and the like.
    fn second(&mut self, first: char, c: char, text: &[char], at: usize) -> Deed {
        let found = match first {
            'g' if c == 'g' => Some(Motion { to: 0, reach: Reach::UpTo }),
            'f' | 'F' | 't' | 'T' => find(first, c, self.times(), text, at),
            'r' if at < line_end(text, at) => {
                return Deed::Replace(at..at + 1, c.to_string(), at);
            }
            'i' | 'a' if c == 'w' => {
                let range = word_around(text, at, first);
                return self.operator.map_or(Deed::Nothing, |with| self.apply(with, range, Lines::Part, text));
            }
            _ => None,
        };
        match (found, self.operator) {
            (Some(Motion { to, .. }), None) => Deed::Go(to),
            (Some(Motion { to, reach }), Some(with)) => {
                self.apply(with, passed(at, to, reach, text), Lines::Part, text)
            }
            (None, _) => Deed::Nothing,
        }
    }

    fn apply(&mut self, with: Operator, range: Range<usize>, lines: Lines, text: &[char]) -> Deed {
        self.register = text.get(range.clone()).unwrap_or_default().iter().collect();
        self.lines = lines;
        match with {
            Operator::Yank => Deed::Go(range.start),
            Operator::Delete => {
                // The last line takes the line end before it along.
                let from = if lines == Lines::Whole && range.end == text.len() && range.start > 0 {
                    range.start - 1
                } else {
                    range.start
                };
                Deed::Replace(from..range.end, String::new(), from)
            }
            Operator::Change => {
                let end = if lines == Lines::Whole && text.get(range.end.wrapping_sub(1)) == Some(&'\n') {
                    range.end - 1
                } else {
                    range.end
                };
                self.mode = ViMode::Insert;
                Deed::Replace(range.start..end, String::new(), range.start)
            }
        }
    }

    fn cut(&mut self, range: Range<usize>, lines: Lines) -> Deed {
        if range.is_empty() {
            return Deed::Nothing;
        }
        self.lines = lines;
        let at = range.start;
        Deed::Replace(range, String::new(), at)
    }

    fn change(&mut self, range: Range<usize>) -> Deed {
        self.mode = ViMode::Insert;
        let at = range.start;
        Deed::Replace(range, String::new(), at)
    }

    fn insert_at(&mut self, range: Range<usize>, what: &str, at: usize) -> Deed {
        self.mode = ViMode::Insert;
        Deed::Replace(range, what.to_owned(), at)
    }

    fn put(&self, c: char, text: &[char], at: usize) -> Deed {
        if self.register.is_empty() {
            return Deed::Nothing;
        }
        let what = self.register.repeat(self.times());
        if self.lines == Lines::Whole {
            let what = what.trim_end_matches('\n');
            let place = if c == 'p' { line_end(text, at) } else { line_start(text, at) };
            return match c {
                'p' => Deed::Replace(place..place, format!("\n{what}"), place + 1),
                _ => Deed::Replace(place..place, format!("{what}\n"), place),
            };
        }
        let place = if c == 'p' { (at + 1).min(line_end(text, at)) } else { at };
        let end = place + what.chars().count();
        Deed::Replace(place..place, what, end.saturating_sub(1))
    }

    /// Notes what was removed, for `p`.
    pub(super) fn remember(&mut self, removed: String) {
        if !removed.is_empty() {
            self.register = removed;
        }
    }
}

struct Motion {
    to: usize,
    reach: Reach,
}

/// Whether an operator takes the character that a motion ends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    UpTo,
    Onto,
}

fn operator(c: char) -> Operator {
    match c {
        'd' => Operator::Delete,
        'c' => Operator::Change,
        _ => Operator::Yank,
    }
}

fn operator_key(operator: Operator) -> char {
    match operator {
        Operator::Delete => 'd',
        Operator::Change => 'c',
        Operator::Yank => 'y',
    }
}

fn motion(c: char, times: usize, text: &[char], at: usize) -> Option<Motion> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let repeat = |step: fn(&[char], usize, Words) -> usize, words| (0..times).fold(at, |at, _| step(text, at, words));
    let to = match c {
        'h' => at.saturating_sub(times).max(start),
        'l' | ' ' => (at + times).min(end),
        '0' => start,
        '^' => first_word(text, at),
        '$' => end,
        'w' => repeat(next_word, Words::Small),
        'W' => repeat(next_word, Words::Big),
        'b' => repeat(word_before, Words::Small),
        'B' => repeat(word_before, Words::Big),
        'e' => repeat(word_end, Words::Small),
        'E' => repeat(word_end, Words::Big),
        'G' => text.len(),
        _ => return None,
    };
    Some(Motion { to, reach: if matches!(c, 'e' | 'E') { Reach::Onto } else { Reach::UpTo } })
}

fn passed(at: usize, to: usize, reach: Reach, text: &[char]) -> Range<usize> {
    let end = at.max(to) + usize::from(reach == Reach::Onto);
    at.min(to)..end.min(text.len())
}

fn find(how: char, c: char, times: usize, text: &[char], at: usize) -> Option<Motion> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let found = if how.is_lowercase() {
        (at + 1..end).filter(|place| text[*place] == c).nth(times - 1)?
    } else {
        (start..at).rev().filter(|place| text[*place] == c).nth(times - 1)?
    };
    Some(match how {
        't' => Motion { to: found - 1, reach: Reach::Onto },
        'T' => Motion { to: found + 1, reach: Reach::UpTo },
        'f' => Motion { to: found, reach: Reach::Onto },
        _ => Motion { to: found, reach: Reach::UpTo },
    })
}

fn line_start(text: &[char], at: usize) -> usize {
    text[..at.min(text.len())].iter().rposition(|c| *c == '\n').map_or(0, |end| end + 1)
}

fn line_end(text: &[char], at: usize) -> usize {
    let at = at.min(text.len());
    text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |end| at + end)
}

/// Returns the last place of the line on which the cursor may stand: on its last character.
fn last_place(text: &[char], at: usize) -> usize {
    let (start, end) = (line_start(text, at), line_end(text, at));
    end.saturating_sub(1).max(start)
}

fn first_word(text: &[char], at: usize) -> usize {
    let (start, end) = (line_start(text, at), line_end(text, at));
    (start..end).find(|place| !text[*place].is_whitespace()).unwrap_or(start)
}

/// Returns `count` whole lines from the one at a place on, with their line ends.
fn whole_lines(text: &[char], at: usize, count: usize) -> Range<usize> {
    let start = line_start(text, at);
    let mut end = line_end(text, at);
    for _ in 1..count {
        if end < text.len() {
            end = line_end(text, end + 1);
        }
    }
    start..(end + 1).min(text.len())
}

/// What counts as a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Small,
    /// Anything between blanks.
    Big,
}

fn class(c: char, words: Words) -> u8 {
    match c {
        _ if c.is_whitespace() => 0,
        _ if words == Words::Big || c.is_alphanumeric() || c == '_' => 1,
        _ => 2,
    }
}

fn next_word(text: &[char], at: usize, words: Words) -> usize {
    let Some(first) = text.get(at).map(|c| class(*c, words)) else { return at };
    let after = (at..text.len()).find(|place| class(text[*place], words) != first).unwrap_or(text.len());
    (after..text.len()).find(|place| class(text[*place], words) != 0).unwrap_or(text.len())
}

fn word_before(text: &[char], at: usize, words: Words) -> usize {
    let Some(last) = (0..at).rev().find(|place| class(text[*place], words) != 0) else { return 0 };
    let kind = class(text[last], words);
    (0..last).rev().find(|place| class(text[*place], words) != kind).map_or(0, |before| before + 1)
}

fn word_end(text: &[char], at: usize, words: Words) -> usize {
    let Some(first) = (at + 1..text.len()).find(|place| class(text[*place], words) != 0) else { return at };
    let kind = class(text[first], words);
    (first..text.len()).find(|place| class(text[*place], words) != kind).unwrap_or(text.len()) - 1
}

/// Returns the word at a place; `a` takes the blanks behind it along.
fn word_around(text: &[char], at: usize, how: char) -> Range<usize> {
    let Some(kind) = text.get(at).map(|c| class(*c, Words::Small)) else { return at..at };
    let same = |place: &usize| class(text[*place], Words::Small) != kind;
    let start = (0..at).rev().find(same).map_or(0, |before| before + 1);
    let mut end = (at..text.len()).find(same).unwrap_or(text.len());
    if how == 'a' {
        end = (end..text.len()).find(|place| text[*place] != ' ').unwrap_or(text.len());
    }
    start..end
}

fn flip_case(text: &[char], range: Range<usize>) -> Deed {
    let flipped = text[range.clone()].iter().flat_map(|c| -> Vec<char> {
        if c.is_lowercase() { c.to_uppercase().collect() } else { c.to_lowercase().collect() }
    });
    let flipped: String = flipped.collect();
    let at = (range.start + flipped.chars().count()).min(last_place(text, range.start));
    Deed::Replace(range, flipped, at)
}

fn join(text: &[char], end: usize) -> Deed {
    if end >= text.len() {
        return Deed::Nothing;
    }
    let next = (end + 1..text.len()).find(|place| !matches!(text[*place], ' ' | '\t')).unwrap_or(text.len());
    Deed::Replace(end..next, " ".to_owned(), end)
}
