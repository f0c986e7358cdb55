//! Messages in which the user names the agents to delegate to.
//!
//! Owns reading the word that the program adds for each mention. Leaves the tasks to `lead`. Invariant: a message
//! without such a word is no mention, whatever it says.

/// What stands around the agent's name in the word on a mention.
const ASKED: (&str, &str) = ("The user asks you to delegate this to the agent `", "` with the Agent tool.");

/// Returns the user's own words without the mentions, and the agents that are to be used; `None` if none is named.
pub(super) fn read(text: &str) -> Option<(String, Vec<String>)> {
    let (own, reminder) = text.rsplit_once("\n\n<system-reminder>\n")?;
    let name = |line: &str| Some(line.strip_prefix(ASKED.0)?.strip_suffix(ASKED.1)?.to_owned());
    let agents: Vec<String> = reminder.lines().filter_map(name).collect();
    let is_mention = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.starts_with("@agent-") || word.starts_with("@run-agent-")
    };
    let words: Vec<&str> = own.split_whitespace().filter(|word| !is_mention(word)).collect();
    let what = if words.is_empty() { "Give an overview of this project".to_owned() } else { words.join(" ") };
    (!agents.is_empty()).then_some((what, agents))
}
