//! A tool that plays a script: for the demonstration, tests and benches. It touches nothing.
//!
//! A script is JSON Lines; each line is a [`ScriptedResult`]. A call gets the first line of its tool whose `input` is
//! part of the call's JSON text.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::sleep;

use super::{AnyTool, Args, Concurrency, Plan, Tool, ToolContext, ToolOutput, ToolView, known_tools};
use crate::message::{FileDiff, INTERRUPTED};
use crate::permission::{AccessKind, Confinement, Preview, ToolKind};

/// One line of a script.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedResult {
    pub tool: String,
    /// What the call's JSON text must hold.
    #[serde(default)]
    pub input: String,
    /// What the screen shows behind the tool's name.
    pub title: String,
    /// What the screen shows behind that when it is done.
    pub summary: String,
    #[serde(default)]
    pub result: String,
    #[serde(default)]
    pub ms: u64,
    /// Lines of output shown meanwhile, spread evenly over the time.
    #[serde(default)]
    pub tail: Vec<String>,
    #[serde(default)]
    pub is_error: bool,
    /// A command that has to be approved.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub diff: Option<FileDiff>,
}

#[derive(Debug, thiserror::Error)]
#[error("line {line} of the script of tools: {source}")]
pub struct ToolScriptError {
    line: usize,
    source: serde_json::Error,
}

/// Plays the lines of one tool.
pub struct ScriptedTool {
    name: String,
    /// That of the tool that it stands for.
    kind: ToolKind,
    lines: Vec<ScriptedResult>,
}

impl ScriptedTool {
    /// Reads a script and returns its tools in the order of their first lines.
    ///
    /// # Errors
    /// Returns the first line that is no [`ScriptedResult`].
    pub fn parse(script: &str) -> Result<Vec<Arc<dyn AnyTool>>, ToolScriptError> {
        let standard = known_tools();
        let mut tools: Vec<Self> = Vec::new();
        for (at, line) in script.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line: ScriptedResult =
                serde_json::from_str(line).map_err(|source| ToolScriptError { line: at + 1, source })?;
            let known = tools.iter().position(|tool| tool.name == line.tool).unwrap_or_else(|| {
                tools.push(Self { name: line.tool.clone(), kind: standard.kind_of(&line.tool), lines: Vec::new() });
                tools.len() - 1
            });
            tools[known].lines.push(line);
        }
        Ok(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn AnyTool>).collect())
    }

    fn line(&self, args: &Args) -> Option<&ScriptedResult> {
        let text = serde_json::to_string(args).unwrap_or_default();
        self.lines.iter().find(|line| text.contains(&line.input))
    }
}

impl Tool for ScriptedTool {
    type Input = Args;
    type Prepared = Option<ScriptedResult>;

    const NAME: &'static str = "Scripted";
    const DESCRIPTION: &'static str = "Plays a script.";
    const KIND: ToolKind = ToolKind::Other;

    /// That of the tool that it stands for, as is the kind.
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> ToolKind {
        self.kind
    }

    fn concurrency(&self, args: &Args) -> Concurrency {
        match self.line(args) {
            Some(line) if line.command.is_some() || line.diff.is_some() => Concurrency::InOrder,
            _ => Concurrency::Parallel,
        }
    }

    fn title(&self, args: &Args, _context: &ToolContext) -> String {
        self.line(args).map(|line| line.title.clone()).unwrap_or_default()
    }

    async fn prepare(&self, args: Args, context: &ToolContext) -> Result<(Plan, Self::Prepared), ToolOutput> {
        let line = self.line(&args).cloned();
        let plan = match &line {
            Some(ScriptedResult { command: Some(command), .. }) => {
                Plan::new(AccessKind::Execute { command: command.clone(), confinement: Confinement::None })
            }
            Some(ScriptedResult { diff: Some(diff), .. }) => Plan {
                preview: Some(Preview::Diff(diff.clone())),
                ..Plan::new(AccessKind::Write { path: context.project.join(&diff.path) })
            },
            _ => Plan::free(),
        };
        Ok((plan, line))
    }

    async fn run(&self, line: Self::Prepared, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let line = line.ok_or_else(|| ToolOutput::error("The script has no line for this call."))?;
        tokio::select! {
            () = play(&line, context) => {}
            () = context.cancel.cancelled() => return Err(ToolOutput::error(INTERRUPTED)),
        }
        let view = line.diff.map(ToolView::Diff);
        Ok(ToolOutput { is_error: line.is_error, view, ..ToolOutput::text(line.result, line.summary) })
    }
}

async fn play(line: &ScriptedResult, context: &ToolContext) {
    let steps = u32::try_from(line.tail.len()).unwrap_or(u32::MAX).max(1);
    let step = Duration::from_millis(line.ms) / steps;
    for shown in 0..line.tail.len() {
        context.progress.send_replace(line.tail[..=shown].join("\n"));
        sleep(step).await;
    }
    if line.tail.is_empty() {
        sleep(step).await;
    }
}
