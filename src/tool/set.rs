//! The tools an agent has. Which there are stands in `mod.rs`, one line for each.

use std::sync::{Arc, OnceLock};

use super::{AnyTool, BuiltInTools};
use crate::message::{ToolSpec, bare_name, canonical_name};
use crate::permission::ToolKind;

#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Vec<Arc<dyn AnyTool>>,
    /// What joins the others while the agent works.
    late: Option<Arc<LateTools>>,
    notes: Option<ToolNotes>,
    chosen: BuiltInTools,
}

/// Returns what a model has to know of its tools as long as it has them, message by message.
pub type ToolNotes = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Tools that join an agent's while it works, in the order of their coming. None leaves: what a model was offered stays.
#[derive(Default)]
pub struct LateTools(OnceLock<Box<LateTool>>);

struct LateTool {
    tool: Arc<dyn AnyTool>,
    next: LateTools,
}

impl LateTools {
    /// Adds a tool, unless one of its name is there.
    pub fn push(&self, tool: Arc<dyn AnyTool>) {
        if self.iter().all(|known| known.name() != tool.name()) {
            let mut new = Box::new(LateTool { tool, next: Self::default() });
            let mut place = self;
            while let Err(back) = place.0.set(new) {
                new = back;
                let Some(taken) = place.0.get() else { return };
                place = &taken.next;
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn AnyTool>> {
        std::iter::successors(self.0.get(), |late| late.next.0.get()).map(|late| &late.tool)
    }
}

impl ToolSet {
    fn all(&self) -> impl Iterator<Item = &Arc<dyn AnyTool>> {
        self.tools.iter().chain(self.late.iter().flat_map(|late| late.iter()))
    }

    /// Returns the same tools with others that may join them.
    #[must_use]
    pub fn joined_by(self, late: Arc<LateTools>) -> Self {
        Self { late: Some(late), ..self }
    }

    /// Returns the same tools with what is said of them.
    #[must_use]
    pub fn noted_by(self, notes: ToolNotes) -> Self {
        Self { notes: Some(notes), ..self }
    }

    /// Finds a tool by the name a model used: exactly, then without regard to case and to what is put around it, then by its
    /// name elsewhere.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        let loosely = |name: &str| self.all().find(|tool| tool.name().eq_ignore_ascii_case(name));
        let exact = self.all().find(|tool| tool.name() == name);
        let bare = bare_name(name);
        exact
            .or_else(|| loosely(name.trim()))
            .or_else(|| loosely(canonical_name(name)))
            .or_else(|| loosely(bare))
            .or_else(|| loosely(canonical_name(bare)))
    }

    pub fn kind_of(&self, name: &str) -> ToolKind {
        self.find(name).map_or(ToolKind::Other, |tool| tool.kind())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().map(|tool| tool.name())
    }

    /// Returns the names of those that are offered to the model as things are.
    pub fn offered_names(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|tool| tool.applies()).map(|tool| tool.name())
    }

    /// Returns what is offered to the model.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.all().filter(|tool| tool.applies()).map(|tool| tool.spec()).collect()
    }

    /// Returns what the model has to know of changes that the offer does not show.
    pub fn news(&self) -> Vec<String> {
        self.all().filter_map(|tool| tool.news()).collect()
    }

    /// Returns what the model has to know as long as it has these tools.
    pub fn notes(&self) -> Vec<String> {
        self.notes.as_ref().map(|notes| notes()).unwrap_or_default()
    }

    /// Says how a tool is got that is none of these.
    pub fn hint(&self, name: &str) -> Option<String> {
        self.all().find_map(|tool| tool.hint(name))
    }

    /// Returns the tools for which `keep` holds, in the same order.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        let tools = self.tools.iter().filter(|tool| keep(tool.name())).cloned().collect();
        Self { tools, ..self.clone() }
    }

    /// Returns those of the tools that were chosen.
    #[must_use]
    pub fn chosen(&self, chosen: BuiltInTools) -> Self {
        let tools = self.filtered(|tool| chosen.has(tool));
        Self { chosen, ..tools }
    }

    /// Returns `true` if another tool of this program may join them.
    #[must_use]
    pub fn take(&self, tool: &str) -> bool {
        self.chosen.has(tool)
    }

    /// Returns the tools that are of use to an agent whose model is, or is not, at a service that searches the web itself.
    #[must_use]
    pub fn offered(&self, service_searches: bool) -> Self {
        let tools = self.tools.iter().filter(|tool| tool.is_offered(service_searches)).cloned().collect();
        Self { tools, ..self.clone() }
    }

    #[must_use]
    pub fn with(&self, tool: Arc<dyn AnyTool>) -> Self {
        let tools = self.tools.iter().cloned().chain([tool]).collect();
        Self { tools, ..self.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }
}

impl FromIterator<Arc<dyn AnyTool>> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Arc<dyn AnyTool>>>(tools: T) -> Self {
        Self { tools: tools.into_iter().collect(), ..Self::default() }
    }
}
