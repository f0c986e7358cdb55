//! Pages of the web: whatever their tags, the text is bounded, and what is hidden stays so.

use belvedere::tool::markdown;

use super::Choices;

/// What links and marks can add to a page; it ends there.
const MAX_TEXT: usize = (4 << 20) + 10_000;

pub(super) fn pages(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let base =
        (*choices.pick(&["https://example.com/a/b?c", "http://[::1]/", "https://xn--e1a.example"])).parse().unwrap();
    let html = String::from_utf8_lossy(choices.rest()).into_owned();
    let page = markdown(&html, &base);
    assert!(page.text.len() <= MAX_TEXT, "{} bytes", page.text.len());
    assert_eq!(page.text, markdown(&html, &base).text);
    // A tag in it that is not closed ends with it.
    let open: String = html.chars().filter(|c| *c != '/').collect();
    let behind = markdown(&format!("<template>{open}"), &base);
    assert!(behind.text.is_empty() && behind.title.is_none(), "{:?}", behind.text);
}
