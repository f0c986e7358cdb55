//! What is said without looking at the project: help, and what rules cannot do.
//!
//! Owns the wording. Leaves finding places to the inquiries. Invariant: each text says how to connect a model.

/// How to connect a language model.
pub(super) const CONNECT: &str = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local Ollama, LM Studio or llama.cpp server, or pass \
    `--model provider/name`";

pub(super) fn help() -> String {
    format!(
        "I am the built-in offline model: rules, not a language model. I search and read this project, alone or with \
         subagents, and cite what I find. Try:\n\n\
         - `explain this project`\n\
         - `where is the config file parsed?`\n\
         - `who calls parse_config?`\n\
         - `use a subtask to find what testing framework this project uses`\n\
         - `read all .rs files and summarize what each one does`\n\
         - `use 3 subagents: find the entry points; find the error types; find the tests`\n\
         - ``run `git log --oneline -n 5` ``\n\n\
         To connect a language model: {CONNECT}."
    )
}

/// Declines in one sentence what only a language model can do.
pub(super) fn decline(what: &str) -> String {
    format!("{what} needs a language model, and none is connected: {CONNECT}.")
}

pub(super) fn unclear() -> String {
    format!(
        "I found no name or topic to search for in that. I am the built-in offline model and understand requests such as \
         `explain this project` or `where is \"some name\" defined?`. To connect a language model: {CONNECT}."
    )
}
