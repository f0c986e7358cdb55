//! Links in the way of our own git, in the user's repository: it writes through none of them.

use std::os::unix::fs::symlink;

use belvedere::worktree::{WorktreeEnd, WorktreeError};

use super::{Repo, entries, git, go_on, put, text};

#[tokio::test]
async fn a_link_where_git_would_write_is_named_and_not_followed() {
    for place in [
        "objects",
        "objects/pack",
        "objects/info",
        "objects/0f",
        "refs",
        "refs/heads",
        "refs/heads/belvedere",
        "refs/heads/belvedere/2026-01-01t10-00-00z-abc123",
        "refs/heads/belvedere/2026-01-01t10-00-00z-abc123/a",
        "packed-refs",
        "worktrees",
        "worktrees/x",
    ] {
        let repo = Repo::new(&[("a", "1\n")]);
        let (outside, link) = (repo.top().join("outside"), repo.root().join(".git").join(place));
        repo.git(["pack-refs"]);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        if link.exists() {
            std::fs::rename(&link, &outside).unwrap();
        } else if !place.ends_with("/a") {
            std::fs::create_dir(&outside).unwrap();
        }
        let before = super::files(&repo.top());
        symlink(&outside, &link).unwrap();
        repo.put("a", "changed\n");
        let error = repo.refused(&repo.root()).await;
        assert!(matches!(error, WorktreeError::Refused(_)), "{place}: {error}");
        assert!(error.to_string().contains(&format!(".git/{place} is a link")), "{place}: {error}");
        std::fs::remove_file(&link).unwrap();
        repo.put("a", "1\n");
        let after: Vec<_> = super::files(&repo.top()).into_iter().filter(|file| !file.0.starts_with("state")).collect();
        assert_eq!(after, before, "{place}");
    }
}

#[tokio::test]
async fn links_of_logs_and_messages_are_not_written_through() {
    let repo = Repo::new(&[("a", "1\n")]);
    put(&repo.top(), "victim", "as it was\n");
    let folder = repo.top().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let logs = repo.root().join(".git/logs");
    std::fs::remove_file(logs.join("HEAD")).unwrap();
    symlink(repo.top().join("victim"), logs.join("HEAD")).unwrap();
    symlink(&folder, logs.join("refs/heads/belvedere")).unwrap();
    for name in ["COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "index.lock.x"] {
        let _ = std::fs::remove_file(repo.root().join(".git").join(name));
        symlink(repo.top().join("victim"), repo.root().join(".git").join(name)).unwrap();
    }
    let tree = repo.create("a").await;
    put(&tree.root, "a", "2\n");
    git(&tree.root, ["commit", "-qam", "work"]);
    assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
    assert_eq!(repo.git(["log", "-1", "--format=%s", &tree.branch]), "work\n");
    repo.merge(&tree).await;
    assert_eq!((text(&repo.top(), "victim"), entries(&folder)), ("as it was\n".to_owned(), Vec::<String>::new()));
}

#[tokio::test]
async fn a_link_that_comes_while_an_agent_works_keeps_its_commits_where_they_are() {
    for place in ["objects/pack", "refs/heads/belvedere"] {
        let repo = Repo::new(&[("a", "1\n")]);
        let tree = repo.create("a").await;
        put(&tree.root, "a", "2\n");
        git(&tree.root, ["commit", "-qam", "work"]);
        let (outside, link) = (repo.top().join("outside"), repo.root().join(".git").join(place));
        std::fs::rename(&link, &outside).unwrap();
        symlink(&outside, &link).unwrap();
        let before = super::files(&outside);
        let error = repo.trees.settle(&tree, &go_on()).await.unwrap_err();
        assert!(error.to_string().contains("is a link"), "{place}: {error}");
        assert_eq!(super::files(&outside), before, "{place}");
        std::fs::remove_file(&link).unwrap();
        std::fs::rename(&outside, &link).unwrap();
        assert!(matches!(repo.settle(&tree).await, WorktreeEnd::Kept(_)));
        repo.merge(&tree).await;
        assert_eq!(repo.text("a"), "2\n");
        repo.is_gone(&tree);
    }
}
