//! `agents new`: from flags to a file.

use std::io::Write as _;
use std::process::Stdio;

use belvedere::definition::{Source, Tier, ToolsField, parse};

use super::{Bench, Ran};

#[test]
fn a_file_is_written_where_it_belongs_and_reads_back_as_asked_for() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("shop/web")).unwrap();
    let places = [
        (None, "shop/.claude/agents", Tier::ProjectClaude),
        (Some("user"), ".claude/agents", Tier::UserClaude),
        (Some("user-kode"), ".kode/agents", Tier::UserKode),
        (Some("project-kode"), "shop/.kode/agents", Tier::ProjectKode),
    ];
    for (place, folder, tier) in places {
        let name = folder.replace(['/', '.'], "-").trim_matches('-').replace("--", "-");
        let mut args = vec![
            "agents",
            "new",
            &name,
            "--description",
            "Runs: \"all\" tests # now",
            "--prompt",
            "You test.\n---\nWell.",
        ];
        args.extend(["--tools", "Read, Bash(npm test:*, x)", "--model", "haiku", "--color", "#8040c0"]);
        args.extend(place.iter().flat_map(|place| ["--in", place]));
        let ran = bench.run("shop/web", &args);
        let path = bench.path(folder).join(format!("{name}.md"));
        assert_eq!((ran.status, ran.out.trim_end(), ran.err.as_str()), (0, path.to_str().unwrap(), ""));
        let parsed = parse(&std::fs::read_to_string(&path).unwrap(), Source { tier, path: Some(path) });
        assert!(parsed.diagnostics.is_empty(), "{parsed:?}");
        let agent = parsed.definition.unwrap();
        assert_eq!((agent.name, agent.description.as_str()), (name, "Runs: \"all\" tests # now"));
        let tools = ["Read", "Bash(npm test:*)", "Bash(x)"].map(str::to_owned);
        assert_eq!(agent.tools, ToolsField::List(tools.to_vec()));
        assert_eq!((agent.model.as_deref(), agent.color.as_deref()), (Some("haiku"), Some("#8040c0")));
        assert_eq!(agent.prompt, "You test.\n---\nWell.");
    }
}

#[test]
fn the_prompt_is_taken_from_standard_input() {
    let bench = Bench::new();
    let mut child = bench
        .command("shop", &["agents", "new", "tester", "--description", "Tests", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("You test. Grüße.\n".as_bytes()).unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    let made = ran.json();
    assert_eq!(
        (&made["name"], &made["standing"], &made["tier"]),
        (&"tester".into(), &"in_force".into(), &"project".into())
    );
    let text = std::fs::read_to_string(made["path"].as_str().unwrap()).unwrap();
    assert!(text.ends_with("---\n\nYou test. Grüße.\n"), "{text}");
}

#[test]
fn an_existing_file_stays_as_it_is() {
    let bench = Bench::new();
    let path = bench.file("shop/.claude/agents/tester.md", "mine");
    let ran = bench.run("shop", &["agents", "new", "tester", "--description", "Tests", "--prompt", "You test."]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("tester.md already exists. Choose another name"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
}

#[test]
fn what_is_missing_or_wrong_is_said_and_nothing_is_written() {
    let bench = Bench::new();
    let cases: [(&[&str], &str); 9] = [
        (&[], "new NAME --description TEXT"),
        (&["tester"], "new NAME --description TEXT"),
        (&["Tester!", "--description", "x", "--prompt", "y"], "lowercase"),
        (&["tester", "--description", " ", "--prompt", "y"], "say when to use"),
        (&["tester", "--description", "x"], "--prompt TEXT"),
        (&["tester", "--description", "x", "--prompt", "y", "--in", "moon"], "project-kode"),
        (&["tester", "--description", "x", "--prompt", "y", "--color", "#12"], "`#12` is not a color"),
        (&["tester", "--description", "x", "--prompt", "y", "--color", "#zzzzzz"], "a hex code such as #ff8800"),
        (&["tester", "--description", "x", "--prompt", "y", "--color", "12 34"], "a color such as blue"),
    ];
    for (args, words) in cases {
        let ran = bench.run("shop", &[&["agents", "new"], args].concat());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    assert!(!bench.path("shop/.claude").exists());
}

#[test]
fn shadowing_and_unknown_tools_are_warned_of() {
    let bench = Bench::new();
    let new = |name: &str, place: &str, tools: &str| {
        bench.run(
            "shop",
            &["agents", "new", name, "--description", "x", "--prompt", "y", "--in", place, "--tools", tools],
        )
    };
    let ran = new("explore", "user", "Read");
    assert!(ran.status == 0 && ran.err.contains("shadows the one from built-in"), "{ran:?}");
    let ran = new("explore", "project-kode", "Read");
    assert!(ran.err.contains("user (.claude), ") && ran.err.contains("built-in"), "{ran:?}");
    let ran = new("explore", "project", "Read");
    assert!(
        ran.status == 0 && ran.err.contains("not active: the one from project (.kode), .kode/agents/explore.md"),
        "{ran:?}"
    );
    let ran = new("flyer", "project", "Fly,Read");
    assert!(ran.status == 0 && ran.err.contains("warning: ") && ran.err.contains("`Fly`"), "{ran:?}");
}
