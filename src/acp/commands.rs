//! The slash commands that an editor lists, and what those of the program do there.
//!
//! Owns which of them make sense without a screen of ours. Skills, commands of the user's own and prompts of servers are
//! messages: what is behind them is found where every message is.

use super::schema::{AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, UnstructuredCommandInput};
use crate::app::SlashCommand;
use crate::definition::skill::SkillCatalog;
use crate::message::sanitize_line;

/// What the program's own commands do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditorCommand {
    /// Puts a summary in the place of the conversation; the words say what to keep.
    Compact(Option<String>),
    /// Has the main agent write the memory file of the project.
    Init,
    /// Shows what the folder brings, and asks whether to use it.
    Trust,
}

/// The commands of the program that an editor lists.
const NAMES: [&str; 3] = ["compact", "init", "trust"];

/// Reads a message that is a command of the program. A skill of the same name counts less, as everywhere.
pub(super) fn read(text: &str) -> Option<EditorCommand> {
    let line = text.trim().strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match name {
        "compact" => Some(EditorCommand::Compact(Some(rest.trim().to_owned()).filter(|wish| !wish.is_empty()))),
        "init" => Some(EditorCommand::Init),
        "trust" => Some(EditorCommand::Trust),
        _ => None,
    }
}

/// Lists the commands, the program's own first.
pub(super) fn available(skills: &SkillCatalog) -> AvailableCommandsUpdate {
    let own = NAMES.iter().filter_map(|name| SlashCommand::find(name)).map(|command| {
        let argument = (command.name == "compact").then(|| command.arguments.to_owned());
        listed(command.name, command.help, argument)
    });
    let of_skills = skills.all();
    let skills = of_skills.iter().filter(|skill| skill.is_for_users && SlashCommand::find(&skill.name).is_none());
    let skills = skills.map(|skill| {
        let hint = skill.argument_hint.as_deref().map(|hint| sanitize_line(hint).into_owned());
        listed(&sanitize_line(&skill.name), &sanitize_line(&skill.description), hint)
    });
    AvailableCommandsUpdate::new(own.chain(skills).collect())
}

fn listed(name: &str, about: &str, hint: Option<String>) -> AvailableCommand {
    let input = hint.filter(|hint| !hint.is_empty()).map(UnstructuredCommandInput::new);
    AvailableCommand::new(name, about).input(input.map(AvailableCommandInput::Unstructured))
}
