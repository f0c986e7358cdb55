//! What a syntax tree says that bash runs: words, inputs, and what is done beside.
//!
//! Owns the nodes of the grammar. Leaves the tree itself to `syntax`, and what commands do to `line`. Invariant: a node that is
//! not known is an error, and every command within one that is known is read.

use tree_sitter::Node;

use super::heredocs::{HereDoc, MARK};
use super::syntax::{ANY, APART, COMPUTES, CONTINUES, NAMES, OPENS, SETS, Script, Simple, UNCLEAR, Word, is_apart};

/// What a redirection may write to without making a file.
const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
/// Why backticks are not looked into: another grammar of quotes holds between them.
const BACKTICKS: &str = "it contains backticks";
const WRITES: &str = "it redirects output to a file";
/// How deep substitutions, subshells and chains may nest.
const MAX_DEPTH: usize = 100;
const TOO_DEEP: &str = "it is nested too deeply";
const CHOOSES: &str = "it defines a function or chooses between cases";
const HOLDS_TEXT: &str = "it contains a here-document";
/// Nodes that hold commands.
#[rustfmt::skip]
const STATEMENTS: [&str; 21] = [
    "c_style_for_statement", "case_item", "case_statement", "command", "command_substitution", "compound_statement",
    "declaration_command", "do_group", "file_redirect", "for_statement", "function_definition", "if_statement", "list",
    "negated_command", "pipeline", "process_substitution", "redirected_statement", "subshell", "test_command",
    "variable_assignment", "while_statement",
];

/// Reads a tree of a line without its here-documents.
pub(super) fn read(
    line: &str,
    documents: Vec<HereDoc>,
    script: Script,
    root: Node<'_>,
) -> Result<Script, &'static str> {
    let mut reader = Reader { line, documents, script, is_ticked: false };
    reader.statement(root, 0)?;
    Ok(reader.script)
}

/// Returns `true` for a place that bash opens as a connection when it redirects.
fn connects(target: &str) -> bool {
    ["/dev/tcp/", "/dev/udp/"].iter().any(|network| target.starts_with(network))
}

/// Returns `true` if a `for` gives plain values to a variable that means nothing to bash nor to a program.
fn sets_harmless_variable(variable: &str, values: &[Word]) -> bool {
    const NAMES: [&str; 8] = ["file", "dir", "folder", "name", "item", "word", "line", "num"];
    let is_known =
        NAMES.contains(&variable) || (variable.len() == 1 && variable.chars().all(|c| c.is_ascii_lowercase()));
    let is_plain = |word: &Word| word.text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-*?,:@+%".contains(c));
    is_known && values.iter().all(is_plain)
}

/// Reads the syntax tree. The grammar lets pass more than bash does, and splits some words otherwise, so that every
/// node, sign and blank that is not known to mean the same to both is refused.
struct Reader<'a> {
    line: &'a str,
    documents: Vec<HereDoc>,
    script: Script,
    /// Whether a backtick ends a word.
    is_ticked: bool,
}

