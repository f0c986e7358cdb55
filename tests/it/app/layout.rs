//! The layout, for every size and any number of agents.

use std::time::Duration;

use belvedere::app::layout::{Descent, LayoutForm, LayoutMode, LayoutState, Regions, layout};
use belvedere::app::panes::{Live, MOST_CONTENT, PaneRequest, PaneSize, share};
use belvedere::message::AgentId;
use proptest::prelude::*;
use ratatui::layout::Rect;

fn wish(agent: u32) -> impl Strategy<Value = PaneRequest> {
    let chosen = prop::option::of(prop::sample::select(vec![PaneSize::Row, PaneSize::Peek, PaneSize::Pane]));
    let live = prop::sample::select(vec![Live::NeedsYou, Live::Yes, Live::Waiting, Live::News, Live::Folded]);
    (chosen, live, 0_u64..100).prop_map(move |(chosen, live, silent)| PaneRequest {
        agent: AgentId(agent),
        chosen,
        silent: Duration::from_secs(silent),
        ..PaneRequest::new(AgentId(agent), live)
    })
}

/// Up to a hundred agents in a tree of at most five levels, in the order in which they are shown.
fn wishes() -> impl Strategy<Value = Vec<PaneRequest>> {
    (0_u32..=100).prop_flat_map(|count| {
        let wishes = (1..=count).map(wish).collect::<Vec<_>>();
        let parents = prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), count as usize);
        (wishes, parents).prop_map(|(mut wishes, parents)| {
            for at in 1..wishes.len() {
                let parent = parents[at].map(|index| index.index(at)).filter(|parent| wishes[*parent].depth < 4);
                if let Some(parent) = parent {
                    wishes[at].depth = wishes[parent].depth + 1;
                    wishes[at].parent = Some(wishes[parent].agent);
                }
            }
            let mut order = Vec::new();
            let tops: Vec<PaneRequest> = wishes.iter().filter(|wish| wish.parent.is_none()).cloned().collect();
            for (branch, top) in tops.into_iter().enumerate() {
                put_below(&wishes, PaneRequest { branch, column: branch % 3, ..top }, &mut order);
            }
            order
        })
    })
}

fn put_below(wishes: &[PaneRequest], wish: PaneRequest, order: &mut Vec<PaneRequest>) {
    let (agent, branch, column) = (wish.agent, wish.branch, wish.column);
    order.push(wish);
    for child in wishes.iter().filter(|child| child.parent == Some(agent)) {
        put_below(wishes, PaneRequest { branch, column, ..child.clone() }, order);
    }
}

/// Panes stand in the order of their wishes, a branch in one column, and each shows whom it stands below.
fn assert_descent(panes: &[PaneRequest], regions: &Regions) {
    let place = |agent: AgentId| panes.iter().position(|wish| wish.agent == agent).unwrap();
    assert!(regions.panes.is_sorted_by_key(|pane| place(pane.agent)));
    for pane in &regions.panes {
        let wish = &panes[place(pane.agent)];
        let narrow = pane.area.width < 24;
        let above = wish.parent.and_then(|parent| regions.pane(parent));
        match (wish.parent, above, pane.descent) {
            (None, _, descent) => assert_eq!(descent, Descent::Indent(0)),
            _ if regions.form == LayoutForm::Full || narrow => {}
            (Some(parent), None, descent) => assert_eq!(descent, Descent::Of(parent)),
            (Some(_), Some(above), descent) => {
                assert_eq!(above.area.x, pane.area.x, "a child stands in another column");
                assert!(above.area.y < pane.area.y, "a child stands above its parent");
                let named = usize::from(!matches!(above.descent, Descent::Of(_)));
                let further = usize::from(descent.columns()) >= usize::from(above.descent.columns()) + named;
                assert!(descent == Descent::Mark || further, "{descent:?} below {:?}", above.descent);
            }
        }
        // Mark, two digits, five letters of the type, and the state.
        assert!(pane.area.width < 40 || pane.descent.columns() + 2 + 3 + 5 + 2 + 11 <= pane.area.width);
    }
}

