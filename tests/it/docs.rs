//! The documentation says what is so: its tables and flags are those of the program, and its links lead somewhere.

use std::collections::BTreeSet;
use std::path::Path;

use belvedere::app::action::Action;
use belvedere::app::keymap::Keymap;
use belvedere::cli::Cli;
use belvedere::definition::Catalog;
use belvedere::headless::exit;
use belvedere::provider::model;
use belvedere::provider::table::ProviderTable;
use clap::CommandFactory as _;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The pages for users.
const PAGES: [&str; 15] = [
    "README.md",
    "docs/agents.md",
    "docs/background.md",
    "docs/configuration.md",
    "docs/editors.md",
    "docs/headless.md",
    "docs/hooks.md",
    "docs/install.md",
    "docs/keys.md",
    "docs/mcp.md",
    "docs/memory.md",
    "docs/models.md",
    "docs/permissions.md",
    "docs/sessions.md",
    "docs/skills.md",
];
/// The pages for those who change the program.
const INTERNAL: [&str; 2] = ["CONTRIBUTING.md", "CHANGELOG.md"];
/// Most lines of the README.
const MAX_README: usize = 160;
/// Longest entry of the changelog, in characters.
const MAX_ENTRY: usize = 160;

const START: &str = "<!-- keys -->\n";
const END: &str = "<!-- /keys -->";

/// Tells whether the tests write what they would compare: the pictures, and the table of keys.
pub(crate) fn rewrites() -> bool {
    std::env::var_os("BELVEDERE_UPDATE_SCREENSHOTS").is_some_and(|value| value == "1")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the text of a page.
pub(crate) fn text(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|fault| panic!("{page}: {fault}"))
}

/// Returns all pages for users, as one text.
fn pages() -> String {
    PAGES.map(text).join("\n")
}

/// Returns the text of a section, from its heading to the next one.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
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
    let page = text("docs/keys.md");
    let (before, rest) = page.split_once(START).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let expected = Keymap::builtin().markdown_table();
    if rewrites() {
        std::fs::write(root().join("docs/keys.md"), format!("{before}{START}{expected}{END}{after}")).unwrap();
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
    // To install it is the work of other programs, with flags of theirs.
    let pages = PAGES.iter().filter(|page| **page != "docs/install.md").map(|page| text(page));
    let pages = pages.collect::<Vec<_>>().join("\n");
    let mut named = flags(&pages);
    // Flags of other programs, in the examples.
    for other in ["release", "path", "open", "oneline", "rm", "jinja", "enable-auto-tool-choice", "tool-call-parser"] {
        named.remove(other);
    }
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    assert_eq!(named, known, "left: named in the documentation, right: taken by the program");
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
    let pages = pages();
    for (words, command) in commands(&Cli::command()).into_iter().skip(1) {
        let shown = ["\n", " "].iter().any(|end| {
            pages.contains(&format!("{words}{end}")) || pages.contains(&format!("-- {}{end}", command.get_name()))
        });
        assert!(shown, "the documentation does not show `{words}`");
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
fn exit_statuses_of_agents_are_in_the_help_and_the_documentation() {
    let command = Cli::command();
    let agents = command.find_subcommand("agents").unwrap().clone().render_long_help().to_string();
    let page = text("docs/agents.md");
    let page = section(&page, "From the shell");
    for status in [exit::OK, exit::FAILED, exit::USAGE, exit::BROKEN_PIPE].map(|status| status.to_string()) {
        for text in [&agents, page] {
            let named = text.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == status);
            assert!(named, "{status} is not named");
        }
    }
}

#[test]
fn agents_are_those_of_the_catalog() {
    let page = text("docs/agents.md");
    let named = first_cells(section(&page, "Built-in agents"), |cell| cell.strip_prefix('`')?.strip_suffix('`'));
    let named: BTreeSet<String> = named.into_iter().map(str::to_owned).collect();
    assert_eq!(named, Catalog::builtin().names().into_iter().collect());
}

#[test]
fn models_are_those_of_the_catalog() {
    let page = text("docs/configuration.md");
    let models = section(&page, "Models");
    let table = ProviderTable::default();
    for row in table.rows() {
        let known = [Some(&row.name).filter(|_| row.local), row.key_env.as_ref(), row.model.as_ref()];
        for name in known.into_iter().chain([row.token_env.as_ref(), row.url_env.as_ref()]).flatten() {
            assert!(models.contains(&format!("`{name}`")), "{}: `{name}` is missing", row.name);
        }
        assert!(models.contains(row.display()), "{} is missing", row.display());
    }
    for alias in model::aliases() {
        assert!(models.contains(&format!("`{alias}`")), "the alias {alias} is missing");
    }
}

#[test]
fn exit_statuses_are_those_of_the_program() {
    let page = text("docs/headless.md");
    let named = first_cells(section(&page, "Exit status"), |cell| cell.parse::<u8>().ok().map(|_| cell));
    let (interrupted, terminated) = (130, 143);
    let known = [
        exit::OK,
        exit::FAILED,
        exit::USAGE,
        exit::CUT_SHORT,
        exit::REFUSED,
        interrupted,
        exit::BROKEN_PIPE,
        terminated,
    ];
    assert_eq!(named, known.map(|status| status.to_string()));
    let help = Cli::command().render_long_help().to_string();
    for status in known.map(|status| status.to_string()) {
        let named = help.split_whitespace().any(|word| word == status);
        assert!(named, "--help does not name the exit status {status}");
    }
}

#[test]
fn the_example_of_a_key_binding_binds_a_key() {
    let page = text("docs/configuration.md");
    let (_, rest) = page.split_once("# [keys.").unwrap();
    let mut lines = rest.lines();
    let context = lines.next().unwrap().split(']').next().unwrap();
    let binding = lines.next().unwrap().trim_start_matches("# ");
    let mut keymap = Keymap::builtin();
    assert_eq!(keymap.apply(&format!("[{context}]\n{binding}\n")).unwrap(), Vec::<String>::new());
}

#[test]
fn every_picture_is_there_and_shown() {
    let pages = pages();
    let folder = root().join("screenshots");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.rsplit_once('.').unwrap().0;
        let shown = ["](", "](../"].iter().any(|start| pages.contains(&format!("{start}screenshots/{stem}.png)")));
        assert!(shown, "the documentation does not show {name}");
    }
    for shown in pages.split("screenshots/").skip(1) {
        let name = shown.split(')').next().unwrap();
        assert!(folder.join(name).exists(), "screenshots/{name} is missing");
    }
}

