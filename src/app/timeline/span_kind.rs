//! The kinds of spans in the timeline, and the one table of them: letter, word, tone, fill.
//!
//! Owns what is said alike of all spans of a kind. Leaves which state is which kind to `agents::state`, and colours to
//! themes.

/// What an agent does in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Thinking,
    Writing,
    Tool,
    Approval,
    RateLimited,
    /// Others are to show first what they leave of the budget.
    Budget,
    Stalled,
    Queued,
    Agents,
    Retrying,
    Stopping,
    Unknown,
}

/// How a span is drawn: its colour by the theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanTone {
    Accent,
    Tool,
    Approval,
    Warning,
    Error,
    Muted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanFill {
    Line,
    Block,
    Dot,
    Text(&'static str),
}

/// What is said alike of all spans of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanRow {
    pub letter: &'static str,
    pub word: &'static str,
    pub tone: SpanTone,
    pub fill: SpanFill,
    /// Whether its letter stands out. Work of the model and idle waits stay in the background.
    pub stands_out: bool,
    /// Whether silence in it is a stall.
    pub is_work: bool,
}

impl SpanKind {
    /// Every kind, in the order of the legend.
    pub const ALL: [Self; 12] = [
        Self::Thinking,
        Self::Writing,
        Self::Tool,
        Self::Approval,
        Self::RateLimited,
        Self::Budget,
        Self::Stalled,
        Self::Queued,
        Self::Agents,
        Self::Retrying,
        Self::Stopping,
        Self::Unknown,
    ];

    #[must_use]
    pub fn row(self) -> SpanRow {
        use SpanFill::{Block, Dot, Line, Text};
        use SpanTone::{Accent, Approval, Error, Muted, Tool, Warning};
        let row =
            |letter, word, tone, fill, stands_out, is_work| SpanRow { letter, word, tone, fill, stands_out, is_work };
        match self {
            Self::Thinking => row("t", "thinking", Accent, Line, false, true),
            Self::Writing => row("W", "writing", Accent, Line, false, true),
            Self::Tool => row("T", "tool", Tool, Block, true, true),
            Self::Approval => row("A", "approval", Approval, Text("?"), true, false),
            Self::RateLimited => row("R", "rate limit", Warning, Text("~"), true, false),
            Self::Budget => row("B", "waiting for budget", Warning, Text("~"), true, false),
            Self::Stalled => row("S", "stalled", Error, Text("!"), true, false),
            Self::Queued => row("q", "queued", Muted, Dot, false, false),
            Self::Agents => row("w", "waiting for agents", Muted, Dot, false, true),
            Self::Retrying => row("r", "retry", Warning, Text("-"), true, false),
            Self::Stopping => row("x", "stopping", Muted, Text("-"), false, false),
            Self::Unknown => row("u", "unknown", Muted, Dot, false, false),
        }
    }
}
