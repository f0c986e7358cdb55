//! Texts of agents in an export: nothing in them is obeyed, and none leaves its bounds.

use belvedere::export::{contained, cut, fenced, inline, prose, quoted};

#[test]
fn nothing_in_a_text_is_obeyed() {
    let text = "a <script>alert(1)</script>\n\n<img src=x onerror=y>\n\n[x](javascript:alert(1)) [y](https://a.b/?\"c)";
    let html = prose(text);
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("javascript:"), "{html}");
    assert!(html.contains("href=\"https://a.b/?&quot;c\""), "{html}");
    assert_eq!(prose("![pic](https://a.b/c.png)"), "<p>pic</p>\n");
    let deep = prose(&"> ".repeat(5_000));
    assert!(deep.matches("<blockquote>").count() <= 12);
    assert_eq!(prose("```diff\n-a\n+<b>\n```"), "<pre class=\"code diff\">-a\n+&lt;b&gt;\n</pre>");
}

#[test]
fn no_text_leaves_its_bounds() {
    assert_eq!(contained("a </details> b"), "a \\</details> b");
    assert_eq!(contained("`a<b>` and <b>"), "`a<b>` and \\<b>");
    assert_eq!(contained("one ` tick\n`</details>`"), "one ` tick\n`\\</details>`");
    assert_eq!(contained("\\`</details>`"), "\\`\\</details>`");
    assert_eq!(contained("```html\n<b>\n```\n<i>"), "```html\n<b>\n```\n\\<i>");
    assert_eq!(contained("~~~~\nnever closed </details>"), "~~~~\nnever closed </details>\n~~~~");
    assert_eq!(quoted("a\n\nb <x>"), "> a\n>\n> b \\<x>");
    assert_eq!(fenced("```\nx\n````", "diff"), "`````diff\n```\nx\n````\n`````");
    assert_eq!(inline("a*b* [x](y) <z>"), "a\\*b\\* \\[x\\](y) \\<z\\>");
}

#[test]
fn a_long_text_keeps_head_and_tail_and_says_how_much_is_missing() {
    assert_eq!(cut("short", 5), "short");
    let text = "é".repeat(3_000);
    let short = cut(&text, 300);
    assert!(short.starts_with('é') && short.ends_with('é') && short.len() < 400, "{short}");
    assert!(short.contains("\n… 5,700 bytes left out …\n"), "{short}");
}