#[test]
fn the_readme_is_short_and_begins_with_a_picture() {
    let readme = text("README.md");
    let lines = readme.lines().count();
    assert!(lines <= MAX_README, "README.md has {lines} lines, and may have {MAX_README}; move some to docs");
    let before = readme.split("\n## ").next().unwrap();
    assert!(before.contains("](screenshots/"), "a picture stands before the first section");
    for command in ["cargo run --release\n", "cargo test\n"] {
        assert!(readme.contains(&format!("```sh\n{command}```")), "README.md does not give the command {command}");
    }
}

#[test]
fn the_keys_of_the_readme_are_bound() {
    let readme = text("README.md");
    let rows = first_cells(section(&readme, "Ten keys"), |cell| cell.starts_with('`').then_some(cell));
    assert_eq!(rows.len(), 10, "{rows:?}");
    let table = Keymap::builtin().markdown_table();
    for key in rows.iter().flat_map(|row| row.split('`').skip(1).step_by(2)) {
        assert!(table.contains(&format!("`{key}`")), "{key} has no meaning");
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in PAGES.into_iter().chain(INTERNAL) {
        let folder = root().join(page).parent().unwrap().to_owned();
        for target in links(&text(page)) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { root().join(page) } else { folder.join(file) };
            assert!(path.exists(), "{page}: {target} leads to no file");
            if !anchor.is_empty() {
                let found = anchors(&std::fs::read_to_string(&path).unwrap());
                assert!(found.contains(anchor), "{page}: {target} leads to no heading; there are {found:?}");
            }
        }
    }
}

#[test]
fn every_page_is_reached_from_the_readme() {
    let targets = links(&text("README.md"));
    for page in PAGES.into_iter().chain(INTERNAL).filter(|page| *page != "README.md") {
        assert!(targets.iter().any(|target| target == page), "README.md has no link to {page}");
    }
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = format!("docs/{}", entry.unwrap().file_name().into_string().unwrap());
        assert!(PAGES.contains(&name.as_str()), "no test reads {name}");
    }
}

#[test]
fn links_and_anchors_are_found() {
    let page = "# A `b`-c, d\n\n[one](x.md#y) ![two](p.png)\n\n| a |\n|---|\n| [three](#z) |\n\n```\n[no](link)\n```\n`[no](link)`\n";
    assert_eq!(links(page), ["x.md#y", "p.png", "#z"]);
    assert_eq!(anchors(page), BTreeSet::from(["a-b-c-d".to_owned()]));
}

#[test]
fn contributing_names_files_that_are_there() {
    let page = text("CONTRIBUTING.md");
    let (_, named): (Vec<_>, Vec<_>) = page.split('`').enumerate().partition(|(at, _)| at % 2 == 0);
    let tops = ["src/", "tests/", "assets/", "docs/", ".ci/"];
    let paths: Vec<&str> =
        named.into_iter().map(|(_, path)| path).filter(|path| tops.iter().any(|top| path.starts_with(top))).collect();
    assert!(paths.len() > 20, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "CONTRIBUTING.md names {path}, which is not there");
    }
}

#[test]
fn every_entry_of_the_changelog_is_one_line() {
    let changelog = text("CHANGELOG.md");
    let (_, releases) = changelog.split_once("\n## [Unreleased]\n").expect("what is not released has a section");
    let version = env!("CARGO_PKG_VERSION");
    assert!(releases.contains(&format!("\n## [{version}] - ")), "there is no section for {version}");
    for line in releases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        assert!(line.starts_with("- "), "an entry goes over several lines: {line}");
        assert!(line.chars().count() <= MAX_ENTRY, "an entry is longer than {MAX_ENTRY} characters: {line}");
    }
}

/// Returns where the links and pictures of a page lead.
fn links(page: &str) -> Vec<String> {
    let targets = Parser::new_ext(page, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    targets.collect()
}

/// Returns the anchors of a page's headings, spelled as GitHub does.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = heading.take().unwrap_or_default();
                assert!(anchors.insert(anchor.clone()), "two headings have the anchor {anchor}");
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(anchor) = &mut heading {
                    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                    anchor.extend(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }));
                }
            }
            _ => {}
        }
    }
    anchors
}
