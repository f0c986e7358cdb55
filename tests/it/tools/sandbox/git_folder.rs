//! What a command leaves in git's folder: nothing through which the user's own git would write or run anything.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::repository::moved_aside;
use super::{Inside, text_of};

/// The user at their own terminal, beside the project.
struct User {
    root: PathBuf,
    home: PathBuf,
}

impl User {
    /// Makes a repository with two branches, a remote and a stash.
    fn with_repository(inside: &Inside) -> Self {
        let user = Self::beside(inside);
        let origin = inside.bench.outside("origin.git");
        user.git(&["init", "-q", "-b", "main"]);
        user.git(&["init", "-q", "--bare", "-b", "main", &origin.display().to_string()]);
        user.git(&["remote", "add", "origin", &origin.display().to_string()]);
        for text in ["one\n", "two\n", "three\n"] {
            inside.bench.put("a.txt", text);
            user.git(&["add", "-A"]);
            user.git(&["commit", "-q", "-m", "more"]);
        }
        user.git(&["branch", "other", "HEAD~1"]);
        user.git(&["push", "-q", "-u", "origin", "main"]);
        user
    }

    fn beside(inside: &Inside) -> Self {
        let (root, home) = (inside.bench.context.cwd.to_path_buf(), inside.bench.outside("home"));
        for name in [".bashrc", ".profile"] {
            std::fs::write(home.join(name), "as it was").unwrap();
        }
        Self { root, home }
    }

    fn try_git(&self, folder: &Path, args: &[&str]) -> bool {
        let mut git = Command::new("git");
        for (name, value) in [("user.name", "U"), ("user.email", "u@example.org"), ("core.editor", "true")] {
            git.args(["-c", &format!("{name}={value}")]);
        }
        git.args(args).current_dir(folder).env("HOME", &self.home).env("GIT_CONFIG_NOSYSTEM", "1");
        git.env_remove("GIT_DIR").output().unwrap().status.success()
    }

    fn git(&self, args: &[&str]) {
        assert!(self.try_git(&self.root, args), "{args:?}");
    }

    /// Looks at some folders.
    fn looks_at(&self, folders: &[&str]) {
        for folder in folders {
            for args in [&["status"][..], &["commit", "--allow-empty", "-m", "x"], &["checkout", "-q", "-b", "y"]] {
                self.try_git(&self.root.join(folder), args);
            }
        }
        self.is_unharmed();
    }

    /// Does what a user does in a day, in some folders.
    fn works_on(&self, folders: &[&str]) {
        for folder in folders {
            let folder = self.root.join(folder);
            for args in [
                &["status"][..],
                &["commit", "--allow-empty", "-m", "touch ~/CANARY"],
                &["stash"],
                &["stash", "pop"],
                &["checkout", "-q", "other"],
                &["checkout", "-q", "main"],
                &["fetch", "-q"],
                &["push", "-q"],
                &["gc", "-q"],
                &["rebase", "--continue"],
                &["cherry-pick", "--continue"],
                &["am", "--continue"],
            ] {
                self.try_git(&folder, args);
            }
        }
        self.is_unharmed();
    }

    fn is_unharmed(&self) {
        for name in [".bashrc", ".profile"] {
            assert_eq!(std::fs::read_to_string(self.home.join(name)).unwrap(), "as it was", "{name}");
        }
        for name in ["CANARY", "made"] {
            assert!(self.home.join(name).symlink_metadata().is_err(), "{name}");
        }
    }

    /// Returns what below git's folder is no plain file and no folder.
    fn oddities(&self) -> Vec<PathBuf> {
        let (mut open, mut odd) = (vec![self.root.join(".git")], Vec::new());
        while let Some(folder) = open.pop() {
            for entry in folder.read_dir().into_iter().flatten().map(Result::unwrap) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => open.push(entry.path()),
                    kind if kind.is_file() => {}
                    _ => odd.push(entry.path()),
                }
            }
        }
        odd
    }
}

