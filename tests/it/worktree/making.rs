//! How a worktree begins, what is seen of it, and how it ends without a merge.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use belvedere::message::LineKind::{Added as Plus, Context, Removed as Minus};
use belvedere::worktree::WorktreeChangeKind::{self, Added, Deleted, Modified, Renamed, Retyped};
use belvedere::worktree::{WorktreeEnd, WorktreeError, Worktrees};

use super::{Repo, allow_execution, entries, files, git, go_on, paths, put, run, text};

#[tokio::test]
async fn nothing_is_made_before_the_first_worktree() {
    let repo = Repo::new(&[("a", "1\n")]);
    let _ = Worktrees::new(repo.state(), "s");
    assert!(!repo.state().exists());
    assert!(repo.trees.orphans(&go_on()).await.found.is_empty());
    assert!(!repo.state().exists());
}

#[tokio::test]
async fn a_clean_tree_is_the_last_commit_in_a_private_folder() {
    let repo = Repo::new(&[("a", "1\n"), ("sub/b", "2\n")]);
    let before = repo.everything();
    let tree = repo.create("Explore: the \"API\" ../..").await;
    assert_eq!(tree.base, repo.git(["rev-parse", "HEAD"]).trim());
    assert_eq!(tree.branch, "belvedere/2026-01-01t10-00-00z-abc123/explore--the--api");
    assert_eq!(tree.root, repo.state().join("2026-01-01t10-00-00z-abc123/explore--the--api"));
    assert_eq!((tree.cwd.clone(), tree.repository.clone()), (tree.root.clone(), repo.root()));
    assert_eq!(git(&tree.root, ["branch", "--show-current"]).trim(), tree.branch);
    assert_eq!(files(&tree.root), files(&repo.root()));
    assert_eq!(before, repo.everything());
    for folder in [repo.state(), tree.root.parent().unwrap().to_path_buf()] {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert!(repo.changes(&tree).await.is_empty());
    assert_eq!(repo.settle(&tree).await, WorktreeEnd::Removed);
    repo.is_gone(&tree);
    assert_eq!(before, repo.everything());
}

#[tokio::test]
async fn a_worktree_begins_with_what_the_user_sees() {
    let repo =
        Repo::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n"), ("d/e", "1\n"), ("x", "1\n"), (".gitignore", "*.log\n")]);
    repo.put("a", "2\n");
    repo.git(["add", "a"]);
    repo.put("a", "3\n");
    std::fs::remove_file(repo.root().join("b")).unwrap();
    allow_execution(&repo.root().join("c"));
    // A folder becomes a link, and a file a folder.
    std::fs::remove_dir_all(repo.root().join("d")).unwrap();
    std::fs::create_dir(repo.root().join("other")).unwrap();
    repo.put("other/e", "through a link\n");
    symlink("other", repo.root().join("d")).unwrap();
    std::fs::remove_file(repo.root().join("x")).unwrap();
    repo.put("x/y", "deep\n");
    repo.put("new\nline \"ä\"", "odd\n");
    repo.put("old.log", "ignored\n");
    repo.git(["add", "-N", "other/e"]);
    let before = repo.everything();
    let tree = repo.create("a").await;
    assert_eq!(before, repo.everything());
    let wanted: Vec<_> = files(&repo.root()).into_iter().filter(|(path, ..)| !path.ends_with("old.log")).collect();
    assert_eq!(files(&tree.root), wanted);
    assert_ne!(tree.base, repo.git(["rev-parse", "HEAD"]).trim());
    assert_eq!(git(&tree.root, ["status", "--porcelain"]), "");
    assert!(repo.changes(&tree).await.is_empty());
    assert_eq!(repo.settle(&tree).await, WorktreeEnd::Removed);
    assert_eq!(before, repo.everything());
}

#[tokio::test]
async fn a_change_in_the_moment_after_staging_is_seen() {
    // Same size and, most of the time, same timestamp as the index: git has to look at the content.
    for _ in 0..20 {
        let repo = Repo::new(&[("a", "1\n")]);
        repo.put("a", "2\n");
        repo.git(["add", "a"]);
        repo.put("a", "3\n");
        let tree = repo.create("a").await;
        assert_eq!(text(&tree.root, "a"), "3\n");
    }
}

#[tokio::test]
async fn the_folder_within_the_repository_is_kept() {
    let repo = Repo::new(&[("sub/deep/a", "1\n")]);
    std::fs::create_dir(repo.root().join("sub/empty")).unwrap();
    for folder in ["sub/deep", "sub/empty"] {
        let tree = repo.trees.create(&repo.root().join(folder), "a", &go_on()).await.unwrap();
        assert_eq!(tree.cwd, tree.root.join(folder));
        assert!(tree.cwd.is_dir());
    }
}

#[tokio::test]
async fn children_of_one_name_get_a_place_each() {
    let repo = Repo::new(&[("a", "1\n")]);
    let root = repo.root();
    let token = go_on();
    let (one, two, three) = tokio::join!(
        repo.trees.create(&root, "code", &token),
        repo.trees.create(&root, "Code", &token),
        repo.trees.create(&root, "", &token),
    );
    let names = [one, two, three].map(|tree| tree.unwrap().name);
    assert_eq!(names, ["code", "code-2", "agent"]);
}

#[tokio::test]
async fn a_branch_that_is_there_is_left_alone() {
    let repo = Repo::new(&[("a", "1\n")]);
    repo.git(["branch", "belvedere/2026-01-01t10-00-00z-abc123/code"]);
    assert_eq!(repo.create("code").await.name, "code-2");
}

#[tokio::test]
async fn places_without_files_of_a_repository_are_refused() {
    let repo = Repo::empty();
    assert!(matches!(repo.refused(&repo.root()).await, WorktreeError::NoCommit { .. }));
    assert!(matches!(repo.refused(&repo.top()).await, WorktreeError::NoRepository { .. }));
    assert!(matches!(repo.refused(&repo.root().join(".git")).await, WorktreeError::NoFiles { .. }));
    repo.git(["init", "-q", "--bare", "../bare.git"]);
    let error = repo.refused(&repo.top().join("bare.git")).await;
    assert!(matches!(error, WorktreeError::NoFiles { .. }), "{error}");
    assert!(matches!(repo.refused(&repo.top().join("nowhere")).await, WorktreeError::Disk { .. }));
    assert!(!repo.state().exists());
}

#[tokio::test]
async fn a_missing_or_old_git_is_named() {
    let repo = Repo::new(&[("a", "1\n")]);
    let old = repo.top().join("git");
    for (program, wanted) in [(repo.top().join("nothing"), "install git"), (old.clone(), "update git")] {
        put(&repo.top(), "git", "#!/bin/sh\necho git version 2.37.9\n");
        allow_execution(&old);
        let trees = Worktrees::new(repo.state(), "s").with_program(program);
        let error = trees.create(&repo.root(), "a", &go_on()).await.unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[tokio::test]
async fn worktrees_do_not_lie_in_the_project() {
    let repo = Repo::new(&[("a", "1\n")]);
    let trees = Worktrees::new(repo.root().join(".state"), "s");
    let error = trees.create(&repo.root(), "a", &go_on()).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Inside { .. }), "{error}");
}

#[tokio::test]
async fn a_stop_leaves_nothing_behind() {
    let repo = Repo::new(&[("a", "1\n")]);
    let stopped = go_on();
    stopped.cancel();
    let error = repo.trees.create(&repo.root(), "a", &stopped).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Cancelled), "{error}");
    // In the middle of the checkout.
    let slow = repo.top().join("slow");
    put(
        &repo.top(),
        "slow",
        "#!/bin/sh\ngit \"$@\" || exit\ncase $1 in read-tree) touch \"$0.here\"; sleep 60;; esac\n",
    );
    allow_execution(&slow);
    let trees = Worktrees::new(repo.state(), "s").with_program(slow.clone());
    let (token, root) = (go_on(), repo.root());
    let stop = async {
        while !slow.with_extension("here").exists() {
            tokio::task::yield_now().await;
        }
        token.cancel();
    };
    let (made, ()) = tokio::join!(trees.create(&root, "a", &token), stop);
    assert!(matches!(made, Err(WorktreeError::Cancelled)));
    assert_eq!(entries(&repo.state().join("s")), Vec::<String>::new());
    assert_eq!(repo.git(["branch", "--list", "belvedere/*"]), "");
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn everything_a_child_did_is_listed() {
    let repo = Repo::new(&[
        ("a", "1\n2\n3\n"),
        ("gone", "1\n"),
        ("old", "one\ntwo\nthree\nfour\n"),
        ("same", "s\n"),
        ("type", "t\n"),
        (".gitignore", "*.log\n"),
    ]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "1\nzwei\n3\n4");
    std::fs::remove_file(tree.root.join("gone")).unwrap();
    std::fs::rename(tree.root.join("old"), tree.root.join("renamed")).unwrap();
    git(&tree.root, ["add", "-A"]);
    git(&tree.root, ["commit", "-q", "-m", "work"]);
    put(&tree.root, "new/\u{1b}[31m\n", "x\n");
    put(&tree.root, "image", b"\0\x01\x02");
    put(&tree.root, "out.log", "ignored\n");
    allow_execution(&tree.root.join("same"));
    std::fs::remove_file(tree.root.join("type")).unwrap();
    symlink("a", tree.root.join("type")).unwrap();
    let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
    assert_eq!(changes.commits, 1);
    assert_eq!(paths(&changes), ["a", "gone", "image", "new/\u{1b}[31m\n", "renamed", "same", "type"]);
    let kinds: Vec<WorktreeChangeKind> = changes.files.iter().map(|file| file.kind.clone()).collect();
    assert_eq!(kinds, [Modified, Deleted, Added, Added, Renamed { from: "old".into() }, Modified, Retyped]);
    let lines = changes.files.iter().map(|file| (file.diff.added, file.diff.removed));
    assert_eq!(lines.reduce(|sum, file| (sum.0 + file.0, sum.1 + file.1)), Some((4, 3)));
    assert!(changes.files[2].is_binary);
    let diff = &changes.files[0].diff;
    assert_eq!((diff.path.clone(), diff.added, diff.removed, diff.omitted), (tree.root.join("a"), 2, 1, 0));
    let lines: Vec<_> = diff.hunks[0].lines.iter().map(|line| (line.kind, line.number, line.text.as_str())).collect();
    assert_eq!(lines, [(Context, 1, "1"), (Minus, 2, "2"), (Plus, 2, "zwei"), (Context, 3, "3"), (Plus, 4, "4")]);
    assert_eq!(changes.files[3].diff.hunks[0].lines[0].text, "x");
    assert_eq!(changes.files[6].diff.hunks.len(), 2);
    assert_eq!(changes.files[6].diff.omitted, 0);
    repo.trees.discard(&tree).await.unwrap();
    repo.is_gone(&tree);
}

