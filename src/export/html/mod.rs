//! A session as one page that needs nothing else: no server, no network, no script to be read.
//!
//! Owns the page's skeleton and its data. Leaves looks and behavior to `assets/export`, and the text of agents to `prose`
//! and `step`. Invariants: the page as it is written shows the last state whole; the script only hides what had not
//! happened yet at another moment. Every text is escaped, and nothing in the page may ask for anything from anywhere.

mod prose;
mod step;

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use self::prose::escaped;
pub use self::prose::prose;
use self::step::step;
use super::activity::{ActivityKind, ActivitySpan};
use super::recording::{RecordedAgent, Recording};
use super::steps::steps;
use super::{Clean, facts};
use crate::message::AgentId;
use crate::message::format::{counted, elapsed, tokens, words_of};

const STYLE: &str = include_str!("../../../assets/export/page.css");
const SCRIPT: &str = include_str!("../../../assets/export/page.js");
const CONTROLS: &str = include_str!("../../../assets/export/controls.html");
/// Bytes of a task.
const MAX_TASK: usize = 64 << 10;
/// Characters of the page's title.
const TITLE_CHARS: usize = 120;
/// Levels of agents that are indented.
const MAX_INDENT: usize = 5;
/// Units of the width of a bar.
const BAR_WIDTH: u64 = 10_000;

struct Page<'a> {
    recording: &'a Recording,
    clean: &'a Clean<'a>,
    /// What allows this page's own style and script, and no other.
    nonce: String,
}

pub(super) fn write(recording: &Recording, clean: &Clean<'_>, out: &mut dyn Write) -> io::Result<()> {
    let random = |salt: u8| RandomState::new().hash_one(salt);
    let page = Page { recording, clean, nonce: format!("{:016x}{:016x}", random(0), random(1)) };
    let order = recording.in_order();
    page.head(&order, out)?;
    page.timeline(&order, out)?;
    writeln!(out, "<main{}>", if order.is_empty() { " class=\"alone\"" } else { "" })?;
    writeln!(out, "<section id=\"conversation\" data-agent=\"0\" tabindex=\"0\" aria-label=\"Conversation\">")?;
    if let Some(main) = recording.agents.get(&AgentId::MAIN) {
        page.steps(main, out)?;
    }
    writeln!(out, "</section>")?;
    if !order.is_empty() {
        writeln!(out, "<section id=\"agents\" aria-label=\"Agents\">")?;
        for (agent, depth) in &order {
            page.agent(agent, *depth, out)?;
        }
        writeln!(out, "</section>")?;
    }
    writeln!(out, "</main>")?;
    page.foot(out)
}

