//! Whether the smallest parts of a syntax tree are those that bash sees.
//!
//! Pure. Invariant: what the grammar passes over between two parts is nothing to bash, signs that belong together for bash do so
//! in the tree, and comments are such for bash.

use tree_sitter::Node;

use super::syntax::{APART, COMPUTES, CONTINUES, UNCLEAR, is_apart};

/// Checks the leaves of a tree. Returns `true` if a line goes on behind a backslash.
pub(super) fn check(line: &str, root: Node<'_>) -> Result<bool, &'static str> {
    const CLOSED: [&str; 4] = ["string", "subshell", "command_substitution", "process_substitution"];
    let mut cursor = root.walk();
    let (mut before, mut closed, mut continues) = (None::<Node<'_>>, 0_usize, false);
    loop {
        if cursor.node().child_count() > 0 {
            closed += usize::from(CLOSED.contains(&cursor.node().kind()));
            cursor.goto_first_child();
            continue;
        }
        let leaf = cursor.node();
        continues |= check_leaf(line, leaf, before)?;
        if leaf.kind() == "comment" && (closed > 0 || !is_apart(line[..leaf.start_byte()].chars().next_back())) {
            return Err("it has a comment inside parentheses or quotes");
        }
        before = Some(leaf);
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(continues | check_gap(&line[leaf.end_byte()..])?);
            }
            closed -= usize::from(CLOSED.contains(&cursor.node().kind()));
        }
    }
}

fn check_leaf(line: &str, leaf: Node<'_>, before: Option<Node<'_>>) -> Result<bool, &'static str> {
    if !line.is_char_boundary(leaf.start_byte()) || !line.is_char_boundary(leaf.end_byte()) {
        return Err(UNCLEAR);
    }
    let may_hold = matches!(leaf.kind(), "string_content" | "raw_string" | "comment");
    if !may_hold && line[leaf.byte_range()].contains("\\\n") {
        return Err(CONTINUES);
    }
    let end = before.map_or(0, |node| node.end_byte()).min(leaf.start_byte());
    let continues = check_gap(&line[end..leaf.start_byte()])?;
    let text = |node: Node<'_>| &line[node.byte_range()];
    let is_sign = |node: Node<'_>| !node.is_named() && text(node).ends_with(APART);
    let Some(before) = before.filter(|before| before.end_byte() == leaf.start_byte()) else { return Ok(continues) };
    if !is_sign(before) || !is_sign(leaf) {
        return Ok(continues);
    }
    let (left, right) = (text(before), text(leaf));
    if left.ends_with('(') && right == "(" {
        return Err(COMPUTES);
    }
    let is_clear = left.ends_with(')')
        || matches!(right, "(" | "$(" | "\n")
        || matches!((left, right), ("\n", _) | ("$(", "<") | ("(", ")"))
        || leaf.parent().is_some_and(|node| node.kind() == "c_style_for_statement");
    if is_clear { Ok(continues) } else { Err(UNCLEAR) }
}

/// Checks what stands between two parts. Where a blank remains, the shell sees nothing of a line that goes on.
fn check_gap(gap: &str) -> Result<bool, &'static str> {
    let is_blank = |text: &str| text.chars().all(|c| matches!(c, ' ' | '\t' | '\n'));
    if is_blank(gap) {
        return Ok(false);
    }
    let rest = gap.replace("\\\n", "");
    if !rest.is_empty() && is_blank(&rest) { Ok(true) } else { Err(CONTINUES) }
}
