//! Every view of the screen, with eight agents behind it and any words in every place that shows words.

use std::path::PathBuf;

use belvedere::agent::{EventKind, SessionEvent, Status, ToolEvent, TurnEvent};
use belvedere::app::agent_files::FileNews;
use belvedere::app::composer::History;
use belvedere::app::{Editing, Event};
use belvedere::definition::{AgentHome, HomeState, Tier};
use belvedere::message::{DiffLine, FileDiff, Hunk, LineKind};
use belvedere::permission::{Access, AccessKind, ActiveGrant, Grant, GrantOrigin, Holder, Preview};
use belvedere::tool::{Todo, TodoStatus, ToolView};

use super::agent_files::{everything, file, listing, places};
use super::stage::{Stage, request, tool_started};
use crate::app::rewind;

/// A view: its name, how the message is edited, and the keys that lead to it.
pub(crate) type View = (&'static str, Editing, &'static str);

const EMACS: Editing = Editing::Emacs;

pub(crate) const VIEWS: [View; 52] = [
    ("composer", EMACS, "half a thought"),
    ("vi", Editing::Vi, "half a thought<esc>"),
    ("targeted", EMACS, "<alt+1>mlook at the lexer too"),
    ("queued", EMACS, "second<enter>third<enter>"),
    ("unread", EMACS, "<alt+1>mone more<enter>and one<enter>"),
    ("commands", EMACS, "/"),
    ("file-names", EMACS, "look at @lay"),
    ("mentions", EMACS, "let @agent-"),
    ("history", EMACS, "<ctrl+r>test"),
    ("interrupt", EMACS, "<esc>"),
    ("stop-all", EMACS, "<ctrl+x>"),
    ("quit", EMACS, "/quit<enter>"),
    ("rewind", EMACS, ""),
    ("question", EMACS, "<f6>"),
    ("question-whole", EMACS, "<f6><tab>"),
    ("question-edit", EMACS, "<f6>]"),
    ("comment", EMACS, "<f6>eno, use make"),
    ("focus-2", EMACS, "<f6><f6>"),
    ("focus-3", EMACS, "<f6><f6><f6>"),
    ("agent", EMACS, "<alt+3>"),
    ("agent-folded", EMACS, "<alt+3><space>"),
    ("prompt", EMACS, "<alt+3>p"),
    ("full-1", EMACS, "<alt+1><alt+1>"),
    ("full-5", EMACS, "<alt+5><alt+5>"),
    ("full-search", EMACS, "<alt+1><alt+1>/needle"),
    ("full-found", EMACS, "<alt+1><alt+1>/e<enter>"),
    ("bars", EMACS, "/timeline<enter>"),
    ("layout-side", EMACS, "/layout side<enter>"),
    ("layout-below", EMACS, "/layout below<enter>"),
    ("layout-rail", EMACS, "/layout rail<enter>"),
    ("layout-hidden", EMACS, "/layout hidden<enter>"),
    ("palette", EMACS, "<ctrl+p>"),
    ("palette-found", EMACS, "<ctrl+p>lay"),
    ("palette-nothing", EMACS, "<ctrl+p>zzz"),
    ("keys", EMACS, "<f1>"),
    ("tasks", EMACS, "/tasks<enter>"),
    ("themes", EMACS, "/theme<enter><down>"),
    ("permissions", EMACS, "/permissions<enter>"),
    ("cost", EMACS, "/cost<enter>"),
    ("model", EMACS, "/model<enter>"),
    ("mode", EMACS, "/mode<enter>"),
    ("files-list", EMACS, "<f2>"),
    ("files-search", EMACS, "<f2>/hostile"),
    ("files-detail", EMACS, "<f2>/hostile<enter><enter>"),
    ("files-delete", EMACS, "<f2>/hostile<enter>x"),
    ("files-copy", EMACS, "<f2>/hostile<enter>c"),
    ("wizard-how", EMACS, "/agents new<enter>"),
    ("wizard-where", EMACS, "/agents new<enter><enter>"),
    ("wizard-wish", EMACS, "/agents new<enter><down><enter>reviews the tests"),
    ("wizard-name", EMACS, "/agents new<enter><enter><enter>explor"),
    ("wizard-tools", EMACS, "/agents new<enter><enter><enter>a<enter>b<enter><down> "),
    (
        "wizard-summary",
        EMACS,
        "/agents new<enter><enter><enter>a<enter>Use it.<enter><enter><enter><down><enter>Go.<enter>",
    ),
];

/// Opens a view.
pub(crate) fn open(view: View, width: u16, height: u16, words: &str) -> Stage {
    let (_, editing, keys) = view;
    let mut stage = crowd(width, height, editing, words);
    stage.draw();
    if view.0 == "rewind" {
        at_rest(&mut stage, words);
    }
    stage.keys(keys);
    stage
}

/// Lets everything end, and asks what would come back with the only message.
fn at_rest(stage: &mut Stage, words: &str) {
    for agent in (0..=8).rev().filter(|agent| *agent != 6) {
        stage.ends(agent, Status::Completed, &format!("<summary>{words}</summary>"), None);
    }
    stage.keys("/rewind<enter><enter>");
    stage.event(Event::RewindPlanned { messages: 1, plan: rewind::plan(words) });
}

