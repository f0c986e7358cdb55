//! Opens what an answer cites.

use std::path::Path;

/// Returns what is wrong with the citations of an answer, and how many there are.
///
/// Checked are every `path:line`, the quoted line behind it in a list, and every numbered line of an excerpt.
pub(super) fn check(root: &Path, answer: &str) -> (usize, Vec<String>) {
    let (mut count, mut errors) = (0, Vec::new());
    let mut cited = String::new();
    let mut fenced = false;
    for line in answer.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            errors.extend(wrong_excerpt(root, &cited, line));
        } else {
            for (path, number) in line.split('`').filter_map(citation) {
                count += 1;
                path.clone_into(&mut cited);
                match text_at(root, path, number) {
                    None => errors.push(format!("{path}:{number} does not exist")),
                    Some(text) => errors.extend(wrong_quote(line, &text)),
                }
            }
        }
    }
    (count, errors)
}

fn citation(piece: &str) -> Option<(&str, usize)> {
    let (path, number) = piece.rsplit_once(':')?;
    Some((path, number.parse().ok()?))
}

fn text_at(root: &Path, path: &str, number: usize) -> Option<String> {
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    text.lines().nth(number.checked_sub(1)?).map(str::to_owned)
}

fn wrong_quote(line: &str, text: &str) -> Option<String> {
    let quote = line.strip_prefix("- `")?.split_once(": `")?.1.strip_suffix('`')?;
    let same = text.trim().replace('`', "'") == quote || quote.ends_with('…');
    (!same).then(|| format!("{line} quotes what is not there: {text}"))
}

fn wrong_excerpt(root: &Path, path: &str, line: &str) -> Option<String> {
    let (number, text) = line.trim_start().split_once("  ").unwrap_or((line.trim(), ""));
    let number = number.parse().ok()?;
    let real = text_at(root, path, number).unwrap_or_default();
    (real != text && !text.ends_with('…')).then(|| format!("{path}:{number} reads {real:?}, not {text:?}"))
}
