//! What a merge does to the files of the project: right, or nothing.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use belvedere::worktree::{Merged, WorktreeError, Worktrees};

use super::{Repo, allow_execution, entries, files, git, go_on, known, put, text};

fn numbered(lines: usize) -> String {
    (1..=lines).map(|number| format!("{number}\n")).collect()
}

#[tokio::test]
async fn two_children_that_rewrite_a_file_in_different_places_both_merge() {
    let repo = Repo::new(&[("a", &numbered(20))]);
    let (one, two) = (repo.create("one").await, repo.create("two").await);
    put(&one.root, "a", numbered(20).replace("\n2\n", "\ntwo\n"));
    put(&two.root, "a", numbered(20).replace("19\n", "nineteen\n"));
    git(&two.root, ["commit", "-q", "-a", "-m", "work"]);
    assert_eq!(repo.merge(&one).await, ["a"]);
    assert_eq!(repo.merge(&two).await, ["a"]);
    assert_eq!(repo.text("a"), numbered(20).replace("\n2\n", "\ntwo\n").replace("19\n", "nineteen\n"));
    repo.is_gone(&two);
}

#[tokio::test]
async fn of_two_children_that_rewrite_a_place_the_second_is_refused() {
    let repo = Repo::new(&[("a", &numbered(5)), ("b", "1\n")]);
    let (one, two) = (repo.create("one").await, repo.create("two").await);
    put(&one.root, "a", numbered(5).replace('3', "three"));
    put(&two.root, "a", numbered(5).replace('3', "drei"));
    put(&two.root, "b", "2\n");
    repo.merge(&one).await;
    let conflicts = repo.conflicts(&two).await;
    assert_eq!((conflicts.len(), conflicts[0].path.to_str()), (1, Some("a")));
    assert_eq!(conflicts[0].why, "both sides changed the same lines");
    assert_eq!(repo.text("b"), "1\n");
    // The user makes way, and it merges.
    repo.put("a", numbered(5));
    repo.merge(&two).await;
    assert_eq!((repo.text("a"), repo.text("b")), (numbered(5).replace('3', "drei"), "2\n".into()));
}

#[tokio::test]
async fn children_that_do_the_same_agree() {
    let repo = Repo::new(&[("a", "1\n")]);
    let (one, two) = (repo.create("one").await, repo.create("two").await);
    for tree in [&one, &two] {
        put(&tree.root, "a", "2\n");
        put(&tree.root, "new", "n\n");
    }
    assert_eq!(repo.merge(&one).await, ["a", "new"]);
    assert_eq!(repo.merge(&two).await, Vec::<String>::new());
    repo.is_gone(&two);
}

#[tokio::test]
async fn a_merge_is_neither_staged_nor_committed() {
    let repo = Repo::new(&[("a", &numbered(9)), ("b", "1\n"), ("gone", "1\n")]);
    repo.put("b", "staged\n");
    repo.git(["add", "b"]);
    repo.put("b", "staged\nand more\n");
    repo.put("mine", "not known to git\n");
    let tree = repo.create("a").await;
    repo.put("a", numbered(9).replace('1', "one"));
    put(&tree.root, "a", numbered(9).replace('9', "nine"));
    put(&tree.root, "new/deep/file", "n\n");
    std::fs::remove_file(tree.root.join("gone")).unwrap();
    let (index, head) = (repo.git(["ls-files", "--stage"]), repo.git(["rev-parse", "HEAD"]));
    assert_eq!(repo.merge(&tree).await, ["a", "gone", "new/deep/file"]);
    assert_eq!((index, head), (repo.git(["ls-files", "--stage"]), repo.git(["rev-parse", "HEAD"])));
    assert_eq!(repo.text("a"), numbered(9).replace('1', "one").replace('9', "nine"));
    let status = " M a\nMM b\n D gone\n?? mine\n?? new/\n";
    assert_eq!(repo.git(["status", "--porcelain"]), status);
    assert_eq!(repo.git(["stash", "list"]), "");
    repo.is_gone(&tree);
}

#[tokio::test]
async fn every_kind_of_change_arrives() {
    let repo = Repo::new(&[
        ("tool", "#!/bin/sh\n"),
        ("plain", "1\n"),
        ("link", "was a file\n"),
        ("name", &numbered(30)),
        ("folder/a", "1\n"),
        ("folder/b", "2\n"),
        ("file", "1\n"),
    ]);
    repo.put("binary", [0_u8, 1, 2, 255].repeat(99));
    repo.put("windows", "one\r\ntwo\r\n");
    repo.commit("second");
    let tree = repo.create("a").await;
    let root = &tree.root;
    allow_execution(&root.join("tool"));
    std::fs::remove_file(root.join("link")).unwrap();
    symlink("../nowhere", root.join("link")).unwrap();
    std::fs::create_dir(root.join("moved")).unwrap();
    std::fs::rename(root.join("name"), root.join("moved/name")).unwrap();
    // A folder becomes a file, and a file a folder.
    std::fs::remove_dir_all(root.join("folder")).unwrap();
    put(root, "folder", "now a file\n");
    std::fs::remove_file(root.join("file")).unwrap();
    put(root, "file/inside", "now in a folder\n");
    put(root, "binary", [255_u8, 0, 7].repeat(50));
    put(root, "windows", "one\r\nzwei\r\n");
    put(root, "no end", "no line end");
    put(root, "empty", "");
    put(root, "-n \"ä\"\n\t", "odd\n");
    // The user goes on in a file that the child renamed.
    repo.put("name", numbered(30).replace("30\n", "thirty\n"));
    let wanted: Vec<_> = files(root)
        .into_iter()
        .map(|(path, mode, text)| {
            let is_renamed = path.ends_with("name");
            (path, mode, if is_renamed { numbered(30).replace("30\n", "thirty\n").into_bytes() } else { text })
        })
        .collect();
    repo.merge(&tree).await;
    assert_eq!(files(&repo.root()), wanted);
    repo.is_gone(&tree);
}

