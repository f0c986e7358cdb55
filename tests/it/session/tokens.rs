//! What looks like a token is masked, whole or in pieces, and what does not is left alone.

use std::fs;
use std::path::Path;

use belvedere::session::{PieceMask, Secrets, Store};

use super::{KEY, keep, line, store};

/// One token of each shape, put together here so that none stands in the source.
pub(super) fn tokens() -> Vec<String> {
    let random = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let of = |start: &str, length: usize| format!("{start}{}", &random[..length]);
    let web = format!("eyJ{random}.eyJ{random}.{random}");
    let pem = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{random}\n{random}\n-----END OPENSSH PRIVATE KEY-----");
    let starts = [
        ("sk-ant-api03-", 36),
        ("sk-proj-", 36),
        ("sk-", 36),
        ("ghp_", 36),
        ("gho_", 36),
        ("github_pat_", 36),
        ("glpat-", 20),
        ("xoxb-", 24),
        ("xoxp-", 24),
        ("AIza", 35),
        ("npm_", 36),
        ("hf_", 34),
        ("gsk_", 36),
        ("sk_live_", 24),
    ];
    let aws = format!("AKIA{}", "ABCDEFGH12345678");
    starts.into_iter().map(|(start, length)| of(start, length)).chain([web, pem, aws]).collect()
}

#[tokio::test]
async fn what_looks_like_a_token_is_masked_in_what_is_kept() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    for token in tokens() {
        for (before, after) in [("", ""), ("token=", "\n"), ("\"", "\""), ("\n", " and more"), ("Bearer ", ",")] {
            let text = format!("{before}{token}{after}");
            assert_eq!(store.mask(&text), format!("{before}***{after}"), "{text}");
        }
        let kept =
            Store::new(state.path(), Path::new(&token), "2026-11-21T06:30:00Z".parse().unwrap(), Secrets::default());
        assert!(keep(&kept, &[line("main", &format!("{KEY}\n{token}"))]).await.is_empty());
        let written = fs::read_to_string(kept.path_of("main")).unwrap();
        assert!(!written.contains(&token[token.len() - 12..]), "{written}");
    }
    // What an agent works with it sees as it is.
    assert_eq!(Secrets::default().redact(&tokens()[0]), tokens()[0]);
    for word in [
        "sk-spinner-double-bounce-child-2",
        "task-force-2026-11-21-of-the-north",
        "ghp_short",
        "AKIAlower",
        "the risk-adjusted-return-on-capital-2",
        "npm_config_registry",
        "AIzaShort",
        "eyJ.eyJ.x",
        "xoxb-",
        "sk-learn",
    ] {
        assert_eq!(store.mask(word), word);
    }
}

/// Returns a text as it is shown that comes in pieces which end at these places.
fn in_pieces(secrets: &Secrets, text: &str, ends: &[usize]) -> Vec<String> {
    let mut mask = PieceMask::default();
    let begins = [0].into_iter().chain(ends.iter().copied());
    let ends = ends.iter().copied().chain([text.len()]);
    let mut shown: Vec<String> = begins.zip(ends).map(|(from, to)| mask.push(secrets, &text[from..to])).collect();
    shown.push(mask.finish(secrets));
    shown
}

#[test]
fn a_token_that_comes_in_pieces_is_masked_however_it_is_cut() {
    let named = "my own key, as named";
    let secrets = Secrets::new([named]);
    let random = "a1B2c3D4e5F6g7H8i9J0";
    for token in tokens().iter().map(String::as_str).chain([named]) {
        let text = format!("Take {token}, not sk-spinner or {token}\nand go on.");
        let whole = secrets.mask(&text).into_owned();
        assert!(!whole.contains(random) && !whole.contains(named), "{whole}");
        for cut in 1..text.len() {
            assert_eq!(in_pieces(&secrets, &text, &[cut]).concat(), whole, "{cut}");
            assert_eq!(in_pieces(&secrets, &text, &[cut.min(9), cut.max(9)]).concat(), whole, "{cut}");
        }
        let bytes: Vec<usize> = (1..text.len()).collect();
        assert_eq!(in_pieces(&secrets, &text, &bytes).concat(), whole);
    }
    // What is no token does not wait, or only for the end of its word.
    let shown = in_pieces(&secrets, "Nothing to mask: it ends with an é, and as", &[16, 38]);
    assert_eq!(shown, ["Nothing to mask:", " it ends with an é, a", "nd ", "as"]);
    assert_eq!(in_pieces(&secrets, "a -- b --- c\n", &[4, 10])[..2], ["a ", "-- b "]);
}
