//! Taking back what commands did: to the byte, and nothing that anybody else has done.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::tool::{
    ChangedFiles, CommandChanges, FileCopies, FilePlan, FileRewind, Freshness, ProjectStates, ToolContext, Writers,
};
use serde_json::json;

use super::{Bench, run, text_of};
use crate::support::{Dice, git, standard_tools};

/// A project whose commands can be taken back.
struct Project {
    bench: Bench,
    copies: FileCopies,
    writers: Writers,
    /// What each command has changed, in their order.
    taken_down: Vec<CommandChanges>,
}

/// What lies at a path: its rights, and what it holds.
type Found = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Project {
    fn new() -> Self {
        let mut bench = Bench::new();
        let states = ProjectStates::of(bench.context.project.to_path_buf(), bench.outside("states"));
        let copies = FileCopies::below(bench.outside("copies")).with_states(states);
        let writers = Writers::keeping(copies.clone());
        bench.context = ToolContext { freshness: Arc::new(Freshness::new("main", &writers)), ..bench.context };
        let project = Self { bench, copies, writers, taken_down: Vec::new() };
        project.fill();
        project
    }

    /// Puts files of every kind there is into it.
    fn fill(&self) {
        let bench = &self.bench;
        for (name, content) in [
            ("src/main.rs", &b"fn main() {}\n"[..]),
            ("src/deep/er/lib.rs", b"pub mod a;\r\nno end"),
            ("src/empty", b""),
            ("data.bin", b"\0\xff\xfe\0"),
            (".gitignore", b"target/\n*.log\n.env\n"),
            ("target/out", b"built"),
            ("debug.log", b"noise"),
            (".env", b"KEY=1"),
            ("notes with space", b"kept"),
        ] {
            bench.put(name, content);
        }
        std::fs::write(bench.path("").join(OsStr::from_bytes(b"odd\n\xffname")), b"odd").unwrap();
        let run = bench.put("run.sh", "#!/bin/sh\n");
        std::fs::set_permissions(&run, PermissionsExt::from_mode(0o750)).unwrap();
        let secret = bench.put("secret", "s");
        std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
        symlink("src/main.rs", bench.path("link")).unwrap();
        symlink("/nowhere/at/all", bench.path("broken")).unwrap();
    }

    async fn command(&mut self, line: &str) {
        let output = run(&standard_tools(), "Bash", json!({"command": line}), &self.bench.context).await;
        let Some(taken_down) = output.taken_down else { panic!("{line}: {}", text_of(&output)) };
        let changes = taken_down.changes.and_then(|number| CommandChanges::read(number, &self.copies));
        assert_eq!(changes.is_some(), taken_down.changes.is_some(), "{line}");
        self.taken_down.push(changes.unwrap_or_default());
    }

    fn plan(&self) -> Vec<FilePlan> {
        let mut files = ChangedFiles::default();
        for changes in &self.taken_down {
            changes.files.iter().for_each(|change| files.add_of_command(change, &self.copies));
            changes.unkept.iter().for_each(|(path, why)| files.add_unkept(Path::new(path), why));
        }
        files.plan(&self.copies)
    }

    /// Takes everything back. Returns what stays, and why.
    fn rewind(&self) -> Vec<(PathBuf, String)> {
        let (mut ready, mut left) = (Vec::new(), Vec::new());
        for plan in self.plan() {
            match plan {
                FilePlan::Ready(file, _) => ready.push(file),
                FilePlan::Stays(path, why) => left.push((path, why)),
            }
        }
        let put_back = FileRewind::put_back_all(&ready, &self.writers).into_iter();
        left.extend(put_back.filter_map(|(path, put_back)| Some((path, put_back.err()?))));
        left
    }

    /// Returns all that lies in the project, with git's folder.
    fn found(&self) -> Found {
        let mut found = Found::new();
        look(&self.bench.path(""), &mut found);
        found
    }

    fn left_out(&self) -> Vec<PathBuf> {
        let root = self.bench.context.project.clone();
        let name = |path| PathBuf::from(Path::new(path).strip_prefix(root.as_path()).unwrap());
        self.taken_down.iter().flat_map(|changes| changes.left_out.iter().map(name)).collect()
    }

    fn git_words(&self) -> Vec<String> {
        let mut moves = belvedere::tool::GitMoves::default();
        self.taken_down.iter().for_each(|changes| moves.append(changes.git.clone()));
        moves.words()
    }
}

