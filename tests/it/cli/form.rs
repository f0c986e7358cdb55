//! The form of what `agents` prints: widths, hostile text, pipes.

use super::{Bench, Ran};

#[test]
fn what_files_say_is_cut_to_the_width_and_made_safe() {
    let bench = Bench::new();
    bench.agent("shop/.claude/agents", "wide", &"日本語 👍 ".repeat(100));
    bench.file(
        "shop/.claude/agents/evil.md",
        "---\nname: \"ev\\e[31mil\"\ndescription: \"a\\e]0;title\\a \\u202e b\\nc\"\ntools: \"Re\\e[2Jad\"\n---\n\u{1b}[31mred\n",
    );
    for args in [&["agents"][..], &["agents", "show", "evil"], &["agents", "check"]] {
        let ran = bench.run("shop", args);
        assert!(!ran.out.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{:?}", ran.out);
    }
    let list = bench.run("shop", &["agents"]).out;
    let line = list.lines().find(|line| line.contains("日本語")).unwrap();
    assert!(line.ends_with('…') && unicode_width::UnicodeWidthStr::width(line) <= 120, "{line}");
}

#[test]
fn nobody_reading_is_no_fault() {
    let bench = Bench::new();
    for args in [&["agents"][..], &["agents", "--json"], &["agents", "show", "plan"], &["agents", "check"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.command("shop", args).stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        let ran = Ran::of(&output);
        assert_eq!((ran.status, ran.err.as_str()), (141, ""), "{args:?}");
    }
}

#[test]
fn the_fields_of_json_are_those_of_the_documentation() {
    let list = Bench::new().run("shop", &["agents", "list", "--json"]).json();
    let page = crate::docs::text("docs/agents.md");
    let section = crate::docs::section(&page, "From the shell");
    for field in list[0].as_object().unwrap().keys() {
        assert!(section.contains(&format!("`{field}`")), "docs/agents.md does not name the field {field}");
    }
}

#[test]
fn a_word_after_p_is_a_prompt_and_no_command() {
    let ran = Bench::new().run("shop", &["-p", "agents", "--model", "offline"]);
    assert!(ran.status == 0 && !ran.out.contains("general-purpose  "), "{ran:?}");
}
