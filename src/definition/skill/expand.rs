//! From a skill and its arguments to what a model reads.
//!
//! Pure. Owns `$ARGUMENTS`, `$1`, named arguments, the variables of places, `` !`command` `` and `@file`. Leaves running
//! and reading to `agent`. Source of the forms: the documentation of Claude Code. Invariant: the file is read once: nothing in
//! an argument begins a command, names a file, or is replaced in turn.

use std::sync::LazyLock;

use regex::Regex;

use super::command::{LineValue, Part, ValueKind, fill};
use super::{Skill, SkillOrigin};
use crate::message::{Effort, LoadedSkill, SkillPiece, sanitize, without_speakers};
use crate::permission::shell_words;

/// The effort of services that are asked for none: a stranger's file does not cost more than that.
const USUAL_EFFORT: Effort = Effort::High;
/// Commands of one skill that are run.
const MAX_COMMANDS: usize = 40;
/// Files of one skill that are read.
const MAX_FILES: usize = 10;
/// Bytes of the longest path that is looked for.
const MAX_PATH: usize = 512;

/// A command between backticks, at the start of a line or behind a blank.
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)(?:^|\s)!`([^`\n]+)`").ok());
/// What is replaced.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\$ARGUMENTS(?:\[(\d{1,3})\])?|\$\{([A-Z_]+)\}|\$(\d)|\$([A-Za-z_][A-Za-z0-9_-]*)").ok()
});

/// What is known beside the arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) arguments: &'a str,
    pub(super) session: &'a str,
}

impl Skill {
    /// Returns what a model reads when the skill is called with these arguments.
    #[must_use]
    pub fn load(&self, arguments: &str, session: &str) -> LoadedSkill {
        let mut template = Template::new(self, Values { arguments: arguments.trim(), session });
        let mut pieces = template.pieces(&self.body);
        if !template.took_arguments && !template.values.arguments.is_empty() {
            let rest = format!("\n\nARGUMENTS: {}", template.safe_arguments());
            pieces.push(SkillPiece::Text(rest));
        }
        LoadedSkill {
            name: self.name.clone(),
            origin: self.origin.label(),
            is_users: self.origin == SkillOrigin::User,
            path: self.path.clone(),
            pieces,
            files: files(&self.body),
            allowed_tools: self.allowed_tools.iter().map(|entry| template.with_places(entry)).collect(),
            disallowed_tools: self.disallowed_tools.iter().map(|entry| template.with_places(entry)).collect(),
            effort: self
                .effort
                .map(|wish| if self.origin == SkillOrigin::User { wish } else { wish.min(USUAL_EFFORT) }),
            model: self.model.clone(),
            hooks: self.hooks.clone(),
            fork: self.fork.as_ref().map(|fork| fork.agent.clone().unwrap_or_else(|| "general-purpose".to_owned())),
        }
    }
}

struct Template<'a> {
    skill: &'a Skill,
    values: Values<'a>,
    words: Vec<String>,
    /// What `$1` counts from: the documentation counts from 0, files that were written before it from 1.
    first: usize,
    took_arguments: bool,
}

/// Where a placeholder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    Prose,
    /// An example, in which `$1` may be what it is in that language.
    Code,
    Command,
}

impl<'a> Template<'a> {
    fn new(skill: &'a Skill, values: Values<'a>) -> Self {
        let counts_from_zero = skill.body.contains("$ARGUMENTS[")
            || blocks(&skill.body).iter().any(|block| matches!(block, Block::Prose(text) if text.contains("$0")));
        let words = words(values.arguments);
        Self { skill, values, words, first: usize::from(!counts_from_zero), took_arguments: false }
    }

    fn safe_arguments(&self) -> String {
        without_speakers(&sanitize(self.values.arguments)).into_owned()
    }

    /// Cuts a text at its commands. Those in a block of code are an example, unless the block is one of commands.
    fn pieces(&mut self, text: &str) -> Vec<SkillPiece> {
        let mut pieces = Vec::new();
        let mut commands = 0;
        for block in blocks(text) {
            match block {
                Block::Commands { line, end } if commands < MAX_COMMANDS => {
                    commands += 1;
                    pieces.extend([self.command(line), SkillPiece::Text(end.to_owned())]);
                }
                Block::Prose(text) => {
                    let mut from = 0;
                    let found = COMMAND.iter().flat_map(|form| form.captures_iter(text));
                    for line in found.filter_map(|captures| captures.get(1)).take(MAX_COMMANDS - commands) {
                        pieces.push(SkillPiece::Text(self.filled(&text[from..line.start() - 2], Site::Prose)));
                        pieces.push(self.command(line.as_str()));
                        from = line.end() + 1;
                        commands += 1;
                    }
                    pieces.push(SkillPiece::Text(self.filled(&text[from..], Site::Prose)));
                }
                Block::Code(text) => pieces.push(SkillPiece::Text(self.filled(text, Site::Code))),
                Block::Commands { line, .. } => pieces.push(SkillPiece::Text(self.filled(line, Site::Code))),
            }
        }
        pieces
    }

    /// Returns a command, in which an argument is a word and nothing else.
    fn command(&mut self, line: &str) -> SkillPiece {
        match fill(&self.parts(line, Site::Command)) {
            Ok(filled) => {
                self.took_arguments |= filled.has_callers;
                SkillPiece::Command { line: filled.line, has_arguments: filled.has_callers }
            }
            Err(why) => {
                self.took_arguments = true;
                SkillPiece::Refused(why)
            }
        }
    }

    /// Returns a text for models with its placeholders filled in.
    fn filled(&mut self, text: &str, site: Site) -> String {
        let mut filled = String::with_capacity(text.len());
        for part in self.parts(text, site) {
            match part {
                Part::Written(text) => filled.push_str(text),
                Part::Value(value) => {
                    self.took_arguments |= matches!(value.kind, ValueKind::Callers | ValueKind::Position);
                    filled.push_str(&value.text);
                }
            }
        }
        without_speakers(&filled).into_owned()
    }

    /// Cuts a text at its placeholders. One for which there is no argument stays as it is written.
    fn parts<'t>(&self, text: &'t str, site: Site) -> Vec<Part<'t>> {
        let Some(form) = PLACEHOLDER.as_ref() else { return vec![Part::Written(text)] };
        let (mut parts, mut from) = (Vec::new(), 0);
        for captures in form.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            let group = |at| captures.get(at).map(|found| found.as_str());
            let (mut start, mut written) = (whole.start(), whole.as_str());
            let said =
                |found: Option<&String>| found.map(|word| (sanitize(word).into_owned(), None, ValueKind::Callers));
            let mut value = match (group(1), group(2), group(3), group(4)) {
                (Some(at), ..) => said(self.words.get(at.parse().unwrap_or(usize::MAX))),
                (_, Some(name), ..) => self.variable(name).map(|place| (place, None, ValueKind::Place)),
                (_, _, Some(_), _) if site == Site::Code && !self.names_arguments() => None,
                (_, _, Some(digit), _) => {
                    let value = said(self.position(digit, &text[whole.end()..]));
                    value.map(|(text, words, _)| (text, words, ValueKind::Position))
                }
                (.., Some(name)) => said(self.named(name)),
                _ => Some(self.all()),
            };
            let can_be_escaped = group(2).is_none() && (group(3).is_some() || value.is_some());
            if text[..start].ends_with('$') {
                value = None;
            } else if text[..start].ends_with('\\') && can_be_escaped && (site != Site::Code || value.is_some()) {
                value = Some((written.to_owned(), None, ValueKind::Escaped));
                start -= 1;
                written = &text[start..whole.end()];
            }
            if let Some((value, words, kind)) = value {
                parts.push(Part::Written(&text[from..start]));
                parts.push(Part::Value(LineValue { written, text: value, words, kind }));
                from = whole.end();
            }
        }
        parts.push(Part::Written(&text[from..]));
        parts
    }

    /// Returns `true` if the head says that there are arguments.
    fn names_arguments(&self) -> bool {
        self.skill.argument_hint.is_some() || !self.skill.arguments.is_empty()
    }

    fn all(&self) -> (String, Option<Vec<String>>, ValueKind) {
        let words = self.words.iter().map(|word| sanitize(word).into_owned()).collect();
        (sanitize(self.values.arguments).into_owned(), Some(words), ValueKind::Callers)
    }

    /// Returns the argument that `$1` names. `$10`, `$5,000`, `$1.50` and `$2b` are prices and the like.
    fn position(&self, digit: &str, after: &str) -> Option<&String> {
        let mut after = after.chars();
        let is_number = match after.next() {
            Some(c) if c.is_alphanumeric() => true,
            Some(',' | '.') => after.next().is_some_and(|c| c.is_ascii_digit()),
            _ => false,
        };
        let at = digit.parse::<usize>().ok()?.checked_sub(self.first)?;
        self.words.get(at).filter(|_| !is_number)
    }

    fn named(&self, name: &str) -> Option<&String> {
        self.words.get(self.skill.arguments.iter().position(|known| known == name)?)
    }

    /// Returns an entry of `allowed-tools` with the folders that it names.
    fn with_places(&self, entry: &str) -> String {
        ["CLAUDE_SKILL_DIR", "CLAUDE_PLUGIN_ROOT"].into_iter().fold(entry.to_owned(), |entry, name| {
            self.variable(name).map_or(entry.clone(), |place| entry.replace(&format!("${{{name}}}"), &place))
        })
    }

    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "CLAUDE_SKILL_DIR" => Some(self.skill.folder().to_string_lossy().into_owned()),
            "CLAUDE_PLUGIN_ROOT" => self.skill.plugin_root.as_ref().map(|root| root.to_string_lossy().into_owned()),
            "CLAUDE_SESSION_ID" => Some(self.values.session.to_owned()),
            _ => None,
        }
    }
}

/// Returns the arguments one by one: between blanks, those in quotes as one. A quote that is never closed is a letter.
fn words(arguments: &str) -> Vec<String> {
    let words = shell_words(arguments);
    let is_open = ['"', '\''].iter().any(|quote| !arguments.matches(*quote).count().is_multiple_of(2));
    if is_open { arguments.split_whitespace().map(str::to_owned).collect() } else { words }
}

enum Block<'a> {
    Prose(&'a str),
    /// A block of code, with its fences.
    Code(&'a str),
    /// What stands between fences that say that it is to be run, and the end of their last line.
    Commands {
        line: &'a str,
        end: &'a str,
    },
}

/// Cuts a text at the fences of its blocks of code.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut from, mut at) = (0, 0);
    // Where the open block begins, its fence, and where its first line does.
    let mut open: Option<(&str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let bare = line.trim();
        match open {
            None if bare.starts_with("```") || bare.starts_with("~~~") => {
                blocks.push(Block::Prose(&text[from..start]));
                (from, open) = (start, Some((bare, end)));
            }
            Some((fence, inside)) if closes(bare, fence) => {
                let is_run = fence.trim_start_matches('`').trim() == "!";
                let commands =
                    Block::Commands { line: text[inside..start].trim(), end: &line[line.trim_end().len()..] };
                blocks.push(if is_run { commands } else { Block::Code(&text[from..end]) });
                (from, open) = (end, None);
            }
            _ => {}
        }
    }
    let rest = &text[from..];
    blocks.push(if open.is_some() { Block::Code(rest) } else { Block::Prose(rest) });
    blocks
}

/// Returns `true` if a line ends the block that a fence has begun.
fn closes(line: &str, fence: &str) -> bool {
    let sign = fence.chars().next().unwrap_or('`');
    let length = fence.chars().take_while(|c| *c == sign).count();
    line.chars().count() >= length && line.chars().all(|c| c == sign)
}

/// Returns the files that the prose of a skill names as `@path`, as written; whether they are there is not known.
fn files(body: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for block in blocks(body) {
        let Block::Prose(text) = block else { continue };
        for word in text.split_whitespace() {
            let Some(path) = word.strip_prefix('@').filter(|path| path.len() <= MAX_PATH) else { continue };
            let path = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '"', '*', '`']);
            let is_path = path.contains(['/', '.']) && !path.contains(['@', '(', '$', '`']);
            if is_path && !files.iter().any(|known| known == path) && files.len() < MAX_FILES {
                files.push(path.to_owned());
            }
        }
    }
    files
}