#[tokio::test]
async fn both_sides_line_ends_are_kept() {
    let repo = Repo::new(&[(".gitattributes", "*.txt text\n"), ("a.txt", "1\n2\n3\n4\n5\n")]);
    repo.git(["config", "core.autocrlf", "true"]);
    repo.put("a.txt", "1\r\n2\r\n3\r\n4\r\n5\r\n");
    let tree = repo.create("a").await;
    assert_eq!(text(&tree.root, "a.txt"), "1\r\n2\r\n3\r\n4\r\n5\r\n");
    assert!(repo.changes(&tree).await.is_empty());
    put(&tree.root, "a.txt", "one\r\n2\r\n3\r\n4\r\n5\r\n");
    repo.put("a.txt", "1\r\n2\r\n3\r\n4\r\nfive\r\n");
    repo.merge(&tree).await;
    assert_eq!(repo.text("a.txt"), "one\r\n2\r\n3\r\n4\r\nfive\r\n");
}

#[tokio::test]
async fn kinds_of_conflicts_are_named() {
    let repo = Repo::new(&[("a", &numbered(9)), ("b", "1\n"), ("c", "1\n"), ("bin", "\0\n")]);
    let tree = repo.create("a").await;
    std::fs::remove_file(tree.root.join("a")).unwrap();
    repo.put("a", numbered(8));
    put(&tree.root, "both", "theirs\n");
    repo.put("both", "mine\n");
    put(&tree.root, "bin", "\0theirs");
    repo.put("bin", "\0mine");
    std::fs::remove_file(tree.root.join("c")).unwrap();
    put(&tree.root, "c/d", "something else\n");
    repo.put("c", "2\n");
    let conflicts = repo.conflicts(&tree).await;
    let of = |path: &str| {
        conflicts
            .iter()
            .find(|conflict| conflict.path.to_str().is_some_and(|named| named.starts_with(path)))
            .unwrap()
            .why
    };
    assert_eq!(of("a"), "one side changed it, the other deleted it");
    assert_eq!(of("both"), "both sides changed the same lines");
    assert_eq!(of("bin"), "both sides changed a binary file");
    assert!(of("c").contains("folder") || of("c").contains("deleted"));
    assert!(conflicts.iter().all(|conflict| conflict.path.to_str() != Some("b")));
}

