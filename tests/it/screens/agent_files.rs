//! The view of all agents: what it looks like, with agents of every tier.

use std::path::{Path, PathBuf};

use belvedere::app::Event;
use belvedere::app::agent_files::{AgentPlaces, FileNews};
use belvedere::config::Config;
use belvedere::definition::{AgentDirs, Library, Listing, Parsed, Roots, Source, Tier, parse};

use belvedere::provider::table::ProviderEnv;
use belvedere::services::known_names;

use super::snapshots::check;
use super::stage::Stage;

const HOME: &str = "/home/me";
const PROJECT: &str = "/home/me/src/shop";

/// Returns where the files of the examples lie.
pub(crate) fn places() -> AgentPlaces {
    let (home, project) = (Path::new(HOME), Path::new(PROJECT));
    AgentPlaces {
        home: Some(home.to_path_buf()),
        dirs: AgentDirs::new(&Roots {
            home: Some(home),
            claude: None,
            kode: None,
            cwd: project,
            project: Some(project),
            owner: belvedere::permission::Owner::new(0, None),
        }),
        tools: ["Read", "Grep", "Glob", "LS", "Write", "Edit", "Bash", "TodoWrite", "Agent"].map(str::to_owned).into(),
    }
}

/// Returns an agent as if read from a file of its tier.
pub(crate) fn file(tier: Tier, stem: &str, text: &str) -> Parsed {
    let folder = places().dirs.home_of(tier).map(Path::to_path_buf);
    let path = folder.map(|folder: PathBuf| folder.join(format!("{stem}.md")));
    parse(text, Source { tier, path })
}

/// Returns the built-in agents and these.
pub(crate) fn listing(files: Vec<Parsed>) -> Listing {
    let library = Library::new(AgentDirs::default(), files, known_names(&Config::default(), &ProviderEnv::default()));
    library.reload();
    library.catalog().listing()
}

/// Agents of all tiers, one of them twice shadowed, one with a warning, one broken.
pub(crate) fn everything() -> Vec<Parsed> {
    let reviewer = "---\nname: reviewer\ndescription: Reviews with the checklist of this shop\n\
                    tools: Read, Grep, Bash(npm test:*)\nmodel: opus\ncolor: blue\nmaxTurns: 20\n---\n\n\
                    # Checklist\n\nYou review changes of the shop. Look at:\n\n1. money that is *rounded*\n\
                    2. prices without a currency\n";
    vec![
        file(
            Tier::UserClaude,
            "changelog",
            "---\nname: changelog-writer\ndescription: Writes the entry of a change\nmodel: haiku\n\
             tools: [Read, Edit]\ncolor: green\n---\nWrite one line.",
        ),
        file(Tier::ProjectClaude, "reviewer", reviewer),
        file(Tier::ProjectClaude, "migrator", "Moves the database.\n"),
        file(
            Tier::ProjectClaude,
            "api-tester",
            "---\nname: api-tester\ndescription: Calls every endpoint and compares\ntools: Read, Bash\n\
             model: the big one\n---\nCall them.",
        ),
        file(Tier::ProjectKode, "explore", "---\nname: explore\ndescription: Knows this shop\n---\nLook around."),
        file(Tier::ProjectKode, "reviewer", &reviewer.replace("the checklist", "the new checklist")),
        file(Tier::CommandLine, "x", "---\nname: one-off\ndescription: Only for today\n---\nBe quick."),
    ]
}

/// The view, open, with these agents besides the built-in ones.
pub(crate) fn stage(width: u16, height: u16, files: Vec<Parsed>) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.event(Event::AgentFiles(FileNews::Places(places())));
    stage.event(Event::AgentFiles(FileNews::Listed(listing(files))));
    stage.keys("/agents<enter>");
    stage
}

/// Compares what these keys put on the screen beside the list.
fn check_after(name: &str, keys: &str) {
    check(name, |width, height| {
        let mut stage = stage(width, height, everything());
        let before = stage.frame();
        stage.keys(keys);
        stage.added_since(&before)
    });
}

#[test]
fn end_of_the_list() {
    check_after("agents-end", "Gkk");
}

#[test]
fn search() {
    check_after("agents-search", "/revw");
}

#[test]
fn detail() {
    check_after("agents-detail", "/new checklist<enter><enter>");
}

#[test]
fn shadowed() {
    check_after("agents-shadowed", "/review<enter><enter>");
}

#[test]
fn broken() {
    check_after("agents-broken", "/migrator<enter><enter>");
}

/// An agent whose model nobody knows, and one without a tool of this program, each as the list and as its own page show it.
#[test]
fn names_of_other_programs() {
    check("agents-names", |width, height| {
        let files = vec![
            file(
                Tier::ProjectClaude,
                "seer",
                "---\nname: seer\ndescription: Foresees what a change will break\nmodel: wibble-9\n---\nForesee.",
            ),
            file(
                Tier::ProjectClaude,
                "plan",
                "---\nname: plan\ndescription: Plans with tools of another program\ntools: codebase, usages\n---\nPlan.",
            ),
        ];
        let mut stage = stage(width, height, files);
        stage.keys("Gk");
        let (list, before) = (stage.text(), stage.frame());
        stage.keys("<enter>");
        let model = stage.added_since(&before);
        stage.keys("<esc>j<enter>");
        format!("{list}\n{model}\n{}", stage.added_since(&before))
    });
}

#[test]
fn delete() {
    check_after("agents-delete", "Gkx");
}

#[test]
fn duplicate() {
    check_after("agents-duplicate", "c");
}

#[test]
fn error() {
    check("agents-error", |width, height| {
        let mut stage = stage(width, height, everything());
        let before = stage.frame();
        stage.event(Event::AgentFiles(FileNews::Failed(
            "/home/me/src/shop/.kode/agents/reviewer.md cannot be deleted: Permission denied (os error 13)".to_owned(),
        )));
        stage.added_since(&before)
    });
}
