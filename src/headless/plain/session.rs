//! A session of lines: what was written, what waits, and what a typed line does.
//!
//! Owns what lines and answers do, and the prompt. Leaves slash commands to `slash`, reading and writing to the loop in
//! `mod`, and the words to `renderer`. Invariant: nothing here waits for the output.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::asked::{Asked, Typist};
use super::choosing::ChoiceStep;
use super::exports::Exporter;
use super::facts::KnownFacts;
use super::line_command::{self, LineCommand, Question};
use super::renderer::LineRenderer;
use super::rewinding::Rewinding;
use super::rows::lines;
use super::task_list::TaskList;
use crate::agent::{AgentEvent, EventKind, LogEvent, Status, WorktreeAct};
use crate::app::{MessageIntent, SlashCommand};
use crate::definition::Catalog;
use crate::headless::input::TypedLine;
use crate::headless::lead::Lead;
use crate::memory::MemoryReader;
use crate::message::{AgentId, MessageId, UsageTable, UserText};
use crate::permission::{Answer, ApprovalId};
use crate::subagent::{Children, Command, unattended_advice};

/// How long a second act counts as the confirmation of the first.
const CONFIRM: Duration = Duration::from_secs(2);
/// How long a command that is typed once more does.
pub(super) const RETYPED: Duration = Duration::from_secs(30);
/// Where something can be typed.
const PROMPT: &str = "> ";

pub(super) enum NextStep {
    GoOn,
    Leave,
}

pub(super) struct Session {
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) renderer: LineRenderer,
    pub(super) catalog: Catalog,
    pub(super) exporter: Exporter,
    pub(super) rewinding: Rewinding,
    pub(super) usage: UsageTable,
    /// What was learnt of events, for when it is asked.
    pub(super) facts: KnownFacts,
    /// What is still to be written.
    pub(super) waiting: VecDeque<String>,
    /// Messages that were sent and not yet answered to the end.
    pub(super) unanswered: usize,
    pub(super) lead: Lead,
    /// The lines before the present one that end in `\`.
    begun: String,
    armed: Option<Instant>,
    /// What a second command does with which branch, and until when.
    pub(super) asked_worktree: Option<((WorktreeAct, String), Instant)>,
    /// Until when a second command begins a new conversation although agents are at work.
    pub(super) clearing: Option<Instant>,
    /// Whether someone types at a terminal whose screen shows the output too.
    at_terminal: bool,
    /// When the open question was written.
    pub(super) asked: Asked,
    /// Whether a prompt stands at the end of the output.
    prompted: bool,
    /// What was typed last at a prompt: the terminal shows it already.
    echoed: Option<MessageId>,
    last_sent: MessageId,
    /// The state directory and the project whose sessions are listed.
    pub(super) sessions_of: Option<(PathBuf, PathBuf)>,
    pub(super) memory: Option<MemoryReader>,
    /// How the last answer ended.
    pub(super) last_end: Option<Status>,
    /// Whether the user has asked for the end.
    pub(super) leaves: bool,
}

impl Session {
    pub(super) fn new(commands: mpsc::UnboundedSender<Command>, catalog: Catalog, exporter: Exporter) -> Self {
        let typist = if io::stdin().is_terminal() { Typist::Person } else { Typist::Program };
        Self {
            commands,
            renderer: LineRenderer::default(),
            catalog,
            exporter,
            rewinding: Rewinding::default(),
            usage: UsageTable::default(),
            facts: KnownFacts::default(),
            waiting: VecDeque::new(),
            unanswered: 0,
            lead: Lead::Rests,
            begun: String::new(),
            armed: None,
            asked_worktree: None,
            clearing: None,
            at_terminal: typist == Typist::Person && io::stdout().is_terminal(),
            asked: Asked::new(typist),
            prompted: false,
            echoed: None,
            last_sent: MessageId::default(),
            sessions_of: None,
            memory: None,
            last_end: None,
            leaves: false,
        }
    }

    /// Notes which question stands at the end of what was written.
    pub(super) fn note_asked(&mut self) {
        let open = self.renderer.open().map(|request| &request.id);
        self.asked.note(open, self.waiting.is_empty(), std::time::Instant::now());
    }

    pub(super) fn is_idle(&self) -> bool {
        self.unanswered == 0
            && self.lead == Lead::Rests
            && self.renderer.tasks.running() == 0
            && self.renderer.owed() == 0
            && !self.renderer.commands.runs_own()
            && self.exporter.is_idle()
    }

