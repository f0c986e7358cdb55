//! Markdown: the same lines however it streams, and code highlighted when it is ready.

use std::sync::mpsc;
use std::time::Duration;

use belvedere::tui::view::highlight::{CodeClass, Highlighter};
use belvedere::tui::view::markdown::MarkdownDoc;
use belvedere::tui::view::theme::{ColorDepth, Theme};
use proptest::prelude::*;
use ratatui::style::Modifier;
use ratatui::text::Line;

fn theme() -> Theme {
    Theme::load("dark", ColorDepth::TrueColor).unwrap()
}

fn lines(text: &str, width: u16) -> Vec<Line<'static>> {
    let mut doc = MarkdownDoc::new();
    doc.set(text);
    doc.lines(width, &theme(), &Highlighter::off()).to_vec()
}

fn shown(text: &str, width: u16) -> String {
    let rows: Vec<String> = lines(text, width).iter().map(|line| line.to_string().trim_end().to_owned()).collect();
    rows.join("\n")
}

#[test]
fn blocks_stand_apart_by_one_empty_line() {
    let text = "# Title\nintro *now*\n\n\n\nsecond\n\n---\n\n> quoted\n> more\n\n<b>raw</b>";
    insta::assert_snapshot!(shown(text, 30), @"
    Title

    intro now

    second

    ──────────────────────────────

    ▎ quoted
    ▎ more

    <b>raw</b>
    ");
}

#[test]
fn lists_nest_number_and_tick() {
    let text = "Steps:\n\n1. first\n2. second step that wraps\n   - inner\n   - [x] done\n   - [ ] open\n3. third\n\n- loose\n\n- list\n\nend";
    insta::assert_snapshot!(shown(text, 24), @"
    Steps:

    1. first
    2. second step that
       wraps
       • inner
       • ☑ done
       • ☐ open
    3. third

    • loose

    • list

    end
    ");
}

#[test]
fn code_is_kept_as_it_is() {
    let text = "Run:\n```sh\ncargo  test\n\n# done\n```\n- item\n  ```\n  nested\n  ```\n";
    insta::assert_snapshot!(shown(text, 40), @"
    Run:

      cargo  test

      # done

    • item

        nested
    ");
}

#[test]
fn a_block_without_text_leaves_no_gap() {
    assert_eq!(shown("one\n   ```\n   ```\n\ntwo", 40), "one\n\ntwo");
    assert_eq!(shown("    code\n``\n``\n", 40), "  code");
    assert_eq!(shown("one\n\n>\n\ntwo", 40), "one\n\ntwo");
    assert_eq!(shown("> one\n>\n> two\n>\n> > three\n\nfour", 40), "▎ one\n▎\n▎ two\n▎\n▎ ▎ three\n\nfour");
}

#[test]
fn tables_are_aligned_and_shrink() {
    let text = "| name | size |\n|:--|--:|\n| a | 1 |\n| a longer name here | 1000 |\n";
    insta::assert_snapshot!(shown(text, 40), @"
    name               │ size
    ───────────────────┼─────
    a                  │    1
    a longer name here │ 1000
    ");
    insta::assert_snapshot!(shown(text, 17), @"
    name       │ size
    ───────────┼─────
    a          │    1
    a longer   │ 1000
    name here  │
    ");
    assert!(lines(text, 3).iter().all(|line| line.width() <= 3));
}

#[test]
fn links_say_where_they_lead_unless_their_text_does() {
    assert_eq!(shown("[docs](https://x.y/z) <https://a.b>", 60), "docs (https://x.y/z) https://a.b");
    let bold = &lines("a **bold** word", 40)[0];
    assert!(
        bold.spans.iter().any(|span| span.content.contains("bold") && span.style.add_modifier.contains(Modifier::BOLD))
    );
}

#[test]
fn references_find_their_addresses_in_other_blocks() {
    let text = "See [the docs][1] and [Two].\n\n- item [a][1]\n\n```\n[two]\n```\n\n[1]: https://x.y/z\n[two]: <https://b.c>\n";
    insta::assert_snapshot!(shown(text, 60), @"
    See the docs (https://x.y/z) and Two (https://b.c).

    • item a (https://x.y/z)

      [two]
    ");
    assert_eq!(
        shown("[a][1] [b][2] x[0]\n\n[1]: https://x.y\n\n[1]: https://no.no", 60),
        "a (https://x.y) [b][2] x[0]"
    );
}

#[test]
fn an_address_that_arrives_changes_only_what_asked_for_it() {
    let (theme, off) = (theme(), Highlighter::off());
    let mut doc = MarkdownDoc::new();
    doc.push("first\n\n[a][1] here\n\nthird\n\n");
    let row = |doc: &mut MarkdownDoc, at: usize| doc.lines(60, &theme, &off)[at].to_string();
    assert_eq!(row(&mut doc, 2), "[a][1] here");
    let before = doc.lines(60, &theme, &off)[0].spans[0].content.as_ptr();
    for piece in ["[1", "]: htt", "ps://x", ".y\n"] {
        doc.push(piece);
        doc.lines(60, &theme, &off);
    }
    assert_eq!(row(&mut doc, 2), "a (https://x.y) here");
    assert_eq!(row(&mut doc, 4), "third");
    let after = doc.lines(60, &theme, &off)[0].spans[0].content.as_ptr();
    assert_eq!(before, after, "what stands before it was not laid out again");
    let labels: Vec<&str> = doc.labels(0..9).iter().map(|label| label.target.as_ref()).collect();
    assert_eq!(labels, ["https://x.y"; 2], "the label and the address beside it");
    doc.push(" junk");
    assert_eq!(row(&mut doc, 2), "a (https://x.y) here", "a line that is whole holds");
}

#[test]
fn hostile_markdown_is_cleaned() {
    assert_eq!(shown("\x1b[31mred\x1b[0m `\u{202e}x`", 40), "red ⍰x");
    assert_eq!(shown("```\n\x1b]0;t\x07code\n```", 40), "  code");
}

#[test]
fn another_width_lays_out_anew() {
    let (theme, off) = (theme(), Highlighter::off());
    let mut doc = MarkdownDoc::new();
    doc.push("one two three");
    assert_eq!(doc.lines(40, &theme, &off).len(), 1);
    assert_eq!(doc.lines(5, &theme, &off).len(), 3);
    doc.set("other");
    assert_eq!(doc.lines(40, &theme, &off)[0].to_string(), "other");
}

#[test]
fn a_long_list_is_cut_without_a_trace() {
    let (theme, off) = (theme(), Highlighter::off());
    let items: Vec<String> = (1..=200).map(|number| format!("{number}. item **{number}**")).collect();
    let mut doc = MarkdownDoc::new();
    for piece in items.join("\n").as_bytes().chunks(7) {
        doc.push(std::str::from_utf8(piece).unwrap());
        let _ = doc.lines(40, &theme, &off);
    }
    let streamed = doc.lines(40, &theme, &off);
    assert_eq!(streamed, lines(&items.join("\n"), 40));
    let rows: Vec<String> = streamed.iter().map(ToString::to_string).collect();
    assert_eq!(rows.len(), 200);
    assert_eq!(rows[199], "200. item 200");
}

/// Builds text out of what Markdown cares about.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "word ",
        "two words\n",
        "\n",
        "\n\n",
        "# Head\n",
        "- item\n",
        "  - inner\n",
        "1. one\n",
        "2. two\n",
        "```rust\n",
        "```\n",
        "``",
        "~~~\n",
        "    code\n",
        "> quote\n",
        "| a | b |\n",
        "|--|--|\n",
        "| 1 | 2 |\n",
        "---\n",
        "`x`",
        "**b**",
        "[l](u)",
        "[l][r]",
        "[r]",
        "[R]: https://x.y/z\n",
        "[r]: other",
        "<b>",
        "\r\n",
        "\x1b[1m",
        "日本語",
        "   ```\n",
        "* * *\n",
        "- [ ] t\n",
        "\t",
        " ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_cut_gives_the_same_lines(text in markdown(), cuts in prop::collection::vec(0.0..1.0_f64, 0..8), width in 8_u16..40) {
        let (theme, off) = (theme(), Highlighter::off());
        let mut whole = MarkdownDoc::new();
        whole.set(&text);
        let expected = whole.lines(width, &theme, &off).to_vec();
        let chars: Vec<char> = text.chars().collect();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let mut ends: Vec<usize> = cuts.iter().map(|cut| (cut * chars.len() as f64) as usize).collect();
        ends.extend([0, chars.len()]);
        ends.sort_unstable();
        let mut streamed = MarkdownDoc::new();
        for pair in ends.windows(2) {
            streamed.push(&chars[pair[0]..pair[1]].iter().collect::<String>());
            let _ = streamed.lines(width, &theme, &off);
        }
        prop_assert_eq!(streamed.lines(width, &theme, &off), &expected[..]);
        let doubled = expected.windows(2).any(|pair| pair.iter().all(|line| line.to_string().is_empty()));
        prop_assert!(!doubled, "two empty lines in a row: {:?}", expected.iter().map(ToString::to_string).collect::<Vec<_>>());
        prop_assert!(expected.iter().all(|line| line.width() <= usize::from(width)));
    }
}

/// A highlighter and the signal of its results.
fn highlighter() -> (Highlighter, mpsc::Receiver<()>) {
    let (tell, told) = mpsc::channel();
    (Highlighter::new(move || tell.send(()).unwrap_or_default()), told)
}

fn wait(told: &mpsc::Receiver<()>) {
    told.recv_timeout(Duration::from_mins(1)).expect("the highlighter answers");
}

#[test]
fn the_worker_says_what_code_is() {
    let (highlighter, told) = highlighter();
    let code = "fn main() { // hi\n    let x = \"s\";\n}\n";
    assert!(highlighter.lines("rust", code).is_none(), "asking does not wait");
    wait(&told);
    let lines = highlighter.lines("rust", code).expect("it is ready");
    let class_of = |line: usize, text: &str| lines[line].pieces().find(|(piece, _)| piece.contains(text)).unwrap().1;
    assert_eq!(lines.len(), 3);
    assert_eq!(class_of(0, "fn"), CodeClass::Keyword);
    assert_eq!(class_of(0, "main"), CodeClass::Function);
    assert_eq!(class_of(0, "// hi"), CodeClass::Comment);
    assert_eq!(class_of(1, "\"s\""), CodeClass::String);
    let text: String = lines[1].pieces().map(|(piece, _)| piece).collect();
    assert_eq!(text, "    let x = \"s\";");
}

#[test]
fn a_block_that_grows_gives_what_the_whole_block_gives() {
    let (highlighter, told) = highlighter();
    let whole = "/* a\nb */\nfn f() {}\n";
    for end in [5, 10, whole.len()] {
        assert!(highlighter.lines("rust", &whole[..end]).is_none());
        wait(&told);
        assert!(highlighter.lines("rust", &whole[..end]).is_some());
    }
    let grown = highlighter.lines("rust", whole).unwrap();
    let (fresh, told) = self::highlighter();
    assert!(fresh.lines("rust", whole).is_none());
    wait(&told);
    assert_eq!(*fresh.lines("rust", whole).unwrap(), *grown);
}

#[test]
fn unknown_languages_and_huge_blocks_stay_plain() {
    let (highlighter, told) = highlighter();
    assert!(highlighter.lines("no-such-language", "x\n").is_none());
    wait(&told);
    let lines = highlighter.lines("no-such-language", "x\n").unwrap();
    assert_eq!(lines[0].pieces().collect::<Vec<_>>(), [("x", CodeClass::Plain)]);
    assert!(!highlighter.accepts("rust", 1 << 20));
    assert!(!Highlighter::off().accepts("rust", 1));
}

#[test]
fn highlighting_recolours_and_moves_nothing() {
    let (highlighter, told) = highlighter();
    let theme = theme();
    let mut doc = MarkdownDoc::new();
    doc.push("text\n```rust\nfn a() {}\n");
    let before = doc.lines(40, &theme, &highlighter).to_vec();
    wait(&told);
    let after = doc.lines(40, &theme, &highlighter).to_vec();
    let texts = |lines: &[Line<'_>]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(texts(&before), texts(&after));
    assert_ne!(before, after);
    let keyword = after[2].spans.iter().find(|span| span.content == "fn").unwrap();
    assert_eq!(keyword.style, theme.keyword.patch(theme.code_ground()));
    // The rest arrives, also while an answer is on its way.
    doc.push("let b = 1;\n```\nend\n\n- x\n  ```rust\n  let c = 2;\n  ```\n");
    loop {
        let lines = doc.lines(40, &theme, &highlighter);
        let keywords =
            lines.iter().flat_map(|line| &line.spans).filter(|span| span.style.fg == theme.keyword.fg).count();
        if keywords == 3 {
            break;
        }
        wait(&told);
    }
}

#[test]
fn a_table_is_a_table_from_its_first_row_on() {
    let text = "Here:\n\n| Name | Purpose |\n|---|:--|\n| auth | checks keys |\n";
    for end in text.find("| Name").unwrap() + 3..text.len() {
        let shown = shown(&text[..end], 40);
        assert!(!shown.contains('|'), "{end}: {shown}");
    }
    // A line that only looks like one is not lost.
    assert!(shown("| left", 40).contains("left"));
    assert_eq!(shown("a | b", 40), "a | b");
}

#[test]
fn a_block_of_code_has_a_ground() {
    let rows = lines("Run:\n\n```sh\nmake\n\nmake test\n```\n", 40);
    let ground = theme().code_block.bg;
    assert!(ground.is_some());
    let on_ground = rows.iter().map(|row| row.style.bg == ground).collect::<Vec<_>>();
    assert_eq!(on_ground, [false, false, true, true, true]);
}

#[test]
fn lines_that_an_editor_has_wrapped_are_one_where_an_author_is_read() {
    let (theme, off) = (theme(), Highlighter::off());
    let text = "You look closely at what was changed, and at what stands around it,\nbefore you say *anything* about it to anyone at all who might ask you\nfor it.\n\nWHAT: this\nWHERE: there\n";
    let rows = |mut doc: MarkdownDoc| -> Vec<String> {
        doc.set(text);
        doc.lines(100, &theme, &off).iter().map(ToString::to_string).collect()
    };
    let flowing = rows(MarkdownDoc::flowing());
    assert_eq!(
        flowing[0],
        "You look closely at what was changed, and at what stands around it, before you say anything about it"
    );
    assert_eq!(flowing[1..], ["to anyone at all who might ask you for it.", "", "WHAT: this", "WHERE: there"]);
    assert_eq!(rows(MarkdownDoc::new())[2], "for it.", "a model's lines stay as they are");
}
