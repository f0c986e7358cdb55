//! What commands destroy for good, as far as their lines tell.

use belvedere::permission::{Loss, losses};

fn below(paths: &[&str]) -> Vec<Loss> {
    paths.iter().map(|path| Loss::Below((*path).to_owned())).collect()
}

#[test]
fn everyday_lines_lose_nothing() {
    for line in [
        "cargo test --workspace",
        "npm ci && npm run build",
        "rm a.txt b.txt",
        "rm -f src/old.rs",
        "git status --short",
        "git add -A && git commit -m 'rm -rf all the things; git reset --hard'",
        "git commit -qm \"$(cat <<'EOF'\nRun git reset --hard no more\n\nrm -rf / is not run here\nEOF\n)\"",
        "cat > Makefile <<EOF\nclean:\n\trm -rf build\nEOF",
        "git checkout -b new",
        "git checkout main",
        "git switch -c feature",
        "git stash",
        "git stash pop",
        "git stash list",
        "git branch -d merged",
        "git branch -a",
        "git push",
        "git push -u origin main",
        "git push origin main:main",
        "git fetch --prune",
        "git reset",
        "git reset --soft HEAD~1",
        "git restore --staged a",
        "git clean -nd",
        "git reflog",
        "git gc",
        "git rebase --continue",
        "git rm old.rs",
        "git worktree remove ../clean",
        "git log --grep='branch -D'",
        "grep -rn 'rm -rf' .",
        "echo git push --force",
        "find . -name '*.rs' -print",
        "find . -name '*.rs' -exec grep -l x {} +",
        "ls | xargs wc -l",
        "timeout 5 cargo run",
        "make clean",
        "docker rm -f old",
        "npm rm -D left-pad",
    ] {
        assert_eq!(losses(line), [], "{line}");
    }
}

#[test]
fn what_git_forgets_is_for_good_however_it_is_written() {
    for line in [
        "git branch -D old",
        "git branch -qD old",
        "git branch --delete --force old",
        "git branch -d -f old",
        "git -C sub branch -D old",
        "git -c core.x=y --no-pager branch -D old",
        "/usr/bin/git branch -D old",
        "git branch -M old new",
        "git reflog expire --expire=now --all",
        "git reflog delete HEAD@{1}",
        "git gc --prune=now",
        "git gc --aggressive --prune=now",
        "git prune",
        "git stash drop",
        "git stash drop stash@{2}",
        "git stash clear",
        "git push --force",
        "git push -f origin main",
        "git push --force-with-lease",
        "git push origin +main",
        "git push origin :old",
        "git push origin --delete old",
        "git push -d origin old",
        "git push --mirror",
        "git update-ref -d refs/heads/old",
        "git filter-branch --tree-filter true HEAD",
        "git worktree remove --force ../dirty",
        "true && git stash clear",
        "true; git stash clear > /dev/null",
        "cd sub && (git stash clear)",
        "if true; then git stash clear; fi",
        "for x in 1 2; do git stash clear; done",
        "X=1 git stash clear",
        "export X=1; git stash clear",
        "bash -c 'git stash clear'",
        "sh -ec \"git stash clear\"",
        "timeout 5 bash -lc 'true; git stash clear'",
        "env A=1 git stash clear",
        "nice -n 5 git stash clear",
        "sudo git stash clear",
        "command git stash clear",
        "eval 'git stash clear'",
        "echo x > out && git stash clear",
        "bash <<EOF\ngit stash clear\nEOF",
        "$(git stash clear)",
        "find . -maxdepth 0 -exec git stash clear \\;",
        "git rev-parse HEAD | xargs git update-ref -d",
    ] {
        assert!(matches!(losses(line).as_slice(), [Loss::ForGood(_), ..]), "{line}: {:?}", losses(line));
    }
}

#[test]
fn what_a_state_may_hold_is_told_apart() {
    for line in [
        "git reset --hard",
        "git reset --hard HEAD~3",
        "git checkout .",
        "git checkout -- src",
        "git checkout -f main",
        "git restore .",
        "git restore --source=HEAD~1 src/a.rs",
        "git restore --staged --worktree a",
        "git switch --discard-changes main",
        "git clean -fd",
        "git clean --force",
    ] {
        assert!(matches!(losses(line).as_slice(), [Loss::Changes(_)]), "{line}: {:?}", losses(line));
    }
    for line in ["git clean -fdx", "git clean -xdf", "git clean -f -d -X"] {
        assert_eq!(losses(line), [Loss::Ignored(String::new())], "{line}");
    }
}

#[test]
fn recursive_deletes_name_what_they_delete() {
    for (line, paths) in [
        ("rm -rf src", &["src"][..]),
        ("rm -fr src target", &["src", "target"]),
        ("rm -r -f -- -odd", &["-odd"]),
        ("rm --recursive a 'b c'", &["a", "b c"]),
        ("rm -Rf \"/tmp/x\"", &["/tmp/x"]),
        ("cd sub && rm -rf *", &["*", "sub/*"]),
        ("(cd a; cd b); rm -rf c", &["c", "a/c", "b/c", "a/b/c"]),
        ("cd /srv && rm -rf c", &["c", "/srv/c"]),
        ("rm -rf src/*.o", &["src/*.o"]),
        ("rm -rf \"$TMPDIR/work\"", &["$TMPDIR/work"]),
        ("find . -delete", &["."]),
        ("find build out -type f -delete", &["build", "out"]),
        ("find . -name x -exec rm {} +", &["."]),
        ("find -name x -delete", &["."]),
        ("sh -c 'rm -rf src'", &["src"]),
        ("git rm -rf src", &["src"]),
        ("A=1 rm -rf src", &["src"]),
        ("rm -rf src 2>/dev/null", &["src"]),
    ] {
        assert_eq!(losses(line), below(paths), "{line}");
    }
    for line in ["rm -rf \"$DIR\"", "rm -rf $(cat list)", "rm -rf ${A}/x", "ls | xargs rm -rf", "find . | xargs -0 rm"]
    {
        assert_eq!(losses(line), [Loss::Unknown], "{line}");
    }
    for line in ["cd \"$DIR\" && rm -rf x", "cd - && rm -rf x", "pushd $(pwd) > /dev/null; rm -rf x"] {
        assert!(losses(line).contains(&Loss::Unknown), "{line}: {:?}", losses(line));
    }
    assert_eq!(losses("git -C sub clean -fdx"), ["", "sub"].map(|folder| Loss::Ignored(folder.to_owned())));
}
