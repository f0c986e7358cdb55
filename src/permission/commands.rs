//! Takes a shell line apart into the simple commands it runs.
//!
//! Owns the part of the shell's grammar that this needs. Leaves what may run to `rule`. Invariant: what is returned is
//! everything the line names; a line of which that is not certain is an error that says why.

use std::iter::Peekable;
use std::str::Chars;

use super::grants::has_odd_controls;

/// What a redirection may write to without making a file.
const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
/// Why arithmetic is not looked into.
const COMPUTES: &str = "it does arithmetic";
/// Why backticks are not: another grammar of quotes holds between them.
const BACKTICKS: &str = "it contains backticks";
/// How deep substitutions and subshells may nest.
const MAX_DEPTH: usize = 16;

/// One word as the program would get it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) form: Form,
}

/// Whether a word stands for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Literal,
    /// The shell puts something in its place: nothing, one word or several.
    Expanded,
}

/// Programs that run what their arguments or their input say.
#[rustfmt::skip]
const RUNNERS: [&str; 45] = [
    "alias", "ash", "bash", "builtin", "bun", "busybox", "case", "chroot", "command", "coproc", "csh", "dash", "deno",
    "doas", "enable", "env", "eval", "exec", "fish", "function", "ionice", "ksh", "nice", "nohup", "nsenter",
    "osascript", "parallel", "script", "select", "setsid", "sh", "source", "ssh", "stdbuf", "strace", "su", "sudo",
    "tcsh", "time", "timeout", "trap", "unshare", "watch", "xargs", "zsh",
];

/// Programs that run code which an argument, or their input, holds.
const INTERPRETERS: [&str; 7] = ["lua", "node", "perl", "php", "python", "python3", "ruby"];

/// Returns the simple commands of a line, each with its name first.
pub(super) fn simple_commands(line: &str) -> Result<Vec<Vec<Word>>, &'static str> {
    if has_odd_controls(line) {
        return Err("it holds control characters");
    }
    let mut splitter =
        Splitter { chars: line.chars().peekable(), commands: Vec::new(), writes: false, connects: false };
    splitter.list(None, 0)?;
    if splitter.writes {
        return Err("it redirects output to a file");
    }
    if splitter.connects {
        return Err("it may read from the network");
    }
    let commands: Result<Vec<_>, _> = splitter.commands.into_iter().map(bare).collect();
    Ok(commands?.into_iter().filter(|words| !words.is_empty()).collect())
}

/// Returns the last part of a program's path.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Takes keywords and assignments off the front of a command, and checks that its name is what runs.
fn bare(mut words: Vec<Word>) -> Result<Vec<Word>, &'static str> {
    const KEYWORDS: [&str; 10] = ["!", "if", "then", "elif", "else", "while", "until", "do", "time", "-p"];
    const CLOSING: [&str; 3] = ["fi", "done", "esac"];
    let is_keyword = |word: &&Word| KEYWORDS.contains(&word.text.as_str());
    let keywords = words.iter().take_while(is_keyword).count();
    words.drain(..keywords);
    if words.first().is_some_and(|word| is_assignment(&word.text)) {
        return Err("it sets a variable that a command may act on");
    }
    let Some(name) = words.first() else { return Ok(words) };
    if name.form == Form::Expanded {
        return Err("the name of a command is known only at run time");
    }
    let program = base_name(&name.text).to_ascii_lowercase();
    if name.text == "for" {
        return sets_harmless_variable(&words).then(Vec::new).ok_or("its loop variable may have a meaning to bash");
    }
    if CLOSING.contains(&name.text.as_str()) {
        return Ok(Vec::new());
    }
    let arguments = &words[1..];
    let runs_another = program == "."
        || RUNNERS.contains(&program.as_str())
        || (program == "find"
            && arguments.iter().any(|word| word.text.starts_with("-exec") || word.text.starts_with("-ok")));
    if runs_another {
        return Err("it contains a command that runs other commands");
    }
    let holds_code = |word: &Word| {
        word.form == Form::Expanded
            || matches!(word.text.as_str(), "-" | "--eval" | "--print" | "--run")
            || (word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.contains(['c', 'e', 'E', 'r', 'p']))
    };
    if INTERPRETERS.contains(&program.as_str()) && (arguments.is_empty() || arguments.iter().any(holds_code)) {
        return Err("it passes code to an interpreter");
    }
    Ok(words)
}

