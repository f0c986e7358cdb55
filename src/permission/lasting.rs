//! Commands whose work no state of the project brings back.
//!
//! Owns the list of them, as far as a line tells: what git forgets, and what is deleted with all that is below. Leaves
//! whether a state of the project holds what is deleted to `tool`. Invariants: pure; what runs another command is looked
//! into; a line that cannot be read is nobody's loss here: the sandbox and the states of the project still hold.

use super::commands::{base_name, plain_commands};
use super::line::ShellLine;
use super::reading::{is_filter, is_reading};
use super::syntax::{Form, NAMES, Word};

/// Folders that a line is followed to.
const MAX_FOLDERS: usize = 16;
/// A folder that only the run of a line tells.
const UNKNOWN: &str = "\0";
/// Shells that run a line they are given.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// Options of git before its command that have a word of their own behind them.
const GIT_VALUES: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"];

/// What a command destroys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// Something that no state of the project holds: the words say what.
    ForGood(&'static str),
    /// Files of the project, which its state holds if there is one.
    Changes(&'static str),
    /// A path with all that is below. It is relative to the folder of the command, and may hold wildcards.
    Below(String),
    /// Whatever a name or a list holds that is known only at run time.
    Unknown,
    /// The ignored files of this folder, which is relative to that of the command.
    Ignored(String),
}

/// What was found of a line so far.
struct Found {
    losses: Vec<Loss>,
    /// Where its commands may run: where the line does, and wherever it goes.
    folders: Vec<String>,
}

impl Found {
    fn add(&mut self, loss: Loss) {
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// Adds what deleting a path with all below destroys, wherever the command may run.
    fn add_below(&mut self, word: &Word) {
        let Some(path) = path_of(word) else { return self.add(Loss::Unknown) };
        for folder in self.folders.clone() {
            match joined(&folder, path) {
                Some(path) => self.add(Loss::Below(path)),
                None => self.add(Loss::Unknown),
            }
        }
    }

    /// Takes in that the line goes to another folder.
    fn go_to(&mut self, words: &[Word]) {
        let Some(word) = words.iter().find(|word| !word.text.starts_with('-') || word.text == "-") else { return };
        let path = path_of(word).filter(|path| *path != "-").unwrap_or(UNKNOWN);
        for folder in self.folders.clone() {
            let folder = joined(&folder, path).unwrap_or_else(|| UNKNOWN.to_owned());
            if !self.folders.contains(&folder) && self.folders.len() < MAX_FOLDERS {
                self.folders.push(folder);
            }
        }
    }
}

/// Returns a path below a folder; none if that is not known.
fn joined(folder: &str, path: &str) -> Option<String> {
    match () {
        () if path == UNKNOWN => None,
        () if path.starts_with(['/', '~', '$']) || folder.is_empty() => Some(path.to_owned()),
        () if folder == UNKNOWN => None,
        () => Some(format!("{folder}/{path}")),
    }
}

/// Returns `true` if a line plainly writes nothing: each of its commands only reads, or passes on what another prints.
#[must_use]
pub fn writes_nothing(line: &str) -> bool {
    let is_harmless = |command: &String| is_reading(command) || is_filter(command);
    let plain = || plain_commands(&ShellLine::read(line).ok()?);
    is_reading(line) || plain().is_some_and(|commands| commands.iter().all(is_harmless))
}

/// Returns what a line destroys, as far as its words tell.
#[must_use]
pub fn losses(line: &str) -> Vec<Loss> {
    let mut found = Found { losses: Vec::new(), folders: vec![String::new()] };
    look_into(line, &mut found);
    found.losses
}

fn look_into(line: &str, found: &mut Found) {
    match ShellLine::read(line) {
        // What runs others stands before them.
        Ok(line) => {
            let is_git = |words: &[Word]| words.first().is_some_and(|name| name.text == "git");
            let others = line.commands.iter().map(|command| &command.words).filter(|words| !is_git(words));
            others.chain(&line.of_git).for_each(|words| look_at(words, found));
        }
        // What its words say counts all the same, wherever they stand.
        Err(_) => {
            for part in without_documents(line).split(['\n', ';', '&', '|', '(', ')', '{', '}', '`']) {
                let words: Vec<Word> = part.split_whitespace().map(plain_word).collect();
                for at in 0..words.len() {
                    if matches!(base_name(&words[at].text), "rm" | "git" | "find" | "xargs" | "cd" | "pushd") {
                        look_at(&words[at..], found);
                    }
                }
            }
        }
    }
}

/// Returns a line without its here-documents: they are what a program reads, unless it is a shell.
fn without_documents(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut end: Option<String> = None;
    for row in line.split_inclusive('\n') {
        if let Some(word) = &end {
            if row.trim() == word {
                end = None;
            }
            continue;
        }
        kept.push_str(row);
        let Some((before, behind)) = row.split_once("<<").filter(|(_, behind)| !behind.starts_with('<')) else {
            continue;
        };
        let is_run = before.split_whitespace().any(|word| SHELLS.contains(&base_name(word)));
        let behind = behind.trim_start_matches('-').trim_start();
        let word: String = behind
            .trim_start_matches(['\'', '"', '\\'])
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        end = Some(word).filter(|word| !is_run && !word.is_empty());
    }
    kept
}

/// Returns a word of a line that is not understood.
fn plain_word(text: &str) -> Word {
    let form = if text.contains(['$', '*', '?', '[']) { Form::Expanded } else { Form::Literal };
    Word { form, ..Word::literal(text.trim_matches(['"', '\''])) }
}

fn look_at(words: &[Word], found: &mut Found) {
    let words = without_beginning(words);
    let Some((program, arguments)) = words.split_first() else { return };
    match base_name(&program.text).to_ascii_lowercase().as_str() {
        "cd" | "pushd" => found.go_to(arguments),
        "rm" => removing(arguments, found),
        "git" => of_git(arguments, found),
        "find" => finding(arguments, found),
        "xargs" | "parallel"
            if arguments.iter().any(|word| matches!(base_name(&word.text), "rm" | "unlink" | "shred")) =>
        {
            found.add(Loss::Unknown);
        }
        _ => {}
    }
}

/// Returns the words without what stands before a command and is none: assignments, and words of the shell.
fn without_beginning(words: &[Word]) -> &[Word] {
    const BEFORE: [&str; 13] =
        ["!", "then", "do", "else", "if", "while", "until", "time", "command", "builtin", "exec", "sudo", "doas"];
    let is_before = |word: &Word| {
        let is_assignment = word
            .text
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        is_assignment || BEFORE.contains(&word.text.as_str())
    };
    let start = words.iter().position(|word| !is_before(word)).unwrap_or(words.len());
    &words[start..]
}

/// Returns `true` if one of the words is this option, alone or among other letters.
fn has(words: &[&str], letters: &[char], long: &[&str]) -> bool {
    words.iter().take_while(|word| **word != "--").any(|word| match word.strip_prefix("--") {
        Some(name) => {
            let name = name.split('=').next().unwrap_or(name);
            name.len() > 2 && long.iter().any(|long| long.starts_with(name))
        }
        None => word.strip_prefix('-').is_some_and(|found| found.contains(letters)),
    })
}

fn texts(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

fn removing(arguments: &[Word], found: &mut Found) {
    if !has(&texts(arguments), &['r', 'R'], &["recursive"]) {
        return;
    }
    let mut is_operand = false;
    for word in arguments {
        if word.text == "--" && !is_operand {
            is_operand = true;
        } else if is_operand || !word.text.starts_with('-') || word.text == "-" {
            found.add_below(word);
        }
    }
}

/// Returns the path that a word names; none if only the run tells. What is for temporary files is the agent's own.
fn path_of(word: &Word) -> Option<&str> {
    const TEMPORARY: [&str; 4] = ["$TMPDIR/", "${TMPDIR}/", "$(mktemp", "/tmp/"];
    if word.text.is_empty() && word.form == Form::Expanded {
        // What `find` finds lies below its place; of anything else, nothing is known.
        return word.shape.strip_suffix(NAMES);
    }
    let text = word.text.as_str();
    let is_temporary = TEMPORARY.iter().any(|start| text.starts_with(start)) && !text.contains("..");
    let is_known = word.form == Form::Literal || is_temporary || !text.contains(['$', '`', '{', '~']);
    is_known.then_some(text)
}

fn finding(arguments: &[Word], found: &mut Found) {
    let start = arguments.iter().position(|word| word.text.starts_with(['-', '(', '!'])).unwrap_or(arguments.len());
    let (places, tests) = arguments.split_at(start);
    let deletes = tests.iter().any(|word| word.text == "-delete")
        || tests.windows(2).any(|pair| {
            matches!(pair[0].text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
                && matches!(base_name(&pair[1].text), "rm" | "unlink" | "shred")
        });
    if deletes && places.is_empty() {
        found.add_below(&plain_word("."));
    } else if deletes {
        for place in places {
            found.add_below(place);
        }
    }
}

fn of_git(arguments: &[Word], found: &mut Found) {
    let mut rest = arguments;
    while let Some((word, behind)) = rest.split_first() {
        if !word.text.starts_with('-') {
            break;
        }
        if word.text == "-C" {
            found.go_to(behind.get(..1).unwrap_or_default());
        }
        let takes_next = GIT_VALUES.contains(&word.text.as_str());
        rest = behind.get(usize::from(takes_next)..).unwrap_or_default();
    }
    let Some((command, words)) = rest.split_first() else { return };
    let words = texts(words);
    let first = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let is = |letters: &[char], long: &[&str]| has(&words, letters, long);
    let loss = match command.text.as_str() {
        "reset" if is(&[], &["hard", "merge"]) => Loss::Changes("it resets files to a commit"),
        "checkout" if is(&['f'], &["force"]) || words.contains(&".") || words.contains(&"--") => {
            Loss::Changes("it puts files back to a commit")
        }
        "switch" if is(&['f'], &["force", "discard-changes"]) => Loss::Changes("it discards changes of files"),
        "restore" if !is(&['S'], &["staged"]) || is(&['W'], &["worktree"]) => {
            Loss::Changes("it puts files back to a commit")
        }
        "clean" if is(&['f'], &["force"]) && is(&['x', 'X'], &[]) => {
            return found.folders.clone().into_iter().for_each(|folder| {
                found.add(if folder == UNKNOWN { Loss::Unknown } else { Loss::Ignored(folder) });
            });
        }
        "clean" if is(&['f'], &["force"]) => Loss::Changes("it deletes files that git does not know"),
        "branch" if is(&['D', 'M', 'C'], &[]) || is(&['d', 'm', 'c'], &["delete"]) && is(&['f'], &["force"]) => {
            Loss::ForGood("it deletes a branch that may not be merged")
        }
        "reflog" if matches!(first, "expire" | "delete" | "drop") => Loss::ForGood("git forgets where branches were"),
        "gc" if is(&[], &["prune", "aggressive"]) => Loss::ForGood("git removes commits that no branch has"),
        "prune" => Loss::ForGood("git removes commits that no branch has"),
        "stash" if matches!(first, "drop" | "clear") => Loss::ForGood("it drops what was stashed"),
        "push" if pushes_by_force(&words) => Loss::ForGood("it overwrites or deletes what others may have fetched"),
        "update-ref" if is(&['d'], &["stdin"]) => Loss::ForGood("it deletes a branch or another ref"),
        "filter-branch" | "filter-repo" => Loss::ForGood("it writes the history anew"),
        "worktree" if first == "remove" && is(&['f'], &["force"]) => {
            Loss::ForGood("it deletes a worktree with its changes")
        }
        "rm" if is(&['r'], &[]) && !is(&[], &["cached"]) => {
            return words
                .iter()
                .filter(|word| !word.starts_with('-'))
                .for_each(|word| found.add_below(&plain_word(word)));
        }
        _ => return,
    };
    found.add(loss);
}

fn pushes_by_force(words: &[&str]) -> bool {
    has(words, &['f', 'd'], &["force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"])
        || words.iter().skip(1).any(|word| word.starts_with('+') || word.starts_with(':') && word.len() > 1)
}
