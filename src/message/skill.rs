//! A skill on its way to a model: what it says, and what is still to be run and read for it.

use std::path::PathBuf;

use serde_json::Value;

use super::{Effort, escape_tags, sanitize_line, tag_name};

/// The tag around a skill.
const TAG: &str = "skill";

/// A skill that was called, with its arguments filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSkill {
    pub name: String,
    /// Whose it is, for people.
    pub origin: String,
    /// Whether the user has written it.
    pub is_users: bool,
    /// Its file.
    pub path: PathBuf,
    pub pieces: Vec<SkillPiece>,
    /// Files that it names, as written, relative to the working directory. They need not be there.
    pub files: Vec<String>,
    /// What may happen without a question while it is carried out, as written.
    pub allowed_tools: Vec<String>,
    /// What may not happen meanwhile, as written.
    pub disallowed_tools: Vec<String>,
    pub effort: Option<Effort>,
    pub model: Option<String>,
    /// The kind of agent that carries it out in a conversation of its own.
    pub fork: Option<String>,
    pub hooks: Option<SkillHooks>,
}

/// What the file of a skill says of hooks that run while it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillHooks {
    /// As settings say it.
    pub value: Value,
    /// Whether the file comes with the project.
    pub is_projects: bool,
    /// The folder of the plugin that it is part of.
    pub plugin: Option<PathBuf>,
}

impl LoadedSkill {
    /// Returns what a model reads of the skill, set apart: `text` is what it says in the end.
    #[must_use]
    pub fn element(&self, text: &str) -> String {
        let folder = self.path.parent().unwrap_or(&self.path).to_string_lossy();
        let attribute = |text: &str| sanitize_line(text).replace(['"', '<', '>'], "_");
        let text = escape_tags(text.trim(), |piece| tag_name(piece).eq_ignore_ascii_case(TAG));
        let (name, folder) = (attribute(&self.name), attribute(&folder));
        format!("<{TAG} name=\"{name}\" folder=\"{folder}\">\n{text}\n</{TAG}>")
    }
}

/// A part of what a skill says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillPiece {
    Text(String),
    /// A line of commands whose output stands in its place.
    Command {
        line: String,
        /// Whether something of the caller's is a part of it.
        has_arguments: bool,
    },
    /// A line that is not run, and why.
    Refused(&'static str),
}
