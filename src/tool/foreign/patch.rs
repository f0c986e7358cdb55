//! Patches in the form of Codex's `apply_patch`, read as changes of single files.
//!
//! Pure. Owns the envelope and what its lines say. Invariant: a patch is read whole or not at all, and a change says exactly
//! the lines that it takes out and puts in.

/// One change of one file.
pub(super) enum PatchChange {
    Add { path: String, content: String },
    Replace { path: String, old: String, new: String },
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
/// Bytes of the longest word that ends a here-document.
const LONGEST_MARK: usize = 20;

/// Returns the patch that a command line hands to `apply_patch` in a here-document, and does nothing else.
pub(super) fn in_command(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("apply_patch")?.trim_start().strip_prefix("<<")?;
    let (mark, body) = rest.split_once('\n')?;
    let mark = mark.trim().trim_matches(['\'', '"']);
    let is_word =
        !mark.is_empty() && mark.len() <= LONGEST_MARK && mark.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let body = body.trim_end().strip_suffix(mark)?.trim_end();
    (is_word && body.trim_start().starts_with(BEGIN) && body.ends_with(END)).then_some(body)
}

/// Reads a patch.
pub(super) fn read(text: &str) -> Result<Vec<PatchChange>, String> {
    let text = text.trim().replace("\r\n", "\n");
    let inner = text.strip_prefix(BEGIN).and_then(|rest| rest.trim_end().strip_suffix(END));
    let inner = inner.ok_or("Use Edit, or Write for a new file: the patch has no beginning or no end.")?;
    let mut lines = inner.trim_matches('\n').split('\n').peekable();
    let mut changes = Vec::new();
    while let Some(line) = lines.next() {
        let is_content = |line: &&str| !line.starts_with("*** ");
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let mut content = String::new();
            while let Some(line) = lines.next_if(is_content) {
                let line =
                    line.strip_prefix('+').ok_or("Use Write: each line of a new file begins with `+` in a patch.")?;
                content.push_str(line);
                content.push('\n');
            }
            changes.push(PatchChange::Add { path: path.trim().to_owned(), content });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let mut hunks = vec![Hunk::default()];
            while let Some(line) = lines.next_if(|line| is_content(line) || *line == "*** End of File") {
                take_line(&mut hunks, line)?;
            }
            hunks.retain(|hunk| !hunk.is_empty());
            if hunks.is_empty() {
                return Err(format!(
                    "Use Edit: the patch changes nothing in {path}; to move a file, use Bash with mv."
                ));
            }
            changes.extend(hunks.into_iter().map(|hunk| hunk.change(path.trim())));
        } else if line.starts_with("*** Delete File: ") {
            return Err("Use Bash with rm to delete a file, and Edit for the rest of the patch.".to_owned());
        } else if line.starts_with("*** Move to: ") {
            return Err("Use Bash with mv to move a file, and Edit for the rest of the patch.".to_owned());
        } else if !line.trim().is_empty() {
            return Err("Use Edit, or Write for a new file: a line of the patch is not understood.".to_owned());
        }
    }
    if changes.is_empty() {
        Err("Use Edit, or Write for a new file: the patch is empty.".to_owned())
    } else {
        Ok(changes)
    }
}

/// One place of a file: the lines before and after.
#[derive(Default)]
struct Hunk {
    old: Vec<String>,
    new: Vec<String>,
}

impl Hunk {
    fn is_empty(&self) -> bool {
        self.old == self.new
    }

    fn change(self, path: &str) -> PatchChange {
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        // The last line of a file may have no end: what both sides end with is left out.
        let shared = self.old.last().is_some_and(|last| self.new.last() == Some(last));
        let (mut old, mut new) = (text(&self.old), text(&self.new));
        if shared {
            old.pop();
            new.pop();
        }
        PatchChange::Replace { path: path.to_owned(), old, new }
    }
}

fn take_line(hunks: &mut Vec<Hunk>, line: &str) -> Result<(), String> {
    // What follows `@@` says roughly where; the lines themselves have to say it.
    if line.starts_with("@@") || line == "*** End of File" {
        hunks.push(Hunk::default());
        return Ok(());
    }
    let Some(hunk) = hunks.last_mut() else { return Ok(()) };
    match (line.chars().next(), line.get(1..)) {
        (None, _) => {
            hunk.old.push(String::new());
            hunk.new.push(String::new());
        }
        (Some(' '), Some(rest)) => {
            hunk.old.push(rest.to_owned());
            hunk.new.push(rest.to_owned());
        }
        (Some('-'), Some(rest)) => hunk.old.push(rest.to_owned()),
        (Some('+'), Some(rest)) => hunk.new.push(rest.to_owned()),
        _ => return Err("Use Edit: a line of the patch begins with neither a blank, `-` nor `+`.".to_owned()),
    }
    Ok(())
}