#[tokio::test]
async fn line_ends_that_a_child_changed_show() {
    let repo = Repo::new(&[("open", "1"), ("unix", "1\n2\n"), ("windows", "1\r\n2\r\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "open", "1\n");
    put(&tree.root, "unix", "1\n2\r\n");
    put(&tree.root, "windows", "1\r\n3\r\n");
    let changes = repo.changes(&tree).await;
    let shown = |file: usize| -> Vec<String> {
        let lines = &changes.files[file].diff.hunks[0].lines;
        lines.iter().map(|line| format!("{}{}", line.kind.sign(), line.revealed())).collect()
    };
    assert_eq!(shown(0), ["-1", "+1 ⏎ "]);
    assert_eq!(shown(1), [" 1", "-2 ⏎ ", "+2␍ ⏎ "]);
    assert_eq!(shown(2), [" 1", "-2", "+3"]);
    repo.trees.discard(&tree).await.unwrap();
    repo.is_gone(&tree);
}

#[tokio::test]
async fn a_long_difference_is_cut_and_says_so() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "long", "0123456789\n".repeat(200_000));
    put(&tree.root, "z", "1\n");
    let changes = repo.changes(&tree).await;
    let [long, z] = changes.files.as_slice() else { panic!("{:?}", paths(&changes)) };
    let shown = long.diff.hunks[0].lines.len();
    assert_eq!((long.diff.added, long.diff.omitted), (200_000, 200_000 - shown));
    assert!(shown > 10_000 && shown < 100_000);
    assert_eq!((z.diff.added, z.diff.omitted, z.diff.hunks.len()), (1, 1, 0));
}

#[tokio::test]
async fn commits_count_as_changes_even_if_they_cancel_out() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    git(&tree.root, ["commit", "-q", "--allow-empty", "-m", "a thought"]);
    let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
    assert_eq!((changes.commits, changes.files.len()), (1, 0));
}

