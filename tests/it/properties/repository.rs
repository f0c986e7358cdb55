//! Settings of a repository that git obeys: what they name is found, however they are written.

use std::path::Path;

use belvedere::config::{Environment, git_branch, obeyed_by_git};
use tempfile::TempDir;

/// Returns a repository with these settings, and what git obeys in it; `None` if that may be anything.
pub fn obeyed(settings: &[u8]) -> (TempDir, Option<Vec<String>>) {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".git/config"), settings).unwrap();
    std::fs::write(root.join(".git/HEAD"), settings).unwrap();
    let home = root.join("home");
    let environment =
        Environment::from_iter([("HOME", home.to_str().unwrap()), ("GIT_CONFIG_SYSTEM", "/no/such/file")]);
    let found = obeyed_by_git(&root, &root.join("a.txt"), &environment);
    for path in &found {
        assert!(path.starts_with(&root), "{} is no file of the project", path.display());
    }
    let below = |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
    let names = (!found.contains(&root)).then(|| found.iter().map(|path| below(path)).collect());
    (dir, names)
}

pub(super) fn git_settings(bytes: &[u8]) {
    let (dir, _) = obeyed(bytes);
    let branch = git_branch(dir.path()).unwrap_or_default();
    assert!(branch.chars().count() <= 120 && !branch.contains(char::is_control), "{branch:?}");
    let hooks = b"\n[core]\nhooksPath = own/hooks\n";
    for settings in [[bytes, hooks].concat(), [hooks, bytes].concat()] {
        let (_dir, names) = obeyed(&settings);
        let names = names.unwrap_or_else(|| vec!["own/hooks".to_owned()]);
        assert!(names.iter().any(|name| name == "own/hooks"), "hidden by {:?}", String::from_utf8_lossy(bytes));
    }
}
