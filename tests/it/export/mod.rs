//! A session as Markdown, as JSON and as a page: what is in it, what must not be in it, and where it goes.

mod commands;
mod page;
pub(crate) mod session;
mod text;

use std::fs;

use belvedere::agent::Status;
use belvedere::export::export;
use belvedere::message::{AgentId, ExportFormat};
use pulldown_cmark::{Event, Parser};
use serde_json::Value;

use self::session::{MAIN, Recorded, SECRET, hostile, refactoring};

#[test]
fn a_document_has_the_conversation_and_each_agent_with_its_report() {
    let text = refactoring().export(ExportFormat::Markdown);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in:\n{text}"));
    assert!(text.starts_with("# Session 2026-11-22T10-00-00Z-"), "{text}");
    assert!(at("> Refactor auth to use **JWT**") < at("I'll look at two things."));
    assert!(at("◆ **1 explore-1 · Find auth files**\ndone: It is in login.rs.") < at("## 1 explore-1"));
    assert!(at("interrupted") < at("## 1 explore-1 · Find auth files"), "agent 2 was never heard of again");
    let first = &text[at("## 1 explore-1")..];
    assert!(first.contains("done · 2 tools · "), "{first}");
    assert!(first.contains("**Task**\n\n> Task 1"), "{first}");
    assert!(first.contains("**Report**\n\nIt is in login.rs.\n\n**Findings**\n\n- one"), "{first}");
    assert!(first.contains("● **Read** src/login.rs → 13 bytes"), "{first}");
    assert!(at("### 3 explore-3") < at("## 2 explore-2"), "a child stands below its parent");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}

#[test]
fn a_json_document_has_the_tree_and_every_event_in_order() {
    let mut it = refactoring();
    it.raw(
        MAIN,
        "{\"v\":1,\"seq\":900,\"agent\":0,\"at\":\"2026-11-22T10:01:00Z\",\"event\":\"of_tomorrow\",\"x\":1}\n",
    );
    it.raw(MAIN, "{\"v\":9,\"seq\":901,\"agent\":0,\"event\":\"newer\"}\n{\"v\":1,\"seq\":902,\"ag");
    let document: Value = serde_json::from_str(&it.export(ExportFormat::Json)).unwrap();
    let numbers: Vec<u64> =
        document["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted() && numbers.last() == Some(&900), "{numbers:?}");
    assert_eq!(document["events"].as_array().unwrap().last().unwrap()["x"], 1, "an unknown kind is kept as it is");
    assert_eq!(document["skipped"], 2);
    assert_eq!(document["session"]["meta"]["cwd"], "/src/shop");
    let main = &document["agents"][0];
    assert_eq!((&main["name"], &main["children"][0]["name"]), (&"main".into(), &"explore-1".into()));
    assert_eq!(main["children"][0]["children"][0]["state"], "done");
    assert_eq!(main["children"][1]["state"], "interrupted");
}

#[test]
fn no_text_is_obeyed_and_no_secret_is_shown_whatever_the_format() {
    let mut it = Recorded::new();
    it.asks(&hostile()).says(MAIN, &hostile());
    let agent = it.spawns(MAIN, 1, &hostile());
    it.calls(agent, "c1", &hostile(), &hostile()).answers(agent, "c1", &hostile(), None);
    it.says(agent, &hostile()).ends(agent, Status::Failed, &hostile());
    for format in ExportFormat::ALL {
        let text = it.export(format);
        assert!(!text.contains(SECRET), "{format}");
        let bad = |c: char| matches!(c, '\u{1b}' | '\u{7}' | '\u{2028}' | '\u{2029}' | '\u{202e}' | '\u{2066}');
        assert!(!text.contains(bad), "{format}");
        if format == ExportFormat::Json {
            serde_json::from_str::<Value>(&text).unwrap();
            continue;
        }
        if format == ExportFormat::Markdown {
            check_html(&text);
        }
    }
}

/// Checks that a document has no HTML but its own folds, and that each of them is closed.
fn check_html(document: &str) {
    let mut open = 0_i32;
    for event in Parser::new(document) {
        let (Event::Html(html) | Event::InlineHtml(html)) = event else { continue };
        match html.trim() {
            "" => {}
            "<details><summary>Steps</summary>"
            | "<details><summary>Thinking</summary>"
            | "<details><summary>Input and output</summary>" => open += 1,
            "</details>" => open -= 1,
            other => panic!("{other:?} in:\n{document}"),
        }
        assert!(open >= 0, "{document}");
    }
    assert_eq!(open, 0, "{document}");
}

#[test]
fn an_export_is_a_new_file_and_an_empty_session_makes_none() {
    let it = refactoring();
    let dir = it.save();
    let place = it.state.path().join("talk.html");
    assert_eq!(export(&it.store, &dir, ExportFormat::Html, Some(&place)).unwrap(), place);
    let error = export(&it.store, &dir, ExportFormat::Json, Some(&place)).unwrap_err();
    assert!(error.to_string().contains("talk.html cannot be made"), "{error}");
    assert!(fs::read_to_string(&place).unwrap().starts_with("<!DOCTYPE html>"));
    let none = Recorded::new();
    let error = export(&none.store, none.store.dir(), ExportFormat::Html, Some(&place)).unwrap_err();
    assert!(error.to_string().contains("nothing to export"), "{error}");
}

#[test]
fn a_damaged_session_is_exported_as_far_as_it_can_be_read() {
    let mut it = Recorded::new();
    it.raw(MAIN, "garbage\n\n\n{\"v\":1}\n").asks("Hello");
    // The record that says who it is is lost, and so is its parent.
    it.event(AgentId(0), belvedere::agent::EventKind::Alive);
    let orphan = it.spawns(AgentId(0), 7, "Lost");
    it.says(orphan, "words").raw(orphan, "{\"v\":1,\"seq\":99,\"agent\":7,\"at\":\"2026-11-22T1");
    let text = it.export(ExportFormat::Markdown);
    assert!(text.contains("words") && text.contains("3 records could not be read."), "{text}");
    assert!(it.export(ExportFormat::Html).contains("3 records could not be read."));
}

#[test]
fn words_behind_the_command_name_a_format_or_a_place_or_both() {
    use ExportFormat::{Html, Json, Markdown};
    for (words, format, place) in [
        ("", Markdown, None),
        ("html", Html, None),
        ("json ~/a b.txt", Json, Some("~/a b.txt")),
        ("talk of today.html", Html, Some("talk of today.html")),
        ("notes", Markdown, Some("notes")),
    ] {
        assert_eq!(ExportFormat::parse_words(words), (format, place), "{words}");
    }
}
