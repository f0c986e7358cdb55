//! The README says what is so: its tables and flags are those of the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use belvedere::app::action::Action;
use belvedere::app::keymap::Keymap;
use belvedere::cli::Cli;
use belvedere::definition::Catalog;
use belvedere::headless::exit;
use belvedere::provider::model;
use clap::CommandFactory as _;

const START: &str = "<!-- keys -->\n";
const END: &str = "<!-- /keys -->";

/// Tells whether the tests write what they would compare: the pictures, and the README's table of keys.
pub(crate) fn rewrites() -> bool {
    std::env::var_os("BELVEDERE_UPDATE_SCREENSHOTS").is_some_and(|value| value == "1")
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

fn text() -> String {
    std::fs::read_to_string(path()).unwrap()
}

/// Returns the text of a section, from its heading to the next one.
fn section<'a>(readme: &'a str, heading: &str) -> &'a str {
    let (_, rest) = readme.split_once(&format!("\n## {heading}\n")).expect("the README has the section");
    rest.split("\n## ").next().unwrap()
}

/// Returns the first cells of the table rows that `row` understands.
fn first_cells<'a>(section: &'a str, row: impl Fn(&'a str) -> Option<&'a str>) -> Vec<&'a str> {
    section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).filter_map(row).collect()
}

/// Returns every `--flag` in the text.
fn flags(text: &str) -> BTreeSet<&str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let words =
        text.split(|c: char| c.is_whitespace() || "`(\"'".contains(c)).filter_map(|word| word.strip_prefix("--"));
    words
        .map(|word| word.split(ends).next().unwrap_or_default())
        .filter(|flag| flag.contains(char::is_alphanumeric))
        .collect()
}

#[test]
fn the_table_of_keys_is_the_keymap() {
    let readme = text();
    let (before, rest) = readme.split_once(START).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let expected = Keymap::builtin().markdown_table();
    if rewrites() {
        std::fs::write(path(), format!("{before}{START}{expected}{END}{after}")).unwrap();
        return;
    }
    assert!(table == expected, "the table of keys is old; run the tests with BELVEDERE_UPDATE_SCREENSHOTS=1");
}

#[test]
fn every_action_says_what_it_does() {
    for action in Action::all() {
        assert!(!action.description().is_empty(), "{} has no description", action.name());
        assert_eq!(Action::from_name(action.name()), Some(action));
    }
}

#[test]
fn flags_are_those_of_the_command_line() {
    let mut command = Cli::command();
    command.build();
    let known: BTreeSet<String> = commands(&command)
        .into_iter()
        .flat_map(|(_, command)| command.get_arguments())
        .flat_map(|argument| argument.get_long_and_visible_aliases().unwrap_or_default())
        .map(str::to_owned)
        .collect();
    let readme = text();
    let mut named = flags(&readme);
    // Flags of other programs, in the examples.
    for other in ["release", "path", "open", "oneline"] {
        named.remove(other);
    }
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    assert_eq!(named, known, "left: named in the README, right: taken by the program");
}

/// Returns a command and all below it, each with the words that call it. clap's own `help` is left out.
fn commands(command: &clap::Command) -> Vec<(String, &clap::Command)> {
    let mut all = vec![(command.get_name().to_owned(), command)];
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let named = commands(below).into_iter();
        all.extend(named.map(|(words, found)| (format!("{} {words}", command.get_name()), found)));
    }
    all
}

#[test]
fn subcommands_are_named() {
    let readme = text();
    for (words, command) in commands(&Cli::command()).into_iter().skip(1) {
        let shown = ["\n", " "].iter().any(|end| {
            readme.contains(&format!("{words}{end}")) || readme.contains(&format!("-- {}{end}", command.get_name()))
        });
        assert!(shown, "the README does not show `{words}`");
    }
}

#[test]
fn every_subcommand_and_flag_has_help() {
    for (words, command) in commands(&Cli::command()) {
        assert!(command.get_about().is_some(), "`{words}` does not say what it does");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "`{words}`: {} does not say what it does", argument.get_id());
        }
    }
}

#[test]
fn exit_statuses_of_agents_are_in_the_help_and_the_readme() {
    let command = Cli::command();
    let agents = command.find_subcommand("agents").unwrap().clone().render_long_help().to_string();
    let readme = text();
    let readme = section(&readme, "Agent files");
    for status in [exit::OK, exit::FAILED, exit::USAGE, exit::BROKEN_PIPE].map(|status| status.to_string()) {
        for text in [&agents, readme] {
            let named = text.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == status);
            assert!(named, "{status} is not named");
        }
    }
}

#[test]
fn agents_are_those_of_the_catalog() {
    let readme = text();
    let named = first_cells(section(&readme, "Agents"), |cell| cell.strip_prefix('`')?.strip_suffix('`'));
    let named: BTreeSet<String> = named.into_iter().map(str::to_owned).collect();
    assert_eq!(named, Catalog::builtin().names().into_iter().collect());
}

#[test]
fn models_are_those_of_the_catalog() {
    let readme = text();
    let models = section(&readme, "Models");
    for provider in ["anthropic", "openai", "openrouter", "deepseek"] {
        let id = model::default_id(provider).unwrap();
        assert!(models.contains(&format!("`{id}`")), "the default model of {provider} is {id}");
    }
    for alias in model::aliases() {
        assert!(models.contains(&format!("`{alias}`")), "the alias {alias} is missing");
    }
}

#[test]
fn exit_statuses_are_those_of_the_program() {
    let readme = text();
    let named = first_cells(section(&readme, "Without a screen"), |cell| cell.parse::<u8>().ok().map(|_| cell));
    let (interrupted, terminated) = (130, 143);
    let known = [exit::OK, exit::FAILED, exit::USAGE, exit::CUT_SHORT, interrupted, exit::BROKEN_PIPE, terminated];
    assert_eq!(named, known.map(|status| status.to_string()));
    let help = Cli::command().render_long_help().to_string();
    for status in known.map(|status| status.to_string()) {
        let named = help.split_whitespace().any(|word| word == status);
        assert!(named, "--help does not name the exit status {status}");
    }
}

#[test]
fn the_example_of_a_key_binding_binds_a_key() {
    let readme = text();
    let (_, rest) = readme.split_once("# [keys.").unwrap();
    let mut lines = rest.lines();
    let context = lines.next().unwrap().split(']').next().unwrap();
    let binding = lines.next().unwrap().trim_start_matches("# ");
    let mut keymap = Keymap::builtin();
    assert_eq!(keymap.apply(&format!("[{context}]\n{binding}\n")).unwrap(), Vec::<String>::new());
}

#[test]
fn every_picture_is_there_and_shown() {
    let readme = text();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.rsplit_once('.').unwrap().0;
        assert!(readme.contains(&format!("](screenshots/{stem}.png)")), "the README does not show {name}");
    }
    for shown in readme.split("](screenshots/").skip(1) {
        let name = shown.split(')').next().unwrap();
        assert!(folder.join(name).exists(), "screenshots/{name} is missing");
    }
}
