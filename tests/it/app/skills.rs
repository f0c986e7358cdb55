//! Skills and commands on the screen: completion, sending, the palette, the list.

use std::path::PathBuf;
use std::sync::Arc;

use belvedere::agent::SessionEvent;
use belvedere::app::{Effect, Event};
use belvedere::definition::CatalogChanges;
use belvedere::definition::skill::{ListedSkill, Skill, SkillFork, SkillKind, SkillOrigin};
use belvedere::message::Diagnostic;
use belvedere::subagent::Command;

use crate::screens::stage::Stage;

fn skill(name: &str, origin: SkillOrigin, hint: Option<&str>) -> ListedSkill {
    let path = PathBuf::from(format!("/p/.claude/commands/{name}.md"));
    let skill = Skill {
        name: name.to_owned(),
        kind: SkillKind::Command,
        description: format!("Does {name}\u{1b}[31m things"),
        when_to_use: None,
        argument_hint: hint.map(str::to_owned),
        arguments: Vec::new(),
        allowed_tools: Vec::new(),
        disallowed_tools: Vec::new(),
        model: None,
        effort: None,
        fork: None,
        is_for_models: true,
        is_for_users: true,
        paths: Vec::new(),
        hooks: None,
        idle_fields: Vec::new(),
        body: "Body".into(),
        origin: origin.clone(),
        path: path.clone(),
        plugin_root: None,
    };
    ListedSkill {
        name: name.to_owned(),
        kind: SkillKind::Command,
        origin,
        path,
        skill: Some(Arc::new(skill)),
        shadowed_by: None,
        awaits_trust: false,
        diagnostics: Vec::new(),
    }
}

fn some() -> Vec<ListedSkill> {
    let plugin = || SkillOrigin::Plugin("tea".to_owned());
    let changed = |mut listed: ListedSkill, change: fn(&mut Skill)| {
        change(Arc::make_mut(listed.skill.as_mut().unwrap()));
        listed
    };
    vec![
        skill("review", SkillOrigin::Project, Some("[file]")),
        skill("tea:pour", plugin(), None),
        skill("init", SkillOrigin::User, None),
        changed(skill("look", SkillOrigin::User, None), |skill| {
            skill.fork = Some(SkillFork { agent: Some("explore".to_owned()) });
        }),
        changed(skill("hidden", SkillOrigin::User, None), |skill| skill.is_for_users = false),
        ListedSkill { shadowed_by: Some("/home/review.md".into()), ..skill("review", SkillOrigin::Project, None) },
        ListedSkill {
            skill: None,
            diagnostics: vec![Diagnostic { line: Some(3), ..Diagnostic::new("nothing to do. File skipped.") }],
            ..skill("broken", SkillOrigin::Project, None)
        },
    ]
}

fn stage(columns: u16, rows: u16) -> Stage {
    let mut stage = Stage::new(columns, rows).with_model();
    stage.event(Event::SkillsListed(some().into()));
    stage
}

fn sent(effects: &[Effect]) -> Vec<String> {
    let text = |effect: &Effect| match effect {
        Effect::Command(Command::Send { text, .. }) => Some(text.text.clone()),
        _ => None,
    };
    effects.iter().filter_map(text).collect()
}

#[test]
fn they_are_completed_with_hint_and_origin_and_built_in_ones_win() {
    let mut stage = stage(80, 24);
    stage.keys("/");
    let labels = |stage: &Stage| -> Vec<(String, String)> {
        let list = stage.app.composer().completion();
        list.map(|list| list.items.iter().map(|item| (item.label.clone(), item.detail.clone())).collect())
            .unwrap_or_default()
    };
    stage.keys("rev");
    let found = labels(&stage);
    assert!(found[0].0 == "/review" && found[0].1.starts_with("project · [file] Does review"), "{found:?}");
    assert!(!found[0].1.contains('\u{1b}'));
    stage.keys("<esc><ctrl+u>/init");
    let found: Vec<_> = labels(&stage).into_iter().filter(|(label, _)| label == "/init").collect();
    assert!(found.len() == 1 && found[0].1.contains("memory file"), "the built-in one: {found:?}");
    stage.keys("<esc><ctrl+u>/hidd");
    assert!(labels(&stage).iter().all(|(label, _)| label != "/hidden"));
}

#[test]
fn a_call_is_sent_whatever_follows_its_name_and_a_slip_is_not() {
    let mut stage = stage(80, 24);
    assert_eq!(sent(&stage.keys("/review src/a.rs and /tmp/b<enter>")), ["/review src/a.rs and /tmp/b"]);
    assert_eq!(sent(&stage.keys("/review<alt+enter>two lines<enter>")), ["/review\ntwo lines"]);
    assert_eq!(sent(&stage.keys("/tea:pour now<enter>")), ["/tea:pour now"]);
    assert!(sent(&stage.keys("/hidden x<enter>")).is_empty());
    assert!(sent(&stage.keys("<ctrl+c>/revieww<enter>")).is_empty());
}

#[test]
fn the_palette_and_the_help_know_them() {
    let mut stage = stage(80, 24);
    stage.keys("<ctrl+p>review things");
    assert!(stage.text().contains("/review · project · [file] Does review"), "{}", stage.text());
    stage.keys("<enter>");
    assert_eq!(stage.app.composer().text(), "/review ");
    let mut stage = self::stage(100, 200);
    stage.keys("/help<enter>");
    let text = stage.text();
    assert!(text.contains("your skills and commands") && text.contains("/review [file]"), "{text}");
}

#[test]
fn the_list_says_whose_each_is_and_what_is_wrong() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let mut stage = stage(columns, rows);
        let effects = stage.keys("/skills<enter>");
        assert!(effects.contains(&Effect::ListSkills));
        let text = stage.text();
        for words in ["/review", "/tea:pour", "the built-in /init wins", "runs as explore", "only models call it"] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
        assert!(
            text.contains("shadowed by /home/review.md") && text.contains("broken: line 3: nothing to do"),
            "{text}"
        );
        let effects = stage.keys("<down><enter>");
        assert_eq!(effects, [Effect::EditSkill("/p/.claude/commands/tea:pour.md".into())]);
    }
}

#[test]
fn a_change_is_said_and_looked_at() {
    let mut stage = stage(80, 24);
    let changes = CatalogChanges { added: vec!["soup".to_owned()], ..CatalogChanges::default() };
    let effects = stage.session(SessionEvent::SkillsChanged { changes });
    assert!(effects.contains(&Effect::ListSkills));
    assert!(stage.text().contains("new: /soup"), "{}", stage.text());
}

#[test]
fn those_that_wait_for_trust_are_named_and_lead_to_the_question() {
    let mut stage = stage(100, 24);
    let waiting = ListedSkill { skill: None, awaits_trust: true, ..skill("deploy", SkillOrigin::Project, None) };
    stage.event(Event::SkillsListed([vec![waiting], some()].concat().into()));
    assert!(sent(&stage.keys("/deploy now<enter>")).is_empty());
    assert!(stage.text().contains("/deploy waits for your trust: /trust shows"), "{}", stage.text());
    stage.keys("<ctrl+c>/dep");
    assert!(!stage.text().contains("/deploy"), "it is not offered: {}", stage.text());
    stage.keys("<esc><ctrl+c>/skills<enter>");
    let text = stage.text();
    assert!(text.lines().any(|line| line.contains("/deploy") && line.contains("waits for your trust")), "{text}");
    let effects = stage.keys("<enter>");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::EditSkill(_))), "{effects:?}");
}
