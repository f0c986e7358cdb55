//! Comments, and what a file says of itself at its top.
//!
//! Owns telling what is said from marks, headings and boilerplate. Leaves definitions to the tool `Symbols`. Invariant:
//! works line by line on what a tool showed.

use std::collections::BTreeMap;

use super::contains_any;
use super::paths::extension;

pub(crate) fn is_comment(line: &str) -> bool {
    let hash = line.starts_with('#') && !["#[", "#!", "#define", "#include"].iter().any(|w| line.starts_with(w));
    hash || ["//", "/*", "*", "--", "\"\"\"", "'''", "<!--"].iter().any(|mark| line.starts_with(mark))
}

/// Returns a comment's text without its marks.
pub(crate) fn uncomment(line: &str) -> &str {
    let line = line.trim();
    let line = line.trim_start_matches(['/', '!', '#', '*', ';']).trim_end_matches("*/");
    line.trim().trim_matches('"').trim_matches('\'').trim()
}

fn quoted(lines: &BTreeMap<usize, String>, from: usize, quote: &str) -> Option<String> {
    let mut parts = Vec::new();
    for (nth, (_, line)) in lines.range(from..).enumerate() {
        let line = line.trim();
        let body = if nth == 0 { line.trim_start_matches('r').trim_start_matches(quote) } else { line };
        let text = body.split(quote).next().unwrap_or_default().trim();
        let closes = body.contains(quote);
        if text.is_empty() && !parts.is_empty() {
            break;
        }
        if !text.is_empty() {
            parts.push(text);
        }
        if closes || parts.len() > 6 {
            break;
        }
    }
    Some(parts.join(" ")).filter(|text| !text.is_empty())
}

/// Joins the first paragraph of a comment; a title of few words takes the paragraph after it along.
fn first_paragraph<'l>(lines: impl Iterator<Item = &'l str>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut title = String::new();
    for line in lines {
        let text = uncomment(line);
        if text.is_empty() || text.starts_with('@') || text.starts_with("```") {
            let whole = parts.join(" ");
            let is_title = title.is_empty() && whole.split(' ').count() < 4 && !whole.ends_with('.') && text.is_empty();
            if parts.is_empty() {
                continue;
            }
            if !is_title {
                break;
            }
            title = format!("{whole}: ");
            parts.clear();
            continue;
        }
        if !text.chars().any(char::is_alphabetic) {
            continue;
        }
        parts.push(text);
    }
    let text = format!("{title}{}", parts.join(" "));
    Some(text.trim_end_matches([':', ' ']).to_owned()).filter(|text| !text.is_empty())
}

/// Returns what a file says of itself at its top, with the line it says so.
pub(crate) fn purpose(path: &str, lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    if extension(path) == "py" {
        let (number, line) = lines.iter().find(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        })?;
        let quote = ["\"\"\"", "'''"].into_iter().find(|q| line.trim().trim_start_matches('r').starts_with(q));
        return quoted(lines, *number, quote?).map(|text| (*number, text));
    }
    let is_rust = extension(path) == "rs";
    let mut block: Vec<(usize, &str)> = Vec::new();
    for (number, line) in lines.iter().take(60) {
        let line = line.trim();
        let counts = if is_rust { line.starts_with("//!") || line.starts_with("/*!") } else { is_comment(line) };
        if counts && !line.starts_with("#!") {
            block.push((*number, line));
        }
        if !counts || line.ends_with("*/") {
            if let Some(told) = told(&block) {
                return Some(told);
            }
            block.clear();
        }
        let is_preamble = line.is_empty() || line.starts_with('#') || line.contains("use strict") || counts;
        if !is_preamble && !is_rust {
            return None;
        }
    }
    told(&block)
}

/// Returns what a block of comment lines says, with the line on which it begins to.
fn told(block: &[(usize, &str)]) -> Option<(usize, String)> {
    let text = first_paragraph(block.iter().map(|(_, line)| if is_heading(line) { "" } else { *line }));
    let text = text.filter(|text| !is_boilerplate(text))?;
    let first = block.iter().find(|(_, line)| !is_heading(line) && uncomment(line).chars().any(char::is_alphabetic));
    first.map(|(number, _)| (*number, text))
}

/// Returns `true` if a comment line is a heading or a row of badges.
fn is_heading(line: &str) -> bool {
    line.starts_with("//! #") || ["[![", "![", "<"].iter().any(|mark| uncomment(line).starts_with(mark))
}

fn is_boilerplate(text: &str) -> bool {
    let phrases = "copyright|licensed under|spdx|eslint|module dependencies|module exports|module variables|all rights|@flow|coding:|pylint|\
        frozen_string_literal|ifdef |ifndef |redistribution|permission is hereby|permission to use|encoding";
    contains_any(&text.to_ascii_lowercase(), phrases)
}
