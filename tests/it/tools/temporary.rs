//! Temporary folders and files: whose they are, and that they go.

use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use belvedere::sandbox::{Hosts, Sandbox, SandboxPlaces};
use belvedere::temporary::{self, TemporaryFolder, remove_tree};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

/// Set for a test that runs in a process of its own.
const UMASK: &str = "BELVEDERE_TEST_UMASK";

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn they_are_the_users_alone_whatever_the_umask_is() {
    for umask in ["000", "022", "077", "277", "777"] {
        let place = tempfile::tempdir().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tools::temporary::under_a_umask", "--nocapture"])
            .env(UMASK, umask)
            .env("TMPDIR", place.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{umask}: {output:?}");
        assert!(place.path().join("made").exists(), "{umask}: {output:?}");
    }
}

/// Runs in a process of its own only: the umask is the whole process's.
#[test]
fn under_a_umask() {
    let Some(umask) = std::env::var(UMASK).ok().and_then(|umask| u32::from_str_radix(&umask, 8).ok()) else { return };
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(umask));
    let one = TemporaryFolder::new("git").unwrap();
    let two = TemporaryFolder::within(&std::env::temp_dir(), ".landing-").unwrap();
    let file = temporary::file(".md").unwrap();
    assert_eq!((mode(one.path()), mode(two.path()), mode(file.path())), (0o700, 0o700, 0o600));
    let cache = two.path().join("cache");
    DirBuilder::new().mode(0o700).create(&cache).unwrap();
    std::fs::set_permissions(&cache, Permissions::from_mode(0o700)).unwrap();
    let _sandbox = if umask & 0o700 == 0 {
        Some(Sandbox::new(SandboxPlaces::default(), cache, Hosts::default(), false).unwrap())
    } else {
        None
    };
    for entry in std::env::temp_dir().read_dir().unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    std::fs::write(std::env::temp_dir().join("made"), "").unwrap();
}

/// Makes folders in each other, with a file in the last one.
fn nest(top: &Path, levels: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = File::open(top).unwrap();
    for _ in 0..levels {
        mkdirat(&folder, "deep", Mode::from(0o755)).unwrap();
        folder = File::from(openat(&folder, "deep", flags, Mode::empty()).unwrap());
    }
    drop(File::from(openat(&folder, "last", OFlags::CREATE | OFlags::WRONLY, Mode::from(0o600)).unwrap()));
}

#[test]
fn what_is_nested_deeper_than_a_path_can_say_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let folder = TemporaryFolder::within(place.path(), "it-").unwrap();
    nest(folder.path(), 3_000);
    // Names that the removal would give itself, and folders that nobody may look into.
    for (name, mode) in [(".belvedere-going-1", 0o755), ("shut", 0o000), ("shut-too", 0o500)] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::create_dir(folder.path().join(name).join("inner")).unwrap();
        std::fs::write(folder.path().join(name).join("file"), "x").unwrap();
        std::fs::set_permissions(folder.path().join(name), Permissions::from_mode(mode)).unwrap();
    }
    let path = folder.path().to_path_buf();
    folder.remove().unwrap();
    assert!(!path.exists());
    let folder = TemporaryFolder::within(place.path(), "it-").unwrap();
    nest(folder.path(), 1_100);
    let path = folder.path().to_path_buf();
    drop(folder);
    assert!(!path.exists());
}

#[test]
fn a_removal_follows_no_link() {
    let place = tempfile::tempdir().unwrap();
    let kept = place.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    std::fs::write(kept.join("file"), "x").unwrap();
    let going = place.path().join("going");
    std::fs::create_dir_all(going.join("a/b")).unwrap();
    for link in ["link", "a/link", "a/b/link"] {
        std::os::unix::fs::symlink(&kept, going.join(link)).unwrap();
    }
    remove_tree(&going).unwrap();
    assert!(!going.exists() && kept.join("file").exists());
    let link = place.path().join("to-kept");
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    assert!(remove_tree(&link).is_err() && kept.join("file").exists());
    remove_tree(&place.path().join("missing")).unwrap();
}

#[test]
fn what_a_killed_program_has_left_is_swept_and_nothing_else_is() {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::temporary::in_a_place_of_its_own", "--nocapture"])
        .env("BELVEDERE_TEST_SWEEP", "1")
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    assert!(output.status.success() && place.path().join("swept").exists(), "{output:?}");
}

#[test]
fn in_a_place_of_its_own() {
    if std::env::var_os("BELVEDERE_TEST_SWEEP").is_none() {
        return;
    }
    let place = std::env::temp_dir();
    let in_use = TemporaryFolder::new("git").unwrap();
    let left = place.join("belvedere-git-left01");
    std::fs::create_dir_all(left.join("info")).unwrap();
    std::fs::write(left.join(".in-use"), "").unwrap();
    nest(&left, 1_100);
    // Of the user, and named alike.
    std::fs::create_dir_all(place.join("belvedere-git-project/src")).unwrap();
    std::fs::create_dir_all(place.join("belvedere-git-my-clone")).unwrap();
    std::fs::write(place.join("belvedere-git-my-clone/.in-use"), "").unwrap();
    std::fs::create_dir_all(place.join("belvedere-other-a1b2c3")).unwrap();
    std::fs::write(place.join("belvedere-other-a1b2c3/.in-use"), "").unwrap();
    std::os::unix::fs::symlink(place.join("belvedere-other-a1b2c3"), place.join("belvedere-git-link01")).unwrap();
    temporary::sweep(&["git", "folder"]);
    assert!(!left.exists() && in_use.path().exists());
    for name in ["belvedere-git-project/src", "belvedere-git-my-clone", "belvedere-other-a1b2c3/.in-use"] {
        assert!(place.join(name).exists(), "{name}");
    }
    std::fs::write(place.join("swept"), "").unwrap();
}
