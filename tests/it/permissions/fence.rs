//! An agent in a checkout of its own: what is closed to it, and that the rest is as in the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Fence, Grant, Grants, PermissionMode, Permissions, Places, Project,
    Rule, Rules,
};

use super::rule;

const PROJECT: &str = "/home/me/shop";
const TREE: &str = "/home/me/.local/state/trees/s1/code-1";

fn inside(mode: PermissionMode) -> Permissions {
    let closed = vec![PathBuf::from("/home/me/.local/state/trees/s1")];
    let fence = Fence::new(PathBuf::from(TREE), PathBuf::from(PROJECT), closed, Some(Path::new("/home/me")));
    Permissions::new(Project::at(PROJECT.into()), mode, Grants::default()).within(fence)
}

fn read(path: &str) -> Access {
    Access::new("Read", AccessKind::Read { path: PathBuf::from(path) })
}

fn write(path: &str) -> Access {
    Access::new("Write", AccessKind::Write { path: PathBuf::from(path) })
}

fn run(command: &str) -> Access {
    Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement: Confinement::Guard })
}

#[test]
fn the_project_and_the_trees_of_others_are_closed_in_every_mode() {
    for mode in PermissionMode::ALL {
        let permissions = inside(mode);
        for access in [
            read("/home/me/shop/src/a.rs"),
            write("/home/me/shop/src/a.rs"),
            read("/home/me/shop"),
            read("/home/me"),
            read("/"),
            read("/home/me/.local/state/trees/s1/code-2/a.rs"),
            write("/home/me/.local/state/trees/s1/code-12/a.rs"),
            run("cat /home/me/shop/a.rs"),
            run("cd ~/shop && make"),
            run("ls $HOME/shop"),
            run("ls ${HOME}/shop/"),
            run("ls '/home/me'/shop"),
            run("ls /home//me/./shop"),
            run("ls /home/me/.local/state/trees/s1/code-12"),
            run("ls ~/.local/state/trees/s1/code-1 ~/.local/state/trees/s1"),
        ] {
            let Decision::Deny(words) = permissions.decide(&access) else { panic!("{mode:?} {access:?}") };
            assert!(words.contains(TREE), "{words}");
        }
    }
    let Decision::Deny(words) = inside(PermissionMode::Default).decide(&write("/home/me/shop/src/a.rs")) else {
        panic!()
    };
    assert!(words.ends_with(&format!("Use {TREE}/src/a.rs instead.")), "{words}");
}

#[test]
fn a_write_is_judged_in_the_tree_as_in_the_project_in_every_mode() {
    let here = |path: &str| format!("{TREE}/{path}");
    let inside_plain = [Decision::Ask, Decision::Allow, REFUSED, Decision::Allow];
    let inside_settings = [Decision::Ask, Decision::Ask, REFUSED, Decision::Allow];
    let elsewhere = [Decision::Ask, Decision::Ask, REFUSED, Decision::Allow];
    let closed = [REFUSED, REFUSED, REFUSED, REFUSED];
    for (path, expected) in [
        (here("src/a.rs"), inside_plain),
        (here(".claude/settings.json"), inside_settings),
        ("/etc/motd".to_owned(), elsewhere),
        (format!("{PROJECT}/src/a.rs"), closed.clone()),
        ("/home/me/.local/state/trees/s1/code-2/a.rs".to_owned(), closed),
    ] {
        for (mode, expected) in PermissionMode::ALL.into_iter().zip(expected) {
            let decision = inside(mode).decide(&write(&path));
            let same = match (&decision, &expected) {
                (Decision::Deny(_), Decision::Deny(_)) => true,
                _ => decision == expected,
            };
            assert!(same, "{mode:?} {path}: {decision:?}");
        }
    }
}

/// Refused, whatever the words.
const REFUSED: Decision = Decision::Deny(String::new());

#[test]
fn in_the_tree_everything_is_as_in_the_project_and_elsewhere_as_ever() {
    let permissions = inside(PermissionMode::Default);
    let tree = |path: &str| format!("{TREE}/{path}");
    assert_eq!(permissions.decide(&read(&tree("src/a.rs"))), Decision::Allow);
    assert_eq!(permissions.decide(&write(&tree("src/a.rs"))), Decision::Ask);
    assert_eq!(permissions.offer(&write(&tree("src/a.rs"))), Some(Grant::Edits));
    assert_eq!(permissions.decide(&read("/etc/hosts")), Decision::Ask);
    assert_eq!(permissions.decide(&run("ls")), Decision::Allow);
    for command in
        ["make -C /home/me/shop2", "ls ~/shop-2", &format!("ls {TREE}/src"), "ls ~/.local/state/trees/s1/code-1/src"]
    {
        assert!(!matches!(permissions.decide(&run(command)), Decision::Deny(_)), "{command}");
    }
    let permissions = inside(PermissionMode::AcceptEdits);
    assert_eq!(permissions.decide(&write(&tree("src/a.rs"))), Decision::Allow);
    assert_eq!(permissions.decide(&write(&tree(".claude/settings.json"))), Decision::Ask);
}

#[test]
fn rules_of_the_project_hold_in_the_tree_and_own_notes_stay_open() {
    let places = Places { project: Path::new(PROJECT), home: None };
    let rules = |entries: &[&str]| entries.iter().map(|entry| rule(entry, places)).collect::<Arc<[Rule]>>();
    let narrow = Rules::default().allowing(rules(&["Write(src/**)", "Read"]));
    let notes = PathBuf::from("/home/me/shop/.claude/agent-memory/code");
    let permissions = inside(PermissionMode::BypassPermissions).with_rules(narrow).with_own_folder(Some(notes));
    assert_eq!(permissions.decide(&write(&format!("{TREE}/src/a.rs"))), Decision::Allow);
    assert!(matches!(permissions.decide(&write(&format!("{TREE}/b.rs"))), Decision::Deny(_)));
    assert_eq!(permissions.decide(&read("/home/me/shop/.claude/agent-memory/code/MEMORY.md")), Decision::Allow);
    assert!(matches!(
        permissions.decide(&read("/home/me/shop/.claude/agent-memory/other/MEMORY.md")),
        Decision::Deny(_)
    ));
}
