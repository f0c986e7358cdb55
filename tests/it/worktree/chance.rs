//! Random work on both sides: a merge gives what git's own merge of commits gives, or is refused where that one is.

use std::path::Path;

use belvedere::worktree::Merged;

use super::{Repo, allow_execution, files, git, go_on, known, put, run};
use crate::support::Dice;

const NAMES: [&str; 6] = ["a", "b", "dir/c", "dir/d", "new", "dir/sub/e"];

fn text(dice: &mut Dice) -> String {
    (0..12)
        .map(|line| if dice.roll(6) == 0 { format!("{line} {}\n", dice.roll(3)) } else { format!("{line}\n") })
        .collect()
}

/// Does a few random things to the files of a folder.
fn work(root: &Path, dice: &mut Dice) {
    for _ in 0..dice.roll(5) {
        let name = *dice.pick(&NAMES);
        let path = root.join(name);
        match dice.roll(8) {
            0 if path.is_file() => std::fs::remove_file(&path).unwrap(),
            1 if path.is_file() => allow_execution(&path),
            2 if path.is_file() => {
                let to = root.join(format!("moved-{}", dice.roll(2)));
                if !to.exists() {
                    std::fs::rename(&path, to).unwrap();
                }
            }
            3 => put(root, name, [0, u8::try_from(dice.roll(3)).unwrap()]),
            _ => put(root, name, text(dice)),
        }
    }
}

#[tokio::test]
async fn merges_are_those_of_git_or_refused() {
    let (mut merged, mut refused) = (0, 0);
    for seed in 1..=12 {
        let mut dice = Dice::new(seed * 7_919);
        let repo = Repo::new(&[]);
        for name in &NAMES[..4] {
            repo.put(name, text(&mut dice));
        }
        repo.commit("base");
        let tree = repo.create("a").await;
        work(&tree.root, &mut dice);
        if dice.roll(2) == 0 {
            git(&tree.root, ["add", "-A"]);
            git(&tree.root, ["commit", "-q", "--allow-empty", "-m", "half"]);
            work(&tree.root, &mut dice);
        }
        work(&repo.root(), &mut dice);
        // The same with real commits, in a clone.
        let oracle = repo.top().join("oracle");
        git(&repo.top(), ["clone", "-q", "project", "oracle"]);
        for (branch, from) in [("theirs", tree.root.clone()), ("ours", repo.root())] {
            git(&oracle, ["checkout", "-q", "-b", branch, "origin/main"]);
            git(&oracle, ["rm", "-q", "-r", "."]);
            for (path, mode, text) in files(&from) {
                put(&oracle, path.to_str().unwrap(), text);
                if mode & 0o100 != 0 {
                    allow_execution(&oracle.join(path));
                }
            }
            git(&oracle, ["add", "-A"]);
            git(&oracle, ["commit", "-q", "--allow-empty", "-m", branch]);
        }
        let is_clean = run(&oracle, ["merge", "-q", "--no-edit", "theirs"]).status.success();
        let before = files(&repo.root());
        match repo.trees.merge(&tree, &known(&repo.trees, &tree).await, &go_on()).await.unwrap() {
            Merged::Done { .. } => {
                assert!(is_clean, "seed {seed}: git refuses this merge");
                assert_eq!(files(&repo.root()), files(&oracle), "seed {seed}");
                merged += 1;
            }
            Merged::Conflicts(conflicts) => {
                assert!(!is_clean, "seed {seed}: git merges this, {conflicts:?}");
                assert!(!conflicts.is_empty());
                assert_eq!(files(&repo.root()), before, "seed {seed}");
                refused += 1;
            }
        }
    }
    assert!(merged > 2 && refused > 2, "{merged} merged, {refused} refused: the dice are loaded");
}
