//! What keeps a text within its bounds in a Markdown document.
//!
//! Invariants: a text that is contained starts no HTML, and leaves no fence open; one that is fenced cannot end its
//! fence. Where it is not certain what Markdown would make of a sign, the sign is escaped.

/// Returns a text as plain words within a line.
pub fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if "\\`*_{}[]<>#|~&".contains(c) {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}

/// Returns a text as a block that is shown as it is.
pub fn fenced(text: &str, language: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns a text in Markdown as a quotation.
pub fn quoted(text: &str) -> String {
    let lines: Vec<String> = contained(text)
        .lines()
        .map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") })
        .collect();
    lines.join("\n")
}

/// Returns a text in Markdown that ends what it begins, and holds no HTML.
pub fn contained(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut open: Option<(char, usize)> = None;
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text.trim_end().lines() {
        match (open, fence(line)) {
            (None, Some(found)) => {
                put_paragraph(&mut paragraph, &mut out);
                // What stands behind a fence is the name of a language, and may be anything.
                let language: String = line
                    .trim_start()
                    .trim_start_matches(found.0)
                    .trim()
                    .chars()
                    .take_while(|c| c.is_alphanumeric())
                    .collect();
                out.push_str(&found.0.to_string().repeat(found.1));
                out.push_str(&language);
                out.push('\n');
                open = Some(found);
            }
            (Some(begun), found) => {
                let closes = found.is_some_and(|(sign, length)| sign == begun.0 && length >= begun.1)
                    && line.trim().chars().all(|c| c == begun.0);
                if closes {
                    // Further in, it would close nothing.
                    out.push_str(line.trim());
                    open = None;
                } else {
                    out.push_str(line);
                }
                out.push('\n');
            }
            (None, None) => {
                paragraph.push(line);
                if line.trim().is_empty() {
                    put_paragraph(&mut paragraph, &mut out);
                }
            }
        }
    }
    put_paragraph(&mut paragraph, &mut out);
    if let Some((sign, length)) = open {
        out.push_str(&sign.to_string().repeat(length));
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// Returns the sign and the length of a fence, if a line is one. One in a list stands further in.
fn fence(line: &str) -> Option<(char, usize)> {
    let rest = line.trim_start_matches([' ', '\t']);
    let sign = rest.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = rest.chars().take_while(|c| *c == sign).count();
    let is_fence = length >= 3 && !(sign == '`' && rest[length..].contains('`'));
    is_fence.then_some((sign, length))
}

/// Writes the lines of a paragraph with every `<` escaped that may begin HTML. In code between backticks it cannot, if
/// all backticks of the paragraph are in pairs on their lines.
fn put_paragraph(lines: &mut Vec<&str>, out: &mut String) {
    let spans: Option<Vec<Vec<(usize, usize)>>> = lines.iter().map(|line| code_spans(line)).collect();
    for (number, line) in lines.drain(..).enumerate() {
        let code = spans.as_ref().and_then(|spans| spans.get(number));
        for (at, c) in line.char_indices() {
            let is_code = code.is_some_and(|code| code.iter().any(|(from, to)| (*from..*to).contains(&at)));
            let slashes = line[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
            // Behind an odd number of backslashes it is escaped already, and one more would undo that.
            if c == '<' && !is_code && slashes % 2 == 0 {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('\n');
    }
}

/// Returns where code between backticks stands in a line; `None` if a backtick is without its like.
fn code_spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let mut spans = Vec::new();
    let runs: Vec<(usize, usize)> = runs(line);
    let mut at = 0;
    while at < runs.len() {
        let (from, length) = runs[at];
        if line[..from].ends_with('\\') {
            return None;
        }
        let close = runs[at + 1..].iter().position(|(_, other)| *other == length)? + at + 1;
        spans.push((from, runs[close].0 + length));
        at = close + 1;
    }
    Some(spans)
}

/// Returns each run of backticks: where it begins, and how long it is.
fn runs(line: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((from, length)) if *from + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}
