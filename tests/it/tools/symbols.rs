//! `Symbols`: definitions by name and by words, uses, outlines, and what is left out.

use serde_json::json;

use super::{Bench, lines, text_of};

/// A small project in three languages.
fn shop() -> Bench {
    let bench = Bench::new();
    bench.put(
        "src/session.rs",
        "//! Sessions.\n\npub struct Session {\n    age: u32,\n}\n\nimpl Session {\n    /// Ends a session that is too old. More words.\n    \
         pub fn expire(&mut self, limit: u32) -> bool {\n        self.age > limit\n    }\n}\n\n// fn hidden() {}\n\
         const TEXT: &str = \"fn quoted() {}\";\n",
    );
    bench.put(
        "lib/cart.py",
        "class Cart:\n    def total(self):\n        \"\"\"Adds up the prices of all items.\"\"\"\n        \
         return sum(self.prices)\n\n\ndef empty_cart():\n    return Cart()\n",
    );
    bench.put(
        "cmd/main.go",
        "package main\n\n// Run starts the server and waits.\nfunc (s *Server) Run(port int) error {\n\treturn nil\n}\n\nfunc main() {\n\t_ = expire()\n}\n",
    );
    bench
}

#[tokio::test]
async fn a_name_leads_to_its_definition() {
    let bench = shop();
    let text = bench.text("Symbols", json!({"query": "expire"})).await;
    assert_eq!(
        text,
        "`expire` is defined once.\n\
         src/session.rs:9  method Session.expire: pub fn expire(&mut self, limit: u32) -> bool\n    \
         Ends a session that is too old."
    );
    for query in ["Session::expire", "Session.expire", "`expire()`", "expire"] {
        assert!(bench.text("Symbols", json!({"query": query})).await.contains("src/session.rs:9  method"), "{query}");
    }
    let text = bench.text("Symbols", json!({"query": "Server.Run"})).await;
    assert!(text.contains("\ncmd/main.go:4  method Server.Run: func (s *Server) Run(port int) error\n"), "{text}");
    let output = bench.run("Symbols", json!({"query": "expire"})).await;
    assert_eq!(output.summary, "1 definition");
    assert_eq!(bench.title("Symbols", json!({"query": "expire", "path": "src"})), "\"expire\" in src");
}

#[tokio::test]
async fn words_lead_to_what_they_describe() {
    let bench = shop();
    let text = bench.text("Symbols", json!({"query": "add prices of items"})).await;
    assert!(text.lines().nth(1).unwrap().starts_with("lib/cart.py:2  method Cart.total: def total(self)"), "{text}");
    let text = bench.text("Symbols", json!({"query": "which function is ending old sessions?"})).await;
    assert!(text.lines().nth(1).unwrap().starts_with("src/session.rs:9  method Session.expire"), "{text}");
    let text = bench.text("Symbols", json!({"query": "session", "kind": "struct"})).await;
    assert!(text.contains("src/session.rs:3  struct Session") && !text.contains("method"), "{text}");
}

#[tokio::test]
async fn other_words_for_the_same_lead_there_too() {
    let bench = Bench::new();
    bench.put("a.rs", "pub fn purge_expired() {}\npub fn suggest_name() {}\npub struct WebSocketUpgrade;\n");
    for (query, name) in [
        ("delete the old ones", "function purge_expired"),
        ("which is the nearest name", "function suggest_name"),
        ("websocket", "struct WebSocketUpgrade"),
    ] {
        let text = bench.text("Symbols", json!({"query": query})).await;
        assert!(text.lines().nth(1).unwrap_or_default().contains(name), "{query}:\n{text}");
    }
}

