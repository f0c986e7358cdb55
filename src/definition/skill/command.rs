//! Lines of shell commands in a skill, with what a caller has said put in as words.
//!
//! A line is the author's; what is put in is anybody's. Owns finding out where in the line each value stands, and how it is written
//! there. Leaves which values there are to `expand`, and judging and running the line to `agent`. Invariant: the shell reads
//! the line as its author wrote it: a value is a word, or a part of one, and no sign of it is one of the shell's. Where that
//! cannot be told, or another program would take the value for code, only a number is put in.

use tree_sitter::{Node, Parser, Tree};

use super::programs::{ShellWord, VALUE, runs_input, runs_word};
use crate::message::shell_word;

/// Stands in the place of a value while the line is looked at.
const MARK: &str = "BelvedereValue";
/// Signs that mean nothing to a shell in a word.
const PLAIN: &str = "_./:@%+,-";
/// Variables that programs take commands or options from.
const COMMANDING: [&str; 12] =
    ["PATH", "IFS", "ENV", "SHELL", "LD_", "DYLD_", "GIT_", "PS4", "BASH", "OPTIONS", "OPTS", "FLAGS"];
/// Tests that compute.
const COMPUTING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
/// Commands that put what they read into variables.
const READING: [&str; 4] = ["read", "mapfile", "readarray", "getopts"];
/// Parts of a word that are not known before it runs.
const VARIED: [&str; 3] = ["simple_expansion", "expansion", "command_substitution"];
/// Parts of a line in which a word stays what it is.
#[rustfmt::skip]
const KEEPING: [&str; 28] = [
    "concatenation", "string", "program", "list", "pipeline", "subshell", "compound_statement", "negated_command",
    "if_statement", "elif_clause", "else_clause", "while_statement", "do_group", "for_statement", "case_statement",
    "case_item", "process_substitution", "command_substitution", "redirected_statement", "file_redirect",
    "herestring_redirect", "heredoc_redirect", "heredoc_body", "test_command", "unary_expression", "binary_expression",
    "variable_assignments", "declaration_command",
];
/// Bytes of the longest line that is looked at.
const MAX_BYTES: usize = 50_000;

/// A part of a line.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Written(&'a str),
    Value(LineValue<'a>),
}

/// What is put into a line.
#[derive(Debug)]
pub(super) struct LineValue<'a> {
    /// As it stands in the line: `$1`.
    pub(super) written: &'a str,
    pub(super) text: String,
    /// The words that it is where nothing else belongs to its word; `None` if it is one word in any case.
    pub(super) words: Option<Vec<String>>,
    pub(super) kind: ValueKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// What the caller has said.
    Callers,
    /// The same, under a name that programs in the line may have for something of their own: `$1` of awk.
    Position,
    /// A place on this machine.
    Place,
    /// None: it is meant as it is written, behind a backslash.
    Escaped,
}

impl LineValue<'_> {
    fn is_callers(&self) -> bool {
        matches!(self.kind, ValueKind::Callers | ValueKind::Position) && !self.is_nothing()
    }

    /// Returns `true` if nothing was said.
    fn is_nothing(&self) -> bool {
        self.words.as_ref().is_some_and(Vec::is_empty)
    }
}

/// A line that is filled in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilledLine {
    pub(super) line: String,
    /// Whether anything of the caller's is in it.
    pub(super) has_callers: bool,
}

const CODE: &str = "an argument there would be run, or be an option that runs something; only a number can stand there";
const DOCUMENT: &str = "an argument of several lines cannot stand in a here-document";

/// How the shell reads what stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None {
        is_alone: bool,
    },
    Double,
    Single,
    /// A here-document, whose text is kept as it is, or looked through for variables.
    Document {
        is_kept: bool,
    },
    Comment,
    /// It cannot be told.
    Unknown,
}

/// What may stand at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// Anything.
    Data,
    /// What needs no quotes: other rules of quoting hold there.
    Plain,
    /// A number: all else would be run.
    Code,
}

