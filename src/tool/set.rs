//! The tools an agent has.

use std::sync::Arc;

use super::AnyTool;
use super::bash::Bash;
use super::edit::Edit;
use super::glob::Glob;
use super::grep::Grep;
use super::ignores::Ignores;
use super::ls::Ls;
use super::process::Shell;
use super::read::Read;
use super::todo::TodoWrite;
use super::write::Write;
use crate::message::{ToolSpec, canonical_name};

/// An ordered set of tools with unique names.
#[derive(Clone, Default)]
pub struct ToolSet(Vec<Arc<dyn AnyTool>>);

impl ToolSet {
    /// Finds a tool by the name a model used: exactly, then without regard to case, then by its former name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        let name = canonical_name(name);
        self.0
            .iter()
            .find(|tool| tool.name() == name)
            .or_else(|| self.0.iter().find(|tool| tool.name().eq_ignore_ascii_case(name)))
    }

    /// Returns the tools' names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tool| tool.name())
    }

    /// Returns what is offered to the model.
    #[must_use]
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.0.iter().map(|tool| tool.spec()).collect()
    }

    /// Returns the tools for which `keep` holds, in the same order.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|tool| keep(tool.name())).cloned().collect())
    }

    /// Returns the same tools and one more.
    #[must_use]
    pub fn with(&self, tool: Arc<dyn AnyTool>) -> Self {
        self.0.iter().cloned().chain([tool]).collect()
    }

    /// Returns `true` if there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Arc<dyn AnyTool>> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Arc<dyn AnyTool>>>(tools: T) -> Self {
        Self(tools.into_iter().collect())
    }
}

/// Returns the tools that work on files and run commands, in the order they are offered. `shell` says how commands are
/// run.
#[must_use]
pub fn standard_tools(shell: &Shell) -> ToolSet {
    let ignores = Ignores::default();
    let tools: [Arc<dyn AnyTool>; 8] = [
        Arc::new(Read),
        Arc::new(Write),
        Arc::new(Edit),
        Arc::new(Bash(shell.clone())),
        Arc::new(Glob(ignores.clone())),
        Arc::new(Grep(ignores.clone())),
        Arc::new(Ls(ignores)),
        Arc::new(TodoWrite),
    ];
    tools.into_iter().collect()
}