impl Page<'_> {
    fn title(&self) -> String {
        let said = self.recording.title.as_ref().map(|title| self.clean.line(&words_of(title, TITLE_CHARS)));
        said.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| self.clean.line(&self.recording.id))
    }

    fn head(&self, order: &[(&RecordedAgent, usize)], out: &mut dyn Write) -> io::Result<()> {
        let (nonce, title) = (&self.nonce, escaped(&self.title()));
        let facts = escaped(&facts::of_session(self.recording, self.clean).join(" · "));
        let mut colors = String::new();
        for (agent, _) in order {
            if let Some(color) = agent.spawn.as_ref().and_then(|spawn| color_of(spawn.color.as_deref()?)) {
                let _ = writeln!(colors, "[data-agent=\"{}\"] {{ --agent: {color} }}", agent.id.0);
            }
        }
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}'; \
             style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"dark light\">\n\
             <meta name=\"generator\" content=\"Belvedere {}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
             <style nonce=\"{nonce}\">\n{STYLE}{colors}</style>\n</head>\n<body>\n<header>\n\
             <h1>{title}</h1>\n<p class=\"facts\">{facts}</p>\n{CONTROLS}</header>\n",
            env!("CARGO_PKG_VERSION"),
        )
    }

    fn timeline(&self, order: &[(&RecordedAgent, usize)], out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<section id=\"timeline\" aria-label=\"Timeline\">\n<div id=\"rows\">")?;
        let main = self.recording.agents.get(&AgentId::MAIN).map(|main| (main, 0));
        let subagents = order.iter().map(|(agent, depth)| (*agent, depth + 1));
        for (agent, depth) in main.into_iter().chain(subagents) {
            let name = escaped(&self.clean.line(&agent.name()));
            let (id, depth) = (agent.id.0, depth.min(MAX_INDENT));
            write!(out, "<div class=\"row depth-{depth}\" data-agent=\"{id}\"><span class=\"name\">{name}</span>")?;
            write!(out, "<svg viewBox=\"0 0 {BAR_WIDTH} 10\" preserveAspectRatio=\"none\" role=\"img\">")?;
            for span in &agent.activity.spans {
                self.bar(span, out)?;
            }
            writeln!(out, "</svg></div>")?;
        }
        let kinds = ActivityKind::ALL.map(|kind| format!("<span class=\"{0}\">{0}</span>", kind.name()));
        let end = elapsed(Duration::from_millis(self.recording.length));
        writeln!(out, "</div>\n<p class=\"legend\">{}<span class=\"end\">{end}</span></p>", kinds.concat())?;
        writeln!(out, "</section>")
    }

    fn bar(&self, span: &ActivitySpan, out: &mut dyn Write) -> io::Result<()> {
        let unit = |time: u64| time.saturating_mul(BAR_WIDTH) / self.recording.length.max(1);
        let (from, to) = (unit(span.from), unit(span.to));
        let label = escaped(&self.clean.line(&span.label));
        let lasts = elapsed(Duration::from_millis(span.to - span.from));
        write!(
            out,
            "<rect class=\"{}\" x=\"{from}\" y=\"0\" width=\"{}\" height=\"10\"><title>{label} · {lasts}</title></rect>",
            span.kind.name(),
            (to - from).max(8),
        )
    }

    fn agent(&self, agent: &RecordedAgent, depth: usize, out: &mut dyn Write) -> io::Result<()> {
        let line = |text: &str| escaped(&self.clean.line(text));
        let (kind, description) = match &agent.spawn {
            Some(spawn) => (line(&spawn.agent_type), line(&spawn.description)),
            None => (String::new(), line(&agent.name())),
        };
        let (id, state, activity) = (agent.id.0, agent.state(self.recording.is_live), &agent.activity);
        write!(
            out,
            "<details open class=\"agent depth-{}\" id=\"agent-{id}\" data-agent=\"{id}\">\n<summary>\
             <span class=\"number\">{id}</span> <span class=\"type\">{kind}</span> \
             <span class=\"description\">{description}</span> <span class=\"state {}\">{state}</span> \
             <span class=\"tools\">{}</span> <span class=\"time\">{}</span> <span class=\"tokens\">{}</span>\
             </summary>\n",
            depth.min(MAX_INDENT),
            class_of(state),
            counted(activity.tools as usize, "tool"),
            elapsed(Duration::from_millis(agent.worked())),
            activity.spent.usage.spelled(tokens),
        )?;
        if let Some(spawn) = &agent.spawn {
            let task = prose(&self.clean.text(&spawn.prompt, MAX_TASK));
            writeln!(out, "<details class=\"task\"><summary>Task</summary>\n{task}</details>")?;
        }
        self.steps(agent, out)?;
        writeln!(out, "</details>")
    }

    fn steps(&self, agent: &RecordedAgent, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<div class=\"steps\">")?;
        for found in steps(self.recording, agent, self.clean) {
            out.write_all(step(&found, self.recording, self.clean).as_bytes())?;
        }
        writeln!(out, "</div>")
    }

    fn foot(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.recording.unread > 0 {
            let records = counted(usize::try_from(self.recording.unread).unwrap_or(usize::MAX), "record");
            writeln!(out, "<footer>{records} could not be read.</footer>")?;
        }
        // Within a script, only `<` could end it, or begin a comment.
        let data = self.clean.json(self.data().to_string()).replace('<', "\\u003c");
        writeln!(out, "<script type=\"application/json\" id=\"data\">{data}</script>")?;
        writeln!(out, "<script nonce=\"{}\">\n{SCRIPT}</script>\n</body>\n</html>", self.nonce)
    }

    /// Returns what the script has to know to show another moment.
    fn data(&self) -> Value {
        let agent = |agent: &RecordedAgent| {
            let activity = &agent.activity;
            let spans = activity
                .spans
                .iter()
                .map(|span| json!([span.kind.name(), span.from, span.to, self.clean.line(&span.label)]));
            json!({
                "id": agent.id,
                "born": agent.born,
                "state": agent.state(self.recording.is_live),
                "spans": spans.collect::<Vec<_>>(),
                "counts": activity.counts.iter().map(|count| (count.at, count.tools, count.tokens)).collect::<Vec<_>>(),
                "ends": activity.ends.iter().map(|end| (end.at, end.status.word())).collect::<Vec<_>>(),
            })
        };
        json!({
            "length": self.recording.length,
            "agents": self.recording.agents.values().map(agent).collect::<Vec<_>>(),
        })
    }
}

/// Returns the class of a state, by which it is colored.
fn class_of(state: &str) -> &'static str {
    match state {
        "done" | "wrapped up" => "good",
        "failed" | "timed out" => "bad",
        "running" => "busy",
        _ => "neutral",
    }
}

/// Returns the color of a definition as the page may write it: a file of a stranger names it.
fn color_of(name: &str) -> Option<String> {
    const NAMES: [&str; 10] = ["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan", "magenta", "gray"];
    let name = name.trim().to_lowercase();
    if let Some(digits) = name.strip_prefix('#') {
        let is_color = matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return is_color.then(|| format!("#{digits}"));
    }
    NAMES.contains(&name.as_str()).then(|| format!("var(--{name})"))
}
