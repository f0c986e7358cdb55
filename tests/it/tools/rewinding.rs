//! Taking back what agents wrote: to the byte, and nothing that anybody else has written.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use belvedere::tool::{ChangedFiles, FileCopies, FilePlan, FileVersions, Freshness, ToolContext, Writers};
use serde_json::json;

use super::{Bench, run, text_of};
use crate::support::{Dice, standard_tools};

const NAMES: [&str; 4] = ["a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt"];

/// Agents in one project whose changes are noted in their order.
struct Team {
    bench: Bench,
    copies: FileCopies,
    changes: Vec<(PathBuf, Option<FileVersions>)>,
    main: ToolContext,
    child: ToolContext,
}

impl Team {
    fn new() -> Self {
        let bench = Bench::new();
        let copies = FileCopies::below(bench.outside("copies"));
        let writers = Writers::keeping(copies.clone());
        let member = |name: &str| {
            let freshness = Arc::new(Freshness::new(name, &writers));
            ToolContext { freshness, ..bench.context.clone() }
        };
        let (main, child) = (member("main"), member("code-1"));
        Self { bench, copies, changes: Vec::new(), main, child }
    }

    /// An agent writes a file that it has read, if it is there.
    async fn write(&mut self, by_child: bool, name: &str, content: &str) {
        let context = if by_child { &self.child } else { &self.main };
        if self.bench.path(name).exists() {
            let read = run(&standard_tools(), "Read", json!({"file_path": name}), context).await;
            assert!(!read.is_error, "{}", text_of(&read));
        }
        let input = json!({"file_path": name, "content": content});
        let written = run(&standard_tools(), "Write", input, context).await;
        assert!(!written.is_error, "{}", text_of(&written));
        self.changes.extend(written.changes.into_iter().map(|change| (change.path, change.versions)));
    }

    /// Says what would come of taking back all changes from the one with this number on.
    fn plan(&self, from: usize) -> Vec<FilePlan> {
        let mut files = ChangedFiles::default();
        for (path, versions) in &self.changes[from..] {
            files.add(path, *versions, &self.copies);
        }
        files.plan(&self.copies)
    }

    /// Takes back all changes from the one with this number on. Returns the reasons why some stay.
    fn rewind(&mut self, from: usize) -> Vec<String> {
        let mut left = Vec::new();
        for plan in self.plan(from) {
            match plan {
                FilePlan::Ready(file, _) => match file.put_back(&Writers::keeping(self.copies.clone())) {
                    Ok(versions) => self.changes.push((file.path, Some(versions))),
                    Err(why) => left.push(why),
                },
                FilePlan::Stays(_, why) => left.push(why),
            }
        }
        left
    }

    fn files(&self) -> BTreeMap<&'static str, Option<Vec<u8>>> {
        NAMES.into_iter().map(|name| (name, std::fs::read(self.bench.path(name)).ok())).collect()
    }
}

#[tokio::test]
async fn whatever_agents_have_written_goes_and_nothing_else() {
    let (mut exact, mut kept) = (0, 0);
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let mut team = Team::new();
        for name in &NAMES[..3] {
            team.bench.put(name, format!("{name} as the user wrote it, {seed}\r\n"));
        }
        // What each file has to be afterwards.
        let mut wanted = team.files();
        let mut from = 0;
        let mut by_agent: Vec<&str> = Vec::new();
        let mut mixed: Vec<&str> = Vec::new();
        let steps = 4 + dice.roll(12);
        let begin = dice.roll(4);
        for step in 0..steps {
            if step == begin {
                (wanted, from) = (team.files(), team.changes.len());
                by_agent.clear();
                mixed.clear();
            }
            let name = NAMES[usize::try_from(dice.roll(4)).unwrap()];
            let content = format!("step {step} of {seed}\n{}", "more\n".repeat(usize::try_from(dice.roll(3)).unwrap()));
            if dice.roll(5) == 0 {
                // Somebody else.
                if dice.roll(3) == 0 && team.bench.path(name).exists() {
                    std::fs::remove_file(team.bench.path(name)).unwrap();
                } else {
                    team.bench.put(name, format!("foreign {content}"));
                }
                if by_agent.contains(&name) {
                    mixed.push(name);
                } else {
                    wanted.insert(name, std::fs::read(team.bench.path(name)).ok());
                }
            } else {
                team.write(dice.roll(2) == 0, name, &content).await;
                by_agent.push(name);
            }
        }
        let before = team.files();
        let left = team.rewind(from);
        for (name, content) in team.files() {
            if mixed.contains(&name) {
                assert_eq!(content, before[name], "seed {seed}: {name} is not only the agents', {left:?}");
                kept += 1;
            } else {
                assert_eq!(content, wanted[name], "seed {seed}: {name}, {left:?}");
                exact += usize::from(by_agent.contains(&name));
            }
        }
        // What is as it was before is nothing to speak of.
        let stay = NAMES.iter().filter(|name| mixed.contains(*name) && before[*name] != wanted[*name]).count();
        assert_eq!(left.len(), stay, "seed {seed}: {left:?}, {mixed:?}");
        assert!(team.plan(from).iter().all(|plan| matches!(plan, FilePlan::Stays(..))), "there is nothing more to do");
    }
    assert!(exact > 60 && kept > 10, "{exact} exact, {kept} kept: the dice are loaded");
}

