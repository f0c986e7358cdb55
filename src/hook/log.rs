//! Which hooks are in force, and what each last did, for whoever lists them.
//!
//! Pure. A fold over what was emitted; a hook of an agent's file is listed once it has run.

use super::verdict::HookRun;
use super::{HookEvent, HookNotice};
use crate::message::sanitize_line;

/// Hooks that are kept in the list.
const MAX_LISTED: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookLog {
    rows: Vec<(HookNotice, Option<HookRun>)>,
    /// Whether the settings have been looked at.
    is_known: bool,
}

impl HookLog {
    /// Takes in which hooks the settings name.
    pub fn take_notices(&mut self, hooks: &[HookNotice]) {
        self.is_known = true;
        let before = std::mem::take(&mut self.rows);
        let last = |hook: &HookNotice| {
            let is_it = |(known, _): &&(HookNotice, Option<HookRun>)| is_same(known, hook);
            before.iter().find(is_it).and_then(|(_, last)| last.clone())
        };
        self.rows = hooks.iter().map(|hook| (hook.clone(), last(hook))).collect();
    }

    /// Takes in that a hook has run.
    pub fn take_run(&mut self, ran: &HookRun) {
        let is_it = |known: &HookNotice| {
            is_end(known.at) == is_end(ran.at) && known.command == ran.command && known.source == ran.source
        };
        let count = self.rows.len();
        match self.rows.iter_mut().find(|(known, _)| is_it(known)) {
            Some((_, last)) => *last = Some(ran.clone()),
            None if count < MAX_LISTED => {
                let (command, source) = (ran.command.clone(), ran.source.clone());
                let notice =
                    HookNotice { at: ran.at, matcher: String::new(), command, source, place: None, idle: None };
                self.rows.push((notice, Some(ran.clone())));
            }
            None => {}
        }
    }

    /// Returns why there is nothing to list.
    #[must_use]
    pub fn why_empty(&self) -> Option<&'static str> {
        match (self.rows.is_empty(), self.is_known) {
            (false, _) => None,
            (true, true) => Some("no hooks; see docs/hooks.md"),
            (true, false) => Some("still looking for hooks; try again"),
        }
    }

    /// Returns a line for each hook: when it runs, what, from where, where it runs, and what it last did.
    pub fn lines(&self, has_sandbox: Option<bool>) -> impl Iterator<Item = String> {
        self.rows.iter().map(move |(hook, last)| {
            let matcher = if hook.matcher.is_empty() { String::new() } else { format!(" ({})", hook.matcher) };
            let state = match (&hook.idle, last) {
                (Some(why), _) => format!("does not run: {why}"),
                (None, None) => "has not run yet".to_owned(),
                (None, Some(ran)) => {
                    let about = if ran.about.is_empty() { String::new() } else { format!(" at {}", ran.about) };
                    let text = if ran.text.is_empty() { String::new() } else { format!(": {}", ran.text) };
                    format!("last{about}: {}{text}, {} ms", ran.end.word(), ran.ms)
                }
            };
            let place = hook.place.as_ref().map(|place| format!("{}  ", place.words(has_sandbox))).unwrap_or_default();
            let line = format!("{}{matcher}  {}  [{}]  {place}{state}", hook.at.name(), hook.command, hook.source);
            sanitize_line(&line).into_owned()
        })
    }

    /// Returns all of it, as Markdown.
    #[must_use]
    pub fn page(&self, has_sandbox: Option<bool>) -> String {
        self.lines(has_sandbox).map(|line| format!("- {}\n", escaped(&line))).collect()
    }
}

fn is_same(one: &HookNotice, other: &HookNotice) -> bool {
    one.at == other.at && one.matcher == other.matcher && one.command == other.command && one.source == other.source
}

/// Counts both ends as one: in an agent's file, `Stop` means the agent's own.
fn is_end(event: HookEvent) -> HookEvent {
    if event == HookEvent::SubagentStop { HookEvent::Stop } else { event }
}

/// Returns a line in which nothing means anything to Markdown.
fn escaped(line: &str) -> String {
    let special = |c: char| "\\`*_{}[]<>#|~!&$".contains(c);
    line.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}
