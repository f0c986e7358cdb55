//! Agent files by keyboard, with the real binary: looked at, copied, edited, deleted.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::Home;
use super::terminal::Terminal;

/// Writes a program that stands in for the user's editor.
fn editor(folder: &Path, script: &str) -> String {
    let path = folder.join("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn start(home: &Home, project: &Path, editor: &str) -> Terminal {
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let env = [("HOME", home.path().to_str().unwrap()), ("EDITOR", editor)];
    let terminal = Terminal::start(80, 24, &["--trust", "--model", "offline"], project, &env);
    terminal.shows("offline");
    terminal.send("/agents\r");
    terminal.shows("general-purpose");
    terminal
}

#[test]
fn a_built_in_agent_is_copied_shadowed_edited_and_deleted() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    let editor = editor(home.path(), "sed -i.bak 's/^description:.*/description: Edited by a script/' \"$1\"");
    let terminal = start(&home, project.path(), &editor);
    terminal.send("/reviewer");
    terminal.wait("only what was sought", |screen| screen.contains("reviewer") && !screen.contains("general-purpose"));
    terminal.send("\r");
    terminal.send("\r");
    terminal.shows("active");
    terminal.send("e");
    terminal.shows("is built in");
    terminal.send("c");
    terminal.shows("duplicate reviewer into");
    terminal.send("\r");
    terminal.shows("written: ");
    let copy = project.path().join(".kode/agents/reviewer.md");
    assert!(std::fs::read_to_string(&copy).unwrap().contains("name: reviewer"));
    terminal.wait("its detail", |screen| screen.contains("project (.kode)") && screen.contains("shadows built-in"));
    terminal.send("e");
    terminal.shows("Edited by a script");
    assert!(std::fs::read_to_string(&copy).unwrap().contains("Edited by a script"));
    terminal.send("\x1b");
    terminal.shows("shadowed by project (.kode)");
    terminal.send("x");
    terminal.shows("delete it permanently");
    terminal.send("y");
    terminal.wait("it is gone", |screen| screen.contains("deleted: ") && !screen.contains("shadowed by"));
    assert!(!copy.exists());
}

#[test]
fn a_fault_made_in_the_editor_is_told_at_once() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    let folder = project.path().join(".claude/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.md"), "---\nname: mine\ndescription: My own\n---\nWork.\n").unwrap();
    let terminal = start(&home, project.path(), &editor(home.path(), "echo broken > \"$1\""));
    terminal.send("/mine");
    terminal.shows("My own");
    terminal.send("\r");
    terminal.send("e");
    terminal.shows("broken: ");
    terminal.send("?");
    terminal.shows("┌ keys");
}

#[test]
fn a_file_that_is_gone_meanwhile_is_told_and_the_list_is_new() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    let folder = project.path().join(".kode/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mine.md");
    std::fs::write(&file, "---\nname: mine\ndescription: My own\n---\nWork.\n").unwrap();
    let terminal = start(&home, project.path(), "true");
    terminal.send("/mine");
    terminal.shows("My own");
    terminal.send("\r");
    terminal.send("x");
    terminal.shows("delete it");
    std::fs::remove_file(&file).unwrap();
    terminal.send("y");
    terminal.wait("an empty list and the reason", |screen| {
        // Which of the two is known first depends on when the folder is read again.
        let is_said = screen.contains("cannot be deleted") || screen.contains("is no longer an agent file");
        screen.contains("no agent matches") && is_said
    });
}
