//! A session as Markdown: the conversation, then each subagent with its task, its report and its steps in a fold.
//!
//! Owns the headings and what stands before each step. Leaves which steps there are to `steps`, and what keeps a text
//! within its bounds to `contain`.

use std::io::{self, Write};

use super::contain::{contained, fenced, inline, quoted};
use super::recording::{RecordedAgent, Recording};
use super::steps::{RecordedCall, RecordedStep, StepKind, steps};
use super::{Clean, facts};
use crate::agent::Author;
use crate::message::format::{counted, words_of};
use crate::message::{AgentId, report_markdown, summary_of};

/// Bytes of a task or a report.
const MAX_WORDS: usize = 64 << 10;
/// Characters of a summary in the conversation.
const SUMMARY_CHARS: usize = 300;

struct Document<'a> {
    recording: &'a Recording,
    clean: &'a Clean<'a>,
}

pub(super) fn write(recording: &Recording, clean: &Clean<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document { recording, clean };
    writeln!(out, "# Session {}\n", inline(&clean.line(&recording.id)))?;
    writeln!(out, "{}\n", inline(&facts::of_session(recording, clean).join(" · ")))?;
    if let Some(main) = recording.agents.get(&AgentId::MAIN) {
        writeln!(out, "## Conversation\n")?;
        for step in steps(recording, main, clean) {
            document.step(&step, out)?;
        }
    }
    for (agent, depth) in recording.in_order() {
        document.agent(agent, depth, out)?;
    }
    if recording.unread > 0 {
        let records = counted(usize::try_from(recording.unread).unwrap_or(usize::MAX), "record");
        writeln!(out, "---\n\n{records} could not be read.")?;
    }
    Ok(())
}

impl Document<'_> {
    /// Returns how an agent is called: number, name, and what it is for.
    fn title_of(&self, id: AgentId) -> String {
        let Some(agent) = self.recording.agents.get(&id) else { return format!("agent {id}") };
        let description = agent.spawn.as_ref().map(|spawn| format!(" · {}", spawn.description)).unwrap_or_default();
        inline(&self.clean.line(&format!("{id} {}{description}", agent.name())))
    }

    fn agent(&self, agent: &RecordedAgent, depth: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} {}\n", if depth == 0 { "##" } else { "###" }, self.title_of(agent.id))?;
        let mut said = facts::of_agent(agent, self.recording, self.clean);
        if let Some(spawn) = agent.spawn.as_ref().filter(|spawn| !spawn.parent.is_main()) {
            said.push(format!("for agent {}", spawn.parent));
        }
        writeln!(out, "{}\n", inline(&said.join(" · ")))?;
        if let Some(reason) = &agent.reason {
            writeln!(out, "*{}*\n", inline(&self.clean.line(reason)))?;
        }
        if let Some(spawn) = &agent.spawn {
            writeln!(out, "**Task**\n\n{}\n", quoted(&self.clean.text(&spawn.prompt, MAX_WORDS)))?;
        }
        if !agent.words.trim().is_empty() {
            let report = report_markdown(&self.clean.text(&agent.words, MAX_WORDS));
            writeln!(out, "**Report**\n\n{}\n", contained(&report))?;
        }
        writeln!(out, "<details><summary>Steps</summary>\n")?;
        for step in steps(self.recording, agent, self.clean) {
            self.step(&step, out)?;
        }
        writeln!(out, "</details>\n")
    }

    fn step(&self, step: &RecordedStep, out: &mut dyn Write) -> io::Result<()> {
        match &step.kind {
            StepKind::Told { by, text } => writeln!(out, "**{}**\n\n{}\n", author(by), quoted(text)),
            StepKind::Text(text) => writeln!(out, "{}\n", contained(text)),
            StepKind::Thinking(text) => {
                writeln!(out, "<details><summary>Thinking</summary>\n\n{}\n\n</details>\n", fenced(text, ""))
            }
            StepKind::Call(call) => call_step(call, out),
            StepKind::Subagent(id) => self.subagent(*id, out),
            StepKind::Divider(text) => writeln!(out, "---\n\n*{}*\n", inline(text)),
            StepKind::Notice(text) => writeln!(out, "*{}*\n", inline(text)),
            StepKind::Error(text) => writeln!(out, "**Error:** {}\n", inline(text)),
        }
    }

    fn subagent(&self, id: AgentId, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "◆ **{}**", self.title_of(id))?;
        if let Some(agent) = self.recording.agents.get(&id) {
            let state = agent.state(self.recording.is_live);
            let summary = words_of(&self.clean.text(summary_of(&agent.words), MAX_WORDS), SUMMARY_CHARS);
            let between = if summary.is_empty() { "" } else { ": " };
            writeln!(out, "{}{between}{}", inline(state), inline(&summary))?;
        }
        writeln!(out)
    }
}

fn author(by: &Author) -> String {
    match by {
        Author::User => "You".to_owned(),
        Author::Parent => "Parent".to_owned(),
        Author::Program => "Belvedere".to_owned(),
        Author::Subagents(of) => {
            let of: Vec<String> = of.iter().map(|agent| format!("agent {agent}")).collect();
            format!("Report of {}", of.join(", "))
        }
    }
}

fn call_step(call: &RecordedCall, out: &mut dyn Write) -> io::Result<()> {
    let sign = if call.is_error { "✗" } else { "●" };
    write!(out, "{sign} **{}** {}", inline(&call.name), inline(&call.title))?;
    if !call.summary.is_empty() {
        write!(out, " → {}", inline(&call.summary))?;
    } else if call.done.is_none() {
        write!(out, " → no result")?;
    }
    writeln!(out, "\n")?;
    if call.input.is_empty() && call.output.is_empty() {
        return Ok(());
    }
    writeln!(out, "<details><summary>Input and output</summary>\n")?;
    if !call.input.is_empty() {
        writeln!(out, "{}\n", fenced(&call.input, "json"))?;
    }
    if !call.output.is_empty() {
        writeln!(out, "{}\n", fenced(&call.output, if call.is_diff { "diff" } else { "" }))?;
    }
    writeln!(out, "</details>\n")
}
