//! Belvedere: a coding agent in a full-screen terminal, with every subagent live in its own pane.
//!
//! This page is the map of the source. What the program does for its users is in the README and in `docs`.
//!
//! # Floors
//!
//! The crate is a library and a thin binary. Its modules stand on floors, and imports go only downwards; modules of one
//! floor do not know each other. A test checks every path against this table.
//!
//! | floor | modules | what they own |
//! |---|---|---|
//! | top | [`cli`], `main.rs` | the command line, the exit status |
//! | 6 | [`tui`], [`headless`], [`acp`] | the front ends: a screen, standard output, or an editor |
//! | 5 | [`app`], [`services`] | what the screen knows; the one place that names concrete types |
//! | 4 | [`subagent`], [`export`] | many agents: the `Agent` tool, the tree, its limits, reports; a session for others to read |
//! | 3 | [`agent`], [`offline`] | the loop, for every agent; the rule-based stand-in for a model |
//! | 2 | [`provider`], [`tool`], [`definition`], [`memory`], [`hook`], [`mcp`], [`external`], [`session`], [`config`], [`worktree`] | who answers, what can be done, agents as files, how work is done here, what runs beside it, servers of tools, other programs that are agents, what is kept, what is chosen, where an agent works apart |
//! | 1 | [`permission`], [`git`], [`sandbox`], [`launched`] | may it? pure decisions; git under settings of our own; what the kernel keeps commands from; programs that run and are talked to |
//! | 0 | [`message`], [`network`], [`nofollow`], [`obeyed`], [`program`], [`temporary`], [`whole_file`] | the words all others speak; whose certificates count; opening what no link leads to; which files other programs obey; where the programs lie that we start; folders and files for a while; putting small files in place |
//!
//! Two modules of one floor meet further up. The `Agent` tool, for instance, is a [`tool::Tool`] that runs the loop, and
//! the loop runs tools: [`subagent`] implements the trait, and [`services`] puts both together.
//!
//! # One loop
//!
//! There is one agent loop, [`agent::run`]. The main agent and every subagent are the same [`agent::Agent`] with other
//! values: system prompt, tools, model, limits, permissions, cancel token. A turn is one model call and the tool calls it
//! asks for. The stream of a model is folded into a step by pure code; the driver carries the step out: calls that only
//! read and calls of `Agent` run together, calls that write run in order. The loop ends with an [`agent::Outcome`] and the
//! [`message::Transcript`] it leaves, in which every tool call has exactly one result, however the run ended.
//!
//! A subagent begins with a transcript of one message, its task. Its own transcript goes to the session's log and never
//! to its parent; the parent gets the report, which [`subagent`] renders. A run that was cut short is never reported as
//! complete.
//!
//! # The flow of events
//!
//! What happens to an agent is an [`agent::AgentEvent`], what happens to the session a [`agent::SessionEvent`]. The log of
//! both, [`agent::LogEvent`] by [`agent::LogEvent`], is the session; the screen, the session's files and
//! `--output-format events` are views of it.
//!
//! ```text
//! terminal ─┐                                                   ┌─ perform(Effect): commands to the tree,
//! agents   ─┼─▶ tui::run: one batch ─▶ App::update ─▶ [Effect] ─┤  clipboard, editor
//! timers   ─┘                                                   └─ one frame, if something changed and one is due
//! ```
//!
//! - [`app::App`] is one struct with one owner: no locks, no I/O, no clock. It is given [`app::Event`]s with the present
//!   time and returns [`app::Effect`]s. Both are plain data.
//! - [`tui`] does what has effects: it reads keys, carries effects out, draws. Nothing is drawn while nothing changes,
//!   and the cost of a frame depends on the visible cells, not on the length of transcripts.
//! - [`agent::Sink`] sends events on bounded channels and waits where one is full: nothing is dropped, and a slow listener
//!   slows the agents instead of filling memory. The screen never waits for the agents: it sends a
//!   [`subagent::Command`], and what comes of it arrives as events.
//! - [`headless`] prints the same events and answers, one request or a session line by line, and needs no app; [`acp`]
//!   serves an editor, as many sessions as that wants.
//!
//! # Where the world is touched
//!
//! Decisions are pure functions of their arguments; I/O is in few places, so that the rest can be tested without it:
//! `provider::http`, `provider::discover`, `tool::web` and `mcp` (the network), `services::http_hooks` (hooks that are an address), `network` (files of certificates), `external` (programs that are agents), `services::{keys, keyring}` (commands that print keys, the keyring), `sandbox` (what processes reach, and the network for them), `tool` (files and processes of the project), `session`
//! (log, history, pictures), `config` (settings), `git` and `worktree` (repositories), `program` (the `PATH`), `definition::{library, watch, skill}` (agent files, skills), `memory` (memory files), `subagent::spawn` (notes of
//! agents), `headless`, `acp` and the terminal side of `tui`. The working directory and the project's root are values handed
//! to each tool, never state of the process. Time is tokio's in everything asynchronous, so that tests can pause it:
//! the demonstration plays in a test in well under a second.
//!
//! # A request, from end to end
//!
//! 1. `main` parses the command line, and [`services::bootstrap`] reads the settings. The first frame is drawn.
//! 2. [`services::start`] opens the log, chooses the model in the background and builds the [`subagent::Tree`].
//! 3. The message is sent as [`subagent::Command::Send`]; [`subagent::Conversation`] runs the loop with it.
//! 4. The model calls `Agent` three times in one reply. The tree admits, queues or refuses each, and runs the same loop for
//!    each admitted one, with a cancel token that hangs on the parent's.
//! 5. Each tool call is prepared first: [`tool::Tool::prepare`] says what it would touch, [`permission::decide`] says yes, no
//!    or ask, and an [`permission::Approver`] asks the user where it has to. Only then [`tool::Tool::run`] gets what was
//!    prepared.
//! 6. A stopped subagent drops its stream and ends its processes as a group. Its event `Ended` is the last about it.
//! 7. The reports are the results of the three calls, in their order. The main agent's next turn answers the user.
//!
//! # Words
//!
//! - **Agent**: one run of the loop with its values. The *main agent* talks to the user; a *subagent* has a parent.
//! - **Definition**: a kind of agent as a Markdown file, see [`definition`]. The *catalog* holds those in force.
//! - **Turn**: one model call and the tools it asks for.
//! - **Transcript**: what was said to and by one model, append-only.
//! - **Event**: one thing that happened, to an agent or to the session. Not to be mixed up with [`app::Event`], which may
//!   also be a key.
//! - **Outcome**: how a run ended, and what it took. A **report** is what a parent's model reads of it.
//! - **Tree**: all agents of a session. A **session** is one run of the program, as its files tell it.
//! - **Provider**: a service that speaks for models; a **model** is a name at one. A **provider row** says where it is, how
//!   it is spoken to and which variable holds its key; the **provider table** has the built-in rows and those of the user.
//! - **Secret**: a key or a token. A **credential** is what authenticates requests; a **key source** fetches one when it is
//!   needed: from a command, or from the system's **keyring**. **Secrets** are all texts that are masked.
//! - **Effort**: how hard a model thinks. An **effort wish** is what was asked for, the **session effort** what holds where no
//!   file says it; **reasoning** is both effort and tokens to think.
//! - **Transport**: how a service is reached beside its address: headers, and the **TLS files** of both sides.
//! - **Worktree**: a second checkout of the project for one subagent, on a branch of its own. Its base is the state it
//!   began with. An **act mark** says why a file of it is more than its content: other programs act on it.
//! - **Temporary folder**: a folder that is gone with its value, and that nobody else can look into.
//! - **Access**: what a tool call would touch. A **grant** allows some in advance; an **active grant** also says for which
//!   **holder** and by whose word. A **mode** says what is asked at all.
//! - **Memory file**: what the user, a project or an organization has written down about how to work, for every agent; its
//!   **memory owner** is whose words it holds. **Memory sources** are where it is looked for, and **given memory** is what one
//!   agent has been given. *Notes* are another thing: an agent keeps them itself, from one run to the next.
//! - **Skill**: something to do on request, as a file says it; a *command* is one in a single file. Its **skill origin** is
//!   whose file it is, the **skill catalog** holds those in force. A **loaded skill** has its arguments filled in, and a
//!   **skill piece** of it is text, or a command to run. A **skill host** knows those that the user can call; a
//!   **forked skill** runs in a conversation of its own. A **plugin** is a folder that brings skills, commands and agents;
//!   the **plugin library** knows those in use. **Watched files** are read anew when they change.
//! - **Rule set**: the rules of settings and flags, each with its **rule effect** and **rule origin**; a **rule notice** is one
//!   as it is shown. **Session rules** are all that is said in advance. **Folder trust** is whether what the folder brings,
//!   **brought item** by brought item, is used; **trusted items** keep the answer, **item trust** is what of it holds now.
//! - **Hook handler**: one command that runs at a **hook event**; a **hook moment** is one time that this comes to pass. A
//!   **hook process** is started for each handler that matches, and a **hook verdict** is what they come to together. A
//!   **hook run** is how that is shown, the **hook log** what each last did. **More settings** are what a settings file says
//!   beside permissions; a **user program** is a command of the user that runs beside the agents.
//! - **Report review**: whether a report is looked at before it is read. A **side model** is asked beside a conversation: for
//!   a summary, or to judge a report, which may leave a doubt. The **review log** is what was asked of reports, and answered.
//! - **External agent**: another program that does a subagent's work, see [`external`]. Its **external connection** speaks the
//!   Agent Client Protocol; an **external update** is what it says of its work, an **external question** what it asks before a call, an **offered server** a
//!   server of tools that it is handed on.
//! - **Launcher**: a command of the user's that runs agents somewhere else, as its **launcher settings** say; the **launcher folder** is
//!   whether files go along, an **rsync folder** where rsync puts them, and **launchers** are all of a session. **Incoming changes** are those that are on their way back. A **remote agent** is one that runs there. A **folder state** is
//!   files on their way; a **carried folder** is the worktree they come from and **came back** to, a **received folder** is what is worked in there, and a **synced folder** what rsync keeps there.
//! - **Pane**: the live view of one subagent. A **cell** is one entry of a transcript on the screen.
//! - **Effect**: what the screen asks of the world. A **command** is what it asks of the tree.
//! - **Spawn request**: what a subagent is started with. The **registry** has an **agent entry** for each; a **run handle**
//!   reaches one that runs, a **run guard** makes sure that its end is reported, a **slot queue** lets it begin in its turn.
//! - **Capabilities**: the tools and rights that an agent can hand on. A **workspace** is where a subagent in a worktree
//!   works; the **worktree registry** knows all of them.
//! - **Inbox**: what waits for one agent: **inbox message** by inbox message, and each **pending report**.
//! - **Run**: one start of the loop and what its functions share. Its driver takes the turns; its **watchdog** knows
//!   when the agent last did something, and stops it at its limits on time.
//! - **Budget reservation**: the share of the budget that one run holds for its next request.
//! - **Rate limiter**: how many requests a service may be sent. A **queue ticket** is a place in its queue, a **permit** a
//!   request on its way. **Retry state** is what has been tried.
//! - **Prompt environment**: what a system prompt says of where an agent works.
//! - **Bootstrap**: what is known before a session starts. **Session handles** keep what must be finished at its end.
//! - **Any tool**: something a model can ask for, whatever its input. A **parsed call** of it becomes a **prepared call**,
//!   which has the **plan**: what it would touch. A **preview** shows it. A **fence** keeps an agent in its worktree.
//! - **Tool kind**: what a tool does, and so what a scope in a list of tools is about.
//! - **Fetcher**: gets pages of the web from hosts that may be asked. A **host lookup** says where a name leads, and a
//!   **host entry** how the user has listed it. **Markdown** is what becomes of a page. A **search call** is a search that the
//!   agent's service does itself; each **served step** is what it then did. A **search engine** is the user's own.
//! - **Program status**: what the terminal is told of the agents, with an **agent status** for each subagent. A
//!   **program state** is what one is at; the **status reporter** writes it.
//! - **Given setup**: what a start is given that is otherwise written in files; **given prompts** are what it says to the main
//!   agent, **setting sources** are whose files are read besides, **built in tools** are those there are at all, an **answer schema** is what the answer has to fit. A **controlled** conversation is led by a program, from its
//!   **control input**, and may have a **beginning**; the **calling program** is asked by a **program request**, which may stay an **unanswered request**; **thinking choice** is whether models think; **message options** say what the messages to it hold, and **main agent facts** are what they say of the main agent.
//! - **MCP server**: a program or an address that offers tools, see [`mcp`]. **MCP config** is one as it is configured,
//!   **MCP facts** what is known of it. A **server offer** is what one agent was offered of them; **late tools** join an
//!   agent's tools while it works, and **tool notes** are what its model has to know of them. A **served program** is one that is talked to while it runs.
//! - **Attachment**: a picture as it is sent; its **picture facts** are what its header says, a **thumbnail** is a small
//!   copy to look at. The **gallery** has those that the terminal shows, each a **shown picture**, by a **picture protocol**; a
//!   **placed picture** is painted over cells. The **picture store** keeps those of a session, each by its number.
//! - **Language servers**: the programs that say what is wrong with a changed file; a **file report** is what one says of a file.
//! - **Symbol index**: the definitions of a project's files, each read again when it has changed. **Sought files**
//!   have what a question asks for; the **file choice** is which of many are looked into.
//! - **Sandbox**: what the kernel keeps a command to. A **sandbox policy** says what one command may touch, **sandbox places**
//!   what policies are made of, and **secret places** what is hidden in each; an **intrusion** is what appeared where
//!   nothing may be written. The **place watch** looks for those at each **vacant place** while a **sandboxed run** lasts, as soon as
//!   **place events** say that something is there, and leaves the **kept entries**, which an **outside run** or an **own write** made; **place news** is what the user hears of it. **Command traces** are what else commands may have written, and since when. The **sandbox proxy** is a
//!   command's way to the hosts on a list.
//! - **Host port**: where a connection goes. **Refused inside** is what the sandbox has refused to a command, as the proxy
//!   knows or as a **refused line** of its output says; the **line status** is whether its exit status would tell.
//! - **Background commands**: those that go on while their agents do other things. A **command host** is where an agent leaves
//!   them, a **command listener** hears each **command event**; the **command reporter** tells the agent. A **command view** is
//!   a row of the screen.
//! - **Mention**: a name with an `@`. A **user text** is a message with the mentions in it that are the user's own; a
//!   **prepared** command has all that its message names.
//! - **Message intent**: what the signs of a message ask for besides sending it. A **user question** is a choice that an agent
//!   puts to the user, a **question form** where it is answered.
//! - **Project states**: how the project was before and after each command, so that it can be taken back. **Command changes** are
//!   what one command did: to each file a **command change**, and to branches the **git moves**; **taken down** is that it is kept. A **loss** is what a command's line
//!   destroys, as far as its words tell.
//! - **Supervisor**: the process that runs a command, outlives us, and ends what the command has started. The
//!   **search path** has the folders of `PATH` from which programs run without a question.
//! - **Focus**: where keys go. An **action** is what a key means, a **keymap** says which. A **popup** is drawn in front.
//! - **App**: what the screen knows. It routes each event to its parts, which speak through the **outbox**: effects, and
//!   passing messages. **Agent tree** is what states of agents depend on; a **state row** is all that is said alike of one.
//! - **Slash command**: a row of the table of commands. A **list kind** is a row too: a list to choose from in a popup.
//! - **Message id**: which message of the user a command, or the event that it was read, is about.
//! - **Approvals**: the questions that wait for the user. **Type ahead** is a key that came before its question was read.
//! - **Agent order**: the agents as a list for the screen; a **tree node** is one of them. A **timeline** shows when they worked.
//! - **Render context**: what a view needs to draw. **Severity** is how a state is coloured.
//! - **Editor**: a program that shows the sessions of [`acp`]; in the words of its protocol, the *client*. **Editor files** are what it has open, with what is not saved. **Updates** are
//!   what it is told of a session, **turns** there are the prompts that it waits for.
//! - **Recording**: a session as its files tell it, for an export. A **step** of it is what an agent said or did; its
//!   **activity** is what it was at, as spans of time.
//! - **Setting place**: where a setting has its value from. A **foreign item** is what another agent program has configured; its
//!   **foreign kind** is what it becomes here.
//! - **Skill limits** and **sandbox limits** are what settings keep from skills and from commands. **Server lists** say which MCP
//!   servers may be used: each **server pattern** of them matches a **server place**.
//! - **Log scrollback**: what is read back from the session's files when the memory no longer has it.

