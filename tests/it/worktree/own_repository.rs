//! The repository that a worktree has of its own: what is in it, what of it reaches the project, and what keeps it whole.

use belvedere::worktree::{WorktreeEnd, Worktrees};
use serde_json::json;

use super::{Repo, allow_execution, entries, git, go_on, paths, put, run, text};

#[tokio::test]
async fn it_knows_what_the_project_knows_and_changes_nothing_there() {
    let repo = Repo::new(&[("a", "1\n")]);
    let remote = repo.top().join("remote.git").display().to_string();
    repo.git(["init", "-q", "--bare", &remote]);
    repo.git(["remote", "add", "origin", &remote]);
    repo.git(["push", "-q", "-u", "origin", "main"]);
    repo.git(["remote", "set-head", "origin", "main"]);
    repo.git(["tag", "-a", "-m", "one", "v1"]);
    for (name, value) in [("user.name", "O'Neil \"x\""), ("user.email", "o@example.org"), ("alias.last", "log -1")] {
        repo.git(["config", name, value]);
    }
    repo.put("a", "2\n");
    repo.git(["stash", "-q"]);
    let tree = repo.create("a").await;
    let own = |args: &[&str]| git(&tree.root, args.iter().copied());
    assert_eq!(
        own(&["rev-parse", "main", "origin/main", "origin", "v1", "HEAD"]),
        repo.git(["rev-parse", "main", "origin/main", "origin", "v1", "HEAD"])
    );
    assert_eq!(own(&["config", "--local", "user.name"]), "O'Neil \"x\"\n");
    assert_eq!(own(&["config", "remote.origin.url"]).trim(), remote);
    assert_eq!(own(&["config", "branch.main.merge"]), "refs/heads/main\n");
    assert_eq!(own(&["config", "alias.last"]), "log -1\n");
    assert_eq!(own(&["status", "--porcelain", "--branch"]), format!("## {}\n", tree.branch));
    assert_eq!(own(&["stash", "list"]), "");
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
    let before = repo.everything();
    for args in [
        &["branch", "-D", "main"][..],
        &["tag", "-d", "v1"],
        &["update-ref", "refs/heads/x", "HEAD"],
        &["gc", "-q", "--prune=now"],
    ] {
        own(args);
    }
    assert_eq!(repo.everything(), before);
    assert_eq!(repo.settle(&tree).await, WorktreeEnd::Removed);
    repo.is_gone(&tree);
}

#[tokio::test]
async fn the_hooks_of_the_user_run_there() {
    for (setting, folder) in [(None, ".git/hooks"), (Some(".husky"), ".husky")] {
        let repo = Repo::new(&[("a", "1\n")]);
        if let Some(setting) = setting {
            repo.git(["config", "core.hooksPath", setting]);
        }
        let hook = format!("{folder}/pre-commit");
        repo.put(&hook, "#!/bin/sh\npwd > ../seen\n");
        allow_execution(&repo.root().join(&hook));
        let tree = repo.create("a").await;
        put(&tree.root, "a", "2\n");
        git(&tree.root, ["commit", "-qam", "work"]);
        assert_eq!(text(tree.root.parent().unwrap(), "seen").trim(), tree.root.to_str().unwrap());
    }
}

#[tokio::test]
async fn what_the_user_collects_takes_no_base_away() {
    let repo = Repo::new(&[("a", "1\n"), ("b", "1\n")]);
    repo.put("a", "staged\n");
    repo.put("new", "unknown to git\n");
    repo.git(["add", "a"]);
    let tree = repo.create("a").await;
    put(&tree.root, "b", "2\n");
    git(&tree.root, ["commit", "-qam", "work"]);
    // The commit that it began with, and what was staged, are gone from all that the user has.
    repo.git(["reset", "-q", "--hard"]);
    std::fs::remove_file(repo.root().join("new")).unwrap();
    repo.put("c", "3\n");
    repo.git(["add", "c"]);
    repo.git(["commit", "-q", "--amend", "-m", "other"]);
    repo.git(["reflog", "expire", "--expire=now", "--all"]);
    repo.git(["gc", "-q", "--prune=now"]);
    git(&tree.root, ["fsck"]);
    git(&tree.root, ["log", "-p"]);
    let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
    assert_eq!((paths(&changes), changes.commits), (vec!["b".to_owned()], 1));
    repo.git(["gc", "-q", "--prune=now"]);
    assert_eq!(repo.merge(&tree).await, ["b"]);
}

#[tokio::test]
async fn commits_reach_the_branch_in_the_project_and_no_other() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["commit", "-qam", "two"]);
    git(&tree.root, ["branch", "other"]);
    git(&tree.root, ["tag", "t"]);
    assert_eq!(repo.git(["rev-parse", &tree.branch]).trim(), tree.base);
    assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
    assert_eq!(repo.git(["log", "--format=%s", &format!("main..{}", tree.branch)]), "two\n");
    assert_eq!(
        repo.git(["for-each-ref", "--format=%(refname)"]),
        format!("refs/heads/{}\nrefs/heads/main\n", tree.branch)
    );
    repo.git(["fsck", "--strict"]);
    // It goes on, with another history.
    put(&tree.root, "a", "3\n");
    git(&tree.root, ["commit", "-qa", "--amend", "-m", "three"]);
    assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
    assert_eq!(repo.git(["log", "--format=%s", &format!("main..{}", tree.branch)]), "three\n");
    repo.trees.discard(&tree).await.unwrap();
    repo.is_gone(&tree);
}

