//! The tools, each driven through its plan and its run in a real folder.

mod absence;
mod commands;
mod descriptions;
mod diagnostics;
pub(crate) mod documents;
mod edits;
mod files;
mod git_status;
mod hostile_git;
mod offer;
mod program;
mod reading;
mod replacing;
mod rewinding;
mod sandbox;
mod searches;
mod states;
mod symbol_kinds;
mod symbols;
mod temporary;
mod text;
mod web;
mod web_search;
mod writers;

use crate::support::standard_tools;
use std::path::PathBuf;
use std::sync::Arc;

use belvedere::message::ResultPart;
use belvedere::permission::AccessKind;
use belvedere::tool::{Args, Freshness, Plan, SandboxUse, ToolContext, ToolOutput, ToolSet};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A project in a folder of its own, with one agent's view of it.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) context: ToolContext,
    pub(crate) progress: watch::Receiver<String>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    /// Returns one in this folder.
    pub(crate) fn at(folder: TempDir) -> Self {
        let root = Arc::new(folder.path().canonicalize().unwrap().join("project"));
        std::fs::create_dir(root.as_path()).unwrap();
        let (sender, progress) = watch::channel(String::new());
        let context = ToolContext {
            call_id: "call-1".to_owned(),
            cwd: Arc::clone(&root),
            origin: Arc::clone(&root),
            project: root,
            cancel: CancellationToken::new(),
            progress: sender,
            result_chars: 50_000,
            freshness: Arc::new(Freshness::default()),
            sandbox: SandboxUse::ReadWrite,
            hosts: Vec::new(),
            service_search: None,
            reads_documents: true,
            background: belvedere::tool::CommandHost::default(),
        };
        Self { folder, context, progress }
    }

    /// A path in the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    /// A path beside the project.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) async fn plan(&self, tool: &str, input: Value) -> Result<Plan, ToolOutput> {
        let tools = standard_tools();
        let plan = tools.find(tool).unwrap().parse(&args(input)).prepare(&self.context).await?.plan;
        plan.failure.clone().map_or(Ok(plan), Err)
    }

    pub(crate) async fn run(&self, tool: &str, input: Value) -> ToolOutput {
        run(&standard_tools(), tool, input, &self.context).await
    }

    /// Prepares a call, lets something happen, and runs the call.
    pub(crate) async fn run_after(&self, tool: &str, input: Value, meanwhile: impl FnOnce()) -> ToolOutput {
        let tools = standard_tools();
        let prepared = tools.find(tool).unwrap().parse(&args(input)).prepare(&self.context).await;
        let Ok(prepared) = prepared else { panic!("the call cannot be prepared") };
        meanwhile();
        prepared.run.await
    }

    pub(crate) fn title(&self, tool: &str, input: Value) -> String {
        standard_tools().find(tool).unwrap().parse(&args(input)).title(&self.context)
    }

    /// Runs a tool that is expected to succeed and returns its text.
    pub(crate) async fn text(&self, tool: &str, input: Value) -> String {
        let output = self.run(tool, input).await;
        assert!(!output.is_error, "{}", text_of(&output));
        text_of(&output)
    }

    /// Runs a tool that is expected to fail and returns its words.
    pub(crate) async fn error(&self, tool: &str, input: Value) -> String {
        let output = self.run(tool, input).await;
        assert!(output.is_error, "{}", text_of(&output));
        text_of(&output)
    }
}

/// Carries out a call that nobody is asked about.
pub(crate) async fn run(tools: &ToolSet, tool: &str, input: Value, context: &ToolContext) -> ToolOutput {
    match tools.find(tool).unwrap().parse(&args(input)).prepare(context).await {
        Ok(prepared) => prepared.run.await,
        Err(failed) => failed,
    }
}

pub(crate) fn args(input: Value) -> Args {
    match input {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

pub(crate) fn text_of(output: &ToolOutput) -> String {
    output
        .content
        .iter()
        .filter_map(|part| match part {
            ResultPart::Text { text } => Some(text.as_str()),
            ResultPart::Image { .. } | ResultPart::Attached { .. } => None,
        })
        .collect()
}

pub(crate) fn path_of(plan: &Plan) -> PathBuf {
    match &plan.access {
        AccessKind::Read { path } | AccessKind::Write { path } => path.clone(),
        other => panic!("no path in {other:?}"),
    }
}

/// A text of one line for each number.
pub(crate) fn lines(numbers: std::ops::RangeInclusive<usize>, line: impl Fn(usize) -> String) -> String {
    numbers.map(|number| line(number) + "\n").collect()
}