/// Eight agents at work, two questions, agent files, former messages, grants: these words wherever words are shown.
fn crowd(width: u16, height: u16, editing: Editing, words: &str) -> Stage {
    let mut stage = Stage::with_setup(width, height, |setup| {
        setup.editing = editing;
        setup.folder = format!("~/src/{words}");
    });
    stage.session(SessionEvent::ModelChosen {
        provider: "anthropic".to_owned(),
        id: "demo-1".to_owned(),
        display: format!("sonnet {words}"),
        context_window: Some(200_000),
        note: None,
    });
    outside(&mut stage, words);
    stage.asks(&format!("Do it {words}"));
    stage.says(0, &format!("I look. {words}\n\n| a | b |\n|---|---|\n| {words} | 1 |\n\n```\n{words}\n```\n"));
    for agent in 1..=8 {
        stage.spawns(agent, &format!("explore {words}"), &format!("Find {words}"));
    }
    for agent in 1..=7 {
        stage.starts(agent);
    }
    stage.wait(2_000);
    stage.calls(1, "r1", "Read", &format!("src/{words}.rs"), &format!("2 lines {words}"));
    stage.says(1, &format!("# Found {words}\n\n- {words}\n\n> {words}\n\n[{words}](https://example.com/{words})\n"));
    stage.agent(2, EventKind::Turn(TurnEvent::Thinking { text: format!("I think {words}") }));
    let items = vec![Todo {
        content: format!("Do {words}"),
        status: TodoStatus::InProgress,
        active_form: format!("Doing {words}"),
    }];
    stage.agent(3, tool_started("t3", "TodoWrite", words));
    stage.tool_ends(3, "t3", words, Some(ToolView::Todos { items }));
    stage.agent(4, tool_started("e4", "Edit", words));
    stage.tool_ends(4, "e4", words, Some(ToolView::Diff(diff(words))));
    stage.agent(5, tool_started("b5", "Bash", &format!("make {words}")));
    stage.agent(
        5,
        EventKind::Tool(ToolEvent::Progress { call_id: "b5".to_owned(), tail: format!("built {words}\n{words}") }),
    );
    stage.ends(6, Status::Failed, &format!("<summary>{words}</summary>"), Some(&format!("It broke: {words}")));
    let reason = format!("too many {words}");
    stage.agent(7, EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 20_000, rate_limited: true, reason }));
    stage.wants_to_run(1, "b1", &format!("cargo test {words}"));
    let mut edit = request(3, "e9", &format!("src/{words}"));
    edit.access = Access::new("Edit", AccessKind::Write { path: PathBuf::from(format!("/home/me/src/shop/{words}")) });
    edit.preview = Some(Preview::Diff(diff(words)));
    edit.grant = Some(Grant::Edits);
    edit.reason = format!("mode ask: {words}");
    stage.agent(3, tool_started("e9", "Edit", words));
    stage.agent(3, EventKind::Tool(ToolEvent::ApprovalRequested { request: edit }));
    stage.wait(3_000);
    stage
}

/// What the world told the app.
fn outside(stage: &mut Stage, words: &str) {
    stage.event(Event::BranchKnown(Some(format!("main {words}"))));
    stage.event(Event::FilesListed(vec![format!("src/layout/{words}.rs"), "src/layout/mod.rs".to_owned()]));
    stage.event(Event::HistoryLoaded(History::parse(&History::line(&format!("run the tests {words}")))));
    stage.event(Event::AgentFiles(FileNews::Places(places())));
    let homes = [Tier::ProjectClaude, Tier::UserClaude].map(|tier| AgentHome {
        tier,
        path: format!("/home/me/{words}/agents").into(),
        state: HomeState::There,
    });
    stage.event(Event::AgentFiles(FileNews::Homes(homes.into())));
    let flat = words.replace(['\n', '\r', '\t'], " ");
    let head = format!("---\nname: hostile\ndescription: Reads {flat}\ntools: Read, {flat}\nmodel: {flat}\n---\n");
    let mut files = everything();
    files.push(file(Tier::ProjectClaude, "hostile", &format!("{head}\n# Go {words}\n\n{words}\n")));
    stage.event(Event::AgentFiles(FileNews::Listed(listing(files))));
    let grants = [GrantOrigin::Session, GrantOrigin::Project].map(|origin| ActiveGrant {
        grant: Grant::Command(format!("make {words}")),
        origin,
        holder: Holder::Main,
    });
    stage.session(SessionEvent::GrantsChanged { grants: grants.into() });
}

fn diff(words: &str) -> FileDiff {
    let line = |kind, number| DiffLine { kind, number, text: format!("let a = \"{words}\";") };
    FileDiff {
        path: PathBuf::from(format!("/home/me/src/shop/{words}.rs")),
        added: 1,
        removed: 1,
        hunks: vec![Hunk { lines: vec![line(LineKind::Removed, 12), line(LineKind::Added, 12)] }],
        omitted: 0,
    }
}
