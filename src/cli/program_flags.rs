//! Flags for programs that drive a conversation, as the Claude Agent SDK passes them.

use std::path::Path;

use anyhow::ensure;
use clap::{Args, ValueEnum};

use super::Cli;
use crate::config::given_json;
use crate::headless::{AnswerSchema, InputFormat, OutputFormat};

/// How a program and this one talk.
#[derive(Debug, Clone, Default, Args)]
pub struct ProgramFlags {
    /// Format of standard input. With stream-json, a program drives the whole conversation; it implies -p and needs
    /// --output-format stream-json.
    #[arg(long, value_enum, default_value_t)]
    pub input_format: InputFormat,

    /// Ask the program for permissions, by control requests on standard output (stdio). Otherwise what would ask is denied.
    #[arg(long, value_enum, value_name = "TOOL")]
    pub permission_prompt_tool: Option<PermissionPrompt>,

    /// With --output-format stream-json, also write texts while they arrive.
    #[arg(long)]
    pub include_partial_messages: bool,

    /// With --output-format stream-json, also write the messages that are read.
    #[arg(long)]
    pub replay_user_messages: bool,

    /// With -p, answer with JSON that fits this JSON Schema: a file, or the schema itself. In JSON formats it is
    /// `structured_output`.
    #[arg(long, value_name = "FILE|JSON")]
    pub json_schema: Option<String>,

    /// For scripts of Claude Code, where stream-json needs it. Changes nothing.
    #[arg(long, hide = true)]
    pub verbose: bool,
}

/// Who is asked for permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PermissionPrompt {
    /// The program at standard input and output.
    Stdio,
}

impl ProgramFlags {
    /// Reads the schema that answers have to fit.
    ///
    /// # Errors
    /// Returns why it is none.
    pub fn schema(&self, directory: &Path) -> anyhow::Result<Option<AnswerSchema>> {
        let Some(given) = &self.json_schema else { return Ok(None) };
        let (path, text) = given_json(given, directory, "--json-schema").map_err(|error| anyhow::anyhow!("{error}"))?;
        let schema = AnswerSchema::read(&text);
        schema.map(Some).map_err(|why| anyhow::anyhow!("{} is no JSON Schema: {why}", path.display()))
    }

    /// Checks that the flags fit.
    ///
    /// # Errors
    /// Returns what to change.
    pub fn check(cli: &Cli) -> anyhow::Result<()> {
        let Self { input_format, permission_prompt_tool, include_partial_messages, replay_user_messages, .. } =
            cli.program;
        let json_schema = &cli.program.json_schema;
        let drives = input_format == InputFormat::StreamJson;
        let streams = cli.output_format == Some(OutputFormat::StreamJson);
        let prints = cli.print || drives;
        ensure!(!drives || streams, "--input-format stream-json needs --output-format stream-json");
        ensure!(!drives || cli.prompt.is_none(), "with --input-format stream-json, the prompt comes as a message");
        ensure!(!drives || !cli.plain, "--plain reads lines, and --input-format stream-json messages; use one of them");
        ensure!(
            drives || permission_prompt_tool.is_none(),
            "--permission-prompt-tool needs --input-format stream-json"
        );
        ensure!(
            streams || !(include_partial_messages || replay_user_messages),
            "partial and replayed messages need --output-format stream-json"
        );
        ensure!(prints || json_schema.is_none(), "--json-schema needs -p");
        ensure!(prints || cli.output_format.is_none(), "--output-format needs -p");
        ensure!(prints || cli.max_turns.is_none(), "--max-turns needs -p");
        Ok(())
    }
}
