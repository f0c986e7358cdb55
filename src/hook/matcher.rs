//! Which uses of a tool, and which other things, a hook is for.
//!
//! Pure. Owns what a matcher means. Invariant: one that is not understood is for everything, because a hook may be a guard.

use regex::Regex;

/// Names that one tool has had.
const RENAMED: [(&str, &str); 3] = [("Agent", "Task"), ("TaskOutput", "BashOutput"), ("TaskStop", "KillShell")];

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) enum HookMatcher {
    All,
    /// One of these, as written.
    Names(Vec<String>),
    /// Whatever the pattern finds something in.
    Pattern(Regex),
}

impl HookMatcher {
    /// Reads a matcher: nothing and `*` are for all, names stand between `|` or commas, all else is a pattern. `Err` says
    /// why it is none.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ',' | ' ');
        match text {
            "" | "*" => Ok(Self::All),
            text if text.chars().all(is_plain) => {
                let names = text.split(['|', ',']).map(|name| name.trim().to_owned());
                Ok(Self::Names(names.filter(|name| !name.is_empty()).collect()))
            }
            text => {
                let pattern = regex::RegexBuilder::new(text).size_limit(PATTERN_BYTES).build();
                pattern.map(Self::Pattern).map_err(|_| "is not a pattern that can be read".to_owned())
            }
        }
    }

    pub(super) fn covers(&self, subject: &str) -> bool {
        let other = RENAMED.iter().find_map(|(today, before)| match subject {
            name if name == *today => Some(*before),
            name if name == *before => Some(*today),
            _ => None,
        });
        let is_meant = |name: &str| match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|known| known == name),
            Self::Pattern(pattern) => pattern.is_match(name),
        };
        is_meant(subject) || other.is_some_and(is_meant)
    }
}