    pub(super) fn write(&mut self, texts: Vec<String>) {
        if texts.is_empty() {
            return;
        }
        if std::mem::take(&mut self.prompted) {
            self.waiting.push_back("\n".to_owned());
        }
        self.waiting.extend(lines(texts));
    }

    pub(super) fn notice(&mut self, text: &str) {
        let lines = self.renderer.notice(text);
        self.write(lines);
    }

    pub(super) fn say(&mut self, known: Result<Vec<String>, &str>) {
        match known {
            Ok(lines) => self.write(lines),
            Err(why) => self.notice(why),
        }
    }

    /// Shows where to type, at a terminal and when there is nothing more to wait for.
    pub(super) fn prompt(&mut self) {
        let invites = self.is_idle() || self.renderer.open().is_some();
        if self.at_terminal && !self.prompted && invites {
            self.prompted = true;
            self.waiting.push_back(PROMPT.to_owned());
        }
    }

    pub(super) fn apply(&mut self, event: &LogEvent) {
        self.usage.apply(event);
        self.rewinding.apply(event);
        self.facts.apply(event);
        if let LogEvent::Agent(AgentEvent { agent: AgentId::MAIN, kind, .. }) = event {
            self.count(kind);
            if let EventKind::UserMessage { id: Some(id), .. } = kind
                && self.echoed.take_if(|echoed| echoed == id).is_some()
            {
                return;
            }
        }
        let lines = self.renderer.apply(event);
        self.write(lines);
    }

    /// Keeps count of what the main agent still has to answer.
    pub(super) fn count(&mut self, kind: &EventKind) {
        if let EventKind::Ended { outcome } = kind {
            self.last_end = Some(outcome.status);
        }
        self.unanswered = self.unanswered.saturating_sub(self.lead.apply(kind));
    }

    pub(super) fn order(&self, command: Command) {
        // It fails only if the engine is gone, which ends the events too.
        let _ = self.commands.send(command);
    }

    pub(super) fn send(&mut self, text: UserText) -> MessageId {
        self.unanswered += 1;
        let id = self.next_id();
        self.order(Command::Send { id, text });
        id
    }

    /// Returns what was typed last as a message. What was pasted or piped in names nothing.
    pub(super) fn said(&self, text: &str) -> UserText {
        if self.asked.is_own() {
            UserText::typed(text)
        } else {
            UserText::naming(text.to_owned(), BTreeSet::new(), true)
        }
    }

    pub(super) fn next_id(&mut self) -> MessageId {
        self.last_sent.0 += 1;
        self.last_sent
    }

    pub(super) fn typed(&mut self, line: &TypedLine) -> NextStep {
        self.asked.read(line, !self.begun.is_empty());
        let line = line.text.as_str();
        // The terminal has ended the line.
        let at_prompt = std::mem::take(&mut self.prompted);
        if let Some(begun) = line.strip_suffix('\\') {
            self.begun.push_str(begun);
            self.begun.push('\n');
            return NextStep::GoOn;
        }
        let text = std::mem::take(&mut self.begun) + line;
        let question = if self.renderer.open().is_some() { Question::Open } else { Question::None };
        if self.choose(&text) {
            return NextStep::GoOn;
        }
        match line_command::read(&text, question) {
            LineCommand::Nothing => {}
            LineCommand::Say(text) => {
                if !at_prompt && self.unanswered > 0 {
                    self.notice("queued until the current answer is complete");
                }
                let id = self.send(self.said(text));
                self.echoed = at_prompt.then_some(id).or(self.echoed);
            }
            LineCommand::Run(_) if !self.asked.is_alone() => {
                self.notice("not run: a command of your own is typed by itself, not pasted or piped");
            }
            LineCommand::Run(line) => self.order(Command::RunForUser { line: line.to_owned() }),
            LineCommand::HandOff(task) => self.order(Command::HandOff { task: self.said(task) }),
            LineCommand::Answer(answer) => self.answer(answer),
            LineCommand::Show => {
                let lines = self.renderer.details();
                self.write(lines);
            }
            LineCommand::Slash(_) if self.facts.is_skill(&text) => drop(self.send(self.said(&text))),
            LineCommand::Slash(written) => match SlashCommand::parse_plain(written, &self.facts.listed_skills()) {
                Ok((run, argument)) => run(self, argument),
                Err(_) if self.facts.name_prompt(written) => drop(self.send(self.said(&format!("/{written}")))),
                Err(why) => self.notice(&why),
            },
            LineCommand::Unclear(why) => self.notice(why),
        }
        if self.leaves { NextStep::Leave } else { NextStep::GoOn }
    }

