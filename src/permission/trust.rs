//! What a folder brings that acts, and whether the user has looked at it.
//!
//! Owns the question in words. Leaves finding out what there is, and keeping the answer, to `services`. Invariant: what
//! has come since the answer is asked about anew.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use crate::message::{reveal_line, sanitize_line};

/// One thing in a folder that changes what agents do there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BroughtItem {
    pub kind: BroughtKind,
    /// What it is: a file, a rule, a folder.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BroughtKind {
    /// A file that defines an agent.
    Agent,
    /// A rule that lets something happen without a question.
    Rule,
    /// A folder outside that is worked in too.
    Directory,
    /// A file outside that a memory file of the folder imports.
    Import,
}

impl BroughtKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Rule => "allows",
            Self::Directory => "opens",
            Self::Import => "imports",
        }
    }
}

impl fmt::Display for BroughtItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.word(), sanitize_line(&self.text))
    }
}

/// What a folder brings, and what the user has said about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderTrust {
    pub folder: String,
    /// All that acts once it is trusted.
    pub brings: Vec<BroughtItem>,
    pub is_trusted: bool,
}

impl FolderTrust {
    /// Returns `true` if something of it acts by itself: an import only adds to what agents read.
    pub fn acts(&self) -> bool {
        self.brings.iter().any(|item| item.kind != BroughtKind::Import)
    }

    /// Says what the folder brings, in a few words: `2 agents, 1 rule that allows`.
    pub fn summary(&self) -> String {
        let count = |kind| self.brings.iter().filter(|item| item.kind == kind).count();
        let words = [
            (count(BroughtKind::Agent), "agent", "agents"),
            (count(BroughtKind::Rule), "rule that allows", "rules that allow"),
            (count(BroughtKind::Directory), "further folder", "further folders"),
            (count(BroughtKind::Import), "import from outside", "imports from outside"),
        ];
        let parts = words.iter().filter(|(count, ..)| *count > 0);
        let parts = parts.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Returns all of it, as Markdown.
    pub fn page(&self) -> String {
        let code = |text: &str| format!("`{}`", reveal_line(text).replace('`', "'"));
        let mut page = format!("{} brings {}.", code(&self.folder), self.summary());
        page.push_str(if self.is_trusted {
            " You trust it: all of this is in use.\n"
        } else {
            " None of it is used until you trust it.\n"
        });
        for item in &self.brings {
            let _ = write!(page, "\n- {} {}", item.kind.word(), code(&item.text));
        }
        page
    }
}
