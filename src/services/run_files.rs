//! The files of the project that commands of the user's set-up run: hooks, a status line, MCP servers.
//!
//! Owns finding them in a command, and in the scripts that it runs. They are what a project's command is trusted with, and
//! no command in the sandbox may change those of the user's. Everything here blocks. Invariant: a file too many does no
//! harm, one too few does.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use regex::Regex;

use super::command_words::{HOME, SetupCommand, UNKNOWN, commands, is_interpreter};
use crate::message::without_dots;
use crate::permission::{BroughtItem, BroughtKind};
use crate::whole_file::open_plain;

/// The ends of files that interpreters run, whatever rights they have.
const SCRIPTS: [&str; 16] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "php", "lua", "ps1"];
/// What an interpreter runs of a folder that it is given.
const ENTRIES: [&str; 7] =
    ["__main__.py", "__init__.py", "index.js", "index.mjs", "index.cjs", "index.ts", "package.json"];
/// Bytes of a file that count for whether it has changed, besides its length.
const MAX_BYTES: u64 = 8 << 20;
/// Bytes of a script that is looked at for what it runs.
const MAX_SCRIPT_BYTES: u64 = 256 << 10;
/// Folders that a command may name as places of files, and files that it may run.
const MAX_FOLDERS: usize = 64;
const MAX_FILES: usize = 400;

/// Where a command looks for what it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunPlace<'a> {
    pub(super) root: &'a Path,
    /// The folder of the plugin that the command belongs to.
    pub(super) plugin: Option<&'a Path>,
}

impl<'a> RunPlace<'a> {
    /// Returns the place of a command that belongs to no plugin.
    pub(super) fn at(root: &'a Path) -> Self {
        Self { root, plugin: None }
    }

    fn is_inside(self, path: &Path) -> bool {
        without_dots(path).starts_with(self.root)
    }
}

/// Returns the programs and scripts of the project that a command runs, with what the scripts run in turn.
pub(super) fn run_files(command: &str, place: RunPlace<'_>) -> BTreeSet<PathBuf> {
    let folders = [Some(place.root), place.plugin].into_iter().flatten().map(Path::to_path_buf).collect();
    let mut search = Search { place, folders, files: BTreeSet::new() };
    let commands = commands(command);
    search.add_folders(&commands);
    for command in &commands {
        search.add_command(command, Names::All);
    }
    let mut open: Vec<PathBuf> = search.files.iter().cloned().collect();
    while let Some(script) = open.pop() {
        let known = search.files.clone();
        search.add_script(&script);
        open.extend(search.files.difference(&known).cloned());
    }
    search.files
}

/// Returns what a command of the project's is trusted as: its text, and the files that the command runs.
pub(super) fn trusted_as(
    kind: BroughtKind,
    text: String,
    (command, place): (&str, Option<RunPlace<'_>>),
) -> BroughtItem {
    let files = place.map(|place| run_files(command, place)).unwrap_or_default();
    if files.is_empty() {
        return BroughtItem::new(kind, text);
    }
    let mut content = Vec::new();
    for path in files {
        content.extend_from_slice(path.as_os_str().as_encoded_bytes());
        let length = path.metadata().map_or(0, |facts| facts.len());
        content.extend_from_slice(format!("\0{length}\0").as_bytes());
        // What cannot be read cannot be run either, and is another item once it can.
        let _ = open_plain(&path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut content));
    }
    BroughtItem::of_file(kind, text, &content)
}

/// Which words of a command are taken for files that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// All that name something that can be run.
    All,
    /// In a script, which names much else: what is certainly run.
    Certain,
}

struct Search<'a> {
    place: RunPlace<'a>,
    /// Where a relative path may begin: the root, and what the command changes to.
    folders: Vec<PathBuf>,
    files: BTreeSet<PathBuf>,
}

