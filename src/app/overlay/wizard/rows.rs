//! What can be chosen at a step: the rows of its list.
//!
//! Owns the steps and their rows. Leaves what is chosen to the form. Invariant: every tool of the program is in a group,
//! and every colour is one that a theme draws; tests hold both.

use std::sync::LazyLock;

use crate::definition::ToolsField;
use crate::permission::ToolKind;
use crate::provider::model;
use crate::subagent::{AGENT_TOOL, SKILL_TOOL};
use crate::tool::known_tools;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WizardStep {
    /// By hand, or with the model.
    How,
    /// What the agent should do, for the model.
    Wish,
    Drafting,
    Where,
    Name,
    Description,
    Tools,
    /// Who answers it.
    Model,
    Color,
    Prompt,
    Summary,
}

impl WizardStep {
    /// The steps that are counted: first those that need an answer, then those that have one unless it is changed.
    pub const COUNTED: [Self; 9] = [
        Self::How,
        Self::Where,
        Self::Name,
        Self::Description,
        Self::Prompt,
        Self::Tools,
        Self::Model,
        Self::Color,
        Self::Summary,
    ];

    /// Returns its number, from 1. What belongs to drafting is part of the first step.
    #[must_use]
    pub fn number(self) -> usize {
        Self::COUNTED.iter().position(|step| *step == self).map_or(1, |at| at + 1)
    }

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::How | Self::Wish | Self::Drafting => "how",
            Self::Where => "where",
            Self::Name => "name",
            Self::Description => "description",
            Self::Tools => "tools",
            Self::Model => "model",
            Self::Color => "color",
            Self::Prompt => "prompt",
            Self::Summary => "summary",
        }
    }

    #[must_use]
    pub fn question(self) -> &'static str {
        match self {
            Self::How => "How do you want to create it?",
            Self::Wish => "What should the agent do? The model drafts its name, description, tools and prompt.",
            Self::Drafting => "The model drafts the agent; you can watch it in its pane.",
            Self::Where => "Where to save it? If names clash, project beats user and .kode beats .claude.",
            Self::Name => "What is its name?",
            Self::Description => "When should it be used? The model reads this to decide.",
            Self::Tools => "Which tools may it use?",
            Self::Model => "Which model does it use?",
            Self::Color => "What color should it be?",
            Self::Prompt => "What are its instructions (its system prompt)?",
            Self::Summary => "This is the file. Press 2 to 8 to change a step.",
        }
    }

    /// Returns `true` if text of several lines is written here.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Wish | Self::Description | Self::Prompt)
    }

    pub(super) fn next(self) -> Self {
        Self::COUNTED.get(self.number()).copied().unwrap_or(Self::Summary)
    }

    pub(super) fn previous(self) -> Self {
        match self {
            Self::Wish | Self::Drafting => Self::How,
            step => step.number().checked_sub(2).and_then(|at| Self::COUNTED.get(at)).copied().unwrap_or(Self::How),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowRow {
    ByHand,
    Draft,
    /// Look at the draft being written.
    Watch,
    Take,
    Anew,
}

impl HowRow {
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::ByHand => "write it yourself",
            Self::Draft => "draft it with the model",
            Self::Watch => "watch the model draft it",
            Self::Take => "use the model's draft",
            Self::Anew => "start over",
        }
    }

    #[must_use]
    pub fn detail(self) -> &'static str {
        match self {
            Self::ByHand => "step by step",
            Self::Draft => "describe it, then change what you like",
            Self::Watch => "still drafting",
            Self::Take => "replaces what you filled in",
            Self::Anew => "discards what you filled in",
        }
    }
}

/// The tools by group, the ones used most first. What a tool does says where it belongs.
pub static TOOL_GROUPS: LazyLock<[(&str, Vec<String>); 6]> = LazyLock::new(|| {
    const FIRST: [&str; 4] = ["Read", "Grep", "Glob", "Edit"];
    let tools = known_tools();
    let of = |kinds: &[ToolKind]| {
        let mut names: Vec<String> =
            tools.names().filter(|name| kinds.contains(&tools.kind_of(name))).map(str::to_owned).collect();
        names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
        names
    };
    [
        ("read", of(&[ToolKind::Read, ToolKind::Search])),
        ("change", of(&[ToolKind::Write])),
        ("run", of(&[ToolKind::Execute, ToolKind::Other])),
        ("fetch", of(&[ToolKind::Fetch])),
        ("delegate", vec![AGENT_TOOL.to_owned()]),
        ("skills", vec![SKILL_TOOL.to_owned()]),
    ]
});

/// Returns the tools of the preset that only reads.
pub(super) fn read_only() -> &'static [String] {
    &TOOL_GROUPS[0].1
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// All, also those that come later.
    All,
    ReadOnly,
    Custom,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRow {
    Preset(ToolChoice),
    /// A tool: its group, if it is the first of it, and its name.
    Tool(&'static str, String),
}

/// Reads a list of tools as a choice and what is ticked for it.
pub(super) fn choice_of(tools: &ToolsField) -> (ToolChoice, Vec<String>) {
    match tools {
        ToolsField::All => (ToolChoice::All, Vec::new()),
        ToolsField::List(names) => {
            let reads = names.len() == read_only().len() && read_only().iter().all(|tool| names.contains(tool));
            (if reads { ToolChoice::ReadOnly } else { ToolChoice::Custom }, names.clone())
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRow {
    Inherit,
    Alias(&'static str),
    Typed,
}

pub fn model_rows() -> Vec<ModelRow> {
    let mut rows = vec![ModelRow::Inherit];
    for alias in model::aliases().map(ModelRow::Alias) {
        // Some names stand for a model of each provider.
        if !rows.contains(&alias) {
            rows.push(alias);
        }
    }
    rows.push(ModelRow::Typed);
    rows
}

/// The colours to choose from; before them stands the automatic one.
pub const COLORS: [&str; 12] =
    ["red", "orange", "gold", "yellow", "lime", "green", "teal", "cyan", "blue", "purple", "pink", "gray"];