fn look(folder: &Path, found: &mut Found) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, metadata) = (entry.path(), entry.path().symlink_metadata().unwrap());
        let content = if metadata.is_dir() {
            look(&path, found);
            b"folder".to_vec()
        } else if metadata.is_symlink() {
            std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else if metadata.is_file() {
            std::fs::read(&path).unwrap()
        } else {
            b"special".to_vec()
        };
        found.insert(path, (metadata.mode() & 0o7777, content));
    }
}

#[tokio::test]
async fn whatever_a_command_changes_makes_and_deletes_comes_back() {
    for lines in [
        &["rm -rf src"][..],
        &["rm -rf ./* 2>/dev/null; mkdir target; printf built > target/out; printf noise > debug.log"],
        &["echo more >> src/main.rs; : > data.bin; truncate -s 3 'notes with space'"],
        &["sed -i s/main/start/ src/main.rs"],
        &["chmod -x run.sh; chmod +x src/main.rs"],
        &["chmod 644 run.sh && rm run.sh"],
        &["mkdir -p new/er/folder && echo a > new/er/folder/a && echo b > new/b"],
        &["mv src lib"],
        &["mv src lib && mv lib/main.rs . && rm -r lib"],
        &["rm -rf src && echo file > src"],
        &["rm data.bin && mkdir data.bin && echo in > data.bin/in"],
        &["rm link && echo no link > link"],
        &["ln -sfn /etc/passwd link; ln -s src new-link; rm broken"],
        &["rm src/main.rs && ln -s /etc/hostname src/main.rs"],
        &["rm -rf src && ln -s /tmp src"],
        &["rm odd*", "touch secret; rm secret"],
        &["printf 'fn main() {}\\n' > src/main.rs; touch src/empty"],
        &["echo one > a", "echo two > a", "rm a"],
        &["echo one > a", "mv a b", "cp b c", "echo two >> c"],
        &["rm -rf src", "mkdir src && echo again > src/main.rs", "rm src/main.rs"],
        &[
            "rm -rf src",
            "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm all; rm -rf .git",
        ],
    ] {
        let mut project = Project::new();
        let before = project.found();
        for line in lines {
            project.command(line).await;
        }
        let left = project.rewind();
        assert_eq!(left, [], "{lines:?}");
        let after = project.found();
        for (path, found) in &before {
            assert_eq!(after.get(path), Some(found), "{lines:?}: {}", path.display());
        }
        let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert!(new.is_empty(), "{lines:?}: {new:?}");
        assert!(project.plan().is_empty() || lines.len() > 1, "there is nothing more to do");
    }
}

#[tokio::test]
async fn dice_cannot_make_a_mess_that_stays() {
    const NAMES: [&str; 8] = ["a", "b", "src/main.rs", "src/new", "src", "src/deep", "run.sh", "link"];
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let mut project = Project::new();
        let before = project.found();
        let mut lines = Vec::new();
        for step in 0..2 + dice.roll(5) {
            let mut name = || NAMES[usize::try_from(dice.roll(8)).unwrap()];
            let (one, two) = (name(), name());
            let line = match dice.roll(8) {
                0 => format!("rm -rf {one}"),
                1 => format!("echo {step} >> {one}"),
                2 => format!("mkdir -p {one} && echo {step} > {one}/{step}"),
                3 => format!("mv {one} {two}"),
                4 => format!("cp -r {one} {two}"),
                5 => format!("rm -rf {one}; ln -s {two} {one}"),
                6 => format!("chmod a+x {one}"),
                _ => format!("rm -rf {one}; echo {step} > {one}"),
            };
            project.command(&format!("{line} 2>/dev/null")).await;
            lines.push(line);
        }
        assert_eq!(project.rewind(), [], "seed {seed}: {lines:?}");
        let after = project.found();
        // That a file may be run by somebody is all that counts of its rights where it stayed.
        let plain = |found: Found| -> BTreeMap<_, _> {
            found.into_iter().map(|(path, (mode, content))| (path, (mode & 0o111 != 0, content))).collect()
        };
        assert_eq!(plain(after), plain(before), "seed {seed}: {lines:?}");
    }
}

