//! New agent files: from what a user chose to a file on the disk.
//!
//! Owns what is written and how, and what a model's answer says that is asked for a draft. Leaves asking the user to the
//! front ends. Invariants: a file that is written here is strict YAML and reads back as the same agent; it is whole or
//! not there; an existing file is never overwritten.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{AgentDefinition, Source, Tier, ToolsField, load};
use crate::message::sanitize;
use crate::whole_file::WrittenFile;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDraft {
    /// Name, see [`AgentDraft::check_name`].
    pub name: String,
    /// When to use it.
    pub description: String,
    pub tools: ToolsField,
    /// Model; `None` inherits.
    pub model: Option<String>,
    /// Colour by name or as `#rrggbb`.
    pub color: Option<String>,
    pub prompt: String,
}

/// Characters of the longest name.
const LONGEST_NAME: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("{0}")]
    Name(&'static str),
    #[error("{} already exists. Choose another name, or edit that file.", .0.display())]
    Exists(PathBuf),
    #[error("Cannot write {}: {error}. Choose another folder, or fix its permissions.", path.display())]
    Disk { path: PathBuf, error: std::io::Error },
}

impl AgentDraft {
    /// Checks a name for a new file: lower case letters, digits and single dashes, as Claude Code asks for. The error
    /// says what is wrong.
    pub fn check_name(name: &str) -> Result<(), &'static str> {
        if name.is_empty() {
            return Err("Enter a name, such as test-runner.");
        }
        if name.len() > LONGEST_NAME {
            return Err("Use 64 characters or fewer.");
        }
        if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err("Use lowercase letters, digits and dashes.");
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            return Err("Put single dashes between other characters only.");
        }
        Ok(())
    }

    /// Checks a colour for a new file: the name of one, or `#rrggbb`. The error says what is wrong. The themes know
    /// which names have a colour; any word will do here.
    pub fn check_color(color: &str) -> Result<(), &'static str> {
        let fits = match color.strip_prefix('#') {
            Some(digits) => matches!(digits.len(), 3 | 6) && digits.bytes().all(|c| c.is_ascii_hexdigit()),
            None => {
                color.starts_with(|c: char| c.is_ascii_alphabetic())
                    && color.chars().all(|c| c.is_ascii_alphanumeric() || "-_ ".contains(c))
            }
        };
        if fits { Ok(()) } else { Err("Enter a color such as blue, or a hex code such as #ff8800.") }
    }

    /// Returns a name that fits and is close to a text; empty if nothing of the text can stand in a name.
    pub fn name_like(text: &str) -> String {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
        let mut name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        name.truncate(LONGEST_NAME);
        name.trim_end_matches('-').to_owned()
    }

    /// Returns the draft that a model's answer holds: an agent file inside `<answer>`, in a code fence, or alone. On
    /// failure, returns what is wrong with the file, in one sentence.
    pub fn from_answer(text: &str) -> Result<Self, String> {
        let parsed = load::parse(answered_file(text), Source { tier: Tier::CommandLine, path: None });
        match parsed.definition {
            Some(definition) => Ok(Self::from(&definition)),
            None => Err(parsed.diagnostics.first().map_or_else(String::new, |error| error.message.clone())),
        }
    }

    /// Returns the draft as it is read back from its file: without what no agent file can hold, such as spaces at its
    /// ends, and what no description may, such as control characters.
    #[must_use]
    pub fn settled(&self) -> Self {
        let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
        Self {
            // A reader takes these two characters for a line end, because generators write them so. What may not stand
            // between them goes first.
            description: sanitize(&lines(&self.description)).replace("\\n", "\n").trim().to_owned(),
            prompt: lines(&self.prompt).trim().to_owned(),
            ..self.clone()
        }
    }

    pub fn to_text(&self) -> String {
        let Self { name, description, prompt, .. } = self.settled();
        let mut text = format!("---\nname: {}\ndescription: {}\n", quoted(&name), long_text(&description));
        if let ToolsField::List(names) = &self.tools {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(text, "tools: [{}]", names.join(", "));
        }
        for (key, value) in [("model", &self.model), ("color", &self.color)] {
            if let Some(value) = value {
                let _ = writeln!(text, "{key}: {}", quoted(value));
            }
        }
        let _ = write!(text, "---\n\n{prompt}\n");
        text
    }

    /// Writes the file into a folder, which is made if it is missing, and returns its path. Fails if the name does not
    /// fit, there is such a file, or the disk says no.
    pub fn create_in(&self, folder: &Path) -> Result<WrittenFile, DraftError> {
        Self::check_name(&self.name).map_err(DraftError::Name)?;
        write_new(&folder.join(format!("{}.md", self.name)), &self.to_text())
    }
}

impl From<&AgentDefinition> for AgentDraft {
    fn from(definition: &AgentDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            description: definition.description.clone(),
            tools: definition.tools.clone(),
            model: definition.model.clone(),
            color: definition.color.clone(),
            prompt: definition.prompt.clone(),
        }
    }
}

/// Writes a new file, whole or not at all. Fails if there is such a file, or the disk says no.
pub fn write_new(path: &Path, text: &str) -> Result<WrittenFile, DraftError> {
    let disk = |error| DraftError::Disk { path: path.to_path_buf(), error };
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(disk)?;
    let mut file = unfinished(folder).map_err(disk)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(disk)?;
    match file.persist_noclobber(path) {
        Ok(_) => {
            // The name is on the disk once the folder is. Not every file system can be asked for that, and the file
            // is there all the same.
            let _ = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
            Ok(WrittenFile { path: path.to_path_buf(), text: text.to_owned() })
        }
        Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(DraftError::Exists(path.to_path_buf()))
        }
        Err(refused) => Err(disk(refused.error)),
    }
}

/// Returns a file that is gone with its handle until it gets its name. It has the permissions of any new file and not
/// those of a temporary one, which nobody else may read.
fn unfinished(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-agent");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The system takes away what the umask names.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Cuts the file out of an answer. What stands before its head shows where it ends: the prompt may hold tags and
/// fences of its own.
fn answered_file(text: &str) -> &str {
    let head = |text: &str| -> usize {
        text.split_inclusive('\n').take_while(|line| line.trim() != "---").map(str::len).sum()
    };
    let text = match text.split_once("<answer>") {
        Some((before, rest)) if head(before) == before.len() => {
            rest.rsplit_once("</answer>").map_or(rest, |(file, _)| file)
        }
        _ => text,
    };
    let (before, file) = text.split_at(head(text));
    if file.is_empty() {
        return text;
    }
    let is_fenced = before.lines().next_back().is_some_and(|line| line.trim_start().starts_with("```"));
    if is_fenced { file.rsplit_once("\n```").map_or(file, |(file, _)| file) } else { file }
}

/// Returns a long text as a block that people can read, where YAML gives it back unchanged, else quoted.
fn long_text(text: &str) -> String {
    let is_readable = |c: char| c == '\n' || is_plain(c);
    if !text.contains('\n') || !text.chars().all(is_readable) {
        return quoted(text);
    }
    let mut block = String::from("|-");
    for line in text.split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.push_str("  ");
            block.push_str(line);
        }
    }
    block
}

/// Returns a value as YAML's double-quoted scalar.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            c if is_plain(c) => write!(out, "{c}"),
            c => write!(out, "\\U{:08x}", u32::from(c)),
        };
    }
    out.push('"');
    out
}

/// Returns `true` if a character stands for itself in YAML: it can be seen, ends no line, and is not dropped by a reader.
fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}
