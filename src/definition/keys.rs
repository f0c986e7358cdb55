//! The names of the fields: which are known, in which spellings, and what an unknown one may be meant to be.
//!
//! Owns the lists: one for agent files, one for skills. Leaves values to `fields`. Invariant: a known key in its right
//! spelling is never taken for another.

/// The keys that the head of one kind of file may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldKeys {
    /// Those that are understood. Anything else at the start of a line may belong to the text before it.
    known: &'static [&'static str],
    /// Those whose value is a text of any length.
    prose: &'static [&'static str],
    /// Those that keep the file from something: lost, they let more happen.
    limits: &'static [&'static str],
}

/// What may stand between a key and its value, where a colon should.
const SIGNS: [char; 9] = [':', '=', ';', '|', '>', '~', '：', '；', '→'];

/// The keys of agent files.
pub(super) const AGENT: FieldKeys = FieldKeys {
    known: &AGENT_KEYS,
    prose: &["description", "initialPrompt"],
    limits: &["tools", "disallowedTools", "disallowed-tools", "disallowed_tools", "permissionMode"],
};

/// The keys of skills and of commands.
pub(super) const SKILL: FieldKeys = FieldKeys {
    known: &SKILL_KEYS,
    prose: &["description", "when_to_use", "argument-hint", "compatibility"],
    limits: &["disallowed-tools"],
};

const SKILL_KEYS: [&str; 21] = [
    "name",
    "description",
    "when_to_use",
    "argument-hint",
    "arguments",
    "allowed-tools",
    "disallowed-tools",
    "disable-model-invocation",
    // What it was called when models called commands only.
    "hide-from-slash-command-tool",
    "user-invocable",
    "model",
    "effort",
    "context",
    "agent",
    "hooks",
    "paths",
    "shell",
    // Of the open format of skills; nothing follows from them.
    "license",
    "compatibility",
    "metadata",
    "version",
];

const AGENT_KEYS: [&str; 25] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "disallowed-tools",
    "disallowed_tools",
    "model",
    "model_name",
    "permissionMode",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "effort",
    "isolation",
    "acp",
    "color",
    "initialPrompt",
    "forkContext",
    "maxExecutionTimeMs",
    "omitClaudeMd",
    "autoCompactWindow",
    "observer",
];
/// Keys of other programs that only look like a slip of the pen.
const FOREIGN: [&str; 2] = ["mode", "level"];
/// Bytes of the longest key that is compared.
const LONGEST: usize = 32;

/// Fields that are understood but that nothing acts on yet.
pub(super) const IDLE: [&str; 2] = ["forkContext", "observer"];

impl FieldKeys {
    /// Returns the right spelling of a known key: case, quotes, `-` and `_` make no difference.
    pub(super) fn canonical(self, written: &str) -> Option<&'static str> {
        let written = written.trim().trim_matches(['"', '\'']).trim();
        if written.len() > LONGEST {
            return None;
        }
        let known = || self.known.iter().copied();
        known().find(|known| *known == written).or_else(|| known().find(|known| is_loosely(known, written)))
    }

    /// Returns the key that another word for it stands for, where it says which tools there are.
    pub(super) fn synonym(self, written: &str) -> Option<&'static str> {
        if written.len() > LONGEST || self.canonical(written).is_some() {
            return None;
        }
        let letters: String = written.chars().filter(char::is_ascii_alphanumeric).collect();
        let letters = letters.to_ascii_lowercase();
        let known = match letters.as_str() {
            "tool" | "allowedtool" | "allowedtools" => "tools",
            "disallowedtool" | "deniedtools" | "denytools" | "blockedtools" | "forbiddentools" | "excludetools"
            | "excludedtools" => {
                if self.known.contains(&"disallowedTools") {
                    "disallowedTools"
                } else {
                    "disallowed-tools"
                }
            }
            _ => return None,
        };
        self.known.contains(&known).then_some(known)
    }

    /// Returns `true` if an unknown field may keep its file from something: by its name, or because one with a slip is near.
    pub(super) fn may_limit(self, written: &str) -> bool {
        let lower = written.to_ascii_lowercase();
        let speaks_of = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let denies = speaks_of(&["deny", "denied", "disallow", "block", "forbid", "exclude", "restrict"]);
        let near = similar::get_close_matches(written, self.known, 1, 0.8).first().copied();
        let near = near.filter(|_| written.len() <= LONGEST);
        if self.known.contains(&"tools") {
            // Whatever speaks of the tools of an agent says which they are.
            denies || speaks_of(&["tool", "permission"]) || near.is_some_and(|near| self.limits.contains(&near))
        } else {
            denies && speaks_of(&["tool"]) || near.is_some_and(|near| self.limits.contains(&near))
        }
    }

    /// Returns `true` if a key keeps its file from something.
    pub(super) fn is_limit(self, key: &str) -> bool {
        self.limits.contains(&key)
    }

    /// Returns the word that a line begins with, and what follows the sign behind it, whatever sign that is.
    pub(super) fn word_of(line: &str) -> Option<(&str, &str)> {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'))?;
        let (word, rest) = line.split_at(end);
        let rest = rest.trim_start_matches(['"', '\'', ' ', '\t']);
        let sign = rest.chars().next().filter(|sign| SIGNS.contains(sign))?;
        (!word.is_empty() && word.len() <= LONGEST)
            .then(|| (word, rest[sign.len_utf8()..].trim_start_matches(['=', '>'])))
    }

    /// Returns the key that a line begins with, if it is a known one: as written, and in the right spelling.
    pub(super) fn at_start_of(self, line: &str) -> Option<(&str, &'static str)> {
        if !line.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '"' | '\'')) {
            return None;
        }
        let colon = line.bytes().take(LONGEST + 4).position(|c| c == b':')?;
        // A path or an address is no field: `name://`, `model::new`.
        let ends = !line[colon + 1..].starts_with([':', '/']);
        let written = &line[..colon];
        self.canonical(written).filter(|_| ends).map(|known| (written, known))
    }

    /// Returns `true` if the value is a text of any length.
    pub(super) fn is_prose(self, key: &str) -> bool {
        self.prose.contains(&key)
    }

    /// Returns the known key that an unknown one may be meant to be.
    pub(super) fn meant(self, unknown: &str) -> Option<&'static str> {
        if matches!(self.canonical(&unknown.replace("allowed", "disallowed")), Some("disallowedTools")) {
            return Some("tools");
        }
        if unknown.len() > LONGEST || FOREIGN.contains(&unknown) {
            return None;
        }
        similar::get_close_matches(unknown, self.known, 1, 0.85).first().copied()
    }
}

fn is_loosely(known: &str, written: &str) -> bool {
    let letters = |text: &str| -> Vec<u8> { text.bytes().filter(|c| !matches!(c, b'-' | b'_')).collect() };
    known.as_bytes()[0].eq_ignore_ascii_case(&written.bytes().next().unwrap_or_default())
        && letters(known).eq_ignore_ascii_case(&letters(written))
}
