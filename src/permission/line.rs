//! What a shell line runs, as far as its words say: commands, those behind programs that run others, and texts that may be code.
//!
//! Owns seeing through wrappers, shells and builtins. Leaves the grammar to `syntax`, the table of programs to `table`, and what
//! a rule says of it to `pattern`. Invariant: what may run and is not among the commands is told, as a reason or as a text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::commands::{base_name, is_assignment, only_wraps};
use super::heredocs::{self, HereDoc};
use super::reader::computes;
use super::syntax::{ANY, Deadline, NAMES, SETS, Simple, UNCLEAR, Word, read};
use super::table::{Wrapper, table};

/// ShellLines as they were read last: one that is asked about again is not read again.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellLines(Arc<Mutex<Option<(String, LineReading)>>>);

/// A line, or why it cannot be read.
type LineReading = Arc<Result<ShellLine, &'static str>>;

impl ShellLines {
    pub(super) fn read(&self, text: &str) -> LineReading {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, line)) = last.as_ref().filter(|(known, _)| known == text) {
            return line.clone();
        }
        let line = Arc::new(ShellLine::read(text));
        *last = Some((text.to_owned(), line.clone()));
        line
    }
}

/// What begins no command of bash, or a part of one that is larger.
const RESERVED: [&str; 16] =
    ["!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "in"];
/// Programs that run code which an argument holds.
const INTERPRETERS: [&str; 10] = ["awk", "gawk", "mawk", "nawk", "lua", "node", "perl", "php", "python", "ruby"];
/// How deep code may stand in code.
const MAX_DEPTH: usize = 12;
const MAX_COMMANDS: usize = 5_000;
const RUNS_OTHERS: &str = "it contains a command that runs other commands";
const READS_CODE: &str = "a shell in it runs what it reads";

/// One command, with its name first.
#[derive(Debug, Clone)]
pub(super) struct ShellCommand {
    pub(super) words: Vec<Word>,
    pub(super) behind: Behind,
    /// Where programs are named behind its own name, by their names, if they may run.
    pub(super) named: BTreeMap<String, Vec<usize>>,
    /// Whether it does nothing but run others that are among the commands.
    pub(super) only_wraps: bool,
}

/// Whether the words behind a name may be a command as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Nothing,
    /// Its program is not known, and may run them.
    Perhaps,
    /// Its program runs some of them.
    Surely,
}

/// What a line runs.
#[derive(Debug, Default)]
pub(super) struct ShellLine {
    pub(super) commands: Vec<ShellCommand>,
    /// What the line does beside running commands.
    pub(super) effect: Option<&'static str>,
    /// Why something may run that no word names.
    pub(super) unsaid: Option<&'static str>,
    /// Texts that some program may run, such as the values of variables.
    pub(super) values: Vec<String>,
    /// Texts of which a program may run lines.
    pub(super) inputs: Vec<String>,
    /// Those of git with the options before its command.
    pub(super) of_git: Vec<Vec<Word>>,
    /// The commands as they stand in the line.
    pub(super) simple: Vec<Vec<Word>>,
}

