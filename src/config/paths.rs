//! Where the program keeps its files.
//!
//! Owns the directories of the platform, which are those of XDG on every Unix. Leaves creating
//! them to the modules that write there. Invariant: nothing is read from the process but in [`Environment::of_process`].

use std::collections::HashMap;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: HashMap<String, String>,
    account_home: Option<PathBuf>,
}

impl Environment {
    /// Takes the environment of this process. Variables that are not Unicode are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let mut environment = Self { variables: variables.collect(), account_home: None };
        if environment.home().is_none() {
            environment.account_home = account_home();
        }
        environment
    }

    /// Returns the environment with more variables, which stand in the place of those there are.
    #[must_use]
    pub fn with<'v>(mut self, variables: impl IntoIterator<Item = (&'v String, &'v String)>) -> Self {
        self.variables.extend(variables.into_iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns the value of a variable if it is an absolute path; XDG says to ignore others.
    pub fn directory(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns the user's home: `HOME`, else what the system's account says.
    pub fn home(&self) -> Option<PathBuf> {
        self.directory("HOME").or_else(|| self.account_home.clone().filter(|home| home.is_absolute()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(variables: T) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables, account_home: None }
    }
}

/// Returns the home that the user database names for this account.
fn account_home() -> Option<PathBuf> {
    nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten().map(|account| account.dir)
}

/// The program's own directories. They need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// What the user writes: `config.toml`, themes.
    pub config_dir: PathBuf,
    /// What the program keeps: sessions, logs.
    pub state_dir: PathBuf,
    /// What may be deleted at any time.
    pub cache_dir: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("No home directory to keep {what} in. Set HOME (or {variable}) to an absolute path.")]
pub struct PathsError {
    what: &'static str,
    variable: &'static str,
}

impl Paths {
    /// Finds the directories. Returns an error if neither the variable of a directory nor a home directory is known.
    pub fn resolve(environment: &Environment) -> Result<Self, PathsError> {
        let find = |variable: &'static str, place: &str, what| {
            let top = environment.directory(variable).or_else(|| Some(environment.home()?.join(place)));
            top.map(|top| top.join("belvedere")).ok_or(PathsError { what, variable })
        };
        Ok(Self {
            config_dir: find("XDG_CONFIG_HOME", ".config", "the configuration")?,
            state_dir: find("XDG_STATE_HOME", ".local/state", "sessions")?,
            cache_dir: find("XDG_CACHE_HOME", ".cache", "the cache")?,
        })
    }

    pub fn config_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }
}
