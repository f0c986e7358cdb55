//! Worktrees of agents: the pane of one that left changes, the list of those that wait, and what was done in one.

use std::path::PathBuf;

use belvedere::agent::{EventKind, KeptFile, KeptWorktree, SessionEvent, Status, WorktreeNews};
use belvedere::message::{AgentId, DiffLine, FileDiff, Hunk, LineKind};

use super::snapshots::{check, check_region};
use super::stage::{Region, Stage};

/// A worktree with two changed files; `agent` is 0 for one of an earlier run.
pub(crate) fn kept(agent: u32, name: &str) -> KeptWorktree {
    let line = |kind, number, text: &str| DiffLine { kind, number, text: text.to_owned() };
    let hunk = Hunk {
        lines: vec![
            line(LineKind::Context, 11, "fn verify(token: &str) -> bool {"),
            line(LineKind::Removed, 12, "    token.len() > 0"),
            line(LineKind::Added, 12, "    !token.is_empty()"),
            line(LineKind::Context, 13, "}"),
        ],
    };
    let file = |name: &str, what: &str, hunks: Vec<Hunk>, added, removed| KeptFile {
        name: name.to_owned(),
        what: what.to_owned(),
        is_acted_on: false,
        diff: FileDiff { path: PathBuf::from("/state").join(name), added, removed, hunks, omitted: 0 },
    };
    KeptWorktree {
        branch: format!("belvedere/2026-11-20/{name}"),
        path: PathBuf::from(format!("/home/me/.local/state/belvedere/worktrees/{name}")),
        agent: (agent > 0).then_some(AgentId(agent)),
        name: name.to_owned(),
        age_secs: (agent == 0).then_some(7_300),
        commits: 0,
        files: vec![
            file("src/auth/token.rs", "changed", vec![hunk], 1, 1),
            file("assets/logo.png", "new, binary", Vec::new(), 0, 0),
        ],
    }
}

/// One agent that left changes in its worktree, one that works in its own, and one worktree of an earlier run.
pub(crate) fn stage(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("Rewrite the check of tokens, two ways.");
    for agent in [1, 2] {
        stage.spawns(agent, "rewriter", "Rewrite the check");
        stage.agent(agent, EventKind::Worktree { news: WorktreeNews::Making });
        let path = PathBuf::from(format!("/home/me/.local/state/belvedere/worktrees/rewriter-{agent}"));
        let branch = format!("belvedere/2026-11-20/rewriter-{agent}");
        stage.agent(agent, EventKind::Worktree { news: WorktreeNews::Made { branch, path } });
        stage.starts(agent);
    }
    stage.calls(1, "e1", "Edit", "src/auth/token.rs", "+1 −1");
    stage.ends(1, Status::Completed, "<summary>An empty token is refused by name now.</summary>", None);
    let one = kept(1, "rewriter-1");
    stage.agent(1, EventKind::Worktree { news: WorktreeNews::Kept(one.clone()) });
    stage.session(SessionEvent::Worktrees { kept: vec![one, kept(0, "docs-writer-3")] });
    stage.says(0, "The first is done.");
    stage.wait(2_000);
    stage
}

#[test]
fn the_pane_of_an_agent_shows_what_it_left_in_its_worktree() {
    check_region("worktree-kept", Region::Agents, |width, height| {
        let mut stage = stage(width, height);
        stage.keys("<alt+1>");
        stage
    });
    check_region("worktree-full", Region::Agents, |width, height| {
        let mut stage = stage(width, height);
        stage.keys("<alt+1><alt+1>");
        stage
    });
}

#[test]
fn the_worktrees_that_wait_stand_in_a_list_and_show_their_changes() {
    check("worktree-list", |width, height| {
        let mut stage = stage(width, height);
        let before = stage.frame();
        stage.keys("/worktrees<enter>d");
        stage.added_since(&before)
    });
    check("worktree-diff", |width, height| {
        let mut stage = stage(width, height);
        let before = stage.frame();
        stage.keys("/worktrees<enter><enter>");
        stage.added_since(&before)
    });
}

#[test]
fn conflicts_are_named_file_by_file() {
    check_region("worktree-conflicts", Region::Agents, |width, height| {
        let mut stage = stage(width, height);
        let branch = "belvedere/2026-11-20/rewriter-1".to_owned();
        let files = vec![("src/auth/token.rs".to_owned(), "both sides changed the same lines".to_owned())];
        stage.agent(1, EventKind::Worktree { news: WorktreeNews::Conflicts { branch, files } });
        stage
    });
}

#[test]
fn the_pane_of_an_agent_elsewhere_says_where_and_what_it_waits_for() {
    let mut stage = Stage::new(120, 24).with_model();
    stage.asks("Fix it, over there.");
    for agent in [1, 2] {
        stage.spawns_on(agent, "code", "Fix the parser", "big");
    }
    stage.starts(1);
    stage.keys("<alt+2>");
    let screen = stage.text();
    assert!(screen.contains("on big: Fix the parser"), "{screen}");
    assert!(screen.contains("waiting for a place on big"), "{screen}");
}
