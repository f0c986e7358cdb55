//! Files of agents that change while the program runs, in real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use belvedere::definition::{
    AgentDirs, CatalogChanges, KnownNames, Library, Means, Roots, Tier, WatchedFiles, Watcher,
};
use tempfile::TempDir;
use tokio::time::timeout;

/// How long a test waits for something that has to happen.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A home, a project in it, and what becomes of the agent `scout`.
struct Ground {
    root: TempDir,
    library: Arc<Library>,
    /// The folder of the tier in question.
    folder: PathBuf,
    /// A folder that no tier knows.
    elsewhere: PathBuf,
    watcher: Option<Watcher>,
}

impl Ground {
    /// Nothing is watched yet.
    fn of(tier: Tier) -> Self {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let project = base.join("home/project");
        // No link may lead out of a project.
        let elsewhere = if tier.is_of_project() { project.join("elsewhere") } else { base.join("elsewhere") };
        fs::create_dir_all(project.join("inner")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let (home, cwd) = (base.join("home"), project.join("inner"));
        let dirs = AgentDirs::new(&Roots {
            home: Some(&home),
            claude: None,
            kode: None,
            cwd: &cwd,
            project: Some(&project),
            owner: belvedere::permission::Owner::new(nix::unistd::geteuid().as_raw(), None),
        });
        let folder = dirs.iter().filter(|dir| dir.tier == tier).last().unwrap().path.clone();
        let library = Arc::new(Library::new(dirs, Vec::new(), KnownNames::default()));
        Self { root, library, folder, elsewhere, watcher: None }
    }

    fn watch(&mut self, means: Means) {
        let (library, skills, plugins) = (self.library.clone(), Arc::default(), Arc::default());
        self.watcher = Some(Watcher::start(WatchedFiles { library, skills, plugins }, means));
    }

    fn description(&self) -> Option<String> {
        self.library.catalog().get("scout").map(|scout| scout.description.clone())
    }

    async fn changes(&self) -> CatalogChanges {
        timeout(TIMEOUT, self.library.changes()).await.expect("no change is noticed")
    }

    async fn becomes(&self, case: &str, wanted: Option<&str>) {
        while self.description().as_deref() != wanted {
            let found = timeout(TIMEOUT, self.library.changes()).await;
            assert!(found.is_ok(), "{case}: is {:?}, not {wanted:?}", self.description());
        }
    }
}

fn text(description: &str) -> String {
    format!("---\nname: scout\ndescription: {description}\n---\nYou are of {description}.")
}

fn write(path: impl AsRef<Path>, description: &str) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text(description)).unwrap();
}

/// Writes as careful programs do: beside it, then over it.
fn write_over(path: &Path, description: &str) {
    let beside = path.with_extension("new");
    write(&beside, description);
    fs::rename(beside, path).unwrap();
}

/// Puts a link where something else, or nothing, was.
fn link_over(target: &Path, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = path.with_extension("new");
    symlink(target, &beside).unwrap();
    fs::rename(beside, path).unwrap();
}

/// Does something to the folder of the tier (first) with the help of one elsewhere (second).
type Act = fn(&Path, &Path);

/// What is done, and what the description of the agent `scout` is then.
type Steps = &'static [(Act, Option<&'static str>)];

