//! A table of lines by which commands got past the lists of agents: what is decided on each without a sandbox.

use belvedere::permission::{Access, Decision, Grant, Grants, PermissionMode, Permissions, Places, Project, Rules};
use serde::Deserialize;
use serde_json::json;

use super::{PROJECT, execute, rule};
use crate::support::standard_tools;
use crate::tools::{Bench, args};

/// The table of `tests/fixtures/bypasses.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bypasses {
    grants: Vec<Grant>,
    denials: Vec<String>,
    group: Vec<Group>,
    repeated: Vec<Repeated>,
    paths: Paths,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    granted: Expected,
    denied: Expected,
    commands: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    name: String,
    /// What stands before, the part, how often, and what stands behind.
    line: (String, String, usize, String),
    granted: Expected,
    denied: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paths {
    plain: Vec<String>,
    guarded: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Expected {
    Allow,
    Ask,
    Deny,
}

impl From<Decision> for Expected {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Allow,
            Decision::Ask => Self::Ask,
            Decision::Deny(_) => Self::Deny,
        }
    }
}

impl Bypasses {
    pub(crate) fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bypasses.toml");
        toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Returns every line that can be run as it stands.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &str> {
        self.group.iter().flat_map(|group| &group.commands).map(String::as_str).filter(|line| !line.contains('\0'))
    }

    /// Returns every line with the name of its group, and what is expected of it.
    fn rows(&self) -> impl Iterator<Item = (&str, String, [Expected; 2])> {
        let single = self.group.iter().flat_map(|group| {
            let expected = [group.granted, group.denied];
            group.commands.iter().map(move |line| (group.name.as_str(), line.clone(), expected))
        });
        let repeated = self.repeated.iter().map(|row| {
            let (start, part, times, end) = &row.line;
            (row.name.as_str(), format!("{start}{}{end}", part.repeat(*times)), [row.granted, row.denied])
        });
        single.chain(repeated)
    }
}

/// Returns the permissions of an agent that was given the grants, and of one that is kept from the denials only.
fn agents(table: &Bypasses) -> [Permissions; 2] {
    let places = Places { project: PROJECT.as_ref(), home: None };
    let denials = table.denials.iter().map(|entry| rule(entry, places)).collect();
    let in_mode = |mode, grants| Permissions::new(Project::at(PROJECT.into()), mode, grants);
    [
        in_mode(PermissionMode::Default, Grants::from_iter(table.grants.clone())),
        in_mode(PermissionMode::BypassPermissions, Grants::default()).with_rules(Rules::default().forbidding(denials)),
    ]
}

#[test]
fn each_line_of_the_table_is_decided_as_it_says() {
    let table = Bypasses::read();
    let agents = agents(&table);
    let mut wrong = Vec::new();
    for (group, line, expected) in table.rows() {
        let access = execute(&line);
        let decided = [0, 1].map(|at: usize| Expected::from(agents[at].decide(&access)));
        if decided != expected {
            let line: String = line.chars().take(80).collect();
            wrong.push(format!("{group}: {line:?} is {decided:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn each_path_of_the_table_is_decided_by_where_it_leads() {
    let table = Bypasses::read();
    let bench = Bench::new();
    let (root, beside) = (bench.context.cwd.as_path(), bench.outside("beside"));
    bench.put("src/lib.rs", "");
    bench.put(".git/config", "");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("canary.txt"), "").unwrap();
    for (target, link) in
        [(".git", "link"), ("../.git", "src/link"), ("../beside", "out"), ("../beside/nothing", "dangling")]
    {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    let permissions = Permissions::new(Project::at(root.to_path_buf()), PermissionMode::AcceptEdits, Grants::default());
    let tools = standard_tools();
    let write = tools.find("Write").unwrap();
    for (paths, is_plain) in [(&table.paths.plain, true), (&table.paths.guarded, false)] {
        for path in paths {
            let call = write.parse(&args(json!({ "file_path": path, "content": "x" }))).prepare(&bench.context).await;
            let decided = call.map(|call| permissions.decide(&Access::new("Write", call.plan.access)));
            assert_eq!(matches!(decided, Ok(Decision::Allow)), is_plain, "{path:?}");
        }
    }
}
