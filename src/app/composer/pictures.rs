//! Pictures in the message that is being written.
//!
//! Owns which pastes are pictures, what stands for one until it is attached, and the message that waits for that. Leaves
//! reading them to the front end. Invariant: what was pasted is in the message, as a picture or as text, before it is sent.

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

/// Pictures that are still being read.
#[derive(Debug, Default)]
pub(super) struct Attaching {
    /// The places in the text that wait for one.
    places: Vec<u32>,
    /// The text that the user has sent and that waits for its pictures, as it is shown.
    held: Option<String>,
}

/// Returns what stands in the text until its picture is attached.
fn label(place: u32) -> String {
    match place {
        1 => "[attaching…]".to_owned(),
        place => format!("[attaching… {place}]"),
    }
}

impl Messages {
    /// Takes what was pasted: a text, or what stands for a picture.
    pub(in crate::app) fn paste(&mut self, text: &str, out: &mut Outbox) {
        let Some(source) = PictureSource::of_paste(text) else { return self.composer_mut().paste(text) };
        let place = self.attaching.places.iter().max().map_or(1, |last| last + 1);
        self.attaching.places.push(place);
        self.composer_mut().begin_attaching(&label(place), text);
        out.push(Effect::AttachPicture { source, place });
    }

    /// Returns `true` if a picture of the text is still being read.
    pub(in crate::app) fn is_attaching(&self) -> bool {
        let waits = |text: &str| self.attaching.places.iter().any(|place| text.contains(&label(*place)));
        !self.attaching.places.is_empty() && waits(&self.composer().text())
    }

    /// Returns `true` if what is written will be sent once its pictures are attached.
    pub(in crate::app) fn is_held(&self) -> bool {
        self.attaching.held.is_some() && self.attaching.held.as_deref() == Some(&self.composer().text())
    }

    /// Sends what is written once its pictures are attached, unless it is changed before.
    pub(in crate::app) fn hold(&mut self) {
        self.attaching.held = Some(self.composer().text());
    }

    /// Sends nothing later. Returns `true` if something was to be sent.
    pub(in crate::app) fn let_go(&mut self) -> bool {
        let was_held = self.is_held();
        self.attaching.held = None;
        was_held
    }

    /// Takes what came of a picture. Returns `true` if the text is to be sent now.
    pub(in crate::app) fn on_picture(&mut self, place: u32, news: PictureNews, out: &mut Outbox) -> bool {
        let was_held = self.let_go();
        self.attaching.places.retain(|waiting| *waiting != place);
        let label = label(place);
        let failed = match news {
            PictureNews::Attached { number, words } => {
                self.end_attaching(&label, |draft| draft.attach(&label, number));
                out.answer(format!("image #{number}: {words}"));
                false
            }
            PictureNews::Text { pasted, why } => {
                self.end_attaching(&label, |draft| draft.paste(&label, &pasted));
                if let Some(why) = &why {
                    out.warn(format!("not attached: {why}"));
                }
                why.is_some()
            }
            PictureNews::Nothing { why } => {
                self.end_attaching(&label, |draft| draft.put(&label, ""));
                out.warn(why);
                true
            }
        };
        if was_held && !failed && self.is_attaching() {
            self.hold();
        }
        was_held && !failed && !self.is_attaching()
    }
}