#[tokio::test]
async fn what_is_said_of_a_whole_file_is_found() {
    let bench = shop();
    bench.put("src/retry.rs", "//! When to send again: a pure policy.\n\npub struct Plan;\n");
    bench.put("lib/money.py", "\"\"\"Amounts and currencies.\"\"\"\n\nclass Price:\n    pass\n");
    bench.put("src/wide.rs", "// About the function below.\npub fn wide() {}\n");
    let text = bench.text("Symbols", json!({"query": "policy of sending again"})).await;
    assert!(text.contains("src/retry.rs:1  file retry\n    When to send again: a pure policy."), "{text}");
    let text = bench.text("Symbols", json!({"query": "currencies and amounts"})).await;
    assert!(text.contains("lib/money.py:1  file money\n    Amounts and currencies."), "{text}");
    let text = bench.text("Symbols", json!({"query": "function below"})).await;
    assert!(!text.contains("file wide"), "{text}");
}

#[tokio::test]
async fn stated_values_are_found_by_what_they_are_for() {
    let bench = Bench::new();
    bench.put(
        "src/net.rs",
        "/// Seconds until a request is given up.\nconst REQUEST_TIMEOUT: u64 = 30;\n\nfn new() -> Self {\n    \
         let mut retries = 0;\n    Self {\n        max_retries: 5,\n    }\n}\n\nfn open() {\n    \
         let editor = std::env::var(\"SHOP_EDITOR\");\n}\n\n#[cfg(test)]\nmod tests {\n    const REQUEST_TIMEOUT: u64 = 1;\n}\n",
    );
    bench.put("tests/net.rs", "const REQUEST_TIMEOUT: u64 = 2;\n");
    let values = async |query: &str| bench.text("Symbols", json!({"query": query, "mode": "values"})).await;
    assert_eq!(
        values("default timeout of a request").await,
        "1 stated value, best first.\nsrc/net.rs:2  constant REQUEST_TIMEOUT: const REQUEST_TIMEOUT: u64 = 30;"
    );
    let text = values("how many times is it tried again at most?").await;
    assert!(text.lines().nth(1).unwrap().starts_with("src/net.rs:7  value in new: max_retries: 5"), "{text}");
    let text = values("which environment variable names the editor").await;
    assert!(text.lines().nth(1).unwrap().starts_with("src/net.rs:12  value in open: let editor"), "{text}");
    assert_eq!(values("zebra").await, "No line states a value for this.");
    // A table of options: the default stands some lines below the name.
    bench.put(
        "src/options.c",
        "#define ESCAPE 0x1 /* time */\n\nconst struct option options[] = {\n    { .name = \"escape-time\",\n      \
         .minimum = 0,\n      .default_num = 500,\n    },\n    { .name = \"history-limit\",\n      .default_num = 2000,\n    },\n};\n",
    );
    let text = values("what is the default of escape-time?").await;
    assert!(text.lines().nth(1).unwrap().starts_with("src/options.c:4  value"), "{text}");
    assert!(text.lines().nth(2).unwrap().starts_with("src/options.c:6  value: .default_num = 500"), "{text}");
    assert!(text.lines().last().unwrap().contains("#define"), "a flag is no setting: {text}");
}

#[tokio::test]
async fn what_is_not_there_is_said_and_the_nearest_shown() {
    let bench = shop();
    let text = bench.text("Symbols", json!({"query": "expire_session"})).await;
    assert!(text.starts_with("No definition is named `expire_session`. The nearest:\nsrc/session.rs:9  "), "{text}");
    for query in ["hidden", "quoted"] {
        assert!(!bench.text("Symbols", json!({"query": query})).await.contains(&format!("function {query}")));
    }
    assert_eq!(bench.text("Symbols", json!({"query": "zebra"})).await, "No definition matches.");
    assert!(bench.error("Symbols", json!({})).await.contains("query"));
    assert!(bench.error("Symbols", json!({"query": "x", "path": "nowhere"})).await.contains("nowhere"));
}