/// Each begins with an empty home; the first step is done before anything is watched.
const CASES: &[(&str, Steps)] = &[
    (
        "added, changed, removed",
        &[
            (|folder, _| fs::create_dir_all(folder).unwrap(), None),
            (|folder, _| write(folder.join("a.md"), "one"), Some("one")),
            (|folder, _| write(folder.join("a.md"), "two"), Some("two")),
            (|folder, _| fs::remove_file(folder.join("a.md")).unwrap(), None),
            (|folder, _| write(folder.join("a.md"), "three"), Some("three")),
        ],
    ),
    (
        "written by rename",
        &[
            (|folder, _| write(folder.join("a.md"), "one"), Some("one")),
            (|folder, _| write_over(&folder.join("a.md"), "two"), Some("two")),
            (|folder, _| write_over(&folder.join("a.md"), "three"), Some("three")),
            (
                // vim with a backup: the file goes, a new one comes, the backup goes.
                |folder, _| {
                    fs::write(folder.join("4913"), "").unwrap();
                    fs::remove_file(folder.join("4913")).unwrap();
                    fs::rename(folder.join("a.md"), folder.join("a.md~")).unwrap();
                    write(folder.join("a.md"), "four");
                    fs::remove_file(folder.join("a.md~")).unwrap();
                },
                Some("four"),
            ),
        ],
    ),
    (
        "renamed",
        &[
            (|folder, _| write(folder.join("a.md"), "one"), Some("one")),
            (|folder, _| fs::rename(folder.join("a.md"), folder.join("a.txt")).unwrap(), None),
            (|folder, _| fs::rename(folder.join("a.txt"), folder.join("b.md")).unwrap(), Some("one")),
            (|folder, elsewhere| fs::rename(folder.join("b.md"), elsewhere.join("b.md")).unwrap(), None),
            (|folder, elsewhere| fs::rename(elsewhere.join("b.md"), folder.join("b.md")).unwrap(), Some("one")),
            (|folder, _| write(folder.join("b.md"), "two"), Some("two")),
        ],
    ),
    (
        "folders made later",
        &[
            (|_, _| {}, None),
            (|folder, _| write(folder.join("sub/deeper/a.md"), "one"), Some("one")),
            (|folder, _| write(folder.join("sub/deeper/a.md"), "two"), Some("two")),
            (|folder, _| write_over(&folder.join("sub/deeper/a.md"), "three"), Some("three")),
        ],
    ),
    (
        "folders made later, one by one",
        &[
            (|folder, _| fs::create_dir_all(folder.parent().unwrap()).unwrap(), None),
            (|folder, _| write(folder.join("a.md"), "one"), Some("one")),
            (|folder, _| write(folder.join("sub/b.md"), "two"), Some("two")),
            (|folder, _| write(folder.join("sub/b.md"), "three"), Some("three")),
        ],
    ),
    (
        "folder deleted and made again",
        &[
            (|folder, _| write(folder.join("sub/a.md"), "one"), Some("one")),
            (|folder, _| fs::remove_dir_all(folder).unwrap(), None),
            (|folder, _| write(folder.join("sub/a.md"), "two"), Some("two")),
            (|folder, _| write(folder.join("sub/a.md"), "three"), Some("three")),
            (|folder, _| fs::remove_dir_all(folder.parent().unwrap()).unwrap(), None),
            (|folder, _| write(folder.join("sub/a.md"), "four"), Some("four")),
            (
                |folder, _| {
                    fs::remove_dir_all(folder).unwrap();
                    write(folder.join("sub/a.md"), "five");
                },
                Some("five"),
            ),
            (|folder, _| write(folder.join("sub/a.md"), "six"), Some("six")),
        ],
    ),
    (
        "folder renamed away and back",
        &[
            (|folder, _| write(folder.join("sub/a.md"), "one"), Some("one")),
            (|folder, elsewhere| fs::rename(folder, elsewhere.join("away")).unwrap(), None),
            (|folder, elsewhere| fs::rename(elsewhere.join("away"), folder).unwrap(), Some("one")),
            (|folder, _| write(folder.join("sub/a.md"), "two"), Some("two")),
            (
                |folder, elsewhere| {
                    fs::rename(folder, elsewhere.join("away")).unwrap();
                    write(folder.join("sub/a.md"), "three");
                },
                Some("three"),
            ),
            (|folder, _| write(folder.join("sub/a.md"), "four"), Some("four")),
        ],
    ),
    (
        "the folder above renamed away",
        &[
            (|folder, _| write(folder.join("sub/a.md"), "one"), Some("one")),
            (|folder, elsewhere| fs::rename(folder.parent().unwrap(), elsewhere.join("away")).unwrap(), None),
            (|folder, _| write(folder.join("sub/a.md"), "two"), Some("two")),
            (|folder, _| write(folder.join("sub/a.md"), "three"), Some("three")),
        ],
    ),
    (
        "the folder is a link",
        &[
            (
                |folder, elsewhere| {
                    write(elsewhere.join("store/a.md"), "one");
                    link_over(&elsewhere.join("store"), folder);
                },
                Some("one"),
            ),
            (|_, elsewhere| write(elsewhere.join("store/a.md"), "two"), Some("two")),
            (
                |folder, elsewhere| {
                    write(elsewhere.join("other/a.md"), "three");
                    link_over(Path::new("../other-of-the-user"), folder);
                    link_over(&elsewhere.join("other"), folder);
                },
                Some("three"),
            ),
            (|_, elsewhere| write(elsewhere.join("other/a.md"), "four"), Some("four")),
            (|_, elsewhere| fs::rename(elsewhere.join("other"), elsewhere.join("gone")).unwrap(), None),
            (|_, elsewhere| write(elsewhere.join("other/a.md"), "five"), Some("five")),
            (|_, elsewhere| write(elsewhere.join("other/a.md"), "six"), Some("six")),
        ],
    ),
    (
        "the folder above is a link",
        &[
            (
                |folder, elsewhere| {
                    write(elsewhere.join("store/agents/a.md"), "one");
                    link_over(&elsewhere.join("store"), folder.parent().unwrap());
                },
                Some("one"),
            ),
            (|_, elsewhere| write(elsewhere.join("store/agents/a.md"), "two"), Some("two")),
            (
                |folder, elsewhere| {
                    write(elsewhere.join("other/agents/a.md"), "three");
                    link_over(&elsewhere.join("other"), folder.parent().unwrap());
                },
                Some("three"),
            ),
            (|_, elsewhere| write(elsewhere.join("other/agents/a.md"), "four"), Some("four")),
        ],
    ),
    (
        "the folder becomes a link",
        &[
            (|folder, _| write(folder.join("a.md"), "one"), Some("one")),
            (
                |folder, elsewhere| {
                    write(elsewhere.join("store/a.md"), "two");
                    fs::remove_dir_all(folder).unwrap();
                    link_over(&elsewhere.join("store"), folder);
                },
                Some("two"),
            ),
            (|folder, _| write(folder.join("a.md"), "three"), Some("three")),
        ],
    ),
    (
        "a link to what is made later",
        &[
            (|folder, elsewhere| link_over(&elsewhere.join("later/agents"), folder), None),
            (|_, elsewhere| write(elsewhere.join("later/agents/a.md"), "one"), Some("one")),
            (|_, elsewhere| write(elsewhere.join("later/agents/a.md"), "two"), Some("two")),
        ],
    ),
    (
        "the file is a link",
        &[
            (
                |folder, elsewhere| {
                    write(elsewhere.join("notes/text.md"), "one");
                    link_over(&elsewhere.join("notes/text.md"), &folder.join("a.md"));
                },
                Some("one"),
            ),
            (|_, elsewhere| write(elsewhere.join("notes/text.md"), "two"), Some("two")),
            (|_, elsewhere| write_over(&elsewhere.join("notes/text.md"), "three"), Some("three")),
            (|_, elsewhere| fs::remove_file(elsewhere.join("notes/text.md")).unwrap(), None),
            (|_, elsewhere| write(elsewhere.join("notes/text.md"), "four"), Some("four")),
            (|_, elsewhere| fs::remove_dir_all(elsewhere.join("notes")).unwrap(), None),
            (|_, elsewhere| write(elsewhere.join("notes/text.md"), "five"), Some("five")),
            (|_, elsewhere| write(elsewhere.join("notes/text.md"), "six"), Some("six")),
        ],
    ),
    (
        "the file becomes a link",
        &[
            (|folder, _| write(folder.join("a.md"), "one"), Some("one")),
            (
                |folder, elsewhere| {
                    write(elsewhere.join("text.md"), "two");
                    link_over(&elsewhere.join("text.md"), &folder.join("a.md"));
                },
                Some("two"),
            ),
            (|_, elsewhere| write(elsewhere.join("text.md"), "three"), Some("three")),
        ],
    ),
    (
        "nested folders",
        &[
            (|folder, _| write(folder.join("a/b/c.md"), "one"), Some("one")),
            (|folder, _| write(folder.join("a/b/c.md"), "two"), Some("two")),
            (
                |folder, _| {
                    fs::rename(folder.join("a"), folder.join("z")).unwrap();
                    write(folder.join("a/b/c.md"), "hidden by the later file");
                    write(folder.join("z/b/c.md"), "three");
                },
                Some("three"),
            ),
            (|folder, _| write(folder.join("z/b/c.md"), "four"), Some("four")),
            (|folder, _| fs::remove_dir_all(folder.join("z")).unwrap(), Some("hidden by the later file")),
            (|folder, _| write(folder.join("a/b/c.md"), "five"), Some("five")),
        ],
    ),
    (
        "a nested folder moved in, and one that is a link",
        &[
            (|folder, _| fs::create_dir_all(folder).unwrap(), None),
            (
                |folder, elsewhere| {
                    write(elsewhere.join("team/more/a.md"), "one");
                    fs::rename(elsewhere.join("team"), folder.join("team")).unwrap();
                },
                Some("one"),
            ),
            (|folder, _| write(folder.join("team/more/a.md"), "two"), Some("two")),
            (|folder, _| fs::remove_dir_all(folder.join("team")).unwrap(), None),
            (
                |folder, elsewhere| {
                    write(elsewhere.join("team/more/a.md"), "three");
                    symlink(elsewhere.join("team"), folder.join("team")).unwrap();
                },
                Some("three"),
            ),
            (|_, elsewhere| write(elsewhere.join("team/more/a.md"), "four"), Some("four")),
        ],
    ),
    (
        "a file in the folder's place",
        &[
            (
                |folder, _| {
                    fs::create_dir_all(folder.parent().unwrap()).unwrap();
                    fs::write(folder, "no folder").unwrap();
                },
                None,
            ),
            (
                |folder, _| {
                    fs::remove_file(folder).unwrap();
                    write(folder.join("a.md"), "one");
                },
                Some("one"),
            ),
            (|folder, _| write(folder.join("a.md"), "two"), Some("two")),
        ],
    ),
];

