//! Settings that may forbid something and cannot be read: nothing that asks nobody begins without them.

use std::process::Output;

use super::{Bench, text};
use crate::pty::terminal::Terminal;

const DENY: &str = r#"{"permissions":{"deny":["Bash(touch:*)"]}}"#;

fn bench(path: &str, content: &str) -> Bench {
    let bench = Bench::new();
    bench.at_home(path, content);
    bench
}

fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_run_without_anybody_to_ask_does_not_begin_without_a_guard() {
    let settings = ".claude/settings.json";
    let config = ".config/belvedere/config.toml";
    for (path, content, words) in [
        (settings, r#"{"permissions":{"deny":["Bash(touch:*)"]},}"#, "settings.json:1:43: trailing comma"),
        (settings, "{", "settings.json:1:1: EOF while parsing"),
        (settings, "[]", "it holds a list, no object of settings"),
        (settings, r#"{"permissions":{"deny":5}}"#, "`permissions.deny` is a number"),
        (settings, r#"{"hooks":{"PreToolUse":"x"}}"#, "`hooks.PreToolUse` is a text, no list"),
        (settings, r#"{"permissions":{"deny":["Bsh(touch:*)"]}}"#, "there is no tool Bsh; did you mean Bash?"),
        (settings, r#"{"permissions":{"deny":["touch *"]}}"#, "`touch *` is not a rule"),
        (settings, r#"{"availableModels":["opus"]}"#, "`availableModels` is not heeded here"),
        (config, "permission_mode = \"plam\"\n", "config.toml:1:1: `permission_mode`"),
        (config, "disallowed_tools = [\"Bash(touch:*)\"]\n[limits\n", "config.toml:2:8: "),
        (config, "limits.budget_tokens = \"100kk\"\n", "config.toml:1:"),
    ] {
        let bench = bench(path, content);
        let output = bench.ask("run `touch made.txt`", &["--allowedTools", "Bash(touch:*)"]);
        let (status, said) = ended(&output);
        assert_eq!(status, Some(2), "{content}: {said}");
        assert_eq!(said.matches(words).count(), 1, "it is said once: {content}: {said}");
        assert!(!bench.project.path().join("made.txt").exists(), "{content}");
        for more in [&["--plain"][..], &["-p", "--input-format", "stream-json", "--output-format", "stream-json"][..]] {
            let output = bench.command(&[more, &["--model", "offline"]].concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{more:?} {content}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn what_can_be_read_beside_a_bad_value_holds() {
    let run = |content: &str| {
        let bench = bench(".claude/settings.json", content);
        let (status, said) = ended(&bench.ask("run `touch made.txt`", &["--allowedTools", "Bash(touch:*)"]));
        (status, bench.project.path().join("made.txt").exists(), said)
    };
    let (status, is_made, said) = run(r#"{"permissions":{"deny":["Bash(touch:*)"],"allow":"Bash(ls)"},"theme":7}"#);
    assert_eq!((status, is_made), (Some(4), false), "{said}");
    let hook = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"echo no >&2; exit 2"}]}]},"#;
    let (status, is_made, said) = run(&format!(r#"{hook}"permissions":{{"allow":{{}}}}}}"#));
    assert_eq!((status, is_made), (Some(4), false), "{said}");
    let (status, is_made, said) = run(" ");
    assert_eq!((status, is_made), (Some(0), true), "an empty file forbids nothing: {said}");
}

#[test]
fn guards_of_the_folder_one_starts_in_are_in_force() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.project.path().join(".git")).unwrap();
    bench.file("pkg/app/.claude/settings.json", DENY);
    bench.file("pkg/app/.mcp.json", r#"{"mcpServers":{"near":{"command":"true"}}}"#);
    bench.file(".mcp.json", r#"{"mcpServers":{"far":{"command":"true"},"near":{"command":"false"}}}"#);
    let in_app = |args: &[&str]| {
        let mut command = bench.command(args);
        command.current_dir(bench.project.path().join("pkg/app"));
        command.output().unwrap()
    };
    let checked = in_app(&["permissions", "check", "Bash(touch made.txt)"]);
    assert!(text(&checked.stdout).starts_with("deny: "), "{}", text(&checked.stdout));
    let listed = text(&in_app(&["permissions"]).stdout);
    assert!(listed.contains("pkg/app/.claude/settings.json"), "{listed}");
    let doctor = text(&in_app(&["doctor"]).stdout);
    assert!(doctor.contains("pkg/app/.claude/settings.json (project): used: `permissions`"), "{doctor}");
    let servers = text(&in_app(&["mcp", "list"]).stdout);
    assert!(servers.contains("near") && servers.contains("far") && !servers.contains("false"), "{servers}");
    // What lets more happen waits for trust, as at the root.
    bench.file("pkg/app/.claude/settings.json", r#"{"permissions":{"allow":["Bash(touch:*)"]}}"#);
    let output = in_app(&["-p", "run `touch made.txt`", "--model", "offline"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("that you have not trusted"), "{}", text(&output.stderr));
}

#[test]
fn a_check_and_the_doctor_name_what_is_lost() {
    let bench = bench(".claude/settings.json", r#"{"permissions":{"deny":["Bash(touch:*)"]},}"#);
    let checked = text(&bench.command(&["permissions", "check", "Bash(touch x)"]).output().unwrap().stdout);
    assert!(checked.starts_with("deny: ") && checked.contains("! ") && checked.contains(":1:43: "), "{checked}");
    let doctor = bench.command(&["doctor"]).output().unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor.stdout).contains("broken: "), "{}", text(&doctor.stdout));
    bench.at_home(".claude/settings.json", "{}");
    bench.at_home(".config/belvedere/config.toml", "permission_mode = 'plam'\n");
    let doctor = bench.command(&["doctor"]).output().unwrap();
    assert!(text(&doctor.stdout).contains("broken: ") && doctor.status.code() == Some(1), "{}", text(&doctor.stdout));
}

#[test]
fn on_a_terminal_a_session_begins_in_plan_mode_until_the_user_chooses_another() {
    let bench = bench(".claude/settings.json", r#"{"permissions":{"deny":["Bash(touch:*)"]},}"#);
    let env = [("HOME", bench.home.path().to_str().unwrap()), ("BELVEDERE_SANDBOX_ENABLED", "false")];
    let flags = ["--plain", "--model", "offline", "--dangerously-skip-permissions"];
    let terminal = Terminal::start(100, 40, &flags, bench.project.path(), &env);
    terminal.shows("this session stays in plan mode");
    terminal.send("run `touch made.txt`\r");
    terminal.shows("Plan mode: this command may do more than read");
    terminal.send("\x04");
    terminal.ended();
    assert!(!bench.project.path().join("made.txt").exists());
    let flags = ["--model", "offline", "--dangerously-skip-permissions"];
    let screen = Terminal::start(120, 40, &flags, bench.project.path(), &env);
    screen.shows("begins in plan mode");
    screen.shows("plan");
    screen.send("/mode bypassPermissions\r");
    screen.shows("bypass");
}

#[test]
fn flags_that_cannot_be_used_end_the_start() {
    let bench = Bench::new();
    for (flags, words) in [
        (&["--tools", "Nope"][..], "--tools: there is no tool Nope"),
        (&["--tools", "Read,Bsh"][..], "there is no tool Bsh"),
        (&["--plugin-dir", "/nope"][..], "/nope is not a folder"),
        (&["--plugin-dir", "Cargo.toml"][..], "Cargo.toml is not a folder"),
        (&["--disallowedTools", "Bsh"][..], "did you mean Bash?"),
        (&["--settings", r#"{"permissions":{"deny":[5]}}"#][..], "`permissions.deny` has a number"),
        (&["--settings", r#"{"permissions":[]}"#][..], "`permissions` is a list"),
    ] {
        let (status, said) = ended(&bench.ask("hello", flags));
        assert_eq!((status, said.contains(words)), (Some(2), true), "{flags:?}: {said}");
    }
    for fine in
        [&["--tools", ""][..], &["--tools", "Read,Bash"][..], &["--disallowedTools", "NotebookEdit,WebSearch"][..]]
    {
        let (status, said) = ended(&bench.ask("hello", fine));
        assert_eq!(status, Some(0), "{fine:?}: {said}");
    }
}

#[test]
fn an_agent_or_a_skill_that_is_given_up_for_its_limits_is_said_without_a_screen() {
    let bench = Bench::new();
    bench.at_home(".claude/agents/a.md", "---\nname: a\ndescription: x\ntoolz: Read\n---\nYou look.\n");
    bench.at_home(".claude/skills/s/SKILL.md", "---\ndescription: x\ndisalowed-tools: Read\n---\nDo it.\n");
    bench.at_home(".claude/skills/t/SKILL.md", "---\ndescription: x\nauthor: me\n---\nDo it.\n");
    let (status, said) = ended(&bench.ask("where is verify_password defined?", &[]));
    assert_eq!(status, Some(0), "{said}");
    for words in ["`toolz` may say which tools", "`disalowed-tools` may be meant as `disallowed-tools`"] {
        assert_eq!(said.matches(words).count(), 1, "{words}: {said}");
    }
}