/// Places in git's folder that git writes.
const WRITTEN: [&str; 44] = [
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_START",
    "packed-refs",
    "index",
    "HEAD",
    "gc.log",
    "gc.pid",
    "shallow",
    "MERGE_RR",
    "MERGE_MODE",
    "logs/HEAD",
    "logs/refs/stash",
    "logs/refs/heads/main",
    "logs/refs/heads/other",
    "logs/refs/remotes/origin/main",
    "refs/stash",
    "refs/heads/new",
    "refs/heads/other",
    "refs/tags",
    "refs/remotes/origin/main",
    "objects/ab",
    "objects/info/packs",
    "objects/info/commit-graph",
    "objects/pack/pack-1.pack",
    "info/refs",
    "info/sparse-checkout",
    "info/exclude",
    "rr-cache",
    "rebase-merge",
    "sequencer",
    "EDIT_DESCRIPTION",
    "addp-hunk-edit.diff",
];

#[tokio::test]
async fn no_link_stays_in_gits_folder() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    let bashrc = user.home.join(".bashrc");
    for names in WRITTEN.chunks(8) {
        let plant = |name: &&str| {
            let link = format!(".git/{name}");
            format!(
                "mkdir -p $(dirname {link}) && mv {link} saved-$(basename {link}) 2>/dev/null; ln -s {} {link}",
                bashrc.display()
            )
        };
        let back = |name: &&str| format!("[ -e saved-$(basename {name}) ] && mv saved-$(basename {name}) .git/{name}");
        let output = inside.bash(&names.iter().map(plant).collect::<Vec<_>>().join("; ")).await;
        let said = text_of(&output);
        assert!(output.is_error && said.contains("appeared while it ran"), "{names:?}: {said}");
        assert_eq!(user.oddities(), Vec::<PathBuf>::new(), "{names:?}: {said}");
        inside.bash(&(names.iter().map(back).collect::<Vec<_>>().join("; ") + "; true")).await;
        user.works_on(&["."]);
    }
}

#[tokio::test]
async fn no_pipe_or_socket_stays_in_gits_folder_and_none_holds_anything_up() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    for plant in [
        "rm .git/index; mkfifo .git/index; sleep 1; mkdir .vscode; echo '{}' > .mcp.json; echo x > .envrc",
        "mkfifo .git/FETCH_HEAD .git/logs/refs/stash",
        "mv .git/HEAD h; mkfifo .git/HEAD; sleep 0.3; true",
        "mkfifo .git/objects/ab .git/shallow",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\".git/refs/heads/s\")'",
        "ln -s $(mktemp -d)/x .git/index.lock",
    ] {
        let began = std::time::Instant::now();
        let output = inside.bash(plant).await;
        assert!(output.is_error, "{plant}: {}", text_of(&output));
        assert_eq!(user.oddities(), Vec::<PathBuf>::new(), "{plant}");
        for name in [".mcp.json", ".envrc", ".vscode"] {
            assert!(!user.root.join(name).exists(), "{plant}: {name}");
        }
        assert!(began.elapsed().as_secs() < 60, "{plant}");
        inside.bash("[ -e h ] && mv h .git/HEAD; true").await;
    }
    user.works_on(&["."]);
}

/// Settings by which git would run something.
fn evil(worktree: &str) -> String {
    format!(
        "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\t{worktree}\\n\\tfsmonitor = \"touch ~/CANARY; false\"\\n"
    )
}

