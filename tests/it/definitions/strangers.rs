//! What the agent files of a project may not do: take more rights than those whose name they have, lead out of the
//! project, or come from another user.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use belvedere::definition::{
    AgentDefinition, AgentDirs, Catalog, Isolation, KnownNames, Library, Listed, MemoryScope, Parsed, Roots, Source,
    Tier, ToolsField, parse,
};
use belvedere::permission::{Owner, PermissionMode};
use tempfile::TempDir;

fn file(tier: Tier, head: &str) -> Parsed {
    let source = Source { tier, path: Some(PathBuf::from("agents/x.md")) };
    parse(&format!("---\n{head}\ndescription: d\n---\nYou work."), source)
}

/// Puts these files in force beside the built-in agents.
fn catalog(files: Vec<Parsed>) -> Catalog {
    let catalog = Catalog::builtin();
    let built_in = catalog.listing();
    let built_in =
        built_in.iter().map(|listed| Parsed::from(AgentDefinition::clone(listed.definition.as_ref().unwrap())));
    let all = built_in.chain(files).collect();
    catalog.replace(all);
    catalog
}

fn errors(catalog: &Catalog) -> Vec<String> {
    catalog.listing().iter().flat_map(|listed| &listed.diagnostics).map(ToString::to_string).collect()
}

#[test]
fn a_file_of_the_project_has_no_more_rights_than_the_built_in_whose_place_it_takes() {
    for tier in [Tier::ProjectClaude, Tier::ProjectKode] {
        let catalog = catalog(vec![file(tier, "name: Explore\npermissionMode: bypassPermissions")]);
        let explore = catalog.get("explore").unwrap();
        assert_eq!(explore.source.tier, tier);
        let tools = ["Read", "Grep", "Symbols", "Glob", "LS", "Bash"].map(str::to_owned).to_vec();
        assert_eq!((&explore.tools, explore.permission_mode), (&ToolsField::List(tools), Some(PermissionMode::Plan)));
        let [told] = errors(&catalog).try_into().unwrap();
        assert!(told.contains("replaces `explore` (built-in), so it is limited to what that agent may do"), "{told}");
    }
    // Of two files of the project the one in force is narrowed.
    let both = [Tier::ProjectClaude, Tier::ProjectKode].map(|tier| file(tier, "name: explore")).into();
    assert_eq!(catalog(both).get("explore").unwrap().permission_mode, Some(PermissionMode::Plan));
}

#[test]
fn a_file_of_the_project_has_no_more_rights_than_the_users_own_of_its_name() {
    let own = "name: mine\ntools: Read, Bash(git log:*)\ndisallowedTools: WebFetch\nmaxTurns: 5\nmaxExecutionTimeMs: 1000\n\
               isolation: worktree";
    let stranger = "name: mine\ntools: Read, Write, Bash\ndisallowedTools: Grep\nmaxTurns: 9\nmaxExecutionTimeMs: 9000";
    let catalog = catalog(vec![file(Tier::UserClaude, own), file(Tier::ProjectClaude, stranger)]);
    let mine = catalog.get("mine").unwrap();
    assert_eq!(mine.source.tier, Tier::ProjectClaude);
    assert_eq!(mine.bounded_by, Some(vec!["Read".to_owned(), "Bash(git log:*)".to_owned()]));
    assert_eq!(mine.disallowed_tools, ["Grep", "WebFetch"]);
    assert_eq!((mine.max_turns, mine.max_time.map(|time| time.as_millis())), (Some(5), Some(1_000)));
    assert_eq!(mine.isolation, Some(Isolation::Worktree));
    // The user's own stands for the built-in one, whatever that may.
    let wide = vec![file(Tier::UserKode, "name: explore\ntools: '*'"), file(Tier::ProjectKode, "name: explore")];
    let catalog = self::catalog(wide);
    assert_eq!(catalog.get("explore").unwrap().permission_mode, None);
    assert_eq!(errors(&catalog), Vec::<String>::new());
}

#[test]
fn what_the_user_wrote_is_narrowed_by_nothing() {
    for tier in [Tier::UserClaude, Tier::UserKode, Tier::CommandLine] {
        let catalog = catalog(vec![file(tier, "name: explore\nmemory: user")]);
        let explore = catalog.get("explore").unwrap();
        assert_eq!((&explore.tools, explore.permission_mode), (&ToolsField::All, None));
        assert_eq!(explore.memory, Some(MemoryScope::User));
    }
    assert_eq!(errors(&catalog(vec![file(Tier::ProjectClaude, "name: other")])), Vec::<String>::new());
}

