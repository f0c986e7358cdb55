//! The sandbox of macOS, as a profile for its Seatbelt.
//!
//! Owns the text of the profile. Leaves starting the program that applies it, `sandbox-exec`, to `tool`. Invariants: what
//! the profile does not name is refused; of two rules about one path the later one counts, and those that refuse come
//! last. Nobody has run it on macOS yet, so it is used only where the user asks for it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::SandboxPolicy;

/// The program that applies a profile to another one.
pub const SEATBELT: &str = "/usr/bin/sandbox-exec";

/// What programs need to start at all: processes among themselves, and what the system's libraries ask of it.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read*)
(allow file-ioctl (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.trustd.agent"))
"#;

/// Devices that are everybody's, and do nothing by being written.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/random", "/dev/urandom"];

/// Returns the profile of a policy. Fails with a path that no profile can name.
///
/// There is no network of its own on macOS: without the network of this machine, a command has none.
pub fn seatbelt_profile(policy: &SandboxPolicy) -> Result<String, PathBuf> {
    let mut profile = BASE.to_owned();
    let mut rule = |words: &str, filter: &str, paths: &mut dyn Iterator<Item = &Path>| {
        for path in paths {
            let _ = writeln!(profile, "({words} ({filter} {}))", quoted(path)?);
        }
        Ok::<(), PathBuf>(())
    };
    rule("allow file-write*", "subpath", &mut all(&policy.writable))?;
    rule("allow file-write-data", "literal", &mut DEVICES.iter().map(Path::new))?;
    let kept = || all(&policy.protected).chain(policy.vacant.iter().map(|(path, _)| path.as_path()));
    rule("deny file-write*", "subpath", &mut kept())?;
    rule("allow file-write*", "subpath", &mut all(&policy.notes))?;
    let is_noted = |path: &&Path| policy.notes.iter().any(|note| path.starts_with(note));
    rule("deny file-write*", "subpath", &mut kept().filter(is_noted))?;
    // Nor can they go away with the folder that they lie in.
    let above = |path: &Path| -> Vec<PathBuf> {
        let inside = |folder: &&Path| policy.writable.iter().any(|top| folder.starts_with(top));
        path.ancestors().skip(1).take_while(inside).map(Path::to_path_buf).collect()
    };
    // There are no mounts, so what is read as another file cannot be read at all.
    let hidden = || all(&policy.hidden).chain(policy.stand_ins.iter().map(|(place, _)| place.as_path()));
    let mut folders: Vec<PathBuf> = kept().chain(hidden()).flat_map(above).collect();
    folders.sort();
    folders.dedup();
    rule("deny file-write-unlink", "literal", &mut all(&folders))?;
    rule("deny file-read* file-write*", "subpath", &mut hidden())?;
    if policy.has_network {
        profile.push_str("(allow network*)\n(allow system-socket)\n");
    }
    Ok(profile)
}

fn all(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    paths.iter().map(PathBuf::as_path)
}

/// Returns a path as a profile writes it.
fn quoted(path: &Path) -> Result<String, PathBuf> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control)).ok_or_else(|| path.to_path_buf())?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}
