//! What the user does with unmerged worktrees, by key strings.

use belvedere::agent::{EventKind, SessionEvent, WorktreeAct, WorktreeNews};
use belvedere::app::{Effect, Popup, WorktreeState};
use belvedere::message::AgentId;
use belvedere::subagent::Command;

use crate::screens::stage::Stage;
use crate::screens::worktrees::{kept, stage as at_work};

fn asked(effects: &[Effect]) -> Vec<(&str, WorktreeAct)> {
    let of = |effect| match effect {
        &Effect::Command(Command::Worktree { ref branch, act }) => Some((branch.as_str(), act)),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

const ONE: &str = "belvedere/2026-11-20/rewriter-1";
const ORPHAN: &str = "belvedere/2026-11-20/docs-writer-3";

fn stage() -> Stage {
    at_work(100, 30)
}

#[test]
fn merge_takes_a_number_or_a_name() {
    for which in ["1", "rewriter-1"] {
        let effects = stage().keys(&format!("/merge {which}<enter>"));
        assert_eq!(asked(&effects), [(ONE, WorktreeAct::Merge)], "{which}");
    }
    let effects = stage().keys("/merge docs-writer-3<enter>");
    assert_eq!(asked(&effects), [(ORPHAN, WorktreeAct::Merge)]);
}

#[test]
fn what_other_programs_act_on_is_merged_at_the_second_press() {
    let acted_on = || {
        let mut stage = stage();
        let mut one = kept(1, "rewriter-1");
        one.files[0].name = ".envrc".to_owned();
        one.files[0].is_acted_on = true;
        stage.session(SessionEvent::Worktrees { kept: vec![one, kept(0, "docs-writer-3")] });
        stage
    };
    let mut stage = acted_on();
    assert_eq!(asked(&stage.keys("/merge 1<enter>")), []);
    let said = &stage.app.flash().unwrap().text;
    assert_eq!(said, "press again to merge what other programs act on: .envrc");
    assert_eq!(asked(&stage.keys("<enter>")), [(ONE, WorktreeAct::Merge)]);
    let mut stage = acted_on();
    stage.keys("/worktrees<enter>m");
    assert_eq!(asked(&stage.keys("d")), [], "that was not what was asked about");
    assert_eq!(asked(&stage.keys("m")), []);
    assert_eq!(asked(&stage.keys("m")), [(ONE, WorktreeAct::Merge)]);
    assert_eq!(asked(&stage.keys("<down>m")), [(ORPHAN, WorktreeAct::Merge)], "nothing acts on the other's");
}

#[test]
fn an_agent_at_work_is_not_merged() {
    for keys in ["/merge 2<enter>", "/discard rewriter-2<enter>"] {
        let mut stage = stage();
        assert_eq!(asked(&stage.keys(keys)), []);
        let said = &stage.app.flash().unwrap().text;
        assert!(said.starts_with("rewriter-2 is still running; wait or stop it, then /"), "{said}");
    }
    let mut stage = stage();
    assert_eq!(asked(&stage.keys("/merge 7<enter>")), []);
    assert!(stage.app.flash().unwrap().text.contains("usage: /merge N (see /worktrees)"));
}

#[test]
fn discard_says_what_is_lost_and_waits_for_the_second_enter() {
    let mut stage = stage();
    assert_eq!(asked(&stage.keys("/discard 1<enter>")), []);
    let said = &stage.app.flash().unwrap().text;
    assert_eq!(said, "press again to discard rewriter-1's changes: 2 files, +1 −1");
    assert_eq!(stage.app.composer().text(), "/discard 1", "the command stays for a second enter");
    assert_eq!(asked(&stage.keys("<enter>")), [(ONE, WorktreeAct::Discard)]);
    assert_eq!(stage.app.composer().text(), "");
}

#[test]
fn a_discard_that_is_late_or_means_another_asks_anew() {
    let mut stage = stage();
    stage.keys("/discard 1<enter>");
    stage.wait(5_000);
    assert_eq!(asked(&stage.keys("<enter>")), []);
    let mut stage = self::stage();
    stage.keys("/worktrees<enter>d");
    assert_eq!(asked(&stage.keys("<down>d")), [], "the other one was not asked about");
    assert_eq!(asked(&stage.keys("d")), [(ORPHAN, WorktreeAct::Discard)]);
}

#[test]
fn the_list_merges_shows_and_closes() {
    let mut stage = stage();
    stage.keys("/worktrees<enter>");
    assert_eq!(asked(&stage.keys("<down>m")), [(ORPHAN, WorktreeAct::Merge)]);
    stage.keys("<enter>");
    assert!(matches!(stage.app.popup(), Some(Popup::Text { .. })));
    stage.keys("<esc>/worktrees<enter>");
    stage.session(SessionEvent::Worktrees { kept: Vec::new() });
    assert_eq!(stage.app.popup(), None, "there is nothing left to choose from");
    stage.keys("/worktrees<enter>");
    assert_eq!(stage.app.popup(), None);
}

#[test]
fn what_earlier_runs_left_is_offered_once() {
    let mut stage = Stage::new(100, 30).with_model();
    let two = vec![kept(0, "one"), kept(0, "two")];
    stage.session(SessionEvent::Worktrees { kept: two.clone() });
    stage.session(SessionEvent::Worktrees { kept: two });
    let text = stage.text();
    let offer = "2 unmerged worktrees from an earlier run: /worktrees";
    assert_eq!(text.matches(offer).count(), 1, "{text}");
}

#[test]
fn a_worktree_outlives_its_agent_on_the_screen() {
    let mut stage = stage();
    let standing = |stage: &Stage| stage.app.agents().get(AgentId(1)).unwrap().worktree.as_ref().unwrap().state;
    assert_eq!(standing(&stage), WorktreeState::Kept);
    let files = kept(1, "rewriter-1").files;
    let news = WorktreeNews::Merged { branch: ONE.to_owned(), files, leftover: None };
    stage.agent(1, EventKind::Worktree { news });
    assert_eq!(standing(&stage), WorktreeState::Gone);
    let text = stage.text();
    assert!(text.contains("rewriter-1: merged into the project, not committed · 2 files: src/auth/token.rs"), "{text}");
}

#[test]
fn the_mark_of_a_worktree_goes_from_every_row_with_it() {
    let mut stage = stage();
    let marks = |stage: &mut Stage| stage.text().matches("⎇ Rewrite the check").count();
    let before = marks(&mut stage);
    let news = WorktreeNews::Merged { branch: ONE.to_owned(), files: kept(1, "rewriter-1").files, leftover: None };
    stage.agent(1, EventKind::Worktree { news });
    assert_eq!((before, marks(&mut stage)), (3, 1), "{}", stage.text());
}

#[test]
fn a_merge_is_told_also_of_an_agent_of_a_cleared_conversation() {
    let mut stage = stage();
    stage.session(SessionEvent::Cleared);
    assert_eq!(stage.app.kept_worktrees().len(), 2, "they wait on");
    assert_eq!(asked(&stage.keys("/merge rewriter-1<enter>")), [(ONE, WorktreeAct::Merge)]);
    let news = WorktreeNews::Merged { branch: ONE.to_owned(), files: Vec::new(), leftover: None };
    stage.agent(1, EventKind::Worktree { news });
    assert!(stage.text().contains("rewriter-1: merged into the project"));
    assert!(stage.app.agents().is_empty());
}
