//! The agents that are part of the program: the files of `assets/agents`.

use super::{Parsed, Source, Tier, load};

/// In the order in which they are offered: the general ones first.
const FILES: [&str; 10] = [
    include_str!("../../assets/agents/general-purpose.md"),
    include_str!("../../assets/agents/explore.md"),
    include_str!("../../assets/agents/plan.md"),
    include_str!("../../assets/agents/code.md"),
    include_str!("../../assets/agents/search-specialist.md"),
    include_str!("../../assets/agents/code-writer.md"),
    include_str!("../../assets/agents/reviewer.md"),
    include_str!("../../assets/agents/architect.md"),
    include_str!("../../assets/agents/test-writer.md"),
    include_str!("../../assets/agents/docs-writer.md"),
];

/// Returns the file of the built-in agent of this name.
pub(super) fn text_of(name: &str) -> Option<&'static str> {
    let is_it = |text: &&str| text.lines().any(|line| line.strip_prefix("name:").map(str::trim) == Some(name));
    FILES.into_iter().find(is_it)
}

/// Returns the built-in agents. A test holds them to be faultless.
pub(super) fn parsed() -> Vec<Parsed> {
    FILES.iter().map(|text| load::parse(text, Source { tier: Tier::BuiltIn, path: None })).collect()
}
