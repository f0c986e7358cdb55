//! One command that goes on by itself, from its start to its end.
//!
//! Owns reading what it prints, and its end. Leaves who hears of it to the listener. Invariant: whoever waits is released
//! whatever becomes of the command; a listener that is slow slows the command, and does not keep it from being stopped.

use std::fmt::Write as _;
use std::time::Duration;

use regex::Regex;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::lines::{LineWatch, PendingOutput};
use super::{AdmittedCommand, BackgroundCommands, CommandEvent, CommandHost, EndedBy};
use crate::message::sanitize;
use crate::sandbox::{Intrusion, SandboxProxy};
use crate::tool::RefusedInside;
use crate::tool::bash::{End, ending_words};
use crate::tool::process::command_watch::CommandWatch;
use crate::tool::process::guard::Guard;
use crate::tool::process::output::plain;
use crate::tool::process::{Group, Remains};

/// Time between two events about what it prints.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long output may still arrive after the command has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// Lines of the end of its output that its end tells.
const TAIL_LINES: usize = 20;
/// Characters of a line that woke its agent.
const MATCH_CHARS: usize = 500;

/// A command that runs, with all that has to live as long.
pub(in crate::tool) struct Launched {
    pub(in crate::tool) group: Group,
    pub(in crate::tool) pipe: Receiver,
    /// Its way to the network, if it is in the sandbox.
    pub(in crate::tool) proxy: Option<SandboxProxy>,
    pub(in crate::tool) watch: CommandWatch,
    /// Whether it runs in the sandbox.
    pub(in crate::tool) is_inside: bool,
    /// What the git in it reads.
    pub(in crate::tool) guard: Option<Guard>,
}

/// What is wanted of a command besides that it runs.
#[derive(Default)]
pub(in crate::tool) struct FollowOptions {
    /// The longest it may run.
    pub(in crate::tool) time: Option<Duration>,
    /// The pattern of a line that its agent waits for.
    pub(in crate::tool) pattern: Option<Regex>,
}

/// Follows a command to its end.
pub(in crate::tool) async fn follow(
    host: CommandHost,
    admitted: AdmittedCommand,
    launched: Launched,
    wanted: FollowOptions,
) {
    let Launched { mut group, pipe, proxy, watch: places, guard: _guard, .. } = launched;
    let AdmittedCommand { id, mut stop } = admitted;
    let CommandHost { commands, listener, .. } = host;
    let _guard = EndGuard { commands: commands.clone(), id: id.clone() };
    let watch = wanted.pattern.map(LineWatch::new);
    let pending = PendingOutput::default();
    let mut output = Output { id, commands, pipe, is_open: true, pending, watch, found: None };
    let deadline = wanted.time.map(|time| Instant::now() + time);
    let mut due = Instant::now();
    let (end, by) = loop {
        tokio::select! {
            biased;
            by = asked(&mut stop) => break (End::Cancelled, by),
            () = sleep_until(deadline.unwrap_or(due)), if deadline.is_some() => break (End::TimedOut, EndedBy::Itself),
            () = places.goes_too_far() => break (End::Intruded, EndedBy::Itself),
            status = group.wait() => break (status.map_or(End::Lost, End::Exited), EndedBy::Itself),
            () = sleep_until(due), if output.has_news() => due = Instant::now() + INTERVAL,
            () = output.read(), if output.is_open => continue,
        }
        for event in output.news(false) {
            tokio::select! {
                biased;
                // What is not delivered is in the output all the same.
                () = stopped(&mut stop) => {}
                () = listener.on_command(event) => {}
            }
        }
    };
    match end {
        End::Exited(_) => output.drain().await,
        // It would go on with what it is ended for.
        End::Intruded => group.kill_at_once(),
        _ => {}
    }
    let remains = output.end(&mut group).await;
    output.drain().await;
    let refused = proxy.map(|proxy| proxy.refused()).unwrap_or_default();
    places.end().await;
    let found = places.take_found();
    for event in output.news(true) {
        // Nobody who takes nothing any more keeps it from ending.
        let _ = timeout(DRAIN, listener.on_command(event)).await;
    }
    let (mut how, is_error) = words(&end, remains, wanted.time, &found);
    if !refused.is_empty() {
        let _ = write!(how, "; the sandbox refused hosts: {}", RefusedInside::Hosts(refused).words());
    }
    // Whoever is told finds it ended.
    output.commands.end(&output.id, &how, is_error);
    listener.on_command(output.ended(&how, is_error, by)).await;
}

