//! The slash commands.
//!
//! Owns the table that the screen, `--plain`, the palette and the help read. Leaves what several parts do for a command to
//! `run`, and what a command does without a screen to `headless`. Invariant: no two rows share a name.

mod cost;
mod run;
mod sandbox;

pub use cost::{budget_words, change_budget, cost_mark, cost_words, share as budget_share, spent_words};
pub use sandbox::{SANDBOX_USAGE, SandboxCommand};

use super::composer::Candidate;
use super::overlay::rewind;
use super::settings::{effort, memory, models, servers, sessions, skills};
use super::{App, Focus, Popup, lists};
use crate::agent::WorktreeAct;
use crate::definition::skill::ListedSkill;

#[derive(Clone, Copy)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub arguments: &'static str,
    /// What it does, in a few words.
    pub help: &'static str,
    /// What it does in a session without a screen, where it works there.
    pub plain: Option<PlainCommand>,
    run: fn(&mut App, &str),
}

/// A slash command in a session without a screen.
#[derive(Clone, Copy)]
pub struct PlainCommand {
    /// What it does, as the help of such a session says it; empty where another row says it.
    pub help: &'static str,
    /// What has to follow its name, if anything has to.
    needs: Option<&'static str>,
    run: PlainAct,
}

type Plain = dyn PlainSession;
type PlainAct = fn(&mut Plain, &str);

/// What the commands ask of a session without a screen. Agents and worktrees are named as the user names them.
pub trait PlainSession {
    fn help(&mut self);
    /// Lists the agents that can be used, as files.
    fn agent_files(&mut self);
    fn tasks(&mut self);
    fn model(&mut self, name: &str);
    /// Chooses how hard the models think.
    fn effort(&mut self, word: &str);
    fn clear(&mut self);
    fn cost(&mut self);
    /// Puts a summary in the place of the conversation, and keeps above all what is said.
    fn compact(&mut self, wish: &str);
    /// Shows what the folder brings, or says whether it is trusted.
    fn trust(&mut self, words: &str);
    /// Shows what holds in the sandbox, tests a path, or turns it on or off.
    fn sandbox(&mut self, words: &str);
    /// Lists the MCP servers, shows one, or restarts it.
    fn mcp(&mut self, words: &str);
    /// Lists the hooks.
    fn hooks(&mut self);
    /// Lists what fills the context of the main agent, or of the one that is named.
    fn context(&mut self, agent: &str);
    /// Has the main agent write the memory file of the project.
    fn init(&mut self);
    /// Lists the memory files.
    fn memory(&mut self);
    /// Lists skills and the user's own commands.
    fn skills(&mut self);
    /// Shows the budget, or changes it.
    fn budget(&mut self, words: &str);
    /// Stops one agent, or `all`.
    fn cancel(&mut self, agent: &str);
    fn wrap_up(&mut self, agent: &str);
    fn sessions(&mut self);
    /// Lists the messages to go back to, previews a rewind to one, or takes it back.
    fn rewind(&mut self, words: &str);
    /// Resumes an ended agent, with the message that may follow its name.
    fn resume(&mut self, words: &str);
    /// Moves an agent to the background, or back.
    fn background(&mut self, agent: &str);
    fn merge(&mut self, which: &str);
    fn discard(&mut self, which: &str);
    fn worktrees(&mut self);
    /// Exports the session; the words name a format and a place, both or neither.
    fn export(&mut self, words: &str);
    fn quit(&mut self);
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

    const fn plain(self, help: &'static str, run: PlainAct) -> Self {
        Self { plain: Some(PlainCommand { help, needs: None, run }), ..self }
    }

    /// As [`Self::plain`], for a command that does nothing without what has to follow its name.
    const fn plain_with(self, needs: &'static str, help: &'static str, run: PlainAct) -> Self {
        Self { plain: Some(PlainCommand { help, needs: Some(needs), run }), ..self }
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
    }

    /// Returns what a command, written without its slash, does in a session without a screen, and what follows its name.
    /// On failure, returns why it does nothing there, which depends on the skills that there are.
    pub fn parse_plain<'w>(written: &'w str, listed: &[ListedSkill]) -> Result<(PlainAct, &'w str), String> {
        let (name, argument) = written.split_once(' ').map_or((written, ""), |(name, rest)| (name, rest.trim()));
        let command = Self::find(name).ok_or_else(|| skills::no_command(name, listed))?;
        let plain = command.plain.ok_or_else(|| format!("/{name} works only on the screen; see /help"))?;
        match plain.needs.filter(|_| argument.is_empty()) {
            Some(needs) => Err(format!("usage: /{name} {needs}")),
            None => Ok((plain.run, argument)),
        }
    }
}

