//! What lists of tools let agents do: rules only narrow, and what is not understood lets nothing through.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use belvedere::definition::{AgentDefinition, ToolsField};
use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grants, PermissionMode, Permissions, Places, Project, Rule, Rules,
    ToolKind,
};
use belvedere::tool::{Shell, ToolSet, standard_tools};

pub(super) const PROJECT: &str = "/work/shop";

pub(super) fn kind_of(tool: &str) -> ToolKind {
    static TOOLS: LazyLock<ToolSet> = LazyLock::new(|| {
        standard_tools(
            &Shell::new("belvedere", &[], &[]),
            &belvedere::tool::Fetcher::default(),
            &belvedere::tool::LanguageServers::default(),
            &belvedere::tool::EditorFiles::default(),
        )
    });
    TOOLS.kind_of(tool)
}

/// Uses of every kind that a list may be about.
static USES: LazyLock<Vec<Access>> = LazyLock::new(|| {
    let read =
        |tool: &str, path: &str| Access::new(tool, AccessKind::Read { path: path.into() }).of_kind(kind_of(tool));
    let write = |tool: &str, path: &str| Access::new(tool, AccessKind::Write { path: path.into() });
    let execute = |command: &str| {
        let confinement = Confinement::Guard;
        Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement })
    };
    vec![
        read("Read", "/work/shop/src/a.rs"),
        read("Read", "/work/shop/.env"),
        read("Read", "/etc/passwd"),
        read("Grep", "/work/shop"),
        read("Glob", "/work/shop/src"),
        read("LS", "/work/shop/docs"),
        write("Write", "/work/shop/src/a.rs"),
        write("Edit", "/work/shop/docs/a.md"),
        execute("ls"),
        execute("git log -p"),
        execute("git push origin"),
        execute("npm test"),
        execute("npm test; rm x"),
        execute("rm -rf x"),
        Access::new("TodoWrite", AccessKind::Nothing),
        Access::new("mcp__docs__search", AccessKind::Nothing),
    ]
});

pub(super) fn list(entries: &[String]) -> Arc<[Rule]> {
    let places = Places { project: Path::new(PROJECT), home: Some(Path::new("/home/me")) };
    entries.iter().map(|entry| Rule::parse(entry, places, kind_of)).collect()
}

/// Says for each use whether it is allowed.
pub(super) fn allowed(mode: PermissionMode, rules: Rules) -> Vec<bool> {
    let permissions = Permissions::new(Project::at(PROJECT.into()), mode, Grants::default()).with_rules(rules);
    USES.iter().map(|access| permissions.decide(access) == Decision::Allow).collect()
}

/// Returns the rules that an agent of a definition works under.
pub(super) fn rules_of(definition: &AgentDefinition) -> Rules {
    let mut rules = Rules::default().forbidding(list(&definition.disallowed_tools));
    if let ToolsField::List(tools) = &definition.tools {
        rules = rules.allowing(list(tools));
    }
    match &definition.bounded_by {
        Some(tools) => rules.allowing(list(tools)),
        None => rules,
    }
}

/// Panics if something is allowed in `narrow` that is not allowed in `wide`.
pub(super) fn assert_within(narrow: &[bool], wide: &[bool], why: &str) {
    for ((access, narrow), wide) in USES.iter().zip(narrow).zip(wide) {
        assert!(*wide || !*narrow, "{why}: {access:?}");
    }
}

pub(super) fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let entries: Vec<String> = text.lines().take(4).map(str::to_owned).collect();
    let parsed = list(&entries);
    for (rule, entry) in parsed.iter().zip(&entries) {
        assert_eq!(rule.text(), entry.trim());
        let again = list(&[rule.text().to_owned()]);
        assert_eq!(
            (again[0].tool(), again[0].is_clear(), again[0].is_whole()),
            (rule.tool(), rule.is_clear(), rule.is_whole()),
            "{entry:?} reads back"
        );
        if !rule.is_clear() {
            let alone = allowed(PermissionMode::BypassPermissions, Rules::default().allowing(again));
            assert!(!alone.contains(&true), "{entry:?} is not understood, and allows");
        }
    }
    for mode in PermissionMode::ALL {
        let all = allowed(mode, Rules::default());
        let listed = allowed(mode, Rules::default().allowing(parsed.clone()));
        let spared = allowed(mode, Rules::default().forbidding(parsed.clone()));
        let both = allowed(mode, Rules::default().allowing(parsed.clone()).forbidding(parsed.clone()));
        assert_within(&listed, &all, "a list allows what the mode does not");
        assert_within(&spared, &all, "a denial allows what the mode does not");
        assert_within(&both, &spared, "a list takes a denial back");
        let some = allowed(mode, Rules::default().allowing(parsed[..parsed.len() / 2].into()));
        assert_within(&some, &listed, "an entry more allows less");
        let fewer = allowed(mode, Rules::default().forbidding(parsed[..parsed.len() / 2].into()));
        assert_within(&spared, &fewer, "a denial more denies less");
    }
}
