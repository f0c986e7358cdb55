//! The layout, for every size and any number of agents.

use std::time::Duration;

use belvedere::app::layout::{LayoutMode, LayoutState, Regions, layout};
use belvedere::app::panes::{Live, PaneSize, PaneWish};
use belvedere::message::AgentId;
use proptest::prelude::*;
use ratatui::layout::Rect;

fn wish(agent: u32) -> impl Strategy<Value = PaneWish> {
    let chosen = prop::option::of(prop::sample::select(vec![PaneSize::Row, PaneSize::Peek, PaneSize::Pane]));
    let live = prop::sample::select(vec![Live::NeedsYou, Live::Yes, Live::Waiting, Live::News, Live::Folded]);
    (chosen, live, 0_u64..100).prop_map(move |(chosen, live, silent)| PaneWish {
        agent: AgentId(agent),
        chosen,
        live,
        silent: Duration::from_secs(silent),
    })
}

fn wishes() -> impl Strategy<Value = Vec<PaneWish>> {
    (0_u32..=100).prop_flat_map(|count| (1..=count).map(wish).collect::<Vec<_>>())
}

fn all(regions: &Regions) -> Vec<Rect> {
    let mut all = vec![
        regions.conversation_head,
        regions.conversation,
        regions.divider,
        regions.agents_head,
        regions.approvals,
        regions.rule,
        regions.composer,
        regions.status,
    ];
    all.extend(regions.panes.iter().map(|pane| pane.area));
    all.retain(|area| !area.is_empty());
    all
}

/// Nothing overlaps, nothing leaves the screen, and there is always a place to write.
pub(super) fn assert_sound(size: Rect, regions: &Regions) {
    let areas = all(regions);
    for (at, area) in areas.iter().enumerate() {
        assert_eq!(size.intersection(*area), *area, "{area:?} leaves {size:?}");
        for other in &areas[at + 1..] {
            assert!(area.intersection(*other).is_empty(), "{area:?} and {other:?} overlap");
        }
    }
    assert!(!regions.composer.is_empty());
    assert!(size.height < 2 || !regions.status.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_overlaps_and_nothing_leaves_the_screen(
        (width, height) in (1_u16..=400, 1_u16..=120),
        mode in prop::sample::select(LayoutMode::ALL.to_vec()),
        split in prop::option::of(0_u16..=100),
        (composer_rows, approval_rows) in (0_u16..=20, 0_u16..=60),
        panes in wishes(),
        focus in 0_u32..=100,
        full in any::<bool>(),
    ) {
        let size = Rect::new(0, 0, width, height);
        let focused = panes.iter().map(|pane| pane.agent).find(|agent| agent.0 == focus);
        let state = LayoutState {
            mode,
            split,
            composer_rows,
            approval_rows,
            panes: &panes,
            focused,
            full: focused.filter(|_| full),
        };
        let regions = layout(size, &state);
        assert_sound(size, &regions);
        let roomy = width >= 8 && height >= 14;
        if let Some(focused) = focused.filter(|_| roomy) {
            prop_assert!(regions.pane(focused).is_some(), "the focused pane is not visible");
        }
        prop_assert!(regions.panes.is_sorted_by_key(|pane| pane.agent));
        prop_assert_eq!(layout(size, &state), regions, "the layout is no pure function");
    }
}

#[test]
fn what_the_user_chose_is_kept_while_there_is_room() {
    let wish = |agent, chosen| PaneWish { agent: AgentId(agent), chosen, live: Live::Yes, silent: Duration::ZERO };
    let panes = [wish(1, Some(PaneSize::Row)), wish(2, None), wish(3, Some(PaneSize::Peek))];
    let state = LayoutState { composer_rows: 1, panes: &panes, ..LayoutState::default() };
    let regions = layout(Rect::new(0, 0, 140, 40), &state);
    let sizes: Vec<(PaneSize, u16)> = regions.panes.iter().map(|pane| (pane.size, pane.area.height)).collect();
    assert_eq!(sizes[0], (PaneSize::Row, 1));
    assert_eq!(sizes[1].0, PaneSize::Pane);
    assert_eq!(sizes[2], (PaneSize::Peek, 4));
}

#[test]
fn who_works_is_shown_before_who_has_ended() {
    let wish = |agent, live| PaneWish { agent: AgentId(agent), chosen: None, live, silent: Duration::ZERO };
    let panes = [wish(1, Live::News), wish(2, Live::News), wish(3, Live::Yes), wish(4, Live::Waiting)];
    let state = LayoutState { composer_rows: 1, panes: &panes, ..LayoutState::default() };
    let regions = layout(Rect::new(0, 0, 60, 9), &state);
    let shown: Vec<u32> = regions.panes.iter().map(|pane| pane.agent.0).collect();
    assert_eq!((shown.as_slice(), regions.unseen), ([3, 4].as_slice(), 2));
}

#[test]
fn who_needs_the_user_is_seen_and_all_who_work_have_a_title() {
    let wish = |agent, live| PaneWish { agent: AgentId(agent), chosen: None, live, silent: Duration::ZERO };
    let mut panes: Vec<PaneWish> = (1..=8).map(|agent| wish(agent, Live::Yes)).collect();
    panes[7].live = Live::NeedsYou;
    for (width, height, approval_rows, least) in [(60, 15, 3, 6), (80, 24, 5, 8), (60, 15, 0, 8), (40, 10, 3, 1)] {
        let state = LayoutState { composer_rows: 1, approval_rows, panes: &panes, ..LayoutState::default() };
        let regions = layout(Rect::new(0, 0, width, height), &state);
        assert!(regions.panes.len() >= least, "{width}x{height}: {} of 8", regions.panes.len());
        assert!(regions.pane(AgentId(8)).is_some(), "{width}x{height}: the one that asks is not seen");
        assert!(regions.conversation.height >= 2, "{width}x{height}");
    }
}

#[test]
fn agents_below_leave_no_row_empty() {
    for height in 20..60 {
        let mut stage = crate::screens::scenes::ended(80, height);
        stage.text();
        let regions = stage.app.regions();
        let used: u16 = regions.panes.iter().map(|pane| pane.area.height).sum();
        let end = regions.panes.iter().map(|pane| pane.area.bottom()).max();
        assert_eq!(used, regions.rule.y - regions.agents_head.bottom(), "at {height}");
        assert_eq!(end, Some(regions.rule.y));
    }
}