#[tokio::test]
async fn what_others_do_meanwhile_stays() {
    let mut project = Project::new();
    project.command("echo agent > one; echo agent > two; rm src/main.rs; echo agent > three").await;
    // The user.
    project.bench.put("two", "user");
    project.bench.put("own", "user");
    project.bench.put("src/own.rs", "user");
    std::fs::remove_file(project.bench.path("three")).unwrap();
    project.command("echo agent >> four; echo more >> two").await;
    project.bench.put("four", "user too");
    let left: Vec<PathBuf> = project.rewind().into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [project.bench.path("four"), project.bench.path("two")]);
    for (name, content) in [("two", "usermore\n"), ("own", "user"), ("src/own.rs", "user"), ("four", "user too")] {
        assert_eq!(project.bench.get(name), content, "{name}");
    }
    assert_eq!(project.bench.get("src/main.rs"), "fn main() {}\n");
    assert!(!project.bench.path("one").exists() && !project.bench.path("three").exists());
}

#[tokio::test]
async fn a_write_between_commands_and_during_one_is_taken_back_with_them() {
    let mut project = Project::new();
    project.command("echo one > file").await;
    let context = project.bench.context.clone();
    let read = run(&standard_tools(), "Read", json!({"file_path": "file"}), &context).await;
    assert!(!read.is_error);
    let edit = json!({"file_path": "file", "old_string": "one", "new_string": "two"});
    let edited = run(&standard_tools(), "Edit", edit, &context).await;
    project.command("echo three >> file").await;
    assert_eq!(project.bench.get("file"), "two\nthree\n");
    let mut files = ChangedFiles::default();
    let of = |files: &mut ChangedFiles, changes: &CommandChanges| {
        changes.files.iter().for_each(|change| files.add_of_command(change, &project.copies));
    };
    of(&mut files, &project.taken_down[0]);
    edited.changes.iter().for_each(|change| files.add(&change.path, change.versions, &project.copies));
    of(&mut files, &project.taken_down[1]);
    let plans = files.plan(&project.copies);
    let [FilePlan::Ready(file, _)] = plans.as_slice() else { panic!("{plans:?}") };
    file.put_back(&project.writers).unwrap();
    assert!(!project.bench.path("file").exists());
}

#[tokio::test]
async fn ignored_files_are_named_and_never_deleted() {
    let mut project = Project::new();
    project.command("rm -rf target; echo KEY=2 > .env; echo >> debug.log; echo x > new.log").await;
    assert_eq!(project.left_out(), [".env", "debug.log", "target"].map(PathBuf::from));
    assert_eq!(project.rewind(), []);
    assert_eq!(project.bench.get(".env"), "KEY=2\n", "it was not kept");
    // A command makes git see what it did not see before, and the other way round.
    let mut project = Project::new();
    project.command("echo nothing > .gitignore").await;
    let left: Vec<PathBuf> = project.rewind().into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [".env", "debug.log", "target/out"].map(|name| project.bench.path(name)));
    assert_eq!(project.bench.get(".gitignore"), "target/\n*.log\n.env\n");
    assert_eq!((project.bench.get("target/out"), project.bench.get(".env")), ("built".to_owned(), "KEY=1".to_owned()));
    let mut project = Project::new();
    project.command("echo '*' > .gitignore").await;
    project.rewind();
    assert_eq!(project.bench.get("src/main.rs"), "fn main() {}\n");
}

