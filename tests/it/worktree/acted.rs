//! What other programs would act on in a worktree: what git takes for a repository is refused, the rest is marked and asked about.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use belvedere::worktree::{ActMark, Merged, WorktreeError};

use super::{Repo, go_on, known, put};

/// What the project has, what git does not know there, and what the agent leaves.
type Case = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const SHAPES: &[Case] = &[
    (&[], &[], &["sub/HEAD", "sub/config", "sub/objects/x", "sub/refs/x"]),
    (&[], &[], &["sub/head", "sub/Config", "sub/OBJECTS/x", "sub/Refs/heads/x"]),
    (&[], &[], &["x/b/c/HEAD", "x/b/c/objects/x", "x/b/c/refs/x"]),
    (&[], &[], &["HEAD", "config", "objects/x", "refs/x"]),
    (&[], &[], &["sub/HEAD", "sub/commondir", "sub/config"]),
    (&[], &[], &["sub/HE\u{200c}AD", "sub/objects\u{200b}/x", "sub/refs/x"]),
    (&[], &[], &["sub/HEAD", "sub/objects/x", "sub/refs/x", "fine"]),
    (&["sub/objects/x", "sub/refs/x"], &[], &["sub/HEAD", "sub/config"]),
    (&["sub/HEAD", "sub/objects/x"], &[], &["sub/refs/x"]),
    (&["sub/HEAD"], &[], &["sub/commondir"]),
    (&["bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/config"], &[], &["bare/config"]),
    (&["bare/HEAD", "bare/objects/x", "bare/refs/x"], &[], &["bare/hooks/post-checkout"]),
    (&[".gitignore"], &["sub/objects/x", "sub/refs/x"], &["sub/HEAD"]),
    (&[".gitignore"], &["sub/HEAD", "sub/objects/x", "sub/refs/x"], &["sub/config"]),
    (&[], &[], &["sub/.g\u{200c}it/config"]),
    (&[], &[], &["sub/.git\u{200d}"]),
];

#[rustfmt::skip]
const HARMLESS: &[Case] = &[
    (&[], &[], &["sub/HEAD", "sub/objects/x"]),
    (&[], &[], &["sub/objects/x", "sub/refs/x"]),
    (&[], &[], &["HEAD", "sub/objects/x", "other/refs/x"]),
    (&[], &[], &["sub/commondir", "sub/refs/x"]),
    (&["bare/HEAD", "bare/objects/x", "bare/refs/x"], &[], &["beside"]),
    (&[], &[], &["src/head.rs", "src/objects.rs", "src/refs.rs"]),
];

fn repo(case: &Case) -> Repo {
    let (project, ignored, _) = case;
    let mut files: Vec<(&str, &str)> = vec![("a", "1\n")];
    // Everything that begins so is ignored; names as such would be in the worktree.
    files.extend(project.iter().filter(|path| **path != ".gitignore").map(|path| (*path, "x\n")));
    let rules: Vec<String> = ignored.iter().map(|path| format!("/{path}\n")).collect();
    let rules = rules.concat();
    if project.contains(&".gitignore") {
        files.push((".gitignore", &rules));
    }
    let repo = Repo::new(&files);
    for path in *ignored {
        repo.put(path, "x\n");
    }
    repo
}

#[tokio::test]
async fn what_git_takes_for_a_repository_is_not_merged() {
    for case in SHAPES {
        let repo = repo(case);
        let tree = repo.create("agent").await;
        for path in case.2 {
            put(&tree.root, path, "left by an agent\n");
        }
        let error = repo.unmerged(&tree).await;
        assert!(matches!(&error, WorktreeError::Nested { folders } if !folders.is_empty()), "{case:?}: {error}");
        assert!(error.to_string().contains("copy what you need by hand"), "{error}");
    }
    // A link in the place of an entry is one.
    let repo = Repo::new(&[("a", "1\n")]);
    let tree = repo.create("agent").await;
    put(&tree.root, "sub/objects/x", "x");
    put(&tree.root, "sub/refs/x", "x");
    symlink("refs/x", tree.root.join("sub/HEAD")).unwrap();
    assert!(matches!(repo.unmerged(&tree).await, WorktreeError::Nested { .. }));
}

