//! What an agent asks the user, and what is answered: a choice between options, not a permission.
//!
//! Pure. Leaves asking to the front ends. Invariant: an answer names options as they were shown, or holds the user's own
//! words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One question with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserQuestion {
    /// The whole question, such as "Which database shall it use?".
    pub question: String,
    /// A word or two that stand for it, at most 16 characters.
    #[serde(default)]
    pub header: String,
    /// 2 to 4 options. The user can always write an answer of their own instead.
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    #[serde(default, rename = "multiSelect", alias = "multi_select")]
    pub multi_select: bool,
}

/// One answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionOption {
    /// 1 to 5 words.
    pub label: String,
    /// What it means, or what follows from it.
    #[serde(default)]
    pub description: String,
    /// Shown while it is selected: a sketch, a piece of code, a configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// What the user answers to one question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// The labels of the options that are chosen.
    pub chosen: Vec<String>,
    /// The user's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl QuestionAnswer {
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty() && self.other.is_none()
    }

    /// Returns the answer in a line or more.
    #[must_use]
    pub fn words(&self) -> String {
        let parts: Vec<&str> = self.chosen.iter().chain(&self.other).map(String::as_str).collect();
        parts.join(", ")
    }
}

impl UserQuestion {
    /// Reads an answer that is typed in a line: numbers of options, or words of one's own. `None` if it is empty, or a number
    /// that no option has.
    #[must_use]
    pub fn read_answer(&self, typed: &str) -> Option<QuestionAnswer> {
        let typed = typed.trim();
        let words: Vec<&str> = typed.split([',', ' ']).filter(|word| !word.is_empty()).collect();
        let is_numbers = !words.is_empty() && words.iter().all(|word| word.chars().all(|c| c.is_ascii_digit()));
        if !is_numbers {
            let other = Some(typed.to_owned()).filter(|typed| !typed.is_empty())?;
            return Some(QuestionAnswer { chosen: Vec::new(), other: Some(other) });
        }
        if words.len() > 1 && !self.multi_select {
            return None;
        }
        let option = |word: &&str| self.options.get(word.parse::<usize>().ok()?.checked_sub(1)?);
        let chosen: Option<Vec<String>> = words.iter().map(|word| Some(option(word)?.label.clone())).collect();
        Some(QuestionAnswer { chosen: chosen?, other: None })
    }
}
