//! Hearing from the system at once that something happens near a place that is watched.
//!
//! Owns which folders and files are listened to. Leaves what an event means to `watch`. Invariants: whoever listens anew and
//! looks then misses nothing; where the system cannot say it, or has lost something, that counts as if much had happened.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::evict::VacantPlace;
use crate::obeyed::is_kept_by_pattern;

/// Events that are taken in at a time; of more, it does not matter which they are.
const MAX_EVENTS: usize = 4_096;
/// Entries that somebody else has made, each of which is listened to.
const MAX_KEPT: usize = 256;

/// What is listened to for all commands in the sandbox.
#[derive(Debug)]
pub(super) struct PlaceEvents {
    /// Shared with whoever waits.
    inotify: Arc<OwnedFd>,
    listened: HashMap<i32, Listened>,
    /// Parts of the paths of places below the folders that can be written, in lower case.
    names: HashSet<OsString>,
}

#[derive(Debug)]
struct Listened {
    path: PathBuf,
    /// Whether anything there matters, as it belongs to somebody else; else only names of places do.
    is_kept: bool,
    /// Whether it is a folder of git's, in which every new name matters.
    is_of_git: bool,
}

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct HeardEvents {
    /// Whether a look can find something.
    pub(super) is_news: bool,
    /// Whether something is new in a folder of git's.
    pub(super) is_of_git: bool,
    /// Whether a folder is not listened to any more.
    pub(super) has_lost: bool,
    /// Paths at which something has appeared, which may be gone again.
    pub(super) appeared: BTreeSet<PathBuf>,
}

impl PlaceEvents {
    /// Begins to listen. Returns `None` where the system has no room for it.
    pub(super) fn new() -> Option<Self> {
        Some(Self { inotify: Arc::new(system::begin()?), listened: HashMap::new(), names: HashSet::new() })
    }

    /// Returns what waits for the next event, at most for this time, while this one may be changed.
    pub(super) fn waiter(&self) -> impl FnOnce(Duration) + use<> {
        let inotify = self.inotify.clone();
        move |limit| {
            let mut waiting = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
            // A signal is as good as an event.
            let _ = poll(&mut waiting, PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX));
        }
    }

    /// Listens to the folders that these places would appear in, as far as they exist, to the indexes of git in some folders,
    /// to what is kept, and to folders and files of git's. Returns `false` where the system has no room for it.
    pub(super) fn listen<'a>(
        &mut self,
        (places, tops, kept, (git_folders, git_files)): (
            impl Iterator<Item = &'a VacantPlace>,
            impl Iterator<Item = &'a PathBuf>,
            impl Iterator<Item = &'a PathBuf>,
            (Vec<PathBuf>, Vec<PathBuf>),
        ),
    ) -> bool {
        let (mut done, mut has_room) = (HashSet::new(), true);
        self.names = HashSet::from(["index".into()]);
        for top in tops {
            self.add(&top.join(".git"), true, &mut has_room);
        }
        for place in places {
            let inside = place.path.strip_prefix(&place.top).unwrap_or(Path::new(""));
            self.names.extend(inside.iter().map(OsStr::to_ascii_lowercase));
            let mut folders: Vec<&Path> =
                place.path.ancestors().skip(1).take_while(|folder| folder.starts_with(&place.top)).collect();
            while let Some(folder) = folders.pop() {
                let is_there = !done.insert(folder.to_path_buf()) || self.add(folder, true, &mut has_room);
                if !is_there {
                    done.remove(folder);
                    break;
                }
            }
        }
        for path in kept.take(MAX_KEPT) {
            self.add(path, false, &mut has_room);
        }
        for path in &git_files {
            self.add(path, false, &mut has_room);
        }
        for path in git_folders {
            // Without room, the period between two looks has to do.
            if let Ok(number) = system::listen(&self.inotify, &path, true) {
                let listened = Listened { path, is_kept: false, is_of_git: false };
                self.listened.entry(number).or_insert(listened).is_of_git = true;
            }
        }
        has_room
    }

    /// Listens to a folder or a file. Returns whether that is there.
    fn add(&mut self, path: &Path, is_folder: bool, has_room: &mut bool) -> bool {
        match system::listen(&self.inotify, path, is_folder) {
            Ok(number) => {
                let listened = Listened { path: path.to_path_buf(), is_kept: false, is_of_git: false };
                self.listened.entry(number).or_insert(listened).is_kept |= !is_folder;
                true
            }
            Err(is_full) => {
                *has_room &= !is_full;
                false
            }
        }
    }

    /// Takes in what has happened. Does not wait.
    pub(super) fn hear(&mut self) -> HeardEvents {
        let (mut heard, mut left) = (HeardEvents::default(), MAX_EVENTS);
        let inotify = self.inotify.clone();
        let is_whole = system::read(&inotify, |event| {
            self.take_in(&event, &mut heard);
            left -= 1;
            left > 0
        });
        heard.is_news |= !is_whole;
        heard
    }

    fn take_in(&mut self, event: &SystemEvent<'_>, heard: &mut HeardEvents) {
        let Some(listened) = self.listened.get(&event.number) else { return };
        if let Some(name) = event.name {
            let is_name = self.names.contains(&name.to_ascii_lowercase()) || is_kept_by_pattern(Path::new(name));
            let is_settings = listened.is_of_git && name.as_encoded_bytes().starts_with(b"config");
            heard.is_news |= listened.is_kept || is_name || is_settings && event.is_new;
            heard.is_of_git |= listened.is_of_git && event.is_new;
            if is_name && event.is_new {
                heard.appeared.insert(listened.path.join(name));
            }
            return;
        }
        heard.is_news |= listened.is_kept;
        if event.is_elsewhere {
            // Its path may be another's by now.
            (heard.is_news, heard.has_lost) = (true, true);
            self.listened.remove(&event.number);
            system::forget(&self.inotify, event.number);
        }
    }
}

