//! git under a configuration of our own.
//!
//! A repository can come from anyone, with hooks, filters, drivers, monitors and signature checkers of its maker's choice,
//! under any names. Git has no switch for all of that; but it has nothing to run where its settings are read from another
//! place. Owns finding a repository, judging whether reading it stays inside the project, and the private settings it is
//! read with. Leaves what is asked of git to `tool` and `worktree`. Invariants: no setting of a repository is in force but
//! those that say how its files are laid out and, where git is asked a question, those that only change what it shows; what
//! is odd is refused, never guessed; looking at a repository starts no program but git, and ends soon.

mod layout;
mod private;
mod repository;
mod shown;

pub use private::{PrivateSettings, clone_settings};
pub use repository::Repository;

use std::path::Path;

use crate::message::sanitize_line;

/// Why git is not run on a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

impl Refused {
    /// Names a place and what is wrong with it.
    fn at(path: &Path, what: &str) -> Self {
        Self(format!("{} {what}", sanitize_line(&path.to_string_lossy())))
    }

    fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::at(path, &format!("cannot read it: {error}"))
    }
}