#[tokio::test]
async fn what_only_looks_a_little_like_one_is_merged() {
    for case in HARMLESS {
        let repo = repo(case);
        let tree = repo.create("agent").await;
        for path in case.2 {
            put(&tree.root, path, "left by an agent\n");
        }
        let merged = repo.merge(&tree).await;
        assert_eq!(merged.len(), case.2.len(), "{case:?}: {merged:?}");
    }
}

const OBEYED: [&str; 16] = [
    ".envrc",
    ".vscode/tasks.json",
    ".github/workflows/x.yml",
    ".husky/pre-commit",
    ".mcp.json",
    ".claude/settings.json",
    "CLAUDE.md",
    "docs/AGENTS.md",
    ".cargo/config.toml",
    ".npmrc",
    ".gitattributes",
    "Jenkinsfile",
    "lefthook.yml",
    "conftest/sitecustomize.py",
    "pkg/.Envrc",
    "x.desktop",
];

const LINKS: [(&str, &str, bool); 11] = [
    ("out", "/etc/passwd", true),
    ("keys", "../.ssh", true),
    ("a/b/up", "../../../x", true),
    ("hooks", ".git/hooks", true),
    ("a/b/git", "../../.git/config", true),
    ("round", "a/../../x", true),
    ("env", ".envrc", true),
    ("same", "a.txt", false),
    ("a/b/near", "../../a.txt", false),
    ("dot", "./a.txt", false),
    ("a/top", "..", false),
];

#[tokio::test]
async fn what_other_programs_act_on_is_marked_and_merged_only_once_the_user_knows_it() {
    let repo = Repo::new(&[("a.txt", "1\n"), (".prettierrc", "old\n"), (".eslintrc", "old\n")]);
    let tree = repo.create("agent").await;
    for path in OBEYED {
        put(&tree.root, path, "left by an agent\n");
    }
    for (link, target, _) in LINKS {
        std::fs::create_dir_all(tree.root.join(link).parent().unwrap()).unwrap();
        symlink(target, tree.root.join(link)).unwrap();
    }
    put(&tree.root, ".prettierrc", "new\n");
    put(&tree.root, "src/plain.rs", "fn f() {}\n");
    put(&tree.root, ".gitignore", "out/\n");
    std::fs::remove_file(tree.root.join(".eslintrc")).unwrap();
    let files = repo.changes(&tree).await.files;
    let mark =
        |path: &str| files.iter().find(|file| file.path == Path::new(path)).unwrap_or_else(|| panic!("{path}")).mark;
    for path in OBEYED.into_iter().chain([".prettierrc"]) {
        assert_eq!(mark(path), Some(ActMark::Obeyed), "{path}");
    }
    for (link, target, leads_out) in LINKS {
        assert_eq!(mark(link), leads_out.then_some(ActMark::LeadsOut), "{link} -> {target}");
    }
    for path in ["src/plain.rs", ".gitignore", ".eslintrc"] {
        assert_eq!(mark(path), None, "{path}");
    }
    let before = repo.everything();
    let mut agreed = known(&repo.trees, &tree).await;
    let all = agreed.len();
    agreed.remove(&PathBuf::from(".envrc"));
    for (known, unknown) in [(BTreeSet::new(), all), (agreed, 1)] {
        let error = repo.trees.merge(&tree, &known, &go_on()).await.unwrap_err();
        assert!(matches!(&error, WorktreeError::Unasked { files } if files.len() == unknown), "{error}");
        assert_eq!(before, repo.everything());
    }
    let merged = repo.trees.merge(&tree, &known(&repo.trees, &tree).await, &go_on()).await.unwrap();
    assert!(matches!(merged, Merged::Done { .. }));
    assert_eq!(repo.text(".envrc"), "left by an agent\n");
}
