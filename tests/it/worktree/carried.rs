//! Files that are sent to another machine, and what comes back, honest or not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use belvedere::message::FolderState;
use belvedere::worktree::{CarriedFolder, ReceivedFolder, Worktree};

use super::{Repo, allow_execution, git, go_on, known, put, text};

/// A repository, a worktree of it here, and its files there.
struct Both {
    repo: Arc<belvedere::worktree::Worktrees>,
    top: tempfile::TempDir,
    tree: Arc<Worktree>,
    folder: CarriedFolder,
    there: ReceivedFolder,
    state: FolderState,
}

async fn both(files: &[(&str, &str)]) -> Both {
    let repo = Repo::new(files);
    let tree = Arc::new(repo.create("a").await);
    let Repo { top, trees } = repo;
    let repo = Arc::new(trees);
    let folder = CarriedFolder::new(repo.clone(), tree.clone());
    let state = folder.pack(&go_on()).await.unwrap();
    let there = ReceivedFolder::unpack(("My Project", Path::new("")), &state, &go_on()).await.unwrap();
    Both { repo, top, tree, folder, there, state }
}

impl Both {
    async fn back(&mut self) -> FolderState {
        let changes = self.there.changes(&self.state.commit, &go_on()).await.unwrap().expect("something changed");
        self.folder.take(&changes, &go_on()).await.unwrap();
        self.state = changes.clone();
        changes
    }
}

#[tokio::test]
async fn files_go_there_without_their_history_and_come_back_as_they_are() {
    let mut both =
        both(&[("a.txt", "one\n"), ("gone.txt", "x\n"), ("dir/b.txt", "b\n"), (".gitignore", "out/\n")]).await;
    let there = both.there.root().to_path_buf();
    assert_eq!(there.file_name().unwrap(), "my-project");
    assert_eq!((text(&there, "a.txt"), text(&there, "dir/b.txt")), ("one\n".into(), "b\n".into()));
    assert_eq!(git(&there, ["rev-list", "--count", "HEAD"]).trim(), "1", "no history leaves this machine");
    assert_eq!(git(&there, ["status", "--short"]), "");
    assert!(both.there.changes(&both.state.commit, &go_on()).await.unwrap().is_none());

    put(&there, "a.txt", "two\n");
    put(&there, "new/run.sh", "#!/bin/sh\n");
    allow_execution(&there.join("new/run.sh"));
    put(&there, "out/ignored", "x");
    std::fs::remove_file(there.join("gone.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", there.join("link")).unwrap();
    both.back().await;
    let here = both.tree.root.clone();
    assert_eq!((text(&here, "a.txt"), text(&here, "new/run.sh")), ("two\n".into(), "#!/bin/sh\n".into()));
    assert_eq!(std::fs::read_link(here.join("link")).unwrap(), PathBuf::from("a.txt"));
    assert!(!here.join("gone.txt").exists() && !here.join("out").exists());

    // Commits there are files here, and what changes later is told from there on.
    put(&there, "a.txt", "three\n");
    git(&there, ["add", "-A"]);
    git(&there, ["commit", "-q", "-m", "mine"]);
    let before = both.back().await;
    assert_eq!(text(&here, "a.txt"), "three\n");
    assert!(both.there.changes(&before.commit, &go_on()).await.unwrap().is_none());
    let changes = both.repo.changes(&both.tree, &go_on()).await.unwrap();
    let names: Vec<String> = changes.files.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!((names, changes.commits), (["a.txt", "gone.txt", "link", "new/run.sh"].map(str::to_owned).to_vec(), 0));
    let root = both.top.path().join("project");
    both.repo.merge(&both.tree, &known(&both.repo, &both.tree).await, &go_on()).await.unwrap();
    assert_eq!(text(&root, "a.txt"), "three\n");
    both.there.remove().await;
    assert!(!there.exists());
}

#[tokio::test]
async fn many_files_and_nested_repositories_are_no_trouble() {
    let mut both = both(&[("a.txt", "one\n")]).await;
    let there = both.there.root().to_path_buf();
    for number in 0..300 {
        put(&there, &format!("many/{number}.txt"), number.to_string());
    }
    std::fs::create_dir(there.join("vendored")).unwrap();
    git(&there.join("vendored"), ["init", "-q"]);
    put(&there, "vendored/x.txt", "x\n");
    let changes = both.back().await;
    assert_eq!(changes.left_out, [PathBuf::from("vendored")]);
    assert_eq!(text(&both.tree.root, "many/299.txt"), "299");
    // A second agent begins with what is here now.
    let again = both.folder.pack(&go_on()).await.unwrap();
    let second = ReceivedFolder::unpack(("p", Path::new("many")), &again, &go_on()).await.unwrap();
    assert_eq!(text(second.root(), "many/0.txt"), "0");
    for outside in ["..", "/etc", "a/../../b"] {
        let refused = ReceivedFolder::unpack(("p", Path::new(outside)), &again, &go_on()).await;
        assert!(refused.unwrap_err().to_string().contains("leads out"), "{outside}");
    }
}

/// Writes an object as it is given, whatever it says, and returns its id.
fn object(root: &Path, kind: &str, content: &[u8]) -> String {
    let args = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
    let mut child =
        Command::new("git").args(args).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), content).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