async fn goes_through(tier: Tier, means: Means, cases: &[(&str, Steps)]) {
    for (case, steps) in cases {
        let mut ground = Ground::of(tier);
        for (at, (act, wanted)) in steps.iter().enumerate() {
            act(&ground.folder, &ground.elsewhere);
            if at == 0 {
                // What happens between this reading and the watches is found as well.
                ground.library.reload();
                ground.watch(means);
            }
            ground.becomes(&format!("{case}, step {at}"), *wanted).await;
        }
    }
}

#[tokio::test]
async fn every_way_to_change_a_file_is_noticed_in_the_users_claude_tier() {
    goes_through(Tier::UserClaude, Means::Events, CASES).await;
}

#[tokio::test]
async fn every_way_to_change_a_file_is_noticed_in_the_users_kode_tier() {
    goes_through(Tier::UserKode, Means::Events, CASES).await;
}

#[tokio::test]
async fn every_way_to_change_a_file_is_noticed_in_the_projects_claude_tier() {
    goes_through(Tier::ProjectClaude, Means::Events, CASES).await;
}

#[tokio::test]
async fn every_way_to_change_a_file_is_noticed_in_the_projects_kode_tier() {
    goes_through(Tier::ProjectKode, Means::Events, CASES).await;
}

#[tokio::test]
async fn where_the_system_tells_of_nothing_the_files_are_looked_at() {
    goes_through(Tier::ProjectKode, Means::Polls, &CASES[..4]).await;
}