impl ShellLine {
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let mut line = Self::default();
        line.take(text, 0, Deadline::new())?;
        Ok(line)
    }

    /// Takes code, which stands in the line or in a word of it.
    fn take(&mut self, text: &str, depth: usize, deadline: Deadline) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let script = read(text, deadline)?;
        self.effect = self.effect.or(script.effect);
        self.unsaid = self.unsaid.or(script.unsaid);
        self.values.extend(script.values);
        for Simple { words, input } in script.commands {
            if let Some(input) = input.as_ref().filter(|input| !input.is_literal) {
                for inside in heredocs::commands_in(&input.text)? {
                    self.take(&inside, depth + 1, deadline)?;
                }
            }
            if depth == 0 {
                self.simple.push(words.clone());
            }
            self.run(words, input, (depth, deadline))?;
        }
        Ok(())
    }

    fn hides(&mut self, why: &'static str) {
        self.unsaid.get_or_insert(why);
    }

    /// Takes one command, and those that it runs.
    fn run(&mut self, words: Vec<Word>, input: Option<HereDoc>, at: (usize, Deadline)) -> Result<(), &'static str> {
        if self.commands.len() > MAX_COMMANDS || at.0 > MAX_DEPTH {
            return Err("it holds too many commands");
        }
        let Some(name) = words.first() else {
            self.inputs.extend(input.map(|input| input.text));
            return Ok(());
        };
        if RESERVED.contains(&name.text.as_str()) {
            return Err(UNCLEAR);
        }
        if is_assignment(&name.text) {
            self.hides(SETS);
        }
        let Some(program) = program_of(name) else {
            self.hides("the name of a command is known only at run time");
            self.inputs.extend(input.map(|input| input.text));
            self.push(words, Behind::Surely, false);
            return Ok(());
        };
        if table().is_shell(&program) {
            return self.shell(words, input, at);
        }
        let is_shell_behind = words.iter().skip(1).any(|word| program_of(word).is_some_and(|it| table().is_shell(&it)));
        if !is_shell_behind {
            self.inputs.extend(input.as_ref().map(|input| input.text.clone()));
        }
        match program.as_str() {
            "eval" => self.code(&words, 1, at),
            "." | "source" => {
                if words.get(1).is_none_or(|file| !is_known_script(file)) {
                    self.hides(RUNS_OTHERS);
                }
                self.push(words, Behind::Surely, false);
                Ok(())
            }
            "trap" => {
                let code =
                    words.iter().skip(1).find(|word| word.text.len() > 1 && !word.text.starts_with('-')).cloned();
                self.push(words, Behind::Surely, false);
                code.map_or(Ok(()), |code| self.code(&[code], 0, at))
            }
            "alias" => {
                let values: Vec<Word> = words[1..].iter().filter_map(value_of).collect();
                self.push(words, Behind::Surely, false);
                values.into_iter().try_for_each(|value| self.code(&[value], 0, at))
            }
            "find" => self.find(words, at),
            _ if table().wrapper(&program).is_some() => self.wrapped(words, &program, input, at),
            _ => self.other(words, &program, at),
        }
    }

    fn push(&mut self, words: Vec<Word>, behind: Behind, only_wraps: bool) {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let others = words.iter().enumerate().skip(1).filter(|_| behind != Behind::Nothing);
        for (at, program) in others.filter_map(|(at, word)| Some((at, program_of(word)?))) {
            named.entry(program).or_default().push(at);
        }
        self.commands.push(ShellCommand { words, behind, named, only_wraps });
    }

    /// Takes words as code, as `eval` does.
    fn code(&mut self, words: &[Word], from: usize, (depth, deadline): (usize, Deadline)) -> Result<(), &'static str> {
        let code = words.get(from..).unwrap_or_default();
        if from > 0 {
            self.push(words.to_vec(), Behind::Surely, false);
        }
        if !code.iter().all(Word::is_literal) {
            self.hides(RUNS_OTHERS);
            return Ok(());
        }
        let text = code.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        self.take(&text, depth + 1, deadline)
    }

    /// Takes a shell: code in its words, or in its input, or a file of it.
    fn shell(&mut self, words: Vec<Word>, input: Option<HereDoc>, at: (usize, Deadline)) -> Result<(), &'static str> {
        let (mut next, mut takes_code, mut reads) = (1, false, false);
        while let Some(option) = words.get(next).filter(|word| word.text.len() > 1 && word.text.starts_with(['-', '+']))
        {
            next += 1;
            if !option.is_literal() {
                self.hides(RUNS_OTHERS);
            }
            match option.text.as_str() {
                "--" => break,
                "--version" | "--help" => {
                    self.push(words, Behind::Nothing, false);
                    return Ok(());
                }
                "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => next += 1,
                long if long.starts_with("--") => {}
                letters => {
                    takes_code |= letters.starts_with('-') && letters.contains('c');
                    reads |= letters.contains(['s', 'i']);
                    next += usize::from(letters.ends_with('o') || letters.ends_with('O'));
                }
            }
        }
        let operand = words.get(next).cloned();
        self.push(words, Behind::Surely, false);
        match (operand, input) {
            (Some(code), _) if takes_code => self.code(&[code], 0, at)?,
            (Some(file), input) if !reads && file.text != "-" && file.text != "/dev/stdin" => {
                self.inputs.extend(input.map(|input| input.text));
                let is_stream = ["/dev/", "/proc/"].iter().any(|system| file.text.starts_with(system));
                // An option may be in its place.
                if is_stream || (!file.is_literal() && !file.shape.contains('/')) {
                    self.hides(RUNS_OTHERS);
                }
            }
            (_, Some(input)) => {
                if !input.is_literal && input.text.contains('$') {
                    self.hides(READS_CODE);
                }
                self.take(&input.text, at.0 + 1, at.1)?;
            }
            (_, None) => self.hides(READS_CODE),
        }
        Ok(())
    }

    fn find(&mut self, words: Vec<Word>, at: (usize, Deadline)) -> Result<(), &'static str> {
        const ACTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
        let is_action = |word: &Word| ACTIONS.contains(&word.text.as_str());
        let places: Vec<&Word> = words[1..].iter().take_while(|word| !word.text.starts_with(['-', '(', '!'])).collect();
        // What it finds lies below the place where it looks.
        let found = match places.as_slice() {
            [] => Word::names_below("."),
            [place] if place.is_literal() => Word::names_below(&place.text),
            _ => Word::unknown(),
        };
        let mut runs: Vec<Vec<Word>> = Vec::new();
        for (from, _) in words.iter().enumerate().filter(|(_, word)| is_action(word)) {
            let rest = &words[from + 1..];
            let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(rest.len());
            let fill = |word: &Word| if word.text.contains("{}") { found.clone() } else { word.clone() };
            runs.push(rest[..end].iter().map(fill).collect());
        }
        self.push(words, Behind::Nothing, false);
        runs.into_iter().try_for_each(|words| self.run(words, None, (at.0 + 1, at.1)))
    }

    /// Takes a program that runs what stands behind its options, and that command.
    fn wrapped(
        &mut self,
        words: Vec<Word>,
        program: &str,
        input: Option<HereDoc>,
        at: (usize, Deadline),
    ) -> Result<(), &'static str> {
        let inner = table().wrapper(program).and_then(|wrapper| inner_of(&words, wrapper));
        let Some(inner) = inner else {
            self.hides(RUNS_OTHERS);
            return self.other(words, program, at);
        };
        let only_wraps = only_wraps(&words);
        let mut command = words[inner.at.min(words.len())..].to_vec();
        if program == "xargs" {
            let replaced = replaced_by(&words[..inner.at.min(words.len())]);
            let is_filled = |word: &Word| replaced.as_ref().is_some_and(|sign| word.text.contains(sign.as_str()));
            command = command.into_iter().map(|word| if is_filled(&word) { Word::unknown() } else { word }).collect();
            if replaced.is_none() && !command.is_empty() {
                command.push(Word::unknown());
            }
        }
        let values = words[1..inner.at.min(words.len())].iter().filter_map(value_of).map(|word| word.text);
        self.values.extend(values);
        self.push(words, Behind::Nothing, only_wraps);
        if inner.runs && !command.is_empty() { self.run(command, input, (at.0 + 1, at.1)) } else { Ok(()) }
    }

    /// Takes any other program: one that runs its words, one that does not, and one of which that is not known.
    fn other(&mut self, words: Vec<Word>, program: &str, at: (usize, Deadline)) -> Result<(), &'static str> {
        if program == "git" {
            self.of_git.push(words.clone());
        }
        let is_runner = table().is_runner(program, words[1..].iter().map(|word| word.text.as_str()))
            || (program == "git" && words.iter().any(|word| word.text.starts_with("--exec=")));
        if is_runner {
            return self.runner(words, program, at);
        }
        if table().hides_what_runs(program) {
            self.hides(RUNS_OTHERS);
        }
        if table().is_computing_builtin(program) {
            let runs =
                |word: &Word| computes(&word.text) && word.is_literal() || table().runs_with(program, &word.text);
            if words[1..].iter().any(runs) {
                self.hides("the shell may compute in it");
                self.push(words, Behind::Surely, false);
                return Ok(());
            }
        }
        if let Some(sub) = program.strip_prefix("git-") {
            let mut words = words;
            words[0] = Word::literal("git");
            words.insert(1, Word::literal(sub));
            self.push(words, Behind::Nothing, false);
            return Ok(());
        }
        if program == "git" {
            let (words, why) = super::git::plain_words(words);
            self.unsaid = self.unsaid.or(why);
            self.push(words, Behind::Nothing, false);
            return Ok(());
        }
        let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if INTERPRETERS.contains(&name) {
            let code = words[1..].iter().filter(|word| word.text.contains(['(', '"', '\'', '`', '|', ';']));
            self.values.extend(code.map(|word| word.text.clone()));
        }
        let behind = if table().is_quiet(program) { Behind::Nothing } else { Behind::Perhaps };
        self.push(words, behind, false);
        Ok(())
    }

    fn runner(&mut self, words: Vec<Word>, program: &str, at: (usize, Deadline)) -> Result<(), &'static str> {
        if let Some(from) = launched_at(&words, program) {
            let command = words[from..].to_vec();
            self.push(words, Behind::Nothing, false);
            return self.run(command, None, (at.0 + 1, at.1));
        }
        let takes_code = table().takes_code(program);
        if takes_code && words[1..].iter().all(|word| word.text.starts_with('-')) {
            self.hides(READS_CODE);
        }
        if table().hides_what_runs(program) || words[1..].iter().any(|word| program_of(word).is_none()) {
            self.hides(RUNS_OTHERS);
        }
        for (from, word) in words.iter().enumerate().skip(1) {
            let inner = program_of(word).filter(|inner| table().is_shell(inner) || inner == "eval" || inner == "env");
            if inner.is_some() && words.len() < 200 {
                self.run(words[from..].to_vec(), None, (at.0 + 1, at.1))?;
            }
            let is_code = |text: &&str| text.contains([' ', ';', '|', '&', '$', '`', '\n']);
            let whole = Some(word.text.as_str()).filter(is_code);
            // A value may be part of an option.
            let option = Some(word.text.as_str()).filter(|text| text.starts_with('-'));
            let value = option.and_then(|text| text.split_once('=').map(|(_, value)| value));
            let joined = option.filter(|text| !text.starts_with("--")).and_then(|text| text.get(2..)).filter(is_code);
            for code in [whole, value, joined].into_iter().flatten().filter(|_| word.is_literal()) {
                if self.take(code, at.0 + 1, at.1).is_err() && takes_code {
                    self.hides(RUNS_OTHERS);
                }
            }
        }
        self.push(words, Behind::Surely, false);
        Ok(())
    }
}

