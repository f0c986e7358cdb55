//! Entering the sandbox: what this process and all that it starts can reach from then on.
//!
//! Owns the order of the steps, namespaces and rights. Leaves single steps to `mounts`, `loopback` and `filter`.
//! Invariant: every step is done, or the error says which one could not be and nothing may be started.
//!
//! Files are kept twice: read-only mounts also refuse what Landlock has no word for (modes, owners, times), and Landlock
//! also holds where a mount could not be changed. So are processes: those inside have numbers of their own, by which they
//! know each other only, and Landlock lets them signal or trace nothing outside.
//!
//! Numbers of their own begin with the next process that is started, and its `/proc` has to be mounted from there. So a
//! first process calls [`separate_processes`], starts a second one, and that one enters.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::proxy::PORT;
use super::{SandboxError, SandboxPolicy, TMP, filter, loopback, mounts};

/// Processes and threads of one command; builds of large projects have some hundreds.
const MAX_PROCESSES: u64 = 8_192;

/// Devices that are everybody's, or the sandbox's own. No other is read or written.
#[rustfmt::skip]
const DEVICES: [&str; 9] = [
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", mounts::TERMINAL_MAKER,
    mounts::TERMINALS, mounts::SHARED_MEMORY,
];

/// Numbers the processes apart that this one starts from now on, and gives the next one the rights to [`enter`]. It must
/// have one thread only.
pub fn separate_processes() -> Result<(), SandboxError> {
    unshare_with_users(CloneFlags::CLONE_NEWPID)?;
    hand_on_rights().map_err(SandboxError::at("rights of the first process"))
}

/// Puts this process into the sandbox, for good, and everything that it starts from now on. It must have one thread only;
/// where the policy says that processes are numbered apart, it must be the first of them. `cwd` is its working directory.
/// Returns the socket that a [`super::SandboxProxy`] serves, unless there is a network.
pub fn enter(policy: &SandboxPolicy, cwd: &Path) -> Result<Option<TcpListener>, SandboxError> {
    let mut spaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    if !policy.has_network {
        spaces |= CloneFlags::CLONE_NEWNET;
    }
    if policy.has_own_processes {
        unshare(spaces).map_err(SandboxError::at("namespaces"))?;
    } else {
        unshare_with_users(spaces)?;
    }
    mounts::change(policy).map_err(SandboxError::at("mounts"))?;
    // It was a place on a mount that has another one on top of it now.
    #[expect(clippy::disallowed_methods, reason = "this process is the command's, and no agent's")]
    std::env::set_current_dir(cwd).map_err(SandboxError::at("working directory"))?;
    let listener = if policy.has_network { None } else { Some(own_network().map_err(SandboxError::at("network"))?) };
    bound_processes().map_err(SandboxError::at("limits"))?;
    drop_rights().map_err(SandboxError::at("rights"))?;
    restrict_files(policy)?;
    filter::apply().map_err(SandboxError::at("system calls"))?;
    Ok(listener)
}

/// Leaves namespaces of these kinds, with all rights in the new ones.
fn unshare_with_users(spaces: CloneFlags) -> Result<(), SandboxError> {
    let (user, group) = (geteuid(), getegid());
    unshare(spaces | CloneFlags::CLONE_NEWUSER).map_err(SandboxError::at("namespaces"))?;
    // Everybody stays who they are. Groups cannot be given up inside, as they may be what keeps files closed.
    for (file, line) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        std::fs::write(Path::new("/proc/self").join(file), line).map_err(SandboxError::at("names of users"))?;
    }
    Ok(())
}

/// Keeps all rights for the program that is started next: to a program of somebody else than root, only these go over.
fn hand_on_rights() -> rustix::io::Result<()> {
    let rights = capabilities(None)?.permitted;
    set_capabilities(None, CapabilitySets { effective: rights, permitted: rights, inheritable: rights })?;
    let mut each =
        (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)).filter(|right| rights.contains(*right));
    each.try_for_each(|right| configure_capability_in_ambient_set(right, true))
}

/// Makes the network of its own work, and returns the socket on which it hears of those who want out.
fn own_network() -> io::Result<TcpListener> {
    loopback::up()?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
}

/// Keeps a command that starts ever more processes from taking those of the user. Of root, the kernel asks for no number.
fn bound_processes() -> rustix::io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nproc);
    let least = |limit: Option<u64>| Some(limit.map_or(MAX_PROCESSES, |limit| limit.min(MAX_PROCESSES)));
    setrlimit(Resource::Nproc, Rlimit { current: least(current), maximum: least(maximum) })
}

/// Gives up all rights that the new namespaces came with, also for programs of root.
fn drop_rights() -> rustix::io::Result<()> {
    for bit in 0..u64::BITS {
        let right = CapabilitySet::from_bits_retain(1 << bit);
        // An error names the first that this kernel does not know.
        if !matches!(capability_is_in_bounding_set(right), Ok(true)) {
            continue;
        }
        remove_capability_from_bounding_set(right)?;
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Returns what may be read: all but what is hidden, as the fewest places. What comes into being beside something hidden
/// is none of them.
fn readable(policy: &SandboxPolicy) -> Vec<PathBuf> {
    let replaced = policy.stand_ins.iter().map(|(place, _)| place.as_path());
    let closed: HashSet<&Path> = policy.hidden.iter().map(PathBuf::as_path).chain([Path::new("/dev")]).collect();
    let above: HashSet<&Path> =
        closed.iter().copied().chain(replaced).flat_map(|place| place.ancestors().skip(1)).collect();
    let (mut readable, mut folders) = (Vec::new(), vec![PathBuf::from("/")]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            // What a link leads to stands for itself.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) || closed.contains(path.as_path()) {
                continue;
            }
            if above.contains(path.as_path()) { folders.push(path) } else { readable.push(path) }
        }
    }
    readable
}

/// Lets files be read nearly everywhere, and written where the policy says so and in devices that do nothing by it.
fn restrict_files(policy: &SandboxPolicy) -> Result<(), SandboxError> {
    let status = ruleset(policy).map_err(SandboxError::at("Landlock"))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(SandboxError::at("Landlock")("the kernel does not enforce it"));
    }
    Ok(())
}

fn ruleset(policy: &SandboxPolicy) -> Result<RestrictionStatus, RulesetError> {
    let newest = ABI::V6;
    let all = AccessFs::from_all(newest);
    Ruleset::default()
        // Without this there is no sandbox; what newer kernels add is used where it is there.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(newest))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(readable(policy), AccessFs::from_read(newest)))?
        .add_rules(path_beneath_rules(&policy.writable, all))?
        .add_rules(path_beneath_rules(policy.tmp.iter().map(|_| TMP), all))?
        .add_rules(path_beneath_rules(DEVICES, all))?
        .restrict_self()
}