#[tokio::test]
async fn what_cannot_be_kept_is_named() {
    let mut project = Project::new();
    std::fs::write(project.bench.path("huge"), vec![7; (16 << 20) + 1]).unwrap();
    nix::unistd::mkfifo(&project.bench.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    project.command("true > a").await;
    project.command("rm huge pipe; echo x > a; mkfifo other").await;
    let left = project.rewind();
    let named: Vec<(&str, &str)> =
        left.iter().map(|(path, why)| (path.file_name().unwrap().to_str().unwrap(), why.as_str())).collect();
    let special = "not a regular file";
    assert_eq!(named, [("huge", "too large to be kept"), ("other", special), ("pipe", special)]);
    assert!(!project.bench.path("a").exists());
}

#[tokio::test]
async fn git_is_read_and_never_written_and_its_moves_are_named() {
    let mut project = Project::new();
    let root = project.bench.path("");
    git(&root, ["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "a"), ("user.email", "a@b")] {
        git(&root, ["config", key, value]);
    }
    git(&root, ["add", "-A"]);
    git(&root, ["commit", "-qm", "one"]);
    git(&root, ["branch", "other"]);
    git(&root, ["branch", "odd'name"]);
    project.bench.put("src/main.rs", "staged");
    git(&root, ["add", "src/main.rs"]);
    project.bench.put("src/main.rs", "and more");
    project.bench.put("untracked", "new");
    let before = project.found();
    project.command("true && cat /dev/null > /dev/null; :").await;
    assert_eq!(project.found(), before, "not a byte of git's folder");
    assert_eq!(project.git_words(), Vec::<String>::new());
    let old = git(&root, ["rev-parse", "HEAD"]);
    let old = &old.trim()[..12];
    project.command("git stash -q -u && git stash drop -q && git branch -D -q other \"odd'name\"").await;
    project.command("git commit -q --allow-empty -m two && git checkout -q -b new").await;
    let words = project.git_words();
    for wanted in [
        format!("HEAD was on main: git symbolic-ref HEAD {}", "refs/heads/main && git reset"),
        format!("branch main was at {old}: git reset {old} (files stay as they are)"),
        format!("branch other was at {old}: git branch -f other {old}"),
        format!("branch odd'name was at {old}: git branch -f 'odd'\\''name' {old}"),
        "branch new is new: git branch -D new".to_owned(),
    ] {
        assert!(words.contains(&wanted), "{wanted}\n{words:?}");
    }
    assert_eq!(project.rewind(), []);
    assert_eq!(project.bench.get("src/main.rs"), "and more");
    assert_eq!(project.bench.get("untracked"), "new");
    // The commands that are named do what they say.
    let script: Vec<String> = words
        .iter()
        .filter(|line| !line.contains("new is new"))
        .map(|line| line.split_once(": ").unwrap().1.to_owned())
        .collect();
    for line in &script {
        let line = line.split(" (").next().unwrap();
        let done = std::process::Command::new("sh").args(["-ec", line]).current_dir(&root).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let at = |name: &str| git(&root, ["rev-parse", name]);
    assert_eq!([at("HEAD"), at("main")].map(|commit| commit[..12].to_owned()), [old, old]);
    assert_eq!(project.bench.get("src/main.rs"), "and more", "files stay");
}

#[tokio::test]
async fn a_stash_that_was_dropped_and_a_repository_inside_are_named() {
    let mut project = Project::new();
    let root = project.bench.path("");
    git(&root, ["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "a"), ("user.email", "a@b")] {
        git(&root, ["config", key, value]);
    }
    git(&root, ["add", "-A"]);
    git(&root, ["commit", "-qm", "one"]);
    project.bench.put("src/main.rs", "stashed");
    git(&root, ["stash", "-q"]);
    project.bench.put("vendor/lib/x.c", "int x;");
    git(&project.bench.path("vendor/lib"), ["init", "-q"]);
    project.command("git stash drop -q; rm -rf vendor").await;
    let words = project.git_words();
    assert!(words.len() == 1 && words[0].starts_with("a stash was dropped: git stash store "), "{words:?}");
    assert_eq!(project.left_out(), [PathBuf::from("vendor/lib/.git")]);
    assert_eq!(project.rewind(), []);
    assert_eq!(project.bench.get("vendor/lib/x.c"), "int x;");
}

#[tokio::test]
async fn commands_side_by_side_are_taken_back_together() {
    let mut project = Project::new();
    let before = project.found();
    let (tools, context) = (standard_tools(), project.bench.context.clone());
    let bash = |line: &str| {
        let (tools, context, input) = (&tools, &context, json!({"command": line}));
        async move { run(tools, "Bash", input, context).await }
    };
    // Each waits for what the other does first.
    let wait = |name: &str| format!("while ! test -e {name}; do sleep 0.01; done");
    let one = format!("echo 1 > one; {}; echo 1 >> shared; touch three", wait("two"));
    let two = format!("{}; echo 2 > two; {}; echo 2 >> shared; rm -rf src", wait("one"), wait("three"));
    let outputs = tokio::join!(bash(&one), bash(&two));
    for output in [outputs.0, outputs.1] {
        let number = output.taken_down.unwrap().changes;
        project.taken_down.extend(number.and_then(|number| CommandChanges::read(number, &project.copies)));
    }
    assert_eq!(project.rewind(), []);
    assert_eq!(project.found().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

#[tokio::test]
async fn what_a_command_did_that_was_cut_off_is_found_later() {
    let mut project = Project::new();
    project.command("echo warm > file").await;
    let states = project.copies.states().unwrap();
    assert_eq!(states.recover(&project.copies), None);
    // As if the program had gone: what tells of the command is there, and another session goes on.
    let store = std::fs::read_dir(project.bench.outside("states")).unwrap().next().unwrap().unwrap().path();
    std::fs::hard_link(store.join("index"), project.bench.outside("copies/cut-off")).unwrap();
    std::fs::remove_dir_all(project.bench.path("src")).unwrap();
    project.bench.put("file", "half written");
    project.bench.put("made/file", "too");
    std::fs::remove_file(project.bench.path(".gitignore")).unwrap();
    let states = ProjectStates::of(project.bench.context.project.to_path_buf(), project.bench.outside("states"));
    let number = states.recover(&project.copies).unwrap();
    project.taken_down = vec![CommandChanges::read(number, &project.copies).unwrap()];
    assert_eq!(states.recover(&project.copies), None, "once");
    let left: Vec<PathBuf> = project.rewind().into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [".env", "debug.log", "target/out"].map(|name| project.bench.path(name)), "they were there");
    assert!(project.bench.path(".env").exists() && !project.bench.path("made").exists());
    assert_eq!(project.bench.get("src/main.rs"), "fn main() {}\n");
    assert_eq!(project.bench.get("file"), "warm\n");
}

#[tokio::test]
async fn a_project_that_is_too_large_is_not_kept_and_says_so() {
    let project = Project::new();
    for folder in 0..51 {
        std::fs::create_dir(project.bench.path(&format!("many-{folder}"))).unwrap();
        for file in 0..1_000 {
            std::fs::File::create(project.bench.path(&format!("many-{folder}/{file}"))).unwrap();
        }
    }
    let output = project.bench.run("Bash", json!({"command": "echo works > a"})).await;
    assert!(!output.is_error && output.taken_down.is_none());
    assert_eq!(output.uncovered.unwrap(), "it holds more than 50000 files that are not ignored");
    let again = project.bench.run("Bash", json!({"command": "echo works > a"})).await;
    assert_eq!(again.uncovered, None, "it is said once");
}

#[tokio::test]
async fn what_only_reads_costs_no_look() {
    let project = Project::new();
    let output = project.bench.run("Bash", json!({"command": "ls src | wc -l"})).await;
    assert!(output.taken_down.is_none());
    assert!(!project.bench.outside("states").exists());
}

#[tokio::test]
#[ignore = "makes twenty thousand files, and measures"]
#[allow(clippy::print_stdout)]
async fn a_look_at_twenty_thousand_files_is_quick() {
    let project = Project::new();
    for at in 0..20_000 {
        project
            .bench
            .put(&format!("many/{}/{}/file-{at}.rs", at / 1_000, at / 50), "pub fn nothing() {}\n".repeat(at % 97));
    }
    let without = Bench::new();
    let timed = async |bench: &Bench| {
        let start = std::time::Instant::now();
        let output = bench.run("Bash", json!({"command": "test -e nothing; true"})).await;
        assert!(!output.is_error);
        start.elapsed()
    };
    let first = timed(&project.bench).await;
    timed(&without).await;
    std::thread::sleep(std::time::Duration::from_millis(200));
    timed(&project.bench).await;
    for _ in 0..5 {
        let (with, without) = (timed(&project.bench).await, timed(&without).await);
        println!("first {first:?}, a command with two looks {with:?}, without {without:?}");
    }
}
