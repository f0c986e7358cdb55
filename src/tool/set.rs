//! The tools an agent has. Which there are stands in `mod.rs`, one line for each.

use std::sync::Arc;

use super::AnyTool;
use crate::message::{ToolSpec, canonical_name};
use crate::permission::ToolKind;

#[derive(Clone, Default)]
pub struct ToolSet(Vec<Arc<dyn AnyTool>>);

impl ToolSet {
    /// Finds a tool by the name a model used: exactly, then without regard to case, then by its name elsewhere.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        let loosely = |name: &str| self.0.iter().find(|tool| tool.name().eq_ignore_ascii_case(name));
        let exact = self.0.iter().find(|tool| tool.name() == name);
        exact.or_else(|| loosely(name.trim())).or_else(|| loosely(canonical_name(name)))
    }

    pub fn kind_of(&self, name: &str) -> ToolKind {
        self.find(name).map_or(ToolKind::Other, |tool| tool.kind())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tool| tool.name())
    }

    /// Returns what is offered to the model.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.0.iter().map(|tool| tool.spec()).collect()
    }

    /// Returns what the model has to know of changes that the offer does not show.
    pub fn news(&self) -> Vec<String> {
        self.0.iter().filter_map(|tool| tool.news()).collect()
    }

    /// Returns the tools for which `keep` holds, in the same order.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|tool| keep(tool.name())).cloned().collect())
    }

    /// Returns the tools that are of use to an agent whose model is, or is not, at a service that searches the web itself.
    #[must_use]
    pub fn offered(&self, service_searches: bool) -> Self {
        self.0.iter().filter(|tool| tool.is_offered(service_searches)).cloned().collect()
    }

    #[must_use]
    pub fn with(&self, tool: Arc<dyn AnyTool>) -> Self {
        self.0.iter().cloned().chain([tool]).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Arc<dyn AnyTool>> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Arc<dyn AnyTool>>>(tools: T) -> Self {
        Self(tools.into_iter().collect())
    }
}
