//! Which sessions are removed at a start.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use belvedere::session::{Retention, remove_old};

const DAY: Duration = Duration::from_hours(24);

/// Makes a session of so many bytes that was last used so many days ago.
fn session(state: &Path, id: &str, days: u32, bytes: usize) -> PathBuf {
    let dir = state.join("sessions/shop-00000000").join(id);
    fs::create_dir_all(dir.join("reports")).unwrap();
    fs::write(dir.join("main.jsonl"), vec![b'x'; bytes]).unwrap();
    let record = File::options().write(true).open(dir.join("main.jsonl")).unwrap();
    record.set_modified(SystemTime::now() - DAY * days).unwrap();
    dir
}

#[test]
fn the_oldest_go_but_none_that_is_open() {
    let state = tempfile::tempdir().unwrap();
    let make = |id: &str, days, bytes| session(state.path(), id, days, bytes);
    let [new, large, own] = [make("new", 1, 400), make("large", 2, 700), make("own", 50, 10)];
    let [open, old] = [make("open", 60, 10), make("old", 70, 10)];
    let lock = File::open(&open).unwrap();
    lock.try_lock().unwrap();
    let left = || [&new, &large, &own, &open, &old].map(|dir| dir.exists());
    let keep = |age: Option<u32>, bytes| Retention { age: age.map(|days| DAY * days), bytes };

    remove_old(state.path(), &keep(None, None), None);
    assert_eq!(left(), [true; 5], "without a limit nothing goes");
    // The folder of the present session may be known by another path.
    let link = state.path().join("link");
    std::os::unix::fs::symlink(state.path().join("sessions/shop-00000000"), &link).unwrap();
    remove_old(state.path(), &keep(Some(30), None), Some(&link.join("own")));
    assert_eq!(left(), [true, true, true, true, false]);
    remove_old(state.path(), &keep(None, Some(1_000)), Some(&own));
    assert_eq!(left(), [true, false, true, true, false], "the latest stay while they fit");
}

#[test]
fn a_clock_that_runs_ahead_removes_nothing_at_once() {
    let state = tempfile::tempdir().unwrap();
    let make = |id: &str, days| session(state.path(), id, days, 10);
    let [last, before] = [make("last", 400), make("before", 500)];
    let keep = Retention { age: Some(DAY * 30), bytes: None };
    remove_old(state.path(), &keep, None);
    let own = make("own", 0);
    remove_old(state.path(), &keep, Some(&own));
    assert!(last.exists() && before.exists(), "all that there was is too old");
    // The next start knows a session of this time.
    remove_old(state.path(), &keep, None);
    assert!(own.exists() && !last.exists() && !before.exists());
}
