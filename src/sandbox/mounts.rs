//! What can be written and what is seen, as mounts of the process's own.
//!
//! Owns making all mounts read-only but the writable folders, and putting the protected and the hidden in their places.
//! Invariant: nothing of it is seen outside.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::{SandboxPolicy, TMP};

/// Where the kernel lists processes. It is mounted anew for processes with numbers of their own.
const PROCESSES: &str = "/proc";
/// How often it is tried to cover something that is replaced meanwhile.
const MAX_TRIES: usize = 8;
/// Where programs share memory by name; each sandbox has its own.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// Where terminals are, and what makes new ones.
pub(super) const TERMINALS: &str = "/dev/pts";
pub(super) const TERMINAL_MAKER: &str = "/dev/ptmx";

pub(super) fn change(policy: &SandboxPolicy) -> io::Result<()> {
    // Nothing of this is seen outside, and nothing that is mounted there from now on comes in.
    set(None, Path::new("/"), MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    if policy.has_own_processes {
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), PROCESSES, Some("proc"), flags, None::<&str>)
            .map_err(|errno| io::Error::new(io::Error::from(errno).kind(), format!("{PROCESSES}: {errno}")))?;
    }
    let before = mount_points()?;
    for folder in &policy.writable {
        set(Some(folder), folder, MsFlags::MS_BIND | MsFlags::MS_REC)?;
    }
    let is_writable = |path: &Path| policy.writable.iter().any(|folder| path.starts_with(folder));
    for place in before.iter().filter(|place| !is_writable(place)) {
        match make_read_only(place) {
            // Another mount lies on top of it, or nobody can reach it. Landlock holds there.
            Ok(()) | Err(Errno::EINVAL | Errno::EACCES | Errno::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let shared = Path::new(SHARED_MEMORY);
    if shared.is_dir() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), shared, Some("tmpfs"), flags, Some("mode=1777")).map_err(io::Error::from)?;
    }
    own_terminals()?;
    let hidden = || policy.hidden.iter().filter(|place| place.exists());
    let is_kept = |path: &Path| is_protected(path, policy);
    // A mount cannot be renamed, and so no protected place goes away with the folder that it lies in. In a protected one,
    // nothing does, and a folder that became a mount there could be written again.
    let replaced = policy.stand_ins.iter().map(|(place, _)| place);
    let pinned: BTreeSet<&Path> = policy
        .protected
        .iter()
        .chain(hidden())
        .chain(replaced)
        .flat_map(|place| between(place, policy))
        .filter(|folder| !is_kept(folder))
        .collect();
    // Binding one that is a mount already would hide what was put into it.
    let present: BTreeSet<PathBuf> = mount_points()?.into_iter().collect();
    for folder in pinned.into_iter().filter(|folder| !present.contains(*folder)) {
        set(Some(folder), folder, MsFlags::MS_BIND | MsFlags::MS_REC)?;
    }
    // A mount of its own stays as it is when the one above becomes read-only.
    for place in &policy.notes {
        set(Some(place), place, MsFlags::MS_BIND)?;
    }
    for place in policy.protected.iter().filter(|place| !place.parent().is_some_and(is_kept)) {
        set(Some(place), place, MsFlags::MS_BIND | MsFlags::MS_REC)?;
        make_read_only(place)?;
    }
    // What the user has mounted in one came along as it is.
    for place in mount_points()?.iter().filter(|place| place.parent().is_some_and(is_kept) && is_kept(place)) {
        make_read_only(place)?;
    }
    let (file, folder) = &policy.masks;
    let texts = policy.stand_ins.first().and_then(|(_, text)| text.parent());
    // What is bound of a read-only mount is read-only itself, which saves the half for hundreds of places.
    for source in [file.as_path(), folder].into_iter().chain(texts).filter(|source| source.exists()) {
        set(Some(source), source, MsFlags::MS_BIND)?;
        make_read_only(source)?;
    }
    for place in hidden() {
        cover(place, (file, folder))?;
    }
    for (place, text) in policy.stand_ins.iter().filter(|(place, _)| place.exists()) {
        set(Some(text), place, MsFlags::MS_BIND)?;
    }
    // Last, as what is mounted from there would not be found any more.
    policy.tmp.as_ref().map_or(Ok(()), |tmp| set(Some(tmp), Path::new(TMP), MsFlags::MS_BIND))
}