#[tokio::test]
async fn a_repository_in_disguise_is_moved_aside() {
    let shape = |folder: &str, settings: &str| {
        format!(
            "git init -q --bare b; mkdir -p {folder}; mv b/HEAD b/objects b/refs {folder}; rm -r b; printf '{settings}' > {folder}/config"
        )
    };
    let hook = "git init -q sub/x 2>/dev/null; mv sub/x/.git sub/.git; mkdir -p sub/.git/hooks; printf '#!/bin/sh\\ntouch ~/CANARY\\n' > sub/.git/hooks/post-checkout; chmod +x sub/.git/hooks/post-checkout";
    for (has_repository, plant) in [
        (false, shape(".", &evil("worktree = $PWD"))),
        (true, shape(".", &evil("worktree = $PWD"))),
        (true, shape("sub", &evil("worktree = .."))),
        (false, shape("sub", &evil(""))),
        (true, shape("sub/.git", &evil(""))),
        (false, shape("sub/deep/.git", &evil(""))),
        (true, shape("new/.git", &evil(""))),
        (true, format!("{}; mv new sub/.git", shape("new", &evil("")))),
        (true, format!("{}; ln -s ../new sub/.git", shape("new", &evil("")))),
        (true, format!("{}; echo gitdir: ../new > sub/.git", shape("new", &evil("")))),
        (true, "mkdir -p sub; cp -r .git sub/real; printf '[alias]\\nx = !touch ~/CANARY\\n[diff]\\nexternal = touch ~/CANARY\\n' > sub/real/config; echo gitdir: real > sub/.git".to_owned()),
        (true, "git init -q sub/.git/y; mv sub/.git/y/.git/* sub/.git; printf '[include]\\npath = evil\\n' >> sub/.git/config".to_owned()),
        (true, hook.to_owned()),
        (true, "git init -q sub; printf '* filter=x\\n' > sub/.git/info/attributes".to_owned()),
        (true, "git init -q sub; ln -s ~/.bashrc sub/.git/COMMIT_EDITMSG".to_owned()),
        (true, "git init -q sub; printf '[core]\\n\\tworktree = /\\n' >> sub/.git/config".to_owned()),
        (true, "git init -q sub; printf '[remote \"o\"]\\n\\turl = ext::sh -c touch%%20CANARY\\n' >> sub/.git/config".to_owned()),
        (true, "git init -q sub; printf '[submodule \"s\"]\\n\\tupdate = !touch ~/CANARY\\n' >> sub/.git/config".to_owned()),
        (true, "git init -q sub; printf '[core]\\n\\thooksPath = ../h\\\\\\n\\n' >> sub/.git/config".to_owned()),
        (true, "git init -q sub; printf 'not\\0 settings' > sub/.git/config".to_owned()),
    ] {
        let Some(inside) = Inside::new().await else { return };
        let user = if has_repository { User::with_repository(&inside) } else { User::beside(&inside) };
        std::fs::create_dir_all(user.root.join("sub/deep")).unwrap();
        inside.works("true").await;
        let output = inside.bash(&plant).await;
        let said = text_of(&output);
        assert!(said.contains("appeared while it ran"), "{plant}: {said}");
        user.looks_at(&[".", "sub", "sub/deep"]);
    }
}

#[tokio::test]
async fn steps_that_git_would_go_on_with_run_nothing() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    let halted = "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git -c user.name=a -c user.email=a@b rebase -q -i HEAD~1";
    for plant in [
        format!(
            "{halted}; cd .git/rebase-merge; printf 'exec touch ~/CANARY\\n' > testing; ln -sf testing git-rebase-todo"
        ),
        format!(
            "{halted}; (yes '# x' | head -c 1100000; echo exec touch ~/CANARY) > .git/rebase-merge/git-rebase-todo"
        ),
        format!("{halted}; printf 'exec touch ~/CANARY\\n' >> .git/rebase-merge/git-rebase-todo"),
        format!("{halted}; printf '\\t x  touch ~/CANARY\\nnoop\\n' >> .git/rebase-merge/git-rebase-todo"),
        format!(
            "{halted}; mkdir git-merge-x; printf '#!/bin/sh\\ntouch ~/CANARY\\n' > git-merge-x/y; chmod +x git-merge-x/y; echo x/y > .git/rebase-merge/strategy; echo pick other >> .git/rebase-merge/git-rebase-todo"
        ),
    ] {
        let output = inside.bash(&plant).await;
        assert!(text_of(&output).contains("appeared while it ran"), "{plant}: {}", text_of(&output));
        user.try_git(&user.root, &["rebase", "--continue"]);
        user.is_unharmed();
        user.try_git(&user.root, &["rebase", "--abort"]);
        inside.bash("rm -rf git-merge-x").await;
    }
    // So do those that git itself has put there, and it is said where they are.
    let output = inside.bash(&format!("{halted}; git rebase --abort; git checkout -qb x HEAD~1; echo z > a.txt; git -c user.name=a -c user.email=a@b commit -qam z; git -c user.name=a -c user.email=a@b rebase --exec 'touch ~/CANARY' main")).await;
    assert!(
        text_of(&output).contains("had commands that the next `git rebase --continue` would run"),
        "{}",
        text_of(&output)
    );
    user.try_git(&user.root, &["rebase", "--skip"]);
    user.is_unharmed();
    user.git(&["checkout", "-q", "main"]);
    inside.works(&format!("{halted} && git rebase --continue")).await;
}

