//! The page: one file that asks for nothing, whose last state is there without a script.

use belvedere::message::ExportFormat;
use proptest::prelude::*;
use serde_json::Value;

use super::session::{MAIN, Recorded, hostile, refactoring};

/// Returns the data of a page as its script reads them.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Checks that a page has the elements of this program and no other.
fn check_bounds(page: &str) {
    let count = |part: &str| page.to_lowercase().matches(part).count();
    assert_eq!((count("<script"), count("</script")), (2, 2), "the data and the program");
    assert_eq!((count("<style"), count("</style")), (1, 1));
    assert_eq!((count("<main"), count("</main>")), (1, 1));
    assert_eq!(count("<details"), count("</details>"));
    assert_eq!(count("<div"), count("</div>"));
    for element in ["<img", "<iframe", "<object", "<embed", "<form", "<base", "<!--", "href=\"javascript"] {
        assert_eq!(count(element), 0, "{element}");
    }
    data(page);
}

#[test]
fn a_page_asks_for_nothing() {
    let mut it = refactoring();
    it.asks(&hostile()).says(MAIN, &hostile());
    let page = it.export(ExportFormat::Html);
    check_bounds(&page);
    let policy = "content=\"default-src 'none'; script-src 'nonce-";
    assert!(page.contains(policy) && page.contains("base-uri 'none'; form-action 'none'\""), "a strict policy");
    let links = page.lines().filter(|line| line.contains("<link") && !line.contains("href=\"data:,\"")).count();
    assert_eq!(links, 0);
    for call in ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "import("] {
        // What an agent has said holds no quotation mark that is not escaped.
        let own = page.lines().filter(|line| !line.contains("evil.test")).any(|line| line.contains(call));
        assert!(!own, "{call}");
    }
}

#[test]
fn the_last_state_is_there_without_a_script() {
    let page = refactoring().export(ExportFormat::Html);
    check_bounds(&page);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part:?}"));
    assert!(at("<p>Refactor auth to use <strong>JWT</strong></p>") < at("<section id=\"agents\""));
    assert!(at("id=\"agent-1\"") < at("id=\"agent-3\"") && at("id=\"agent-3\"") < at("id=\"agent-2\""));
    assert!(page.contains("class=\"agent depth-1\" id=\"agent-3\""), "a nested agent is indented");
    assert!(page.contains("<span class=\"state good\">done</span> <span class=\"tools\">2 tools</span>"));
    assert!(page.contains("<span class=\"state neutral\">interrupted</span>"));
    assert!(page.contains("[data-agent=\"1\"] { --agent: var(--cyan) }"));
    assert!(page.contains("<strong>Findings</strong>"), "the tags of a report are headings");
    assert!(page.contains("<rect class=\"tool\""), "the bars need no script either");
    assert!(page.contains("<div id=\"controls\" hidden>"), "what needs a script shows itself with it");
}

#[test]
fn each_step_has_its_moment_and_each_agent_its_spans() {
    let page = refactoring().export(ExportFormat::Html);
    assert!(page.contains("data-t=\"1500\" data-d=\"3500\"><summary><b>Read</b> src/login.rs"), "{page}");
    assert!(page.contains("class=\"step call open\" data-t=\"6000\"><summary><b>Bash</b>"), "it has no result");
    let data = data(&page);
    assert_eq!(data["length"], 16_000);
    let spans = |agent: usize| {
        let spans = data["agents"][agent]["spans"].as_array().unwrap().iter();
        spans.map(|span| format!("{} {}-{}", span[0].as_str().unwrap(), span[1], span[2])).collect::<Vec<_>>()
    };
    assert_eq!(spans(0), ["thinking 0-1000", "waiting 1000-16000"], "the main agent waits for the two");
    assert_eq!(spans(1), ["thinking 1000-1500", "tool 1500-3500", "waiting 3500-4500", "thinking 4500-6000"]);
    assert_eq!(spans(2), ["thinking 1000-6000", "tool 6000-16000"]);
    assert_eq!(data["agents"][1]["ends"], serde_json::json!([[6_000, "done"]]));
}

#[test]
fn a_long_session_makes_no_page_that_is_longer() {
    const CALLS: usize = 80;
    let mut it = Recorded::new();
    it.asks("Much");
    let line = "a line of output that says nothing\n".repeat(2_000);
    for call in 0..CALLS {
        it.calls(MAIN, &format!("c{call}"), "Bash", "make").answers(MAIN, &format!("c{call}"), &line, None);
    }
    let page = it.export(ExportFormat::Html);
    assert!(page.len() < (CALLS + 4) * (17 << 10), "{}", page.len());
    assert!(page.contains(" bytes left out …"));
    assert_eq!(page.matches("<b>Bash</b>").count(), CALLS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_breaks_out_of_the_page(text in "[<>/!\\-a-c\"'&`*_#>\\[\\]()\\\\\n ~|\u{2028}\u{202e}\u{1b}é]{0,200}") {
        let mut it = Recorded::new();
        it.asks(&text).says(MAIN, &text);
        let agent = it.spawns(MAIN, 1, &text);
        it.calls(agent, "c", &text, &text).answers(agent, "c", &text, None).says(agent, &text);
        check_bounds(&it.export(ExportFormat::Html));
        super::check_html(&it.export(ExportFormat::Markdown));
    }
}
