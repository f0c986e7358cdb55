//! Keys and tokens that are known by their shape, whoever made them.
//!
//! Invariants: what is masked is long and random enough to be no word of a text; the work is linear.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::secrets::MASK;

/// Tokens that announce themselves: of Anthropic, OpenAI and others, GitHub, GitLab, AWS, Slack, Google, npm, PyPI,
/// Hugging Face, Groq, xAI, Stripe; web tokens that are signed. Each is one word, without a sign that a shell acts on.
const WORDS: &str = r"
    sk-ant-[A-Za-z0-9_-]{16,} | (?<generic>sk-[A-Za-z0-9_-]{20,})
  | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,} | glpat-[A-Za-z0-9_-]{20,}
  | A(?:KIA|SIA)[A-Z0-9]{16} | xox[abeoprs]-[A-Za-z0-9-]{10,} | AIza[A-Za-z0-9_-]{35}
  | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{40,} | hf_[A-Za-z0-9]{30,} | gsk_[A-Za-z0-9]{30,} | xai-[A-Za-z0-9]{30,}
  | [rs]k_(?:live|test)_[A-Za-z0-9]{16,}
  | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}";
/// How the words above begin.
const HEADS: [&str; 20] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "ASIA",
    "xox",
    "AIza",
    "npm_",
    "pypi-",
    "hf_",
    "gsk_",
    "xai-",
    "sk_",
    "rk_",
    "eyJ",
];
/// Private keys, to their end or to that of the text.
const BLOCKS: &str = r"-----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----(?s:.*?)(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----|\z)";

/// What a private key begins and ends with, and the longest first line of one.
const DASHES: &str = "-----";
const KEY_HEAD_END: &str = "PRIVATE KEY-----";
const MAX_BLOCK_HEAD: usize = 64;

fn shapes(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("(?x){pattern}")).ok()
}

/// The shapes where no word runs into them.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| shapes(&format!(r"(?<before>^|[^A-Za-z0-9_-])(?:{WORDS}|{BLOCKS})")));
/// The same without those of more than one line.
static WORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| shapes(&format!(r"(?<before>^|[^A-Za-z0-9_-])(?<word>{WORDS})")));
/// The shapes anywhere: in an escaped text, the letter of an escape may stand before one.
static ANYWHERE: LazyLock<Option<Regex>> = LazyLock::new(|| shapes(&format!("{WORDS}|{BLOCKS}")));

/// Returns `true` if an escaped text may hold a token.
pub(super) fn may_hold_token(escaped: &str) -> bool {
    ANYWHERE.as_ref().is_some_and(|shapes| shapes.is_match(escaped))
}

pub(super) fn mask_tokens(text: Cow<'_, str>) -> Cow<'_, str> {
    replace_tokens(text, TOKEN.as_ref(), |_| MASK.to_owned())
}

/// Masks the middle of tokens, so that two can be told apart. What may hold a line end stays as it is: in a command, what
/// follows it would be run.
pub(super) fn mask_middles(text: Cow<'_, str>) -> Cow<'_, str> {
    replace_tokens(text, WORD.as_ref(), |found| {
        let word = &found["word"];
        // Tokens are ASCII.
        format!("{}{MASK}{}", &word[..4], &word[word.len() - 4..])
    })
}

fn replace_tokens<'a>(
    text: Cow<'a, str>,
    shapes: Option<&Regex>,
    masked: impl Fn(&Captures<'_>) -> String,
) -> Cow<'a, str> {
    let Some(shapes) = shapes.filter(|shapes| shapes.is_match(&text)) else { return text };
    let replaced = shapes.replace_all(&text, |found: &Captures<'_>| match found.name("generic") {
        Some(token) if !is_random(token.as_str()) => found[0].to_owned(),
        _ => format!("{}{}", &found["before"], masked(found)),
    });
    Cow::Owned(replaced.into_owned())
}

/// Returns `true` if a token is made of more than words: `sk-spinner-double-bounce` is a name.
fn is_random(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
        && token[3..].bytes().any(|byte| byte.is_ascii_alphabetic())
        && token.split('-').any(|part| part.len() >= 16)
}

/// Returns how many bytes of a text can be masked by themselves, whatever follows: no token that may go on is cut.
pub(super) fn settled(text: &str) -> usize {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let start = text.trim_end_matches(is_word).len();
    let word = &text[start..];
    let is_begun = HEADS.iter().any(|head| word.contains(head) || part_at_end(word, head) > 0);
    let near_end = text.ceil_char_boundary(text.len().saturating_sub(MAX_BLOCK_HEAD));
    let dashes = text[near_end..].find(DASHES).map(|at| near_end + at);
    let dashes = dashes.unwrap_or(text.len() - part_at_end(text, DASHES));
    let settled = dashes.min(if is_begun { start } else { text.len() });
    let Some(shapes) = TOKEN.as_ref() else { return settled };
    // A private key without its end reaches as far as the text.
    let is_open = |token: &str| token.matches(KEY_HEAD_END).count() == 1;
    let mut found = shapes.find_iter(text);
    let cut = found.find(|token| token.end() > settled || token.end() == text.len() && is_open(token.as_str()));
    cut.map_or(settled, |token| settled.min(token.start()))
}

/// Returns how many bytes at the end of a text are the beginning of another one, which they do not hold whole.
pub(super) fn part_at_end(text: &str, other: &str) -> usize {
    let mut parts = (1..other.len()).rev().filter(|len| other.is_char_boundary(*len));
    parts.find(|len| text.ends_with(&other[..*len])).unwrap_or(0)
}

/// Masks a text of which the lines come one by one, as in a change of a file.
#[derive(Debug, Default)]
pub(super) struct LineMask {
    is_in_key: bool,
}

impl LineMask {
    /// Masks a line that lies in a private key which began in an earlier one. Returns `None` for any other line.
    pub(super) fn inside(&mut self, line: &str) -> Option<&'static str> {
        let was_inside = self.is_in_key;
        if line.contains(KEY_HEAD_END) {
            self.is_in_key = line.contains("-----BEGIN");
        }
        was_inside.then_some(MASK)
    }
}
