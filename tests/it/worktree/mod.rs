//! Worktrees on real repositories: how they begin, what is seen of them, and how they end.

mod acted;
mod carried;
mod chance;
mod hostile;
mod hostile_clone;
mod links;
mod making;
mod merging;
mod orphans;
mod own_repository;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use belvedere::worktree::{Conflict, Merged, Worktree, WorktreeChanges, WorktreeEnd, WorktreeError, Worktrees};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Returns the files of a worktree that are marked, as the user has seen them.
async fn known(trees: &Worktrees, tree: &Worktree) -> BTreeSet<PathBuf> {
    let changes = trees.changes(tree, &go_on()).await;
    let files = changes.map(|changes| changes.files).unwrap_or_default();
    files.into_iter().filter(|file| file.mark.is_some()).map(|file| file.path).collect()
}

/// A repository with one commit, and a state directory beside it.
struct Repo {
    top: TempDir,
    trees: Worktrees,
}

impl Repo {
    fn new(files: &[(&str, &str)]) -> Self {
        let repo = Self::empty();
        for (path, text) in files {
            repo.put(path, text);
        }
        repo.commit("first");
        repo
    }

    /// A repository without a commit.
    fn empty() -> Self {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("project")).unwrap();
        let trees = Worktrees::new(top.path().join("state/worktrees"), "2026-01-01T10-00-00Z-abc123");
        let repo = Self { top, trees };
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    fn top(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap()
    }

    fn root(&self) -> PathBuf {
        self.top().join("project")
    }

    fn state(&self) -> PathBuf {
        self.top().join("state/worktrees")
    }

    fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        git(&self.root(), args)
    }

    fn commit(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        put(&self.root(), path, text);
    }

    fn text(&self, path: &str) -> String {
        text(&self.root(), path)
    }

    async fn create(&self, name: &str) -> Worktree {
        self.trees.create(&self.root(), name, &go_on()).await.unwrap()
    }

    async fn refused(&self, cwd: &Path) -> WorktreeError {
        self.trees.create(cwd, "a", &go_on()).await.unwrap_err()
    }

    async fn changes(&self, tree: &Worktree) -> WorktreeChanges {
        self.trees.changes(tree, &go_on()).await.unwrap()
    }

    async fn settle(&self, tree: &Worktree) -> WorktreeEnd {
        self.trees.settle(tree, &go_on()).await.unwrap()
    }

    /// Merges and returns the paths that changed in the project.
    async fn merge(&self, tree: &Worktree) -> Vec<String> {
        match self.trees.merge(tree, &known(&self.trees, tree).await, &go_on()).await.unwrap() {
            Merged::Done { files, leftover } => {
                assert!(leftover.is_none(), "{leftover:?}");
                files.iter().map(|file| file.path.display().to_string()).collect()
            }
            Merged::Conflicts(conflicts) => panic!("{conflicts:?}"),
        }
    }

    async fn conflicts(&self, tree: &Worktree) -> Vec<Conflict> {
        let before = self.everything();
        let Merged::Conflicts(conflicts) =
            self.trees.merge(tree, &known(&self.trees, tree).await, &go_on()).await.unwrap()
        else {
            panic!("it merged");
        };
        assert_eq!(before, self.everything());
        conflicts
    }

    /// Checks that a merge is refused and leaves everything as it was.
    async fn unmerged(&self, tree: &Worktree) -> WorktreeError {
        let before = self.everything();
        let error = self.trees.merge(tree, &known(&self.trees, tree).await, &go_on()).await.unwrap_err();
        assert_eq!(before, self.everything());
        assert!(tree.root.is_dir());
        error
    }

    /// What the user has: files with their rights, index, HEAD, branches of their own, stash.
    fn everything(&self) -> (Vec<(PathBuf, u32, Vec<u8>)>, String) {
        let refs = self.git(["for-each-ref", "--exclude=refs/heads/belvedere"]);
        let facts = [self.git(["ls-files", "--stage"]), self.git(["symbolic-ref", "HEAD"]), refs].concat();
        (files(&self.root()), facts)
    }

    /// Checks that nothing is left of a worktree.
    fn is_gone(&self, tree: &Worktree) {
        assert!(!tree.root.exists());
        assert_eq!(self.git(["branch", "--list", "belvedere/*"]), "");
        assert_eq!(self.git(["worktree", "list"]).lines().count(), 1);
        assert_eq!(entries(tree.root.parent().unwrap()), Vec::<String>::new());
    }
}

fn go_on() -> CancellationToken {
    CancellationToken::new()
}

fn run<A: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = A>) -> Output {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
    Command::new("git")
        .args(identity)
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        .output()
        .unwrap()
}

fn git<A: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = A>) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn put(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn text(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| format!("{path}: {error}"))
}

/// Makes a file executable. A script is written anew by another process: while ours has it open, a process that another
/// test starts meanwhile holds it open too, and the system runs no such file.
fn allow_execution(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    if std::fs::read(path).unwrap().starts_with(b"#!") {
        let anew = "cp -p \"$0\" \"$0.new\" && mv \"$0.new\" \"$0\"";
        assert!(std::process::Command::new("sh").args(["-c", anew]).arg(path).status().unwrap().success());
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All files below a folder but git's own, with their rights and contents.
fn files(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let facts = path.symlink_metadata().unwrap();
            let content = match &facts {
                _ if path.ends_with(".git") => continue,
                facts if facts.is_dir() => {
                    folders.push(path);
                    continue;
                }
                facts if facts.is_symlink() => std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                _ => std::fs::read(&path).unwrap(),
            };
            found.push((path.strip_prefix(root).unwrap().to_path_buf(), facts.permissions().mode(), content));
        }
    }
    found.sort();
    found
}

fn paths(changes: &WorktreeChanges) -> Vec<String> {
    changes.files.iter().map(|file| file.path.display().to_string()).collect()
}
