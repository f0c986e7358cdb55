//! Opening a path in which no part may be a symbolic link.
//!
//! Owns the way from a resolved path to a descriptor. Leaves what may be opened to its callers. Invariant: a descriptor leads
//! to the place that its path names: all links were followed before the path was judged, so a link that is met while
//! opening has come since, and is refused.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

/// Opens a place without the right to read it and without any effect on what is there.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOK: OFlags = OFlags::NONBLOCK;

/// Opens a resolved path with these flags. Fails with `ELOOP` where a part of it is a link.
pub fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS) {
        // An older kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return Ok(File::from(opened?)),
    }
    open_by_parts(path, flags)
}

/// Opens the parts of a path one after the other, none of them a link.
fn open_by_parts(path: &Path, flags: OFlags) -> io::Result<File> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut names = names.peekable();
    let mut place = File::from(openat(CWD, "/", LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
    while let Some(name) = names.next() {
        let flags = if names.peek().is_some() { LOOK | OFlags::DIRECTORY } else { flags };
        place = open_in(&place, name, flags)?;
    }
    Ok(place)
}

/// Opens an entry of a folder. Fails with `ELOOP` if it is a link.
pub fn open_in(folder: &File, name: &OsStr, flags: OFlags) -> io::Result<File> {
    Ok(File::from(openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?))
}

/// Opens a folder, to work with its entries, whatever its rights are.
pub fn open_folder(path: &Path) -> io::Result<File> {
    open(path, LOOK | OFlags::DIRECTORY)
}

/// As [`open_folder`], for an entry of a folder.
pub fn in_folder(folder: &File, name: &OsStr) -> io::Result<File> {
    open_in(folder, name, LOOK | OFlags::DIRECTORY)
}

/// Returns what is known of an entry of a folder; of a link, what is known of the link.
pub fn look_in(folder: &File, name: &OsStr) -> io::Result<Metadata> {
    open_in(folder, name, LOOK)?.metadata()
}

/// Returns what is known of a resolved path, without the right to read what is there.
pub fn look(path: &Path) -> io::Result<Metadata> {
    open(path, LOOK)?.metadata()
}

/// Opens a folder, to work with the entries below it. It and those above it are made if need be.
pub fn make_folder(path: &Path) -> io::Result<File> {
    match open_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let above = make_folder(above)?;
    match mkdirat(&above, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        Ok(()) | Err(Errno::EXIST) => in_folder(&above, name),
        Err(error) => Err(error.into()),
    }
}

/// Makes a file with this content and these rights at a resolved path, at which nothing may lie.
pub fn put_file(path: &Path, content: &[u8], rights: u32) -> io::Result<()> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let folder = open_folder(path.parent().ok_or_else(invalid)?)?;
    put_file_in(&folder, path.file_name().ok_or_else(invalid)?, content, rights)
}

/// Makes a file with this content and these rights in a folder, where none of this name may lie.
pub fn put_file_in(folder: &File, name: &OsStr, content: &[u8], rights: u32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(rights);
    let mut file = File::from(openat(folder, name, flags, mode)?);
    file.write_all(content)
}

/// Gives an entry of a folder another name, which must be free, in the same folder or another one.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub fn rename_to_free((from, name): (&File, &OsStr), (to, new): (&File, &OsStr)) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, name, to, new, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub fn rename_to_free(_from: (&File, &OsStr), _to: (&File, &OsStr)) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}