#[tokio::test]
async fn ignored_files_do_not_keep_a_worktree() {
    let repo = Repo::new(&[(".gitignore", "target\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "target/out", "1\n");
    assert_eq!(repo.settle(&tree).await, WorktreeEnd::Removed);
    repo.is_gone(&tree);
}

#[tokio::test]
async fn a_sparse_checkout_stays_sparse() {
    let repo = Repo::new(&[("in/a", "1\n"), ("out/b", "1\n")]);
    repo.git(["sparse-checkout", "set", "in"]);
    repo.put("in/a", "2\n");
    let tree = repo.create("a").await;
    assert_eq!(text(&tree.root, "in/a"), "2\n");
    assert!(repo.changes(&tree).await.is_empty());
    put(&tree.root, "in/a", "3\n");
    put(&tree.root, "in/c", "new\n");
    put(&tree.root, "out/d", "outside\n");
    repo.merge(&tree).await;
    assert_eq!(
        (repo.text("in/a"), repo.text("in/c"), repo.text("out/d")),
        ("3\n".into(), "new\n".into(), "outside\n".into())
    );
    assert!(!repo.root().join("out/b").exists());
    assert_eq!(repo.git(["status", "--porcelain"]), " M in/a\n?? in/c\n?? out/d\n");
}

#[tokio::test]
async fn submodules_stay_empty_and_repositories_inside_are_not_lost() {
    let repo = Repo::new(&[("a", "1\n")]);
    let library = Repo::new(&[("l", "1\n")]);
    repo.git(["submodule", "--quiet", "add", library.root().to_str().unwrap(), "lib"]);
    repo.commit("with a submodule");
    repo.put("lib/l", "changed by the user\n");
    repo.put("own/x", "in a repository of its own\n");
    git(&repo.root().join("own"), ["init", "-q"]);
    let tree = repo.create("a").await;
    assert_eq!(entries(&tree.root.join("lib")), Vec::<String>::new());
    assert!(!tree.root.join("own").exists());
    put(&tree.root, "a", "2\n");
    assert_eq!(repo.merge(&tree).await, ["a"]);
    assert_eq!(repo.text("lib/l"), "changed by the user\n");
    // What a child does in one keeps the worktree.
    let tree = repo.create("a").await;
    git(&tree.root, ["submodule", "--quiet", "update", "--init"]);
    let WorktreeEnd::Kept(changes) = repo.settle(&tree).await else { panic!("it was removed") };
    assert_eq!(changes.nested, [std::path::PathBuf::from("lib")]);
    let error = repo.unmerged(&tree).await;
    assert!(error.to_string().contains("cannot be merged (lib)"), "{error}");
    let tree = repo.create("b").await;
    put(&tree.root, "mine/x", "1\n");
    git(&tree.root.join("mine"), ["init", "-q"]);
    assert!(matches!(repo.unmerged(&tree).await, WorktreeError::Nested { .. }));
    repo.trees.discard(&tree).await.unwrap();
    assert!(!run(&repo.root(), ["rev-parse", "-q", "--verify", &tree.branch]).status.success());
}

#[tokio::test]
async fn large_files_that_git_does_not_know_are_left_out() {
    let repo = Repo::new(&[("a", "1\n")]);
    std::fs::File::create(repo.root().join("huge")).unwrap().set_len((64 << 20) + 1).unwrap();
    let tree = repo.create("a").await;
    assert!(!tree.root.join("huge").exists());
    put(&tree.root, "huge", "small\n");
    let error = repo.unmerged(&tree).await;
    assert!(matches!(error, WorktreeError::InTheWay { .. }), "{error}");
}

#[tokio::test]
async fn a_worktree_of_a_worktree_is_one_of_the_same_repository() {
    let repo = Repo::new(&[("a", "1\n")]);
    repo.git(["worktree", "add", "-q", "../second"]);
    let second = repo.top().join("second");
    put(&second, "a", "second\n");
    let tree = repo.trees.create(&second, "a", &go_on()).await.unwrap();
    assert_eq!(text(&tree.root, "a"), "second\n");
    put(&tree.root, "a", "third\n");
    repo.merge(&tree).await;
    assert_eq!((text(&second, "a"), repo.text("a")), ("third\n".into(), "1\n".into()));
}