/// Puts an empty file or folder in the place of what is hidden.
fn cover(place: &Path, (file, folder): (&Path, &Path)) -> io::Result<()> {
    let mut tries = 0..MAX_TRIES;
    loop {
        let mask = if place.is_dir() { folder } else { file };
        match set(Some(mask), place, MsFlags::MS_BIND) {
            // What lies beside the folder of an agent comes and goes, and is replaced by others.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if place.symlink_metadata().is_err() || tries.next().is_none() {
                    return if place.symlink_metadata().is_err() { Ok(()) } else { Err(error) };
                }
            }
            covered => return covered,
        }
    }
}

/// Puts terminals of its own in the place of the user's, which a command could read and type into.
fn own_terminals() -> io::Result<()> {
    let (terminals, maker) = (Path::new(TERMINALS), Path::new(TERMINAL_MAKER));
    if !terminals.is_dir() {
        return Ok(());
    }
    let (flags, data) = (MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, Some("newinstance,ptmxmode=0666,mode=0620"));
    mount(Some("devpts"), terminals, Some("devpts"), flags, data).map_err(io::Error::from)?;
    // It is a link to the other one, where it is no device.
    if maker.symlink_metadata().is_ok_and(|facts| !facts.is_symlink()) {
        set(Some(&terminals.join("ptmx")), maker, MsFlags::MS_BIND)?;
    }
    Ok(())
}

/// Returns `true` if a path lies in a protected place, and in nothing there that can be written again.
fn is_protected(path: &Path, policy: &SandboxPolicy) -> bool {
    let open = || policy.writable.iter().chain(&policy.notes);
    let is_opened =
        |place: &PathBuf| open().any(|folder| folder != place && folder.starts_with(place) && path.starts_with(folder));
    policy.protected.iter().any(|place| path.starts_with(place) && !is_opened(place))
}

/// Returns the folders between a writable folder and a place in it; none if it lies in no such folder.
fn between<'a>(place: &'a Path, policy: &SandboxPolicy) -> impl Iterator<Item = &'a Path> {
    let tops = policy.writable.iter().filter(|folder| place.starts_with(folder));
    let depth = tops.map(|top| top.components().count()).max();
    let folders = place.ancestors().skip(1);
    folders.take_while(move |folder| depth.is_some_and(|depth| folder.components().count() > depth))
}

fn set(source: Option<&Path>, target: &Path, flags: MsFlags) -> io::Result<()> {
    let named = |errno: Errno| io::Error::new(io::Error::from(errno).kind(), format!("{}: {errno}", target.display()));
    mount(source, target, None::<&str>, flags, None::<&str>).map_err(named)
}

/// Makes one mount read-only and leaves the rest of it as it is: what came from outside may not be loosened.
fn make_read_only(place: &Path) -> Result<(), Errno> {
    let is = statvfs(place)?.flags();
    let kept = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    flags.extend(kept.iter().filter(|(found, _)| is.contains(*found)).map(|(_, keep)| *keep));
    if !is.intersects(FsFlags::ST_NOATIME | FsFlags::ST_RELATIME) {
        flags |= MsFlags::MS_STRICTATIME;
    }
    mount(None::<&Path>, place, None::<&str>, flags, None::<&str>)
}

/// Returns where something is mounted, as proc_pid_mountinfo(5) lists it: the fifth field of each line, in which blanks
/// are written in octal.
fn mount_points() -> io::Result<Vec<PathBuf>> {
    let listing = std::fs::read("/proc/self/mountinfo")?;
    let fields = listing.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(fields.map(unescaped).collect())
}

fn unescaped(field: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::with_capacity(field.len()), field);
    while let [first, tail @ ..] = rest {
        let octal = tail.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}
