//! The repository of a worktree after its agent has done its worst there: nothing of ours obeys it, follows it or waits for it.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use belvedere::worktree::{Worktree, WorktreeEnd};

use super::{Repo, allow_execution, git, go_on, paths, put, text};

fn clone_of(tree: &Worktree) -> std::path::PathBuf {
    tree.root.with_extension("git")
}

#[tokio::test]
async fn links_in_it_lead_nowhere() {
    for place in [
        "HEAD",
        "index",
        "refs",
        "refs/heads",
        "refs/heads/belvedere",
        "packed-refs",
        "objects",
        "objects/info",
        "objects/pack",
        "objects/aa",
        "info",
        "shallow",
        "config",
        "logs",
        "commondir",
    ] {
        let repo = Repo::new(&[("a", "1\n")]);
        let tree = repo.create("a").await;
        put(&tree.root, "a", "2\n");
        git(&tree.root, ["commit", "-qam", "work"]);
        let (outside, link) = (repo.top().join("outside"), clone_of(&tree).join(place));
        if link.exists() {
            std::fs::rename(&link, &outside).unwrap();
        } else {
            std::fs::create_dir(&outside).unwrap();
        }
        let before = if outside.is_dir() { super::files(&outside) } else { Vec::new() };
        symlink(&outside, &link).unwrap();
        let error = repo.trees.settle(&tree, &go_on()).await.unwrap_err();
        assert!(error.to_string().contains("is not a plain file") || place == "commondir", "{place}: {error}");
        assert!(outside.exists());
        if outside.is_dir() {
            assert_eq!(super::files(&outside), before, "{place}");
        }
        repo.trees.discard(&tree).await.unwrap();
        assert!(outside.exists());
        repo.is_gone(&tree);
    }
}

#[tokio::test]
async fn pipes_in_it_hold_nothing_up() {
    for place in [
        "HEAD",
        "index",
        "config",
        "packed-refs",
        "objects/info/alternates",
        "objects/pack/pack-x.idx",
        "refs/heads/x",
        "objects/aa/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "commondir",
        "info/exclude",
    ] {
        let repo = Repo::new(&[("a", "1\n")]);
        let tree = repo.create("a").await;
        put(&tree.root, "a", "2\n");
        let path = clone_of(&tree).join(place);
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let begun = Instant::now();
        assert!(repo.trees.settle(&tree, &go_on()).await.is_err(), "{place}");
        repo.trees.discard(&tree).await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20), "{place}");
        repo.is_gone(&tree);
    }
}

#[tokio::test]
async fn its_settings_and_hooks_run_nothing() {
    let repo = Repo::new(&[("a.txt", "one\n")]);
    let owned = repo.top().join("owned");
    let tree = repo.create("a").await;
    put(&tree.root, "a.txt", "two\n");
    git(&tree.root, ["commit", "-qam", "work"]);
    let evil = format!("sh -c \"touch '{}'; cat\"", owned.display());
    put(&tree.root, ".gitattributes", "* filter=evil diff=evil merge=evil\n");
    let keys = [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.external",
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
        "gpg.program",
        "core.sshCommand",
    ];
    for key in keys {
        git(&tree.root, ["config", "--file", clone_of(&tree).join("config").to_str().unwrap(), key, &evil]);
    }
    for hook in ["reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc"] {
        put(&clone_of(&tree), &format!("hooks/{hook}"), format!("#!/bin/sh\ntouch '{}'\n", owned.display()));
        allow_execution(&clone_of(&tree).join("hooks").join(hook));
    }
    assert!(!owned.exists());
    let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
    assert_eq!((paths(&changes), changes.commits), (vec![".gitattributes".to_owned(), "a.txt".to_owned()], 1));
    repo.merge(&tree).await;
    assert_eq!(repo.text("a.txt"), "two\n");
    assert!(!owned.exists(), "a program ran");
}

