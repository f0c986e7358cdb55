//! Commands of an agent in its worktree: they work in a repository of their own, and the user's stays as it is.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::sandbox::{Sandbox, SandboxPlaces};
use belvedere::tool::{SandboxUse, ToolOutput, ToolSet};
use belvedere::worktree::{Merged, Worktree, WorktreeEnd, Worktrees};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Bench, run, text_of};
use crate::support::{git, sandboxed_at};

/// Rights and content of files, folders and links.
type Contents = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// A project with a remote, branches, a tag and a stash, and commands that run in a worktree of it. Where worktrees lie is
/// hidden, as in a session.
struct Apart {
    bench: Bench,
    project: PathBuf,
    trees: Worktrees,
    tools: ToolSet,
    _sandbox: Sandbox,
}

impl Apart {
    async fn new() -> Option<Self> {
        let bench = Bench::new();
        let project = bench.context.cwd.as_ref().clone();
        for folder in ["home", "state"] {
            std::fs::create_dir(bench.outside(folder)).unwrap();
        }
        let places = SandboxPlaces { hidden: vec![bench.outside("state")], ..SandboxPlaces::default() };
        let (sandbox, shell) = sandboxed_at(&bench.outside(""), places, &[]).await?;
        let remote = bench.outside("remote.git").display().to_string();
        git(&project, ["init", "-q", "-b", "master"]);
        git(&project, ["init", "-q", "--bare", "-b", "master", &remote]);
        for (name, value) in [("user.name", "User"), ("user.email", "user@example.org")] {
            git(&project, ["config", name, value]);
        }
        bench.put("a.txt", "one\n");
        bench.put("src/b.txt", "two\n");
        git(&project, ["add", "-A"]);
        git(&project, ["commit", "-q", "-m", "first"]);
        git(&project, ["branch", "keep"]);
        git(&project, ["tag", "v1"]);
        git(&project, ["pack-refs", "--all"]);
        git(&project, ["branch", "loose"]);
        git(&project, ["notes", "add", "-m", "note"]);
        bench.put("a.txt", "stashed\n");
        git(&project, ["stash", "-q"]);
        git(&project, ["remote", "add", "origin", &remote]);
        git(&project, ["push", "-q", "-u", "origin", "master"]);
        let trees = Worktrees::new(bench.outside("state/worktrees"), "session");
        let tools = crate::support::tools_of(&shell);
        Some(Self { bench, project, trees, tools, _sandbox: sandbox })
    }

    /// Makes a worktree, in which commands run from now on.
    async fn enter(&mut self) -> Worktree {
        let tree = self.trees.create(&self.project, "agent", &CancellationToken::new()).await.unwrap();
        let root = Arc::new(tree.root.clone());
        (self.bench.context.cwd, self.bench.context.project) = (root.clone(), root);
        tree
    }

    async fn bash(&self, command: &str) -> ToolOutput {
        run(&self.tools, "Bash", json!({ "command": command }), &self.bench.context).await
    }

    async fn works(&self, command: &str) -> String {
        let output = self.bash(command).await;
        assert!(!output.is_error, "{command}: {}", text_of(&output));
        text_of(&output)
    }

    /// All of the user's git folder, and of what lies beside the project but worktrees.
    fn users(&self) -> Contents {
        let mut found = contents(&self.project.join(".git"));
        found.extend(contents(&self.bench.outside("remote.git")));
        found.extend(contents(&self.bench.outside("home")));
        found
    }
}

/// Returns the paths where something is other than it was.
fn changed(before: &Contents, after: &Contents) -> Vec<PathBuf> {
    let all = before.keys().chain(after.keys());
    all.filter(|at| before.get(*at) != after.get(*at)).cloned().collect()
}

/// Everything below a folder, with its rights.
fn contents(root: &Path) -> Contents {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let facts = path.symlink_metadata().unwrap();
            let content = match &facts {
                facts if facts.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                facts if facts.is_symlink() => std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                _ => std::fs::read(&path).unwrap(),
            };
            found.insert(path, (facts.permissions().mode(), content));
        }
    }
    found
}

