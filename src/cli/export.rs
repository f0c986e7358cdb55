//! `belvedere export`: writes a session to a file.
//!
//! Owns its flags and what it prints. Leaves the formats to `export`. Invariant: standard output holds the path of the
//! file and nothing else.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::cli::agents::CommandFailure;
use crate::export::export;
use crate::headless::exit;
use crate::message::{ExportFormat, sanitize_line};
use crate::services::{Bootstrap, session_named};

/// What follows `belvedere export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The session: its folder's name, how that begins, or the short id at its end (default: the newest of this
    /// project).
    pub id: Option<String>,

    /// md, json or html (default: by the ending of --output, else md).
    #[arg(long)]
    pub format: Option<ExportFormat>,

    /// The new file, or a folder for it (default: the folder exports in ~/.local/state/belvedere).
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// Writes the export, prints its path and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub fn run(bootstrap: &Bootstrap, args: &ExportArgs) -> Result<u8, CommandFailure> {
    let failed = |error: anyhow::Error| (exit::FAILED, error);
    let store = bootstrap.store.as_ref().context("no folder for Belvedere's files; set HOME").map_err(failed)?;
    let dir = session_named(bootstrap, args.id.as_deref()).map_err(failed)?.dir;
    let by_ending = || ExportFormat::of_path(args.output.as_ref()?.to_str()?);
    let format = args.format.or_else(by_ending).unwrap_or_default();
    let place = args.output.as_ref().map(|place| bootstrap.place.cwd.join(place));
    let path = export(store, &dir, format, place.as_deref()).map_err(|error| failed(error.into()))?;
    match writeln!(io::stdout().lock(), "{}", sanitize_line(&path.to_string_lossy())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::BROKEN_PIPE),
        Err(error) => Err(failed(anyhow::anyhow!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(exit::OK),
    }
}
