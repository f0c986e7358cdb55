//! What a new version of a file takes over, what a crash leaves, and folders that change under a call.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, XattrFlags, getxattr, renameat_with, setxattr};
use serde_json::json;

use super::{Bench, text_of};

/// Runs `calls` while another thread exchanges the project's folder `d` and a link to the outside, over and over.
fn under_exchange(bench: &Bench, calls: impl AsyncFn()) {
    fs::create_dir(bench.path("d")).unwrap();
    fs::create_dir(bench.outside("elsewhere")).unwrap();
    symlink(bench.outside("elsewhere"), bench.path("l")).unwrap();
    fs::write(bench.path("d/a.txt"), "inside\n").unwrap();
    fs::write(bench.outside("elsewhere/a.txt"), "outside\n").unwrap();
    let (folder, link) = (bench.path("d"), bench.path("l"));
    let over = AtomicBool::new(false);
    let runtime = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        tokio::task::block_in_place(|| runtime.block_on(calls()));
        over.store(true, Ordering::Relaxed);
    });
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_becomes_a_link_leads_nowhere() {
    let bench = Bench::new();
    under_exchange(&bench, async || {
        let mut inside = 0;
        for turn in 0..300 {
            let read = text_of(&read_as_judged(&bench, "Read", json!({"file_path": "d/a.txt"})).await);
            assert!(!read.contains("outside"), "turn {turn}: {read}");
            inside += usize::from(read.contains("inside"));
            let found = json!({"pattern": "side", "path": "d", "output_mode": "content"});
            let found = text_of(&read_as_judged(&bench, "Grep", found).await);
            assert!(!found.contains("outside\n"), "turn {turn}: {found}");
            read_as_judged(&bench, "Write", json!({"file_path": format!("d/new-{turn}"), "content": "x"})).await;
        }
        assert!(inside > 0, "the file is read where it lies");
    });
    let outside: Vec<_> = fs::read_dir(bench.outside("elsewhere")).unwrap().collect();
    assert_eq!(outside.len(), 1, "{outside:?}");
}

/// Carries out a call as the loop does: only where its plan leads into the project.
async fn read_as_judged(bench: &Bench, tool: &str, input: serde_json::Value) -> belvedere::tool::ToolOutput {
    let tools = crate::support::standard_tools();
    match tools.find(tool).unwrap().parse(&super::args(input)).prepare(&bench.context).await {
        Ok(call) if super::path_of(&call.plan).starts_with(bench.context.project.as_path()) => call.run.await,
        _ => belvedere::tool::ToolOutput::default(),
    }
}

async fn rewrite(bench: &Bench, name: &str) {
    bench.text("Read", json!({"file_path": name})).await;
    bench.text("Write", json!({"file_path": name, "content": "a new version\n"})).await;
    assert_eq!(bench.get(name), "a new version\n");
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(256);
    getxattr(path, name, rustix::buffer::spare_capacity(&mut value)).ok().map(|_| value)
}

/// An access list: the owner reads and writes, the group reads, user 4711 reads and writes.
fn access_list() -> Vec<u8> {
    let entries = [(1_u16, 6_u16, u32::MAX), (2, 6, 4711), (4, 4, u32::MAX), (0x10, 6, u32::MAX), (0x20, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[tokio::test]
async fn attributes_and_access_lists_are_kept() {
    let bench = Bench::new();
    let path = bench.put("a.txt", "old\n");
    let list = access_list();
    let can = |name: &str, value: &[u8]| setxattr(&path, name, value, XattrFlags::empty()).is_ok();
    let (tagged, listed) = (can("user.origin", b"here"), can("system.posix_acl_access", &list));
    let mode = fs::metadata(&path).unwrap().mode();
    rewrite(&bench, "a.txt").await;
    assert_eq!(fs::metadata(&path).unwrap().mode(), mode);
    // Not every file system has them.
    assert_eq!(attribute(&path, "user.origin"), tagged.then(|| b"here".to_vec()));
    assert_eq!(attribute(&path, "system.posix_acl_access"), listed.then_some(list));
}

#[tokio::test]
async fn a_file_of_several_names_is_left_alone() {
    let bench = Bench::new();
    let path = bench.put("a.txt", "old\n");
    fs::hard_link(&path, bench.path("b.txt")).unwrap();
    bench.text("Read", json!({"file_path": "a.txt"})).await;
    for (tool, input) in [
        ("Write", json!({"file_path": "a.txt", "content": "new\n"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"})),
    ] {
        assert!(text_of(&bench.plan(tool, input.clone()).await.unwrap_err()).contains("2 names (hard links)"));
        assert!(bench.error(tool, input).await.contains("Ask the user"));
    }
    assert_eq!((bench.get("a.txt").as_str(), fs::metadata(path).unwrap().nlink()), ("old\n", 2));
}

#[tokio::test]
async fn a_change_behind_the_same_size_and_time_is_noticed() {
    let bench = Bench::new();
    let path = bench.put("a.txt", "old\n");
    bench.text("Read", json!({"file_path": "a.txt"})).await;
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "OLD\n").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let words = bench.error("Write", json!({"file_path": "a.txt", "content": "new\n"})).await;
    assert!(words.contains("changed on disk"), "{words}");
}

#[tokio::test]
async fn what_a_crash_has_left_is_swept_up() {
    let bench = Bench::new();
    let names =
        [".belvedere-a1b2c3.tmp", ".belvedere-held.tmp", ".belvedere-link.tmp", "belvedere.tmp", ".belvedere-a"];
    for name in names {
        bench.put(name, "half of a fi");
    }
    // One is being written by a program that runs, one is a link that somebody put there.
    let held = fs::File::open(bench.path(names[1])).unwrap();
    held.lock().unwrap();
    fs::remove_file(bench.path(names[2])).unwrap();
    symlink(bench.put("target", ""), bench.path(names[2])).unwrap();
    bench.text("Write", json!({"file_path": "new.txt", "content": "x"})).await;
    let left = names.map(|name| bench.path(name).symlink_metadata().is_ok());
    assert_eq!(left, [false, true, true, true, true]);
    assert!(bench.path("target").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_file_is_private_while_it_is_written() {
    let bench = Bench::new();
    let path = bench.put("a.txt", "secret\n");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let over = AtomicBool::new(false);
    let folder = bench.path("");
    bench.text("Read", json!({"file_path": "a.txt"})).await;
    let runtime = tokio::runtime::Handle::current();
    let open = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut open = Vec::new();
            while !over.load(Ordering::Relaxed) {
                for entry in fs::read_dir(&folder).unwrap().flatten() {
                    if entry.metadata().is_ok_and(|metadata| metadata.mode() & 0o077 != 0) {
                        open.push(entry.path());
                    }
                }
            }
            open
        });
        tokio::task::block_in_place(|| {
            runtime.block_on(async {
                for turn in 0..200 {
                    let content = format!("{turn}").repeat(2_000);
                    bench.text("Write", json!({"file_path": "a.txt", "content": content})).await;
                }
            });
        });
        over.store(true, Ordering::Relaxed);
        watching.join().unwrap()
    });
    assert_eq!(open, Vec::<std::path::PathBuf>::new());
    assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
}