/// What an agent may try on the repository of its user. `$P` is its folder, `$O` a place outside.
const ATTACKS: [&str; 62] = [
    "git update-ref refs/heads/master HEAD; git tag x; git branch -D keep",
    "git update-ref refs/heads/master HEAD; git push -q origin master",
    "git update-ref -d refs/heads/keep; git update-ref -d refs/tags/v1",
    "git symbolic-ref HEAD refs/heads/master; git commit -qm more --allow-empty",
    "git symbolic-ref refs/remotes/origin/HEAD refs/heads/agent",
    "git branch -f master HEAD; git branch -f loose HEAD; git branch -m keep gone",
    "git checkout -qB master; git commit -qm more --allow-empty",
    "git tag -f v1 HEAD; git tag -d v1",
    "git stash; git stash clear; git stash drop",
    "git notes add -f -m evil HEAD; git notes remove HEAD~1",
    "git replace HEAD~1 HEAD; git replace --graft HEAD",
    "git worktree list; git worktree prune; git worktree remove --force .; git worktree add ../x",
    "git gc -q --prune=now; git reflog expire --expire=now --all; git prune --expire=now",
    "git repack -qad; git prune-packed; git pack-refs --all --prune",
    "git config core.fsmonitor 'touch $O'; git config --worktree core.fsmonitor 'touch $O'",
    "git config --file $P/config core.fsmonitor \"touch $O\"",
    "git remote set-url origin $O; git remote add evil $O; git remote rm origin",
    "git --git-dir=$P update-ref refs/heads/master $(git rev-parse HEAD)",
    "git --git-dir=$P --work-tree=. add -A; git --git-dir=$P commit -qm evil --allow-empty",
    "GIT_DIR=$P git branch evil; GIT_DIR=$P git stash clear; GIT_DIR=$P git gc -q --prune=now",
    "GIT_COMMON_DIR=$P git update-ref refs/heads/master HEAD",
    "GIT_OBJECT_DIRECTORY=$P/objects git hash-object -w a.txt; echo x | GIT_OBJECT_DIRECTORY=$P/objects git hash-object -w --stdin",
    "git push -q $P/.. HEAD:refs/heads/evil; git push -q $P HEAD:keep",
    "git fetch -q . HEAD:refs/heads/keep --force; git fetch -q $P '+refs/heads/*:refs/heads/*'",
    "git -C $P/.. commit -qm evil --allow-empty; git -C $P/.. checkout -q keep",
    "echo x > $P/packed-refs; rm -f $P/packed-refs; mv $P/packed-refs $P/old",
    "echo \"$(git rev-parse HEAD) refs/heads/master\" >> $P/packed-refs",
    "git rev-parse HEAD > $P/MERGE_HEAD; echo evil > $P/MERGE_MSG; git rev-parse HEAD > $P/CHERRY_PICK_HEAD",
    "mkdir -p $P/rebase-merge $P/rebase-apply; echo \"exec touch $O\" > $P/rebase-merge/git-rebase-todo",
    "mkdir -p $P/sequencer; echo \"pick $(git rev-parse HEAD)\" > $P/sequencer/todo",
    "mkdir -p $P/objects/info; echo /tmp > $P/objects/info/alternates; echo x > $P/objects/info/commit-graph",
    "git rev-parse HEAD > $P/shallow; git rev-parse HEAD > $P/info/grafts",
    "mkdir -p $P/remotes $P/branches; echo \"URL: $O\" > $P/remotes/origin; echo $O > $P/branches/origin",
    "echo x > $P/COMMIT_EDITMSG; ln -sf $O $P/COMMIT_EDITMSG; ln -sf $O $P/FETCH_HEAD; ln -s $O $P/ORIG_HEAD",
    "ln -s $O $P/logs/refs/heads/belvedere; ln -sf $O $P/logs/HEAD; ln -sf $O $P/logs/refs/stash",
    "ln -s $O $P/refs/heads/evil; ln -sf $O $P/refs/heads/loose; ln -sfn $O $P/refs/heads/belvedere",
    "ln -s $O $P/objects/zz; rm -rf $P/objects; mv $P/objects $P/o; ln -s $O $P/objects/pack/x.pack",
    "ln -sf $O $P/index; echo x > $P/index; rm -f $P/index.lock; touch $P/index.lock",
    "echo x > $P/hooks/pre-commit; ln -s $O $P/hooks/post-checkout; mkdir $P/modules/x; touch $P/worktrees/x",
    "rm -rf $P; mv $P $P.old; chmod -R 777 $P; touch -d 2000-01-01 $P/HEAD",
    "echo gitdir: $P > .git; rm .git; mv .git old; ln -sf $P .git; git commit -qm evil --allow-empty",
    "G=$(git rev-parse --git-dir); echo $P > $G/commondir; git update-ref refs/heads/master HEAD",
    "G=$(git rev-parse --git-dir); rm -rf $G/refs; ln -s $P/refs $G/refs; git update-ref refs/heads/master HEAD",
    "G=$(git rev-parse --git-dir); rm -rf $G/packed-refs; ln -s $P/packed-refs $G/packed-refs; git pack-refs --all; git branch -D keep",
    "G=$(git rev-parse --git-dir); rm -rf $G/logs; ln -s $P/logs $G/logs; git commit -qm evil --allow-empty",
    "G=$(git rev-parse --git-dir); rm -rf $G/objects/*; ln -s $P/objects $G/objects/x; mv $G/objects $G/o; ln -s $P/objects $G/objects; git commit -qm evil --allow-empty",
    "G=$(git rev-parse --git-dir); rm $G/index; ln -s $P/index $G/index; git add -A; git read-tree --empty",
    "G=$(git rev-parse --git-dir); rm -f $G/HEAD; ln -s $P/HEAD $G/HEAD; git checkout -q -b evil",
    "G=$(git rev-parse --git-dir); echo /tmp > $G/objects/info/alternates; mv $G/objects/info $G/i; ln $P/config $G/c; echo evil >> $G/c",
    "G=$(git rev-parse --git-dir); echo evil > $G/../x; mkdir $G/../y.git; rm -f $G/../*.json; ls $G/..",
    "G=$(git rev-parse --git-dir); rm -rf $G/* $G/.??*; rm -rf .git *",
    "git refs migrate --ref-format=reftable; git update-ref refs/heads/master HEAD",
    "git rebase -q -x 'touch $O' HEAD~1; git rebase --abort",
    "git bisect start; git bisect bad; git bisect good HEAD~1; git bisect reset",
    "git filter-branch -f --msg-filter 'echo evil' -- --all; git update-ref -d refs/original/refs/heads/master",
    "git -c protocol.file.allow=always submodule add -q $P/.. sub; git commit -qm sub; git submodule foreach 'touch $O'",
    "git init -q sub; git -C sub commit -qm x --allow-empty; git add sub; git commit -qm sub; git submodule absorbgitdirs",
    "git merge -q --no-ff -m evil HEAD~1; git cherry-pick HEAD~1; git revert --no-edit HEAD; git am --abort; git rerere clear",
    "git fast-export --all | sed 's/first/evil/' | git fast-import --quiet --force",
    "git clone -q --mirror . $P/../m.git; git bundle create $P/x.bundle --all; git archive -o $P/x.tar HEAD",
    "python3 -c \"import os; os.link('$P/packed-refs','l'); open('l','a').write('evil')\"; cp -al $P/refs r; echo evil > r/heads/loose",
    "git sparse-checkout set nothing; git maintenance start; git maintenance run; git commit-graph write --reachable; git multi-pack-index write",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_in_a_worktree_reaches_the_repository_of_the_user() {
    let Some(mut apart) = Apart::new().await else { return };
    let (common, outside) = (apart.project.join(".git"), apart.bench.outside("home/CANARY"));
    let head = git(&apart.project, ["rev-parse", "master"]);
    let token = CancellationToken::new();
    for attacks in ATTACKS.chunks(4) {
        let tree = apart.enter().await;
        let before = apart.users();
        apart.works("echo EVIL > evil.txt && git add -A && git commit -qm EVIL").await;
        for attack in attacks {
            apart.bash(&format!("P={}; O={}; {attack}", common.display(), outside.display())).await;
            let changed = changed(&before, &apart.users());
            assert!(changed.is_empty() && !outside.exists(), "{attack}: {changed:?}");
        }
        // Nor does Belvedere's own git carry it there, whatever it finds.
        let _ = apart.trees.settle(&tree, &token).await;
        if tree.root.exists() {
            apart.trees.discard(&tree).await.unwrap_or_else(|error| panic!("{attacks:?}: {error}"));
        }
        let heads = git(&apart.project, ["rev-parse", "master", "keep", "loose", "v1^{commit}"]);
        assert_eq!(heads, head.repeat(4), "{attacks:?}");
        assert_eq!(git(&apart.project, ["status", "--porcelain"]), "", "{attacks:?}");
        assert_eq!(git(&apart.project, ["for-each-ref", "refs/heads/belvedere"]), "", "{attacks:?}");
        assert!(!outside.exists(), "{attacks:?}");
    }
    // What the user does then is what they meant.
    let log = git(&apart.project, ["log", "--all", "--format=%s"]);
    assert!(!log.contains("EVIL") && !log.contains("evil"), "{log}");
    git(&apart.project, ["push", "-q", "origin", "master"]);
    assert_eq!(git(&apart.bench.outside("remote.git"), ["rev-parse", "master"]), head);
    git(&apart.project, ["fsck", "--strict"]);
    git(&apart.project, ["gc", "-q"]);
    git(&apart.project, ["stash", "pop", "-q"]);
    assert_eq!(std::fs::read_to_string(apart.project.join("a.txt")).unwrap(), "stashed\n");
    assert!(!outside.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ordinary_work_with_git_goes_on_in_a_worktree() {
    let Some(mut apart) = Apart::new().await else { return };
    let remote = apart.bench.outside("remote.git");
    // Somebody else has pushed.
    let other = apart.bench.outside("other");
    git(&apart.project, ["clone", "-q", &remote.display().to_string(), &other.display().to_string()]);
    std::fs::write(other.join("theirs.txt"), "theirs\n").unwrap();
    git(&other, ["add", "-A"]);
    git(&other, ["commit", "-q", "-m", "theirs"]);
    git(&other, ["push", "-q"]);
    let tree = apart.enter().await;
    let before = apart.users();
    for command in [
        "test -z \"$(git status --porcelain)\" && git log --oneline -1 && git branch -a && git show HEAD --stat",
        "echo two >> a.txt && git diff --stat && git commit -qam two && git log --format=%an -1 | grep -qx User",
        "git log --oneline origin/master..HEAD | grep -q two && git rev-parse v1 keep loose && git notes show HEAD~1",
        "git checkout -q -b topic && echo x > x.txt && git add x.txt && git commit -qm x && git checkout -q - && git merge -q topic",
        "git fetch -q && git rebase -q origin/master && test -f theirs.txt",
        "echo three >> a.txt && git stash -q && git stash list | grep -q WIP && git stash pop -q && git commit -qam three",
        "git tag mine && git notes add -m n && git revert --no-edit HEAD && git reset -q --hard HEAD~1 && git reflog | grep -q revert",
        "git rebase -q -i --exec true HEAD~2 </dev/null; git cherry-pick --no-commit keep; git reset -q --hard",
        "git gc -q && git fsck && git blame a.txt | wc -l && git bisect start && git bisect reset",
        "git mv a.txt c.txt && git commit -qm moved && git clean -fdn && git rm -q --cached c.txt && git add c.txt",
        "git branch -D topic && git describe --tags && git worktree list && git remote -v | grep -q remote.git",
    ] {
        apart.works(command).await;
    }
    assert_eq!(changed(&before, &apart.users()), Vec::<PathBuf>::new());
    let WorktreeEnd::Kept(changes) = apart.trees.settle(&tree, &CancellationToken::new()).await.unwrap() else {
        panic!("it was removed")
    };
    assert_eq!(changes.commits, 5, "two, x, three, moved, and what was fetched");
    let log = git(&apart.project, ["log", "--format=%s", &format!("master..{}", tree.branch)]);
    assert_eq!(log, "moved\nthree\nx\ntwo\ntheirs\n", "the branch in the project has them now");
    git(&apart.project, ["fsck", "--strict"]);
    let merged = apart.trees.merge(&tree, &std::collections::BTreeSet::new(), &CancellationToken::new()).await.unwrap();
    assert!(matches!(merged, Merged::Done { leftover: None, .. }), "{merged:?}");
    let status = git(&apart.project, ["status", "--porcelain"]);
    assert_eq!(status, " D a.txt\n?? c.txt\n?? theirs.txt\n?? x.txt\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_work_at_a_time_keep_their_repositories() {
    let Some(mut apart) = Apart::new().await else { return };
    let first = apart.enter().await;
    let (tools, context) = (apart.tools.clone(), apart.bench.context.clone());
    let pipe = first.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let long = tokio::spawn(async move {
        run(&tools, "Bash", json!({"command": "touch begun; cat pipe; git commit -q --allow-empty -m one"}), &context)
            .await
    });
    while !first.root.join("begun").exists() {
        tokio::task::yield_now().await;
    }
    // It begins while the other runs, and what its repository holds was there before.
    let second = apart.enter().await;
    for _ in 0..3 {
        apart.works("git status -sb && echo x >> a.txt && git commit -qam two && ls").await;
    }
    tokio::task::spawn_blocking(move || std::fs::write(pipe, "go on\n")).await.unwrap().unwrap();
    let output = long.await.unwrap();
    assert!(!output.is_error, "{}", text_of(&output));
    for (tree, commits) in [(first, 1), (second, 3)] {
        assert_eq!(apart.trees.changes(&tree, &CancellationToken::new()).await.unwrap().commits, commits);
        let beside = std::fs::read_dir(tree.root.with_extension("git")).unwrap();
        let names = beside.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        assert!(!names.into_iter().any(|name| name.contains("blocked")));
    }
}

#[tokio::test]
async fn one_that_an_earlier_version_linked_writes_nothing_of_the_repository() {
    let Some(mut apart) = Apart::new().await else { return };
    let root = Arc::new(apart.bench.outside("state/old/agent"));
    std::fs::create_dir(apart.bench.outside("state/old")).unwrap();
    git(&apart.project, ["worktree", "add", "-q", "-b", "belvedere/old/agent", &root.display().to_string()]);
    (apart.bench.context.cwd, apart.bench.context.project) = (root.clone(), root);
    apart.works("echo two > a.txt && git diff --stat && cat a.txt").await;
    let before = apart.users();
    for command in ["git commit -qam evil", "git update-ref refs/heads/master HEAD", "git branch -D keep", "git tag x"]
    {
        assert!(apart.bash(command).await.is_error, "{command}");
    }
    assert_eq!(changed(&before, &apart.users()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_command_that_only_reads_sees_the_worktree_it_works_in_and_no_other() {
    let Some(mut apart) = Apart::new().await else { return };
    let other = apart.enter().await;
    let other = other.root.display().to_string();
    let _tree = apart.enter().await;
    std::fs::write(apart.bench.outside("state/secret"), "CANARY").unwrap();
    for sandbox in [SandboxUse::ReadOnly, SandboxUse::ReadWrite] {
        apart.bench.context.sandbox = sandbox;
        for command in [
            "ls",
            "pwd",
            "cat a.txt",
            "git status",
            "git diff",
            "git log",
            "head -n 1 src/b.txt",
            "wc -l a.txt",
            "grep one a.txt",
            "git branch",
            "git show",
            "ls | cat",
            "git log -1 | cat; git status -sb",
            "find . -name a.txt",
            "stat a.txt",
        ] {
            apart.works(command).await;
        }
        for command in ["cat ../../../secret", &format!("ls {other}"), "cat ../*.json", "ls ../agent | grep a.txt"] {
            let output = apart.bash(command).await;
            assert!(output.is_error && !text_of(&output).contains("CANARY"), "{command}: {}", text_of(&output));
        }
    }
    apart.bench.context.sandbox = SandboxUse::ReadOnly;
    for command in [
        "touch x",
        "git commit -q --allow-empty -m x",
        "git update-ref refs/heads/x HEAD",
        "echo x > $(git rev-parse --git-dir)/x",
    ] {
        assert!(apart.bash(command).await.is_error, "{command}");
    }
}
