//! What a request asks for.
//!
//! Owns the order in which requests are told apart. Leaves the words to its modules, and what to do about them to `plan`.
//! Invariant: any text has an intent; what is not understood is a question.

mod delegation;
pub(crate) mod followup;
mod tools;
mod vocabulary;

use delegation::{Delegated, delegation};
use tools::{direct, run};
use vocabulary::{beyond, beyond_at_end, is_overview, topic};

pub(crate) use delegation::mentions;
pub(crate) use tools::Direct;
pub(crate) use vocabulary::{Topic, beside};

use crate::offline::text::paths::extension_of;
use crate::offline::text::terms::Terms;
use crate::offline::text::{lists, strip};

/// One request, understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Intent {
    /// Who are you, what can you do.
    Help,
    Overview,
    Topic(Topic),
    /// What each file of a kind does.
    Files {
        glob: String,
    },
    /// Several subagents, one for each item.
    Many(Vec<String>),
    /// So many subagents for one matter.
    Counted(usize, Box<Intent>),
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
    let lower = text.to_lowercase();
    if is_greeting(&lower) {
        return Intent::Help;
    }
    match delegation(text) {
        Some(Delegated::Items(items)) => Intent::Many(items),
        Some(Delegated::Counted { count, matter }) => {
            Intent::Counted(count, Box::new(single(matter, &matter.to_lowercase())))
        }
        None => single(text, &lower),
    }
}

/// Understands a request that says nothing of delegating.
fn single(text: &str, lower: &str) -> Intent {
    if let Some(command) = run(text, lower) {
        return Intent::Direct(command);
    }
    if let Some(glob) = every_file(lower) {
        return Intent::Files { glob };
    }
    if let Some(call) = direct(text, lower) {
        return Intent::Direct(call);
    }
    if let Some(what) = beyond(lower) {
        return Intent::Decline { what };
    }
    if let Some((first, what)) = beyond_at_end(text).filter(|(first, _)| !first.is_empty()) {
        return Intent::Partly { first: first.to_owned(), what };
    }
    if let Some(topic) = topic(lower) {
        return Intent::Topic(topic);
    }
    if is_overview(lower) {
        return Intent::Overview;
    }
    let terms = Terms::of(text);
    match terms.paths.as_slice() {
        [path] if is_reading(&terms) && !path.ends_with('/') && !path.starts_with('/') => {
            Intent::Files { glob: if path.contains('/') { path.clone() } else { format!("**/{path}") } }
        }
        _ => Intent::Question(text.to_owned()),
    }
}

/// Words that ask what one file is for.
const READING: &str =
    "read open summarize summarise summary outline overview purpose content contents describe short briefly";

fn is_reading(terms: &Terms) -> bool {
    terms.exact.is_empty() && terms.words.iter().all(|word| lists(READING, &word.raw))
}

/// Words that stand in a request for a change but name nothing to look for.
const VAGUE: &str = " it bug bugs issue issues problem problems error typo code test tests readme doc docs documentation comment comments new better clean \
 nicer faster simpler everything something anything feature features module script page verify ";

/// Returns what a request for a change is about, where that can be searched for.
pub(crate) fn subject(object: &str) -> Option<String> {
    let terms = Terms::of(object);
    let telling = terms.words.iter().any(|word| !lists(VAGUE, &word.raw));
    (telling || !terms.exact.is_empty() || terms.paths.iter().any(|path| path != "README")).then(|| object.to_owned())
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
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has(&["each", "all ", "every"])
        || !has(&["summar", "describe", "read ", "what each", "explain", "what every"])
        || !lower.contains("file")
    {
        return None;
    }
    let tokens =
        || lower.split(|c: char| c.is_whitespace() || ",;:()`\"'".contains(c)).map(|t| t.trim_end_matches(['.', '?']));
    let by_ext = tokens().find_map(|token| {
        let ext = token.rsplit_once('.').map(|(_, ext)| ext)?;
        let starred = token.starts_with('.') || token.contains('*');
        (starred && !ext.is_empty() && ext.len() <= 5 && ext.chars().all(|c| c.is_ascii_alphanumeric()))
            .then(|| ext.to_owned())
    });
    let by_name = || tokens().find_map(extension_of).map(str::to_owned);
    let ext = by_ext.or_else(by_name)?;
    let mut within = tokens().skip_while(|token| !["in", "under", "inside", "within"].contains(token)).skip(1);
    let dir = within.find(|token| {
        token.trim_end_matches('/').len() > 1
            && (token.contains('/') || ["src", "lib", "tests", "docs"].contains(token))
    });
    let dir = dir.map(|dir| format!("{}/", dir.trim_matches('/').trim_start_matches("./"))).unwrap_or_default();
    Some(format!("{dir}**/*.{ext}"))
}
