//! `agents check`: every fault of every file, with its place and what to do.

use super::{Bench, Ran};

/// A file that breaks, and what has to be said about it.
const BROKEN: [(&str, &str, &str, &str); 7] = [
    ("empty.md", "", ":1: error: ", "the file is empty"),
    ("plain.md", "Just a note.\n", ":1: error: ", "no `---` line at the top"),
    ("open.md", "---\nmodel: opus\n\nHello.\n", ":1: error: ", "no closing"),
    ("nameless/aimless.md", "---\nname: aimless\n---\nHello.\n", ": error: ", "no `description`"),
    ("unnamed.md", "---\ndescription: Unnamed\n---\nHello.\n", ":1: error: ", "`name: unnamed`"),
    ("plugin.md", "---\nname: my:plugin\ndescription: Plugin\n---\nHello.\n", ":2: error: ", "`plugin:agent`"),
    (
        "toolless.md",
        "---\nname: toolless\ndescription: Toolless\ntools: codebase, mcp__notes__read\n---\nHello.\n",
        ":4: error: ",
        "none of its `tools` exist here (codebase, mcp__notes__read)",
    ),
];
const DUBIOUS: [(&str, &str, &str, &str); 6] = [
    ("junk.md", "---\nname: junk\ndescription: Junk\nmodel: wibble-9\n---\nHello.\n", ":4: warning: ", "`wibble-9`"),
    (
        "guard.md",
        "---\nname: guard\ndescription: Guard\npermissionMode: dontAsk\n---\nHello.\n",
        ":4: warning: ",
        "`permissionMode: dontAsk` is not supported",
    ),
    ("colons.md", "---\nname: colons\ndescription: Use for: this\n---\nHello.\n", ":3: warning: ", "not valid YAML"),
    ("tools.md", "---\nname: tools\ndescription: Tools\ntools: Fly, Read\n---\nHello.\n", ": warning: ", "`Fly`"),
    (
        "blind.md",
        "---\nname: blind\ndescription: Blind\ntools: edit, search\n---\nHello.\n",
        ":4: warning: ",
        "`Read` is not in `tools`",
    ),
    ("mute.md", "---\nname: mute\ndescription: Mute\n---\n", ": warning: ", "no instructions"),
];

fn broken_bench(folder: &str) -> Bench {
    let bench = Bench::new();
    for (name, text, ..) in BROKEN.iter().chain(&DUBIOUS) {
        bench.file(&format!("{folder}/{name}"), text);
    }
    bench.agent(folder, "fine", "Fine");
    bench.file(&format!("{folder}/README.txt"), "No agent.\n");
    bench
}

fn explains_all(ran: &Ran, folder: &str) {
    assert_eq!(ran.status, 1);
    for (name, _, place, words) in BROKEN.iter().chain(&DUBIOUS) {
        let found = ran.out.lines().any(|line| {
            line.starts_with(&format!("{folder}/{name}:"))
                && line.contains(place.trim_start_matches(':'))
                && line.contains(words)
        });
        assert!(found, "{name} is not explained:\n{}", ran.out);
    }
    assert!(!ran.out.contains("fine.md"), "{}", ran.out);
    assert!(ran.out.ends_with("14 files: 1 usable, 6 with warnings, 7 unusable\n"), "{}", ran.out);
}

#[test]
fn every_file_below_a_folder_is_explained() {
    let bench = broken_bench("shop/collection");
    explains_all(&bench.run("shop", &["agents", "check", "collection"]), "collection");
    explains_all(
        &bench.run("", &["agents", "check", "collection", "-C", bench.path("shop").to_str().unwrap()]),
        "shop/collection",
    );
}

#[test]
fn without_a_path_all_tiers_are_checked() {
    let bench = broken_bench("shop/.claude/agents");
    explains_all(&bench.run("shop", &["agents", "check"]), ".claude/agents");
    let empty = Bench::new().run("shop", &["agents", "check"]);
    assert_eq!((empty.status, empty.out.as_str()), (0, "no agent files\n"));
}

#[test]
fn a_single_file_is_checked_by_itself() {
    let bench = broken_bench("shop/collection");
    let fine = bench.run("shop/collection", &["agents", "check", "fine.md"]);
    assert_eq!((fine.status, fine.out.as_str()), (0, "1 file: 1 usable\n"));
    let dubious = bench.run("shop/collection", &["agents", "check", "tools.md"]);
    assert_eq!(dubious.status, 0);
    assert!(
        dubious.out.starts_with("tools.md:") && dubious.out.ends_with("1 file: 0 usable, 1 with warnings\n"),
        "{dubious:?}"
    );
    let broken = bench.run("shop/collection", &["agents", "check", "plain.md"]);
    assert_eq!(broken.status, 1);
    let missing = bench.run("shop/collection", &["agents", "check", "nothing.md"]);
    assert_eq!(missing.status, 1);
    assert!(missing.err.contains("nothing.md cannot be checked") && missing.out.is_empty(), "{missing:?}");
}

#[test]
fn what_is_no_text_is_an_error_and_not_the_end() {
    let bench = Bench::new();
    std::fs::write(bench.agent("shop/set", "binary", ""), b"---\nname: \xff\xfe\0\n").unwrap();
    bench.agent("shop/set", "fine", "Fine");
    for path in ["set", "set/binary.md"] {
        let ran = bench.run("shop", &["agents", "check", path]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.out.starts_with("set/binary.md:"), "{ran:?}");
    }
}

#[test]
fn json_counts_and_tells_the_same() {
    let bench = broken_bench("shop/collection");
    let ran = bench.run("shop", &["agents", "check", "collection", "--json"]);
    assert_eq!(ran.status, 1);
    let json = ran.json();
    assert_eq!((&json["files"], &json["usable"]), (&14.into(), &1.into()));
    assert_eq!((&json["with_warnings"], &json["unusable"]), (&6.into(), &7.into()));
    let agents = json["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 14);
    for agent in agents {
        let broken = BROKEN.iter().any(|(name, ..)| agent["path"].as_str().unwrap().ends_with(name));
        assert_eq!(agent["standing"] == "broken", broken, "{agent:#}");
        for error in agent["diagnostics"].as_array().unwrap() {
            assert_eq!(error["severity"], if broken { "error" } else { "warning" });
            assert!(!error["message"].as_str().unwrap().is_empty());
        }
    }
}

#[test]
fn files_with_one_name_are_mentioned() {
    let bench = Bench::new();
    bench.agent("shop/set/a", "twin", "One");
    bench.agent("shop/set/b", "twin", "Other");
    let ran = bench.run("shop", &["agents", "check", "set"]);
    assert_eq!(ran.status, 0);
    assert!(ran.out.contains("set/a/twin.md: note: has the same name as set/b/twin.md"), "{}", ran.out);
    bench.agent(".claude/agents", "clerk", "One");
    bench.agent("shop/.kode/agents", "clerk", "Other");
    let ran = bench.run("shop", &["agents", "check"]);
    assert!(ran.out.contains("clerk.md: note: shadowed by .kode/agents/clerk.md. Rename"), "{}", ran.out);
}