#[tokio::test]
async fn uses_are_told_from_definitions_comments_and_imports() {
    let bench = Bench::new();
    bench.put(
        "a.rs",
        "pub fn price() {}\nfn other() {\n    // price\n    let s = \"price\";\n    price();\n    my_price();\n}\n",
    );
    bench.put("b.rs", "use crate::a::price;\n\nfn third() {\n    price()\n}\n");
    let text = bench.text("Symbols", json!({"query": "price", "mode": "references"})).await;
    assert_eq!(
        text,
        "`price` is used on 2 lines in 2 files.\n\
         a.rs:1  definition function price: pub fn price() {}\n\
         a.rs:5  use in other: price();\n\
         b.rs:4  use in third: price()\n\
         [1 import not shown; set imports to see them]"
    );
    let text = bench.text("Symbols", json!({"query": "price", "mode": "references", "imports": true})).await;
    assert!(text.contains("b.rs:1  import: use crate::a::price;"), "{text}");
    bench.put("c.rb", "def save!\n  save\nend\n\ndef done?\n  save! if a != b\nend\n");
    let text = bench.text("Symbols", json!({"query": "save!", "mode": "references"})).await;
    assert!(text.contains("c.rb:6  use in done?: save! if a != b") && !text.contains("c.rb:2"), "{text}");
    let text = bench.text("Symbols", json!({"query": "save", "mode": "references"})).await;
    assert!(text.contains("c.rb:2  use in save!: save") && !text.contains("c.rb:6"), "{text}");
}

#[tokio::test]
async fn a_file_has_an_outline() {
    let bench = shop();
    let text = bench.text("Symbols", json!({"path": "lib/cart.py"})).await;
    assert_eq!(
        text,
        "3 definitions.\nlib/cart.py:1  class Cart: class Cart:\nlib/cart.py:2  method Cart.total: def total(self):\n\
         lib/cart.py:7  function empty_cart: def empty_cart():"
    );
    bench.put("law.rs", "// Copyright (c) Ann\n// Licensed under MIT.\n\nfn a() {}\n");
    for (path, start) in [
        (
            "src/session.rs",
            "3 definitions.\nsrc/session.rs:1  file session\n    Sessions.\nsrc/session.rs:3  struct Session",
        ),
        ("law.rs", "1 definition.\nlaw.rs:4  function a"),
    ] {
        let text = bench.text("Symbols", json!({"path": path})).await;
        assert!(text.starts_with(start), "{text}");
    }
    let text = bench.text("Symbols", json!({"path": ".", "mode": "outline"})).await;
    assert!(text.contains("class Cart") && !text.contains("total") && text.contains("struct Session"), "{text}");
    bench.put("notes.txt", "fn a() {}");
    assert!(bench.error("Symbols", json!({"path": "notes.txt"})).await.contains("does not know this language"));
}

#[tokio::test]
async fn a_changed_file_is_read_again_and_a_deleted_one_forgotten() {
    let bench = shop();
    let tools = crate::support::standard_tools();
    let ask =
        async |query: &str| text_of(&super::run(&tools, "Symbols", json!({"query": query}), &bench.context).await);
    assert!(ask("empty_cart").await.contains("lib/cart.py:7"));
    bench.put("lib/cart.py", "\n\n\ndef empty_cart(all=True):\n    pass\n\ndef fill_cart():\n    pass\n");
    assert!(ask("empty_cart").await.contains("lib/cart.py:4  function empty_cart: def empty_cart(all=True)"));
    assert!(ask("fill_cart").await.contains("lib/cart.py:7"));
    assert!(!ask("total").await.contains("method Cart.total"));
    std::fs::remove_file(bench.path("lib/cart.py")).unwrap();
    assert!(!ask("fill_cart").await.contains("cart.py"));
}

