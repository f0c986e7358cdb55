//! What a prefix that was allowed covers besides itself: options, operands, scripts and the commands of git.

use belvedere::permission::{Decision, Grants, PermissionMode, Permissions, Places, Project, RuleEffect, Rules};

use super::{PROJECT, execute, granted, rule, ruleset};

/// A prefix, a command that it is meant for, and commands with options that lead its program elsewhere.
const STRAYING: &[(&str, &str, &[&str])] = &[
    (
        "npm test",
        "npm test -- --watch=false x",
        &[
            "npm test --script-shell=./evil.sh",
            "npm test --script-shell ./evil.sh",
            "npm test '--script-shell=./evil.sh'",
            "npm test --node-options=--require=./x",
            "npm test --prefix ../other",
            "npm test -C ../other",
            "npm test --script-she=./evil.sh",
            "npm test --logs-dir CANARY",
            "npm test -- --config x",
        ],
    ),
    ("pnpm test", "pnpm test --run", &["pnpm test --dir ../x", "pnpm test -C ../x", "pnpm test --shell x"]),
    ("yarn test", "yarn test --watch", &["yarn test --cwd ../x"]),
    (
        "git diff",
        "git diff --stat HEAD -- a.rs",
        &[
            "git diff --output=F",
            "git diff --outp=F",
            "git diff --output F",
            "git diff --ext-diff",
            "git diff --textconv",
            "git diff --no-index /etc/passwd x",
        ],
    ),
    ("git log", "git log -p --graph", &["git log --output=F", "git log --ext-diff", "git log -OF"]),
    ("git grep", "git grep -n x", &["git grep -O x", "git grep -nO x", "git grep --open-files-in-pager=x y"]),
    (
        "git",
        "git --no-pager log",
        &["git -c alias.x=!y x", "git -C .. log", "git --exec-path=. log", "git -p log", "git --git-dir=x log"],
    ),
    ("git fetch", "git fetch origin", &["git fetch --upload-pack=./x origin"]),
    (
        "find",
        "find . -name '*.rs' -type f",
        &[
            "find . -delete",
            "find . -exec rm x",
            "find . -execdir rm x",
            "find . -ok rm x",
            "find . -fprint F",
            "find . -fprintf F x",
            "find . -fls F",
        ],
    ),
    (
        "sed -n",
        "sed -n 1,5p a.txt",
        &[
            "sed -n 1wF a.txt",
            "sed -n 1e a.txt",
            "sed -n -i 1p a.txt",
            "sed -n --in-place 1p a",
            "sed -n s/a/b/w a",
            "sed -n -f x a",
        ],
    ),
    (
        "tar",
        "tar -tf x.tar",
        &[
            "tar -xf x --checkpoint-action=exec=x",
            "tar --to-command=x -xf x",
            "tar -I ./x -xf x",
            "tar xIf ./x x",
            "tar --use-compress=x -xf x",
        ],
    ),
    (
        "cargo test",
        "cargo test --release --lib -p x --test it -- --nocapture",
        &[
            "cargo test --config x",
            "cargo test --manifest-path ../x",
            "cargo test --target-dir=/x",
            "cargo test -Zx",
            "cargo test -- --logfile x",
            "cargo test +x",
            "cargo test --target x.json",
        ],
    ),
    ("make", "make -j4 all", &["make -f x", "make -C ..", "make SHELL=./x", "make --eval=x", "make -ftmp"]),
    ("rg", "rg --pretty -n x", &["rg --pre ./x y", "rg --pre=./x y", "rg --hostname-bin ./x y"]),
    (
        "go test",
        "go test -run X ./pkg",
        &["go test -exec ./x", "go test -toolexec=./x", "go test --exec=./x", "go test -overlay x"],
    ),
    (
        "pytest",
        "pytest -x -k name",
        &[
            "pytest -p x",
            "pytest -c x",
            "pytest --rootdir=..",
            "pytest -pevil",
            "pytest --junit-xml=F",
            "pytest --log-file=F",
            "pytest --debug=F",
            "pytest @F",
        ],
    ),
    (
        "sed",
        "sed -n '/a b/,5p' a.txt",
        &[
            "sed '1 s/.*/touch CANARY/e' a.txt",
            "sed '1 e touch CANARY' a.txt",
            "sed -n -l 1 1wCANARY a.txt",
            "sed -l 1 1wCANARY a.txt",
            "sed p a.txt -i",
            "sed -n -e p -e 1wF a.txt",
            "sed -ne 1wF a.txt",
            "sed -e1e a.txt",
            "sed -s --expression=1e a.txt",
            "sed s/a/b/wF a.txt",
            "sed s/a/b/e a.txt",
            "sed 's/[/]e/p/' a.txt",
            "sed 1rF a.txt",
            "sed 1WF a.txt",
            "sed RF a.txt",
            "sed",
        ],
    ),
    ("sed -e", "sed -e 's/a b/c/gI2' a.txt", &["sed -e 1e a.txt", "sed -e p -f x a.txt"]),
    ("sed -n 1,5p", "sed -n 1,5p a.txt b.txt", &["sed -n 1,5p -e 1wF a.txt", "sed -n 1,5p -i a.txt"]),
    ("uniq", "uniq -c a.txt", &["uniq - CANARY", "uniq a.txt CANARY", "uniq -- a CANARY"]),
    ("node --test", "node --test a.mjs", &["node --test --test-reporter=./evil.mjs", "node --test --import ./x"]),
    ("python -m pytest", "python -m pytest -x -q -k expr -v tests/", &["python -m pytest -p x"]),
    ("python3", "python3 a.py", &["python3 -c x", "python3 -m x"]),
    (
        "curl",
        "curl -sS -L https://example.org",
        &[
            "curl -D F x",
            "curl -c F x",
            "curl --trace F x",
            "curl --stderr F x",
            "curl --libcurl F x",
            "curl --hsts F x",
            "curl -o F x",
            "curl --etag-save F x",
            "curl --cookie-jar F x",
        ],
    ),
    ("gcc", "gcc a.c", &["gcc -wrapper ./x a.c", "gcc -o F a.c", "gcc @opts"]),
    ("ssh", "ssh host", &["ssh -oProxyCommand=x host"]),
    ("zip", "zip a.zip b", &["zip a.zip b -TT x"]),
    ("man", "man ls", &["man -P ./x ls"]),
    ("rsync", "rsync a b", &["rsync -e ./x a b"]),
    ("npx jest", "npx jest --ci a", &["npx jest --config x", "npx jest --config=x"]),
    ("eslint", "eslint --quiet src", &["eslint --rulesdir x src", "eslint --fix src"]),
    ("prettier", "prettier --check src", &["prettier --plugin=./x src", "prettier --plugin ./x src"]),
    ("rustc", "rustc a.rs", &["rustc -C linker=./x a.rs", "rustc -Clinker=./x a.rs", "rustc @F"]),
    ("vim", "vim a.txt", &["vim +x a.txt", "vim -c x"]),
    ("go vet", "go vet ./...", &["go vet -vettool=x"]),
    (
        "git archive",
        "git status",
        &["git archive -o CANARY.tar HEAD", "git archive --format=x HEAD", "git archive HEAD"],
    ),
];