fn all(regions: &Regions) -> Vec<Rect> {
    let mut all = vec![
        regions.conversation_head,
        regions.conversation,
        regions.divider,
        regions.below_head,
        regions.agents_head,
        regions.commands,
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
        talk_rows in prop::option::of(0_u16..=80),
        command_rows in 0_u16..=6,
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
            talk_rows,
            command_rows,
            panes: &panes,
            focused,
            full: focused.filter(|_| full),
            ..LayoutState::default()
        };
        let regions = layout(size, &state);
        assert_sound(size, &regions);
        let roomy = width >= 8 && height >= 14;
        if let Some(focused) = focused.filter(|_| roomy) {
            prop_assert!(regions.pane(focused).is_some(), "the focused pane is not visible");
        }
        let asking = panes.iter().filter(|pane| pane.live == Live::NeedsYou).count();
        if full && focused.is_some() || regions.form == LayoutForm::Alone || !roomy {
            // There are no panes beside each other.
        } else if asking + 1 < usize::from(regions.conversation.height.min(regions.commands.y / 4)) {
            for pane in panes.iter().filter(|pane| pane.live == Live::NeedsYou) {
                prop_assert!(regions.pane(pane.agent).is_some(), "who needs the user is not visible");
            }
        }
        assert_descent(&panes, &regions);
        prop_assert_eq!(layout(size, &state), regions, "the layout is no pure function");
    }
}

#[test]
fn what_the_user_chose_is_kept_while_there_is_room() {
    let wish = |agent, chosen| PaneRequest { chosen, ..PaneRequest::new(AgentId(agent), Live::Yes) };
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
    let wish = |agent, live| PaneRequest::new(AgentId(agent), live);
    let panes = [wish(1, Live::News), wish(2, Live::News), wish(3, Live::Yes), wish(4, Live::Waiting)];
    let state = LayoutState { composer_rows: 1, panes: &panes, ..LayoutState::default() };
    let regions = layout(Rect::new(0, 0, 60, 9), &state);
    let shown: Vec<u32> = regions.panes.iter().map(|pane| pane.agent.0).collect();
    assert_eq!((shown.as_slice(), regions.unseen), ([3, 4].as_slice(), 2));
}

