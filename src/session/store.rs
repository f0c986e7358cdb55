//! The folder of one session: where its files lie, and how they are made.
//!
//! Owns names and access rights. Leaves the order and timing of records to `writer`. Invariant: making a [`Store`]
//! touches nothing; the folder appears with the first thing to keep.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::hash::BuildHasher as _;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use nix::errno::Errno;
use serde::Serialize;

use super::{PartLine, PictureStore, Secrets, Stretch, read_part};
use crate::message::escaped_json;
use crate::whole_file::{FileRights, replace_whole};

/// Something could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be {act}: {source}", path.display())]
pub struct SessionError {
    pub path: PathBuf,
    act: &'static str,
    source: io::Error,
}

impl SessionError {
    pub(super) fn new(path: &Path, act: &'static str, source: io::Error) -> Self {
        Self { path: path.to_path_buf(), act, source }
    }

    /// Returns `true` if the program, or the system, has too many files open.
    pub(super) fn wants_files(&self) -> bool {
        let number = self.source.raw_os_error();
        number.is_some_and(|number| matches!(Errno::from_raw(number), Errno::EMFILE | Errno::ENFILE))
    }
}

#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    /// Where exported conversations go.
    exports: PathBuf,
    secrets: Secrets,
    pictures: PictureStore,
    /// The folder of a session that is continued, locked, and the last number that a record of it has.
    held: Option<(Arc<File>, u64)>,
}

impl Store {
    /// Chooses the folder of a new session: `<state dir>/sessions/<project>/<start>-<id>`.
    #[must_use]
    pub fn new(state_dir: &Path, project: &Path, started: Timestamp, secrets: Secrets) -> Self {
        let start = started.strftime("%Y-%m-%dT%H-%M-%SZ");
        // Two programs may start in the same second.
        let id = RandomState::new().hash_one(started.as_nanosecond()) & 0x00ff_ffff;
        Self::called(&format!("{start}-{id:06x}"), state_dir, project, secrets)
    }

    /// Chooses the folder of a new session that has this name.
    #[must_use]
    pub fn called(id: &str, state_dir: &Path, project: &Path, secrets: Secrets) -> Self {
        let dir = resolved(&project_sessions(state_dir, project).join(id));
        let pictures = PictureStore::in_folder(images_dir(&dir));
        Self { dir, exports: state_dir.join("exports"), secrets, pictures, held: None }
    }