#[cfg(not(unix))]
compile_error!("Belvedere needs a Unix: process groups, signals and pseudo terminals. On Windows, use WSL.");

// On top: the command line.
pub mod cli;
// Floor 6: the front ends.
pub mod acp;
pub mod headless;
pub mod tui;
// Floor 5: what the screen knows, and what puts a session together.
pub mod app;
pub mod services;
// Floor 4: many agents; a session for others to read.
pub mod export;
pub mod subagent;
// Floor 3: the loop, and the stand-in for a model.
pub mod agent;
pub mod offline;
// Floor 2: who answers, what can be done, agents as files, how work is done here, what runs beside it, servers of tools, programs that
// are agents, what is kept, what
// is chosen, where an agent works apart.
pub mod config;
pub mod definition;
pub mod external;
pub mod hook;
pub mod mcp;
pub mod memory;
pub mod provider;
pub mod session;
pub mod tool;
pub mod worktree;
// Floor 1: may it? Git under settings of our own, what the kernel keeps commands from, and programs that run and are talked to.
pub mod git;
pub mod launched;
pub mod permission;
pub mod sandbox;
// Floor 0: the words, whose certificates count, opening what no link leads to, where programs lie, temporary folders, and small files.
pub mod message;
pub mod network;
pub mod nofollow;
pub mod obeyed;
pub mod program;
pub mod temporary;
pub mod whole_file;
