//! What is kept of the answers for a project.

use belvedere::permission::{
    ActiveGrant, Decision, Grant, GrantChange, GrantOrigin, Grants, Holder, PermissionMode, Permissions, Project,
    RuleEffect,
};
use belvedere::session::{Allowed, project_dir};
use proptest::prelude::*;

use super::{PROJECT, execute, read, ruleset, write};

fn grant(text: &str) -> Grant {
    text.parse().unwrap()
}

fn given(text: &str, holder: Holder) -> ActiveGrant {
    ActiveGrant { grant: grant(text), origin: GrantOrigin::Project, holder }
}

fn kind(name: &str, source: &str) -> Holder {
    Holder::Agents { name: name.to_owned(), source: source.to_owned() }
}

#[test]
fn answers_for_one_project_are_found_there_and_nowhere_else() {
    let state = tempfile::tempdir().unwrap();
    let shop = Allowed::new(state.path(), PROJECT.as_ref());
    assert_eq!(shop.read().0, []);
    let explore = kind("explore", "built-in");
    for given in [
        given("Bash(make all)", Holder::Main),
        given("Edit(project files)", explore.clone()),
        given("Bash(make all)", explore.clone()),
        given("Bash(make all)", Holder::Main),
        given("Bash(make)", Holder::Everyone),
    ] {
        shop.change(&GrantChange::Keep(given)).unwrap();
    }
    let (found, errors) = shop.read();
    let others = [
        given("Bash(make)", Holder::Everyone),
        given("Bash(make all)", explore.clone()),
        given("Bash(make all)", Holder::Main),
    ];
    assert!(others.iter().all(|given| found.contains(given)) && found.len() == 4, "{found:?}");
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(Allowed::new(state.path(), "/elsewhere/shop".as_ref()).read().0, []);
    shop.change(&GrantChange::Forget(given("Edit(project files)", explore))).unwrap();
    assert_eq!(shop.read().0, others, "each kind of agent has its own");
}

#[test]
fn an_answer_holds_for_the_kind_of_agent_that_asked() {
    let main = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default());
    let code = main.clone().held_by(kind("code", "/home/me/.claude/agents/code.md"));
    let later = main.clone().held_by(kind("code", "/home/me/.claude/agents/code.md"));
    let stranger = main.clone().held_by(kind("code", "/work/shop/.claude/agents/code.md"));
    let edit = write("/work/shop/a.rs");
    code.grant(code.offer(&edit).unwrap());
    assert_eq!((code.decide(&edit), later.decide(&edit)), (Decision::Allow, Decision::Allow));
    assert_eq!((main.decide(&edit), stranger.decide(&edit)), (Decision::Ask, Decision::Ask));
    main.grant_for_project(Grant::Edits);
    assert_eq!((main.decide(&edit), stranger.decide(&edit)), (Decision::Allow, Decision::Ask));
    let everyone = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default())
        .under(ruleset(RuleEffect::Allow, &["Edit"]));
    let told = everyone.held_by(kind("code", "x"));
    assert_eq!(told.decide(&edit), Decision::Allow, "what was named in advance holds for all");
    main.forget(&Grant::Edits, &kind("code", "/home/me/.claude/agents/code.md"));
    assert_eq!((main.decide(&edit), code.decide(&edit)), (Decision::Allow, Decision::Ask));
}

#[test]
fn a_mode_answers_no_open_question_with_yes_and_a_grant_does() {
    let permissions = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default());
    let asked = [write("/work/shop/a.rs"), execute("make"), read("/etc/passwd")];
    for mode in [PermissionMode::AcceptEdits, PermissionMode::BypassPermissions] {
        permissions.set_mode(mode);
        assert!(asked.iter().all(|access| permissions.decide_again(access) == Decision::Ask), "{mode:?}");
    }
    permissions.grant(grant("Bash(make)"));
    assert_eq!(permissions.decide_again(&execute("make")), Decision::Allow);
    permissions.set_mode(PermissionMode::Plan);
    assert!(asked[..2].iter().all(|access| matches!(permissions.decide_again(access), Decision::Deny(_))));
}

