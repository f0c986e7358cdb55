//! What a crashed run leaves is found at the next start, and nothing of a running one is.

use belvedere::worktree::{WorktreeEnd, Worktrees};

use super::{Repo, entries, git, go_on, put};

/// A program that starts later, in the same project.
fn next(repo: &Repo) -> Worktrees {
    Worktrees::new(repo.state(), "next")
}

/// The program is gone: the system frees its locks.
fn crash(repo: Repo) -> Repo {
    let Repo { top, trees } = repo;
    drop(trees);
    let trees = Worktrees::new(top.path().join("state/worktrees"), "next");
    Repo { top, trees }
}

#[tokio::test]
async fn changes_of_a_crashed_run_are_found_and_merged() {
    let repo = Repo::new(&[("a", "1\n"), ("sub/b", "1\n")]);
    let (sub, token) = (repo.root().join("sub"), go_on());
    let tree = repo.trees.create(&sub, "code", &token).await.unwrap();
    let (clean, branch, cwd) = (repo.create("clean").await, tree.branch.clone(), tree.cwd.clone());
    put(&tree.root, "a", "2\n");
    put(&tree.root, "new", "1\n");
    assert!(next(&repo).orphans(&token).await.found.is_empty(), "the run is alive");
    let (root, clean_root) = (tree.root.clone(), clean.root.clone());
    drop((tree, clean));
    assert!(next(&repo).orphans(&token).await.found.is_empty(), "the run is alive even without a worktree in hand");
    let repo = crash(repo);
    let orphans = repo.trees.orphans(&token).await;
    assert!(orphans.errors.is_empty(), "{:?}", orphans.errors);
    let [orphan] = orphans.found.as_slice() else { panic!("{orphans:?}") };
    assert_eq!((orphan.session.as_str(), orphan.worktree.name.as_str()), ("2026-01-01t10-00-00z-abc123", "code"));
    assert_eq!((&orphan.worktree.root, &orphan.worktree.branch, &orphan.worktree.cwd), (&root, &branch, &cwd));
    assert_eq!(super::paths(&orphan.changes), ["a", "new"]);
    assert!(!clean_root.exists());
    assert!(next(&repo).orphans(&token).await.found.is_empty(), "somebody has found it before");
    assert_eq!(repo.merge(&orphan.worktree).await, ["a", "new"]);
    repo.is_gone(&orphan.worktree);
    drop(orphans);
    assert!(next(&repo).orphans(&token).await.found.is_empty());
    assert_eq!(entries(&repo.state()), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_kept_at_an_orderly_end_is_found_too() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("code").await;
    put(&tree.root, "a", "2\n");
    assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
    drop(tree);
    let repo = crash(repo);
    let found = repo.trees.orphans(&go_on()).await.found;
    assert_eq!(found.len(), 1);
    repo.trees.discard(&found[0].worktree).await.unwrap();
    repo.is_gone(&found[0].worktree);
}

#[tokio::test]
async fn a_session_of_the_same_name_gets_a_folder_of_its_own() {
    let repo = Repo::new(&[("a", "1\n")]);
    let one = repo.create("code").await;
    let again = Worktrees::new(repo.state(), "2026-01-01T10-00-00Z-abc123");
    let two = again.create(&repo.root(), "code", &go_on()).await.unwrap();
    assert_eq!(two.branch, format!("{}-2/code", one.branch.strip_suffix("/code").unwrap()));
}

#[tokio::test]
async fn folders_that_are_gone_are_forgotten_and_commits_are_not() {
    let repo = Repo::new(&[("a", "1\n")]);
    let (empty, worked) = (repo.create("empty").await, repo.create("worked").await);
    git(&worked.root, ["commit", "-q", "--allow-empty", "-m", "work"]);
    let branch = worked.branch.clone();
    for tree in [empty, worked] {
        std::fs::remove_dir_all(&tree.root).unwrap();
    }
    let repo = crash(repo);
    let orphans = repo.trees.orphans(&go_on()).await;
    assert!(orphans.found.is_empty() && orphans.errors.is_empty(), "{orphans:?}");
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
    assert_eq!(repo.git(["branch", "--list", "--format=%(refname:short)", "belvedere/*"]).trim(), branch);
}

#[tokio::test]
async fn what_cannot_be_judged_is_named_and_kept() {
    let repo = Repo::new(&[("a", "1\n")]);
    let (tree, broken) = (repo.create("tree").await, repo.create("broken").await);
    put(&tree.root, "a", "2\n");
    let (folder, root) = (tree.root.parent().unwrap().to_path_buf(), broken.root.clone());
    put(&folder, "broken.json", "{");
    drop((tree, broken));
    let repo = crash(repo);
    std::fs::rename(repo.root(), repo.top().join("moved")).unwrap();
    let orphans = repo.trees.orphans(&go_on()).await;
    assert!(orphans.found.is_empty());
    let places: Vec<_> = orphans.errors.iter().map(|(place, _)| place.clone()).collect();
    assert_eq!(places, [root.clone(), folder.join("tree")]);
    assert!(places.iter().all(|place| place.is_dir()));
    std::fs::rename(repo.top().join("moved"), repo.root()).unwrap();
    assert_eq!(repo.trees.orphans(&go_on()).await.found.len(), 1);
}

#[tokio::test]
async fn one_that_was_never_finished_is_cleaned_up() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("code").await;
    let record = tree.root.with_extension("json");
    let text = std::fs::read_to_string(&record).unwrap();
    let at = text.find("\"git_dir\"").unwrap();
    std::fs::write(&record, format!("{}\"git_dir\":null}}", &text[..at])).unwrap();
    drop(tree);
    let repo = crash(repo);
    let orphans = repo.trees.orphans(&go_on()).await;
    assert!(orphans.found.is_empty() && orphans.errors.is_empty(), "{orphans:?}");
    assert_eq!(entries(&repo.state()), Vec::<String>::new());
    assert_eq!(repo.git(["branch", "--list", "belvedere/*"]), "");
}

#[tokio::test]
async fn a_stop_while_looking_removes_nothing() {
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("code").await;
    git(&tree.root, ["commit", "-q", "--allow-empty", "-m", "work"]);
    let branch = tree.branch.clone();
    std::fs::remove_dir_all(&tree.root).unwrap();
    drop(tree);
    let repo = crash(repo);
    let stopped = go_on();
    stopped.cancel();
    assert_eq!(repo.trees.orphans(&stopped).await.errors.len(), 1);
    assert_eq!(repo.git(["branch", "--list", "--format=%(refname:short)", "belvedere/*"]).trim(), branch);
}
