//! What is said of things that appear where no command may write.
//!
//! Owns the words, for people and for models. Invariant: paths are anybody's, and are shown as they are.

use std::path::{Path, PathBuf};

use crate::message::reveal_line;

/// Things that are named one by one.
const MAX_NAMED: usize = 4;
/// Characters of a command line by which a command is named.
const LINE_CHARS: usize = 60;

/// Something that has appeared where no command may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intrusion {
    pub path: PathBuf,
    pub fate: IntrusionFate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntrusionFate {
    /// Where it lies now.
    Moved(PathBuf),
    /// A link that was gone is there again.
    PutBack,
    /// It was taken away before it could be moved.
    Gone,
    /// Where it lies now; what was there before is there again.
    Replaced(PathBuf),
    /// Where the steps of a rebase lie now with the commands among them; those that are left run none.
    Disarmed(PathBuf),
    /// It could not be moved.
    Stuck,
    /// It has become too large to be looked at.
    Unseen,
}

/// What the user is told of places that are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceNews {
    /// Something has appeared while these commands ran in the sandbox.
    Appeared { intrusion: Intrusion, inside: Vec<String> },
    /// More of it has appeared than was said one by one.
    More { count: usize, inside: String },
    /// Something is left where it is, as a command outside may have made it.
    Kept { path: PathBuf, outside: String, inside: Vec<String> },
    /// Something lies where a command could have put it while a session ended that was killed.
    Left(Vec<PathBuf>),
    /// Files that no command may write had other names, by which they could, and are files of their own now.
    Parted(Vec<PathBuf>),
}

impl Intrusion {
    /// Says what has become of it, as the rest of a sentence that ends with its path.
    fn became(&self) -> String {
        match &self.fate {
            IntrusionFate::Moved(to) => format!("is now {}", shown(to)),
            IntrusionFate::PutBack => "was taken away; the link is back".to_owned(),
            IntrusionFate::Replaced(to) => format!("is now {}, and what was there before is back", shown(to)),
            IntrusionFate::Disarmed(to) => format!(
                "had commands that the next `git rebase --continue` would run outside of the sandbox. They were taken out; the \
                 steps with them are in {}",
                shown(to)
            ),
            IntrusionFate::Unseen => {
                "holds too many files to be looked at. Look at it before you use git there".to_owned()
            }
            IntrusionFate::Gone => "was gone again at once".to_owned(),
            IntrusionFate::Stuck => {
                "could not be moved. Look at it, and move it away: until then no other command runs in the sandbox"
                    .to_owned()
            }
        }
    }

    /// Says what became of several, as a part of a sentence about one command. What else ran meanwhile stands with each.
    #[must_use]
    pub fn listed(all: &[(Self, Vec<String>)]) -> Option<String> {
        let (named, rest) = all.split_at(all.len().min(MAX_NAMED));
        let one = |(intrusion, others): &(Self, Vec<String>)| {
            let others: Vec<String> = others.iter().map(|name| short(name)).collect();
            let it = [vec!["it".to_owned()], others].concat().join(" and ");
            let path = shown(&intrusion.path);
            format!(
                "{path} appeared while {it} ran, where the sandbox lets no command write: it {}",
                intrusion.became()
            )
        };
        let more = (!rest.is_empty()).then(|| format!("and {} more such", rest.len()));
        let parts: Vec<String> = named.iter().map(one).chain(more).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl Intrusion {
    /// Says at the end of a session what lies aside, and what could not be moved; `None` if nothing is left. Blocks.
    #[must_use]
    pub fn still_there(all: &[Self]) -> Option<String> {
        let is_there = |path: &&Path| path.symlink_metadata().is_ok();
        let aside = all.iter().filter_map(|intrusion| match &intrusion.fate {
            IntrusionFate::Moved(to) | IntrusionFate::Replaced(to) | IntrusionFate::Disarmed(to) => {
                Some(to.as_path()).filter(is_there)
            }
            IntrusionFate::PutBack | IntrusionFate::Gone | IntrusionFate::Stuck | IntrusionFate::Unseen => None,
        });
        let stuck = all.iter().filter(|intrusion| intrusion.fate == IntrusionFate::Stuck);
        let stuck = stuck.map(|intrusion| intrusion.path.as_path()).filter(is_there);
        let aside = some_of(&aside.collect::<Vec<_>>()).map(|paths| format!("moved aside: {paths}"));
        let stuck = some_of(&stuck.collect::<Vec<_>>())
            .map(|paths| format!("still in force, as it could not be moved: {paths}"));
        let said: Vec<String> = aside.into_iter().chain(stuck).collect();
        (!said.is_empty()).then(|| format!("Commands in the sandbox made what they may not; {}.", said.join("; ")))
    }
}

impl PlaceNews {
    /// Says it to the user.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Appeared { intrusion, inside } => {
                let (path, have) = (shown(&intrusion.path), if inside.len() == 1 { "it has" } else { "they have" });
                let inside = named(inside);
                let advice = match intrusion.fate {
                    IntrusionFate::Moved(_) | IntrusionFate::Replaced(_) | IntrusionFate::Disarmed(_) => {
                        format!(" If you made it, move it back once {have} ended.")
                    }
                    IntrusionFate::PutBack | IntrusionFate::Gone | IntrusionFate::Stuck | IntrusionFate::Unseen => {
                        String::new()
                    }
                };
                let became = intrusion.became();
                format!(
                    "{path} appeared while {inside} ran in the sandbox, which may not write there: it {became}.{advice}"
                )
            }
            Self::More { count, inside } => format!(
                "{count} more such things appeared while {} ran in the sandbox.",
                named(std::slice::from_ref(inside))
            ),
            Self::Left(paths) => format!(
                "Commands ran in the sandbox when Belvedere was killed, and could have made {}. Look at it if you do not know it.",
                some_of(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>()).unwrap_or_default()
            ),
            Self::Parted(paths) => format!(
                "Protected files with another name (a hard link), by which commands in the sandbox could write them, are \
                 files of their own now: {}. What has the other name stays as it is.",
                some_of(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>()).unwrap_or_default()
            ),
            Self::Kept { path, outside, inside } => format!(
                "{} stays: it came while `{}` ran outside of the sandbox, and {} inside. Look at it if you do not know it.",
                shown(path),
                reveal_line(&short(outside)),
                named(inside)
            ),
        }
    }
}

/// Names the first of some paths.
fn some_of(paths: &[&Path]) -> Option<String> {
    let (named, rest) = paths.split_at(paths.len().min(MAX_NAMED));
    let named: Vec<String> = named.iter().map(|path| shown(path)).collect();
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!named.is_empty()).then(|| named.join(", ") + &more)
}

fn named(commands: &[String]) -> String {
    let names: Vec<String> = commands.iter().map(|name| short(name)).collect();
    reveal_line(&names.join(" and ")).into_owned()
}

/// Returns the beginning of a command line.
fn short(line: &str) -> String {
    let mut name: String = line.chars().take(LINE_CHARS).collect();
    if name.len() < line.len() {
        name.push('…');
    }
    name
}

fn shown(path: &Path) -> String {
    reveal_line(&path.to_string_lossy()).into_owned()
}