#[tokio::test]
async fn work_on_another_branch_or_in_the_stash_keeps_a_worktree() {
    for command in [&["switch", "-q", "-c", "other"][..], &["checkout", "-q", "--detach"]] {
        let repo = Repo::new(&[("a", "1\n")]);
        let tree = repo.create("a").await;
        git(&tree.root, command.iter().copied());
        git(&tree.root, ["commit", "-q", "--allow-empty", "-m", "work"]);
        let keep = git(&tree.root, ["branch", "--show-current"]);
        if !keep.trim().is_empty() {
            git(&tree.root, ["switch", "-q", &tree.branch]);
        }
        let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
        assert_eq!(changes.commits, 1);
    }
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["stash", "-q"]);
    assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
}

#[tokio::test]
async fn a_branch_that_the_user_took_over_is_theirs() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["commit", "-qam", "two"]);
    repo.git(["checkout", "-q", &tree.branch]);
    assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
    assert_eq!(repo.git(["status", "--porcelain"]), "", "it does not move below the user's feet");
    repo.commit("mine");
    repo.git(["checkout", "-q", "main"]);
    repo.trees.discard(&tree).await.unwrap();
    assert!(!tree.root.exists());
    assert_eq!(repo.git(["log", "-1", "--format=%s", &tree.branch]), "mine\n");
}

#[tokio::test]
async fn odd_repositories_have_worktrees_too() {
    // Objects of another one, few commits, refs in one file, other names of objects.
    let repo = Repo::new(&[("a", "1\n")]);
    repo.put("a", "2\n");
    repo.commit("second");
    let project = repo.root().display().to_string();
    let file = format!("file://{project}");
    let clones: [&[&str]; 4] = [
        &["clone", "-q", "--shared", &project],
        &["clone", "-q", "--depth", "1", &file],
        &["clone", "-q", "--separate-git-dir", "../apart.git", &project],
        &["clone", "-q", &project],
    ];
    for (number, clone) in clones.into_iter().enumerate() {
        let place = repo.top().join(format!("clone{number}"));
        git(&repo.root(), clone.iter().copied().chain([place.to_str().unwrap()]));
        let trees = Worktrees::new(repo.state().join(number.to_string()), "s");
        let tree = trees.create(&place, "a", &go_on()).await.unwrap();
        put(&tree.root, "a", "3\n");
        git(&tree.root, ["commit", "-qam", "three"]);
        git(&tree.root, ["log"]);
        assert_eq!(trees.changes(&tree, &go_on()).await.unwrap().commits, 1, "{clone:?}");
        trees.settle(&tree, &go_on()).await.unwrap();
        trees.merge(&tree, &std::collections::BTreeSet::new(), &go_on()).await.unwrap();
        assert_eq!(text(&place, "a"), "3\n");
    }
    for format in [["--object-format=sha256"], ["--ref-format=reftable"]] {
        let place = repo.top().join(format[0]);
        std::fs::create_dir(&place).unwrap();
        if !run(&place, ["init", "-q", "-b", "main", format[0]]).status.success() {
            continue;
        }
        put(&place, "a", "1\n");
        git(&place, ["add", "-A"]);
        git(&place, ["commit", "-q", "-m", "one"]);
        let trees = Worktrees::new(repo.state().join(format[0]), "s");
        let tree = trees.create(&place, "a", &go_on()).await.unwrap();
        put(&tree.root, "a", "3\n");
        git(&tree.root, ["commit", "-qam", "three"]);
        trees.settle(&tree, &go_on()).await.unwrap();
        assert_eq!(git(&place, ["log", "-1", "--format=%s", &tree.branch]), "three\n");
        trees.merge(&tree, &std::collections::BTreeSet::new(), &go_on()).await.unwrap();
        assert_eq!(
            (text(&place, "a"), git(&place, ["branch", "--list", "belvedere/*"])),
            ("3\n".into(), String::new())
        );
    }
}

/// A worktree as earlier versions made it: linked to the repository of the project.
fn linked(repo: &Repo, name: &str) -> std::path::PathBuf {
    let folder = repo.state().join("old");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(repo.state().join("old.lock"), "").unwrap();
    let (root, branch) = (folder.join(name), format!("belvedere/old/{name}"));
    repo.git(["worktree", "add", "-q", "-b", &branch, root.to_str().unwrap()]);
    let git_dir = repo.root().join(".git/worktrees").join(name);
    let record = json!({"repository": repo.root(), "inside": "", "branch": branch,
        "base": repo.git(["rev-parse", "HEAD"]).trim(), "git_dir": git_dir});
    put(&folder, &format!("{name}.json"), record.to_string());
    root
}

#[tokio::test]
async fn what_an_earlier_version_left_is_found_merged_and_discarded() {
    let repo = Repo::new(&[("a", "1\n"), ("b", "1\n"), (".gitignore", "*.log\n")]);
    let roots = ["clean", "merged", "thrown"].map(|name| linked(&repo, name));
    put(&roots[1], "a", "2\n");
    git(&roots[1], ["commit", "-qam", "two"]);
    put(&roots[1], "b", "2\n");
    put(&roots[1], "x.log", "ignored\n");
    put(&roots[2], "a", "3\n");
    let orphans = repo.trees.orphans(&go_on()).await;
    assert!(orphans.errors.is_empty(), "{:?}", orphans.errors);
    let [merged, thrown] = orphans.found.as_slice() else { panic!("{orphans:?}") };
    assert_eq!((paths(&merged.changes), merged.changes.commits), (vec!["a".to_owned(), "b".to_owned()], 1));
    assert_eq!(paths(&thrown.changes), ["a"]);
    assert!(!roots[0].exists());
    assert_eq!(repo.merge(&merged.worktree).await, ["a", "b"]);
    repo.trees.discard(&thrown.worktree).await.unwrap();
    repo.is_gone(&thrown.worktree);
    assert_eq!(entries(&repo.root().join(".git/worktrees")), Vec::<String>::new());
}
