//! What is kept of the answers for a project.

use belvedere::permission::{Grant, GrantChange, GrantOrigin, Grants, PermissionMode, Permissions};
use belvedere::session::{Allowed, project_dir};
use proptest::prelude::*;

use super::{PROJECT, execute, read, write};

fn grant(text: &str) -> Grant {
    text.parse().unwrap()
}

#[test]
fn answers_for_one_project_are_found_there_and_nowhere_else() {
    let state = tempfile::tempdir().unwrap();
    let shop = Allowed::new(state.path(), PROJECT.as_ref());
    assert_eq!(shop.read().0, []);
    for text in ["Bash(make all)", "Edit(project files)", "Bash(make all)"] {
        shop.change(&GrantChange::Keep(grant(text))).unwrap();
    }
    let (mut found, faults) = shop.read();
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, [grant("Bash(make all)"), Grant::Edits]);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(Allowed::new(state.path(), "/elsewhere/shop".as_ref()).read().0, []);
    shop.change(&GrantChange::Forget(Grant::Edits)).unwrap();
    assert_eq!(shop.read().0, [grant("Bash(make all)")]);
}

#[test]
fn a_broken_entry_is_told_and_allows_nothing_and_the_others_stay() {
    let state = tempfile::tempdir().unwrap();
    let shop = Allowed::new(state.path(), PROJECT.as_ref());
    let file = project_dir(state.path(), PROJECT.as_ref()).join("permissions.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = format!("project = \"{PROJECT}\"\nallowed_tools = [\"Bash(make\", \"Bash(make all)\"]\n");
    std::fs::write(&file, text).unwrap();
    let (found, faults) = shop.read();
    assert_eq!(found, [grant("Bash(make all)")]);
    assert!(faults.len() == 1 && faults[0].to_string().contains("Bash(make"), "{faults:?}");
    for broken in ["allowed_tools = [\"Bash\"]", "project = \"/another\"\nallowed_tools = [\"Bash\"]", "allowed_"] {
        std::fs::write(&file, broken).unwrap();
        let (found, faults) = shop.read();
        assert!(found.is_empty() && faults.len() == 1, "{broken}: {found:?} {faults:?}");
    }
    shop.change(&GrantChange::Keep(Grant::Edits)).unwrap();
    assert_eq!(shop.read().0, [Grant::Edits], "the next answer mends it");
}

#[test]
fn an_answer_can_be_taken_back_and_what_was_configured_cannot() {
    let (keeper, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let configured = Grants::default().with(GrantOrigin::Config, [grant("Bash(make:*)")]);
    let permissions = Permissions::new(PROJECT.into(), PermissionMode::Default, configured).kept_by(keeper);
    let access = execute("cargo test");
    permissions.grant(permissions.offer(&access).unwrap());
    permissions.grant_for_project(permissions.offer(&access).unwrap());
    let project = permissions.grants().into_iter().find(|given| given.origin == GrantOrigin::Project).unwrap();
    assert_eq!(project.grant, grant("Bash(cargo test)"), "the wider answer stands");
    for given in permissions.grants() {
        permissions.forget(&given.grant);
    }
    assert_eq!(permissions.decide(&access), belvedere::permission::Decision::Ask);
    assert_eq!(permissions.decide(&execute("make all")), belvedere::permission::Decision::Allow);
    let changes = [kept.try_recv().unwrap(), kept.try_recv().unwrap()];
    let same = grant("Bash(cargo test)");
    assert_eq!(changes, [GrantChange::Keep(same.clone()), GrantChange::Forget(same)]);
    assert!(kept.try_recv().is_err(), "what was not kept is not forgotten");
}

#[test]
fn it_is_said_why_something_is_asked() {
    let permissions = Permissions::new(PROJECT.into(), PermissionMode::Default, Grants::default());
    permissions.grant(grant("Bash(git push:*)"));
    let why = |access| permissions.reason(&access);
    assert_eq!(why(read("/etc/passwd")), "mode ask: outside the project");
    assert_eq!(why(write("/etc/passwd")), "mode ask: outside the project");
    assert_eq!(why(write("/work/shop/.git/config")), "mode ask: settings of tools, which can run code later");
    assert_eq!(why(execute("make")), "mode ask: it may do more than read");
    assert_eq!(why(execute("git push; make")), "mode ask: what is allowed covers single plain commands only");
    permissions.set_mode(PermissionMode::AcceptEdits);
    let child = permissions.clone().at_most(PermissionMode::Default);
    assert_eq!(child.reason(&execute("make")), "mode ask (this agent's own): it may do more than read");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// What comes back from the disk allows what was asked and no other command.
    #[test]
    fn a_kept_grant_covers_what_was_shown_and_no_more(command in "\\PC{0,30}|[a-z *:()\"'\\\\\n\t,]{0,30}", other in "[a-z *:(]{1,12}") {
        let state = tempfile::tempdir().unwrap();
        let allowed = Allowed::new(state.path(), PROJECT.as_ref());
        let asked = Permissions::new(PROJECT.into(), PermissionMode::Default, Grants::default());
        if let Some(shown) = asked.offer(&execute(&command)) {
            allowed.change(&GrantChange::Keep(shown.clone())).unwrap();
            let (found, _) = allowed.read();
            prop_assert_eq!(&found, &[shown]);
            let grants = Grants::default().with(GrantOrigin::Project, found);
            prop_assert!(grants.cover(&execute(&command), PROJECT.as_ref()));
            let wider = format!("{command}{other}");
            prop_assert!(wider.trim() == command.trim() || !grants.cover(&execute(&wider), PROJECT.as_ref()));
        }
    }
}
