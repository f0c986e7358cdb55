//! `belvedere replay`: plays a recorded session on the screen.
//!
//! Owns its flags, and which session is meant. Leaves the playing to `tui`.

use std::path::PathBuf;

use clap::Args;

use crate::app::timeline::PlaybackSpeed;
use crate::services::{Bootstrap, session_named};

/// What follows `belvedere replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The session: its folder's name, how that begins, or the short id at its end (default: the newest of this
    /// project).
    pub id: Option<String>,

    /// 1, 10 or end; `s` changes it.
    #[arg(long, value_name = "N", value_parser = parse_speed, default_value = "1")]
    pub speed: PlaybackSpeed,
}

/// Returns the folder of the session that is meant.
///
/// # Errors
/// Says why there is none.
pub fn folder(bootstrap: &Bootstrap, args: &ReplayArgs) -> anyhow::Result<PathBuf> {
    session_named(bootstrap, args.id.as_deref()).map(|session| session.dir)
}

fn parse_speed(text: &str) -> Result<PlaybackSpeed, String> {
    match text {
        "1" => Ok(PlaybackSpeed::Recorded),
        "10" => Ok(PlaybackSpeed::Tenfold),
        "end" => Ok(PlaybackSpeed::End),
        _ => Err("choose 1, 10 or end".to_owned()),
    }
}