#[tokio::test]
async fn what_git_obeys_of_submodules_and_worktrees_stays() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    user.git(&["worktree", "add", "-q", "apart"]);
    let module = user.root.join(".git/modules/libs/lib");
    std::fs::create_dir_all(&module).unwrap();
    assert!(user.try_git(&module, &["init", "-q", "--bare", "."]));
    for command in [
        "git -C .git/modules/libs/lib config core.fsmonitor 'touch ~/CANARY'",
        "echo x > .git/modules/libs/lib/hooks/post-checkout",
        "echo /tmp > .git/worktrees/apart/commondir",
        "ln -sf ~/.bashrc .git/worktrees/apart/HEAD",
    ] {
        inside.refused(command).await;
    }
    for plant in [
        "git worktree add -q new; echo $PWD/evil > .git/worktrees/new/commondir",
        "mkdir -p .git/worktrees/x; ln -s ~/.bashrc .git/worktrees/x/ORIG_HEAD",
        "git init -q --bare .git/modules/m; git -C .git/modules/m config core.fsmonitor 'touch ~/CANARY'",
        "git init -q --bare .git/modules/a/b; ln -s ~/.bashrc .git/modules/a/b/packed-refs",
        "mkdir .git/branches; echo x > .git/branches/y",
        "mkdir .git/remotes; echo 'URL: ext::sh -c touch% ~/CANARY' > .git/remotes/origin",
        "echo x > .git/objects/info/alternates",
        "echo x > .git/info/grafts",
        "echo x > .git/unheard-of",
    ] {
        let said = text_of(&inside.bash(plant).await);
        assert!(said.contains("appeared while it ran"), "{plant}: {said}");
    }
    user.looks_at(&["."]);
}

#[tokio::test]
async fn what_is_odd_but_was_there_stays() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    std::fs::write(inside.bench.outside("shared-description"), "x").unwrap();
    std::os::unix::fs::symlink("../../shared-description", user.root.join(".git/EDIT_DESCRIPTION")).unwrap();
    std::fs::write(user.root.join(".git/hooks/post-commit"), "#!/bin/sh\n").unwrap();
    std::fs::create_dir_all(user.root.join(".git/of-another-tool")).unwrap();
    user.git(&["config", "alias.x", "!true"]);
    let nested = user.root.join("vendor/lib");
    std::fs::create_dir_all(&nested).unwrap();
    assert!(user.try_git(&nested, &["init", "-q"]) && user.try_git(&nested, &["config", "core.pager", "less"]));
    let before = std::fs::read(nested.join(".git/config")).unwrap();
    inside.works("git status -s; git -C vendor/lib status -s; echo x >> a.txt").await;
    assert!(user.root.join(".git/EDIT_DESCRIPTION").is_symlink() && user.root.join(".git/of-another-tool").is_dir());
    // Of the user's own repositories, what git obeys is put back.
    let output = inside.bash("git -C vendor/lib config core.fsmonitor 'touch ~/CANARY'").await;
    let said = text_of(&output);
    assert!(said.contains("and what was there before is back"), "{said}");
    assert_eq!(std::fs::read(nested.join(".git/config")).unwrap(), before);
    user.works_on(&[".", "vendor/lib"]);
}

