//! The formats in which a session can be exported.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExportFormat {
    #[default]
    Markdown,
    Json,
    /// One page that needs nothing else.
    Html,
}

impl ExportFormat {
    pub const ALL: [Self; 3] = [Self::Markdown, Self::Json, Self::Html];

    /// Returns its name, which is also the ending of its files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Html => "html",
        }
    }

    /// Returns the format of a file by the ending of its name.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let ending = Path::new(path).extension()?.to_str()?.to_lowercase();
        Self::ALL.into_iter().find(|format| format.name() == ending)
    }

    /// Reads what follows `/export`: a format, a place, both or neither. Without a format, the ending of the place says
    /// it.
    #[must_use]
    pub fn parse_words(words: &str) -> (Self, Option<&str>) {
        let words = words.trim();
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let place = |place: &str| !place.is_empty();
        match first.parse() {
            Ok(format) => (format, Some(rest.trim()).filter(|rest| place(rest))),
            Err(_) => (Self::of_path(words).unwrap_or_default(), Some(words).filter(|words| place(words))),
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("no format `{name}`; choose md, json or html"))
    }
}