    /// Opens the folder of an earlier session, to go on with it. Blocks.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or if another program has it open.
    pub fn reopen(state_dir: &Path, dir: &Path, secrets: Secrets) -> Result<Self, SessionError> {
        let error = |act| move |error| SessionError::new(dir, act, error);
        let folder = File::open(dir).map_err(error("opened"))?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let busy = io::Error::new(io::ErrorKind::ResourceBusy, "it is open in another program");
                return Err(SessionError::new(dir, "continued", busy));
            }
            // Where locks are not known there is nobody to keep out.
            Err(TryLockError::Error(error)) => tracing::warn!(%error, "the session cannot be locked"),
        }
        let last = last_number(dir).map_err(error("read"))?;
        let (dir, exports) = (resolved(dir), state_dir.join("exports"));
        let pictures = PictureStore::in_folder(images_dir(&dir));
        Ok(Self { dir, exports, secrets, pictures, held: Some((Arc::new(folder), last)) })
    }

    /// Copies the records of an earlier session into the folder of this new one, which then goes on from there. Blocks.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written; what was copied is removed again.
    pub fn copy_from(&self, dir: &Path) -> Result<(), SessionError> {
        let copy = |from: &Path, to: &Path| -> io::Result<()> {
            create_private_dir(to)?;
            for entry in std::fs::read_dir(from)?.flatten() {
                let name = entry.file_name();
                let end = Path::new(&name).extension();
                // A copy of a file is called by its number.
                let is_copy = name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
                let is_record = end.is_some_and(|end| end == "jsonl" || end == "md");
                if (is_record || is_copy) && entry.file_type()?.is_file() {
                    std::fs::copy(entry.path(), to.join(&name))?;
                }
            }
            Ok(())
        };
        let copied = copy(dir, &self.dir).and_then(|()| {
            let below = [self.reports_dir(), self.copies_dir(), images_dir(&self.dir)].into_iter();
            let mut there =
                below.filter_map(|to| Some((dir.join(to.file_name()?), to))).filter(|(from, _)| from.is_dir());
            there.try_for_each(|(from, to)| copy(&from, &to))
        });
        copied.map_err(|error| {
            let _ = std::fs::remove_dir_all(&self.dir);
            SessionError::new(dir, "copied", error)
        })
    }

    /// Returns the lock of a folder that is continued, and the last number of its records.
    pub(super) fn held(&self) -> Option<(Arc<File>, u64)> {
        self.held.clone()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the file of an agent's records, such as `explore-1.jsonl`.
    pub fn path_of(&self, agent: &str) -> PathBuf {
        self.dir.join(format!("{}.jsonl", file_name(agent)))
    }

    /// Keeps a report as a file of its own, so that it can be read in whole when the parent got it cut. Blocks. Returns
    /// an error if the file cannot be written.
    pub fn save_report(&self, agent: &str, report: &str) -> Result<PathBuf, SessionError> {
        let dir = self.reports_dir();
        let path = dir.join(format!("{}.md", file_name(agent)));
        create_private_dir(&dir).map_err(|error| SessionError::new(&dir, "created", error))?;
        write_whole(&path, self.secrets.mask(report).as_bytes())?;
        Ok(path)
    }

    /// Returns the folder of the reports. Agents may read it, but not the transcripts beside it.
    pub fn reports_dir(&self) -> PathBuf {
        self.dir.join("reports")
    }

    /// Returns the folder of the copies of files that agents have changed.
    pub fn copies_dir(&self) -> PathBuf {
        self.dir.join("files")
    }

    /// Returns the pictures of the session.
    pub fn pictures(&self) -> PictureStore {
        self.pictures.clone()
    }

    /// Describes the session in its `meta.json`. Blocks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn describe(&self, meta: &impl Serialize) -> Result<(), SessionError> {
        let path = self.dir.join("meta.json");
        let json = serde_json::to_string_pretty(meta)
            .map_err(|error| SessionError::new(&path, "written", io::Error::other(error)))?;
        self.write_private(&path, json)
    }

    /// Writes a file of the session whole, with the secrets masked, and makes its folder if need be. Blocks.
    pub(super) fn write_private(&self, path: &Path, json: String) -> Result<(), SessionError> {
        self.create()?;
        write_whole(path, self.secrets.mask_json(json).as_bytes())
    }

    pub(super) fn create(&self) -> Result<(), SessionError> {
        create_private_dir(&self.dir).map_err(|error| SessionError::new(&self.dir, "created", error))
    }

    /// Returns one record as its line in a file, without the line end.
    pub(super) fn line(&self, record: &impl Serialize) -> serde_json::Result<String> {
        Ok(escaped_json(self.secrets.mask_json(serde_json::to_string(record)?)))
    }

    /// Masks the secrets in a text that is kept, and what looks like one.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.secrets.mask(text)
    }

    /// Masks the secrets, and what looks like one, in the strings of a JSON document. It stays a JSON document.
    pub fn mask_json(&self, json: String) -> String {
        self.secrets.mask_json(json)
    }

    /// Writes a new file for the user: at `place`, or under `name` in the folder there, or in a folder of the state
    /// directory. `write` masks what it writes. Blocks. Returns an error if the file is there already or cannot be
    /// written; nothing of it is left then.
    pub fn export(
        &self,
        name: &str,
        place: Option<&Path>,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<PathBuf, SessionError> {
        let path = match place {
            Some(place) if place.is_dir() => place.join(name),
            Some(place) => place.to_path_buf(),
            None => {
                create_private_dir(&self.exports)
                    .map_err(|error| SessionError::new(&self.exports, "created", error))?;
                self.exports.join(name)
            }
        };
        // Nothing that lies there is written through or over, no link either.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| SessionError::new(&path, "made", error))?;
        let mut out = io::BufWriter::new(file);
        if let Err(error) = write(&mut out).and_then(|()| out.flush()) {
            let _ = std::fs::remove_file(&path);
            return Err(SessionError::new(&path, "written", error));
        }
        Ok(path)
    }
}

/// Returns the folder of the pictures of a session.
fn images_dir(dir: &Path) -> PathBuf {
    dir.join("images")
}

pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
    replace_whole(path, bytes, FileRights::Private).map_err(|error| SessionError::new(path, "written", error))
}

