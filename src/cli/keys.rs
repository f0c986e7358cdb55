//! `belvedere keys`: where services have their keys, and the keyring.
//!
//! Owns its flags, what it prints, and reading a key without showing it. Leaves the keyring to `services`. Invariants: no
//! key is printed, and none is an argument, which every user of the machine could read.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use anyhow::{Context as _, anyhow, ensure};
use clap::{Args, Subcommand};
use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};

use crate::cli::agents::CommandFailure;
use crate::headless::exit;
use crate::message::{ProviderRow, Secret};
use crate::provider::choice::meant_instead;
use crate::services::Bootstrap;
use crate::services::keyring::{Keyring, KeyringRecord};
use crate::services::keys::key_places;

/// Longest key that is read, in bytes.
const MAX_KEY_BYTES: u64 = 16 << 10;
/// What `ctrl+c` sends.
const INTERRUPT: u8 = 3;

/// What follows `belvedere keys`.
#[derive(Debug, Clone, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    pub act: Option<KeysAct>,
}

#[derive(Debug, Clone, Subcommand)]
pub enum KeysAct {
    /// Store a key in the system's keyring; it is asked for, or read from standard input
    Set {
        /// The service, such as anthropic
        provider: String,
    },
    /// Remove a key from the system's keyring
    Remove {
        /// The service, such as anthropic
        provider: String,
    },
}

/// Does what is asked for, and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub fn run(bootstrap: &Bootstrap, args: &KeysArgs) -> Result<u8, CommandFailure> {
    match &args.act {
        None => say(&listing(bootstrap)),
        Some(KeysAct::Set { provider }) => set(bootstrap, row_of(bootstrap, provider)?),
        Some(KeysAct::Remove { provider }) => remove(bootstrap, row_of(bootstrap, provider)?),
    }
    .map_err(|error| (exit::FAILED, error))
}

fn row_of<'a>(bootstrap: &'a Bootstrap, name: &str) -> Result<&'a ProviderRow, CommandFailure> {
    let table = &bootstrap.services.table;
    let unknown = || (exit::USAGE, anyhow!("no service {name:?}{}", meant_instead(name, table)));
    table.get(name).map(AsRef::as_ref).ok_or_else(unknown)
}

pub(super) fn say(text: &str) -> anyhow::Result<u8> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::BROKEN_PIPE),
        written => written.map(|()| exit::OK).context("cannot write to standard output"),
    }
}

fn listing(bootstrap: &Bootstrap) -> String {
    let all = key_places(bootstrap);
    let width = all.iter().map(|one| one.service.name.len()).max().unwrap_or_default();
    let line = |name: &str, places: &[String], row: &ProviderRow| {
        let said = match places {
            [] if row.local => "needs none".to_owned(),
            [] => format!("none: set {}, or run belvedere keys set {name}", row.key_hint()),
            [used] => used.clone(),
            [used, others @ ..] => format!("{used} (not used: {})", others.join(", ")),
        };
        format!("{name:width$}  {said}\n")
    };
    all.iter().map(|one| line(&one.service.name, &one.places, &one.service)).collect()
}

fn record(bootstrap: &Bootstrap) -> anyhow::Result<KeyringRecord> {
    let paths = bootstrap.paths.as_ref().context("no folder for Belvedere's files; set HOME")?;
    Ok(KeyringRecord::in_dir(&paths.state_dir))
}

fn set(bootstrap: &Bootstrap, row: &ProviderRow) -> anyhow::Result<u8> {
    let (record, name) = (record(bootstrap)?, &row.name);
    let key = read_key(row.display())?;
    bootstrap.options.secrets.learn([key.expose()]);
    let other = || format!("`api_key_command` of `[providers.{name}]` in config.toml, or {}", row.key_hint());
    Keyring::of_system().set(name, &key).map_err(|error| anyhow!("{error}. Without a keyring, use {}", other()))?;
    record.note(name, true)?;
    let used = key_places(bootstrap).into_iter().find(|one| one.service.name == *name);
    let first = used.and_then(|one| one.places.into_iter().next()).filter(|place| place != "keyring");
    let note = first.map(|place| format!(" It is not used as long as there is {place}.")).unwrap_or_default();
    say(&format!("Stored the key of {name} in the keyring.{note}\n"))
}

fn remove(bootstrap: &Bootstrap, row: &ProviderRow) -> anyhow::Result<u8> {
    let (record, name) = (record(bootstrap)?, &row.name);
    let was_there = Keyring::of_system().remove(name).map_err(|error| anyhow!(error))?;
    record.note(name, false)?;
    let said = if was_there { "Removed the key of" } else { "The keyring has no key of" };
    say(&format!("{said} {name}.\n"))
}

/// Reads a key from the terminal, where it is not shown, or from standard input.
fn read_key(service: &str) -> anyhow::Result<Secret> {
    let text = if io::stdin().is_terminal() {
        let line = hidden_line(&format!("Key for {service} (not shown): ")).context("cannot read the terminal");
        let _ = writeln!(io::stderr());
        line?
    } else {
        let mut text = String::new();
        io::stdin().lock().take(MAX_KEY_BYTES).read_to_string(&mut text).context("cannot read standard input")?;
        text
    };
    let key = Secret::new(&text).context("no key was given; nothing was stored")?;
    let is_one_word = key.expose().chars().all(|c| c.is_ascii_graphic());
    ensure!(is_one_word, "a key is one word of letters, digits and signs; nothing was stored");
    Ok(key)
}

/// Puts the terminal back as it was.
struct Echo(Termios);

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
    }
}

/// Asks for a line on the terminal and reads it without showing it. An interrupt ends it as well, and counts as no line: as a signal it
/// would end the program with the terminal still silent.
fn hidden_line(question: &str) -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let mut silent = before.clone();
    silent.local_flags.remove(LocalFlags::ECHO | LocalFlags::ISIG);
    silent.control_chars[SpecialCharacterIndices::VEOL as usize] = INTERRUPT;
    let _echo = Echo(before);
    tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &silent)?;
    // Only now: an answer to it is never shown.
    let mut err = io::stderr().lock();
    let _ = write!(err, "{question}").and_then(|()| err.flush());
    let mut line = Vec::new();
    for byte in io::stdin().lock().take(MAX_KEY_BYTES).bytes() {
        match byte? {
            b'\n' => break,
            INTERRUPT => return Ok(String::new()),
            byte => line.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
