//! `agents show`: one agent, or why there is none.

use super::Bench;

#[test]
fn everything_about_an_agent_is_shown_then_its_prompt() {
    let bench = Bench::new();
    let text = "---\nname: Night Watch\ndescription: |\n  Use at night.\n  Not by day.\ntools: Read, Bash(ls:*), Fly\n\
                disallowedTools: Write\nmodel: haiku\npermissionMode: plan\nmaxTurns: 7\ncolor: Blue\n---\n\nYou watch.\n\n\
                All night.\n";
    bench.file(".kode/agents/watch.md", text);
    for name in ["Night Watch", "night-watch", "NIGHTWATCH"] {
        let ran = bench.run("shop", &["agents", "show", name]);
        assert_eq!(ran.status, 0, "{ran:?}");
        for part in [
            "Use at night.\n",
            "             Not by day.\n",
            "user (.kode), ",
            "watch.md\n",
            "Read, Bash(ls:*), Fly, but not Write\n",
            "haiku\n",
            "plan\n",
            "at most 7\n",
            "blue\n",
            "warning      ",
            "`Fly`",
            "\n\nYou watch.\n\nAll night.\n",
        ] {
            assert!(ran.out.contains(part), "{part:?} is missing:\n{}", ran.out);
        }
    }
}

#[test]
fn an_unknown_name_is_an_error_that_names_the_nearest() {
    let bench = Bench::new();
    for (name, hint) in
        [("reviwer", "Did you mean reviewer"), ("Test_Writr", "test-writer"), ("zzzzzz", "belvedere agents list")]
    {
        let ran = bench.run("shop", &["agents", "show", name]);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{ran:?}");
        assert!(ran.err.contains(hint), "{}", ran.err);
    }
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let bench = Bench::new();
    bench.file("shop/.claude/agents/half.md", "---\nname: half\n---\nNo description.\n");
    let ran = bench.run("shop", &["agents", "show", "half"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.contains(".claude/agents/half.md cannot be used") && ran.err.contains("description"),
        "{}",
        ran.err
    );
}
