//! Pictures that a message of the user names as files: `@image.png`.
//!
//! Owns which mentions are such names, and putting the mark of the picture behind each. Leaves keeping it to `session`.
//! Invariants: a file is read only if the user names it and agents may read it unasked, judged by where its links lead; what
//! is no picture stays a word.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::agent::EventKind;
use crate::message::{AgentId, Mention, UserText, picture_mark, sanitize_line};
use crate::permission::{Access, AccessKind, Decision, Permissions};
use crate::session::{PictureStore, read_picture};
use crate::subagent::tree::Tree;

/// Pictures of one message.
const MAX_NAMED: usize = 10;
const ENDS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

impl Tree {
    /// Returns a message of the user with the mark of its picture behind each file of one that it names. What is attached,
    /// and what cannot be, is said. Nothing more is read once it is stopped.
    pub(in crate::subagent) async fn with_pictures(&self, said: UserText, stop: &CancellationToken) -> UserText {
        let named = named(said.mentions());
        let others: Vec<String> =
            named_by(said.others()).map(|mention| mention.name.to_owned()).take(MAX_NAMED).collect();
        if named.is_empty() && others.is_empty() {
            return said;
        }
        let setup = self.setup();
        let (pictures, place, permissions) = (setup.pictures.clone(), setup.place.clone(), setup.permissions.clone());
        let (home, unchanged, stop) = (setup.user_dirs.home.clone(), said.clone(), stop.clone());
        let attach = move || {
            let (mut attached, mut told) = (Vec::new(), Vec::new());
            let found = |name: &str| resolved(name, &place.cwd, home.as_deref()).canonicalize().ok();
            for (name, end) in named {
                // Of what is not there, the model may make something.
                let Some(path) = found(&name).filter(|_| !stop.is_cancelled()) else { continue };
                match attach(&path, &permissions, &pictures) {
                    Ok((number, words)) => {
                        attached.push((end, number));
                        told.push(format!("{}: {}, {}", picture_mark(number), sanitize_line(&name), words));
                    }
                    Err(why) => told.push(format!("Not attached: {} {why}", sanitize_line(&name))),
                }
            }
            for name in others.iter().filter(|name| found(name).is_some()) {
                told.push(format!("Not attached: {} was pasted, not typed", sanitize_line(name)));
            }
            let mut marked = said.text.clone();
            // From the end, so that the places before stay what they are.
            for (end, number) in attached.into_iter().rev() {
                marked.insert_str(end, &format!(" {}", picture_mark(number)));
            }
            (said.with_text(marked), told)
        };
        let (said, told) = tokio::task::spawn_blocking(attach).await.unwrap_or((unchanged, Vec::new()));
        for line in told {
            self.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text: line }).await;
        }
        said
    }
}

/// Attaches a picture that agents may read without a question: a message may quote others, who name other files.
fn attach(path: &Path, permissions: &Permissions, pictures: &PictureStore) -> Result<(u32, String), String> {
    let access = Access::new("Read", AccessKind::Read { path: path.to_path_buf() });
    if permissions.decide(&access) != Decision::Allow {
        return Err("is out of reach here: paste its path instead, or copy it into the project".to_owned());
    }
    pictures.attach(read_picture(path)?)
}

fn resolved(name: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (name.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => cwd.join(name),
    }
}

/// Returns those of these mentions that may be pictures: `@logo.png`, `@"my logo.png"`.
fn named_by<'t>(mentions: impl Iterator<Item = Mention<'t>>) -> impl Iterator<Item = Mention<'t>> {
    mentions.filter(|mention| {
        let end = Path::new(mention.name).extension().and_then(|end| end.to_str()).unwrap_or_default();
        ENDS.iter().any(|known| known.eq_ignore_ascii_case(end))
    })
}

/// Returns the names of pictures, and where each mention ends.
fn named<'t>(mentions: impl Iterator<Item = Mention<'t>>) -> Vec<(String, usize)> {
    named_by(mentions).map(|mention| (mention.name.to_owned(), mention.end)).take(MAX_NAMED).collect()
}