/// An event as the system tells it.
struct SystemEvent<'a> {
    /// Number of what is listened to.
    number: i32,
    /// Entry of a folder that it is about.
    name: Option<&'a OsStr>,
    /// Whether that was not there before.
    is_new: bool,
    /// Whether what is listened to is gone, or somewhere else.
    is_elsewhere: bool,
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::SystemEvent;

    pub(super) fn begin() -> Option<OwnedFd> {
        inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()
    }

    /// Returns the number of what is listened to from now on, or whether there is no room for it.
    pub(super) fn listen(inotify: &OwnedFd, path: &Path, is_folder: bool) -> Result<i32, bool> {
        let names = WatchFlags::CREATE | WatchFlags::MOVE | WatchFlags::DELETE;
        let itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let mut flags = names | itself | WatchFlags::DONT_FOLLOW | WatchFlags::MASK_ADD;
        // What is written in a folder does not matter, unless that is somebody's.
        flags |= if is_folder { WatchFlags::ONLYDIR } else { WatchFlags::MODIFY | WatchFlags::ATTRIB };
        inotify::add_watch(inotify, path, flags).map_err(|error| matches!(error, Errno::NOSPC | Errno::NOMEM))
    }

    pub(super) fn forget(inotify: &OwnedFd, number: i32) {
        // With what was listened to, it may be gone.
        let _ = inotify::remove_watch(inotify, number);
    }

    /// Reads what has happened, as long as it is wanted. Returns `false` if there may be more, or some of it was lost.
    pub(super) fn read(inotify: &OwnedFd, mut take: impl FnMut(SystemEvent<'_>) -> bool) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let (mut reader, mut is_whole) = (Reader::new(inotify, &mut buffer), true);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(error) => return is_whole && error == Errno::WOULDBLOCK,
            };
            let elsewhere = ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT;
            is_whole &= !event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let event = SystemEvent {
                number: event.wd(),
                name: event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())),
                is_new: event.events().intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO),
                is_elsewhere: event.events().intersects(elsewhere),
            };
            if !take(event) {
                return false;
            }
        }
    }
}

/// Of other systems, no place has to be watched.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use super::SystemEvent;

    pub(super) fn begin() -> Option<OwnedFd> {
        None
    }

    pub(super) fn listen(_: &OwnedFd, _: &Path, _: bool) -> Result<i32, bool> {
        Err(true)
    }

    pub(super) fn forget(_: &OwnedFd, _: i32) {}

    pub(super) fn read(_: &OwnedFd, _: impl FnMut(SystemEvent<'_>) -> bool) -> bool {
        true
    }
}