#[tokio::test]
async fn ignored_files_of_the_user_are_not_overwritten() {
    let repo = Repo::new(&[(".gitignore", ".env\nbuild\n"), ("b", "1\n")]);
    repo.put(".env", "secret\n");
    repo.put("build/out", "mine\n");
    let tree = repo.create("a").await;
    put(&tree.root, "build/out", "of the child, and ignored like the user's\n");
    put(&tree.root, ".env", "of the child\n");
    git(&tree.root, ["add", "-f", ".env"]);
    let error = repo.unmerged(&tree).await;
    assert!(matches!(&error, WorktreeError::InTheWay { said } if said.contains(".env")), "{error}");
    // A file in the place of a folder that holds ignored ones.
    let tree = repo.create("b").await;
    put(&tree.root, "build", "a file\n");
    git(&tree.root, ["add", "-f", "build"]);
    let error = repo.unmerged(&tree).await;
    assert!(matches!(&error, WorktreeError::InTheWay { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_changes_during_the_merge_is_not_overwritten() {
    let repo = Repo::new(&[("a", "1\n"), ("b", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    put(&tree.root, "b", "2\n");
    // Somebody writes between the join and the writing.
    let racing = repo.top().join("racing");
    let script = format!(
        "#!/bin/sh\ncase $1 in read-tree) echo 9 > '{}';; esac\nexec git \"$@\"\n",
        repo.root().join("b").display()
    );
    put(&repo.top(), "racing", script);
    allow_execution(&racing);
    let trees = Worktrees::new(repo.state(), "other").with_program(racing);
    let error = trees.merge(&tree, &known(&trees, &tree).await, &go_on()).await.unwrap_err();
    assert!(matches!(&error, WorktreeError::InTheWay { said } if said.contains("'b'")), "{error}");
    assert_eq!((repo.text("a"), repo.text("b")), ("1\n".into(), "9\n".into()));
    assert_eq!(repo.conflicts(&tree).await[0].path.to_str(), Some("b"));
}

#[tokio::test]
async fn a_disk_that_fails_in_the_middle_is_told_with_the_way_back() {
    let repo = Repo::new(&[("a", "1\n"), ("b", "1\n")]);
    repo.put("a", "mine\n");
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    let full = repo.top().join("full");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *dry-run*) ;; read-tree*) echo half > '{}'; echo 'fatal: No space left' >&2; exit 128;; esac\nexec git \"$@\"\n",
        repo.root().join("a").display()
    );
    put(&repo.top(), "full", script);
    allow_execution(&full);
    let trees = Worktrees::new(repo.state(), "other").with_program(full);
    let error = trees.merge(&tree, &known(&trees, &tree).await, &go_on()).await.unwrap_err();
    let WorktreeError::Half { before, said } = &error else { panic!("{error}") };
    assert_eq!(said, "fatal: No space left");
    assert!(tree.root.is_dir());
    repo.git(["restore", &format!("--source={before}"), "--worktree", "a"]);
    assert_eq!(repo.text("a"), "mine\n");
    repo.merge(&tree).await;
    assert_eq!(repo.text("a"), "2\n");
}

#[tokio::test]
async fn commits_on_a_branch_that_is_not_checked_out_are_not_lost() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["commit", "-q", "-a", "-m", "work"]);
    git(&tree.root, ["checkout", "-q", &tree.base]);
    assert_eq!(repo.changes(&tree).await.commits, 1);
    assert!(matches!(repo.unmerged(&tree).await, WorktreeError::OffBranch { .. }));
    git(&tree.root, ["checkout", "-q", &tree.branch]);
    repo.merge(&tree).await;
    assert_eq!(repo.text("a"), "2\n");
}

#[tokio::test]
async fn a_history_that_a_child_rewrote_merges_by_its_files() {
    let repo = Repo::new(&[("a", "0\n")]);
    repo.put("a", "1\n");
    repo.commit("second");
    let tree = repo.create("a").await;
    git(&tree.root, ["reset", "-q", "--soft", "HEAD~1"]);
    put(&tree.root, "b", "2\n");
    git(&tree.root, ["add", "-A"]);
    git(&tree.root, ["commit", "-q", "--amend", "-m", "all in one"]);
    assert_eq!(repo.merge(&tree).await, ["b"]);
    assert_eq!((repo.text("a"), repo.text("b")), ("1\n".into(), "2\n".into()));
}

#[tokio::test]
async fn the_project_may_move_on_to_another_commit() {
    let repo = Repo::new(&[("a", "1\n"), ("b", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    repo.git(["checkout", "-q", "-b", "feature"]);
    repo.put("b", "2\n");
    repo.commit("meanwhile");
    repo.merge(&tree).await;
    assert_eq!((repo.text("a"), repo.text("b")), ("2\n".into(), "2\n".into()));
    assert_eq!(repo.git(["status", "--porcelain"]), " M a\n");
}

#[tokio::test]
async fn a_merge_of_the_users_may_be_under_way() {
    let repo = Repo::new(&[("a", &numbered(9)), ("b", "1\n"), ("c", "1\n")]);
    repo.git(["checkout", "-q", "-b", "side"]);
    repo.put("b", "side\n");
    std::fs::remove_file(repo.root().join("c")).unwrap();
    repo.commit("side");
    repo.git(["checkout", "-q", "main"]);
    repo.put("b", "main\n");
    repo.put("c", "main\n");
    repo.commit("main");
    assert!(!super::run(&repo.root(), ["merge", "side"]).status.success());
    std::fs::remove_file(repo.root().join("c")).unwrap();
    let index = repo.git(["ls-files", "--stage"]);
    let tree = repo.create("a").await;
    assert_eq!(files(&tree.root), files(&repo.root()));
    put(&tree.root, "a", "2\n");
    repo.merge(&tree).await;
    assert_eq!((repo.text("a"), index), ("2\n".into(), repo.git(["ls-files", "--stage"])));
    assert!(repo.root().join(".git/MERGE_HEAD").exists());
}

#[tokio::test]
async fn no_right_and_no_file_is_lost_by_a_worktree_that_cannot_be_removed() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    let stuck = repo.top().join("stuck");
    put(
        &repo.top(),
        "stuck",
        "#!/bin/sh\ncase \"$1 $2\" in 'update-ref -d') echo stuck >&2; exit 1;; esac\nexec git \"$@\"\n",
    );
    allow_execution(&stuck);
    let trees = Worktrees::new(repo.state(), "other").with_program(stuck);
    let Merged::Done { leftover, .. } = trees.merge(&tree, &known(&trees, &tree).await, &go_on()).await.unwrap() else {
        panic!("a conflict")
    };
    assert!(leftover.unwrap().to_string().contains("stuck"));
    assert_eq!(repo.text("a"), "2\n");
    assert_eq!(repo.root().join("a").metadata().unwrap().permissions().mode() & 0o111, 0);
    repo.trees.discard(&tree).await.unwrap();
    assert_eq!(entries(tree.root.parent().unwrap()), Vec::<String>::new());
}
