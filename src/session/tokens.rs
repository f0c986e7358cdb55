//! Keys and tokens that are known by their shape, whoever made them.
//!
//! Invariants: what is masked is long and random enough to be no word of a text; the work is linear.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::secrets::MASK;

/// Tokens that announce themselves: of Anthropic, OpenAI and others, GitHub, GitLab, AWS, Slack, Google, npm, PyPI,
/// Hugging Face, Groq, xAI, Stripe; web tokens that are signed; private keys.
const SHAPES: &str = r"(?x)
    sk-ant-[A-Za-z0-9_-]{16,} | (?<generic>sk-[A-Za-z0-9_-]{20,})
  | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,} | glpat-[A-Za-z0-9_-]{20,}
  | A(?:KIA|SIA)[A-Z0-9]{16} | xox[abeoprs]-[A-Za-z0-9-]{10,} | AIza[A-Za-z0-9_-]{35}
  | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{40,} | hf_[A-Za-z0-9]{30,} | gsk_[A-Za-z0-9]{30,} | xai-[A-Za-z0-9]{30,}
  | [rs]k_(?:live|test)_[A-Za-z0-9]{16,}
  | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}
  | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----(?s:.*?)(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----|\z)";

/// The shapes where no word runs into them.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?<before>^|[^A-Za-z0-9_-])(?:{SHAPES})")).ok());
/// The shapes anywhere: in an escaped text, the letter of an escape may stand before one.
static ANYWHERE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SHAPES).ok());

/// Returns `true` if an escaped text may hold a token.
pub(super) fn may_hold_token(escaped: &str) -> bool {
    ANYWHERE.as_ref().is_some_and(|shapes| shapes.is_match(escaped))
}

pub(super) fn mask_tokens(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some(shapes) = TOKEN.as_ref().filter(|shapes| shapes.is_match(&text)) else { return text };
    let masked = |found: &Captures<'_>| match found.name("generic") {
        Some(token) if !is_random(token.as_str()) => found[0].to_owned(),
        _ => format!("{}{MASK}", &found["before"]),
    };
    Cow::Owned(shapes.replace_all(&text, masked).into_owned())
}

/// Returns `true` if a token is made of more than words: `sk-spinner-double-bounce` is a name.
fn is_random(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
        && token[3..].bytes().any(|byte| byte.is_ascii_alphabetic())
        && token.split('-').any(|part| part.len() >= 16)
}
