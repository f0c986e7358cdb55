//! Which calls to the kernel are refused inside.
//!
//! Owns the list: what reaches other processes, what makes namespaces and mounts, what acts for a process past the other
//! guards, sockets of the user's own programs, and the kernel's own controls. Invariant: what is not on it is left to the
//! guards of files and the network.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

#[rustfmt::skip]
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd, libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_fspick, libc::SYS_mount_setattr, libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at,
    // Requests that the kernel carries out by itself.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    // The kernel's own controls.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_keyctl, libc::SYS_add_key,
    libc::SYS_request_key, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module,
    libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff,
    libc::SYS_acct, libc::SYS_quotactl, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime,
    libc::SYS_adjtimex, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_syslog, libc::SYS_fanotify_init,
    libc::SYS_vhangup, libc::SYS_nfsservctl, libc::SYS_lookup_dcookie,
];

/// `TIOCSTI` and `TIOCLINUX` of ioctl_tty(2), whose types differ between C libraries.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// On x86-64 the same calls have further numbers for programs with short addresses: these and those with a number of
/// their own there, `ptrace`, `process_vm_readv`, `process_vm_writev`, `kexec_load` and `ioctl`.
#[cfg(target_arch = "x86_64")]
const SHORT: (i64, [i64; 5]) = (0x4000_0000, [521, 539, 540, 528, 514]);

/// Installs the filter for this process and all that it starts.
pub(super) fn apply() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = filter(rules()?, libc::EPERM, arch)?;
    // Its flags lie in memory, where no filter sees them. The C library goes on with `clone`.
    let unseen = filter(with_short(BTreeMap::from([(libc::SYS_clone3, Vec::new())])), libc::ENOSYS, arch)?;
    seccompiler::apply_filter(&refused)?;
    seccompiler::apply_filter(&unseen)?;
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn filter(rules: Rules, error: i32, arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let refusal = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch)?.try_into()
}

fn rules() -> Result<Rules, BackendError> {
    let is = |argument, operator, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let spaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let makes = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        SeccompRule::new(vec![is(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    rules.insert(libc::SYS_clone, spaces.into_iter().map(makes).collect::<Result<_, _>>()?);
    // Typing into a terminal, as if the user did.
    let types = |request: u64| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, request)?]);
    rules.insert(libc::SYS_ioctl, TERMINAL_INPUT.map(types).into_iter().collect::<Result<_, _>>()?);
    // Limits and priorities of other processes.
    let others = |argument| SeccompRule::new(vec![is(argument, SeccompCmpOp::Ne, 0)?]);
    rules.insert(libc::SYS_prlimit64, vec![others(0)?]);
    rules.insert(libc::SYS_setpriority, vec![others(0)?, others(1)?]);
    rules.insert(libc::SYS_ioprio_set, vec![others(1)?]);
    // Pairs whose ends could send to the sockets of others.
    let kind = |kind: i32| SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(0xf), u64::from(kind.unsigned_abs()))?]);
    rules.insert(libc::SYS_socketpair, vec![kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?]);
    // Sockets of the user's own programs, such as an agent for keys, a desktop's bus, or containers; and all families that
    // no namespace keeps apart, or that have the kernel load something.
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let others = families.map(|family| is(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(others.into_iter().collect::<Result<_, _>>()?)?]);
    Ok(with_short(rules))
}

#[cfg(target_arch = "x86_64")]
fn with_short(mut rules: Rules) -> Rules {
    let (bit, own) = SHORT;
    let short: Vec<_> = rules.iter().map(|(call, rule)| (call | bit, rule.clone())).collect();
    rules.extend(short);
    rules.extend(own.into_iter().map(|call| (call | bit, Vec::new())));
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn with_short(rules: Rules) -> Rules {
    rules
}
