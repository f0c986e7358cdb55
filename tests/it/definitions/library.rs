//! Whole folders of agent files: what is found, what is told, and what is read again.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use belvedere::definition::{AgentDir, AgentDirs, DefinitionState, DirBounds, KnownNames, Library, Listed, Tier};
use belvedere::permission::Owner;
use tempfile::TempDir;

fn dirs(paths: &[(Tier, PathBuf)]) -> AgentDirs {
    paths
        .iter()
        .map(|(tier, path)| AgentDir { tier: *tier, path: path.clone(), bounds: None })
        .collect::<Vec<_>>()
        .into()
}

fn library(folder: &Path) -> Library {
    let tools = ["Read", "Grep", "Edit", "Write", "Bash", "Agent"].map(str::to_owned).to_vec();
    Library::new(
        dirs(&[(Tier::ProjectClaude, folder.to_path_buf())]),
        Vec::new(),
        KnownNames { tools, ..KnownNames::default() },
    )
}

fn write(path: &Path, name: &str, description: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("---\nname: {name}\ndescription: {description}\n---\nBody.")).unwrap();
}

/// Everything that lies in files.
fn listed(library: &Library) -> Vec<Listed> {
    library.catalog().listing().iter().filter(|listed| listed.source.tier != Tier::BuiltIn).cloned().collect()
}

fn told(library: &Library) -> Vec<String> {
    listed(library).iter().flat_map(|listed| &listed.diagnostics).map(ToString::to_string).collect()
}

fn description(library: &Library, name: &str) -> Option<String> {
    library.catalog().get(name).map(|agent| agent.description.clone())
}