#[test]
fn who_needs_the_user_is_seen_and_all_who_work_have_a_title() {
    let wish = |agent, live| PaneRequest::new(AgentId(agent), live);
    let mut panes: Vec<PaneRequest> = (1..=8).map(|agent| wish(agent, Live::Yes)).collect();
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
fn who_is_looked_at_hides_nobody_who_asks() {
    let wish = |agent, live| PaneRequest::new(AgentId(agent), live);
    let panes = [wish(1, Live::Waiting), wish(2, Live::NeedsYou), wish(3, Live::NeedsYou), wish(4, Live::Waiting)];
    let state = LayoutState {
        mode: LayoutMode::Side,
        split: Some(20),
        approval_rows: 10,
        command_rows: 5,
        panes: &panes,
        focused: Some(AgentId(4)),
        ..LayoutState::default()
    };
    let regions = layout(Rect::new(0, 0, 8, 37), &state);
    let shown: Vec<u32> = regions.panes.iter().map(|pane| pane.agent.0).collect();
    assert_eq!(shown, [2, 3, 4]);
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

#[test]
fn the_focused_pane_is_open_in_every_layout() {
    let panes: Vec<PaneRequest> = (1..=20).map(|agent| PaneRequest::new(AgentId(agent), Live::Yes)).collect();
    for (width, height) in [(200, 60), (120, 40), (100, 30), (80, 24), (60, 20)] {
        for focused in [1, 10, 20].map(AgentId) {
            let focused = Some(focused);
            let state = LayoutState { composer_rows: 1, panes: &panes, focused, ..LayoutState::default() };
            let regions = layout(Rect::new(0, 0, width, height), &state);
            let rows = focused.and_then(|agent| regions.pane(agent)).map_or(0, |pane| pane.area.height);
            assert!(rows >= 6, "{rows} rows at {width}x{height}");
        }
    }
}

#[test]
fn two_bodies_are_seen_below_the_conversation() {
    let live = |agent| if agent <= 8 { Live::Yes } else { Live::Folded };
    let panes: Vec<PaneRequest> = (1..=12).map(|agent| PaneRequest::new(AgentId(agent), live(agent))).collect();
    let state = LayoutState { composer_rows: 1, panes: &panes, ..LayoutState::default() };
    let regions = layout(Rect::new(0, 0, 100, 30), &state);
    let bodies = regions.panes.iter().filter(|pane| pane.area.height > 1).count();
    assert!(bodies >= 2 && regions.conversation.height >= 6, "{bodies}");
}

#[test]
fn rows_go_to_who_can_fill_them() {
    let wish = |agent, content| PaneRequest { content, ..PaneRequest::new(AgentId(agent), Live::Yes) };
    let panes = [wish(1, 1), wish(2, MOST_CONTENT), wish(3, 4)];
    let state = LayoutState { composer_rows: 1, panes: &panes, ..LayoutState::default() };
    let regions = layout(Rect::new(0, 0, 140, 40), &state);
    let rows: Vec<u16> = regions.panes.iter().map(|pane| pane.area.height).collect();
    assert_eq!((rows[0], rows[2]), (2, 5), "none is blank");
    assert!(rows[1] > 20, "{rows:?}");
}

#[test]
fn rows_that_nobody_wants_go_to_who_waits_for_the_user() {
    let wish = |agent, live, content, spare| PaneRequest { content, spare, ..PaneRequest::new(AgentId(agent), live) };
    let wishes = [wish(1, Live::NeedsYou, 1, 5), wish(2, Live::Yes, 4, 4)];
    let rows = |height| share(height, &wishes, None).iter().map(|share| share.rows).collect::<Vec<_>>();
    assert_eq!(rows(7), [2, 5], "what is asked stands in the question");
    assert_eq!(rows(9), [4, 5]);
    assert_eq!(rows(20), [6, 5], "no more than it can fill");
}

#[test]
fn rows_that_the_conversation_leaves_blank_go_to_the_panes() {
    for (width, height) in [(100, 30), (120, 40)] {
        let mut stage = crate::screens::scenes::at_work(8, width, height);
        stage.keys("/layout below<enter>");
        insta::assert_snapshot!(format!("below-{width}x{height}"), stage.text());
    }
}

#[test]
fn the_border_moves_only_where_the_conversation_grows_into_it() {
    let mut stage = crate::screens::scenes::at_work(8, 100, 30);
    stage.frame();
    let at = stage.app.regions().agents_head.y;
    for agent in 1..=8 {
        stage.calls(agent, "c", "Read", "src/lib.rs", "48 lines");
        stage.says(agent, "More text.\n\nAnd more.\n\nAnd more.");
        stage.frame();
        assert_eq!(stage.app.regions().agents_head.y, at, "agent {agent} moved it");
    }
    let mut places = Vec::new();
    for line in 0..12 {
        stage.says(0, &format!("\n\nThought {line}."));
        stage.frame();
        places.push(stage.app.regions().agents_head.y);
    }
    assert!(places.is_sorted(), "{places:?}");
    let moves = places.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(places[0] > at && moves <= 3, "{at} {places:?}");
}

#[test]
fn a_long_conversation_has_the_rows_that_agents_leave_on_a_tall_terminal() {
    let mut stage = crate::screens::scenes::at_work(1, 100, 80);
    for line in 0..100 {
        stage.says(0, &format!("Line {line}.\n\n"));
        stage.draw();
    }
    let regions = stage.app.regions();
    let rows = regions.panes[0].area.height;
    assert_eq!(regions.conversation.height + 1 + rows, regions.rule.y, "{rows} rows for the agent");
}
