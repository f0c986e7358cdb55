//! What the screen finds again at the next start: the theme, and, for each project, how the agents are placed.
//!
//! Owns the files of the state directory for it, and the rule when they count. Leaves what a choice is to `app`.
//! Invariants: a choice holds as long as the configuration says what it said when the choice was made; a file that
//! cannot be used is a notice and nothing more; writing is off the screen's thread and only after a pause.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::files::read_small;
use crate::app::layout::LayoutMode;
use crate::app::{Arrangement, UserChoice};
use crate::config::Ui;
use crate::session;

/// How long nothing more is chosen before the last choice is written.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the end of the program waits for the disk.
const WRITE_GRACE: Duration = Duration::from_secs(1);

/// The theme that was chosen, for every project.
#[derive(Debug, Serialize, Deserialize)]
struct ThemeRecord {
    theme: String,
    /// What the configuration said.
    configured: String,
}

/// How the agents were placed in one project.
#[derive(Debug, Serialize, Deserialize)]
struct LayoutRecord {
    layout: String,
    split: Option<u16>,
    configured: String,
}

/// What was found again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    pub theme: Option<String>,
    pub arrangement: Option<Arrangement>,
}

/// The files of what is remembered.
#[derive(Debug, Clone)]
pub struct RememberedChoices {
    theme: PathBuf,
    layout: PathBuf,
    configured: Ui,
}

impl RememberedChoices {
    /// Returns the memory of a project. `configured` is what files and environment say.
    #[must_use]
    pub fn new(state_dir: &Path, project: &Path, configured: Ui) -> Self {
        Self {
            theme: state_dir.join("ui.toml"),
            layout: session::project_dir(state_dir, project).join("ui.toml"),
            configured,
        }
    }

    /// Returns the choices that still hold. A file that cannot be used becomes a notice.
    pub fn recall(&self, notices: &mut Vec<String>) -> Recalled {
        let mut heed = |error: anyhow::Error| notices.push(format!("{error:#}."));
        let theme = self.theme().unwrap_or_else(|error| {
            heed(error);
            None
        });
        let arrangement = self.arrangement().unwrap_or_else(|error| {
            heed(error);
            None
        });
        Recalled { theme, arrangement }
    }

    fn theme(&self) -> Result<Option<String>> {
        let record: Option<ThemeRecord> = read(&self.theme)?;
        Ok(record.filter(|record| record.configured == self.configured.theme).map(|record| record.theme))
    }

    fn arrangement(&self) -> Result<Option<Arrangement>> {
        let record: Option<LayoutRecord> = read(&self.layout)?;
        let Some(record) = record.filter(|record| record.configured == self.configured.layout) else { return Ok(None) };
        let mode = LayoutMode::from_name(&record.layout)
            .with_context(|| format!("{}: {IGNORED}: there is no such layout", self.layout.display()))?;
        Ok(Some(Arrangement { mode, split: record.split.map(|split| split.clamp(20, 80)) }))
    }

    /// Keeps a choice. Blocks. Fails if the file cannot be written.
    pub fn write(&self, choice: &UserChoice) -> Result<()> {
        let (path, text) = match choice {
            UserChoice::Theme(theme) => {
                let record = ThemeRecord { theme: theme.clone(), configured: self.configured.theme.clone() };
                (&self.theme, toml::to_string(&record)?)
            }
            UserChoice::Arrangement(Arrangement { mode, split }) => {
                let record = LayoutRecord {
                    layout: mode.name().to_owned(),
                    split: *split,
                    configured: self.configured.layout.clone(),
                };
                (&self.layout, toml::to_string(&record)?)
            }
            // It belongs to the session.
            UserChoice::Unsent(_) => return Ok(()),
        };
        Ok(session::keep_file(path, &text)?)
    }
}

/// What becomes of a file that cannot be used.
const IGNORED: &str = "the file is ignored until the next choice replaces it";

/// Reads a file; `None` if there is none.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let unusable = || format!("{}: {IGNORED}", path.display());
    let text = match read_small(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(unusable),
    };
    toml::from_str(&text).map(Some).map_err(|error| anyhow::anyhow!("{}: {}", unusable(), error.message()))
}

/// Writes choices a moment after they were made, of each kind only the last.
#[derive(Debug)]
pub struct Persister {
    choices: mpsc::UnboundedSender<UserChoice>,
    task: JoinHandle<()>,
}

impl Persister {
    /// Starts the task. `write` runs on a thread that may wait.
    pub fn start(write: impl Fn(UserChoice) + Clone + Send + 'static) -> Self {
        let (choices, mut waiting) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(first) = waiting.recv().await {
                let mut last = vec![first];
                while let Ok(Some(next)) = timeout(PAUSE, waiting.recv()).await {
                    last.retain(|known| std::mem::discriminant(known) != std::mem::discriminant(&next));
                    last.push(next);
                }
                let write = write.clone();
                let _ = spawn_blocking(move || last.into_iter().for_each(write)).await;
            }
        });
        Self { choices, task }
    }

    pub fn keep(&self, choice: UserChoice) {
        // It fails only at the end of the program.
        let _ = self.choices.send(choice);
    }

    /// Waits, within bounds, until everything is written.
    pub async fn finish(self) {
        drop(self.choices);
        tokio::select! {
            _ = self.task => {}
            () = sleep(WRITE_GRACE) => tracing::warn!("the disk is too slow; the last choice was not saved"),
        }
    }
}
