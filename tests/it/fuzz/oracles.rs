//! What bash and git make of the same bytes: where the program relies on reading them alike, it does.
//!
//! Invariant: no line that was made here is run. Bash prints words, of a line that has nothing but words and quotes, and
//! git lists settings.

use std::process::{Command, Stdio};

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grant, Grants, PermissionMode, Permissions, Project, reads_files,
    shell_words,
};

use super::index;
use crate::properties::obeyed;
use crate::support::Dice;

/// What lines are made of: words that are no programs, quotes and blanks.
const WORDS: [&str; 22] = [
    "aa", "b-b", "--c=d", "e/f", "-g", "h#h", "i~j", "k:l", "m@n", "ö", "\u{a0}", "+%p", "!", "'", "\"", "'", "\"",
    " ", "\t", "  ", " ", "=",
];

/// Returns the words of each line as bash sees them.
fn words_of_bash(lines: &[String]) -> Vec<Vec<String>> {
    // A line that bash takes for more than words finds no program, and its end shifts all that follow.
    let print = |line: &String| format!("printf '%s\\0' {line}\nprintf '\\1\\0'\n");
    let script: String = std::iter::once("PATH=/no/such/folder\n".to_owned()).chain(lines.iter().map(print)).collect();
    let bash = |options: &[&str]| {
        let mut command = Command::new("bash");
        command.args(["--norc", "--noprofile", "-f"]).args(options).arg("-c").arg(&script);
        command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).output().unwrap()
    };
    assert!(bash(&["-n"]).status.success(), "bash reads it: {script}");
    let printed = String::from_utf8(bash(&[]).stdout).unwrap();
    let of_line = |words: &str| words.split_terminator('\0').map(str::to_owned).collect();
    printed.split_terminator("\u{1}\0").map(of_line).collect()
}

#[test]
fn words_of_plain_lines_are_those_of_bash() {
    let allowed = Grants::from_iter([Grant::Prefix("echo".to_owned())]);
    let permissions = Permissions::new(Project::at("/work/shop".into()), PermissionMode::Default, allowed);
    let echoes = |words: &String| {
        let command = format!("echo {words}");
        let access = Access::new("Bash", AccessKind::Execute { command, confinement: Confinement::None });
        permissions.decide(&access) == Decision::Allow
    };
    let mut dice = Dice::new(7);
    let made = (0..3_000).map(|_| (0..=index(&mut dice, 8)).map(|_| *dice.pick(&WORDS)).collect::<String>());
    let plain: Vec<String> = made.filter(|words| echoes(words) && !shell_words(words).is_empty()).collect();
    assert!(plain.len() > 300, "{} lines", plain.len());
    let found = words_of_bash(&plain);
    assert_eq!(found.len(), plain.len());
    for (line, words) in plain.iter().zip(found) {
        assert_eq!(shell_words(line), words, "{line:?}");
        if let Some(read) = reads_files(&format!("cat {line}")) {
            assert_eq!(read[1..], words, "{line:?}");
        }
    }
}

/// What settings are made of.
const SETTINGS: [&str; 44] = [
    "[core]",
    "[core]",
    "[core]\n",
    "[CORE ]",
    "[filter \"a\"]",
    "[filter \"a\\\"\"]",
    "[filter \"a]\"]",
    "[filter \"a\\\\\"]",
    "[diff.b]",
    "[x]",
    "\u{feff}",
    "\n",
    "\n",
    "\n\t",
    "\r\n",
    " ",
    "\\\n",
    "\\\r\n",
    "hooksPath",
    "hookspath = hooks",
    "hooksPath=hooks",
    "attributesFile = hooks",
    "clean = own/tool",
    "textconv=own/tool %f",
    "\"hooks\"",
    "ho\"o\"ks",
    "ho\\\noks",
    "own/tool",
    "=",
    " = ",
    "; c",
    "# c",
    "# c \\\n",
    "\"",
    "\\\"",
    "\\t",
    "\\\\",
    "y",
    "= z",
    "\r",
    "\0",
    "clean",
    "a b",
    "#",
];

/// Returns `true` if what git reads of an entry is found: a path as a whole, of a command its program.
fn is_found(entry: &str, found: &[String]) -> Option<bool> {
    let (key, value) = entry.split_once('\n')?;
    let named = match key.rsplit('.').next()? {
        "hookspath" | "attributesfile" => value,
        "clean" | "textconv" => value.split(' ').next().filter(|program| *program == "own/tool")?,
        _ => return None,
    };
    (!named.is_empty()).then(|| found.iter().any(|name| name == named))
}

#[test]
fn what_git_obeys_is_found_however_it_is_written() {
    let mut dice = Dice::new(3);
    let mut named = 0;
    for _ in 0..300 {
        let text: String = (0..=index(&mut dice, 9)).map(|_| *dice.pick(&SETTINGS)).collect();
        let (dir, found) = obeyed(text.as_bytes());
        let mut git = Command::new("git");
        git.args(["config", "--list", "-z", "--no-includes", "-f"]).arg(dir.path().join(".git/config"));
        let listed = git.output().unwrap();
        // Where git cannot read its settings it does nothing, and where we cannot, everything is asked about.
        let Some(found) = found.filter(|_| listed.status.success()) else { continue };
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        for entry in listed.split('\0') {
            let is_found = is_found(entry, &found);
            assert!(is_found != Some(false), "git reads {entry:?} from {text:?}, we {found:?}");
            named += usize::from(is_found.is_some());
        }
    }
    assert!(named > 20, "{named} settings");
}
