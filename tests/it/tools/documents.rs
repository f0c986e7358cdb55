//! PDF documents: pages, their text, and files that are made to do harm.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use belvedere::message::ResultPart;
use belvedere::tool::ToolOutput;
use lopdf::{Document, EncryptionState, EncryptionVersion, Object, Permissions};
use serde_json::json;
use std::fmt::Write as _;

use super::{Bench, text_of};

/// Returns a document in which each page says its number; fonts and size stand in the group of all pages, and each page
/// has a link to the first.
pub(crate) fn document(pages: usize) -> Vec<u8> {
    let kids: String = (0..pages).map(|page| format!("{} 0 R ", 4 + page * 2)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{kids}] /Count {pages} /MediaBox [0 0 200 100] /Resources << /Font << /F1 3 0 R >> >> >>"
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    for page in 0..pages {
        let link = "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest [4 0 R /Fit] >>";
        let contents = 5 + page * 2;
        objects.push(format!("<< /Type /Page /Parent 2 0 R /Contents {contents} 0 R /Annots [{link}] >>"));
        let content = format!("BT /F1 12 Tf 10 10 Td (Words of page {}) Tj ET", page + 1);
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut out = "%PDF-1.7\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        let _ = writeln!(table, "{:010} 00000 n ", out.len());
        let _ = writeln!(out, "{} 0 obj\n{object}\nendobj", number + 1);
    }
    let (start, size) = (out.len(), objects.len() + 1);
    (out + &table + &format!("trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n")).into_bytes()
}

