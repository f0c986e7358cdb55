//! Extended attributes and access lists, which a new version of a file takes over from the old one.
//!
//! Invariant: either all of them are taken over, or the name of the first that cannot be is returned; what the kernel
//! keeps for itself does not count.

use std::ffi::CStr;
use std::fs::File;

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

const ACCESS_LIST: &CStr = c"system.posix_acl_access";
/// Attributes of a content or of a place, which the system makes anew.
const SYSTEMS_OWN: [&str; 4] = ["security.ima", "security.evm", "com.apple.provenance", "com.apple.lastuseddate"];
/// Bytes of one value or of all names, as many as Linux allows.
const MAX_BYTES: usize = 64 << 10;

/// Gives `new` the attributes of `old`. Fails with the name of the first that cannot be kept.
pub(super) fn take_over_attributes(old: &File, new: &File) -> Result<(), String> {
    let names = names(old)?;
    // A folder can give its new files an access list that the old one has not.
    if !names.iter().any(|name| name.as_slice() == ACCESS_LIST.to_bytes_with_nul()) {
        let _ = fremovexattr(new, ACCESS_LIST);
    }
    for name in &names {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let shown = name.to_string_lossy();
        if SYSTEMS_OWN.iter().any(|own| shown.starts_with(own)) {
            continue;
        }
        let value = value(old, name).map_err(|_| shown.clone().into_owned())?;
        let is_kept = self::value(new, name).is_ok_and(|kept| kept == value)
            || fsetxattr(new, name, &value, XattrFlags::empty()).is_ok();
        if !is_kept {
            return Err(shown.into_owned());
        }
    }
    Ok(())
}

/// Returns the names of a file's attributes, each with its NUL.
fn names(file: &File) -> Result<Vec<Vec<u8>>, String> {
    let mut names = Vec::with_capacity(MAX_BYTES);
    match flistxattr(file, spare_capacity(&mut names)) {
        Ok(_) | Err(Errno::NOTSUP | Errno::NOSYS) => {}
        Err(error) => return Err(format!("list ({error})")),
    }
    Ok(names.split_inclusive(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

fn value(file: &File, name: &CStr) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(MAX_BYTES);
    fgetxattr(file, name, spare_capacity(&mut value))?;
    Ok(value)
}
