//! Repositories: commits work, and nothing that git or another program obeys is changed.

use super::{Inside, git, text_of};

#[tokio::test]
async fn git_works_inside() {
    let Some(inside) = Inside::new().await else { return };
    git(&inside.bench.context.cwd, ["init", "-q", "-b", "main"]);
    inside.bench.put("a.txt", "one\n");
    let as_user = "-c user.name=a -c user.email=a@b";
    inside
        .works(&format!("git add -A && git {as_user} commit -qm one && git checkout -qb other && git status -s"))
        .await;
    inside.works(&format!("echo two >> a.txt && git stash -q && git stash pop -q && git {as_user} commit -qam two && git gc -q && git log --oneline")).await;
}

#[tokio::test]
async fn a_worktree_is_committed_in_without_touching_the_others() {
    let Some(mut inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    inside.bench.put("a.txt", "one\n");
    git(&root, ["init", "-q", "-b", "main"]);
    git(&root, ["add", "-A"]);
    git(&root, ["commit", "-q", "-m", "first"]);
    let apart = inside.bench.outside("apart");
    git(&root, ["worktree", "add", "-q", "-b", "other", &apart.display().to_string()]);
    let apart = std::sync::Arc::new(apart);
    (inside.bench.context.cwd, inside.bench.context.project) = (apart.clone(), apart);
    inside.works("echo two > a.txt && git -c user.name=a -c user.email=a@b commit -qam two && git log --oneline").await;
    let common = root.join(".git");
    let common = common.display();
    for command in [
        "echo x > ../project/a.txt".to_owned(),
        format!("echo x > {common}/hooks/post-commit"),
        format!("echo x >> {common}/config"),
        format!("echo x > {common}/index"),
        format!("echo x > {common}/HEAD"),
        format!("echo /tmp > {common}/worktrees/apart/commondir"),
        "echo gitdir: /tmp > .git".to_owned(),
        "git config core.fsmonitor ./evil".to_owned(),
    ] {
        inside.refused(&command).await;
    }
    assert_eq!(git(&root, ["status", "--porcelain"]), "");
    assert_eq!(inside.bench.get("a.txt"), "two\n");
    // A pointer alone makes no worktree of a folder.
    let other = inside.bench.outside("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join(".git"), format!("gitdir: {common}/worktrees/apart\n")).unwrap();
    let other = std::sync::Arc::new(other);
    (inside.bench.context.cwd, inside.bench.context.project) = (other.clone(), other);
    inside.refused(&format!("touch {common}/worktrees/apart/x")).await;
    inside.refused(&format!("touch {common}/x")).await;
}

#[tokio::test]
async fn what_other_programs_obey_stays_as_it_is() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q"]);
    inside.bench.put(".claude/settings.json", "{}");
    let config = inside.bench.get(".git/config");
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    for command in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "echo x >> .git/config",
        "mv .git old && mkdir .git",
        "mv .git/hooks old",
        "rm -rf .git",
        "cp .git/config c && mv -f c .git/config",
        "ln -sf /tmp .git/hooks",
        "echo x > .claude/settings.json",
        "mv .claude old",
        "touch .claude/new",
        "chmod 777 .git/config",
    ] {
        inside.refused(command).await;
        assert_eq!(inside.bench.get(".git/config"), config, "{command}");
        assert_eq!(inside.bench.get(".claude/settings.json"), "{}", "{command}");
        assert!(!root.join(".git/hooks/pre-commit").exists(), "{command}");
    }
}

#[tokio::test]
async fn a_file_that_is_kept_in_a_kept_folder_opens_nothing_beside_it() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q"]);
    let scripts =
        [".claude/hooks/guard.sh", ".claude/skills/a/lib/check.sh", ".vscode/a/b/run.sh", ".github/workflows/x/y.sh"];
    let others =
        [".claude/hooks/other.sh", ".claude/skills/a/SKILL.md", ".vscode/a/tasks.json", ".github/workflows/x/z.yml"];
    for path in scripts.iter().chain(&others) {
        inside.bench.put(path, "as it was");
    }
    inside.sandbox.protect(scripts.iter().map(|path| root.join(path)));
    for path in scripts.iter().chain(&others) {
        let folder = std::path::Path::new(path).parent().unwrap().display();
        for command in [
            format!("echo x > {path}"),
            format!("rm {path}"),
            format!("mv {path} {path}.old"),
            format!("echo x > {folder}/new.sh"),
            format!("mkdir {folder}/new"),
            format!("rm -r {folder}"),
            format!("chmod 777 {folder}"),
        ] {
            inside.refused(&command).await;
            assert_eq!(inside.bench.get(path), "as it was", "{command}");
        }
        assert!(!root.join(path).with_file_name("new.sh").exists(), "{path}");
    }
}