fn locked(user: &str) -> Vec<u8> {
    let mut file = Document::load_mem(&document(2)).unwrap();
    let id = Object::string_literal("0123456789abcdef");
    file.trailer.set("ID", vec![id.clone(), id]);
    let version = EncryptionVersion::V1 {
        document: &file,
        owner_password: "owner",
        user_password: user,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    file.encrypt(&state).unwrap();
    let mut bytes = Vec::new();
    file.save_to(&mut bytes).unwrap();
    bytes
}

fn sent(output: &ToolOutput) -> Vec<u8> {
    let ResultPart::Image { media_type, data } = &output.content[1] else { panic!("{output:?}") };
    assert_eq!(media_type, "application/pdf");
    STANDARD.decode(data).unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/documents/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[tokio::test]
async fn a_short_document_goes_as_it_is() {
    let bench = Bench::new();
    bench.put("a.pdf", document(3));
    let output = bench.run("Read", json!({"file_path": "a.pdf", "pages": ""})).await;
    assert_eq!(output.summary, "application/pdf, 3 pages, 2 KB");
    assert_eq!(sent(&output), document(3));
}

#[tokio::test]
async fn pages_are_cut_out_with_what_they_inherit_and_nothing_else() {
    let bench = Bench::new();
    bench.put("a.pdf", document(30));
    let output = bench.run("Read", json!({"file_path": "a.pdf", "pages": "12-13"})).await;
    assert!(output.summary.starts_with("application/pdf, pages 12–13 of 30, "), "{}", output.summary);
    let bytes = sent(&output);
    let cut = Document::load_mem(&bytes).unwrap();
    assert_eq!(cut.get_pages().len(), 2);
    assert_eq!(cut.extract_text(&[1, 2]).unwrap(), "Words of page 12\nWords of page 13\n");
    let page = cut.get_dictionary(cut.get_pages()[&1]).unwrap();
    assert!(page.has(b"MediaBox") && page.has(b"Resources") && page.has(b"Annots"));
    let raw = String::from_utf8_lossy(&bytes);
    assert!(!raw.contains("Words of page 1)") && !raw.contains("/Dest"), "{raw}");

    for (pages, which) in [("30", "page 30 of 30"), ("25 - 40", "pages 25–30 of 30")] {
        let output = bench.run("Read", json!({"file_path": "a.pdf", "pages": pages})).await;
        assert!(output.summary.contains(which), "{}", text_of(&output));
    }
}

#[tokio::test]
async fn what_is_too_much_says_what_to_ask_for() {
    let bench = Bench::new();
    bench.put("a.pdf", document(30));
    for (pages, words) in [
        (None, "a.pdf has 30 pages. Read at most 20 at a time: call again with pages, such as \"1-20\"."),
        (Some("1-30"), "pages: 1-30 are 30 pages; one call reads at most 20."),
        (Some("31"), "a.pdf ends with page 30. Call again with pages up to 30."),
        (Some("5-2"), "pages: write one page or a range, such as \"3\" or \"1-5\"."),
        (Some("0"), "pages: write one page or a range"),
        (Some("all"), "pages: write one page or a range"),
    ] {
        let told = bench.error("Read", json!({"file_path": "a.pdf", "pages": pages})).await;
        assert!(told.starts_with(words), "{told}");
    }
    let large = [document(2), vec![b'\n'; 9 << 20]].concat();
    bench.put("large.pdf", &large);
    let told = bench.error("Read", json!({"file_path": "large.pdf"})).await;
    assert_eq!(told, "large.pdf: these pages are 10 MB; the limit is 9 MB. Call again with pages, for fewer of them.");
    bench.put("text", "one\n");
    assert_eq!(bench.text("Read", json!({"file_path": "text", "pages": "1"})).await, "     1\tone\n");
}

#[tokio::test]
async fn a_model_without_documents_reads_their_text() {
    let mut bench = Bench::new();
    bench.context.reads_documents = false;
    bench.put("a.pdf", document(30));
    let shown = bench.text("Read", json!({"file_path": "a.pdf", "pages": "2-3"})).await;
    assert_eq!(
        shown,
        "[Page 2]\nWords of page 2\n\n[Page 3]\nWords of page 3\n\n[Text of pages 2–3 of 30 of a.pdf; you cannot see PDF \
         documents as they look. Continue with pages \"4-23\".]\n"
    );
    bench.context.result_chars = 580;
    let shown = bench.text("Read", json!({"file_path": "a.pdf", "pages": "2-9"})).await;
    assert!(shown.contains("[Page 3]") && !shown.contains("[Page 4]") && shown.contains("\"4-23\""), "{shown}");
    let blank = document(1).iter().map(|byte| if *byte == b'W' { b'(' } else { *byte }).collect::<Vec<_>>();
    bench.put("blank.pdf", String::from_utf8(blank).unwrap().replace("((ords of page 1) Tj", "() Tj             "));
    let told = bench.error("Read", json!({"file_path": "blank.pdf"})).await;
    assert!(told.starts_with("blank.pdf (1 page) holds no text that can be taken out"), "{told}");
}

#[tokio::test]
async fn a_locked_document_says_so_and_one_without_a_password_is_opened() {
    let bench = Bench::new();
    bench.put("a.pdf", locked("secret"));
    let told = bench.error("Read", json!({"file_path": "a.pdf"})).await;
    assert!(told.starts_with("a.pdf is protected with a password."), "{told}");
    bench.put("b.pdf", locked(""));
    let output = bench.run("Read", json!({"file_path": "b.pdf"})).await;
    let opened = Document::load_mem(&sent(&output)).unwrap();
    assert!(!opened.was_encrypted());
    assert_eq!(opened.extract_text(&[2]).unwrap(), "Words of page 2\n");
}

#[tokio::test]
async fn a_broken_document_says_so() {
    let bench = Bench::new();
    let whole = document(3);
    for bytes in [
        b"%PDF-1.7 x".as_slice(),
        b"%PDF-1.7\ntrailer << /Root 1 0 R >>",
        &whole[..200],
        &[&whole[..40], &[0; 400]].concat(),
    ] {
        bench.put("a.pdf", bytes);
        let told = bench.error("Read", json!({"file_path": "a.pdf"})).await;
        assert!(told.starts_with("a.pdf begins like a PDF document, but its pages cannot be found"), "{told}");
    }
    bench.put("a.pdf", &whole[..whole.len() - 150]);
    assert!(bench.run("Read", json!({"file_path": "a.pdf"})).await.summary.starts_with("application/pdf, 3 pages"));
}

/// A page of 2 kB that becomes 1 GB, and 21 kB that would become a thousand million numbers.
#[tokio::test]
async fn a_document_that_grows_without_measure_is_given_up() {
    let mut bench = Bench::new();
    bench.put("grows.pdf", fixture("grows.pdf"));
    bench.put("fills.pdf", fixture("fills.pdf"));
    assert!(bench.run("Read", json!({"file_path": "grows.pdf"})).await.summary.contains("1 page"));
    bench.context.reads_documents = false;
    let told = bench.error("Read", json!({"file_path": "grows.pdf"})).await;
    assert!(told.contains("holds no text that can be taken out"), "{told}");
    let told = bench.error("Read", json!({"file_path": "fills.pdf"})).await;
    assert!(told.contains("takes more memory or time than a document should"), "{told}");
}