#[tokio::test]
async fn ignored_and_closed_places_are_left_out() {
    let bench = shop();
    let tools = crate::support::standard_tools();
    let ask =
        async |query: &str| text_of(&super::run(&tools, "Symbols", json!({"query": query}), &bench.context).await);
    bench.put("out/secret.rs", "fn secret_key() {}\n");
    assert!(ask("secret_key").await.contains("out/secret.rs:1"));
    bench.put(".ignore", "out/\n");
    assert!(!ask("secret_key").await.contains("secret.rs"));
    let outside = bench.outside("other.rs");
    std::fs::write(&outside, "fn elsewhere() {}\n").unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("link.rs")).unwrap();
    assert!(!ask("elsewhere").await.contains("rs:1"));
    let plan = bench.plan("Symbols", json!({"query": "x", "path": "src"})).await.unwrap();
    assert_eq!(super::path_of(&plan), bench.path("src"));
    let text = bench.text("Symbols", json!({"query": "main", "path": "src"})).await;
    assert!(!text.contains("cmd/main.go"), "{text}");
}

#[tokio::test]
async fn hostile_files_are_bounded() {
    let bench = Bench::new();
    bench.put("big.rs", format!("fn big() {{}}\n{}", "// x\n".repeat(300_000)));
    bench.put("line.rs", format!("fn long_line() {{ {} }}\n", "a ".repeat(200_000)));
    bench.put("deep.rs", format!("fn deep() {}\n", "{".repeat(400_000)));
    bench.put("nul.rs", b"fn nul() {}\n\0\0\0");
    bench.put("odd.rs", b"fn odd() {}\n\xff\xfe\xc3 '\xe2\x82' fn next() {}\nfn after() {}\n");
    bench.put("many.rs", lines(1..=30_000, |at| format!("fn f{at}(){{}}")));
    bench.put("quotes.js", "`${`${".repeat(50_000));
    bench.put("fine.rs", "fn fine() {}\n");
    let started = std::time::Instant::now();
    let text = bench.text("Symbols", json!({"query": "fine"})).await;
    assert!(text.starts_with("`fine` is defined once.\nfine.rs:1  function fine: fn fine() {}"), "{text}");
    assert!(text.ends_with("[skipped 1 file over 1 MB]"), "{text}");
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    assert!(bench.text("Symbols", json!({"query": "after"})).await.contains("odd.rs:3"));
    assert!(!bench.text("Symbols", json!({"query": "nul"})).await.contains("nul.rs"));
    let text = bench.text("Symbols", json!({"path": "many.rs", "limit": 1_000_000})).await;
    assert!(text.len() < 60_000 && text.contains(" more; narrow with kind or path"), "{}", text.len());
    let text = bench.text("Symbols", json!({"query": "x\u{1b}[31m y".repeat(2_000)})).await;
    assert!(text.len() < 60_000 && !text.contains('\u{1b}'));
}

#[tokio::test]
async fn of_many_files_those_are_looked_into_that_have_what_is_sought() {
    let bench = shop();
    for number in 0..2_000 {
        let text = format!("def item_{number}():\n    return {number}\n");
        bench.put(&format!("lib/items/part_{number}.py"), &text);
    }
    for number in 0..1_100 {
        bench.put(&format!("lib/old/sale_{number}.py"), "def sell_old_items():\n    return sold\n");
    }
    let ask = async |input: serde_json::Value| {
        let (cold, warm) = (bench.text("Symbols", input.clone()).await, bench.text("Symbols", input).await);
        assert_eq!(cold, warm);
        cold
    };
    let text = ask(json!({"query": "add the prices of all items"})).await;
    assert!(text.lines().nth(1).unwrap().starts_with("lib/cart.py:2  method Cart.total"), "{text}");
    assert!(text.contains("[looked into the 800 files with most of the words, not into 2,"), "{text}");
    let text = ask(json!({"query": "item_1007"})).await;
    assert_eq!(text, "`item_1007` is defined once.\nlib/items/part_1007.py:1  function item_1007: def item_1007():");
    let text = ask(json!({"query": "expire", "mode": "references"})).await;
    assert!(text.starts_with("`expire` is used on 1 line in 1 file.\nsrc/session.rs:9  definition"), "{text}");
    let text = ask(json!({"path": "lib/items"})).await;
    assert!(text.starts_with("2,000 definitions at the top level of 2,000 files."), "{text}");
}
