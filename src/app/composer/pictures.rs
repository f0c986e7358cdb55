//! Pictures in the message that is being written.
//!
//! Owns which pastes are pictures, and the mark that stands for one. Leaves reading them to the front end. Invariant: what
//! was pasted is in the message, as a picture or as text.

use super::messages::Messages;
use crate::app::Effect;
use crate::app::outbox::Outbox;

/// Where a picture is that the user pastes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureSource {
    Clipboard,
    File {
        /// As the user's words name it, below `~` perhaps.
        path: String,
        /// What was pasted.
        pasted: String,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureNews {
    Attached {
        number: u32,
        /// Its size and kind.
        words: String,
    },
    /// It is a text; `why` says what is wrong with a file of that name.
    Text {
        pasted: String,
        why: Option<String>,
    },
    Nothing {
        why: String,
    },
}

const ENDS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

impl PictureSource {
    /// Returns what a paste may stand for: the path of a picture, as files are dropped, or nothing at all, which is how
    /// some terminals paste a picture.
    #[must_use]
    pub fn of_paste(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Clipboard);
        }
        let word = text.trim();
        let word = [('"', '"'), ('\'', '\'')]
            .into_iter()
            .find_map(|(open, close)| word.strip_prefix(open)?.strip_suffix(close))
            .unwrap_or(word);
        let path = match word.strip_prefix("file://") {
            Some(path) => percent_decoded(path)?,
            None => unescaped(word),
        };
        let is_path = ["/", "~/", "./", "../"].iter().any(|begin| path.starts_with(begin));
        let lower = path.to_ascii_lowercase();
        let is_picture = ENDS.iter().any(|end| lower.ends_with(end)) && !path.contains(['\n', '\r', '\0']);
        (is_path && is_picture).then(|| Self::File { path, pasted: text.to_owned() })
    }
}

/// Takes away what a shell would: terminals drop `My\ picture.png`.
fn unescaped(word: &str) -> String {
    let mut path = String::with_capacity(word.len());
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        path.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    path
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        let code = after.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

impl Messages {
    /// Takes what was pasted: a text, or what stands for a picture.
    pub(in crate::app) fn paste(&mut self, text: &str, out: &mut Outbox) {
        match PictureSource::of_paste(text) {
            Some(source) => out.push(Effect::AttachPicture(source)),
            None => self.composer_mut().paste(text),
        }
    }

    pub(in crate::app) fn on_picture(&mut self, news: PictureNews, out: &mut Outbox) {
        match news {
            PictureNews::Attached { number, words } => {
                self.composer_mut().attach(number);
                out.answer(format!("image #{number}: {words}"));
            }
            PictureNews::Text { pasted, why } => {
                self.composer_mut().paste(&pasted);
                if let Some(why) = why {
                    out.warn(format!("not attached: {why}"));
                }
            }
            PictureNews::Nothing { why } => out.warn(why),
        }
    }
}
