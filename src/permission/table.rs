//! What programs do with their words: the table of `assets/commands.toml`.
//!
//! Owns its form. Leaves what follows from it to `line`. Invariant: a program that the table does not name may run what it is
//! given.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandTable {
    quiet_builtins: Vec<String>,
    computing_builtins: Vec<String>,
    running_options: BTreeMap<String, String>,
    builtins: Vec<String>,
    shells: Vec<String>,
    runners: Vec<String>,
    takes_code: Vec<String>,
    unsaid: Vec<String>,
    launchers: BTreeMap<String, Vec<String>>,
    quiet: Quiet,
    wrapper: Vec<Wrapper>,
    /// Those that add nothing to what they run, with the options of which that is so.
    plain_wrapper: Vec<Wrapper>,
    readers: Vec<String>,
    options: Vec<OptionRow>,
    free: Vec<OptionRow>,
    pub(super) git: GitTable,
}

/// Options that do no harm.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OptionRow {
    programs: Vec<String>,
    /// Long options without dashes, separated by blanks. They count in full only.
    pub(super) long: String,
    /// Letters after one dash, alone or among others.
    pub(super) letters: String,
    pub(super) style: OptionStyle,
    /// Whether what follows `--` are options of its own all the same.
    pub(super) after_options: bool,
    /// The options of another program behind `--`.
    pub(super) others: Option<HarmlessOptions>,
}

/// How a program writes its long options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OptionStyle {
    /// `--name`, and `-n` for letters.
    #[default]
    Two,
    /// `-name`.
    One,
}

/// Long options, and letters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HarmlessOptions {
    pub(super) long: String,
    pub(super) letters: String,
}

/// What git does, by its commands.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GitTable {
    pub(super) asking: Vec<String>,
    pub(super) asked: String,
    pub(super) harmless_settings: Vec<String>,
    pub(super) writing: BTreeMap<String, HarmlessOptions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quiet {
    programs: String,
}

/// A program that runs the words after its options.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Wrapper {
    pub(super) name: String,
    /// Letters of options with a value, in the same word or the next.
    pub(super) valued: String,
    /// Letters of options without one.
    pub(super) letters: String,
    /// Letters of options with which it runs nothing.
    pub(super) shows: String,
    /// How long options begin that are one word.
    pub(super) long: Vec<String>,
    /// Long options with a value in the next word.
    pub(super) long_valued: Vec<String>,
    /// Words between the options and the command.
    pub(super) operands: usize,
    /// Whether variables may be set before the command.
    pub(super) assignments: bool,
}

pub(super) fn table() -> &'static CommandTable {
    static TABLE: OnceLock<CommandTable> = OnceLock::new();
    TABLE.get_or_init(|| toml::from_str(include_str!("../../assets/commands.toml")).unwrap_or_default())
}

fn holds(list: &[String], name: &str) -> bool {
    list.iter().any(|known| known == name)
}

impl CommandTable {
    /// Returns `true` for a program that starts no other one and writes no file with the options that it is let have.
    pub(super) fn is_reader(&self, name: &str) -> bool {
        holds(&self.readers, name)
    }

    /// Returns the options of a program of which only some are harmless.
    pub(super) fn options_of(&self, name: &str) -> Option<&OptionRow> {
        self.options.iter().find(|row| holds(&row.programs, name))
    }

    /// Returns the options of a program that is free in every mode.
    pub(super) fn free_options_of(&self, name: &str) -> Option<&OptionRow> {
        self.free.iter().find(|row| holds(&row.programs, name))
    }

    pub(super) fn is_quiet_builtin(&self, name: &str) -> bool {
        holds(&self.quiet_builtins, name)
    }

    pub(super) fn is_computing_builtin(&self, name: &str) -> bool {
        holds(&self.computing_builtins, name)
    }

    /// Returns `true` for an option with which a builtin runs something.
    pub(super) fn runs_with(&self, name: &str, option: &str) -> bool {
        let letters = self.running_options.get(name);
        let option = option.strip_prefix('-').filter(|option| !option.starts_with('-'));
        option.zip(letters).is_some_and(|(option, letters)| option.contains(|c| letters.contains(c)))
    }

    pub(super) fn is_shell(&self, name: &str) -> bool {
        holds(&self.shells, name)
    }

    pub(super) fn wrapper(&self, name: &str) -> Option<&Wrapper> {
        self.wrapper.iter().find(|wrapper| wrapper.name == name)
    }

    pub(super) fn plain_wrapper(&self, name: &str) -> Option<&Wrapper> {
        self.plain_wrapper.iter().find(|wrapper| wrapper.name == name)
    }

    pub(super) fn is_launcher(&self, name: &str, word: &str) -> bool {
        self.launchers.get(name).is_some_and(|among| holds(among, word))
    }

    /// Returns `true` for a program that runs its words, or does with one of these among them.
    pub(super) fn is_runner<'a>(&self, name: &str, mut words: impl Iterator<Item = &'a str>) -> bool {
        words.any(|word| self.is_launcher(name, word))
            || holds(&self.runners, name)
            || holds(&self.builtins, name)
            || self.wrapper(name).is_some()
            || name.starts_with("ld-linux")
            || name.starts_with("ld-musl")
    }

    pub(super) fn takes_code(&self, name: &str) -> bool {
        holds(&self.takes_code, name)
    }

    /// Returns `true` for what runs something that no word says.
    pub(super) fn hides_what_runs(&self, name: &str) -> bool {
        holds(&self.unsaid, name)
    }

    /// Returns `true` for a program that runs none of its words.
    pub(super) fn is_quiet(&self, name: &str) -> bool {
        self.is_reader(name)
            || self.options_of(name).is_some()
            || self.quiet.programs.split_whitespace().any(|known| known == name)
            || self.is_quiet_builtin(name)
            || self.is_computing_builtin(name)
    }
}