#[test]
fn folders_links_and_endings_are_followed_and_leftovers_ignored() {
    let (ground, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let root = ground.path().join("agents");
    for (path, name) in [("a.md", "a"), ("deep/er/b.MD", "b"), ("c.markdown", "c"), (".hidden/d.md", "d")] {
        write(&root.join(path), name, "Works");
    }
    for leftover in [".a.md.swp", "a.md~", "#a.md#", ".new-agent.md", "notes.txt", "a.md.bak", ".git/e.md"] {
        write(&root.join(leftover), "leftover", "Must not be read");
    }
    symlink("someone@host:1", root.join(".#a.md")).unwrap();
    write(&elsewhere.path().join("f.md"), "f", "Works");
    symlink(elsewhere.path(), root.join("linked")).unwrap();
    symlink(elsewhere.path().join("f.md"), root.join("g.md")).unwrap();
    symlink(&root, root.join("deep/circle")).unwrap();
    fs::write(root.join(".gitignore"), "*").unwrap();
    let library = library(&root);
    library.reload();
    let mut names: Vec<String> = listed(&library).iter().map(Listed::name).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c", "d", "f", "f"]);
    assert_eq!(told(&library), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_is_told_and_holds_nothing_up() {
    let ground = TempDir::new().unwrap();
    let root = ground.path();
    write(&root.join("good.md"), "good", "Works");
    symlink("nowhere.md", root.join("broken.md")).unwrap();
    symlink("loop.md", root.join("loop.md")).unwrap();
    assert!(Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap().success());
    let _socket = UnixListener::bind(root.join("socket.md")).unwrap();
    symlink("/dev/zero", root.join("zero.md")).unwrap();
    fs::write(root.join("large.md"), "x".repeat((1 << 20) + 1)).unwrap();
    fs::write(root.join("README.md"), "# Agents\n").unwrap();
    let library = library(root);
    library.reload();
    assert_eq!(description(&library, "good").as_deref(), Some("Works"));
    for (file, reason) in [
        ("broken.md", "broken link: nowhere.md does not exist. Fix or delete"),
        ("loop.md", "cannot follow the link to loop.md"),
        ("pipe.md", "a pipe, socket or device"),
        ("socket.md", "a pipe, socket or device"),
        ("zero.md", "a pipe, socket or device"),
        ("large.md", "larger than 1 MiB"),
        ("README.md", "not an agent file"),
    ] {
        let told = told(&library);
        assert!(told.iter().any(|told| told.contains(file) && told.contains(reason)), "{file}: {told:#?}");
    }
    assert_eq!(listed(&library).iter().filter(|listed| listed.standing == DefinitionState::Broken).count(), 7);
}

#[test]
fn files_and_folders_without_permission_are_told() {
    let ground = TempDir::new().unwrap();
    write(&ground.path().join("a.md"), "a", "Works");
    write(&ground.path().join("closed/b.md"), "b", "Works");
    fs::set_permissions(ground.path().join("a.md"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(ground.path().join("a.md")).is_ok() {
        // The superuser may read everything.
        return;
    }
    fs::set_permissions(ground.path().join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let library = library(ground.path());
    library.reload();
    assert_eq!(told(&library).len(), 2);
    fs::set_permissions(ground.path().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn later_tiers_nearer_folders_and_later_paths_win() {
    let ground = TempDir::new().unwrap();
    let tiers = [Tier::UserClaude, Tier::UserKode, Tier::ProjectClaude, Tier::ProjectClaude, Tier::ProjectKode];
    let paths: Vec<(Tier, PathBuf)> =
        tiers.iter().enumerate().map(|(at, tier)| (*tier, ground.path().join(at.to_string()))).collect();
    for (at, (_, path)) in paths.iter().enumerate() {
        write(&path.join("one.md"), "Explore", &format!("{at} one"));
        write(&path.join("two.md"), "ex-plore", &format!("{at} two"));
        let library = Library::new(dirs(&paths), Vec::new(), KnownNames::default());
        library.reload();
        assert_eq!(description(&library, "explore"), Some(format!("{at} two")));
        let listing = library.catalog().listing();
        let shadowed =
            listing.iter().filter(|listed| matches!(listed.standing, DefinitionState::Shadowed { .. })).count();
        assert_eq!(shadowed, 2 * at + 2, "each of the others, and the built-in one");
    }
}

#[test]
fn a_change_is_never_missed_and_what_did_not_change_is_the_same() {
    let ground = TempDir::new().unwrap();
    let (file, other) = (ground.path().join("a.md"), ground.path().join("b.md"));
    write(&file, "a", "first");
    write(&other, "b", "other");
    let library = library(ground.path());
    assert_eq!(library.reload().added, ["a", "b"]);
    assert!(library.reload().is_empty());
    // The same length, and the same time: as an archive or a quick program leaves it.
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    write(&file, "a", "again");
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(library.reload().changed, ["a"]);
    // An old time, which makes a file no less new.
    let old = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    assert!(library.reload().is_empty());
    write(&file, "a", "third");
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    assert_eq!(library.reload().changed, ["a"]);
    fs::rename(&other, &file).unwrap();
    let changes = library.reload();
    assert_eq!((changes.removed, description(&library, "b").as_deref()), (vec!["a".to_owned()], Some("other")));
    fs::remove_file(&file).unwrap();
    assert_eq!(library.reload().removed, ["b"]);
}

#[test]
fn unknown_tools_are_told_at_their_line_with_the_nearest_name() {
    let ground = TempDir::new().unwrap();
    let text = "---\nname: a\ndescription: b\ntools: Read, Gerp, Task, mcp__x__*, Bash(npm test:*)\ndisallowedTools:\n  - Wriet\n---\nBody.";
    fs::write(ground.path().join("a.md"), text).unwrap();
    let library = library(ground.path());
    library.reload();
    let told = told(&library);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].contains("a.md:4: unknown tool `Gerp`; ignored. Did you mean `Grep`?"), "{told:#?}");
    assert!(told[1].contains("a.md:5: unknown tool `Wriet`; `Write` is blocked."), "{told:#?}");
}

#[test]
fn of_two_thousand_files_none_is_lost_without_a_word() {
    let ground = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents");
    let mut shapes: Vec<PathBuf> = fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()).collect();
    shapes.retain(|path| path.extension().is_some() && path.metadata().unwrap().len() < 20_000);
    shapes.sort();
    for at in 0..2_000 {
        let bytes = fs::read(&shapes[at % shapes.len()]).unwrap();
        let folder = ground.path().join((at % 40).to_string());
        fs::create_dir_all(&folder).unwrap();
        // Every other one gets a name of its own; the rest shadow each other.
        let text = match String::from_utf8(bytes.clone()) {
            Ok(text) if at % 2 == 0 => text.replacen("name: ", &format!("name: n{at} "), 1).into_bytes(),
            _ => bytes,
        };
        fs::write(folder.join(format!("{at}.md")), text).unwrap();
    }
    let library = library(ground.path());
    library.reload();
    let all = listed(&library);
    assert_eq!(all.len(), 2_000);
    let count = |is: fn(&Listed) -> bool| all.iter().filter(|listed| is(listed)).count();
    let in_force = count(|listed| listed.standing == DefinitionState::InForce);
    let shadowed = count(|listed| matches!(listed.standing, DefinitionState::Shadowed { .. }));
    let broken = count(|listed| listed.standing == DefinitionState::Broken);
    assert_eq!(in_force + shadowed + broken, 2_000);
    assert!(in_force > 700 && shadowed > 500 && broken > 100, "{in_force} {shadowed} {broken}");
    assert!(all.iter().all(|listed| listed.definition.is_some() || !listed.diagnostics.is_empty()));
}

#[test]
fn an_agent_without_a_usable_tool_is_broken_and_takes_no_place() {
    let ground = TempDir::new().unwrap();
    let head = |tools: &str| format!("---\nname: explore\ndescription: Mine\ntools: {tools}\n---\nBody.");
    let library = library(ground.path());
    for tools in ["codebase, fetch", "mcp__notes__read", "All"] {
        fs::write(ground.path().join("explore.md"), head(tools)).unwrap();
        library.reload();
        assert_ne!(description(&library, "explore").as_deref(), Some("Mine"), "{tools}");
        assert_eq!(listed(&library)[0].standing, DefinitionState::Broken, "{tools}");
        assert!(
            told(&library)[0].contains(&format!("none of its `tools` exist here ({tools})")),
            "{:?}",
            told(&library)
        );
        assert_eq!(told(&library).len(), 1, "one line says it all");
    }
    for tools in ["codebase, Read", "*", "Agent", "[]"] {
        fs::write(ground.path().join("explore.md"), head(tools)).unwrap();
        library.reload();
        assert_eq!(description(&library, "explore").as_deref(), Some("Mine"), "{tools}");
    }
}

#[test]
fn a_file_of_the_project_is_used_as_it_was_trusted_byte_by_byte() {
    let ground = TempDir::new().unwrap();
    let root = ground.path().canonicalize().unwrap();
    let (path, file) = (root.join("agents"), root.join("agents/a.md"));
    write(&file, "a", "Trusted");
    let bounds = Some(DirBounds { root, owner: Owner::new(nix::unistd::geteuid().as_raw(), None) });
    let dir = AgentDir { tier: Tier::ProjectClaude, path, bounds };
    let library = Library::new(vec![dir].into(), Vec::new(), KnownNames::default());
    let mut changes = library.brought_changes();
    library.trust().set([]);
    library.reload();
    assert_eq!(description(&library, "a"), None);
    assert!(changes.has_changed().unwrap());
    let listed = changes.borrow_and_update().clone();
    assert_eq!((listed.len(), listed[0].text.as_str()), (1, "agents/a.md"));
    assert_eq!(library.brought(), listed);
    library.trust().add(listed);
    library.reload();
    assert_eq!(description(&library, "a").as_deref(), Some("Trusted"));
    assert!(!changes.has_changed().unwrap(), "nothing came");
    // As long, and as old.
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    write(&file, "a", "Tampere");
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    library.reload();
    assert_eq!(description(&library, "a"), None, "it is another file");
    assert!(changes.has_changed().unwrap());
    library.vouch(&file);
    library.reload();
    assert_eq!(description(&library, "a").as_deref(), Some("Tampere"), "the user has written it");
}