/// Puts the values into a line.
///
/// # Errors
/// Returns why the line is not run.
pub(super) fn fill(parts: &[Part<'_>]) -> Result<FilledLine, &'static str> {
    let (template, places) = template(parts);
    let tree = parse(&template);
    let look = tree.as_ref().map(|tree| Look::new(tree, &template, &places));
    let (mut line, mut has_callers, mut are_numbers) = (String::new(), false, true);
    let mut places = places.iter();
    for part in parts {
        let value = match part {
            Part::Written(text) => {
                line.push_str(text);
                continue;
            }
            Part::Value(value) => value,
        };
        let found = places.next().zip(look.as_ref()).map(|(place, look)| look.place(place));
        let (role, quotes) = found.unwrap_or((Role::Code, Quotes::Unknown));
        match value.kind {
            // The shell takes the backslash away, but not in such quotes.
            ValueKind::Escaped if quotes == Quotes::Single => line.push_str(value.written.trim_start_matches('\\')),
            ValueKind::Escaped => line.push_str(value.written),
            ValueKind::Position if role == Role::Code && quotes == Quotes::Single => line.push_str(value.written),
            _ if quotes == Quotes::Comment => line.push_str(value.written),
            _ => {
                has_callers |= value.is_callers();
                are_numbers &= !value.is_callers() || is_number(&value.text);
                line.push_str(&put(value, role, quotes)?);
            }
        }
    }
    // What was put in must not have changed what the line does.
    let is_same = || tree.zip(parse(&line)).is_some_and(|(old, new)| shape(&old) == shape(&new));
    if are_numbers || is_same() { Ok(FilledLine { line, has_callers }) } else { Err(CODE) }
}

/// Writes a value as its place wants it.
fn put(value: &LineValue<'_>, role: Role, quotes: Quotes) -> Result<String, &'static str> {
    let text = &value.text;
    if value.is_nothing() || is_number(text) || (!value.is_callers() && is_plain(text, PLAIN)) {
        return Ok(text.clone());
    }
    let may = match role {
        Role::Data => true,
        Role::Plain => is_plain(text, "_./:@%+,-= ") && !text.starts_with('-'),
        Role::Code => !value.is_callers(),
    };
    if !may {
        return Err(CODE);
    }
    Ok(match quotes {
        Quotes::None { is_alone } => match value.words.as_ref().filter(|_| is_alone) {
            Some(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            None => quoted(text),
        },
        Quotes::Double => escaped(text, "\\\"$`"),
        Quotes::Single => text.replace('\'', r"'\''"),
        Quotes::Document { .. } if text.contains('\n') => return Err(DOCUMENT),
        Quotes::Document { is_kept: false } => escaped(text, "\\$`"),
        Quotes::Document { is_kept: true } | Quotes::Comment | Quotes::Unknown => text.clone(),
    })
}

fn quoted(word: &str) -> String {
    if is_plain(word, PLAIN) { word.to_owned() } else { shell_word(word) }
}

fn escaped(text: &str, signs: &str) -> String {
    let escape = |c: char| signs.contains(c).then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escape).collect()
}

fn is_plain(text: &str, signs: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A mark, and the value that it stands for.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    start: usize,
    end: usize,
    value: &'a LineValue<'a>,
}

/// Returns the line with marks in the place of its values.
fn template<'a>(parts: &'a [Part<'a>]) -> (String, Vec<Place<'a>>) {
    let (mut line, mut places) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Written(text) => line.push_str(text),
            Part::Value(value) => {
                let start = line.len();
                line.push_str(MARK);
                places.push(Place { start, end: line.len(), value });
            }
        }
    }
    (line, places)
}

/// Reads a line; `None` if it is not understood in full.
fn parse(line: &str) -> Option<Tree> {
    if line.len() > MAX_BYTES {
        return None;
    }
    // To bash, all signs beyond ASCII are letters of a word.
    let ascii: Vec<u8> = line.bytes().map(|byte| if byte.is_ascii() { byte } else { b'z' }).collect();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(&ascii, None).filter(|tree| !tree.root_node().has_error())
}

/// Returns what a line does, but for the words of its commands.
fn shape(tree: &Tree) -> Vec<&'static str> {
    const OF_WORDS: [&str; 9] =
        ["word", "number", "concatenation", "raw_string", "string", "string_content", "\"", "heredoc_content", "regex"];
    all_below(tree.root_node()).into_iter().map(|node| node.kind()).filter(|kind| !OF_WORDS.contains(kind)).collect()
}

/// What a line is, as a whole.
struct Look<'a> {
    tree: &'a Tree,
    line: &'a str,
    places: &'a [Place<'a>],
    /// Whether something in it may take any value for code, wherever that stands.
    runs_anything: bool,
}

