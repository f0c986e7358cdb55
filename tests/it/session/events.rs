//! Events as lines of the log.

use belvedere::agent::LogEvent;

#[test]
fn every_kind_of_event_keeps_its_line() {
    let lines = include_str!("../../fixtures/session/events.jsonl");
    let mut kinds = std::collections::BTreeSet::new();
    for line in lines.lines() {
        let event: LogEvent = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        kinds.insert(value["event"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 34, "{kinds:?}");
}