#[tokio::test]
async fn rewinding_can_go_further_back_afterwards() {
    let mut team = Team::new();
    team.bench.put("a.txt", "zero\n");
    for content in ["one\n", "two\n", "three\n"] {
        team.write(false, "a.txt", content).await;
    }
    for (from, content) in [(2, "two\n"), (1, "one\n"), (0, "zero\n")] {
        assert_eq!(team.rewind(from), Vec::<String>::new());
        assert_eq!(team.bench.get("a.txt"), content);
    }
}

#[tokio::test]
async fn a_file_keeps_its_rights_and_its_line_ends() {
    let mut team = Team::new();
    let path = team.bench.put("a.txt", "one\r\ntwo");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    team.write(true, "a.txt", "other\n").await;
    assert_eq!(team.rewind(0), Vec::<String>::new());
    assert_eq!(std::fs::read(&path).unwrap(), b"one\r\ntwo");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn what_was_planned_is_checked_once_more() {
    let mut team = Team::new();
    team.bench.put("a.txt", "one\n");
    team.write(false, "a.txt", "two\n").await;
    team.write(false, "new.txt", "new\n").await;
    let plans = team.plan(0);
    team.bench.put("a.txt", "the user was quicker\n");
    let secret = team.bench.outside("secret");
    std::fs::write(&secret, "new\n").unwrap();
    std::fs::remove_file(team.bench.path("new.txt")).unwrap();
    std::os::unix::fs::symlink(&secret, team.bench.path("new.txt")).unwrap();
    for plan in plans {
        let FilePlan::Ready(file, _) = plan else { panic!("{plan:?}") };
        file.put_back(&Writers::keeping(team.copies.clone())).unwrap_err();
    }
    assert_eq!(team.bench.get("a.txt"), "the user was quicker\n");
    assert!(secret.exists(), "what a link leads to is not the file");
}

#[tokio::test]
async fn a_copy_that_is_missing_or_was_never_kept_leaves_the_file() {
    let mut team = Team::new();
    let huge = "x".repeat((16 << 20) + 1);
    team.bench.put("a.txt", "one\n");
    team.bench.put("b.txt", "small\n");
    team.write(false, "a.txt", "two\n").await;
    team.write(false, "b.txt", &huge).await;
    std::fs::remove_dir_all(team.bench.outside("copies")).unwrap();
    let left = team.rewind(0);
    assert!(left[0].starts_with("its copy cannot be read"), "{left:?}");
    assert_eq!(left[1], "no copy of it was kept");
    assert_eq!((team.bench.get("a.txt").as_str(), team.bench.get("b.txt").len()), ("two\n", huge.len()));
    // Where no copy can be kept, the work goes on.
    std::fs::write(team.bench.outside("copies"), "a file in the way").unwrap();
    team.write(false, "a.txt", "three\n").await;
    assert_eq!(team.bench.get("a.txt"), "three\n");
}