/// Releases those who wait for the end of a command, whatever becomes of its task.
struct EndGuard {
    commands: BackgroundCommands,
    id: String,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.commands.end(&self.id, "lost", true);
        self.commands.release(&self.id);
    }
}

fn words(end: &End, remains: Remains, time: Option<Duration>, found: &[(Intrusion, Vec<String>)]) -> (String, bool) {
    let fate = ending_words(end, remains, time.unwrap_or_default());
    let mut how = if matches!(end, End::Cancelled) { "stopped".to_owned() } else { fate.short };
    if let Remains::Unended(_) = remains {
        how.push_str("; some of its processes could not be killed");
    }
    if let Some(words) = Intrusion::listed(found) {
        let _ = write!(how, "; {words}");
    }
    (how, fate.is_error || !found.is_empty())
}

/// Waits until the end is asked for, and says by whom.
async fn asked(stop: &mut watch::Receiver<Option<EndedBy>>) -> EndedBy {
    match stop.wait_for(Option::is_some).await.map(|by| *by) {
        Ok(Some(by)) => by,
        // It was withdrawn, or whoever could ask is gone.
        Ok(None) | Err(_) => std::future::pending().await,
    }
}

async fn stopped(stop: &mut watch::Receiver<Option<EndedBy>>) {
    asked(stop).await;
}

struct Output {
    id: String,
    commands: BackgroundCommands,
    pipe: Receiver,
    is_open: bool,
    pending: PendingOutput,
    /// The pattern that is looked for; `None` once it was found.
    watch: Option<LineWatch>,
    /// The line that was found, and is still to be told.
    found: Option<String>,
}

impl Output {
    /// Takes in what arrives next. May be given up and called again at any time.
    async fn read(&mut self) {
        let mut buffer = [0; 8 << 10];
        let count = self.pipe.read(&mut buffer).await.unwrap_or(0);
        self.is_open = count > 0;
        let bytes = &buffer[..count];
        self.commands.push(&self.id, bytes);
        self.pending.push(bytes);
        if let Some(found) = self.watch.as_mut().and_then(|watch| watch.push(bytes)) {
            self.found = Some(found);
            self.watch = None;
        }
    }

    fn has_news(&self) -> bool {
        self.found.is_some() || !self.pending.is_empty()
    }

    /// Takes what there is to tell.
    fn news(&mut self, at_end: bool) -> Vec<CommandEvent> {
        if at_end && let Some(mut watch) = self.watch.take() {
            self.found = watch.end();
        }
        let command_id = &self.id;
        let text = self.pending.take(at_end).map(|text| sanitize(&plain(&text)).into_owned());
        let output = text.map(|text| CommandEvent::Output { command_id: command_id.clone(), text });
        let found = self.found.take().map(|line| sanitize(&line).chars().take(MATCH_CHARS).collect());
        let matched = found.map(|line| CommandEvent::Matched { command_id: command_id.clone(), line });
        output.into_iter().chain(matched).collect()
    }

    fn ended(&self, how: &str, is_error: bool, ended_by: EndedBy) -> CommandEvent {
        let (tail, lines) = self.commands.tail(&self.id, TAIL_LINES);
        let (command_id, how, tail) = (self.id.clone(), how.to_owned(), sanitize(&tail).into_owned());
        CommandEvent::Ended { command_id, how, is_error, ended_by, tail, lines }
    }

    async fn drain(&mut self) {
        let drain = async {
            while self.is_open {
                self.read().await;
            }
        };
        let _ = timeout(DRAIN, drain).await;
    }

    /// Ends the processes, and reads meanwhile: one that is to end may still print, and blocks if nobody reads that.
    async fn end(&mut self, group: &mut Group) -> Remains {
        let ending = group.end();
        tokio::pin!(ending);
        loop {
            tokio::select! {
                remains = &mut ending => return remains,
                () = self.read(), if self.is_open => {}
            }
        }
    }
}
