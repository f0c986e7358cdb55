//! The form of a new agent: what is filled in, what is wrong with it, and the way from step to step.
//!
//! Owns the answers and their checks. Leaves keys and the world to `acts`. Invariant: no step, back or forth, loses what
//! was filled in at another.

use std::path::PathBuf;
use std::time::Instant;

use super::rows::{
    COLORS, HowRow, ModelRow, TOOL_GROUPS, ToolChoice, ToolRow, WizardStep, choice_of, model_rows, read_only,
};
use crate::app::LineEdit;
use crate::app::composer::Composer;
use crate::definition::{AgentDraft, AgentHome, DefinitionState, Listing, Tier, ToolsField, same_name};
use crate::message::{AgentId, sanitize, sanitize_line};

#[derive(Debug, Default)]
pub struct Wizard {
    pub(super) step: Option<WizardStep>,
    pub(super) way: Way,
    /// Place in the list of the step.
    pub(super) chosen: usize,
    /// Lines of the summary above the first visible one.
    pub(super) scroll: usize,
    pub(super) wish: Composer,
    pub(super) homes: Vec<AgentHome>,
    pub(super) tier: Option<Tier>,
    pub(super) name: LineEdit,
    pub(super) description: Composer,
    tools: Option<ToolChoice>,
    /// Tools in the order of being ticked.
    ticked: Vec<String>,
    /// Entries of a draft that are no tool's plain name, such as `Bash(git log:*)`.
    extras: Vec<String>,
    pub(super) model: Option<String>,
    /// The name of a model being typed.
    pub(super) typed: LineEdit,
    pub(super) color: Option<String>,
    drafted_color: Option<String>,
    pub(super) prompt: Composer,
    pub(super) drafting: Option<Drafting>,
    pub(super) arrived: Option<Arrived>,
    /// What the user has to know at this step.
    pub(super) note: Option<String>,
    pub(super) writing: Writing,
    pub(super) outside: Option<WizardStep>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Way {
    #[default]
    Forward,
    /// Back to the summary, because every step was seen or drafted.
    ToSummary,
}

/// Whether the file is on its way to the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Writing {
    #[default]
    No,
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drafting {
    pub since: Instant,
    pub agent: Option<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arrived {
    Draft(Box<AgentDraft>),
    /// A text that is no agent file, and why not.
    Text {
        text: String,
        error: String,
    },
}

impl Wizard {
    pub fn step(&self) -> WizardStep {
        self.step.unwrap_or(WizardStep::How)
    }

    pub fn chosen(&self) -> usize {
        self.chosen
    }

    pub fn scroll(&self) -> usize {
        self.scroll
    }

    pub fn homes(&self) -> &[AgentHome] {
        &self.homes
    }

    pub fn name(&self) -> &LineEdit {
        &self.name
    }

    pub fn typed_model(&self) -> &LineEdit {
        &self.typed
    }

    pub fn drafting(&self) -> Option<&Drafting> {
        self.drafting.as_ref()
    }

    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    pub fn text(&self) -> Option<&Composer> {
        match self.step() {
            WizardStep::Wish => Some(&self.wish),
            WizardStep::Description => Some(&self.description),
            WizardStep::Prompt => Some(&self.prompt),
            _ => None,
        }
    }

    pub(super) fn text_mut(&mut self, step: WizardStep) -> Option<&mut Composer> {
        match step {
            WizardStep::Wish => Some(&mut self.wish),
            WizardStep::Description => Some(&mut self.description),
            WizardStep::Prompt => Some(&mut self.prompt),
            _ => None,
        }
    }

    pub(super) fn line_mut(&mut self) -> Option<&mut LineEdit> {
        match self.step() {
            WizardStep::Name => Some(&mut self.name),
            WizardStep::Model if model_rows().get(self.chosen) == Some(&ModelRow::Typed) => Some(&mut self.typed),
            _ => None,
        }
    }

    /// Returns `true` if nothing is filled in that could be lost.
    pub fn is_blank(&self) -> bool {
        self.name.text().is_empty()
            && self.wish.is_empty()
            && self.description.is_empty()
            && self.prompt.is_empty()
            && self.arrived.is_none()
    }

    /// Throws away what is filled in. A draft under way goes on.
    pub(super) fn clear(&mut self) {
        let (homes, drafting) = (std::mem::take(&mut self.homes), self.drafting.take());
        *self = Self { homes, drafting, ..Self::default() };
    }

    pub fn how_rows(&self) -> Vec<HowRow> {
        let mut rows = vec![HowRow::ByHand, if self.drafting.is_some() { HowRow::Watch } else { HowRow::Draft }];
        if self.arrived.is_some() {
            rows.push(HowRow::Take);
        }
        if !self.is_blank() {
            rows.push(HowRow::Anew);
        }
        rows
    }

    pub fn tool_choice(&self) -> ToolChoice {
        self.tools.clone().unwrap_or(ToolChoice::All)
    }

    pub(super) fn choose_tools(&mut self, choice: ToolChoice) {
        self.tools = Some(choice);
    }

    pub fn tool_rows(&self) -> Vec<ToolRow> {
        let presets = [ToolChoice::All, ToolChoice::ReadOnly, ToolChoice::Custom].map(ToolRow::Preset);
        let grouped = TOOL_GROUPS.iter().flat_map(|(group, tools)| {
            let row = |(at, tool): (usize, &String)| ToolRow::Tool(if at == 0 { group } else { "" }, tool.clone());
            tools.iter().enumerate().map(row)
        });
        let extras = self.extras.iter().enumerate();
        let extras = extras.map(|(at, entry)| ToolRow::Tool(if at == 0 { "as drafted" } else { "" }, entry.clone()));
        presets.into_iter().chain(grouped).chain(extras).collect()
    }

    pub fn has_tool(&self, tool: &str) -> bool {
        match self.tool_choice() {
            ToolChoice::All => !self.extras.iter().any(|entry| entry == tool),
            ToolChoice::ReadOnly => read_only().iter().any(|name| name == tool),
            ToolChoice::Custom => self.ticked.iter().any(|entry| entry == tool),
        }
    }

    /// Ticks or unticks a tool; what was chosen before is where it begins.
    pub(super) fn tick(&mut self, tool: &str) {
        let all = self.tool_rows().into_iter().filter_map(|row| match row {
            ToolRow::Tool(_, name) => Some(name),
            ToolRow::Preset(_) => None,
        });
        let had = self.has_tool(tool);
        self.ticked = all.filter(|name| if name == tool { !had } else { self.has_tool(name) }).collect();
        self.tools = Some(ToolChoice::Custom);
    }

    fn tools(&self) -> ToolsField {
        match self.tool_choice() {
            ToolChoice::All => ToolsField::All,
            ToolChoice::ReadOnly => ToolsField::List(read_only().to_vec()),
            ToolChoice::Custom => ToolsField::List(self.ticked.clone()),
        }
    }

    /// Returns the colours to choose from: first `None`, which leaves it to the program, and last that of a draft, if it
    /// is another one.
    pub fn color_rows(&self) -> Vec<Option<&str>> {
        let own = self.drafted_color.as_deref().filter(|color| !COLORS.contains(color));
        std::iter::once(None).chain(COLORS.into_iter().map(Some)).chain(own.map(Some)).collect()
    }

    pub fn draft(&self) -> AgentDraft {
        AgentDraft {
            name: self.name.text().to_owned(),
            description: self.description.expanded(),
            tools: self.tools(),
            model: self.model.clone(),
            color: self.color.clone(),
            prompt: self.prompt.expanded(),
        }
    }

    pub fn path(&self) -> Option<PathBuf> {
        let home = self.homes.iter().find(|home| Some(home.tier) == self.tier)?;
        Some(home.path.join(format!("{}.md", self.name.text())))
    }

    /// Returns what is wrong with the answer to a step.
    pub fn problem(&self, step: WizardStep, listing: &Listing) -> Option<String> {
        let missing = |composer: &Composer, words: &str| composer.text().trim().is_empty().then(|| words.to_owned());
        match step {
            WizardStep::Wish => missing(&self.wish, "Say in a sentence what the agent should do."),
            WizardStep::Where => self.tier.is_none().then(|| "Choose a folder.".to_owned()),
            WizardStep::Name => AgentDraft::check_name(self.name.text()).err().map(str::to_owned).or_else(|| {
                let path = self.path()?;
                let taken = listing.iter().any(|listed| listed.source.path.as_ref() == Some(&path));
                taken.then(|| format!("{} already exists. Choose another name or folder.", path.display()))
            }),
            WizardStep::Description => {
                missing(&self.description, "Say when to use it: the model reads this to decide.")
            }
            WizardStep::Tools => (self.tools() == ToolsField::List(Vec::new()))
                .then(|| "Check at least one tool with space, or choose another row.".to_owned()),
            WizardStep::Model => {
                let is_id = |model: &String| model.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:/@[]".contains(c));
                let model = self.model.as_ref().filter(|model| !is_id(model))?;
                Some(format!("`{}` is not a model name: use letters, digits and -_.:/@[] only.", sanitize_line(model)))
            }
            WizardStep::Prompt => missing(&self.prompt, "Write its instructions, or open your editor."),
            WizardStep::How | WizardStep::Drafting | WizardStep::Color | WizardStep::Summary => None,
        }
    }

    /// Returns whom an agent of this name would stand in for, or who would win over it.
    pub fn rivals(&self, listing: &Listing) -> Option<String> {
        let tier = self.tier?;
        let in_force = listing.iter().find(|listed| {
            listed.standing == DefinitionState::InForce && same_name(&listed.name(), self.name.text())
        })?;
        let (name, whose) = (sanitize_line(&in_force.name()).into_owned(), in_force.source.tier.label());
        Some(if in_force.source.tier > tier {
            format!("{name} ({whose}) would shadow it: yours would not be used.")
        } else {
            format!("It would shadow {name} ({whose}).")
        })
    }

    pub(super) fn go(&mut self, step: WizardStep) {
        self.step = Some(step);
        self.note = None;
        self.scroll = 0;
        self.chosen = match step {
            WizardStep::Where => self.homes.iter().position(|home| Some(home.tier) == self.tier),
            WizardStep::Tools => self.tool_rows().iter().position(|row| *row == ToolRow::Preset(self.tool_choice())),
            WizardStep::Model => {
                let row = |row: &ModelRow| match row {
                    ModelRow::Inherit => self.model.is_none(),
                    ModelRow::Alias(alias) => self.model.as_deref() == Some(alias),
                    ModelRow::Typed => true,
                };
                model_rows().iter().position(row)
            }
            WizardStep::Color => self.color_rows().iter().position(|row| *row == self.color.as_deref()),
            _ => None,
        }
        .unwrap_or(0);
    }

    /// Goes on, unless something is wrong at this step.
    pub(super) fn advance(&mut self, listing: &Listing) {
        if let Some(problem) = self.problem(self.step(), listing) {
            self.note = Some(problem);
            return;
        }
        let next = match self.way {
            Way::ToSummary => self.first_open(listing),
            // What comes after it has an answer that mostly is the right one.
            Way::Forward if self.step() == WizardStep::Prompt => self.first_open(listing),
            Way::Forward => self.step().next(),
        };
        if next == WizardStep::Summary {
            self.way = Way::ToSummary;
        }
        self.go(next);
    }

    /// Returns the first step that still needs an answer.
    pub(super) fn first_open(&self, listing: &Listing) -> WizardStep {
        let open = WizardStep::COUNTED.into_iter().find(|step| self.problem(*step, listing).is_some());
        open.unwrap_or(WizardStep::Summary)
    }

    /// Returns how many rows the list of this step has.
    pub fn rows(&self) -> usize {
        match self.step() {
            WizardStep::How => self.how_rows().len(),
            WizardStep::Where => self.homes.len(),
            WizardStep::Tools => self.tool_rows().len(),
            WizardStep::Model => model_rows().len(),
            WizardStep::Color => self.color_rows().len(),
            _ => 0,
        }
    }

    /// Fills in what a draft says. What it does not say stays as it was.
    pub(super) fn fill(&mut self, draft: &AgentDraft) {
        let fits = AgentDraft::check_name(&draft.name).is_ok();
        self.name = LineEdit::default();
        self.name.insert(&if fits { draft.name.clone() } else { AgentDraft::name_like(&draft.name) });
        set(&mut self.description, &draft.description);
        set(&mut self.prompt, &draft.prompt);
        let (choice, named) = choice_of(&draft.tools);
        let is_known = |name: &String| TOOL_GROUPS.iter().any(|(_, tools)| tools.contains(name));
        self.extras =
            named.iter().filter(|name| !is_known(name)).map(|name| sanitize_line(name).into_owned()).collect();
        self.ticked = named.iter().map(|name| sanitize_line(name).into_owned()).collect();
        self.tools = Some(choice);
        if let Some(model) = &draft.model {
            self.model = Some(sanitize_line(model).into_owned());
            self.typed = LineEdit::default();
            self.typed.insert(model);
        }
        if let Some(color) = &draft.color {
            self.color = Some(sanitize_line(color).into_owned());
            self.drafted_color.clone_from(&self.color);
        }
    }

    /// Takes what came of a draft, and goes where it has to be looked at.
    pub(super) fn take(&mut self, arrived: Arrived, listing: &Listing) {
        self.way = Way::ToSummary;
        match arrived {
            Arrived::Draft(draft) => {
                self.fill(&draft);
                self.go(self.first_open(listing));
            }
            Arrived::Text { text, error } => {
                set(&mut self.prompt, &text);
                self.go(WizardStep::Prompt);
                self.note = Some(format!(
                    "The model's answer is not a valid agent file ({}); use what fits.",
                    sanitize_line(&error)
                ));
            }
        }
    }
}

/// Replaces a text, which may be of any size and is not folded into a chip: it is here to be changed.
pub(super) fn set(composer: &mut Composer, text: &str) {
    composer.clear();
    composer.insert(&sanitize(text));
}