#[test]
fn a_broken_entry_is_told_and_allows_nothing_and_the_others_stay() {
    let state = tempfile::tempdir().unwrap();
    let shop = Allowed::new(state.path(), PROJECT.as_ref());
    let file = project_dir(state.path(), PROJECT.as_ref()).join("permissions.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = format!("project = \"{PROJECT}\"\nallowed_tools = [\"Bash(make\", \"Bash(make all)\"]\n");
    std::fs::write(&file, text).unwrap();
    let (found, errors) = shop.read();
    assert_eq!(found, [given("Bash(make all)", Holder::Everyone)], "as it said when it was written");
    assert!(errors.len() == 1 && errors[0].to_string().contains("Bash(make"), "{errors:?}");
    for broken in ["allowed_tools = [\"Bash\"]", "project = \"/another\"\nallowed_tools = [\"Bash\"]", "allowed_"] {
        std::fs::write(&file, broken).unwrap();
        let (found, errors) = shop.read();
        assert!(found.is_empty() && errors.len() == 1, "{broken}: {found:?} {errors:?}");
    }
    let edits = given("Edit(project files)", Holder::Main);
    shop.change(&GrantChange::Keep(edits.clone())).unwrap();
    assert_eq!(shop.read().0, [edits], "the next answer mends it");
}

#[test]
fn an_answer_can_be_taken_back_and_what_was_configured_cannot() {
    let (keeper, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let permissions = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default())
        .under(ruleset(RuleEffect::Allow, &["Bash(make:*)"]))
        .kept_by(keeper);
    let access = execute("cargo test");
    permissions.grant(permissions.offer(&access).unwrap());
    permissions.grant_for_project(permissions.offer(&access).unwrap());
    let project = permissions.grants().into_iter().find(|given| given.origin == GrantOrigin::Project).unwrap();
    assert_eq!(project.grant, grant("Bash(cargo test)"), "the wider answer stands");
    for given in permissions.grants() {
        permissions.forget(&given.grant, &given.holder);
    }
    assert_eq!(permissions.decide(&access), belvedere::permission::Decision::Ask);
    assert_eq!(permissions.decide(&execute("make all")), belvedere::permission::Decision::Allow);
    let changes = [kept.try_recv().unwrap(), kept.try_recv().unwrap()];
    let same = given("Bash(cargo test)", Holder::Main);
    assert_eq!(changes, [GrantChange::Keep(same.clone()), GrantChange::Forget(same)]);
    assert!(kept.try_recv().is_err(), "what was not kept is not forgotten");
}

#[test]
fn it_is_said_why_something_is_asked() {
    let permissions = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default())
        .under(ruleset(RuleEffect::Allow, &["Bash(git push:*)"]));
    let why = |access| permissions.reason(&access);
    assert_eq!(why(read("/etc/passwd")), "mode ask: outside the project");
    assert_eq!(why(write("/etc/passwd")), "mode ask: outside the project");
    assert_eq!(why(write("/work/shop/.git/config")), "mode ask: other programs act on this file");
    assert_eq!(why(execute("make")), "mode ask: it may modify files");
    assert_eq!(why(execute("git push; make")), "mode ask: your permission covers a part of it only");
    permissions.set_mode(PermissionMode::AcceptEdits);
    let child = permissions.clone().at_most(PermissionMode::Default);
    assert_eq!(child.reason(&execute("make")), "mode ask (this agent's own): it may modify files");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// What comes back from the disk allows what was asked and no other command.
    #[test]
    fn a_kept_grant_covers_what_was_shown_and_no_more(command in "\\PC{0,30}|[a-z *:()\"'\\\\\n\t,]{0,30}", other in "[a-z *:(]{1,12}") {
        let state = tempfile::tempdir().unwrap();
        let allowed = Allowed::new(state.path(), PROJECT.as_ref());
        let asked = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default());
        if let Some(shown) = asked.offer(&execute(&command)) {
            let shown = ActiveGrant { grant: shown, origin: GrantOrigin::Project, holder: Holder::Main };
            allowed.change(&GrantChange::Keep(shown.clone())).unwrap();
            let (found, _) = allowed.read();
            prop_assert_eq!(&found, &[shown]);
            let grants = Grants::default().with_active(found);
            let project = Project::at(PROJECT.into());
            prop_assert!(grants.cover(&execute(&command), &project, &Holder::Main));
            let wider = format!("{command}{other}");
            prop_assert!(wider.trim() == command.trim() || !grants.cover(&execute(&wider), &project, &Holder::Main));
        }
    }
}
