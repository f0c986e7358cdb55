//! What git says when nobody is asked is what the user's own git says, byte for byte.

use std::path::Path;
use std::process::Command;

use belvedere::permission::{AccessKind, Confinement};
use serde_json::json;

use super::{Bench, text_of};

/// A repository with a remote, before each state.
const BASE: &str = r"
git init -q -b main; printf 'one\ntwo\nthree\n' > a.txt; mkdir d; echo b > d/b.txt; seq 20 > long.txt
git add .; git commit -qm first; git init -q --bare ../origin.git; git remote add origin ../origin.git
git push -qu origin main
";

/// States of a repository, each by what makes it.
const STATES: [(&str, &str); 60] = [
    ("clean", ""),
    ("ahead", "echo x >> a.txt; git commit -qam second"),
    ("behind", "echo x >> a.txt; git commit -qam second; git push -q; git reset -q --hard HEAD~"),
    (
        "diverged",
        "echo x >> a.txt; git commit -qam 2; git push -q; git reset -q --hard HEAD~; echo y > y; git add y; git commit -qm 3",
    ),
    ("without upstream", "git checkout -qb alone"),
    ("gone upstream", "git checkout -qb gone; git push -qu origin gone; git push -q origin :gone; git fetch -qp"),
    ("upstream in the same repository", "git checkout -qb next --track main; echo x > x; git add x; git commit -qm x"),
    (
        "another remote to push to",
        "git init -q --bare ../fork.git; git remote add fork ../fork.git; git push -q fork main; git config branch.main.pushRemote fork; git config remote.pushDefault fork",
    ),
    (
        "a branch of an odd name",
        "git checkout -qb 'feat/a.b-\"c\"'; git push -qu origin HEAD; echo x > x; git add x; git commit -qm x",
    ),
    ("a remote of an odd name", "git remote rename origin my.hub; echo x >> a.txt; git commit -qam x"),
    ("detached", "git checkout -q --detach"),
    ("detached at a tag", "git tag v1; echo x > x; git add x; git commit -qm x; git checkout -q v1"),
    (
        "rebase",
        "git checkout -qb other; echo x > a.txt; git commit -qam x; git checkout -q main; echo y > a.txt; git commit -qam y; git rebase -q other || true",
    ),
    (
        "merge conflict",
        "git checkout -qb other; echo x > a.txt; git commit -qam x; git checkout -q main; echo y > a.txt; git commit -qam y; git merge -q other || true",
    ),
    (
        "resolved merge",
        "git checkout -qb other; echo x > a.txt; git commit -qam x; git checkout -q main; echo y > a.txt; git commit -qam y; git merge -q other || true; git add a.txt",
    ),
    (
        "both deleted and added",
        "git checkout -qb other; git mv a.txt n1; git commit -qam x; git checkout -q main; git mv a.txt n2; git commit -qam y; git merge -q other || true",
    ),
    (
        "cherry-pick",
        "git checkout -qb other; echo x > a.txt; git commit -qam x; git checkout -q main; echo y > a.txt; git commit -qam y; git cherry-pick other || true",
    ),
    (
        "revert",
        "echo x > a.txt; git commit -qam x; echo y > a.txt; git commit -qam y; git revert --no-edit HEAD~ || true",
    ),
    ("bisect", "for i in 1 2 3 4; do echo $i > n; git add n; git commit -qm $i; done; git bisect start -q HEAD HEAD~4"),
    (
        "mailbox",
        "git checkout -qb other; echo x > a.txt; git commit -qam x; git format-patch -q -1 --stdout > ../p; git checkout -q main; echo y > a.txt; git commit -qam y; git am -q ../p || true",
    ),
    ("stash", "echo x >> a.txt; git stash -q; git config status.showStash true"),
    ("sparse", "git sparse-checkout set d"),
    ("sparse without cones", "git sparse-checkout set --no-cone 'a.*'"),
    ("sparse index", "git sparse-checkout set --sparse-index d"),
    (
        "submodule",
        "git init -q ../sub; git -C ../sub commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub",
    ),
    (
        "submodule with commits",
        "git init -q ../sub; git -C ../sub commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; git -C sub commit -q --allow-empty -m t",
    ),
    ("untracked", "echo x > x; mkdir e; echo y > e/y"),
    ("untracked left out", "echo x > x; git config status.showUntrackedFiles no"),
    ("all untracked", "mkdir e; echo y > e/y; echo z > e/z; git config status.showUntrackedFiles all"),
    ("renamed", "git mv a.txt c.txt; git mv d/b.txt b"),
    ("renamed and changed", "git mv long.txt c.txt; echo x >> c.txt; git add c.txt; echo y >> c.txt"),
    ("renames are not looked for", "git mv a.txt c.txt; git config diff.renames false"),
    (
        "copies are looked for",
        "cp long.txt l2; echo x >> long.txt; git add .; git config diff.renames copies; git config status.renames copies",
    ),
    ("names in other letters", "echo x > ö.txt; echo y > 'a b.txt'; echo z > '日本'; git add ö.txt"),
    (
        "names as they are",
        "echo x > ö.txt; echo z > '日本'; git add ö.txt; git commit -qm ö; echo y > ö.txt; git config core.quotePath false",
    ),
    (
        "its own list of ignored files",
        "echo '*.log' > .ignored; git config core.excludesFile .ignored; echo x > x.log; echo y > y.txt",
    ),
    ("a list of ignored files that is missing", "git config core.excludesFile nothing; echo x > x.log"),
    ("ignored in the folder of git", "echo '*.log' > .git/info/exclude; echo x > x.log"),
    ("attributes in the folder of git", "echo '*.txt -diff' > .git/info/attributes; echo x >> a.txt"),
    ("a repository inside", "git init -q inner; echo x > inner/x; git -C inner add x; git -C inner commit -qm x"),
    ("a second worktree", "git worktree add -q ../second"),
    (
        "shallow",
        "echo x > x; git add x; git commit -qm x; git push -q; cd ..; git clone -q --depth 1 \"file://$PWD/origin.git\" shallow; rm -rf project/.git; mv shallow/.git project/.git",
    ),
    ("to be added", "echo x > x; git add -N x"),
    ("assumed unchanged", "git update-index --assume-unchanged a.txt; echo x >> a.txt"),
    ("not in the worktree", "git update-index --skip-worktree a.txt; echo x >> a.txt"),
    ("another mode", "chmod +x a.txt"),
    ("modes are not looked at", "chmod +x a.txt; git config core.fileMode false"),
    ("another type", "rm a.txt; ln -s d a.txt"),
    ("deleted", "rm a.txt; git rm -q d/b.txt"),
    ("without prefixes", "echo x >> a.txt; echo y >> long.txt; git add long.txt; git config diff.noprefix true"),
    (
        "prefixes that say what they are",
        "echo x >> a.txt; git config diff.mnemonicPrefix true; git config diff.context 1; git config diff.algorithm histogram",
    ),
    ("short", "echo x >> a.txt; git config status.short true; git config status.branch true"),
    (
        "paths from the top",
        "echo x >> a.txt; git config status.relativePaths false; git config status.displayCommentPrefix true; git config core.commentChar ';'",
    ),
    (
        "without advice",
        "echo x >> a.txt; echo y > y; git config advice.statusHints false; git config status.aheadBehind false; echo x >> d/b.txt; git commit -qm z d/b.txt",
    ),
    (
        "a log of its own form",
        "git config log.date iso-strict; git config log.decorate short; git config log.abbrevCommit true; git config format.pretty fuller; git config diff.statNameWidth 20",
    ),
    ("line ends", "git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' > a.txt; printf 'x\\n' > x"),
    ("nothing yet", "rm -rf .git; git init -q -b trunk; git add a.txt"),
    ("packed", "git pack-refs --all; git gc -q; echo x >> a.txt"),
    (
        "a table of refs",
        "rm -rf .git; git init -q -b main --ref-format=reftable; git add .; git commit -qm first; echo x >> a.txt",
    ),
    (
        "longer names of objects",
        "rm -rf .git; git init -q -b main --object-format=sha256; git add .; git commit -qm first; echo x >> a.txt",
    ),
];