/// Returns the name of the program that a word names, if that is known.
pub(super) fn program_of(word: &Word) -> Option<String> {
    let name = base_name(&word.shape);
    (!name.contains([ANY, NAMES])).then(|| name.to_ascii_lowercase())
}

/// Returns the value in a word such as `name=value`.
fn value_of(word: &Word) -> Option<Word> {
    let (_, value) = word.text.split_once('=')?;
    let (_, shape) = word.shape.split_once('=')?;
    Some(Word { text: value.to_owned(), shape: shape.to_owned(), form: word.form })
}

/// Returns `true` for a file that is called like a script or an environment to take over: it is run as any other script.
fn is_known_script(file: &Word) -> bool {
    const NAMES: [&str; 9] =
        ["activate", "env", "os-release", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".envrc", "environment"];
    let Some(name) = program_of(file) else { return false };
    let is_script = [".sh", ".bash", ".zsh", ".env"].iter().any(|ending| name.ends_with(ending));
    is_script || NAMES.contains(&name.as_str()) || name.starts_with(".env")
}

/// Where the command of a wrapper begins.
pub(super) struct Inner {
    pub(super) at: usize,
    /// Whether it is run, and not only shown.
    pub(super) runs: bool,
}

/// Finds the command that a wrapper runs; `None` if its options are not understood.
pub(super) fn inner_of(words: &[Word], wrapper: &Wrapper) -> Option<Inner> {
    let (mut at, mut runs) = (1, true);
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" {
            break;
        }
        if wrapper.long_valued.iter().any(|long| long == text) {
            at += 1;
            continue;
        }
        let is_long = |long: &String| {
            if long.ends_with('=') {
                text.starts_with(long.as_str())
            } else {
                long == text || text.starts_with(&format!("{long}="))
            }
        };
        if wrapper.long.iter().any(is_long) {
            continue;
        }
        if !word.is_literal() || text.starts_with("--") {
            return None;
        }
        let letters = &text[1..];
        match letters.find(|c| !wrapper.letters.contains(c) && !wrapper.shows.contains(c)) {
            None if letters.is_empty() => return None,
            None => runs &= !letters.contains(|c| wrapper.shows.contains(c)),
            // A value may stand in the same word.
            Some(valued) if letters[valued..].starts_with(|c| wrapper.valued.contains(c)) => {
                at += usize::from(letters[valued..].chars().count() == 1);
            }
            // `xargs -i{}`
            Some(value) if value > 0 && wrapper.name == "xargs" && "ile".contains(&letters[value - 1..value]) => {}
            Some(_) => return None,
        }
    }
    at += wrapper.operands;
    while wrapper.assignments && words.get(at).is_some_and(|word| is_assignment(&word.text)) {
        at += 1;
    }
    Some(Inner { at, runs })
}

/// Returns where the command begins in `uv run pytest`, if nothing else can be it.
fn launched_at(words: &[Word], program: &str) -> Option<usize> {
    const PLAIN: [&str; 10] = ["npm", "pnpm", "uv", "poetry", "pipenv", "hatch", "pdm", "rye", "bundle", "yarn"];
    let is_launched = words.len() > 2 && table().is_launcher(program, &words[1].text);
    let at = if words.get(2)?.text == "--" { 3 } else { 2 };
    let name = words.get(at).filter(|name| name.is_literal() && !name.text.starts_with('-'));
    (PLAIN.contains(&program) && is_launched && name.is_some()).then_some(at)
}

/// Returns the sign in whose place `xargs` puts what it reads, if it has one.
fn replaced_by(options: &[Word]) -> Option<String> {
    let mut words = options.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            "-I" => return words.next().map(str::to_owned),
            "-i" | "--replace" => return Some("{}".to_owned()),
            _ => {}
        }
        let attached = ["-I", "-i", "--replace="].iter().find_map(|option| word.strip_prefix(option));
        if let Some(sign) = attached.filter(|sign| !sign.is_empty()) {
            return Some(sign.to_owned());
        }
    }
    None
}