fn bytes_of(id: &str) -> Vec<u8> {
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect()
}

/// Packs a commit of a tree with one entry of this name, as a dishonest machine would.
fn forged(there: &Path, mode: &str, name: &str, inner: &str) -> FolderState {
    let entry = |mode: &str, name: &str, id: &str| [format!("{mode} {name}\0").as_bytes(), &bytes_of(id)].concat();
    let blob = object(there, "blob", b"#!/bin/sh\ntouch owned\n");
    let id = if mode == "40000" { object(there, "tree", &entry("100755", inner, &blob)) } else { blob };
    let tree = object(there, "tree", &entry(mode, name, &id));
    let commit = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    let commit = object(there, "commit", commit.as_bytes());
    let mut child = Command::new("git")
        .args(["pack-objects", "--revs", "--stdout", "-q"])
        .current_dir(there)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{commit}\n").as_bytes()).unwrap();
    let pack = Arc::new(child.wait_with_output().unwrap().stdout);
    FolderState { commit, pack, left_out: Vec::new() }
}

#[tokio::test]
async fn names_that_git_or_a_file_system_would_obey_are_refused() {
    let both = both(&[("a.txt", "one\n")]).await;
    let there = both.there.root().to_path_buf();
    let honest = forged(&there, "40000", "dir", "file");
    both.folder.take(&honest, &go_on()).await.unwrap();
    assert!(both.tree.root.join("dir/file").exists());
    let before = std::fs::read_to_string(both.tree.root.join(".git")).unwrap();
    for (mode, name, inner) in [
        ("40000", ".git", "config"),
        ("40000", ".GIT", "config"),
        ("40000", "git~1", "config"),
        ("40000", ".g\u{200c}it", "config"),
        ("40000", "..", "escaped"),
        ("100644", "../escaped", ""),
        ("100644", "/tmp/escaped", ""),
    ] {
        let refused = both.folder.take(&forged(&there, mode, name, inner), &go_on()).await;
        assert!(refused.is_err(), "{name:?} was taken");
        assert_eq!(std::fs::read_to_string(both.tree.root.join(".git")).unwrap(), before);
        assert!(both.tree.root.join("dir/file").exists(), "{name:?}: the state before is still there");
    }
    assert!(!both.tree.root.parent().unwrap().join("escaped").exists());
}

#[tokio::test]
async fn what_is_no_state_is_refused() {
    let both = both(&[("a.txt", "one\n")]).await;
    let there = both.there.root().to_path_buf();
    let good = forged(&there, "100644", "b.txt", "");
    let cut = FolderState { pack: Arc::new(good.pack[..good.pack.len() - 25].to_vec()), ..good.clone() };
    let mut bent = good.pack.to_vec();
    bent[20] ^= 0xff;
    let bent = FolderState { pack: Arc::new(bent), ..good.clone() };
    let nothing = FolderState { pack: Arc::new(b"nothing of git's".to_vec()), ..good.clone() };
    let other = FolderState { commit: "0".repeat(40), ..good.clone() };
    let option = FolderState { commit: "--help".to_owned(), ..good.clone() };
    let a_blob = FolderState { commit: object(&there, "blob", b"x"), ..good.clone() };
    for state in [cut, bent, nothing, other, option, a_blob] {
        assert!(both.folder.take(&state, &go_on()).await.is_err(), "{}", state.commit);
        assert_eq!(text(&both.tree.root, "a.txt"), "one\n");
        assert!(!both.tree.root.join("b.txt").exists());
    }
    both.folder.take(&good, &go_on()).await.unwrap();
    assert!(both.tree.root.join("b.txt").exists());
}

