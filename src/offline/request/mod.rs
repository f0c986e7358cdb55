//! What a request asks for.
//!
//! Owns the order in which requests are told apart. Leaves the words to its modules, and what to do about them to `plan`.
//! Invariant: any text has an intent; what is not understood is a question.

mod delegation;
mod direct;
mod vocabulary;

use delegation::delegation;
use direct::direct;
use vocabulary::{beyond, beyond_at_end, is_overview, topic};

pub(crate) use delegation::mentions;
pub(crate) use direct::Direct;
pub(crate) use vocabulary::beside;

use crate::offline::tables::Topic;
use crate::offline::text::paths::extension_of;
use crate::offline::text::terms::Terms;
use crate::offline::text::{lists, strip};

/// One request, understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Intent {
    /// Who are you, what can you do.
    Help,
    /// The project as a whole, from so many sides at most.
    Overview {
        sides: usize,
    },
    Topic(Topic),
    /// What each file of a kind does.
    Files {
        glob: String,
    },
    /// Several subagents, one for each item.
    Many(Vec<String>),
    /// One tool call, named or described.
    Direct(Direct),
    /// Something only a language model can do.
    Decline {
        what: &'static str,
    },
    /// The end of it only a language model can do; the beginning is a request of its own.
    Partly {
        first: String,
        what: &'static str,
    },
    Question(String),
}

pub(crate) fn read(request: &str) -> Intent {
    let text = polite(request.trim());
    if is_greeting(&text.to_lowercase()) {
        return Intent::Help;
    }
    match delegation(text) {
        // So many for one matter: only a project as a whole has sides.
        Some((sides, items)) if sides > 1 && items.len() == 1 => match single(&items[0]) {
            Intent::Overview { .. } => Intent::Overview { sides },
            intent => intent,
        },
        Some((_, items)) => Intent::Many(items),
        None => single(text),
    }
}

/// Understands a request that says nothing of delegating.
fn single(text: &str) -> Intent {
    let lower = text.to_lowercase();
    let partly = || {
        let (first, what) = beyond_at_end(text).filter(|(first, _)| !first.is_empty())?;
        Some(Intent::Partly { first: first.to_owned(), what })
    };
    direct(text)
        .map(Intent::Direct)
        .or_else(|| Some(Intent::Files { glob: every_file(&lower)? }))
        .or_else(|| Some(Intent::Decline { what: beyond(&lower)? }))
        .or_else(partly)
        .or_else(|| topic(&lower).map(Intent::Topic))
        .or_else(|| is_overview(&lower).then_some(Intent::Overview { sides: usize::MAX }))
        .or_else(|| Some(Intent::Files { glob: one_file(text)? }))
        .unwrap_or_else(|| Intent::Question(text.to_owned()))
}

/// Words that ask what one file is for.
const READING: &str =
    "read open summarize summarise summary outline overview purpose content contents describe short briefly";

/// Reads "what does src/main.rs do?": nothing but one file, and words that ask what it is for.
fn one_file(text: &str) -> Option<String> {
    let terms = Terms::of(text).without(READING);
    let [path] = terms.paths.as_slice() else { return None };
    let is_other = terms.count() > 0 || path.ends_with('/') || path.starts_with('/');
    (!is_other).then(|| if path.contains('/') { path.clone() } else { format!("**/{path}") })
}

/// Words that only make a request polite.
const POLITE: &str =
    "please |can you |could you |would you |i want you to |i'd like you to |let's |now |ok, |hey, |hi, ";

fn polite(text: &str) -> &str {
    let mut rest = text;
    while let Some(after) = POLITE.split('|').find_map(|phrase| strip(rest, phrase)) {
        rest = after.trim_start();
    }
    rest
}

const GREETINGS: &str =
    "|help|/help|hello|hi|hey|what are you|what model are you|are you an ai|how do you work|how do i connect a model";

fn is_greeting(lower: &str) -> bool {
    let bare = lower.trim_end_matches(['?', '!', '.', ' ']);
    GREETINGS.split('|').any(|greeting| greeting == bare)
        || bare.starts_with("who are you")
        || bare.starts_with("what can you")
}

/// Reads "read all .py files and summarize what each one does".
fn every_file(lower: &str) -> Option<String> {
    let has = |words: &str| words.split('|').any(|word| lower.contains(word));
    if !has("each|all |every") || !has("summar|describe|read |explain|what each|what every") || !has("file") {
        return None;
    }
    let mut tokens = lower
        .split(|c: char| c.is_whitespace() || ",;:()`\"'".contains(c))
        .map(|token| token.trim_end_matches(['.', '?', '/']));
    let all: Vec<&str> = tokens.clone().collect();
    let by_sign = |token: &&str| {
        let (before, ext) = token.rsplit_once('.')?;
        let is_ext = (1..=5).contains(&ext.len()) && ext.chars().all(|c| c.is_ascii_alphanumeric());
        (is_ext && (before.is_empty() || before.contains('*'))).then(|| ext.to_owned())
    };
    let by_name = || all.iter().find_map(|token| extension_of(token)).map(str::to_owned);
    let ext = all.iter().find_map(by_sign).or_else(by_name)?;
    tokens.find(|token| lists("in under inside within", token));
    let dir = tokens.find(|token| token.len() > 1 && (token.contains('/') || lists("src lib tests docs", token)));
    let dir = dir.map(|dir| format!("{}/", dir.trim_start_matches("./"))).unwrap_or_default();
    Some(format!("{dir}**/*.{ext}"))
}
