//! What `belvedere doctor` finds around the program: the terminal and what it cannot send, tmux, the clipboard, colors, git.
//!
//! Owns what is known of terminals. Nothing is asked of the terminal itself, whose answer might come too late. Source of
//! the facts: the documentation of these programs. Invariant: no program of the project is started, and none for long.

use std::process::{Command, Stdio};

use super::{Finding, FindingState};
use crate::config::Environment;
use crate::program::SearchPath;
use crate::services::Bootstrap;
use crate::worktree::OLDEST_GIT;

/// Milliseconds that tmux may keep an escape back before the key is felt to be late.
const LATE_ESCAPE: u32 = 100;
/// Programs that give an image from the clipboard.
const CLIPBOARDS: [&str; 3] = ["wl-paste", "xclip", "pngpaste"];

/// What a terminal cannot do, by what `TERM_PROGRAM` calls it.
const TERMINALS: [(&str, &str); 3] = [
    (
        "Apple_Terminal",
        "sends no shift+enter (ctrl+j makes a new line), and alt keys only with \"Use Option as Meta key\" in its profile; it has no OSC 52 clipboard",
    ),
    ("vscode", "keeps some alt and ctrl keys for itself: see \"terminal.integrated.sendKeybindingsToShell\""),
    ("WarpTerminal", "edits the line itself: alt keys may not arrive"),
];

fn found(state: FindingState, text: impl AsRef<str>) -> Finding {
    Finding::new(state, text)
}

pub(super) fn terminal(_: &Bootstrap) -> Vec<Finding> {
    let environment = Environment::of_process();
    let term = environment.get("TERM").unwrap_or_default();
    let mut findings = vec![match term {
        "" => found(FindingState::Note, "TERM is not set: the screen may not be drawn; use --plain"),
        "dumb" => found(FindingState::Note, "TERM is dumb: it shows no screen; use --plain"),
        "linux" => found(FindingState::Note, "the console of Linux has few signs: set ui.ascii = true"),
        term => {
            let program = environment.get("TERM_PROGRAM").map(|name| format!(" ({name})")).unwrap_or_default();
            found(FindingState::Ok, format!("{term}{program}"))
        }
    }];
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| environment.get(name).filter(|it| !it.is_empty()));
    let is_utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    if !is_utf8 {
        let locale = locale.unwrap_or("none");
        findings.push(found(
            FindingState::Note,
            format!("the locale is {locale}, which is not UTF-8: signs may look wrong; set LANG=C.UTF-8"),
        ));
    }
    findings
}

pub(super) fn keys(_: &Bootstrap) -> Vec<Finding> {
    let environment = Environment::of_process();
    let program = environment.get("TERM_PROGRAM").unwrap_or_default();
    let known = TERMINALS.iter().find(|(name, _)| *name == program);
    let said = known.map(|(name, words)| found(FindingState::Note, format!("{name} {words}")));
    said.map_or_else(
        || vec![found(FindingState::Ok, "nothing known that this terminal cannot send")],
        |said| vec![said],
    )
}

pub(super) fn tmux(bootstrap: &Bootstrap) -> Vec<Finding> {
    let environment = Environment::of_process();
    if environment.get("STY").is_some() {
        return vec![found(FindingState::Note, "screen passes on neither images nor the clipboard; tmux does more")];
    }
    if environment.get("TMUX").is_none() {
        return vec![found(FindingState::Ok, "not in use")];
    }
    let option = |name: &str, scope: &str| {
        printed(bootstrap, "tmux", &["show-options", scope, name]).map(|text| text.trim().to_owned())
    };
    let Some(escape) = option("escape-time", "-sv") else {
        return vec![found(FindingState::Note, "tmux does not answer: its settings are not known")];
    };
    let mut findings = Vec::new();
    if escape.parse().is_ok_and(|ms: u32| ms > LATE_ESCAPE) {
        findings.push(found(
            FindingState::Note,
            format!("tmux keeps esc back for {escape} ms: put `set -s escape-time 10` into ~/.tmux.conf"),
        ));
    }
    let is_off = |name: &str, scope: &str| option(name, scope).is_some_and(|value| value == "off");
    for (name, scope, words) in [
        ("set-clipboard", "-sv", "what you copy does not reach the clipboard: `set -s set-clipboard on`"),
        ("focus-events", "-sv", "Belvedere does not know whether you look: `set -s focus-events on`"),
        ("allow-passthrough", "-gwv", "notifications are a bell without words: `set -g allow-passthrough on`"),
        ("extended-keys", "-sv", "shift+enter and the like do not arrive: `set -s extended-keys on`"),
    ] {
        if is_off(name, scope) {
            findings.push(found(FindingState::Note, format!("{name} is off in tmux: {words}")));
        }
    }
    if findings.is_empty() {
        findings.push(found(FindingState::Ok, "its settings fit"));
    }
    findings
}

pub(super) fn clipboard(bootstrap: &Bootstrap) -> Vec<Finding> {
    let search = search(bootstrap);
    let mut findings = vec![found(FindingState::Ok, "text is copied through the terminal (OSC 52)")];
    findings.push(match CLIPBOARDS.iter().find(|name| search.find(name).is_some()) {
        Some(name) => found(FindingState::Ok, format!("images are read with {name}")),
        None => found(FindingState::Note, "ctrl+v attaches no image: install wl-clipboard, xclip or pngpaste"),
    });
    findings
}

pub(super) fn colors(_: &Bootstrap) -> Vec<Finding> {
    let environment = Environment::of_process();
    if environment.get("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return vec![found(FindingState::Note, "NO_COLOR is set: there are no colors, and no images")];
    }
    let is_full = environment.get("COLORTERM").is_some_and(|value| matches!(value, "truecolor" | "24bit"));
    vec![if is_full {
        found(FindingState::Ok, "16 million")
    } else {
        found(FindingState::Note, "COLORTERM does not say truecolor: themes are drawn in the nearest of 256 colors")
    }]
}

pub(super) fn git(bootstrap: &Bootstrap) -> Vec<Finding> {
    let Some(version) = printed(bootstrap, "git", &["--version"]) else {
        return vec![found(FindingState::Broken, "git is not found: install it for worktrees, /rewind and /merge")];
    };
    let version = version.trim().trim_start_matches("git version ").to_owned();
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    let is_old = numbers.next().zip(numbers.next()).is_none_or(|found| found < OLDEST_GIT);
    let (major, minor) = OLDEST_GIT;
    vec![if is_old {
        found(FindingState::Note, format!("git {version} is too old for worktrees, which need {major}.{minor}"))
    } else {
        found(FindingState::Ok, format!("git {version}"))
    }]
}

pub(super) fn search(bootstrap: &Bootstrap) -> SearchPath {
    SearchPath::of_process(&[&bootstrap.ground.root, &bootstrap.place.cwd])
}

/// Returns what a program prints; `None` if it is not there or fails.
fn printed(bootstrap: &Bootstrap, program: &str, arguments: &[&str]) -> Option<String> {
    let path = search(bootstrap).find(program)?;
    let output = Command::new(path).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
