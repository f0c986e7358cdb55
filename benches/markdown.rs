//! What one more token costs at the end of a document of 400 KB.

use std::hint::black_box;

use belvedere::tui::view::highlight::Highlighter;
use belvedere::tui::view::markdown::MarkdownDoc;
use belvedere::tui::view::theme::{ColorDepth, Theme};
use criterion::Criterion;

const SIZE: usize = 400 * 1024;
const WIDTH: u16 = 118;

const SECTION: &str = "## A heading\n\nA paragraph with **strong** and `code` in it, long enough to go over the end of \
                       one line on most screens, and then some more of it.\n\n- an item\n- another item with `code`\n\n\
                       ```rust\nfn main() {\n    let answer = 42;\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n";

fn document() -> String {
    SECTION.repeat(SIZE / SECTION.len() + 1)
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let theme = Theme::load("dark", ColorDepth::TrueColor).unwrap();
    let highlighter = Highlighter::off();
    let mut group = criterion.benchmark_group("markdown");
    for (name, start, more, end) in [
        ("push into a paragraph", "The end: ", "word ", "\n\n"),
        ("push into a list", "- first\n", "- word\n", "\n\nover\n\n"),
        ("push into code", "```rust\n", "let x = 1;\n", "```\n\n"),
    ] {
        group.bench_function(name, |bencher| {
            let mut doc = MarkdownDoc::new();
            doc.set(&document());
            doc.push(start);
            doc.lines(WIDTH, &theme, &highlighter);
            let mut count = 0;
            bencher.iter(|| {
                count += 1;
                doc.push(more);
                // No model writes a paragraph without end.
                if count % 100 == 0 {
                    doc.push(end);
                    doc.push(start);
                }
                black_box(doc.lines(WIDTH, &theme, &highlighter).len())
            });
        });
    }
    group.sample_size(10);
    group.bench_function("all at once", |bencher| {
        let text = document();
        bencher.iter(|| {
            let mut doc = MarkdownDoc::new();
            doc.set(&text);
            black_box(doc.lines(WIDTH, &theme, &highlighter).len())
        });
    });
    group.finish();
}
