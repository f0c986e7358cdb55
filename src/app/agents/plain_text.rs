//! An agent's transcript as plain text, for a pager or a file.
//!
//! Owns the signs before each step. Leaves where it goes to the caller. Invariant: every step that says something is in.

use std::fmt::Write as _;

use jiff::tz::TimeZone;

use super::agent_view::AgentView;
use super::cells::CellKind;

pub(in crate::app) fn as_text(agent: &AgentView, zone: &TimeZone) -> String {
    let mut out = String::new();
    if !agent.prompt.is_empty() {
        let _ = writeln!(out, "# {} · {}\n\n{}\n", agent.name, agent.description, agent.prompt);
    }
    for (_, cell) in agent.cells.iter() {
        let _ = match &cell.kind {
            CellKind::User { text } => writeln!(out, "› {text}\n"),
            CellKind::Text { text } | CellKind::Report { text } => writeln!(out, "{text}\n"),
            CellKind::Thinking { text } => writeln!(out, "(thinking) {text}\n"),
            CellKind::Tool(tool) => writeln!(out, "● {} {}  {}\n", tool.name, tool.title, tool.summary),
            CellKind::Subagent { agent, .. } => writeln!(out, "◆ agent {agent}\n"),
            CellKind::FromParent { text, .. } => writeln!(out, "↓ {text}\n"),
            CellKind::Reports { of } => {
                let of: Vec<String> = of.iter().map(|agent| format!("agent {agent}")).collect();
                writeln!(out, "◆ report from {} arrived\n", of.join(", "))
            }
            CellKind::Resumed { run, at } => {
                writeln!(out, "── run {run} · resumed {} ──\n", at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M"))
            }
            CellKind::Compacted { words, text } => writeln!(out, "── {words} ──\n\n{text}\n"),
            CellKind::Retry { reason, .. } => writeln!(out, "(retried: {reason})\n"),
            CellKind::Notice { text } | CellKind::Error { text } => writeln!(out, "({text})\n"),
            CellKind::CutOff { text, .. } => writeln!(out, "{text}\n(cut off)\n"),
            CellKind::Void => Ok(()),
        };
    }
    out
}