#[test]
fn an_agent_of_the_project_keeps_notes_of_the_project_only() {
    let parsed = file(Tier::ProjectClaude, "name: x\nmemory: user");
    assert_eq!(parsed.definition.unwrap().memory, Some(MemoryScope::Project));
    let told = parsed.diagnostics[0].to_string();
    assert!(told.contains(":3") && told.contains("cannot read your notes from other projects"), "{told}");
}

#[test]
fn a_name_has_an_end() {
    let parsed = file(Tier::ProjectClaude, &format!("name: {}", "n".repeat(5_000)));
    assert_eq!(parsed.definition.unwrap().name.len(), 100);
}

/// The agents of a project, seen by one user.
fn of_project(project: &Path, owner: Owner) -> Vec<Listed> {
    let dirs =
        AgentDirs::new(&Roots { home: None, claude: None, kode: None, cwd: project, project: Some(project), owner });
    let library = Library::new(dirs, Vec::new(), KnownNames::default());
    library.reload();
    let listing = library.catalog().listing();
    listing.iter().filter(|listed| listed.source.tier != Tier::BuiltIn).cloned().collect()
}

fn world() -> (TempDir, PathBuf, PathBuf, u32) {
    let ground = tempfile::tempdir().unwrap();
    let base = ground.path().canonicalize().unwrap();
    let (project, notes) = (base.join("shop"), base.join("notes"));
    let agents = project.join(".claude/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::create_dir(&notes).unwrap();
    for (path, name) in [(agents.join("a.md"), "a"), (notes.join("b.md"), "b"), (project.join("c.md"), "c")] {
        fs::write(path, format!("---\nname: {name}\ndescription: secret\n---\nBody.")).unwrap();
    }
    let uid = fs::metadata(&base).unwrap().uid();
    (ground, project, notes, uid)
}

#[test]
fn no_link_leads_out_of_the_project() {
    let (_ground, project, notes, uid) = world();
    let agents = project.join(".claude/agents");
    symlink(&notes, agents.join("folder")).unwrap();
    symlink(notes.join("b.md"), agents.join("file.md")).unwrap();
    symlink("../../c.md", agents.join("inside.md")).unwrap();
    let listed = of_project(&project, Owner::new(uid, None));
    let mut names: Vec<&str> =
        listed.iter().filter_map(|listed| Some(listed.definition.as_ref()?.name.as_str())).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "c"]);
    let told: Vec<String> = listed.iter().flat_map(|listed| &listed.diagnostics).map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|told| told.contains("links to ")), "{told:?}");
    assert!(told.iter().all(|told| told.contains("put it in ~/.claude/agents")), "{told:?}");
}

#[test]
fn a_folder_of_agents_that_is_itself_a_link_out_is_not_followed() {
    let (_ground, project, notes, uid) = world();
    fs::remove_dir_all(project.join(".claude/agents")).unwrap();
    symlink(&notes, project.join(".claude/agents")).unwrap();
    let listed = of_project(&project, Owner::new(uid, None));
    assert!(listed.iter().all(|listed| listed.definition.is_none()), "{listed:?}");
}

#[test]
fn agents_of_another_user_are_not_used() {
    let (_ground, project, _notes, uid) = world();
    if uid == 0 {
        std::os::unix::fs::chown(project.join(".claude/agents/a.md"), Some(65_534), None).unwrap();
    }
    // For root a file of nobody, for others a file of their own seen by someone else.
    let seer = if uid == 0 { Owner::new(0, None) } else { Owner::new(uid + 1, None) };
    let listed = of_project(&project, seer);
    assert!(listed.iter().all(|listed| listed.definition.is_none()), "{listed:?}");
    assert!(listed[0].diagnostics[0].message.contains("so skipped"), "{listed:?}");
}

#[test]
fn what_belongs_to_root_can_be_relied_on() {
    let owner = Owner::new(1_000, Some(7));
    assert!(owner.trusts(0) && owner.trusts(1_000) && !owner.trusts(7) && !owner.is(0));
}