const QUERIES: [&str; 10] = [
    "git status",
    "git status -s",
    "git status -sb",
    "git status --porcelain=v2 --branch",
    "git diff",
    "git diff --stat",
    "git diff --cached --stat",
    "git log --stat -1",
    "git ls-files -s",
    "git for-each-ref",
];

/// Runs a script of git commands as the user would, with no settings but the repository's.
fn script(folder: &Path, text: &str) {
    let mut shell = Command::new("bash");
    for (name, value) in [("AUTHOR", "Ann"), ("COMMITTER", "Ann")] {
        shell.env(format!("GIT_{name}_NAME"), value).env(format!("GIT_{name}_EMAIL"), "ann@example.org");
        shell.env(format!("GIT_{name}_DATE"), "2026-01-02T03:04:05+00:00");
    }
    shell.args(["-ec", text]).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_EDITOR", "true");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What the user's own git prints, and how it is with the words on standard error first.
fn own(folder: &Path, query: &str) -> [String; 2] {
    let mut words = query.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).current_dir(folder).output().unwrap();
    let text = |parts: [&[u8]; 2]| String::from_utf8(parts.concat()).unwrap();
    [text([&output.stdout, &output.stderr]), text([&output.stderr, &output.stdout])]
}

async fn is_guarded(bench: &Bench, query: &str) -> bool {
    match bench.plan("Bash", json!({"command": query})).await.unwrap().access {
        AccessKind::Execute { confinement, .. } => confinement == Confinement::Guard,
        other => panic!("{other:?}"),
    }
}

