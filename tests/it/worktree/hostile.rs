//! A repository, and a child, that want git to run their programs or to work elsewhere.

use belvedere::worktree::{Merged, WorktreeEnd};

use super::{Repo, allow_execution, git, go_on, known, put, text};

#[tokio::test]
async fn no_program_of_the_repository_runs() {
    let repo = Repo::new(&[
        ("a.txt", "one\ntwo\nthree\n"),
        ("b", "1\n"),
        (".gitattributes", "a.txt filter=evil diff=evil merge=evil\n"),
    ]);
    let owned = repo.top().join("owned");
    put(&repo.top(), "evil", format!("#!/bin/sh\ntouch '{}'; cat\n", owned.display()));
    let script = repo.top().join("evil");
    allow_execution(&script);
    let hooks =
        ["post-checkout", "post-index-change", "reference-transaction", "post-commit", "pre-commit", "post-merge"];
    for hook in hooks {
        std::fs::copy(&script, repo.root().join(".git/hooks").join(hook)).unwrap();
    }
    let program = script.to_str().unwrap();
    let settings = [
        ("core.fsmonitor", program),
        ("core.pager", program),
        ("core.hooksPath", ".git/hooks"),
        ("diff.external", program),
        ("diff.evil.textconv", program),
        ("diff.evil.command", program),
        ("filter.evil.clean", program),
        ("filter.evil.smudge", program),
        ("filter.evil.required", "true"),
        ("merge.evil.driver", program),
        ("commit.gpgSign", "true"),
        ("gpg.program", program),
        ("core.alternateRefsCommand", program),
    ];
    for (name, value) in settings {
        repo.git(["config", name, value]);
    }
    repo.put("a.txt", "eins\ntwo\nthree\n");
    let _ = std::fs::remove_file(&owned);
    let tree = repo.create("a").await;
    assert_eq!(text(&tree.root, "a.txt"), "eins\ntwo\nthree\n");
    put(&tree.root, "a.txt", "eins\ntwo\ndrei\n");
    put(&tree.root, "b", "2\n");
    assert_eq!(repo.changes(&tree).await.files.len(), 2);
    repo.put("a.txt", "uno\ntwo\nthree\n");
    // The driver is kept from running, so that its files are never joined.
    let merged = repo.trees.merge(&tree, &known(&repo.trees, &tree).await, &go_on()).await.unwrap();
    assert!(matches!(merged, Merged::Conflicts(_)), "{merged:?}");
    repo.put("a.txt", "eins\ntwo\nthree\n");
    repo.merge(&tree).await;
    assert_eq!(repo.text("a.txt"), "eins\ntwo\ndrei\n");
    assert!(!owned.exists(), "a program ran");
    // The trap works.
    let _ = super::run(&repo.root(), ["status"]);
    assert!(owned.exists());
}

#[tokio::test]
async fn programs_under_names_that_are_no_text_do_not_run() {
    let repo = Repo::new(&[("a.txt", "one\ntwo\nthree\n")]);
    let owned = repo.top().join("owned");
    let mut settings = std::fs::read(repo.root().join(".git/config")).unwrap();
    for (section, key) in [("filter", "clean"), ("filter", "smudge"), ("diff", "textconv"), ("merge", "driver")] {
        settings.extend([b"[", section.as_bytes(), b" \"\xff\"]\n"].concat());
        settings.extend(format!("\t{key} = env >> '{}'; cat\n", owned.display()).as_bytes());
    }
    put(&repo.root(), ".git/config", settings);
    put(&repo.root(), ".gitattributes", b"*.txt filter=\xff diff=\xff merge=\xff\n");
    repo.put("a.txt", "eins\ntwo\nthree\n");
    let tree = repo.create("a").await;
    put(&tree.root, "a.txt", "eins\ntwo\ndrei\n");
    assert_eq!(repo.changes(&tree).await.files.len(), 1);
    // What both sides changed would be joined by the program.
    repo.put("a.txt", "uno\ntwo\nthree\n");
    let Merged::Conflicts(conflicts) =
        repo.trees.merge(&tree, &known(&repo.trees, &tree).await, &go_on()).await.unwrap()
    else {
        panic!("it merged")
    };
    assert_eq!(conflicts[0].why, "its custom merge driver is not run");
    repo.put("a.txt", "eins\ntwo\nthree\n");
    repo.merge(&tree).await;
    assert_eq!(repo.text("a.txt"), "eins\ntwo\ndrei\n");
    assert!(!owned.exists(), "a program ran");
    let _ = super::run(&repo.root(), ["add", "a.txt"]);
    assert!(owned.exists(), "the trap does not work");
}

#[tokio::test]
async fn a_pipe_in_the_git_folder_is_refused_at_once() {
    for name in ["HEAD", "config", "index"] {
        let repo = Repo::new(&[("a", "1\n")]);
        let path = repo.root().join(".git").join(name);
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = repo.refused(&repo.root()).await.to_string();
        assert!(error.contains(name) && error.contains("not a plain file"), "{error}");
    }
}

#[tokio::test]
async fn a_child_cannot_lead_git_elsewhere() {
    let repo = Repo::new(&[("a", "1\n")]);
    let other = Repo::new(&[("a", "of another repository\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, ".git", format!("gitdir: {}\n", other.root().join(".git").display()));
    put(&tree.root, "a", "2\n");
    let changes = repo.changes(&tree).await;
    assert_eq!((changes.files.len(), changes.files[0].diff.added), (1, 1));
    repo.merge(&tree).await;
    assert_eq!((repo.text("a"), other.text("a")), ("2\n".into(), "of another repository\n".into()));
    repo.is_gone(&tree);
    // Nor does it help to take the file away.
    let tree = repo.create("a").await;
    std::fs::remove_file(tree.root.join(".git")).unwrap();
    assert_eq!(repo.settle(&tree).await, WorktreeEnd::Removed);
    repo.is_gone(&tree);
}

#[tokio::test]
async fn a_link_in_a_worktree_leads_no_write_out() {
    let repo = Repo::new(&[("d/a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "d/a", "2\n");
    // The user's folder became a link to a place outside.
    std::fs::rename(repo.root().join("d"), repo.top().join("outside")).unwrap();
    std::os::unix::fs::symlink("../outside", repo.root().join("d")).unwrap();
    assert!(!repo.conflicts(&tree).await.is_empty());
    assert_eq!(text(&repo.top(), "outside/a"), "1\n");
    git(&repo.root(), ["status"]);
}
