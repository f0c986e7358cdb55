//! Shell lines as the words of the simple commands they run, taken from the syntax tree of a grammar of bash.
//!
//! Owns which parts of that tree are understood. Leaves the grammar to `tree-sitter-bash`, and what the commands do to
//! `commands`. Invariant: the tree is believed only where it cannot differ from what bash reads. The grammar lets more pass than
//! bash does, and ends some words and lines elsewhere: a node, a sign or a blank that is not known to mean the same to
//! both is an error that says why.

use tree_sitter::{Node, Parser};

use super::grants::has_odd_controls;

/// What a redirection may write to without making a file.
const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
/// What the shell sets words apart with.
const APART: [char; 10] = [' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>'];
/// Why arithmetic is not looked into.
const COMPUTES: &str = "it does arithmetic";
/// Why backticks are not: another grammar of quotes holds between them.
const BACKTICKS: &str = "it contains backticks";
pub(super) const SETS: &str = "it sets a variable that a command may act on";
const WRITES: &str = "it redirects output to a file";
pub(super) const UNCLEAR: &str = "a part of it is not understood";
/// How deep substitutions, subshells and chains may nest.
const MAX_DEPTH: usize = 100;
/// What is looked into in a blink.
const MAX_BYTES: usize = 50_000;

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

/// Returns the words of each simple command.
pub(super) fn read(line: &str) -> Result<Vec<Vec<Word>>, &'static str> {
    if has_odd_controls(line) {
        return Err("it holds control characters");
    }
    // Between signs that belong together, bash sees nothing of it.
    if line.contains("\\\n") {
        return Err("it continues a line with a backslash");
    }
    if line.len() > MAX_BYTES {
        return Err("it is too long");
    }
    let mut parser = Parser::new();
    // The grammar's scanner looks signs up in a table that ends with ASCII. To bash, all others are letters of a word.
    let ascii: Vec<u8> = line.bytes().map(|byte| if byte.is_ascii() { byte } else { b'z' }).collect();
    let tree = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok().and_then(|()| parser.parse(&ascii, None));
    let tree = tree.filter(|tree| !tree.root_node().has_error()).ok_or("it is not written as bash wants it")?;
    let mut reader = Reader { line, commands: Vec::new() };
    reader.check_signs(tree.root_node())?;
    reader.statement(tree.root_node(), 0)?;
    Ok(reader.commands)
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

/// Returns `true` if nothing belongs to a word beyond this.
fn is_apart(neighbor: Option<char>) -> bool {
    neighbor.is_none_or(|c| APART.contains(&c))
}

/// Reads the syntax tree. The grammar lets pass more than bash does, and splits some words otherwise, so that every
/// node, sign and blank that is not known to mean the same to both is refused.
struct Reader<'a> {
    line: &'a str,
    commands: Vec<Vec<Word>>,
}