#[tokio::test]
async fn a_storm_of_changes_is_handled_in_a_few_readings() {
    let mut ground = Ground::of(Tier::ProjectClaude);
    fs::create_dir_all(&ground.folder).unwrap();
    ground.library.reload();
    ground.watch(Means::Events);
    let folder = ground.folder.clone();
    let storm = tokio::task::spawn_blocking(move || {
        for number in 0..500 {
            let text = format!("---\nname: agent {number}\ndescription: one of many\n---\nBody.");
            fs::write(folder.join(format!("{number}.md")), text).unwrap();
        }
    });
    let (mut batches, mut seen) = (0, 0);
    while seen < 500 {
        let changes = ground.changes().await;
        batches += 1;
        seen += changes.added.len();
    }
    storm.await.unwrap();
    assert!(batches < 20, "{batches} readings");
}

#[tokio::test]
async fn what_changes_nothing_is_not_told() {
    let mut ground = Ground::of(Tier::UserKode);
    write(ground.folder.join("a.md"), "one");
    ground.library.reload();
    ground.changes().await;
    ground.watch(Means::Events);
    // Each of these is noticed before the last one, which is the only one that is told.
    write_over(&ground.folder.join("a.md"), "one");
    fs::write(ground.folder.join("notes.txt"), "no agent").unwrap();
    fs::write(ground.root.path().join("home/busy"), "not in a folder of agents").unwrap();
    write_over(&ground.folder.join("a.md"), "two");
    let changes = ground.changes().await;
    assert_eq!(changes, CatalogChanges { changed: vec!["scout".to_owned()], ..CatalogChanges::default() });
}

#[tokio::test]
async fn a_fault_is_told_when_it_comes() {
    let mut ground = Ground::of(Tier::UserKode);
    write(ground.folder.join("a.md"), "one");
    ground.library.reload();
    ground.changes().await;
    ground.watch(Means::Events);
    fs::rename(ground.folder.join("a.md"), ground.elsewhere.join("a.md")).unwrap();
    ground.becomes("removed", None).await;
    fs::write(ground.elsewhere.join("broken.md"), "no head").unwrap();
    fs::rename(ground.elsewhere.join("broken.md"), ground.folder.join("broken.md")).unwrap();
    let changes = ground.changes().await;
    assert_eq!(changes.errors.len(), 1, "{changes:?}");
    assert_eq!(changes.errors[0].path.as_deref(), Some(ground.folder.join("broken.md").as_path()));
}

#[test]
fn the_watching_ends_with_its_owner() {
    for means in [Means::Events, Means::Polls] {
        let mut ground = Ground::of(Tier::UserKode);
        ground.watch(means);
        drop(ground.watcher.take());
        let deadline = Instant::now() + TIMEOUT;
        while Arc::strong_count(&ground.library) > 1 {
            assert!(Instant::now() < deadline, "the thread goes on");
            std::thread::yield_now();
        }
    }
}
