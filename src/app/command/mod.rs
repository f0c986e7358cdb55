//! The slash commands.
//!
//! Owns the table that the screen, `--plain`, the palette and the help read. Leaves what several parts do for a command to
//! `run`. Invariant: no two rows share a name.

mod cost;
mod run;

pub use cost::{budget_words, change_budget, cost_mark, cost_words, share as budget_share};

use super::composer::Candidate;
use super::{App, Popup, lists};
use crate::agent::WorktreeAct;
use crate::message::sanitize_line;
use crate::subagent::Command;

#[derive(Clone, Copy)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub arguments: &'static str,
    /// What it does, in a few words.
    pub help: &'static str,
    /// What it does in a session without a screen, where it works there.
    pub plain: Option<&'static str>,
    run: fn(&mut App, &str),
}

impl std::fmt::Debug for SlashCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl SlashCommand {
    const fn new(name: &'static str, arguments: &'static str, help: &'static str, run: fn(&mut App, &str)) -> Self {
        Self { name, aliases: &[], arguments, help, plain: None, run }
    }

    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn plain(self, words: &'static str) -> Self {
        Self { plain: Some(words), ..self }
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
    }
}

/// Every slash command, in the order of the help.
pub static COMMANDS: &[SlashCommand] = &[
    SlashCommand::new("help", "", "show all keys", |app, _| app.overlay.open(Popup::Help { scroll: 0 }))
        .plain("lists what can be typed."),
    SlashCommand::new("agents", "[new]", "list, create, edit or delete agents", slash_agents),
    SlashCommand::new("tasks", "", "list the agents of this session", slash_tasks).plain("lists the agents."),
    SlashCommand::new("model", "[NAME]", "show or change the model", slash_model)
        .plain("NAME changes the model from the next message on."),
    SlashCommand::new("mode", "[MODE]", "show or set the permission mode", App::slash_mode),
    SlashCommand::new("permissions", "", "show or revoke what is allowed without asking", |app, _| {
        app.overlay.open(Popup::list(&lists::GRANTS));
    }),
    SlashCommand::new("clear", "", "start a new conversation", |app, _| app.slash_clear())
        .plain("starts a new conversation; while agents are running, a second /clear stops them."),
    SlashCommand::new("layout", "[NAME]", "place the agents: auto, side, below, rail, hidden", App::slash_layout),
    SlashCommand::new("theme", "[NAME]", "choose a theme", App::slash_theme),
    SlashCommand::new("timeline", "", "show the timeline of all agents", |app, _| app.open_timeline()),
    SlashCommand::new("cost", "", "show tokens and cost of each agent, live", |app, _| {
        app.overlay.open(Popup::Cost { scroll: 0 });
    })
    .plain("lists the tokens and the cost of each agent."),
    SlashCommand::new("budget", "[LIMIT]", "show, set or remove the budget: 500k, $2, +200k, off", |app, words| {
        cost::slash_budget(words, &app.agents, &mut app.out);
    })
    .plain("shows the budget of all agents; /budget 500k, $2, +200k or off sets, raises or removes it."),
    SlashCommand::new("cancel", "N|all", "stop one agent, or all", App::slash_cancel)
        .also(&["stop"])
        .plain("N stops one agent, by number or name; /cancel all stops every agent, the main one too."),
    SlashCommand::new("wrapup", "N", "wrap up an agent: it reports now", |app, agent| {
        app.slash_life("wrapup", agent);
    })
    .plain("N makes an agent report now."),
    SlashCommand::new("resume", "N [MESSAGE]", "resume an ended agent, optionally with a message", |app, agent| {
        app.slash_life("resume", agent);
    })
    .plain("N resumes an ended agent; add a message to say what to do next."),
    SlashCommand::new("background", "N", "move an agent to the background or foreground", |app, agent| {
        app.slash_life("background", agent);
    })
    .plain("N moves an agent to the background or foreground."),
    SlashCommand::new("merge", "N", "merge an agent's worktree into the project", |app, which| {
        app.slash_worktree(which, WorktreeAct::Merge);
    })
    .plain("N merges an agent's worktree into the project."),
    SlashCommand::new("discard", "N", "discard an agent's worktree", |app, which| {
        app.slash_worktree(which, WorktreeAct::Discard);
    })
    .plain("N, typed twice, discards an agent's worktree."),
    SlashCommand::new("worktrees", "", "list unmerged worktrees", slash_worktrees).plain("lists unmerged worktrees."),
    SlashCommand::new("export", "[FILE]", "export the conversation to a file", App::slash_export),
    SlashCommand::new("quit", "", "quit", |app, _| app.slash_quit())
        .also(&["exit"])
        .plain("quits. At the end of the input, Belvedere quits once everything is answered."),
];

fn slash_agents(app: &mut App, argument: &str) {
    if argument == "new" {
        app.overlay.open(Popup::Wizard);
    } else {
        app.agent_files.open(&mut app.out);
    }
}

fn slash_tasks(app: &mut App, _: &str) {
    if app.agents.is_empty() {
        app.out.inform("no agents yet");
    } else {
        app.overlay.open(Popup::list(&lists::AGENTS));
    }
}

fn slash_worktrees(app: &mut App, _: &str) {
    if app.kept_worktrees().is_empty() {
        app.out.inform("no unmerged worktrees");
    } else {
        app.overlay.open(Popup::list(&lists::WORKTREES));
    }
}

fn slash_model(app: &mut App, name: &str) {
    if name.is_empty() {
        app.show_model();
    } else {
        app.out.inform(format!("looking for {}", sanitize_line(name)));
        app.out.send(Command::UseModel { name: name.to_owned() });
    }
}

/// Returns the commands as the composer completes them.
pub(super) fn candidates() -> Vec<Candidate> {
    let row =
        |command: &SlashCommand| Candidate { label: format!("/{}", command.name), detail: command.help.to_owned() };
    COMMANDS.iter().map(row).collect()
}