#[test]
fn a_prefix_of_git_covers_guarded_queries_and_what_is_meant_to_write() {
    for (prefix, command) in [
        ("git commit", "git commit -m 'a b' -a --no-edit"),
        ("git add", "git add -A src"),
        ("git push", "git push -u origin feature/x"),
        ("git pull", "git pull --rebase origin main"),
        ("git push fork", "git push fork main"),
        ("git checkout", "git checkout -b x"),
        ("git checkout", "git checkout -- a.txt"),
        ("git stash", "git stash push -m x"),
        ("git stash pop", "git stash pop --index"),
        ("git rebase", "git rebase --continue"),
        ("git", "git grep -n x"),
        ("git log", "git log --author=x --since 2024 -S x"),
    ] {
        assert_eq!(granted(&format!("Bash({prefix}:*)"), &execute(command)), Decision::Allow, "{command}");
    }
    for (prefix, command) in [
        ("git", "git commit -m x"),
        ("git", "git config core.pager x"),
        ("git reflog", "git reflog show -p"),
        ("git stash", "git stash list -p"),
        ("git stash list", "git stash list -p"),
        ("git range-diff", "git range-diff a b"),
        ("git diff-index", "git diff-index HEAD"),
        ("git diff-files", "git diff-files -p"),
        ("git check-ignore", "git check-ignore x"),
        ("git check-attr", "git check-attr -a x"),
        ("git archive", "git archive -o CANARY.tar HEAD"),
        ("git archive", "git archive HEAD --format=x"),
        ("git rebase", "git rebase -x ./x main"),
        ("git rebase", "git rebase --exec=./x main"),
        ("git commit", "git commit -F /etc/passwd"),
        ("git push", "git push ./evil main"),
        ("git push", "git push ext::x"),
        ("git push", "git push origin +main"),
        ("git push", "git push origin :main"),
        ("git push", "git push --receive-pack=./x origin"),
        ("git push", "git push --force"),
        ("git log", "git log --format=%G."),
        ("/usr/bin/git", "/usr/bin/git status"),
        ("env git", "env git status"),
    ] {
        assert_eq!(granted(&format!("Bash({prefix}:*)"), &execute(command)), Decision::Ask, "{command}");
    }
}

