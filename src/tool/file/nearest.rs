//! Says why a passage was not found in a file, and what is there instead.
//!
//! Models paste line numbers, straighten quotes, and lose indentation. Invariant: the work is bounded, whatever the file
//! holds.

use std::fmt::Write as _;

/// Lines of the file that are looked at.
const MAX_LINES: usize = 50_000;
/// Places of the file where the passage may begin that are compared whole.
const MAX_PLACES: usize = 200;
/// Lines that are compared by likeness, which takes long.
const SIMILAR_LINES: usize = 5_000;
/// Characters of a line up to which it is compared by likeness.
const SIMILAR_CHARS: usize = 200;
/// Characters of the file that are shown.
const SHOWN_CHARS: usize = 4_000;

/// Returns the words for a passage that is not in `text`; `shown` names the file.
pub(in crate::tool) fn not_found(text: &str, wanted: &str, shown: &str) -> String {
    let mut words = format!("old_string was not found in {shown}.");
    let wanted: Vec<&str> = wanted.lines().collect();
    let bare: Vec<&str> = wanted.iter().map(|line| without_number(line)).collect();
    if bare != wanted {
        words.push_str(" Leave out the line numbers that Read puts before each line.");
    }
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    match closest(&lines, &bare) {
        Some(Place { first, agreeing }) if agreeing == bare.len() => {
            let passage = lines[first..first + agreeing].join("\n");
            let (passage, _) = crate::tool::limit::cut(&passage, SHOWN_CHARS);
            let range = if agreeing == 1 {
                format!("line {}", first + 1)
            } else {
                format!("lines {}–{}", first + 1, first + agreeing)
            };
            let _ = write!(
                words,
                " Apart from spaces, quotes, dashes or line endings, old_string matches {range} of the file. Use \
                 exactly:\n{passage}"
            );
        }
        Some(Place { first, agreeing }) => {
            let at = first + agreeing;
            let _ = write!(words, " It begins like line {} but differs at line {}, which ", first + 1, at + 1);
            match lines.get(at) {
                Some(line) => {
                    let _ = write!(words, "reads:\n{}", crate::tool::limit::cut(line, SHOWN_CHARS).0);
                }
                None => words.push_str("is past the end of the file."),
            }
            words.push_str("\nRead that part again and retry with the exact text.");
        }
        None => match bare.iter().find(|line| !line.trim().is_empty()).and_then(|line| similar(&lines, line)) {
            Some(at) => {
                let _ = write!(words, " The closest line is {}:\n{}\n", at + 1, lines[at]);
                words.push_str("Compare them, or read the file again, and retry with the exact text.");
            }
            None => words.push_str(" Read the file again and retry with the exact text."),
        },
    }
    words
}

/// Where the file agrees with the passage, from its first line on.
struct Place {
    first: usize,
    /// Lines that agree but for blanks and the like.
    agreeing: usize,
}

fn closest(lines: &[&str], wanted: &[&str]) -> Option<Place> {
    let wanted: Vec<String> = wanted.iter().take(MAX_LINES).map(|line| folded(line)).collect();
    let begin = wanted.first().filter(|line| !line.is_empty())?;
    let lines: Vec<String> = lines.iter().map(|line| folded(line)).collect();
    let places = lines.iter().enumerate().filter(|(_, line)| *line == begin).take(MAX_PLACES);
    let agreeing = |first: usize| lines[first..].iter().zip(&wanted).take_while(|(a, b)| a == b).count();
    let found = places.map(|(first, _)| Place { first, agreeing: agreeing(first) });
    // Of equals the first.
    found.reduce(|best, next| if next.agreeing > best.agreeing { next } else { best })
}

/// Returns a line without what models change unawares: blanks, and the shape of quotes and dashes.
fn folded(line: &str) -> String {
    let even = |c: char| match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        c => c,
    };
    line.chars().filter(|c| !c.is_whitespace() && *c != '\u{feff}').map(even).collect()
}

/// Returns a line without the number that `Read` puts before it.
fn without_number(line: &str) -> &str {
    match line.trim_start().split_once(['\t', '→']) {
        Some((number, rest)) if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => rest,
        _ => line,
    }
}

fn similar(lines: &[&str], wanted: &str) -> Option<usize> {
    let wanted = wanted.trim();
    let fits = |line: &&str| !line.is_empty() && line.len() <= SIMILAR_CHARS;
    if !fits(&wanted) {
        return None;
    }
    let short: Vec<&str> = lines.iter().take(SIMILAR_LINES).map(|line| line.trim()).filter(fits).collect();
    let best = similar::get_close_matches(wanted, &short, 1, 0.7).first().copied()?;
    lines.iter().position(|line| line.trim() == best)
}