/// Returns `true` if a `for` gives plain values to a variable that means nothing to bash nor to a program.
fn sets_harmless_variable(words: &[Word]) -> bool {
    const NAMES: [&str; 8] = ["file", "dir", "folder", "name", "item", "word", "line", "num"];
    let Some((variable, values)) = words[1..].split_first() else { return false };
    let name = variable.text.as_str();
    let is_known = NAMES.contains(&name) || (name.len() == 1 && name.chars().all(|c| c.is_ascii_lowercase()));
    let is_plain = |word: &Word| word.text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-*?,:@+%".contains(c));
    variable.form == Form::Literal && is_known && values.iter().all(is_plain)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
    })
}

/// Returns `true` for a place that bash opens as a connection when it redirects.
fn connects(target: &str) -> bool {
    ["/dev/tcp/", "/dev/udp/"].iter().any(|network| target.starts_with(network))
}

struct Splitter<'a> {
    chars: Peekable<Chars<'a>>,
    commands: Vec<Vec<Word>>,
    writes: bool,
    connects: bool,
}

#[derive(Default)]
struct Open {
    words: Vec<Word>,
    word: Option<Word>,
    /// Whether the next word is the target of a redirection.
    next: Next,
    writes: bool,
    connects: bool,
}

#[derive(Default, PartialEq, Eq)]
enum Next {
    #[default]
    Argument,
    Target,
    /// A file that is written, unless it is a stream or nothing.
    Written,
}

impl Open {
    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn expanded(&mut self) {
        self.word().form = Form::Expanded;
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            match std::mem::take(&mut self.next) {
                Next::Argument => self.words.push(word),
                Next::Target => self.connects |= word.form == Form::Expanded || connects(&word.text),
                Next::Written => self.writes |= word.form == Form::Expanded || !NO_FILES.contains(&word.text.as_str()),
            }
        }
    }
}