#[tokio::test]
async fn other_objects_are_neither_borrowed_nor_believed() {
    let repo = Repo::new(&[("a", "1\n"), ("b", "1\n")]);
    let other = Repo::new(&[("secret", "of another repository\n")]);
    let secret = other.git(["rev-parse", "HEAD"]).trim().to_owned();
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["commit", "-qam", "work"]);
    put(
        &clone_of(&tree),
        "objects/info/alternates",
        format!("{}\n{}\n", repo.root().join(".git/objects").display(), other.root().join(".git/objects").display()),
    );
    git(&tree.root, ["update-ref", &format!("refs/heads/{}", tree.branch), &secret]);
    let error = repo.trees.settle(&tree, &go_on()).await.unwrap_err();
    assert!(error.to_string().contains("git failed"), "{error}");
    assert!(!super::run(&repo.root(), ["cat-file", "-e", &secret]).status.success(), "nothing of it came over");
    git(&tree.root, ["update-ref", &format!("refs/heads/{}", tree.branch), &tree.base]);
    // An object that is not what its name says: the file is what counts.
    let name = git(&tree.root, ["hash-object", "b"]);
    put(&tree.root, "b", "evil\n");
    let evil = git(&tree.root, ["hash-object", "b"]);
    let (name, evil) = (name.trim(), evil.trim());
    let loose = |root: &std::path::Path, id: &str| root.join(&id[..2]).join(&id[2..]);
    let honest = loose(&repo.root().join(".git/objects"), name);
    let forged = loose(&clone_of(&tree).join("objects"), evil);
    std::fs::create_dir_all(forged.parent().unwrap()).unwrap();
    std::fs::copy(honest, forged).unwrap();
    git(&tree.root, ["update-index", "--assume-unchanged", "b"]);
    put(&clone_of(&tree), "info/exclude", "*\n");
    put(&tree.root, "c", "new\n");
    let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
    assert_eq!(paths(&changes), ["a", "b", "c"]);
    assert_eq!(changes.files[1].diff.hunks[0].lines[1].text, "evil", "what is shown is what is merged");
    repo.merge(&tree).await;
    assert_eq!((repo.text("b"), repo.text("c")), ("evil\n".into(), "new\n".into()));
    repo.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn a_forged_base_does_not_change_what_was_there() {
    let repo = Repo::new(&[("a", "1\n2\n3\n")]);
    let tree = repo.create("a").await;
    // The user has changed the same line since: a base that says so already would make it the agent's.
    repo.put("a", "1\nmine\n3\n");
    put(&tree.root, "a", "1\nevil\n3\n");
    let (old, new) = (repo.git(["rev-parse", "HEAD:a"]), repo.git(["hash-object", "-w", "a"]));
    let loose = |root: &std::path::Path, id: &str| root.join(&id.trim()[..2]).join(&id.trim()[2..]);
    let forged = loose(&clone_of(&tree).join("objects"), &old);
    std::fs::create_dir_all(forged.parent().unwrap()).unwrap();
    std::fs::copy(loose(&repo.root().join(".git/objects"), &new), forged).unwrap();
    let conflicts = repo.conflicts(&tree).await;
    assert_eq!(conflicts[0].why, "both sides changed the same lines");
}

#[tokio::test]
async fn what_an_agent_added_or_took_from_its_index_counts() {
    let repo = Repo::new(&[("a", "1\n"), ("kept.log", "1\n"), ("gone.log", "of another kind\n")]);
    repo.put(".gitignore", "*.log\nout/\n");
    repo.commit("ignored");
    let tree = repo.create("a").await;
    put(&tree.root, "out/forced", "1\n");
    put(&tree.root, "out/not", "1\n");
    git(&tree.root, ["add", "-f", "out/forced"]);
    git(&tree.root, ["rm", "-q", "--cached", "gone.log"]);
    git(&tree.root, ["commit", "-q", "-m", "work"]);
    put(&tree.root, "kept.log", "2\n");
    assert_eq!(paths(&repo.changes(&tree).await), ["gone.log", "kept.log", "out/forced"]);
    repo.merge(&tree).await;
    assert_eq!((repo.text("out/forced"), repo.text("kept.log")), ("1\n".into(), "2\n".into()));
    assert!(!repo.root().join("gone.log").exists() && !repo.root().join("out/not").exists());
}

#[tokio::test]
async fn what_is_too_much_is_refused_and_can_be_discarded() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["commit", "-qam", "work"]);
    // An entry for each of more refs than anyone has, and a config of nothing but comments.
    put(&clone_of(&tree), "config", "#".repeat(2 << 20));
    let error = repo.trees.settle(&tree, &go_on()).await.unwrap_err();
    assert!(error.to_string().contains("is too long"), "{error}");
    repo.trees.discard(&tree).await.unwrap();
    repo.is_gone(&tree);
    assert_eq!(text(&repo.root(), "a"), "1\n");
}
