//! Commands that are free in every mode: they read files of the project and do nothing else.
//!
//! Owns how they are told from others. Leaves the table of them to `table`, and where a path leads, and the place of a program, to the tool that runs
//! them. Invariant: every option is known to read no other file than those the words name, to follow no links and to
//! start nothing; what is not on the lists is refused.

use super::git::is_git_query;
use super::grants::{is_simple, shell_words, trimmed};
use super::options::is_among;
use super::sed;
use super::shell::{is_read_only, stays_inside};
use super::table::table;

/// What an agent reads whose command was refused because it is none of these.
pub(super) const ALLOWED: &str = "Run one plain command, without pipes, redirections or expansions, on paths inside \
the project: git diff, log, show, grep, blame or status, cat, head, tail, wc, ls, grep, rg, find without \
    actions, sed -n with line numbers. Or use Read, Grep and Glob.";

/// Returns `true` if a command only reads, as long as what its words name lies inside the project.
pub fn is_reading(command: &str) -> bool {
    is_read_only(command) || asks_git_inside(command) || reads_files(command).is_some()
}

/// Returns `true` for a query of git whose words name nothing outside of the working directory.
fn asks_git_inside(command: &str) -> bool {
    let is_inside = |word: &String| word.starts_with('-') || stays_inside(word);
    is_git_query(command) && shell_words(command).iter().all(is_inside)
}

/// Returns the words of a command, as its program gets them, that only reads the files they name, or files below.
pub fn reads_files(command: &str) -> Option<Vec<String>> {
    let command = trimmed(command);
    if !is_simple(command) {
        return None;
    }
    let words = shell_words(command);
    let (program, rest) = words.split_first()?;
    // The name stands as it is: what was judged is what runs.
    if !command.starts_with(program.as_str()) {
        return None;
    }
    // After `--`, an action of `find` is an action still.
    let is_known = |word: &String| {
        if is_option(word) { is_harmless(program, word) } else { stays_inside(word) }
    };
    if !rest.iter().all(is_known) {
        return None;
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let is_program = match program.as_str() {
        "sed" => sed::is_harmless(&[], &rest) && rest.first() == Some(&"-n"),
        name => table().free_options_of(name).is_some(),
    };
    is_program.then_some(words)
}

/// Returns `true` for a command that only passes on, of what it is given, what its options say. A word that could name a
/// file makes it none.
pub(super) fn is_filter(command: &str) -> bool {
    let Some(words) = reads_files(command) else { return false };
    let Some((program, rest)) = words.split_first() else { return false };
    let (counts, patterns): (&[&str], usize) = match program.as_str() {
        "head" | "tail" => (&["-n", "-c"], 0),
        "wc" | "cat" => (&[], 0),
        "grep" | "egrep" | "fgrep" => (&["-A", "-B", "-C", "-m"], 1),
        _ => return false,
    };
    let looks_elsewhere = |word: &String| {
        word.starts_with("--r")
            || word.starts_with("--include")
            || (is_option(word) && !word.starts_with("--") && word.contains(['r', 'R', 'e']))
    };
    let is_count = |at: usize| at > 0 && counts.contains(&rest[at - 1].as_str()) && rest[at].parse::<u32>().is_ok();
    let operands = (0..rest.len()).filter(|at| !is_option(&rest[*at]) && !is_count(*at)).count();
    operands == patterns && !rest.iter().any(|word| program.ends_with("grep") && looks_elsewhere(word))
}

/// Returns `true` for a word that a program does not take for a path. A single dash is standard input.
pub fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn is_harmless(program: &str, option: &str) -> bool {
    let options = table().free_options_of(program);
    match program {
        "find" => {
            let name = option.trim_start_matches('-');
            let is_known = || options.is_some_and(|row| row.long.split_whitespace().any(|known| known == name));
            option.starts_with('-') && !option.starts_with("--") && is_known()
                || name.starts_with(|c: char| c.is_ascii_digit())
        }
        "sed" => matches!(option, "-n" | "-E" | "-nE" | "-e" | "-ne"),
        _ => options.is_some_and(|row| is_among(option, &row.long, &row.letters)),
    }
}