    pub(super) fn arm(&mut self) {
        self.armed = Some(Instant::now() + CONFIRM);
    }

    pub(super) fn take_armed(&mut self) -> bool {
        self.armed.take().is_some_and(|until| Instant::now() <= until)
    }

    /// Interrupts the main agent, or leaves at the second time.
    pub(super) fn interrupted(&mut self) -> NextStep {
        // The terminal has shown it at the prompt.
        self.prompted = false;
        if self.renderer.commands.runs_own() {
            self.notice("stopping your command");
            self.order(Command::StopUserCommands);
            return NextStep::GoOn;
        }
        if self.take_armed() {
            return NextStep::Leave;
        }
        self.arm();
        if self.is_idle() {
            self.notice("ctrl-c again quits");
        } else {
            let kept = if self.renderer.tasks.waited_for() > 0 { "; its subagents keep running" } else { "" };
            self.notice(&format!("interrupting the main agent{kept}; ctrl-c again quits"));
            self.order(Command::Interrupt { children: Children::Keep });
        }
        NextStep::GoOn
    }

    /// Sends what a running agent is asked for.
    pub(super) fn order_of(&mut self, wanted: &str, command: impl FnOnce(&TaskList, AgentId) -> Command) {
        match self.renderer.tasks.find(wanted) {
            Some(agent) => self.order(command(&self.renderer.tasks, agent)),
            None => self.notice(&format!("no agent {wanted} is running; see /tasks")),
        }
    }

    fn answer(&mut self, answer: Answer) {
        let Some(request) = self.renderer.open() else { return };
        if !self.asked.counts_for(&request.id) {
            self.notice("too quick: read it first, then answer");
            return;
        }
        let answer = match answer {
            Answer::Once if request.is_of_plan() => Answer::Plan { accepts_edits: false, text: None },
            Answer::Always if request.is_of_plan() => Answer::Plan { accepts_edits: true, text: None },
            answer => answer,
        };
        if answer.is_lasting() && request.grant.is_none() {
            self.notice("this can only be allowed once");
            return;
        }
        let is_yes = answer.is_yes();
        if is_yes && !request.is_shown_whole() {
            self.notice("part of this cannot be shown: you can only deny it");
            return;
        }
        let id = request.id.clone();
        if is_yes && !self.renderer.is_told(&id) {
            let lines = self.renderer.details();
            self.write(lines);
            self.notice("shown in full: answer again");
            return;
        }
        self.settle(id, answer);
    }

    /// Takes a line as the answer to what an agent asks. Returns `false` if nothing is asked, or the line is a command or
    /// says no.
    fn choose(&mut self, typed: &str) -> bool {
        let is_no = matches!(typed.split_whitespace().next(), None | Some("n" | "no" | "s" | "show"));
        let asks = self.renderer.open().is_some_and(|request| request.questions().is_some());
        let is_order = typed.trim_start().starts_with('/') || MessageIntent::of(typed) != MessageIntent::Send;
        if !asks || is_no || is_order {
            return false;
        }
        if self.renderer.open().is_some_and(|request| !self.asked.counts_for(&request.id)) {
            self.notice("too quick: read it first, then answer");
            return true;
        }
        match self.renderer.choose(typed) {
            Some((id, ChoiceStep::All(answers))) => self.settle(id, Answer::Choices { answers }),
            Some((_, ChoiceStep::Next)) => {
                let lines = self.renderer.ask_again();
                self.write(lines);
            }
            Some((_, ChoiceStep::Unclear(why))) => self.notice(&why),
            None => return false,
        }
        true
    }

    fn settle(&mut self, id: ApprovalId, answer: Answer) {
        let lines = self.renderer.settle(&id);
        self.order(Command::Answer { id, answer });
        self.write(lines);
    }

    /// Answers every question with no, because nobody is there any more.
    pub(super) fn refuse_all(&mut self) {
        while let Some(request) = self.renderer.open() {
            let id = request.id.clone();
            let advice = unattended_advice(request);
            self.notice("denied: end of input");
            self.settle(id, Answer::Nobody { advice });
        }
    }
}
