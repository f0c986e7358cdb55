//! What a typed line means.
//!
//! Owns the answers. Leaves the slash commands to their table in `app`. Invariant: a line answers a question only if one was open when the line came, so
//! that no word typed ahead says yes to what nobody has read.

use crate::app::{COMMANDS, MessageIntent};
use crate::permission::Answer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineCommand<'a> {
    Nothing,
    Say(&'a str),
    /// Run a command of the user's own.
    Run(&'a str),
    /// Hand it to an agent in the background.
    HandOff(&'a str),
    Answer(Answer),
    /// See all of what the open question is about.
    Show,
    /// A slash command, without its slash.
    Slash(&'a str),
    /// Something else; says what.
    Unclear(&'static str),
}

pub(super) fn help() -> Vec<String> {
    let mut lines = vec![
        "A line is sent to the main agent; end it with \\ to continue on the next line.".to_owned(),
        "A line that begins with ! runs a command of your own; one that ends in & is handed to a background agent."
            .to_owned(),
        "Answer a question with y (once), a (this session), p (this project), n (no) or n and a reason; s shows all \
         of it."
            .to_owned(),
    ];
    let commands = COMMANDS.iter().filter_map(|command| Some((command.name, command.plain?.help)));
    lines.extend(commands.filter(|(_, help)| !help.is_empty()).map(|(name, help)| format!("/{name} {help}")));
    lines.push("Ctrl-C interrupts the main agent, and its subagents keep running; twice, it quits.".to_owned());
    lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Open,
    None,
}

pub(super) fn read(line: &str, question: Question) -> LineCommand<'_> {
    let intent = MessageIntent::of(line);
    let line = line.trim();
    if let Some(command) = line.strip_prefix('/').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return LineCommand::Slash(command);
    }
    let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let answer = match (word, rest) {
        ("", _) => return LineCommand::Nothing,
        ("y" | "Y" | "yes", "") => LineCommand::Answer(Answer::Once),
        ("a" | "A" | "always", "") => LineCommand::Answer(Answer::Always),
        ("w" | "W" | "everyone", "") => LineCommand::Answer(Answer::Everyone),
        ("p" | "P" | "project", "") => LineCommand::Answer(Answer::Project),
        ("n" | "N" | "no", "") => LineCommand::Answer(Answer::No { comment: None }),
        ("n" | "N" | "no", reason) if question == Question::Open => {
            LineCommand::Answer(Answer::No { comment: Some(reason.to_owned()) })
        }
        ("s" | "S" | "show", "") => LineCommand::Show,
        _ if question == Question::Open && !matches!(intent, MessageIntent::Run(_)) => {
            return LineCommand::Unclear(match intent {
                MessageIntent::HandOff(_) => "not handed on: answer the question first",
                _ => "answer the question first: y, a, w, p, n or s",
            });
        }
        _ => {
            return match intent {
                MessageIntent::Send => LineCommand::Say(line),
                MessageIntent::Run(command) => LineCommand::Run(command),
                MessageIntent::HandOff(task) => LineCommand::HandOff(task),
            };
        }
    };
    match question {
        Question::Open => answer,
        Question::None => LineCommand::Unclear("nothing to approve"),
    }
}