/// Returns where something was moved to.
pub(super) fn moved_aside(root: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    let entries = root.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries
        .into_iter()
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}.blocked-")))
}

#[tokio::test]
async fn what_appears_at_a_protected_place_is_moved_aside() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    let output = inside.bash("mkdir k; echo x > k/config.json; mv k .kode; ln -s /tmp .mcp.json; git init -q").await;
    assert!(output.is_error && output.refused_inside.is_some());
    let said = text_of(&output);
    for name in [".kode", ".mcp.json", ".git"] {
        assert!(root.join(name).symlink_metadata().is_err(), "{name}");
        assert!(moved_aside(&root, name).is_some(), "{name}: {said}");
        assert!(said.contains(&format!("{name} appeared while it ran")), "{said}");
    }
    std::os::unix::fs::symlink("one", root.join(".idea")).unwrap();
    let kept = moved_aside(&root, ".kode").unwrap();
    assert_eq!(std::fs::read_to_string(kept.join("config.json")).unwrap(), "x\n");
    assert!(!inside.bash("true").await.is_error);
    inside.refused("ln -sfn two .idea").await;
    assert_eq!(std::fs::read_link(root.join(".idea")).unwrap(), std::path::Path::new("one"), "it is put back");
}

#[tokio::test]
async fn a_forged_worktree_opens_no_other_folder() {
    let Some(mut inside) = Inside::new().await else { return };
    // The project lies where a worktree's git folder would.
    let root = inside.bench.outside("other/worktrees/project");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    let root = std::sync::Arc::new(root);
    (inside.bench.context.project, inside.bench.context.cwd) = (root.clone(), root.clone());
    git(&root, ["init", "-q"]);
    let forge = "cd sub; echo gitdir: .. > .git; echo ../.. > ../commondir; echo $PWD/.git > ../gitdir";
    inside.refused(forge).await;
    inside.bench.context.cwd = std::sync::Arc::new(root.join("sub"));
    inside.refused("touch ../../../here").await;
    inside.bench.context.cwd = root.clone();
    for command in [
        "echo ../../.. > .git/commondir; echo $PWD/.git > .git/gitdir",
        "cp -r .git evil; git -C evil config core.fsmonitor ./x; echo ../evil > .git/commondir",
    ] {
        inside.refused(command).await;
        assert!(!root.join(".git/commondir").exists(), "{command}");
    }
    inside.refused("touch ../../here").await;
}

#[tokio::test]
async fn other_forms_of_a_repository_are_protected_too() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q", "--separate-git-dir", &root.join("real.git").display().to_string()]);
    inside.refused("git config core.fsmonitor ./x").await;
    inside.refused("echo x > real.git/hooks/pre-commit").await;
    inside.refused("echo gitdir: evil > .git").await;
    std::fs::remove_file(root.join(".git")).unwrap();
    std::os::unix::fs::symlink("real.git", root.join(".git")).unwrap();
    inside.refused("git config core.fsmonitor ./x").await;
    inside.refused("cp -r real.git evil; mv .git old; mv evil .git").await;
    assert_eq!(std::fs::read_link(root.join(".git")).unwrap(), std::path::Path::new("real.git"));
}

#[tokio::test]
async fn nothing_is_moved_aside_beyond_a_link() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q"]);
    let victim = inside.bench.outside("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("attributes"), "as it was").unwrap();
    std::fs::create_dir(root.join(".github")).unwrap();
    std::fs::create_dir(victim.join("workflows")).unwrap();
    let output = inside.bash(&format!("mv .github g2; ln -s {} .github", victim.display())).await;
    assert!(
        text_of(&output).contains(".github appeared while it ran, where the sandbox lets no command write: it is now"),
        "{}",
        text_of(&output)
    );
    assert!(root.join(".github").symlink_metadata().is_err(), "the link leads nowhere any more");
    assert!(victim.join("workflows").exists());
    std::fs::remove_dir(victim.join("workflows")).unwrap();
    // A link that is put back is put where it was, and nowhere else.
    std::fs::create_dir_all(root.join(".github")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join(".github/workflows")).unwrap();
    inside.bash(&format!("mv .github old; ln -s {} .github", victim.display())).await;
    assert_eq!(victim.read_dir().unwrap().count(), 1, "only what was there");
    inside.refused("mkdir .vscode; chmod 555 .").await;
    assert!(!root.join(".vscode").exists());
    inside.refused("for i in 1 2 3; do touch .mcp.json.blocked-$i; done; touch .mcp.json").await;
    assert!(!root.join(".mcp.json").exists());
}