impl Splitter<'_> {
    /// Reads commands until the character that closes them.
    fn list(&mut self, close: Option<char>, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let mut open = Open::default();
        loop {
            match self.chars.next() {
                None if close.is_some() => return Err("something in it is not closed"),
                None => break,
                c if c == close => break,
                Some(c) => self.character(c, &mut open, depth)?,
            }
        }
        self.end_command(&mut open);
        Ok(())
    }

    fn end_command(&mut self, open: &mut Open) {
        open.end_word();
        open.next = Next::Argument;
        self.writes |= std::mem::take(&mut open.writes);
        self.connects |= std::mem::take(&mut open.connects);
        let words = std::mem::take(&mut open.words);
        if !words.is_empty() {
            self.commands.push(words);
        }
    }

    fn character(&mut self, c: char, open: &mut Open, depth: usize) -> Result<(), &'static str> {
        match c {
            ' ' | '\t' => open.end_word(),
            '&' if self.chars.peek() == Some(&'>') => open.end_word(),
            '\n' | ';' | '|' | '&' => self.end_command(open),
            '(' if self.chars.peek() == Some(&'(') => return Err(COMPUTES),
            '(' => {
                self.end_command(open);
                self.list(Some(')'), depth + 1)?;
            }
            ')' => return Err("its parentheses do not match"),
            '{' | '}' if open.word.is_none() && self.chars.peek().is_none_or(|c| " \t\n;".contains(*c)) => {
                self.end_command(open);
            }
            '#' if open.word.is_none() => self.comment(depth)?,
            '<' | '>' => self.redirection(c, open, depth)?,
            '\'' => {
                open.word();
                loop {
                    match self.chars.next().ok_or("it has an unclosed quote")? {
                        '\'' => break,
                        c => open.word().text.push(c),
                    }
                }
            }
            '"' => self.double_quoted(open, depth)?,
            '$' => self.dollar(open, depth)?,
            '`' => return Err(BACKTICKS),
            '\\' => self.escape(open)?,
            '[' if open.word.is_none() && self.chars.peek().is_none_or(|c| " \t[".contains(*c)) => {
                open.word().text.push(c);
            }
            '*' | '?' | '[' | '{' => {
                open.expanded();
                open.word().text.push(c);
            }
            c => open.word().text.push(c),
        }
        Ok(())
    }

    fn comment(&mut self, depth: usize) -> Result<(), &'static str> {
        if depth > 0 {
            return Err("it has a comment inside parentheses");
        }
        while self.chars.next_if(|c| *c != '\n').is_some() {}
        Ok(())
    }

    fn redirection(&mut self, c: char, open: &mut Open, depth: usize) -> Result<(), &'static str> {
        // `2>` names a stream, and is no word of the command.
        match &open.word {
            Some(word) if !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit()) => {
                open.word = None;
            }
            // `{name}>` puts the number of a stream into a variable.
            Some(word) if word.text.ends_with('}') => return Err("it sets a variable that a command may act on"),
            _ => open.end_word(),
        }
        if self.chars.next_if_eq(&'(').is_some() {
            self.list(Some(')'), depth + 1)?;
            open.expanded();
            open.end_word();
            return Ok(());
        }
        if c == '<' && self.chars.peek() == Some(&'<') {
            return Err("it contains a here-document");
        }
        let second = self.chars.next_if(|next| matches!(next, '>' | '|' | '&'));
        let is_stream = second == Some('&') && self.names_stream();
        open.next = if is_stream || (c == '<' && second != Some('>')) { Next::Target } else { Next::Written };
        Ok(())
    }

    /// Returns `true` if the whole next word is the number of a stream, or `-`. Anything else names a file.
    fn names_stream(&self) -> bool {
        let word: String = self.chars.clone().take_while(|c| !" \t\n;&|<>()".contains(*c)).collect();
        word == "-" || (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()))
    }

    fn double_quoted(&mut self, open: &mut Open, depth: usize) -> Result<(), &'static str> {
        open.word();
        loop {
            match self.chars.next().ok_or("it has an unclosed quote")? {
                '"' => return Ok(()),
                '$' => self.dollar(open, depth)?,
                '`' => return Err(BACKTICKS),
                '\\' => match self.chars.peek() {
                    Some('$' | '`' | '"' | '\\' | '\n') => self.escape(open)?,
                    _ => open.word().text.push('\\'),
                },
                c => open.word().text.push(c),
            }
        }
    }

    fn dollar(&mut self, open: &mut Open, depth: usize) -> Result<(), &'static str> {
        open.expanded();
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                // Arithmetic runs what stands in the index of an array, in quotes too.
                if self.chars.peek() == Some(&'(') {
                    return Err(COMPUTES);
                }
                self.list(Some(')'), depth + 1)
            }
            Some('[') => Err(COMPUTES),
            Some('\'') => Err("it contains a `$'…'` string"),
            Some('{') => {
                while let Some(c) = self.chars.next_if(|c| *c == '{' || *c == '_' || c.is_ascii_alphanumeric()) {
                    open.word().text.push(c);
                }
                self.chars.next_if_eq(&'}').map(drop).ok_or(COMPUTES)
            }
            _ => Ok(()),
        }
    }

    fn escape(&mut self, open: &mut Open) -> Result<(), &'static str> {
        match self.chars.next() {
            // Between signs that belong together, bash sees nothing of it.
            Some('\n') => return Err("it continues a line with a backslash"),
            Some(c) => open.word().text.push(c),
            None => return Err("something in it is not closed"),
        }
        Ok(())
    }
}