#[test]
fn a_prefix_covers_the_usual_harmless_options() {
    for (prefix, command) in [
        ("cargo", "cargo build --all-targets --workspace --locked -p x"),
        ("cargo clippy", "cargo clippy --locked --all-targets -- -D warnings"),
        ("cargo fmt", "cargo fmt --all -- --check"),
        ("npm test", "npm test --silent"),
        ("npm install", "npm install @types/node"),
        ("pytest", "pytest -x -q -k expr -v tests/"),
        ("go test", "go test -run X -v -count=1 ./..."),
        ("make", "make -j4 test"),
        ("ls", "ls -la --color=never src"),
        ("rg", "rg -rn x src"),
        ("grep", "grep -rn --include=a.rs x src"),
        ("wc", "wc -l a"),
        ("head", "head -n 5 a"),
        ("tail", "tail -n5 a"),
        ("sort", "sort -u -k2,2n a"),
        ("cat", "cat -n a"),
        ("jq", "jq -r .a x.json"),
        ("sed", "sed -E -e '1!d' -e 's/[a-z]+/x/g' a.txt"),
        ("docker ps", "docker ps x"),
        ("date", "date -u +%F"),
    ] {
        assert_eq!(granted(&format!("Bash({prefix}:*)"), &execute(command)), Decision::Allow, "{command}");
    }
    let form = |command: &str| {
        let places = Places { project: PROJECT.as_ref(), home: None };
        let list = ["Bash(sed * a.txt)", "Bash(cargo * --locked)", "Bash(*curl*)"];
        let list = list.iter().map(|entry| rule(entry, places)).collect();
        let rules = Rules::default().allowing(list);
        let bypass = PermissionMode::BypassPermissions;
        let permissions = Permissions::new(Project::at(PROJECT.into()), bypass, Grants::default());
        permissions.with_rules(rules).decide(&execute(command)) == Decision::Allow
    };
    assert!(form("sed 1p a.txt") && form("cargo build --locked") && form("curl -s x"));
    assert!(!form("sed 1e a.txt") && !form("cargo --config=x build --locked") && !form("curl -o F x"));
}

#[test]
fn a_prefix_covers_no_options_that_lead_a_program_elsewhere() {
    for (prefix, meant, straying) in STRAYING {
        let grant = format!("Bash({prefix}:*)");
        assert_eq!(granted(&grant, &execute(meant)), Decision::Allow, "{meant}");
        for command in *straying {
            assert_eq!(granted(&grant, &execute(command)), Decision::Ask, "{command}");
            assert_eq!(granted(&format!("Bash({command})"), &execute(command)), Decision::Allow, "{command}, as it is");
        }
    }
}

#[test]
fn a_question_says_that_the_beginning_is_allowed() {
    let permissions = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default())
        .under(ruleset(RuleEffect::Allow, &["Bash(docker run:*)"]));
    let why = permissions.reason(&execute("docker run -it x"));
    assert!(why.contains("the rest may do harm"), "{why}");
    assert!(permissions.reason(&execute("docker ps")).contains("may modify files"));
}
