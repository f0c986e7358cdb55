//! What programs of the user's set-up note down among the set-up itself: logs, caches, counters of hooks.
//!
//! Owns which places these are in `.claude`, and making those that are missing, as the folder around them is closed to the
//! sandbox. Leaves their names to `obeyed`. Everything here blocks. Invariants: none is a link, or leads through one; none
//! lies where agents, commands, skills or rules are looked for.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use regex::Regex;

use super::run_files::{RunPlace, run_files};
use crate::nofollow::{look, make_folder, open, put_file};
use crate::obeyed::is_note;

/// The folder of the set-up.
const SETUP: &str = ".claude";
/// Folders in it that hold scripts, which note things down beside themselves.
const SCRIPTS: [&str; 2] = ["hooks", "scripts"];
/// Folders below one of those that are looked at.
const MAX_FOLDERS: usize = 64;
/// Bytes of a script that count for what it writes.
const MAX_BYTES: u64 = 256 << 10;

/// Returns what a program may write in the set-up of a project, and makes what it names of that.
pub(super) fn note_places(command: &str, place: RunPlace<'_>, project: &Path) -> Vec<PathBuf> {
    let setup = project.join(SETUP);
    if !look(&setup).is_ok_and(|facts| facts.is_dir()) {
        return Vec::new();
    }
    let mut folders = vec![setup.clone()];
    folders.extend(SCRIPTS.iter().flat_map(|name| folders_below(&setup.join(name))));
    for (folder, text) in scripts(command, place, &setup) {
        for note in find_notes(&text) {
            make(&setup, &folders, (folder.as_deref(), &note));
        }
    }
    folders.iter().flat_map(|folder| notes_in(folder)).collect()
}

/// Returns a folder and those below it that hold no notes.
fn folders_below(top: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![top.to_path_buf()]);
    while let Some(folder) = open.pop().filter(|_| found.len() < MAX_FOLDERS) {
        if look(&folder).is_ok_and(|facts| facts.is_dir()) {
            let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            open.extend(folders.map(|entry| entry.path()).filter(|path| !is_named_note(path)));
            found.push(folder);
        }
    }
    found
}

fn is_named_note(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_note(&name.to_string_lossy()))
}

/// Returns what lies in a folder of what programs note down.
fn notes_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    // By another name, a file would be another one.
    let is_plain =
        |path: &PathBuf| look(path).is_ok_and(|facts| facts.is_dir() || facts.is_file() && facts.nlink() == 1);
    entries.map(|entry| entry.path()).filter(|path| is_named_note(path)).filter(is_plain).collect()
}

/// Returns the texts of a command: its line, and the scripts that it runs, each of the set-up with its folder.
fn scripts(command: &str, place: RunPlace<'_>, setup: &Path) -> Vec<(Option<PathBuf>, String)> {
    let files = run_files(command, place).into_iter().filter_map(|path| {
        let mut text = Vec::new();
        let file: File = open(&path, rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        let folder = path.parent().filter(|folder| folder.starts_with(setup)).map(Path::to_path_buf);
        Some((folder, String::from_utf8_lossy(&text).into_owned()))
    });
    std::iter::once((None, command.to_owned())).chain(files).collect()
}

/// Something that a script may note down in.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NamedNote {
    /// The path in the set-up to the folder it lies in, if the script says so.
    within: Option<PathBuf>,
    name: String,
}

/// Finds what a text names of this kind.
fn find_notes(text: &str) -> BTreeSet<NamedNote> {
    static PATH: OnceLock<Option<Regex>> = OnceLock::new();
    static WORD: OnceLock<Option<Regex>> = OnceLock::new();
    let path = PATH.get_or_init(|| Regex::new(r#"(~/|HOME\}?"?/)?\.claude/([\w./-]+)"#).ok());
    let word = WORD.get_or_init(|| Regex::new(r#"["'`/]([\w.-]+)"#).ok());
    let mut found = BTreeSet::new();
    let paths = path.iter().flat_map(|path| path.captures_iter(text));
    for path in paths.filter(|path| path.get(1).is_none()) {
        let parts: Vec<&str> = path[2].split('/').collect();
        if let Some(at) = parts.iter().position(|part| is_note(part)) {
            found.insert(NamedNote { within: Some(parts[..at].iter().collect()), name: parts[at].to_owned() });
        }
    }
    // Of a file, a name alone may be one anywhere; a folder too many does no harm.
    let words = word.iter().flat_map(|word| word.captures_iter(text));
    for word in words.filter(|word| is_note(&word[1]) && !word[1].contains('.')) {
        if !found.iter().any(|note| note.within.is_some() && note.name == word[1]) {
            let within = text.contains(SETUP).then(PathBuf::new);
            found.insert(NamedNote { within, name: word[1].to_owned() });
        }
    }
    found
}

/// Makes something that a script names, empty, if it is missing and may lie there.
fn make(setup: &Path, folders: &[PathBuf], (script, note): (Option<&Path>, &NamedNote)) {
    let within = note.within.as_ref().map(|within| setup.join(within));
    let Some(folder) = within.or_else(|| script.map(Path::to_path_buf)) else { return };
    let path = folder.join(&note.name);
    if !folders.contains(&folder) || path.symlink_metadata().is_ok() {
        return;
    }
    // What cannot be made is missing for the program, which says so.
    let _ = if note.name.contains('.') { put_file(&path, b"", 0o644) } else { make_folder(&path).map(drop) };
}
