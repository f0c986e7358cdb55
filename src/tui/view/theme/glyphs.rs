//! The signs the screen is drawn with, in two sets.
//!
//! Owns the choice between them. Invariant: each glyph of the ASCII set is one byte and one column per character.

/// Signs by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    pub unfolded: &'static str,
    pub folded: &'static str,
    /// Stands before what the user says.
    pub prompt: &'static str,
    /// Stands before a subagent's line in the conversation.
    pub agent: &'static str,
    /// Stands before a tool call.
    pub tool: &'static str,
    /// Between a call and what came of it.
    pub arrow: &'static str,
    pub bullet: &'static str,
    /// The bar before a quote.
    pub quote: &'static str,
    /// A rule, one column.
    pub rule: &'static str,
    /// Between the columns of a table.
    pub column: &'static str,
    /// Where a table's rule meets a column.
    pub cross: &'static str,
    pub ellipsis: &'static str,
    pub done: &'static str,
    /// Failed, and the sign that stops an agent.
    pub failed: &'static str,
    pub attention: &'static str,
    pub queued: &'static str,
    /// Stopped or cut off.
    pub stopped: &'static str,
    pub background: &'static str,
    /// Works, or worked, apart from the project's files.
    pub apart: &'static str,
    /// Neither good nor bad.
    pub neutral: &'static str,
    pub down: &'static str,
    /// More above.
    pub up: &'static str,
    /// The key that moves left.
    pub left: &'static str,
    /// The key that moves right.
    pub right: &'static str,
    pub open_box: &'static str,
    pub done_box: &'static str,
    /// Levels of activity, from none to the highest.
    pub levels: &'static [&'static str],
    /// A full cell.
    pub block: &'static str,
    /// What marks a column from above.
    pub pointer: &'static str,
    pub spinner: &'static [&'static str],
    /// Corners and edges of a frame: top left, top right, bottom left, bottom right, horizontal, vertical.
    pub frame: [&'static str; 6],
}

impl Glyphs {
    /// The full set, for terminals that draw ambiguous characters one column wide.
    pub const UNICODE: Self = Self {
        unfolded: "▾",
        folded: "▸",
        prompt: "›",
        agent: "◆",
        tool: "●",
        arrow: "→",
        bullet: "•",
        quote: "▎",
        rule: "─",
        column: "│",
        cross: "┼",
        ellipsis: "…",
        done: "✓",
        failed: "✗",
        attention: "⚠",
        queued: "…",
        stopped: "■",
        background: "◇",
        apart: "⎇",
        neutral: "·",
        down: "↓",
        up: "↑",
        left: "←",
        right: "→",
        open_box: "☐",
        done_box: "☑",
        levels: &[" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"],
        block: "█",
        pointer: "▼",
        spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
        frame: ["┌", "┐", "└", "┘", "─", "│"],
    };

    /// The set for terminals that cannot show the full one, or show it two columns wide.
    pub const ASCII: Self = Self {
        unfolded: "v",
        folded: ">",
        prompt: ">",
        agent: "*",
        tool: "-",
        arrow: "->",
        bullet: "*",
        quote: "|",
        rule: "-",
        column: "|",
        cross: "+",
        ellipsis: "~",
        done: "+",
        failed: "x",
        attention: "!",
        queued: ".",
        stopped: "#",
        background: "&",
        apart: "Y",
        neutral: ".",
        down: "v",
        up: "^",
        left: "<",
        right: ">",
        open_box: "[ ]",
        done_box: "[x]",
        levels: &[" ", ".", ":", "|"],
        block: "#",
        pointer: "v",
        spinner: &["|", "/", "-", "\\"],
        frame: ["+", "+", "+", "+", "-", "|"],
    };

    /// Returns what stands in place of a sign that the ASCII set may not draw: the typographic ones that texts of the
    /// program and of models use.
    pub fn ascii_of(sign: &str) -> Option<&'static str> {
        Some(match sign {
            "…" => "~",
            "›" | "→" => ">",
            "·" | "•" => ".",
            "–" | "—" | "─" => "-",
            "│" => "|",
            "“" | "”" => "\"",
            "‘" | "’" => "'",
            "⍰" => "?",
            sign if sign.starts_with(|c| ('\u{2400}'..='\u{2421}').contains(&c)) => "?",
            _ => return None,
        })
    }

    /// Chooses by the locale and the terminal: `variable` returns an environment variable's value.
    #[must_use]
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()))
            .unwrap_or_default()
            .to_lowercase();
        // Windows has no such variables and draws the full set.
        let utf8 = locale.contains("utf-8") || locale.contains("utf8") || (locale.is_empty() && cfg!(windows));
        // The console's font has none of these signs, and of a dumb terminal nothing is known.
        let poor = variable("TERM").is_some_and(|term| term == "linux" || term == "dumb");
        // Terminals set to one of these languages may draw ambiguous characters two columns wide.
        let wide = ["zh", "ja", "ko"].iter().any(|language| locale.starts_with(language));
        if utf8 && !wide && !poor { Self::UNICODE } else { Self::ASCII }
    }
}