/// Compares what the tool prints with what the user's git prints to these queries. Returns those that differ.
async fn different(bench: &Bench, state: &str, queries: impl Iterator<Item = &'static &'static str>) -> Vec<String> {
    let mut wrong = Vec::new();
    for query in queries {
        let [wanted, other_order] = own(&bench.path(""), query);
        assert!(is_guarded(bench, query).await, "{state}: {query}");
        let output = text_of(&bench.run("Bash", json!({"command": query})).await);
        let said = output.rsplit_once("[exit ").map_or(output.as_str(), |(said, _)| said);
        let said = if said.trim() == "(no output)" { "" } else { said };
        if said.trim_end() != wanted.trim_end() && said.trim_end() != other_order.trim_end() {
            wrong.push(format!("{state}: {query}\n--- own\n{wanted}\n--- said\n{said}"));
        }
    }
    wrong
}

async fn compare(part: usize) {
    let mut wrong = Vec::new();
    for (at, (state, text)) in STATES.iter().enumerate().skip(part).step_by(4) {
        let bench = Bench::new();
        // Of each two states, one is asked every other query: each is asked of thirty.
        let queries = QUERIES.iter().skip(at / 4 % 2).step_by(2);
        script(&bench.path(""), &format!("{BASE}\n{text}"));
        wrong.extend(different(&bench, state, queries).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn a_bare_query_says_what_the_users_git_says_1() {
    compare(0).await;
}

#[tokio::test]
async fn a_bare_query_says_what_the_users_git_says_2() {
    compare(1).await;
}

#[tokio::test]
async fn a_bare_query_says_what_the_users_git_says_3() {
    compare(2).await;
}

#[tokio::test]
async fn a_bare_query_says_what_the_users_git_says_4() {
    compare(3).await;
}

/// What the user has set for all repositories, in files of their home.
const HOMES: [&[(&str, &str)]; 6] = [
    &[(".gitconfig", "[core]\n\tquotePath = false\n\texcludesFile = ~/ignored\n"), ("ignored", "*.log\n")],
    &[
        (".gitconfig", "[status]\n\tshort = true\n\tbranch = true\n[diff]\n\tnoprefix = true\n"),
        (".config/git/ignore", "*.log\n"),
    ],
    &[
        (".gitconfig", "[includeIf \"gitdir:/**\"]\n\tpath = more\n[includeIf \"onbranch:main\"]\n\tpath = ~/branch\n"),
        ("more", "[core]\n\texcludesFile = ~/ignored\n"),
        ("branch", "[status]\n\tshowUntrackedFiles = no\n"),
        ("ignored", "*.log\n"),
    ],
    &[
        (".gitconfig", "[includeIf \"hasconfig:remote.*.url:../origin.git\"]\n\tpath = ~/more\n"),
        ("more", "[log]\n\tdate = iso\n[core]\n\tabbrev = 12\n"),
    ],
    &[
        (".config/git/config", "[advice]\n\tstatusHints = false\n[core]\n\tattributesFile = ~/attributes\n"),
        ("attributes", "*.txt -diff\n"),
    ],
    &[(".gitconfig", "[format]\n\tpretty = '%h %s'\n[alias]\n\tstatus = !touch owned\n[log]\n\tdecorate = full\n")],
];

#[tokio::test]
async fn what_the_user_has_set_is_as_in_their_git() {
    let bench = Bench::new();
    let changes = "echo x > x.log; echo y > ö; git add ö; echo z > z; echo x >> a.txt; echo x >> d/b.txt; git commit -qm d d/b.txt";
    script(&bench.path(""), &format!("{BASE}\n{changes}"));
    let wrong = different(&bench, "with what the user has set", QUERIES.iter()).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(!bench.path("owned").exists());
}

#[test]
fn what_the_user_has_set_holds() {
    for files in HOMES {
        let home = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tools::git_status::what_the_user_has_set_is_as_in_their_git"])
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{files:?}: {text}");
    }
}

#[tokio::test]
async fn what_names_a_program_is_never_in_force() {
    let hostile = r#"
        p='touch OWNED; cat'
        for name in core.fsmonitor core.pager core.editor core.sshCommand core.gitProxy core.askPass diff.external \
            interactive.diffFilter gpg.program gpg.ssh.program credential.helper sequence.editor uploadpack.packObjectsHook \
            filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.x.command merge.x.driver \
            pager.status pager.diff pager.log alias.status remote.origin.uploadpack remote.origin.vcs \
            status.submoduleSummary core.hooksPath trailer.x.command fsmonitor.allowRemote; do
            git config "$name" "$p"
        done
        git config log.showSignature true; git config format.pretty '%G? %h'; git config pretty.x '%GG'
        git config branch.sort signature; git config branch.x.remote 'ext::touch OWNED'
        echo '*.txt diff=x filter=x merge=x' > .gitattributes; echo x >> a.txt
    "#;
    let bench = Bench::new();
    script(
        &bench.path(""),
        &format!("{BASE}\n{}", hostile.replace("OWNED", &bench.outside("owned").to_string_lossy())),
    );
    for query in QUERIES.into_iter().chain(["git log -3", "git show HEAD", "git blame a.txt", "git grep one"]) {
        assert!(is_guarded(&bench, query).await, "{query}");
        let output = bench.run("Bash", json!({"command": query})).await;
        assert!(!output.is_error, "{query}: {}", text_of(&output));
        assert!(!bench.outside("owned").exists(), "{query} ran a program: {}", text_of(&output));
    }
}

#[tokio::test]
async fn what_cannot_be_told_without_more_is_no_free_query() {
    let fresh = |more: &str| {
        let bench = Bench::new();
        script(&bench.path(""), &format!("{BASE}\n{more}"));
        bench
    };
    for (more, why) in [
        ("git config include.path ../more; echo '[core]' > more", "settings of others"),
        ("git config includeIf.onbranch:main.path ../more", "settings of others on a branch"),
        ("git config remote.origin.url 'ext::sh -c true'", "a remote that is a program"),
        ("git config remote.origin.pushurl 'x::y'", "a remote that is a helper"),
        ("git config core.excludesFile /etc/passwd", "a list of ignored files outside"),
        ("git config core.excludesFile '~/ignored'", "a list of ignored files in the home"),
        ("ln -s /etc/passwd link; git config core.excludesFile link", "a list that is a link out"),
        ("mkfifo pipe; git config core.excludesFile pipe", "a list that is a pipe"),
        ("git config core.excludesFile d", "a list that is a folder"),
        ("mkfifo pipe; git config core.attributesFile pipe", "attributes that are a pipe"),
        ("git config blame.ignoreRevsFile nothing", "a list of commits that is missing"),
    ] {
        let bench = fresh(more);
        assert!(!is_guarded(&bench, "git status").await, "{why}");
    }
}
