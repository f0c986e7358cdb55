//! Files that the program writes: strict, read back as the same agent, whole, and never over another file.

use belvedere::definition::{AgentDefinition, AgentDraft, DraftError, ToolsField, write_new};
use proptest::prelude::*;

use super::read;

fn draft(description: &str, prompt: &str) -> AgentDraft {
    AgentDraft {
        name: "test-runner".to_owned(),
        description: description.to_owned(),
        tools: ToolsField::List(vec!["Read".to_owned(), "Bash(npm test:*)".to_owned()]),
        model: Some("sonnet".to_owned()),
        color: Some("cyan".to_owned()),
        prompt: prompt.to_owned(),
    }
}

/// Reads a draft's file, which has to be strict.
fn reread(draft: &AgentDraft) -> AgentDefinition {
    let text = draft.to_text();
    let parsed = read(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().filter(|error| !error.message.contains("no instructions")).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    parsed.definition.expect("the file is used")
}

fn reads_back(draft: &AgentDraft) {
    assert_eq!(AgentDraft::from(&reread(draft)), draft.settled(), "{}", draft.to_text());
}

#[test]
fn descriptions_of_every_kind_read_back() {
    for description in [
        "Use this agent when: tests fail",
        "- a list?",
        "*starts with a star",
        "it says \"quoted\" and 'single' # not a comment",
        "one\ntwo\n\n  indented: yes\n---\nuser: hi\n<example>\nlast",
        "a literal \\n of two characters",
        "null",
        "1e5",
        "del \u{7f} nel \u{85} ls \u{2028} bom \u{feff} c1 \u{9b} emoji 🧭 nul \u{0} esc \u{1b}",
        "line\nwith a \t tab\nand a bell \u{7}",
        "windows\r\nlines\rend",
        "trailing spaces  \nhere \n",
    ] {
        reads_back(&draft(description, "You work.\n\n---\n\nname: not a field\n---\nEnd."));
    }
}

#[test]
fn a_description_of_several_lines_is_a_block_that_people_can_read() {
    let text = draft("Use it when:\n- tests fail\n- a test is missing", "Go.").to_text();
    assert!(text.contains("description: |-\n  Use it when:\n  - tests fail\n  - a test is missing\ntools:"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_draft_reads_back_as_the_same_agent(
        name in "[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}",
        description in "(\\PC|[\n\r\t \"'\\\\#:\\-]|\\p{C}|---|: |🧭){1,60}",
        prompt in "(\\PC|[\n\r\t \"'\\\\#:]|\n---\n|\\p{Cc}){0,80}",
        all in any::<bool>(),
    ) {
        prop_assume!(AgentDraft::check_name(&name).is_ok());
        let mut draft = draft(&description, &prompt);
        draft.name = name;
        if all {
            draft.tools = ToolsField::All;
        }
        prop_assume!(!draft.settled().description.is_empty());
        reads_back(&draft);
    }
}

#[test]
fn a_file_is_written_whole_into_a_folder_that_is_made() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/agents");
    let path = draft("Use it.", "Go.").create_in(&folder).unwrap().path;
    assert_eq!(path, folder.join("test-runner.md"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), draft("Use it.", "Go.").to_text());
    let again = draft("Another.", "No.").create_in(&folder).unwrap_err();
    assert!(matches!(&again, DraftError::Exists(_)) && again.to_string().contains("already exists"), "{again}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), draft("Use it.", "Go.").to_text());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");
}

#[cfg(unix)]
#[test]
fn a_file_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let usual = home.path().join("usual");
    std::fs::write(&usual, "").unwrap();
    let path = write_new(&home.path().join("agent.md"), "text").unwrap().path;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&usual));
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let blocked = home.path().join("agents");
    std::fs::write(&blocked, "a file").unwrap();
    let error = draft("Use it.", "Go.").create_in(&blocked).unwrap_err().to_string();
    assert!(error.contains("Cannot write") && error.contains("Choose another folder"), "{error}");
    assert_eq!(std::fs::read_to_string(&blocked).unwrap(), "a file");
}

#[test]
fn names_are_made_from_any_text() {
    for (text, name) in
        [("Test Runner.v2", "test-runner-v2"), ("  --déjà__vu-- ", "d-j-vu"), ("日本", ""), ("ok", "ok")]
    {
        assert_eq!(AgentDraft::name_like(text), name);
    }
    let long = AgentDraft::name_like(&"word ".repeat(40));
    assert_eq!(AgentDraft::check_name(&long), Ok(()));
}

#[test]
fn a_models_answer_is_read_in_each_of_its_forms() {
    let file =
        "---\nname: test-runner\ndescription: Use it.\ntools: Read\n---\n\nEnd with <summary>…</summary> or <answer>.";
    for answer in [
        file.to_owned(),
        format!("Here it is:\n\n```markdown\n{file}\n```\nEnjoy."),
        format!("<summary>done</summary>\n<answer>\n{file}\n</answer>"),
        format!("<summary>done</summary>\n<answer>\n```\n{file}\n```\n</answer>\n"),
        format!("<answer>{file}"),
    ] {
        let draft = AgentDraft::from_answer(&answer).unwrap_or_else(|error| panic!("{error}\n{answer}"));
        assert_eq!(draft.name, "test-runner");
        assert_eq!(draft.tools, ToolsField::List(vec!["Read".to_owned()]));
        assert!(draft.prompt.ends_with("or <answer>."), "{answer}\n->\n{}", draft.prompt);
    }
    let error = AgentDraft::from_answer("I cannot do that.").unwrap_err();
    assert!(error.contains("not an agent file"), "{error}");
}