#[tokio::test]
async fn beside_a_protected_place_that_is_missing_folders_are_made() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    inside
        .works("mkdir -p .github/ISSUE_TEMPLATE .cargo && echo x > .github/ISSUE_TEMPLATE/bug.md && touch .cargo/x")
        .await;
    assert!(root.join(".github/ISSUE_TEMPLATE/bug.md").exists() && root.join(".cargo/x").exists());
    inside.refused("mkdir -p .github/workflows && echo x > .github/workflows/ci.yml").await;
    inside.refused("echo '[build]' > .cargo/config.toml").await;
    assert!(!root.join(".github/workflows").exists() && !root.join(".cargo/config.toml").exists());
    // By way of a link that has come with it, too.
    inside.refused("rm -r .cargo; mkdir evil; touch evil/config.toml; ln -s evil .cargo").await;
    assert!(root.join(".cargo").symlink_metadata().is_err());
    inside.works("ln -s evil2 .cargo").await;
    inside.refused("mkdir evil2; touch evil2/config.toml").await;
    assert!(!root.join(".cargo/config.toml").exists());
}

#[tokio::test]
async fn settings_of_editors_agents_and_packages_are_protected_as_others_are() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    for name in
        [".npmrc", ".cursor/mcp.json", ".zed/tasks.json", ".devcontainer/devcontainer.json", ".exrc", ".gitlab-ci.yml"]
    {
        let command = format!("mkdir -p $(dirname {name}); echo x > {name}");
        inside.refused(&command).await;
        assert!(!root.join(name).exists(), "{name}");
        inside.bench.put(name, "as it was");
        inside.refused(&command).await;
        assert_eq!(std::fs::read_to_string(root.join(name)).unwrap(), "as it was", "{name}");
    }
}

#[tokio::test]
async fn a_repository_that_a_command_makes_is_no_part_of_the_users_own() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q"]);
    let fsmonitor = |folder: &str| format!("git -C {folder} config core.fsmonitor '{}/evil.sh'", root.display());
    // A command may run it by its own git, in the sandbox, which lets it write no such file.
    inside.bench.put("evil.sh", "#!/bin/sh\ntouch \"${0%/*}/../evil.ran\"\n");
    let ran = root.parent().unwrap().join("evil.ran");
    inside.works("chmod +x evil.sh").await;
    let commit = "git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
    let plant = |adds: &str| format!("rm -rf sub; git init -q sub; {commit}; {}; {adds}", fsmonitor("sub"));
    let is_quiet = || {
        git(&root, ["status", "--short"]);
        !ran.exists()
    };
    for adds in [
        "git add sub 2>/dev/null",
        "git update-index --index-version 4 && git add sub 2>/dev/null",
        "git update-index --index-version 2 --split-index && git add sub 2>/dev/null && git update-index --split-index",
    ] {
        let said = inside.refused(&plant(adds)).await;
        assert!(said.contains("sub/.git appeared while it ran"), "{adds}: {said}");
        assert!(moved_aside(&root.join("sub"), ".git").is_some() && is_quiet(), "{adds}");
    }
    // Nor by way of more of them than can be watched.
    let many = "for i in $(seq 1200); do printf '160000 1111111111111111111111111111111111111111\\taa%s\\n' $i; done";
    let adds = format!("{many} | git update-index --index-info; git add sub 2>/dev/null");
    assert!(inside.refused(&plant(&adds)).await.contains("sub/.git appeared while it ran"));
    assert!(is_quiet());
    git(&root, ["read-tree", "--empty"]);
    // What is the user's own stays, and no command changes what git obeys there.
    std::fs::remove_dir_all(root.join("sub")).unwrap();
    git(&root, ["init", "-q", "sub"]);
    git(&root.join("sub"), ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]);
    git(&root, ["add", "sub"]);
    inside.refused(&fsmonitor("sub")).await;
    let rename = "python3 -c 'import os; os.rename(\"sub/.git\", \"old\")'";
    inside.refused(&format!("{rename}; git init -q sub; {}", fsmonitor("sub"))).await;
    inside.works(&format!("echo x > sub/a.txt; git -C sub add a.txt; {commit}")).await;
    assert!(is_quiet());
    inside.bash("./evil.sh").await;
    assert!(is_quiet());
    assert!(std::process::Command::new(root.join("evil.sh")).status().unwrap().success() && ran.exists());
}
