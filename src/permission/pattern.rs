//! What a rule about commands says of a line: `git push`, `git push:*`, `npm * build`.
//!
//! Owns the spellings in which the same command may stand. Leaves what a line runs to `line`. Invariant: a part of which it is not
//! known what stands there never speaks against a match.

use super::commands::base_name;
use super::grants::shell_words;
use super::line::{Behind, ShellCommand, ShellLine};
use super::syntax::{ANY, NAMES, Word};

const GIVEN: &str = "it gives that command to a program that may run it";
const UNKNOWN: &str = "some of its words are known only at run time";
/// Starts of a form that are tried behind options.
const MAX_STARTS: usize = 100;
/// Signs of a command, with unknown parts, that are compared with a form.
const MAX_COMPARED: usize = 4_000;

/// The commands that a rule is about.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    /// Words that stand for themselves, the program first. None if the program may be any.
    head: Vec<String>,
    tail: Tail,
}

#[derive(Debug, Clone)]
enum Tail {
    Nothing,
    Anything,
    /// `*` stands for anything.
    Form(String),
}

/// What a rule says of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// It may be about it, for this reason.
    Maybe(&'static str),
    Yes,
}

impl CommandPattern {
    pub(super) fn exact(text: &str) -> Self {
        Self { head: head_of(text), tail: Tail::Nothing }
    }

    pub(super) fn prefix(text: &str) -> Self {
        Self { head: head_of(text), tail: Tail::Anything }
    }

    pub(super) fn form(text: &str) -> Self {
        let words: Vec<&str> = blank_words(text).collect();
        let fixed = words.iter().take_while(|word| !word.contains('*')).count();
        Self { head: head_of(&words[..fixed].join(" ")), tail: Tail::Form(words[fixed..].join(" ")) }
    }

    /// Says whether a line runs such a command.
    pub(super) fn of_line(&self, line: &ShellLine) -> Match {
        let hit = line.commands.iter().map(|command| self.of_command(command)).max().unwrap_or(Match::No);
        if hit != Match::No {
            return hit;
        }
        if line.values.iter().any(|text| self.is_named_in(text, false)) {
            return Match::Maybe("it names that command in a text that a program may run");
        }
        if line.inputs.iter().any(|text| self.is_named_in(text, true)) {
            return Match::Maybe("it holds that command as a line of text");
        }
        Match::No
    }

    fn of_command(&self, command: &ShellCommand) -> Match {
        let own = self.of_words(&command.words);
        let Some(name) = self.head.first().filter(|_| own != Match::Yes && command.behind != Behind::Nothing) else {
            return own;
        };
        let most = if command.behind == Behind::Surely { Match::Yes } else { Match::Maybe(GIVEN) };
        let mut behind = Match::No;
        for (tried, at) in command.named.get(name).into_iter().flatten().enumerate() {
            let hit = if tried > MAX_STARTS { Match::Maybe(UNKNOWN) } else { self.of_words(&command.words[*at..]) };
            behind = behind.max(if hit == Match::No { hit } else { hit.min(most) });
            if behind == most || tried > MAX_STARTS {
                break;
            }
        }
        own.max(behind)
    }

    fn of_words(&self, words: &[Word]) -> Match {
        let Some((name, rest)) = words.split_first() else { return Match::No };
        let Some((wanted, others)) = self.head.split_first() else { return self.of_whole(words) };
        if !is_program(name, wanted) {
            return Match::No;
        }
        let (mut places, mut any) = (vec![(0, true)], false);
        for wanted in others {
            let (reached, may_be_any) = advance(rest, &places, wanted);
            any |= may_be_any;
            places = reached;
        }
        let found = places.into_iter().map(|(at, is_sure)| match self.of_tail(&rest[at..]) {
            Match::Yes if !is_sure => Match::Maybe(UNKNOWN),
            hit => hit,
        });
        let best = found.max().unwrap_or(Match::No);
        if any { best.max(Match::Maybe(UNKNOWN)) } else { best }
    }

    /// Compares what is left behind the words of the head.
    fn of_tail(&self, words: &[Word]) -> Match {
        match &self.tail {
            Tail::Anything => Match::Yes,
            Tail::Nothing if words.is_empty() => Match::Yes,
            Tail::Nothing if words.iter().all(may_vanish) => Match::Maybe(UNKNOWN),
            Tail::Nothing => Match::No,
            Tail::Form(form) => {
                let mut best = Match::No;
                for (at, word) in words.iter().enumerate().take(MAX_STARTS) {
                    best = best.max(compare_words(form, &words[at..]));
                    let is_value = at > 0 && words[at - 1].text.starts_with('-');
                    if best == Match::Yes || !(word.text.starts_with('-') || is_value) {
                        return best;
                    }
                }
                match words.len() {
                    0 => compare(form, ""),
                    1..=MAX_STARTS => best,
                    _ => best.max(Match::Maybe(UNKNOWN)),
                }
            }
        }
    }

    fn of_whole(&self, words: &[Word]) -> Match {
        let Tail::Form(form) = &self.tail else { return Match::No };
        let whole = shapes(words);
        let name = base_name(&words[0].shape);
        let behind = whole.strip_prefix(words[0].shape.as_str()).unwrap_or_default();
        [compare(form, &whole), compare(form, name), compare(form, &format!("{name}{behind}"))]
            .into_iter()
            .max()
            .unwrap_or(Match::No)
    }

