//! What a folder brings that acts, and whether the user has looked at it.
//!
//! Owns the question in words, and which items the user trusts now. Leaves finding out what there is, and keeping the
//! answer, to `services`. Invariant: what has come or changed since the answer is asked about anew.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::message::format::sha256_hex;
use crate::message::{reveal_line, sanitize_line};

/// One thing in a folder that changes what agents do there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BroughtItem {
    pub kind: BroughtKind,
    /// What it is: a file, a rule, a folder.
    pub text: String,
    /// The SHA-256 of a file, in hexadecimal; `None` for what its text says in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl BroughtItem {
    /// Returns one that its text says in full.
    pub fn new(kind: BroughtKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), content: None }
    }

    /// Returns a file with this content: with another one it is another item.
    pub fn of_file(kind: BroughtKind, path: impl Into<String>, content: &[u8]) -> Self {
        Self { content: Some(sha256_hex(content)), ..Self::new(kind, path) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BroughtKind {
    /// A file that defines an agent.
    Agent,
    /// A skill.
    Skill,
    /// A command of its own.
    Command,
    /// A rule that lets something happen without a question.
    Rule,
    /// A folder outside that is worked in too.
    Directory,
    /// A command that runs when something happens.
    Hook,
    /// A variable for commands.
    Variable,
    /// A file outside that a memory file of the folder imports.
    Import,
    /// A memory file that a command of an agent may have written.
    Memory,
    /// A program that is started as an agent of its own.
    Program,
    /// An MCP server, which is a program that is started or an address that is told things.
    Server,
}

impl BroughtKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Command => "command",
            Self::Rule => "allows",
            Self::Directory => "opens",
            Self::Hook => "runs",
            Self::Variable => "sets",
            Self::Import => "imports",
            Self::Memory => "memory file",
            Self::Program => "starts as an agent",
            Self::Server => "starts",
        }
    }
}

impl fmt::Display for BroughtItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.word(), sanitize_line(&self.text))
    }
}

/// Which items act now. Copies share one state; what appears while the program runs is in it only with the user's word.
#[derive(Debug, Clone)]
pub struct ItemTrust(Arc<TrustState>);

#[derive(Debug)]
struct TrustState {
    /// `None` trusts everything.
    items: RwLock<Option<BTreeSet<BroughtItem>>>,
    /// Notified when something was not started because it is not what the user trusts.
    refused: Notify,
}

impl Default for ItemTrust {
    /// Returns the trust in everything, whatever may come.
    fn default() -> Self {
        Self(Arc::new(TrustState { items: RwLock::new(None), refused: Notify::new() }))
    }
}

impl ItemTrust {
    fn change(&self, change: impl FnOnce(&mut Option<BTreeSet<BroughtItem>>)) {
        change(&mut self.0.items.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Trusts these and nothing else from now on.
    pub fn set(&self, items: impl IntoIterator<Item = BroughtItem>) {
        self.change(|trusted| *trusted = Some(items.into_iter().collect()));
    }

    /// Trusts these, too.
    pub fn add(&self, items: impl IntoIterator<Item = BroughtItem>) {
        self.change(|trusted| {
            if let Some(trusted) = trusted {
                trusted.extend(items);
            }
        });
    }

    #[must_use]
    pub fn has(&self, item: &BroughtItem) -> bool {
        let trusted = self.0.items.read().unwrap_or_else(PoisonError::into_inner);
        trusted.as_ref().is_none_or(|trusted| trusted.contains(item))
    }

    /// Returns `true` if whatever may come is trusted too.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.0.items.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Reports that something was not started because it is not what the user trusts: what the folder brings has changed.
    pub fn report_refusal(&self) {
        self.0.refused.notify_one();
    }

    /// Waits for the next [`ItemTrust::report_refusal`].
    pub async fn refused(&self) {
        self.0.refused.notified().await;
    }
}

/// What a folder brings, and what the user has said about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderTrust {
    pub folder: String,
    /// All that acts once it is trusted.
    pub brings: Vec<BroughtItem>,
    /// Whether what it brings is in use, but for what is fresh.
    pub is_trusted: bool,
    /// What of it has come or changed since the user trusted the folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fresh: Vec<BroughtItem>,
}

impl FolderTrust {
    /// Says what is in use.
    pub fn state(&self) -> &'static str {
        match (self.is_trusted, self.fresh.is_empty()) {
            (true, true) => "trusted",
            (true, false) => "trusted, but for what is new or has changed",
            (false, _) => "not trusted: none of it is used",
        }
    }

    /// Returns each item as a line, with a word on what has come or changed.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.brings.iter().map(|item| format!("{item}{}", self.news(item)))
    }

    fn news(&self, item: &BroughtItem) -> &'static str {
        if self.fresh.contains(item) { " (new or changed)" } else { "" }
    }

    /// Returns `true` if this item is in use.
    #[must_use]
    pub fn uses(&self, item: &BroughtItem) -> bool {
        self.is_trusted && self.brings.contains(item) && !self.fresh.contains(item)
    }

    /// Returns what is not in use until the user trusts it.
    pub fn waiting(&self) -> &[BroughtItem] {
        if self.is_trusted { &self.fresh } else { &self.brings }
    }

    /// Returns `true` if something that waits would act by itself: an import only adds to what agents read.
    pub fn holds_back(&self) -> bool {
        self.waiting().iter().any(|item| item.kind != BroughtKind::Import)
    }

    /// Says what the folder brings, in a few words: `2 agents, 1 rule that allows`.
    pub fn summary(&self) -> String {
        Self::summary_of(&self.brings)
    }

    /// Says in as few words what these are.
    pub fn summary_of(items: &[BroughtItem]) -> String {
        let count = |kind| items.iter().filter(|item| item.kind == kind).count();
        let words = [
            (count(BroughtKind::Agent), "agent", "agents"),
            (count(BroughtKind::Skill), "skill", "skills"),
            (count(BroughtKind::Command), "command", "commands"),
            (count(BroughtKind::Rule), "rule that allows", "rules that allow"),
            (count(BroughtKind::Directory), "further folder", "further folders"),
            (count(BroughtKind::Hook), "hook", "hooks"),
            (count(BroughtKind::Variable), "variable", "variables"),
            (count(BroughtKind::Import), "import from outside", "imports from outside"),
            (
                count(BroughtKind::Memory),
                "memory file that a command may have written",
                "memory files that commands may have written",
            ),
            (count(BroughtKind::Program), "program that is an agent", "programs that are agents"),
            (count(BroughtKind::Server), "MCP server", "MCP servers"),
        ];
        let parts = words.iter().filter(|(count, ..)| *count > 0);
        let parts = parts.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Returns all of it, as Markdown.
    pub fn page(&self) -> String {
        let code = |text: &str| format!("`{}`", reveal_line(text).replace('`', "'"));
        let mut page = format!("{} brings {}.", code(&self.folder), self.summary());
        page.push_str(match (self.is_trusted, self.fresh.is_empty()) {
            (true, true) => " You trust it: all of this is in use.\n",
            (true, false) => " You trust it. What is new or has changed since is not used until you trust that, too.\n",
            (false, _) => " None of it is used until you trust it.\n",
        });
        for item in &self.brings {
            let _ = write!(page, "\n- {} {}{}", item.kind.word(), code(&item.text), self.news(item));
        }
        page
    }
}
