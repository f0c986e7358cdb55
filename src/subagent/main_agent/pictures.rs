//! Pictures that a message of the user names as files: `@image.png`.
//!
//! Owns which words are such names, and putting the mark of the picture behind each. Leaves keeping it to `session`.
//! Invariants: a file is read only if the message names it and agents may read it unasked; what is no picture stays a word.

use std::path::{Path, PathBuf};

use crate::agent::EventKind;
use crate::message::{AgentId, FittedPicture, picture_mark, sanitize_line};
use crate::permission::{Access, AccessKind, Decision, Permissions};
use crate::session::{PictureStore, read_picture};
use crate::subagent::Command;
use crate::subagent::tree::Tree;

/// Pictures of one message.
const MAX_NAMED: usize = 10;
const ENDS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

impl Tree {
    /// Returns a command with the marks of the pictures that its message names, if it has one.
    pub(in crate::subagent) async fn attach_named(&self, command: Command) -> Command {
        match command {
            Command::Send { id, text } => Command::Send { id, text: self.with_pictures(text).await },
            Command::Message { agent, id, text } => {
                Command::Message { agent, id, text: self.with_pictures(text).await }
            }
            Command::Resume { agent, message: Some((id, text)) } => {
                Command::Resume { agent, message: Some((id, self.with_pictures(text).await)) }
            }
            Command::HandOff { task } => Command::HandOff { task: self.with_pictures(task).await },
            other => other,
        }
    }

    /// Returns a message of the user with the mark of its picture behind each file of one that it names. What is attached,
    /// and what cannot be, is said.
    pub(in crate::subagent) async fn with_pictures(&self, text: String) -> String {
        let named = named(&text);
        if named.is_empty() {
            return text;
        }
        let setup = self.setup();
        let (pictures, place, permissions) = (setup.pictures.clone(), setup.place.clone(), setup.permissions.clone());
        let (home, unchanged) = (setup.user_dirs.home.clone(), text.clone());
        let attach = move || {
            let (mut attached, mut told) = (Vec::new(), Vec::new());
            for (name, end) in named {
                // Of what is not there, the model may make something.
                let Ok(path) = resolved(&name, &place.cwd, home.as_deref()).canonicalize() else { continue };
                match attach(&path, &permissions, &pictures) {
                    Ok((number, words)) => {
                        attached.push((end, number));
                        told.push(format!("{}: {}, {}", picture_mark(number), sanitize_line(&name), words));
                    }
                    Err(why) => told.push(format!("Not attached: {} {why}", sanitize_line(&name))),
                }
            }
            let mut marked = text;
            // From the end, so that the places before stay what they are.
            for (end, number) in attached.into_iter().rev() {
                marked.insert_str(end, &format!(" {}", picture_mark(number)));
            }
            (marked, told)
        };
        let (text, told) = tokio::task::spawn_blocking(attach).await.unwrap_or((unchanged, Vec::new()));
        for line in told {
            self.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text: line }).await;
        }
        text
    }
}

/// Attaches a picture that agents may read without a question: a message may quote others, who name other files.
fn attach(path: &Path, permissions: &Permissions, pictures: &PictureStore) -> Result<(u32, String), String> {
    let access = Access::new("Read", AccessKind::Read { path: path.to_path_buf() });
    if permissions.decide(&access) != Decision::Allow {
        return Err("is out of reach here: paste its path instead, or copy it into the project".to_owned());
    }
    let bytes = read_picture(path)?;
    let picture = FittedPicture::of(bytes)?;
    let number = pictures.keep(&picture.bytes).map_err(|error| format!("cannot be kept: {error}"))?;
    Ok((number, picture.words()))
}

fn resolved(name: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (name.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => cwd.join(name),
    }
}

/// Returns the names of pictures that a text mentions, and where each mention ends: `@logo.png`, `@"my logo.png"`.
fn named(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('@') {
        let stands_alone = text[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == '(');
        let rest = &text[at + 1..];
        let (name, length) = if let Some(quoted) = rest.strip_prefix('"') {
            let Some((name, _)) = quoted.split_once('"') else { continue };
            (name, name.len() + 2)
        } else {
            let word = rest.split(char::is_whitespace).next().unwrap_or_default();
            let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']']);
            (word, word.len())
        };
        let end = Path::new(name).extension().and_then(|end| end.to_str()).unwrap_or_default();
        if stands_alone && ENDS.iter().any(|known| known.eq_ignore_ascii_case(end)) && found.len() < MAX_NAMED {
            found.push((name.to_owned(), at + 1 + length));
        }
    }
    found
}