impl<'a> Reader<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        &self.line[node.byte_range()]
    }

    /// Notes that the line does more than run commands.
    fn notes(&mut self, effect: &'static str) {
        self.script.effect.get_or_insert(effect);
    }

    /// Notes that the shell may run what no word names.
    fn hides(&mut self, why: &'static str) {
        self.notes(why);
        self.script.unsaid.get_or_insert(why);
    }

    fn is_set_apart(&self, node: Node<'_>) -> bool {
        let before = self.line[..node.start_byte()].chars().next_back();
        [before, self.after(node)].into_iter().all(|c| is_apart(c) || (self.is_ticked && c == Some('`')))
    }

    fn after(&self, node: Node<'_>) -> Option<char> {
        self.line[node.end_byte()..].chars().next()
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        match node.kind() {
            "compound_statement" if node.child(0).is_some_and(|child| child.kind() == "((") => {
                self.mixed(node, COMPUTES, depth)
            }
            "command_substitution" if node.child(0).is_some_and(|child| child.kind() == "`") => {
                self.notes(BACKTICKS);
                if self.is_ticked || self.text(node).contains('\\') {
                    return Err(BACKTICKS);
                }
                self.is_ticked = true;
                let read = self.statements(node, depth);
                self.is_ticked = false;
                read
            }
            "program"
            | "list"
            | "pipeline"
            | "subshell"
            | "compound_statement"
            | "negated_command"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "do_group"
            | "command_substitution"
            | "process_substitution"
            | "variable_assignments" => self.statements(node, depth),
            "command" => self.simple_command(node, depth),
            "file_redirect" => match self.redirection(node, depth, &mut None)?.as_slice() {
                [] => Ok(()),
                _ => Err(UNCLEAR),
            },
            "redirected_statement" => self.redirected(node, depth),
            "test_command" if node.child(0).is_some_and(|child| child.kind() == "[[") => {
                self.mixed(node, COMPUTES, depth)
            }
            "test_command" => {
                let mut words = Vec::new();
                self.test(node, &mut words, depth)?;
                self.script.commands.push(Simple { words, input: None });
                Ok(())
            }
            "for_statement" => self.for_loop(node, depth),
            "variable_assignment" => self.assignment(node, depth),
            "declaration_command" | "unset_command" => self.declaration(node, depth),
            "c_style_for_statement" => self.mixed(node, COMPUTES, depth),
            "case_statement" | "case_item" | "function_definition" => self.mixed(node, CHOOSES, depth),
            "comment" | ";" | "&" | "|" | "|&" | "&&" | "||" | "(" | ")" | "$(" | "<(" | ">(" | "\n" | "`" => Ok(()),
            "!" | "{" | "}" | "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done"
                if self.is_set_apart(node) =>
            {
                Ok(())
            }
            _ => Err(UNCLEAR),
        }
    }

    fn statements(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let mut cursor = node.walk();
        node.children(&mut cursor).try_for_each(|child| self.statement(child, depth + 1))
    }

    /// Reads what the shell computes with, or chooses by.
    fn mixed(&mut self, node: Node<'_>, effect: &'static str, depth: usize) -> Result<(), &'static str> {
        self.notes(effect);
        let mut cursor = node.walk();
        node.children(&mut cursor).try_for_each(|child| self.filled(child, depth + 1))
    }

    /// Reads the commands that run while the shell fills in a part, whatever else that part means.
    fn filled(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        let text = self.text(node);
        match node.kind() {
            kind if STATEMENTS.contains(&kind) => return self.statement(node, depth + 1),
            // Newer shells run what stands there.
            "expansion" if text.trim_start().trim_start_matches("${").starts_with([' ', '\t', '\n', '|', '(']) => {
                return Err(UNCLEAR);
            }
            "raw_string" | "string" | "word" | "ansi_c_string" if computes(text) => {
                self.hides("the shell may compute in it");
            }
            "heredoc_redirect" | "herestring_redirect" => return Err(UNCLEAR),
            _ => {}
        }
        let mut cursor = node.walk();
        node.children(&mut cursor).try_for_each(|child| self.filled(child, depth + 1))
    }

    fn assignment(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        self.notes(SETS);
        if let Some(value) = node.child_by_field_name("value") {
            let text = self.text(value);
            // A substitution is read as what it runs.
            if value.kind() != "command_substitution" {
                self.script.values.push(text.to_owned());
            }
        }
        let mut cursor = node.walk();
        node.children(&mut cursor).try_for_each(|child| self.filled(child, depth + 1))
    }

    fn declaration(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        self.notes(SETS);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.kind() == "variable_assignment" {
                self.assignment(child, depth)?;
            } else {
                // `export "NAME=value"`
                self.script.values.extend(self.text(child).split_once('=').map(|(_, value)| value.to_owned()));
                self.filled(child, depth + 1)?;
            }
        }
        Ok(())
    }

    fn redirected(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let body = node.child_by_field_name("body").filter(|body| body.kind() != "command");
        let Some(body) = body else { return self.simple_command(node, depth) };
        self.statement(body, depth + 1)?;
        let mut rest = self.on_one_line(node)?.into_iter().filter(|child| *child != body);
        // What a whole block gets as its input, any command in it may read.
        let mut input = None;
        rest.try_for_each(|child| match self.redirection(child, depth, &mut input)?.as_slice() {
            [] => Ok(()),
            _ => Err(UNCLEAR),
        })?;
        if let Some(HereDoc { text, .. }) = input {
            self.script.values.push(text);
        }
        Ok(())
    }

    /// Returns the children of what bash reads as one line.
    fn on_one_line<'t>(&self, node: Node<'t>) -> Result<Vec<Node<'t>>, &'static str> {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        let breaks =
            |pair: &[Node<'_>]| self.line[pair[0].end_byte()..pair[1].start_byte()].replace("\\\n", "").contains('\n');
        if children.windows(2).any(breaks) { Err(UNCLEAR) } else { Ok(children) }
    }

    fn simple_command(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let mut command = Simple::default();
        self.parts_of_command(node, &mut command, depth)?;
        self.script.commands.push(command);
        Ok(())
    }

    fn parts_of_command(&mut self, node: Node<'_>, command: &mut Simple, depth: usize) -> Result<(), &'static str> {
        for child in self.on_one_line(node)? {
            match child.kind() {
                "variable_assignment" => self.assignment(child, depth)?,
                "file_redirect" | "herestring_redirect" => {
                    let mut words = self.redirection(child, depth, &mut command.input)?;
                    command.words.append(&mut words);
                }
                "command" => self.parts_of_command(child, command, depth)?,
                _ => command.words.push(self.word(child, depth)?),
            }
        }
        Ok(())
    }

    /// Reads a redirection, and returns the words behind its target, which the command gets.
    fn redirection(
        &mut self,
        node: Node<'_>,
        depth: usize,
        input: &mut Option<HereDoc>,
    ) -> Result<Vec<Word>, &'static str> {
        let (mut operator, mut target, mut words) = ("", None, Vec::new());
        for child in self.on_one_line(node)? {
            match child.kind() {
                "file_descriptor" => {
                    let is_number = self.text(child).bytes().all(|byte| byte.is_ascii_digit());
                    if !is_number || !self.is_set_apart(child) || !matches!(self.after(child), Some('<' | '>')) {
                        return Err(SETS);
                    }
                }
                "<&-" | ">&-" if !is_apart(self.after(child)) => return Err(WRITES),
                _ if !child.is_named() && operator.is_empty() => operator = self.text(child),
                _ => {
                    let word = self.word(child, depth)?;
                    if target.is_none() && !operator.ends_with('-') {
                        target = Some((word, child));
                    } else {
                        words.push(word);
                    }
                }
            }
        }
        let Some((word, node)) = target else {
            return if operator.ends_with("&-") { Ok(words) } else { Err(UNCLEAR) };
        };
        let raw = self.text(node);
        let is_stream = raw == "-" || raw.bytes().all(|byte| byte.is_ascii_digit());
        match operator {
            "<<<" => {
                self.notes(HOLDS_TEXT);
                *input = Some(HereDoc { is_literal: word.is_literal(), text: word.text });
            }
            "<" if raw.starts_with(MARK) => {
                self.notes(HOLDS_TEXT);
                let number: usize = raw.trim_start_matches(MARK).parse().map_err(|_| UNCLEAR)?;
                *input = Some(self.documents.get(number).ok_or(UNCLEAR)?.clone());
            }
            "<&" | ">&" if is_stream => {}
            "<" if node.kind() == "process_substitution" => {}
            "<" if !word.is_literal() || connects(&word.text) => self.notes("it may read from the network"),
            "<" => {}
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" if word.is_literal() && NO_FILES.contains(&word.text.as_str()) => {}
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<>" | "<&" => self.notes(WRITES),
            _ => return Err(WRITES),
        }
        Ok(words)
    }

    fn for_loop(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let (mut variable, mut values, mut last) = ("", Vec::new(), node.start_byte());
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let gap = &self.line[last.min(child.start_byte())..child.start_byte()];
            last = child.end_byte();
            match child.kind() {
                "for" | "select" | "in" | ";" | "\n" => {}
                "do_group" | "compound_statement" => self.statement(child, depth + 1)?,
                "variable_name" => variable = self.text(child),
                _ if gap.replace("\\\n", "").contains('\n') => return Err(UNCLEAR),
                _ => values.push(self.word(child, depth)?),
            }
        }
        if !sets_harmless_variable(variable, &values) {
            self.notes("its loop variable may have a meaning to bash");
        }
        let acts = |word: &Word| word.text.contains(['$', '`']);
        self.script.values.extend(values.into_iter().filter(acts).map(|word| word.text));
        Ok(())
    }

    /// Reads `[ … ]` as the command that it is to bash.
    fn test(&mut self, node: Node<'_>, words: &mut Vec<Word>, depth: usize) -> Result<(), &'static str> {
        match node.kind() {
            "test_command" | "unary_expression" | "binary_expression" => {
                let children = self.on_one_line(node)?;
                children.into_iter().try_for_each(|child| self.test(child, words, depth))
            }
            _ if !node.is_named() || node.kind() == "test_operator" => {
                let text = self.text(node);
                if text.contains(APART) || !self.is_set_apart(node) {
                    return Err(UNCLEAR);
                }
                words.push(Word::literal(text));
                Ok(())
            }
            _ => {
                words.push(self.word(node, depth)?);
                Ok(())
            }
        }
    }

    fn word(&mut self, node: Node<'_>, depth: usize) -> Result<Word, &'static str> {
        let node = if node.kind() == "command_name" { node.child(0).ok_or(UNCLEAR)? } else { node };
        // A comment to bash.
        if !self.is_set_apart(node) || self.text(node).starts_with('#') {
            return Err(UNCLEAR);
        }
        // `{name}>` puts the number of a stream into a variable.
        if self.text(node).ends_with('}') && matches!(self.after(node), Some('<' | '>')) {
            return Err(SETS);
        }
        let mut word = Word::default();
        self.part(node, &mut word, depth)?;
        word.close();
        Ok(word)
    }

    fn part(&mut self, node: Node<'_>, word: &mut Word, depth: usize) -> Result<(), &'static str> {
        let text = self.text(node);
        match node.kind() {
            "concatenation" => {
                let (mut cursor, mut end) = (node.walk(), node.start_byte());
                for child in node.children(&mut cursor) {
                    if child.start_byte() != std::mem::replace(&mut end, child.end_byte()) {
                        return Err(UNCLEAR);
                    }
                    // Two braces without anything between them stand for themselves.
                    let brace = self.text(child);
                    let pair = self.line[child.start_byte()..].starts_with("{}") && brace == "{";
                    let closes = self.line[..child.end_byte()].ends_with("{}") && brace == "}";
                    if pair || closes { word.push_str(brace) } else { self.part(child, word, depth)? }
                }
                return Ok(());
            }
            "word" | "number" if node.named_child_count() == 0 => return plain(text, word),
            "raw_string" => {
                word.push_str(text.trim_matches('\''));
                return Ok(());
            }
            "string" => return self.string(node, word, depth),
            "==" | "=~" => {
                word.push_str(text);
                return Ok(());
            }
            "simple_expansion" | "brace_expression" => {}
            "expansion" => {
                let name = text.trim_start().trim_start_matches("${").trim_end_matches('}');
                if !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                    self.notes(COMPUTES);
                    self.filled(node, depth + 1)?;
                }
            }
            "command_substitution" | "process_substitution" => self.statement(node, depth + 1)?,
            "ansi_c_string" if text.contains('[') => self.hides("it contains a `$'…'` string"),
            "ansi_c_string" => self.notes("it contains a `$'…'` string"),
            "arithmetic_expansion" => self.mixed(node, COMPUTES, depth)?,
            "extglob_pattern" | "translated_string" => {
                self.notes(UNCLEAR);
                self.filled(node, depth + 1)?;
            }
            _ => return Err(UNCLEAR),
        }
        word.push_expansion(text, ANY);
        Ok(())
    }

    fn string(&mut self, node: Node<'_>, word: &mut Word, depth: usize) -> Result<(), &'static str> {
        let (mut cursor, mut end) = (node.walk(), node.start_byte());
        for child in node.children(&mut cursor) {
            // The grammar passes over blanks here.
            word.push_str(&self.line[end..child.start_byte()]);
            end = child.end_byte();
            match child.kind() {
                // So does a sign that ends it.
                "\"" => word.push_str(self.text(child).trim_matches('"')),
                "string_content" => {
                    let text = self.text(child).replace("\\\n", "");
                    if text.len() < self.text(child).len() {
                        self.notes(CONTINUES);
                    }
                    let mut chars = text.chars().peekable();
                    while let Some(c) = chars.next() {
                        let escaped = chars.next_if(|next| c == '\\' && "$`\"\\".contains(*next));
                        word.push(escaped.unwrap_or(c));
                    }
                }
                "$" if matches!(self.after(child), Some(' ' | '"')) => word.push_str(self.text(child)),
                "$" => return Err(UNCLEAR),
                _ => self.part(child, word, depth)?,
            }
        }
        Ok(())
    }
}

/// Returns `true` if a text may be an index in which a command stands.
pub(super) fn computes(text: &str) -> bool {
    text.contains('[') && text.contains(['$', '`'])
}

/// Reads a word, or a part of one, that has neither quotes nor expansions but for patterns.
fn plain(text: &str, word: &mut Word) -> Result<(), &'static str> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.push(chars.next().filter(|next| *next != '\n').ok_or(CONTINUES)?),
            '\'' | '"' | '$' | '`' => return Err(UNCLEAR),
            c if is_apart(Some(c)) => return Err(UNCLEAR),
            '*' | '?' => word.push_expansion(&c.to_string(), NAMES),
            '[' if text != "[" => word.push_expansion("[", OPENS),
            '{' => word.push_expansion("{", OPENS),
            c => word.push(c),
        }
    }
    Ok(())
}