    /// Returns `true` if a text holds the words of such a command; where `begins`, only at the start of a line or of a command.
    fn is_named_in(&self, text: &str, begins: bool) -> bool {
        let text: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        let Some((name, others)) = self.head.split_first() else {
            let Tail::Form(form) = &self.tail else { return false };
            return !begins && compare(&format!("*{form}*"), &text) == Match::Yes
                || begins && text.lines().any(|line| compare(form, line.trim()) == Match::Yes);
        };
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let lower = text.to_ascii_lowercase();
        lower.match_indices(name.as_str()).any(|(at, _)| {
            let (before, after) = (&lower[..at], &lower[at + name.len()..]);
            let is_word = !before.ends_with(joins) && !after.starts_with(|c: char| joins(c) || c == '/');
            let start = before.rsplit_once('\n').map_or(before, |(_, line)| line);
            let is_begun =
                start.trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| ";&|(`{!".contains(c));
            let line = after.lines().next().unwrap_or_default();
            let has_others = others.iter().all(|word| blank_words(line).any(|found| found.eq_ignore_ascii_case(word)));
            is_word && (is_begun || !begins) && has_others
        })
    }
}

fn is_program(word: &Word, name: &str) -> bool {
    base_name(&word.shape).eq_ignore_ascii_case(name)
}

fn blank_words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t']).filter(|word| !word.is_empty())
}

fn head_of(text: &str) -> Vec<String> {
    let mut head = shell_words(text);
    if let Some(name) = head.first_mut() {
        *name = base_name(name).to_ascii_lowercase();
        if let Some(sub) = name.strip_prefix("git-").map(str::to_owned) {
            "git".clone_into(name);
            head.insert(1, sub);
        }
    }
    head
}

/// Returns `true` for a word in whose place nothing may stand.
fn may_vanish(word: &Word) -> bool {
    !word.is_literal() && word.shape.chars().all(|c| c == ANY)
}

fn compare_words(form: &str, words: &[Word]) -> Match {
    let is_known = words.iter().all(Word::is_literal);
    let length: usize = words.iter().map(|word| word.shape.len()).sum();
    if !is_known && length > MAX_COMPARED { Match::Maybe(UNKNOWN) } else { compare(form, &shapes(words)) }
}

fn shapes(words: &[Word]) -> String {
    words.iter().map(|word| word.shape.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns the places behind a wanted word, and whether it is sure to stand there; and whether any words may stand on the way.
/// Options may come before it, each with a value.
fn advance(words: &[Word], places: &[(usize, bool)], wanted: &str) -> (Vec<(usize, bool)>, bool) {
    let (mut reached, mut any) = (Vec::new(), false);
    for (start, is_sure) in places {
        let mut follows_option = false;
        for (at, word) in words.iter().enumerate().skip(*start) {
            if may_vanish(word) {
                any = true;
                break;
            }
            if word.is_literal() && word.text == wanted {
                reached.push((at + 1, *is_sure));
            } else if !word.is_literal() && compare(wanted, &word.shape) != Match::No {
                reached.push((at + 1, false));
            }
            let is_option = word.text.starts_with('-');
            if !is_option && !follows_option {
                break;
            }
            follows_option = is_option;
        }
    }
    reached.sort_unstable();
    reached.dedup();
    any |= reached.len() > MAX_STARTS;
    reached.truncate(MAX_STARTS);
    (reached, any)
}

/// Compares a form, in which `*` stands for anything, with a text that may hold unknown parts.
pub(super) fn compare(form: &str, text: &str) -> Match {
    if !text.contains([ANY, NAMES]) {
        return if matches_form(form, text) { Match::Yes } else { Match::No };
    }
    if text.len() > MAX_COMPARED {
        return Match::Maybe(UNKNOWN);
    }
    let form: Vec<char> = form.chars().collect();
    // Which beginnings of the form may be what stands up to a place in the text.
    let mut row = vec![false; form.len() + 1];
    row[0] = true;
    spread(&form, &mut row);
    for c in text.chars() {
        let mut next = vec![false; form.len() + 1];
        let mut reaches = false;
        for at in 0..=form.len() {
            match c {
                ANY | NAMES => {
                    // No name of a file begins with a slash.
                    let is_root = form.get(at.wrapping_sub(1)) == Some(&'/')
                        && at.checked_sub(2).is_none_or(|before| form[before] == ' ');
                    reaches = (reaches && !(c == NAMES && is_root)) || row[at];
                    next[at] |= reaches;
                }
                c if row[at] => match form.get(at) {
                    Some('*') => next[at] = true,
                    Some(wanted) if *wanted == c => next[at + 1] = true,
                    _ => {}
                },
                _ => {}
            }
        }
        spread(&form, &mut next);
        row = next;
    }
    if row[form.len()] { Match::Maybe(UNKNOWN) } else { Match::No }
}

/// Lets `*` stand for nothing.
fn spread(form: &[char], row: &mut [bool]) {
    for at in 0..form.len() {
        row[at + 1] |= row[at] && form[at] == '*';
    }
}

/// Matches a text against a form in which `*` stands for anything.
pub(super) fn matches_form(form: &str, text: &str) -> bool {
    let Some((start, others)) = form.split_once('*') else { return form == text };
    let (middle, end) = others.rsplit_once('*').unwrap_or(("", others));
    let Some(mut rest) = text.strip_prefix(start) else { return false };
    for part in middle.split('*') {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(end)
}
