//! A command and all that it has started, as their supervisor sees them.
//!
//! Owns noticing who has ended, and signals to all of them. Leaves when to send which to `supervisor`. Invariant: nobody
//! is signalled who does not descend from the command.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::supervisor::SupervisorMessage;
#[cfg(target_os = "linux")]
use super::tree;

pub(super) struct Family {
    /// The command's own process, and its group.
    pub(super) id: Pid,
    /// The same until its end was noticed.
    pub(super) leader: Option<Child>,
    /// Whether there were children when they were last looked at.
    pub(super) has_children: bool,
    /// Whether nobody else has a number that could be signalled.
    pub(super) is_apart: bool,
}

impl Family {
    /// Notices who has ended. Returns what is said of the leader if it is among them.
    pub(super) fn reap(&mut self) -> Option<SupervisorMessage> {
        // The library knows each way to end; what is reaped below may have ended in a way that has no name.
        let mut ended = match self.leader.as_mut().map(Child::try_wait) {
            Some(Ok(Some(status))) => Some(Some(status.into_raw())),
            Some(Err(_)) => Some(None),
            Some(Ok(None)) | None => None,
        };
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(process, code)) if process == self.id => ended = Some(Some(code << 8)),
                Ok(WaitStatus::Signaled(process, signal, _)) if process == self.id => ended = Some(Some(signal as i32)),
                Ok(WaitStatus::StillAlive) => {
                    self.has_children = true;
                    break;
                }
                Ok(_) | Err(Errno::EINTR | Errno::EINVAL) => {}
                Err(_) => {
                    self.has_children = false;
                    break;
                }
            }
        }
        if ended.is_some() {
            self.leader = None;
        }
        ended.map(SupervisorMessage::Ended)
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::unused_self, reason = "elsewhere the group is asked for by its number")]
impl Family {
    /// A process that loses its parent becomes our child, so that nobody is left when there is no child.
    pub(super) fn has_members(&self) -> bool {
        self.has_children
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.is_apart {
            // All at once: none can start another meanwhile.
            let _ = nix::sys::signal::kill(Pid::from_raw(-1), signal);
            return;
        }
        for process in tree::descendants(nix::unistd::getpid()) {
            let _ = nix::sys::signal::kill(process, signal);
        }
    }

    pub(super) fn count(&self) -> usize {
        let members = tree::descendants(nix::unistd::getpid());
        members.into_iter().filter(|member| tree::Stat::of(*member).is_some_and(|stat| !stat.is_zombie)).count()
    }
}

#[cfg(not(target_os = "linux"))]
impl Family {
    pub(super) fn has_members(&self) -> bool {
        self.has_children || nix::sys::signal::killpg(self.id, None) != Err(Errno::ESRCH)
    }

    pub(super) fn signal(&self, signal: Signal) {
        let _ = nix::sys::signal::killpg(self.id, signal);
    }

    /// Nobody tells how many they are.
    pub(super) fn count(&self) -> usize {
        1
    }
}