impl<'a> Look<'a> {
    fn new(tree: &'a Tree, line: &'a str, places: &'a [Place<'a>]) -> Self {
        let mut look = Self { tree, line, places, runs_anything: false };
        let nodes = all_below(tree.root_node());
        let keeps = nodes.iter().any(|node| match node.kind() {
            "variable_assignment" | "for_statement" => look.is_callers(*node),
            "command" => look.words(*node).first().is_some_and(|word| READING.contains(&word.text.as_str())),
            _ => false,
        });
        look.runs_anything = nodes.iter().any(|node| look.runs_any(*node, keeps));
        look
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        &self.line[node.byte_range()]
    }

    /// Returns what a caller has said in a part of the line.
    fn callers(&self, node: Node<'_>) -> impl Iterator<Item = &Place<'a>> {
        let range = node.byte_range();
        self.places.iter().filter(move |place| place.value.is_callers() && range.contains(&place.start))
    }

    fn is_callers(&self, node: Node<'_>) -> bool {
        self.callers(node).next().is_some()
    }

    /// Returns `true` for a part of the line that may take a value for code which stands elsewhere; `keeps` tells whether a
    /// variable holds one.
    fn runs_any(&self, node: Node<'_>, keeps: bool) -> bool {
        match node.kind() {
            "arithmetic_expansion" | "c_style_for_statement" | "subscript" | "((" | "function_definition" => true,
            "test_operator" => COMPUTING.contains(&self.text(node)),
            "command" => {
                let words = self.words(node);
                let is_varied = |name| all_below(name).iter().any(|part| VARIED.contains(&part.kind()));
                runs_input(&words) || (keeps && node.child_by_field_name("name").is_some_and(is_varied))
            }
            "declaration_command" => self.text(node).contains(" -"),
            _ => false,
        }
    }

    /// Returns the words of a simple command.
    fn words(&self, command: Node<'_>) -> Vec<ShellWord> {
        word_nodes(command)
            .into_iter()
            .map(|node| {
                let text: String = self.text(node).chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
                let callers = self
                    .callers(node)
                    .flat_map(|place| place.value.words.clone().unwrap_or_else(|| vec![place.value.text.clone()]));
                let (callers, is_led) = (callers.collect(), text.starts_with(MARK));
                ShellWord { text: text.replace(MARK, VALUE), callers, is_led }
            })
            .collect()
    }

    /// Returns what may stand at a place, and how the shell reads it there.
    fn place(&self, place: &Place<'_>) -> (Role, Quotes) {
        let unknown = (Role::Code, Quotes::Unknown);
        let Some(leaf) = self.tree.root_node().descendant_for_byte_range(place.start, place.end) else {
            return unknown;
        };
        let quotes = match leaf.kind() {
            "word" => {
                let is_alone = leaf.byte_range() == (place.start..place.end)
                    && leaf.parent().is_some_and(|parent| matches!(parent.kind(), "command" | "for_statement"));
                Quotes::None { is_alone }
            }
            "string_content" => Quotes::Double,
            "raw_string" => Quotes::Single,
            "heredoc_content" | "heredoc_body" => match self.document(leaf, place.value) {
                Some(quotes) => quotes,
                None => return unknown,
            },
            "comment" => Quotes::Comment,
            _ => return unknown,
        };
        let role = if self.runs_anything { Role::Code } else { self.role(leaf) };
        (role, quotes)
    }

    /// Says how a here-document is read; `None` if the value could end it.
    fn document(&self, leaf: Node<'_>, value: &LineValue<'_>) -> Option<Quotes> {
        let body = if leaf.kind() == "heredoc_body" { leaf } else { leaf.parent()? };
        let mut cursor = body.parent()?.walk();
        let start = body.parent()?.children(&mut cursor).find(|node| node.kind() == "heredoc_start")?;
        let start = self.text(start);
        let end = start.trim_matches(['\'', '"', '\\']);
        let may_end = value.text.contains(end) || end.contains(value.text.as_str());
        (!may_end).then_some(Quotes::Document { is_kept: end != start })
    }

    fn role(&self, leaf: Node<'_>) -> Role {
        let (mut within, mut role) = (leaf, Role::Data);
        while let Some(parent) = within.parent() {
            let here = match parent.kind() {
                "command_substitution" if self.text(parent).starts_with('`') => Role::Plain,
                "declaration_command" if within.kind() != "variable_assignment" => Role::Code,
                "variable_assignment" => self.role_of_assignment(parent, within),
                "command" => self.role_of_word(parent, within),
                kind if KEEPING.contains(&kind) => Role::Data,
                _ => Role::Code,
            };
            role = role.max(here);
            within = parent;
        }
        role
    }

    fn role_of_assignment(&self, assignment: Node<'_>, value: Node<'_>) -> Role {
        let name = assignment.child_by_field_name("name").filter(|name| *name != value);
        let is_free = name.is_some_and(|name| {
            let name = self.text(name);
            !COMMANDING.iter().any(|part| name.contains(part))
                && !["COMMAND", "EDITOR", "PAGER", "VISUAL", "BROWSER"].iter().any(|end| name.ends_with(end))
        });
        if is_free { Role::Data } else { Role::Code }
    }

    fn role_of_word(&self, command: Node<'_>, word: Node<'_>) -> Role {
        if matches!(word.kind(), "file_redirect" | "herestring_redirect" | "variable_assignment") {
            return Role::Data;
        }
        let at = word_nodes(command).iter().position(|node| *node == word);
        let is_code = at.is_none_or(|at| runs_word(&self.words(command), at));
        if is_code { Role::Code } else { Role::Data }
    }
}

/// Returns the words of a simple command.
fn word_nodes(command: Node<'_>) -> Vec<Node<'_>> {
    const OTHERS: [&str; 4] = ["variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"];
    let mut cursor = command.walk();
    command.children(&mut cursor).filter(|node| !OTHERS.contains(&node.kind())).collect()
}

/// Returns a part and all parts of it, in their order.
fn all_below(node: Node<'_>) -> Vec<Node<'_>> {
    let (mut nodes, mut waiting) = (Vec::new(), vec![node]);
    while let Some(node) = waiting.pop() {
        nodes.push(node);
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        waiting.extend(children.into_iter().rev());
    }
    nodes
}
