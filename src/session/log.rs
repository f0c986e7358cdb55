//! The program's own log: a file in the state directory, never the terminal.
//!
//! Owns where it goes, how much is kept, and what `BELVEDERE_LOG` means. Invariant: nothing is opened before the first
//! line is logged, and a log that cannot be written is not missed by anyone.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tracing::Subscriber;
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_subscriber::EnvFilter;

use super::{Secrets, store};

/// The variable that says what is logged, in the syntax of `tracing`: `debug`, or `belvedere::tool=trace,warn`.
pub const VARIABLE: &str = "BELVEDERE_LOG";
const DEFAULT: &str = "warn";
/// Size at which a file is set aside. With the one before it, this is all that is kept.
const MAX_BYTES: u64 = 4 << 20;

/// Keeps the log open; what still waits is written when it is dropped.
#[derive(Debug)]
pub struct LogGuard {
    _worker: WorkerGuard,
}

pub fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("belvedere.log")
}

/// Starts logging for the whole program; `directives` is the value of [`VARIABLE`]. Returns `None` if a log was
/// started before.
pub fn start(state_dir: &Path, directives: Option<&str>, secrets: Secrets) -> Option<LogGuard> {
    let (subscriber, guard) = subscriber(state_dir, directives, secrets);
    tracing::subscriber::set_global_default(subscriber).ok().map(|()| guard)
}

/// Returns what logs to the state directory. Directives that cannot be read count as absent.
pub fn subscriber(
    state_dir: &Path,
    directives: Option<&str>,
    secrets: Secrets,
) -> (impl Subscriber + Send + Sync + 'static, LogGuard) {
    let filter = directives
        .filter(|directives| !directives.trim().is_empty())
        .and_then(|directives| EnvFilter::try_new(directives).ok())
        .unwrap_or_else(|| EnvFilter::new(DEFAULT));
    let file = LazyFile { path: path(state_dir), file: None, bytes: 0, secrets };
    let (writer, worker) = NonBlocking::new(file);
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(writer).finish();
    (subscriber, LogGuard { _worker: worker })
}

struct LazyFile {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    secrets: Secrets,
}

impl LazyFile {
    fn file(&mut self) -> io::Result<&mut File> {
        if self.bytes > MAX_BYTES {
            std::fs::rename(&self.path, self.path.with_extension("log.1"))?;
            self.file = None;
        }
        // One that was deleted is made anew.
        let file = if let Some(file) = self.file.take().filter(|file| store::is_at(file, &self.path)) {
            file
        } else {
            if let Some(folder) = self.path.parent() {
                store::create_private_dir(folder)?;
            }
            let file = store::open_private(&self.path)?;
            self.bytes = file.metadata()?.len();
            file
        };
        Ok(self.file.insert(file))
    }
}

impl io::Write for LazyFile {
    /// Writes one line. A fault has nowhere to be reported, so that the line is given up.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = self.secrets.mask(&text).into_owned();
        if self.file().and_then(|file| file.write_all(text.as_bytes())).is_ok() {
            self.bytes += text.len() as u64;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