/// Keeps a small file of the program's own, in the place of the one that was there. Blocks. Returns an error if the
/// file or its folder cannot be written.
pub fn keep_file(path: &Path, text: &str) -> Result<(), SessionError> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder).map_err(|error| SessionError::new(folder, "created", error))?;
    }
    write_whole(path, text.as_bytes())
}

/// Resolves the symlinks of the part of a path that exists: permissions are decided on resolved paths.
fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|top| Some((top, top.canonicalize().ok()?)));
    match found.and_then(|(top, real)| Some(real.join(path.strip_prefix(top).ok()?))) {
        Some(real) => real,
        None => path.to_path_buf(),
    }
}

/// Returns the folder of a project's sessions.
pub(super) fn project_sessions(state_dir: &Path, project: &Path) -> PathBuf {
    state_dir.join("sessions").join(slug(project))
}

/// Returns the file that holds the messages sent in a project, beside its sessions.
pub fn history_file(state_dir: &Path, project: &Path) -> PathBuf {
    state_dir.join("history").join(format!("{}.jsonl", slug(project)))
}

/// Returns the folder of what is kept about a project besides its sessions.
pub fn project_dir(state_dir: &Path, project: &Path) -> PathBuf {
    state_dir.join("projects").join(slug(project))
}

/// Creates a folder, and those above it, for the user alone.
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder.mode(0o700);
    builder.create(dir)
}

/// Opens a file of the user's alone for appending, and makes it if need be.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    // A pipe in its place must not be waited for.
    options.mode(0o600).custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY);
    let file = options.open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Returns `true` if an open file is the one at `path`: it was neither deleted nor moved away.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

/// Appends one line to a file of the user's alone, which is made if need be with its folder. A line that a full disk
/// has cut before is ended first. Blocks. Returns an error if the file or its folder cannot be written.
pub fn append_line(path: &Path, line: &str) -> Result<(), SessionError> {
    let error = |act| move |error| SessionError::new(path, act, error);
    if let Some(folder) = path.parent() {
        create_private_dir(folder).map_err(error("created"))?;
    }
    let mut file = open_private(path).map_err(error("opened"))?;
    end_torn_line(&mut file).map_err(error("written"))?;
    // One write, so that two programs do not mix their lines.
    file.write_all(format!("{line}\n").as_bytes()).map_err(error("written"))
}

/// Ends a last line that a full disk or a crash has cut.
pub(super) fn end_torn_line(file: &mut File) -> io::Result<()> {
    let mut last = [b'\n'];
    let is_torn = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).is_ok() && last != *b"\n";
    if is_torn { file.write_all(b"\n") } else { Ok(()) }
}

/// Returns the largest number that a record in this folder has. A number stands at the beginning of its line, also of one
/// that was cut.
fn last_number(dir: &Path) -> io::Result<u64> {
    const TAIL_BYTES: u64 = 4 << 10;
    let number = |line: &PartLine| -> Option<u64> {
        let head = std::str::from_utf8(line.bytes.get(..line.bytes.len().min(64))?).ok()?;
        let digits = head.split_once("\"seq\":")?.1;
        digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
    };
    let mut last = 0;
    for entry in std::fs::read_dir(dir)?.flatten() {
        if entry.path().extension().is_some_and(|end| end == "jsonl")
            && let Ok(part) = read_part(&entry.path(), Stretch::Before(u64::MAX), TAIL_BYTES)
        {
            last = part.lines.iter().filter_map(number).max().unwrap_or(0).max(last);
        }
    }
    Ok(last)
}

/// Names a project's folder: readable, and different for each path.
fn slug(project: &Path) -> String {
    let name = project.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    format!("{}-{:08x}", file_name(&name), fnv1a(project.as_os_str().as_encoded_bytes()))
}

/// FNV-1a, 32 bits: has to stay the same in every version, which the standard library's hash does not promise.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Makes a file's name of an agent's: it comes from a file of a stranger and could hold `../`.
fn file_name(name: &str) -> String {
    // File systems limit a name to 255 bytes, and a letter can have four.
    const MAX_CHARS: usize = 40;
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let whole = name.trim();
    let mut name: String = whole.chars().take(MAX_CHARS).map(safe).collect();
    if whole.chars().nth(MAX_CHARS).is_some() {
        // Names that begin alike, such as those of two children of one definition, must not share a file.
        let _ = write!(name, "-{:08x}", fnv1a(whole.as_bytes()));
    }
    let name = name.trim_start_matches('.');
    if name.is_empty() { "agent".to_owned() } else { name.to_owned() }
}
