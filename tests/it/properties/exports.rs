//! Sessions for others to read: whatever the records hold, the pages have the elements of this program and no other.

use std::path::Path;

use belvedere::export::{ExportError, export};
use belvedere::message::ExportFormat;
use belvedere::session::{Secrets, Store};
use jiff::Timestamp;
use pulldown_cmark::{Event, Parser};
use tempfile::TempDir;

use super::text::assert_harmless;

pub(super) fn exports(bytes: &[u8]) {
    let dir = TempDir::new().unwrap();
    let session = dir.path().join("session");
    std::fs::create_dir(&session).unwrap();
    // Each agent has a file of its own.
    for (number, part) in bytes.split(|byte| *byte == 0).take(3).enumerate() {
        let name = if number == 0 { "main.jsonl".to_owned() } else { format!("explore-{number}.jsonl") };
        std::fs::write(session.join(name), part).unwrap();
    }
    let store = Store::new(dir.path(), Path::new("/src/shop"), Timestamp::UNIX_EPOCH, Secrets::default());
    for format in [ExportFormat::Markdown, ExportFormat::Json, ExportFormat::Html] {
        let place = dir.path().join(format!("export.{format}"));
        match export(&store, &session, format, Some(&place)) {
            Ok(written) => assert_eq!(written, place),
            Err(ExportError::Empty) => return,
            Err(error) => panic!("{error}"),
        }
        let text = std::fs::read_to_string(&place).unwrap();
        assert_harmless(&text, &['\n', '\t']);
        match format {
            ExportFormat::Markdown => check_document(&text),
            ExportFormat::Json => drop(serde_json::from_str::<serde_json::Value>(&text).unwrap()),
            ExportFormat::Html => check_page(&text),
        }
    }
}

/// Panics unless a document has no HTML but folds, each of them closed.
fn check_document(document: &str) {
    let mut open = 0_i32;
    for event in Parser::new(document) {
        let (Event::Html(html) | Event::InlineHtml(html)) = event else { continue };
        match html.trim() {
            "" => {}
            "</details>" => open -= 1,
            fold if fold.starts_with("<details><summary>") && fold.matches('<').count() == 3 => open += 1,
            other => panic!("{other:?} in:\n{document}"),
        }
        assert!(open >= 0, "{document}");
    }
    assert_eq!(open, 0, "{document}");
}

fn check_page(page: &str) {
    let lower = page.to_lowercase();
    let count = |part: &str| lower.matches(part).count();
    assert_eq!((count("<script"), count("</script")), (2, 2), "the data and the program");
    assert_eq!((count("<style"), count("</style")), (1, 1));
    assert_eq!(count("<details"), count("</details>"));
    assert_eq!(count("<div"), count("</div>"));
    for element in ["<img", "<iframe", "<object", "<embed", "<form", "<base", "<!--", "href=\"javascript"] {
        assert_eq!(count(element), 0, "{element}");
    }
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    drop(serde_json::from_str::<serde_json::Value>(data).unwrap());
}