impl Search<'_> {
    /// Takes in each folder that the commands name: one may be changed to before a file is named.
    fn add_folders(&mut self, commands: &[SetupCommand]) {
        loop {
            let known = self.folders.len();
            for word in commands.iter().flat_map(|command| &command.words).flat_map(|word| parts(word)) {
                for path in self.paths(&word) {
                    let is_new = !self.folders.contains(&path) && self.place.is_inside(&path);
                    if is_new && self.folders.len() < MAX_FOLDERS && path.is_dir() {
                        self.folders.push(without_dots(&path));
                    }
                }
            }
            self.folders.sort();
            self.folders.dedup();
            if self.folders.len() <= known {
                return;
            }
        }
    }

    /// Returns what a word may mean as a path. Of one with something unknown in it, the rest counts.
    fn paths(&self, word: &str) -> Vec<PathBuf> {
        if let Some(rest) = word.strip_prefix(HOME) {
            return std::env::home_dir().map(|home| home.join(rest.trim_start_matches('/'))).into_iter().collect();
        }
        let word = match word.rsplit_once(UNKNOWN) {
            Some((_, rest)) => rest.trim_start_matches('/'),
            None => word,
        };
        self.folders.iter().map(|folder| folder.join(word)).collect()
    }

    fn add(&mut self, path: &Path) {
        if self.files.len() < MAX_FILES && self.place.is_inside(path) && path.is_file() {
            self.files.insert(without_dots(path));
        }
    }

    fn add_command(&mut self, command: &SetupCommand, names: Names) {
        // Behind an interpreter, its first operand is run, and so may be what an option names.
        let (mut is_operand, mut is_module, mut is_value) = (false, false, false);
        for (at, word) in command.words.iter().enumerate() {
            let is_option = word.starts_with('-');
            if is_operand || is_value {
                self.add_operand(word, is_module);
            } else if names == Names::All || at == 0 && word.contains('/') {
                for path in parts(word).into_iter().flat_map(|part| self.paths(&part)).collect::<Vec<_>>() {
                    if is_run(&path) {
                        self.add(&path);
                    }
                }
            }
            if is_interpreter(word) {
                is_operand = true;
            } else if is_operand && !is_option {
                is_operand = is_value;
            }
            is_module = is_option && word.ends_with('m');
            if let Some((_, module)) =
                word.split_once('m').filter(|(_, rest)| is_option && is_operand && !rest.is_empty())
            {
                self.add_operand(module, true);
            }
            is_value = is_option && is_operand;
        }
    }

    /// Takes in what an interpreter runs that is given this word.
    fn add_operand(&mut self, word: &str, is_module: bool) {
        if word.contains(char::is_whitespace) {
            let commands = commands(word);
            self.add_folders(&commands);
            for command in &commands {
                self.add_command(command, Names::All);
            }
        }
        let word = if is_module { word.replace('.', "/") } else { word.to_owned() };
        for path in parts(&word).into_iter().flat_map(|part| self.paths(&part)).collect::<Vec<_>>() {
            self.add_named(&path);
            if let Some(pattern) = path.file_name().and_then(|name| glob(&name.to_string_lossy())) {
                let entries = path.parent().and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
                for entry in entries.filter_map(Result::ok).filter(|entry| pattern.is_match(entry.file_name())) {
                    self.add(&entry.path());
                }
            }
        }
    }

    /// Takes in what is at a path that may lack its end, or be a folder of files to run.
    fn add_named(&mut self, path: &Path) {
        self.add(path);
        if path.is_dir() {
            for entry in ENTRIES {
                self.add(&path.join(entry));
            }
        }
        if let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) {
            for end in SCRIPTS {
                self.add(&path.with_file_name(format!("{name}.{end}")));
            }
        }
    }

    /// Takes in what a script runs, as far as it says so.
    fn add_script(&mut self, script: &Path) {
        let mut text = Vec::new();
        let read = open_plain(script).and_then(|file| file.take(MAX_SCRIPT_BYTES).read_to_end(&mut text));
        let (Ok(_), Some(folder)) = (read, script.parent()) else { return };
        let text = String::from_utf8_lossy(&text);
        let before = self.folders.clone();
        self.folders = [folder.to_path_buf()].into_iter().chain(before.clone()).collect();
        match script.extension().and_then(|end| end.to_str()) {
            Some("py") => {
                for found in imports(&text) {
                    self.add_named(&folder.join(found.replace('.', "/")));
                }
            }
            Some("js" | "mjs" | "cjs" | "ts" | "mts" | "cts") => {
                for found in relative_imports(&text) {
                    self.add_named(&folder.join(found));
                }
            }
            _ if is_shell_script(script, &text) => {
                let commands = commands(&text);
                self.add_folders(&commands);
                for command in &commands {
                    self.add_command(command, Names::Certain);
                }
            }
            _ => {}
        }
        self.folders = before;
    }
}

fn is_shell_script(path: &Path, text: &str) -> bool {
    let is_known = path.extension().is_none_or(|end| ["sh", "bash", "zsh"].iter().any(|shell| end == *shell));
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("#!") { first.contains("sh") } else { is_known && !text.contains('\0') }
}

/// Returns the modules that a script of Python imports.
fn imports(text: &str) -> Vec<String> {
    static IMPORT: OnceLock<Option<Regex>> = OnceLock::new();
    let import = IMPORT.get_or_init(|| Regex::new(r"(?m)^\s*(?:from|import)\s+\.?([\w.]+)").ok());
    let found = import.iter().flat_map(|import| import.captures_iter(text));
    found.map(|found| found[1].to_owned()).collect()
}

/// Returns what a script of JavaScript imports by a relative path.
fn relative_imports(text: &str) -> Vec<String> {
    static IMPORT: OnceLock<Option<Regex>> = OnceLock::new();
    let import = IMPORT.get_or_init(|| Regex::new(r#"["'`](\.\.?/[^"'`\n]+)["'`]"#).ok());
    let found = import.iter().flat_map(|import| import.captures_iter(text));
    found.map(|found| found[1].to_owned()).collect()
}

/// Returns a word and what it consists of, as a value behind `=` or one path of several.
fn parts(word: &str) -> Vec<String> {
    let pieces = word.split(['=', ':', ',']).map(|piece| piece.trim_start_matches(['-', '+', '?']));
    let pieces = pieces.filter(|piece| !piece.is_empty() && *piece != word);
    std::iter::once(word).chain(pieces).map(str::to_owned).collect()
}

fn glob(name: &str) -> Option<globset::GlobMatcher> {
    let is_pattern = name.contains(['*', '?', '[']);
    is_pattern.then(|| globset::Glob::new(name).ok().map(|glob| glob.compile_matcher())).flatten()
}

fn is_run(path: &Path) -> bool {
    let Ok(facts) = path.metadata() else { return false };
    let is_script = || path.extension().is_some_and(|end| SCRIPTS.iter().any(|script| end == *script));
    let is_marked = || {
        let mut start = [0; 2];
        open_plain(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
    };
    facts.is_file() && (facts.permissions().mode() & 0o111 != 0 || is_script() || is_marked())
}
