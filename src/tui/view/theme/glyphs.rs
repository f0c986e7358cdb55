//! The signs the screen is drawn with, in two sets.
//!
//! Owns the choice between them. Invariant: each glyph of the ASCII set is one byte and one column per character.

type Sign = &'static str;
type Signs = &'static [&'static str];
type Frame = [&'static str; 6];

/// Declares the signs once: field, the sign of the full set and of the ASCII set, and documentation.
macro_rules! glyphs {
    ($($field:ident: $type:ty, $unicode:expr, $ascii:expr, $doc:literal;)*) => {
        /// Signs by meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Glyphs {
            $(#[doc = $doc] pub $field: $type,)*
        }

        impl Glyphs {
            /// The full set, for terminals that draw ambiguous characters one column wide.
            pub const UNICODE: Self = Self { $($field: $unicode,)* };

            /// The set for terminals that cannot show the full one, or show it two columns wide.
            pub const ASCII: Self = Self { $($field: $ascii,)* };
        }
    };
}

glyphs! {
    unfolded: Sign, "▾", "v", "Stands before what is unfolded.";
    folded: Sign, "▸", ">", "Stands before what is folded.";
    prompt: Sign, "›", ">", "Stands before what the user says.";
    agent: Sign, "◆", "*", "Stands before a subagent's line in the conversation.";
    tool: Sign, "●", "-", "Stands before a tool call.";
    arrow: Sign, "→", "->", "Between a call and what came of it.";
    bullet: Sign, "•", "*", "Stands before an item of a list.";
    quote: Sign, "▎", "|", "The bar before a quote.";
    rule: Sign, "─", "-", "A rule, one column.";
    column: Sign, "│", "|", "Between the columns of a table.";
    cross: Sign, "┼", "+", "Where a table's rule meets a column.";
    ellipsis: Sign, "…", "~", "Something is left out.";
    done: Sign, "✓", "+", "Went well.";
    failed: Sign, "✗", "x", "Failed, and the sign that stops an agent.";
    attention: Sign, "⚠", "!", "Needs a look.";
    queued: Sign, "…", ".", "Waits for its turn.";
    stopped: Sign, "■", "#", "Stopped or cut off.";
    background: Sign, "◇", "&", "Its parent does not wait for it.";
    apart: Sign, "⎇", "Y", "Works, or worked, apart from the project's files.";
    neutral: Sign, "·", ".", "Neither good nor bad.";
    down: Sign, "↓", "v", "More below.";
    up: Sign, "↑", "^", "More above.";
    left: Sign, "←", "<", "The key that moves left.";
    right: Sign, "→", ">", "The key that moves right.";
    open_box: Sign, "☐", "[ ]", "Is to be done.";
    done_box: Sign, "☑", "[x]", "Is done, or chosen.";
    levels: Signs, &[" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"], &[" ", ".", ":", "|"], "Levels of activity, from none to the highest.";
    block: Sign, "█", "#", "A full cell.";
    pointer: Sign, "▼", "v", "What marks a column from above.";
    spinner: Signs, &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"], &["|", "/", "-", "\\"], "Shown one after the other while something works.";
    frame: Frame, ["┌", "┐", "└", "┘", "─", "│"], ["+", "+", "+", "+", "-", "|"], "Corners and edges of a frame: top left, top right, bottom left, bottom right, horizontal, vertical.";
}

impl Glyphs {
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
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        // The console's font has none of these signs, and of a dumb terminal nothing is known.
        let poor = variable("TERM").is_some_and(|term| term == "linux" || term == "dumb");
        // Terminals set to one of these languages may draw ambiguous characters two columns wide.
        let wide = ["zh", "ja", "ko"].iter().any(|language| locale.starts_with(language));
        if utf8 && !wide && !poor { Self::UNICODE } else { Self::ASCII }
    }
}