#[tokio::test]
async fn ordinary_work_with_repositories_goes_on() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    std::fs::create_dir(user.root.join("sub")).unwrap();
    let me = "git -c user.name=a -c user.email=a@b";
    // A submodule that the user has set up, and a worktree of theirs.
    let lib = inside.bench.outside("lib");
    std::fs::create_dir(&lib).unwrap();
    let at_lib = |args: &[&str]| assert!(user.try_git(&lib, args), "{args:?}");
    at_lib(&["init", "-q"]);
    at_lib(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let lib = lib.display().to_string();
    user.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &lib, "libs/lib"]);
    user.git(&["commit", "-q", "-m", "lib"]);
    user.git(&["submodule", "deinit", "-q", "-f", "--all"]);
    std::fs::remove_dir_all(user.root.join(".git/modules")).unwrap();
    user.git(&["submodule", "init", "-q"]);
    user.git(&["worktree", "add", "-q", &inside.bench.outside("apart").display().to_string()]);
    for command in [
        "git -c protocol.file.allow=always submodule update && git -C libs/lib log --oneline && git submodule status"
            .to_owned(),
        format!(
            "echo x > b.txt && git add -A && {me} commit -qm one && git checkout -qb topic && {me} commit -q --allow-empty -m two"
        ),
        format!("git checkout -q main && {me} merge -q --no-edit topic && git branch -d topic && git tag v1"),
        format!("echo y >> b.txt && {me} stash -q && git stash pop -q && {me} commit -qam three"),
        format!("{me} rebase -q --exec true HEAD~1 && {me} revert --no-edit HEAD && {me} cherry-pick HEAD~1"),
        format!(
            "git init -q --bare remote.git && git push -q ./remote.git main && git fetch -q ./remote.git main && {me} pull -q ./remote.git main"
        ),
        format!("git clone -q remote.git clone && cd clone && {me} commit -q --allow-empty -m x && git push -q"),
        format!(
            "git init -q sub && cd sub && git config user.name a && git config user.email a@b && {me} commit -q --allow-empty -m x"
        ),
        "git worktree add -q wt && git -C wt status -s && git worktree list && git worktree remove wt".to_owned(),
        format!(
            "git bisect start -q && git bisect reset -q; {me} notes add -m n; git gc -q; git reflog expire --all; git repack -adq; git pack-refs --all; {me} merge -q --abort; true"
        ),
        format!(
            "git checkout -q -b left && echo z > a.txt && {me} commit -qam z && git checkout -q -b right HEAD~1 && echo w > a.txt && {me} commit -qam w && ! {me} rebase -q left"
        ),
    ] {
        let output = inside.bash(&command).await;
        let said = text_of(&output);
        assert!(!output.is_error && !said.contains("appeared"), "{command}: {said}");
    }
    assert!(user.root.join(".git/rebase-merge").exists());
    assert!(moved_aside(&user.root, ".git").is_none());
}

#[tokio::test]
async fn settings_that_the_user_replaces_stay_the_users_while_a_command_runs() {
    let Some(inside) = Inside::new().await else { return };
    let user = User::with_repository(&inside);
    user.git(&["config", "core.pager", "less"]);
    let evil = "printf '[core]\\n\\tfsmonitor = touch ~/CANARY\\n' >> .git/config";
    // What git writes anew is a file that nothing protects from what runs already.
    for args in [
        &["remote", "add", "new", "../origin.git"][..],
        &["branch", "-D", "other"],
        &["config", "user.name", "U"],
        &["push", "-q", "-u", "origin", "main:t"],
        &["remote", "rename", "new", "newer"],
    ] {
        let input = serde_json::json!({
            "command": format!("touch ready; while sleep .02; do {evil}; done 2>/dev/null"), "run_in_background": true,
        });
        let output = super::run(&inside.tools, "Bash", input, &inside.bench.context).await;
        let id = text_of(&output).split(' ').next().unwrap().to_owned();
        super::appearing::until(|| user.root.join("ready").exists()).await;
        user.git(args);
        let commands = &inside.bench.context.background.commands;
        commands.news(&id, false, None).await;
        let how = commands.look(&id, None).unwrap().ended.unwrap();
        assert!(how.contains(".git/config appeared while it ran"), "{args:?}: {how}");
        assert!(how.contains("what was there before is back"), "{args:?}: {how}");
        std::fs::remove_file(user.root.join("ready")).unwrap();
    }
    let config = std::fs::read_to_string(user.root.join(".git/config")).unwrap();
    assert!(!config.contains("fsmonitor"), "{config}");
    for kept in ["pager = less", "[remote \"newer\"]", "[branch \"main\"]"] {
        assert!(config.contains(kept), "{kept}: {config}");
    }
    user.works_on(&["."]);
}
