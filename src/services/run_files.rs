//! The files of the project that the user's own set-up runs outside of the sandbox: by hooks, a status line, MCP servers.
//!
//! Owns finding them in a command. No command in the sandbox may change them, and a project's are trusted with what they
//! hold. Everything here blocks. Source of the variable: the reference of Claude Code's hooks.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::permission::{BroughtItem, BroughtKind};

/// The ends of files that interpreters run, whatever rights they have.
const SCRIPTS: [&str; 16] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "php", "lua", "ps1"];
/// Bytes of a file that count for whether it has changed, besides its length.
const MAX_BYTES: u64 = 8 << 20;

/// Returns the programs and scripts of the project that a command names.
pub(super) fn run_files(command: &str, root: &Path) -> BTreeSet<PathBuf> {
    let root_text = root.to_string_lossy();
    let path_of = |word: String| {
        let word = word.replace("${CLAUDE_PROJECT_DIR}", &root_text).replace("$CLAUDE_PROJECT_DIR", &root_text);
        root.join(word)
    };
    let paths = words(command).into_iter().map(path_of);
    paths.filter(|path| path.starts_with(root) && is_run(path)).collect()
}

/// Returns what a command of the project's is trusted as: its text, and the files that it runs.
pub(super) fn trusted_as(kind: BroughtKind, text: String, root: Option<&Path>) -> BroughtItem {
    let files = root.map(|root| run_files(&text, root)).unwrap_or_default();
    if files.is_empty() {
        return BroughtItem::new(kind, text);
    }
    let mut content = Vec::new();
    for path in files {
        content.extend_from_slice(path.as_os_str().as_encoded_bytes());
        let length = path.metadata().map_or(0, |facts| facts.len());
        content.extend_from_slice(format!("\0{length}\0").as_bytes());
        // What cannot be read cannot be run either, and is another item once it can.
        let _ = File::open(&path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut content));
    }
    BroughtItem::of_file(kind, text, &content)
}

fn is_run(path: &Path) -> bool {
    let Ok(facts) = path.metadata() else { return false };
    let is_script = || path.extension().is_some_and(|end| SCRIPTS.iter().any(|script| end == *script));
    let is_marked = || {
        let mut start = [0; 2];
        File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
    };
    facts.is_file() && (facts.permissions().mode() & 0o111 != 0 || is_script() || is_marked())
}

/// Returns the words of a command, without its quotes. A word too many does no harm.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for char in command.chars() {
        match quote {
            Some(open) if char == open => quote = None,
            None if char == '"' || char == '\'' => quote = Some(char),
            None if char.is_whitespace() || ";|&()<>`=:,".contains(char) => words.push(std::mem::take(&mut word)),
            _ => word.push(char),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}
