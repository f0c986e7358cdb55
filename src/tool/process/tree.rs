//! Processes that descend from one of ours, as the kernel lists them.
//!
//! Owns reading `/proc` (proc(5): `children` and `stat`). Leaves what is done with the processes to `supervisor`,
//! `process` and `pulse`. Invariant: nothing is cached; a process that ends while it is looked at is left out. Where
//! there is no `/proc` the lists are empty.

use std::fs;
use std::path::PathBuf;

use nix::unistd::Pid;

/// What the kernel says of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: Pid,
    pub(super) session: Pid,
    /// Whether it has ended and only waits for its parent to notice.
    pub(super) is_zombie: bool,
    /// Time on a processor, its own and that of its children that have ended, in ticks.
    pub(super) time: u64,
    /// When it started, in ticks since the machine did.
    pub(super) started: u64,
}

impl Stat {
    /// Reads what is known of a process; `None` if there is no such process.
    pub(super) fn of(process: Pid) -> Option<Self> {
        let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
        // The program's name comes first, in brackets, and may itself hold blanks and brackets.
        let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<&str> = std::str::from_utf8(&stat[name_ends + 1..]).ok()?.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<i32>().ok();
        Some(Self {
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: Pid::from_raw(number(1)?),
            session: Pid::from_raw(number(3)?),
            time: fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum(),
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

pub(super) fn children(process: Pid) -> Vec<Pid> {
    children_of_tasks(process).unwrap_or_else(|| {
        // A kernel without these lists.
        numbered("/proc").filter(|child| Stat::of(*child).is_some_and(|stat| stat.parent == process)).collect()
    })
}

/// Returns all processes that descend from one, parents before their children.
pub(super) fn descendants(process: Pid) -> Vec<Pid> {
    let mut found = children(process);
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        // A process that got a new parent meanwhile is found once.
        let more: Vec<Pid> = children(*parent).into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(more);
        next += 1;
    }
    found
}

/// Returns the children that the kernel lists for each thread, or `None` if it keeps no such lists.
fn children_of_tasks(process: Pid) -> Option<Vec<Pid>> {
    let mut found = Vec::new();
    let tasks = PathBuf::from(format!("/proc/{process}/task"));
    for task in numbered(&tasks) {
        match fs::read_to_string(tasks.join(task.to_string()).join("children")) {
            Ok(list) => {
                found.extend(list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).map(Pid::from_raw));
            }
            // Ended meanwhile, or no such list.
            Err(_) if fs::exists("/proc/thread-self/children").unwrap_or(false) => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

/// Returns the entries of a folder whose names are numbers.
fn numbered(folder: impl AsRef<std::path::Path>) -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}
