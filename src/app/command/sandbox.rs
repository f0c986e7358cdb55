//! What is asked of `/sandbox`, on the screen and without one.

use crate::sandbox::{Hosts, SandboxChange};
use crate::subagent::Command;

/// How the command is written.
pub const SANDBOX_USAGE: &str = "/sandbox [on|off|test PATH|test HOST|allow HOST]";

pub enum SandboxCommand {
    Show,
    Order(Command),
}

impl SandboxCommand {
    /// Reads the words after the command's name; `None` if they ask for nothing it can do.
    pub fn parse(words: &str) -> Option<Self> {
        let turn = |on| Command::ChangeSandbox(SandboxChange::Turn { on });
        match words.trim().split_once(' ').map_or((words.trim(), ""), |(act, rest)| (act, rest.trim())) {
            ("", "") => Some(Self::Show),
            ("on", "") => Some(Self::Order(turn(true))),
            ("off", "") => Some(Self::Order(turn(false))),
            ("allow", host) if Hosts::is_host(host) => {
                Some(Self::Order(Command::ChangeSandbox(SandboxChange::AllowHost(host.to_owned()))))
            }
            ("test", what) if !what.is_empty() => Some(Self::Order(Command::TestSandbox { what: what.to_owned() })),
            _ => None,
        }
    }
}
