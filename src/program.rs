//! Where the programs lie that we start ourselves, and what they need of our environment.
//!
//! Owns the folders of `PATH` that count, and the list of harmless variables. Leaves starting to others. Invariant: what
//! is found here lies outside of the project, and not where anybody may put a program.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Variables that a program needs to find its user, speak their language and keep the time.
const NEEDED: [&str; 9] =
    ["HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];

/// The folders of `PATH` that programs are started from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
    untrusted: Vec<PathBuf>,
}

impl SearchPath {
    /// Returns the folders of this process's `PATH` that count while work is done in the `untrusted` folders.
    #[must_use]
    pub fn of_process(untrusted: &[&Path]) -> Self {
        Self::new(&std::env::var_os("PATH").unwrap_or_default(), untrusted)
    }

    /// Returns the folders of `path` that count: absolute, outside of the `untrusted` folders, also once links are
    /// resolved, and writable by their owner's group at most.
    #[must_use]
    pub fn new(path: &OsStr, untrusted: &[&Path]) -> Self {
        // Everything lies below the root of the disk; work there makes no folder of the system a stranger's.
        let roots = untrusted.iter().filter(|folder| folder.parent().is_some());
        let roots = roots.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()));
        let mut found = Self { folders: Vec::new(), untrusted: roots.collect() };
        for folder in std::env::split_paths(path) {
            if folder.is_absolute() && found.trusts(&folder) && !found.folders.contains(&folder) {
                found.folders.push(folder);
            }
        }
        found
    }

    /// Finds a program by its name.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            let is_executable = |path: &Path| {
                path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
            };
            // The link to a program may lead into the project though its folder does not.
            is_executable(path) && path.canonicalize().is_ok_and(|path| !self.is_untrusted(&path))
        };
        self.folders.iter().map(|folder| folder.join(name)).find(is_program)
    }

    /// Returns the folders as a value of `PATH`.
    pub fn value(&self) -> OsString {
        std::env::join_paths(&self.folders).unwrap_or_default()
    }

    /// Returns the environment of a program that needs nothing but itself: the harmless variables of ours, and these
    /// folders as its `PATH`.
    pub fn bare_environment(&self) -> Vec<(OsString, OsString)> {
        let is_needed = |name: &OsStr| {
            name.to_str().is_some_and(|name| NEEDED.contains(&name) || name.starts_with("LC_") && !name.contains('='))
        };
        let mut environment: Vec<_> = std::env::vars_os().filter(|(name, _)| is_needed(name)).collect();
        environment.push(("PATH".into(), self.value()));
        environment
    }

    fn trusts(&self, folder: &Path) -> bool {
        let Ok(real) = folder.canonicalize() else { return false };
        let is_everybodys = || real.metadata().is_ok_and(|facts| facts.permissions().mode() & 0o002 != 0);
        !self.is_untrusted(folder) && !self.is_untrusted(&real) && !is_everybodys()
    }

    fn is_untrusted(&self, path: &Path) -> bool {
        self.untrusted.iter().any(|folder| path.starts_with(folder))
    }
}
