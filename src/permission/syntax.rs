//! Shell lines as the words of the simple commands they run, taken from the syntax tree of a grammar of bash.
//!
//! Owns which parts of that tree are understood. Leaves the grammar to `tree-sitter-bash`, here-documents to `heredocs`, and what
//! the commands do to `line`. Invariant: the tree is believed only where it cannot differ from what bash reads. The grammar lets
//! more pass than bash does, and ends some words and lines elsewhere: a node, a sign or a blank that is not known to mean the
//! same to both is an error that says why. What a line does beside running commands is kept as its effect.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Tree};

use super::grants::has_odd_controls;
use super::heredocs::{self, HereDoc};
use super::{reader, signs};

/// What the shell sets words apart with.
pub(super) const APART: [char; 10] = [' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>'];
pub(super) const COMPUTES: &str = "it does arithmetic";
pub(super) const SETS: &str = "it sets a variable that a command may act on";
pub(super) const CONTINUES: &str = "it continues a line with a backslash";
pub(super) const UNCLEAR: &str = "a part of it is not understood";
const MAX_BYTES: usize = 50_000;
const MAX_JOINS: usize = 1_500;
/// How long a line is looked at. Ordinary ones take a thousandth of that.
const MAX_TIME: Duration = Duration::from_millis(400);
/// Stands in the shape of a word for anything, blanks included.
pub(super) const ANY: char = '\0';
/// Stands in the shape of a word for the names that a pattern finds, or for that pattern.
pub(super) const NAMES: char = '\u{1}';
/// Stands in the shape of a word, while it is read, where a pattern begins that may end in another part.
pub(super) const OPENS: char = '\u{2}';

/// One word as the program would get it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word without its quotes; expansions stand as they are written.
    pub(super) text: String,
    /// The same with signs in the place of expansions.
    pub(super) shape: String,
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

impl Word {
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), shape: text.to_owned(), form: Form::Literal }
    }

    /// Returns the word of which nothing is known, nor whether it is one.
    pub(super) fn unknown() -> Self {
        Self { text: String::new(), shape: ANY.to_string(), form: Form::Expanded }
    }

    /// Returns the word of which only its beginning is known, a place.
    pub(super) fn names_below(place: &str) -> Self {
        Self { text: String::new(), shape: format!("{place}{NAMES}"), form: Form::Expanded }
    }

    pub(super) fn is_literal(&self) -> bool {
        self.form == Form::Literal
    }

    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
        self.shape.push(c);
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
        self.shape.push_str(text);
    }

    /// Takes what follows for unknown from the first pattern of several names on.
    pub(super) fn close(&mut self) {
        if let Some(at) = self.shape.find(OPENS) {
            self.shape.truncate(at);
            self.shape.push(ANY);
        }
    }

    pub(super) fn push_expansion(&mut self, text: &str, sign: char) {
        self.text.push_str(text);
        self.shape.push(sign);
        self.form = Form::Expanded;
    }
}

/// One simple command, as it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// The text that it is given as its input.
    pub(super) input: Option<HereDoc>,
}

/// What a line holds.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) commands: Vec<Simple>,
    /// The first thing that the line does beside running commands.
    pub(super) effect: Option<&'static str>,
    /// Texts that become the values of variables.
    pub(super) values: Vec<String>,
    /// Why the shell may run what no word names.
    pub(super) unsaid: Option<&'static str>,
}

/// When the time for a line is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn new() -> Self {
        Self(Instant::now() + MAX_TIME)
    }

    fn is_over(self) -> bool {
        Instant::now() > self.0
    }
}

/// Reads a line.
pub(super) fn read(line: &str, deadline: Deadline) -> Result<Script, &'static str> {
    if has_odd_controls(line) {
        return Err("it holds control characters");
    }
    if line.len() > MAX_BYTES {
        return Err("it is too long");
    }
    let (line, documents) = heredocs::cut(line)?;
    // The grammar takes a time that grows with the square of these.
    if line.bytes().filter(|byte| matches!(byte, b'|' | b'<')).count() > MAX_JOINS {
        return Err("it is too long");
    }
    let tree = parse(&line, deadline)?;
    let continues = signs::check(&line, tree.root_node())?;
    let script = Script { effect: continues.then_some(CONTINUES), ..Script::default() };
    reader::read(&line, documents, script, tree.root_node())
}

fn parse(line: &str, deadline: Deadline) -> Result<Tree, &'static str> {
    let mut parser = Parser::new();
    // The grammar's scanner looks signs up in a table that ends with ASCII. To bash, all others are letters of a word.
    let ascii: Vec<u8> = line.bytes().map(|byte| if byte.is_ascii() { byte } else { b'z' }).collect();
    let mut watch = |_: &_| if deadline.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut watch);
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| UNCLEAR)?;
    let tree = parser.parse_with_options(&mut |at, _| ascii.get(at..).unwrap_or_default(), None, Some(options));
    let tree = tree.ok_or("it takes too long to read")?;
    if tree.root_node().has_error() { Err("it is not written as bash wants it") } else { Ok(tree) }
}

/// Returns `true` if nothing belongs to a word beyond this.
pub(super) fn is_apart(neighbor: Option<char>) -> bool {
    neighbor.is_none_or(|c| APART.contains(&c))
}
