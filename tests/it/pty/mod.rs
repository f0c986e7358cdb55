//! The real binary on a real terminal, driven by keys.

mod agent_files;
mod agents;
mod colors;
mod demo;
mod leaving;
mod offline;
mod painted;
mod pictures;
mod program_status;
mod sessions;
mod status_line;
pub(crate) mod terminal;
mod watch;
mod wizard;

use std::path::Path;

use tempfile::TempDir;
use terminal::Terminal;

/// The sizes that every test of the whole screen goes through: wide, usual, small, smallest.
const SIZES: [(u16, u16); 4] = [(200, 50), (120, 40), (80, 24), (60, 15)];

/// A home of its own for the program, so that nothing of the user's is read or written.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn start(&self, size: (u16, u16), args: &[&str]) -> Terminal {
        self.start_in(self.path(), size, args)
    }

    fn start_in(&self, cwd: &Path, size: (u16, u16), args: &[&str]) -> Terminal {
        let home = self.path().to_str().unwrap();
        Terminal::start(size.0, size.1, args, cwd, &[("HOME", home)])
    }
}