impl<'a> Reader<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        &self.line[node.byte_range()]
    }

    fn is_set_apart(&self, node: Node<'_>) -> bool {
        is_apart(self.line[..node.start_byte()].chars().next_back()) && is_apart(self.after(node))
    }

    fn after(&self, node: Node<'_>) -> Option<char> {
        self.line[node.end_byte()..].chars().next()
    }

    /// Checks that nothing but blanks stands between the smallest parts, that signs which belong together for bash do so
    /// here, and that comments are such for bash.
    fn check_signs(&self, root: Node<'_>) -> Result<(), &'static str> {
        let is_sign = |node: &Node<'_>| !node.is_named() && self.text(*node).ends_with(APART);
        let mut cursor = root.walk();
        let mut before: Option<Node<'_>> = None;
        loop {
            if cursor.goto_first_child() {
                continue;
            }
            let leaf = cursor.node();
            if !self.line.is_char_boundary(leaf.start_byte()) || !self.line.is_char_boundary(leaf.end_byte()) {
                return Err(UNCLEAR);
            }
            let gap = &self.line[before.map_or(0, |node| node.end_byte()).min(leaf.start_byte())..leaf.start_byte()];
            if !gap.chars().all(|c| matches!(c, ' ' | '\t' | '\n')) {
                return Err(UNCLEAR);
            }
            if leaf.kind() == "comment" && !self.is_comment(leaf) {
                return Err("it has a comment inside parentheses or quotes");
            }
            let joined =
                before.filter(|before| before.end_byte() == leaf.start_byte() && is_sign(before) && is_sign(&leaf));
            if let Some(before) = joined {
                let (left, right) = (self.text(before), self.text(leaf));
                if left.ends_with('(') && right == "(" {
                    return Err(COMPUTES);
                }
                if left != ")" && right != "(" && left != "\n" && right != "\n" {
                    return Err(UNCLEAR);
                }
            }
            before = Some(leaf);
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    let rest = &self.line[leaf.end_byte()..];
                    return if rest.trim_matches([' ', '\t', '\n']).is_empty() { Ok(()) } else { Err(UNCLEAR) };
                }
            }
        }
    }

    fn is_comment(&self, node: Node<'_>) -> bool {
        const CLOSED: [&str; 4] = ["string", "subshell", "command_substitution", "process_substitution"];
        let mut above = std::iter::successors(node.parent(), Node::parent);
        is_apart(self.line[..node.start_byte()].chars().next_back()) && above.all(|node| !CLOSED.contains(&node.kind()))
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        match node.kind() {
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
            | "process_substitution" => {
                let mut cursor = node.walk();
                node.children(&mut cursor).try_for_each(|child| self.statement(child, depth + 1))
            }
            "command" => self.simple_command(node, depth),
            "redirected_statement" => match node.child_by_field_name("body").filter(|body| body.kind() != "command") {
                None => self.simple_command(node, depth),
                Some(body) => {
                    self.statement(body, depth + 1)?;
                    let mut rest = self.on_one_line(node)?.into_iter().filter(|child| *child != body);
                    rest.try_for_each(|child| match self.redirection(child, depth)?.as_slice() {
                        [] => Ok(()),
                        _ => Err(UNCLEAR),
                    })
                }
            },
            "test_command" => {
                let mut words = Vec::new();
                self.test(node, &mut words, depth)?;
                self.commands.push(words);
                Ok(())
            }
            "for_statement" => self.for_loop(node, depth),
            "comment" | ";" | "&" | "|" | "|&" | "&&" | "||" | "(" | ")" | "$(" | "<(" | ">(" | "\n" => Ok(()),
            "!" | "{" | "}" | "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done"
                if self.is_set_apart(node) =>
            {
                Ok(())
            }
            "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command" => Err(SETS),
            "`" => Err(BACKTICKS),
            "((" | "))" | "c_style_for_statement" => Err(COMPUTES),
            "function_definition" | "case_statement" => Err("it defines a function or chooses between cases"),
            _ => Err(UNCLEAR),
        }
    }

    /// Returns the children of what bash reads as one line.
    fn on_one_line<'t>(&self, node: Node<'t>) -> Result<Vec<Node<'t>>, &'static str> {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        let breaks = |pair: &[Node<'_>]| self.line[pair[0].end_byte()..pair[1].start_byte()].contains('\n');
        if children.windows(2).any(breaks) { Err(UNCLEAR) } else { Ok(children) }
    }

    fn simple_command(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let mut words = Vec::new();
        for child in self.on_one_line(node)? {
            match child.kind() {
                "variable_assignment" => return Err(SETS),
                "file_redirect" => words.append(&mut self.redirection(child, depth)?),
                "command" => {
                    self.simple_command(child, depth)?;
                    words.append(&mut self.commands.pop().unwrap_or_default());
                }
                "heredoc_redirect" | "herestring_redirect" => return Err("it contains a here-document"),
                _ => words.push(self.word(child, depth)?),
            }
        }
        self.commands.push(words);
        Ok(())
    }

    /// Reads a redirection, and returns the words behind its target, which the command gets.
    fn redirection(&mut self, node: Node<'_>, depth: usize) -> Result<Vec<Word>, &'static str> {
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
        let is_expanded = word.form == Form::Expanded;
        match operator {
            "<&" | ">&" if is_stream => Ok(words),
            "<" if node.kind() == "process_substitution" => Ok(words),
            "<" if is_expanded || connects(&word.text) => Err("it may read from the network"),
            "<" => Ok(words),
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" if !is_expanded && NO_FILES.contains(&word.text.as_str()) => {
                Ok(words)
            }
            _ => Err(WRITES),
        }
    }

    fn for_loop(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let (mut variable, mut values, mut last) = ("", Vec::new(), node.start_byte());
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let gap = &self.line[last.min(child.start_byte())..child.start_byte()];
            last = child.end_byte();
            match child.kind() {
                "for" | "in" | ";" | "\n" => {}
                "do_group" => self.statement(child, depth + 1)?,
                "variable_name" => variable = self.text(child),
                _ if gap.contains('\n') => return Err(UNCLEAR),
                _ => values.push(self.word(child, depth)?),
            }
        }
        if sets_harmless_variable(variable, &values) {
            Ok(())
        } else {
            Err("its loop variable may have a meaning to bash")
        }
    }

    /// Reads `[ … ]` as the command that it is to bash.
    fn test(&mut self, node: Node<'_>, words: &mut Vec<Word>, depth: usize) -> Result<(), &'static str> {
        match node.kind() {
            "test_command" | "unary_expression" | "binary_expression" => {
                let children = self.on_one_line(node)?;
                children.into_iter().try_for_each(|child| self.test(child, words, depth))
            }
            "[[" | "]]" => Err(COMPUTES),
            _ if !node.is_named() || node.kind() == "test_operator" => {
                let text = self.text(node);
                if text.contains(APART) || !self.is_set_apart(node) {
                    return Err(UNCLEAR);
                }
                words.push(Word { text: text.to_owned(), form: Form::Literal });
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
                    self.part(child, word, depth)?;
                }
                return Ok(());
            }
            "word" | "number" if node.named_child_count() == 0 => return plain(text, word),
            "raw_string" => word.text.push_str(text.trim_matches('\'')),
            "string" => return self.string(node, word, depth),
            "==" | "=~" => word.text.push_str(text),
            "simple_expansion" | "brace_expression" => {}
            "expansion" => {
                let name = text.trim_start_matches("${").trim_end_matches('}');
                if !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                    return Err(COMPUTES);
                }
            }
            "command_substitution" | "process_substitution" => self.statement(node, depth + 1)?,
            "ansi_c_string" | "translated_string" => return Err("it contains a `$'…'` string"),
            "arithmetic_expansion" => return Err(COMPUTES),
            _ => return Err(UNCLEAR),
        }
        if !matches!(node.kind(), "raw_string" | "==" | "=~") {
            word.form = Form::Expanded;
            word.text.push_str(text);
        }
        Ok(())
    }

    fn string(&mut self, node: Node<'_>, word: &mut Word, depth: usize) -> Result<(), &'static str> {
        let (mut cursor, mut end) = (node.walk(), node.start_byte());
        for child in node.children(&mut cursor) {
            // The grammar passes over blanks here.
            word.text.push_str(&self.line[end..child.start_byte()]);
            end = child.end_byte();
            match child.kind() {
                // So does a sign that ends it.
                "\"" => word.text.push_str(self.text(child).trim_matches('"')),
                "string_content" => {
                    let mut chars = self.text(child).chars().peekable();
                    while let Some(c) = chars.next() {
                        let escaped = chars.next_if(|next| c == '\\' && "$`\"\\".contains(*next));
                        word.text.push(escaped.unwrap_or(c));
                    }
                }
                "$" if matches!(self.after(child), Some(' ' | '"')) => word.text.push_str(self.text(child)),
                "$" => return Err(UNCLEAR),
                _ => self.part(child, word, depth)?,
            }
        }
        Ok(())
    }
}

/// Reads a word, or a part of one, that has neither quotes nor expansions but for patterns.
fn plain(text: &str, word: &mut Word) -> Result<(), &'static str> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.text.push(chars.next().ok_or(UNCLEAR)?),
            '\'' | '"' | '$' | '`' => return Err(UNCLEAR),
            c if is_apart(Some(c)) => return Err(UNCLEAR),
            c => {
                if matches!(c, '*' | '?' | '{') || (c == '[' && text != "[") {
                    word.form = Form::Expanded;
                }
                word.text.push(c);
            }
        }
    }
    Ok(())
}
