//! Where a text in Markdown shows code: what stands there is shown, and not said.

/// Tells line by line whether a text is inside a fenced code block.
#[derive(Debug, Default)]
pub struct CodeBlocks {
    /// What opened the block: the character, and how many of it.
    fence: Option<(char, usize)>,
}

impl CodeBlocks {
    /// Returns `true` if the next line stands in a block.
    pub fn is_open(&self) -> bool {
        self.fence.is_some()
    }

    /// Takes the next line. Returns `true` if it is a fence or stands between two.
    pub fn take_line(&mut self, line: &str) -> bool {
        let body = line.trim_start_matches(' ');
        let mark = body.chars().next().filter(|c| matches!(c, '`' | '~')).filter(|_| line.len() - body.len() < 4);
        let count = mark.map_or(0, |mark| body.chars().take_while(|c| *c == mark).count());
        match (self.fence, mark) {
            (None, Some(mark)) if count >= 3 => self.fence = Some((mark, count)),
            (None, _) => return false,
            (Some((open, least)), Some(mark)) if mark == open && count >= least && body.trim_end().len() == count => {
                self.fence = None;
            }
            (Some(_), _) => {}
        }
        true
    }
}

/// Returns `true` if the place in a line is quoted: between backticks, or right behind a quotation mark.
pub fn is_quoted(line: &str, at: usize) -> bool {
    let before = &line[..at];
    before.trim_start().starts_with('>')
        || before.matches('`').count() % 2 == 1
        || before.ends_with(['"', '\'', '“', '„', '«', '‘'])
}