#[tokio::test]
async fn nothing_of_what_came_runs() {
    let mut both = both(&[("a.txt", "one\n")]).await;
    let (here, there) = (both.tree.root.clone(), both.there.root().to_path_buf());
    let owned = both.top.path().join("owned");
    let evil = format!("sh -c \"touch '{}'; cat\"", owned.display());
    let project = both.top.path().join("project");
    for root in [&project, &there] {
        for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"] {
            git(root, ["config", key, &evil]);
        }
        for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
            let path = root.join(".git/hooks").join(hook);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", owned.display())).unwrap();
            allow_execution(&path);
        }
    }
    put(&there, ".gitattributes", "* filter=evil\n");
    put(&there, "a.txt", "two\n");
    both.back().await;
    put(&there, "a.txt", "three\n");
    both.back().await;
    assert_eq!(text(&here, "a.txt"), "three\n");
    assert!(!owned.exists(), "a program ran");
    // The trap works.
    let _ = super::run(&there, ["status"]);
    assert!(owned.exists());
}

/// Returns a pack of these objects, and of nothing else.
fn packed(folder: &Path, ids: &[&str]) -> Vec<u8> {
    let mut packing = Command::new("git");
    packing.args(["pack-objects", "--stdout", "-q"]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = packing.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), (ids.join("\n") + "\n").as_bytes()).unwrap();
    child.wait_with_output().unwrap().stdout
}

#[tokio::test]
async fn the_other_side_cannot_name_what_it_was_never_sent() {
    let both = both(&[("a.txt", "one\n")]).await;
    let project = both.top.path().join("project");
    git(&project, ["checkout", "-q", "-b", "private"]);
    put(&project, "secret.txt", "the user's own\n");
    git(&project, ["add", "-A"]);
    git(&project, ["commit", "-q", "-m", "private"]);
    let commit = git(&project, ["rev-parse", "HEAD"]).trim().to_owned();
    let blob = git(&project, ["rev-parse", "HEAD:secret.txt"]).trim().to_owned();
    let tree = git(&project, ["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    git(&project, ["checkout", "-q", "main"]);
    let there = both.there.root().to_path_buf();
    let own = git(&there, ["rev-parse", "HEAD"]).trim().to_owned();
    // A commit of theirs on a tree, or on a file, that only the user's repository has.
    let of_tree = git(&project, ["commit-tree", "-m", "x", &tree]).trim().to_owned();
    let mut making = Command::new("git");
    making.args(["mktree", "--missing"]).current_dir(&there).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = making.spawn().unwrap();
    let entry = format!("100644 blob {blob}\tsecret.txt\n");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), entry.as_bytes()).unwrap();
    let made = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned();
    let of_blob = git(&there, ["commit-tree", "-m", "x", &made]).trim().to_owned();
    let cases = [
        (commit.clone(), packed(&there, &[&own])),
        (of_tree.clone(), packed(&project, &[&of_tree])),
        (of_blob.clone(), packed(&there, &[&of_blob, &made])),
    ];
    for (commit, pack) in cases {
        let state = FolderState { commit: commit.clone(), pack: Arc::new(pack), left_out: Vec::new() };
        let refused = both.folder.take(&state, &go_on()).await.unwrap_err();
        assert!(
            refused.to_string().contains("cannot be used") || refused.to_string().contains("git failed"),
            "{refused}"
        );
        assert!(!both.tree.root.join("secret.txt").exists(), "{commit}");
        assert_eq!(text(&both.tree.root, "a.txt"), "one\n");
    }
}

#[tokio::test]
async fn what_git_would_take_for_a_repository_stays_behind() {
    let mut both = both(&[("a.txt", "one\n"), ("kept/HEAD", "x"), ("kept/objects/x", "x"), ("kept/refs/x", "x")]).await;
    let there = both.there.root().to_path_buf();
    for path in ["sub/HEAD", "sub/config", "sub/objects/x", "sub/refs/x", "deep/er/head", "deep/er/COMMONDIR"] {
        put(&there, path, "x\n");
    }
    put(&there, "a.txt", "two\n");
    let changes = both.there.changes(&both.state.commit, &go_on()).await.unwrap().unwrap();
    let left_out = both.folder.take(&changes, &go_on()).await.unwrap();
    assert_eq!(left_out, [PathBuf::from("deep/er"), PathBuf::from("sub")]);
    let here = both.tree.root.clone();
    assert_eq!(text(&here, "a.txt"), "two\n");
    assert!(!here.join("sub").exists() && !here.join("deep").exists() && here.join("kept/HEAD").exists());
    both.state = changes;
    std::fs::remove_dir_all(there.join("sub")).unwrap();
    both.back().await;
    for path in ["HEAD", "objects/x", "refs/x"] {
        put(&there, path, "x\n");
    }
    let changes = both.there.changes(&both.state.commit, &go_on()).await.unwrap().unwrap();
    let refused = both.folder.take(&changes, &go_on()).await.unwrap_err();
    assert!(refused.to_string().contains("looks like a git repository itself"), "{refused}");
}
