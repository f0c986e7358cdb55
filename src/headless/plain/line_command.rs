//! What a typed line means.
//!
//! Owns the commands and the answers. Invariant: a line answers a question only if one was open when the line came, so
//! that no word typed ahead says yes to what nobody has read.

use crate::agent::WorktreeAct;
use crate::app::{COMMANDS, SlashCommand};
use crate::permission::Answer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineCommand {
    Nothing,
    Say(String),
    Answer(Answer),
    /// See all of what the open question is about.
    Show,
    Stop(String),
    /// Make one agent report now, by its number or name.
    WrapUp(String),
    /// Resume one ended agent, perhaps with a message.
    Resume(String, Option<String>),
    /// Move one agent to the background, or back.
    Move(String),
    StopAll,
    /// Merge or discard what an agent did in its worktree, by number, name or branch.
    Worktree(WorktreeAct, String),
    /// List the unmerged worktrees for that.
    Worktrees,
    Tasks,
    Cost,
    /// See the budget, or change it with these words.
    Budget(String),
    Model(String),
    Help,
    Clear,
    Quit,
    /// Something else; says what.
    Unclear(String),
}

pub(super) fn help() -> Vec<String> {
    let mut lines = vec![
        "A line is sent to the main agent; end it with \\ to continue on the next line.".to_owned(),
        "Answer a question with y (once), a (this session), p (this project), n (no) or n and a reason; s shows all \
         of it."
            .to_owned(),
    ];
    let commands = COMMANDS.iter().filter_map(|command| Some((command, command.plain?)));
    lines.extend(commands.map(|(command, what)| format!("/{} {what}", command.name)));
    lines.push("Ctrl-C interrupts the main agent, and its subagents keep running; twice, it quits.".to_owned());
    lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Open,
    None,
}

pub(super) fn read(line: &str, question: Question) -> LineCommand {
    let line = line.trim();
    if let Some(command) = line.strip_prefix('/').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return read_command(command);
    }
    let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let answer = match (word, rest) {
        ("", _) => return LineCommand::Nothing,
        ("y" | "Y" | "yes", "") => LineCommand::Answer(Answer::Once),
        ("a" | "A" | "always", "") => LineCommand::Answer(Answer::Always),
        ("p" | "P" | "project", "") => LineCommand::Answer(Answer::Project),
        ("n" | "N" | "no", "") => LineCommand::Answer(Answer::No { comment: None }),
        ("n" | "N" | "no", reason) if question == Question::Open => {
            LineCommand::Answer(Answer::No { comment: Some(reason.to_owned()) })
        }
        ("s" | "S" | "show", "") => LineCommand::Show,
        _ if question == Question::Open => {
            return LineCommand::Unclear("answer the question first: y, a, p, n or s".to_owned());
        }
        _ => return LineCommand::Say(line.to_owned()),
    };
    match question {
        Question::Open => answer,
        Question::None => LineCommand::Unclear("nothing to approve".to_owned()),
    }
}

fn read_command(command: &str) -> LineCommand {
    let (name, argument) = command.split_once(' ').map_or((command, ""), |(name, rest)| (name, rest.trim()));
    let known = SlashCommand::find(name);
    match (known.map_or(name, |command| command.name), argument) {
        ("cancel", "all") => LineCommand::StopAll,
        ("cancel" | "wrapup" | "resume" | "background", "") => {
            LineCommand::Unclear(format!("usage: /{name} N (see /tasks)"))
        }
        ("cancel", agent) => LineCommand::Stop(agent.to_owned()),
        ("wrapup", agent) => LineCommand::WrapUp(agent.to_owned()),
        ("background", agent) => LineCommand::Move(agent.to_owned()),
        ("resume", words) => {
            let (agent, text) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
            LineCommand::Resume(agent.to_owned(), Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        }
        ("worktrees", _) => LineCommand::Worktrees,
        ("merge" | "discard", "") => LineCommand::Unclear(format!("usage: /{name} N (see /worktrees)")),
        ("merge", which) => LineCommand::Worktree(WorktreeAct::Merge, which.to_owned()),
        ("discard", which) => LineCommand::Worktree(WorktreeAct::Discard, which.to_owned()),
        ("tasks" | "agents", _) => LineCommand::Tasks,
        ("cost", _) => LineCommand::Cost,
        ("budget", words) => LineCommand::Budget(words.to_owned()),
        ("model", "") => LineCommand::Unclear("usage: /model PROVIDER/NAME".to_owned()),
        ("model", name) => LineCommand::Model(name.to_owned()),
        ("clear", _) => LineCommand::Clear,
        ("help", _) => LineCommand::Help,
        ("quit", _) => LineCommand::Quit,
        _ if known.is_some() => LineCommand::Unclear(format!("/{name} works only on the screen; see /help")),
        _ => LineCommand::Unclear(format!("no command /{name}; see /help")),
    }
}