/// The message that `/init` sends.
pub const INIT: &str = include_str!("../../../assets/prompts/init.md");

const AGENT: &str = "N (see /tasks)";
const WORKTREE: &str = "N (see /worktrees)";

/// Every slash command, in the order of the help.
pub static COMMANDS: &[SlashCommand] = &[
    SlashCommand::new("help", "", "show all keys", |app, _| app.overlay.open(Popup::help()))
        .plain("lists the commands.", |plain, _| plain.help()),
    SlashCommand::new("agents", "[new]", "list, create, edit or delete agents", slash_agents)
        .plain("lists the agent files.", |plain, _| plain.agent_files()),
    SlashCommand::new("tasks", "", "list the agents of this session", slash_tasks)
        .plain("lists the agents of this session.", |plain, _| plain.tasks()),
    SlashCommand::new("model", "[N] [NAME]", "choose the model, or one for agent N", slash_model).plain_with(
        "PROVIDER/NAME",
        "NAME changes the model starting with the next message.",
        Plain::model,
    ),
    SlashCommand::new("effort", "[LEVEL]", "choose how hard the models think: low to max, default", effort::slash).plain_with(
        "LEVEL",
        "LEVEL sets how hard the models think, starting with the next message: low, medium, high, xhigh, max, default.",
        Plain::effort,
    ),
    SlashCommand::new("mode", "[MODE]", "choose the permission mode", App::slash_mode),
    SlashCommand::new(
        "sandbox",
        "[on|off|test PATH|allow HOST]",
        "show, test or change what commands can reach",
        App::slash_sandbox,
    )
    .plain("shows what commands can reach; on, off, allow HOST and test PATH change and test it.", Plain::sandbox),
    SlashCommand::new("trust", "[no]", "show what this folder brings, and trust it or not", App::slash_trust)
        .plain("shows what this folder brings; /trust yes uses it, /trust no does not.", Plain::trust),
    SlashCommand::new("hooks", "", "list the hooks, and what each last did", |app, _| app.slash_hooks())
        .plain("lists the hooks, and what each last did.", |plain, _| plain.hooks()),
    SlashCommand::new("permissions", "", "show permissions and rules, or revoke an answer", |app, _| {
        app.overlay.open(Popup::list(&lists::GRANTS));
    }),
    SlashCommand::new("mcp", "[[restart|login] NAME]", "show the MCP servers; restart, sign in", servers::slash).plain(
        "lists the MCP servers; /mcp NAME shows one, /mcp restart NAME restarts it, /mcp login NAME signs you in.",
        Plain::mcp,
    ),
    SlashCommand::new("clear", "", "start a new conversation", |app, _| app.slash_clear()).plain(
        "starts a new conversation; while agents are running, a second /clear stops them.",
        |plain, _| {
            plain.clear();
        },
    ),
    SlashCommand::new("compact", "[WHAT TO KEEP]", "continue from a summary of the conversation", App::slash_compact)
        .plain("continues from a summary of the conversation; say what to keep, if you like.", Plain::compact),
    SlashCommand::new(
        "context",
        "[N]",
        "show what fills the context of the main agent, or of agent N",
        App::slash_context,
    )
    .plain("lists what fills the context of the main agent; /context N of an agent.", Plain::context),
    SlashCommand::new("init", "", "write the memory file of this project", |app, _| app.send_to_main(INIT.into()))
        .plain("writes the memory file of this project.", |plain, _| plain.init()),
    SlashCommand::new("memory", "", "list the memory files, to edit one", |app, _| memory::open(app))
        .plain("lists the memory files.", |plain, _| plain.memory()),
    SlashCommand::new("skills", "", "list skills and your own commands, to edit one", |app, _| skills::open(app))
        .plain("lists skills and your own commands.", |plain, _| plain.skills()),
    SlashCommand::new("sessions", "", "continue an earlier session", |app, _| sessions::open(app))
        .plain("lists the sessions of this project.", |plain, _| plain.sessions()),
    SlashCommand::new("rewind", "", "go back to an earlier message: conversation, files, or both", |app, _| {
        rewind::open(app);
    })
    .plain("lists your messages; /rewind N previews a rewind to one.", Plain::rewind),
    SlashCommand::new("layout", "[NAME]", "choose the layout: auto, side, below, rail, hidden", App::slash_layout),
    SlashCommand::new("theme", "[NAME]", "choose a theme", App::slash_theme),
    SlashCommand::new("timeline", "", "show the timeline of all agents", |app, _| app.open_timeline()),
    SlashCommand::new("cost", "", "show tokens and cost of each agent, live", |app, _| {
        app.overlay.open(Popup::Cost { scroll: 0 });
    })
    .plain("lists the tokens and the cost of each agent.", |plain, _| plain.cost()),
    SlashCommand::new("budget", "[LIMIT]", "show, set or remove the budget: 500k, $2, +200k, off", |app, words| {
        cost::slash_budget(words, &app.agents, &mut app.out);
    })
    .plain("shows the budget of all agents; /budget 500k, $2, +200k or off sets, raises or removes it.", Plain::budget),
    SlashCommand::new("cancel", "[N|all]", "stop one agent, or all", App::slash_cancel).also(&["stop"]).plain_with(
        AGENT,
        "N stops one agent, by number or name; /cancel all stops every agent, the main one too.",
        Plain::cancel,
    ),
    SlashCommand::new("wrapup", "[N]", "wrap up an agent: it reports now", |app, agent| {
        app.slash_life("wrapup", agent);
    })
    .plain_with(AGENT, "N wraps up an agent: it reports now.", Plain::wrap_up),
    SlashCommand::new("resume", "[N [MESSAGE]|all]", "resume an ended agent, or all", |app, agent| {
        app.slash_life("resume", agent);
    })
    .plain_with(
        AGENT,
        "N resumes an ended agent; add a message to say what to do next. /resume all resumes all interrupted ones.",
        Plain::resume,
    ),
    SlashCommand::new("background", "[N]", "move an agent to the background or foreground", |app, agent| {
        app.slash_life("background", agent);
    })
    .plain_with(AGENT, "N moves an agent to the background or foreground.", Plain::background),
    SlashCommand::new("merge", "[N]", "merge an agent's worktree into the project", |app, which| {
        app.slash_worktree(which, WorktreeAct::Merge);
    })
    .plain_with(WORKTREE, "N merges an agent's worktree into the project.", Plain::merge),
    SlashCommand::new("discard", "[N]", "discard an agent's worktree", |app, which| {
        app.slash_worktree(which, WorktreeAct::Discard);
    })
    .plain_with(WORKTREE, "N, typed twice, discards an agent's worktree.", Plain::discard),
    SlashCommand::new("worktrees", "", "list unmerged worktrees", slash_worktrees)
        .plain("lists unmerged worktrees.", |plain, _| plain.worktrees()),
    SlashCommand::new("export", "[FORMAT] [FILE]", "export the session to a file: md, json, html", App::slash_export)
        .plain("writes the session to a file: md, json, or html (a page to share).", Plain::export),
    SlashCommand::new("quit", "", "quit", |app, _| app.slash_quit())
        .also(&["exit"])
        .plain("quits. At end of input, Belvedere quits once everything is answered.", |plain, _| plain.quit()),
];

fn slash_agents(app: &mut App, argument: &str) {
    if argument == "new" {
        app.overlay.open(Popup::Wizard);
    } else {
        app.agent_files.open(&mut app.out);
    }
}

fn slash_tasks(app: &mut App, _: &str) {
    if app.agents.is_empty() && !app.commands.is_empty() {
        app.view.set_focus(Focus::Commands);
    } else if app.agents.is_empty() {
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
    match name.split_once(char::is_whitespace) {
        Some((agent, name)) => app.slash_model_of(agent, name.trim()),
        None if name.is_empty() => models::open(app, None),
        None => match app.agents.find(name).map(|agent| agent.id) {
            Some(agent) => models::open(app, Some(agent)),
            None => models::choose(app, name),
        },
    }
}

/// Returns the commands as the composer completes them.
pub(in crate::app) fn candidates() -> Vec<Candidate> {
    let row =
        |command: &SlashCommand| Candidate { label: format!("/{}", command.name), detail: command.help.to_owned() };
    COMMANDS.iter().map(row).collect()
}
