//! What the model answers about a small project in Rust and Python.

use std::path::PathBuf;

use super::citations::check;
use super::executor::Session;

fn shop() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shop")
}

/// Asks about the shop, checks every citation, and returns the session and the answer.
#[track_caller]
fn ask(question: &str) -> (Session, String) {
    let mut session = Session::new(shop());
    let answer = session.ask(question);
    let (_, faults) = check(&shop(), &answer);
    assert!(faults.is_empty(), "{faults:#?}\nin the answer to {question}:\n{answer}");
    (session, answer)
}

#[track_caller]
fn holds(answer: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(answer.contains(piece), "no {piece:?} in:\n{answer}");
    }
}

fn agents(session: &Session) -> usize {
    session.log.iter().filter(|call| call.starts_with("Agent ")).count()
}

#[test]
fn an_overview_is_composed_of_four_parallel_reports() {
    let (session, answer) = ask("Explain this repository");
    assert_eq!(agents(&session), 4);
    holds(
        &answer,
        &[
            "computes the price of a cart and prints a receipt",
            "Rust (6 files",
            "`src/cart.rs:1`: The cart: what a customer wants to buy",
            "Package `shop` 0.3.1 (`Cargo.toml:2`)",
            "A run begins at `src/main.rs:3`",
            "cargo test) (`src/discount.rs:29`)",
            "not a git repository",
        ],
    );
    let (count, _) = check(&shop(), &answer);
    assert!(count >= 12, "only {count} citations");
    for variant in
        ["what is this project?", "map the codebase", "give me an overview of this project", "这个项目是做什么的?"]
    {
        assert_eq!(agents(&ask(variant).0), 4, "{variant}");
    }
}

#[test]
fn a_question_is_answered_by_the_definition_and_its_doc_comment() {
    let (session, answer) = ask("Where are discount codes parsed?");
    assert_eq!(agents(&session), 3);
    let first = answer.lines().next().unwrap_or_default();
    assert_eq!(first, "The function `parse_code` at `src/discount.rs:14`: Parses a discount code such as `SAVE10`.");
    holds(&answer, &["14      pub fn parse_code(code: &str) -> Option<Self> {", "`CHANGELOG.md:4`"]);
}

#[test]
fn the_value_of_a_constant_is_the_answer() {
    let (_, answer) = ask("what is the maximum number of items?");
    assert!(answer.starts_with("`MAX_ITEMS` is `99` (`src/cart.rs:6`)"), "{answer}");
    let (_, answer) = ask("how long is the default timeout");
    assert!(answer.starts_with("`DEFAULT_TIMEOUT` is `30` (`scripts/import_prices.py:9`)."), "{answer}");
}

#[test]
fn an_identifier_leads_straight_to_its_definition_in_any_language() {
    for (question, start) in [
        ("where is `add_item`?", "The function `add_item` at `src/cart.rs:17`: Adds an item with its price in cents."),
        ("what is PriceTable", "The class `PriceTable` at `scripts/import_prices.py:12`: Prices by item name."),
        ("Wo wird Cart::total berechnet?", "The function `total` at `src/cart.rs:26`: Returns the total price"),
    ] {
        let (_, answer) = ask(question);
        assert!(answer.starts_with(start), "{question}:\n{answer}");
    }
}

#[test]
fn what_is_not_there_is_said_to_be_not_there() {
    let (_, answer) = ask("where is the quantum flux capacitor?");
    holds(&answer, &["I found nothing about `quantum`, `flux`, `capacitor`"]);
}

#[test]
fn one_subagent_names_the_testing_framework_and_the_line_that_shows_it() {
    let (session, answer) = ask("Use a subtask to find what testing framework this project uses");
    assert_eq!(agents(&session), 1);
    holds(&answer, &["cargo test) (`src/discount.rs:29`)", "proptest (`Cargo.toml:12`)", "`cargo test`"]);
}

#[test]
fn one_subagent_reads_all_files_of_a_kind() {
    let (session, answer) = ask("Delegate: read all .py files and summarize what each one does");
    assert_eq!(agents(&session), 1);
    let reads = session.log.iter().filter(|call| call.starts_with("Read ")).count();
    assert_eq!(reads, 3, "{:?}", session.log);
    insta::assert_snapshot!(answer, @r"
    Read 3 of the 3 files that match `**/*.py`. Empty: 1.

    - `scripts/export.py`: function `export_table`, from line 4
    - `scripts/import_prices.py:2`: Import prices from a CSV file (class `PriceTable`; function `load`)
    ");
}

#[test]
fn a_list_of_tasks_is_obeyed_one_child_each() {
    for request in [
        "use 3 subagents: find the discount type; how is this tested; what does src/receipt.rs do?",
        "Use three agents to find the discount type, how is this tested and what does src/receipt.rs do?",
        "With 3 subagents:\n1. find the discount type\n2. how is this tested\n3. what does src/receipt.rs do?",
    ] {
        let (session, answer) = ask(request);
        assert_eq!(agents(&session), 3, "{request}");
        holds(&answer, &["`src/discount.rs:4`", "proptest", "Receipts as text (function `render`)"]);
    }
}

#[test]
fn direct_requests_become_direct_calls() {
    for (request, call, piece) in [
        ("run `git log --oneline -n 3`", "Bash git log --oneline -n 3", "exit code"),
        ("run: cargo build", "Bash cargo build", "denied"),
        ("read src/cart.rs:6", "Read src/cart.rs", "MAX_ITEMS: usize = 99"),
        ("ls src", "LS src", "receipt.rs"),
        ("list files", "LS .", "Cargo.toml"),
        ("find files named *.toml", "Glob **/*.toml", "Cargo.toml"),
        ("grep MAX_ITEMS", "Grep MAX_ITEMS", "2 hits in 1 file"),
        ("search for `Prices by item name`", "Grep Prices by item name", "1 hit in 1 file"),
    ] {
        let (session, answer) = ask(request);
        assert_eq!(session.log, [call], "{request}");
        holds(&answer, &[piece]);
    }
}

#[test]
fn what_needs_a_language_model_is_declined_without_a_call() {
    for request in [
        "Refactor the cart",
        "please write a test for Cart",
        "fix the bug",
        "why is the limit 99?",
        "translate the README",
    ] {
        let (session, answer) = ask(request);
        assert!(session.log.is_empty(), "{request}: {:?}", session.log);
        holds(&answer, &["needs a language model", "ANTHROPIC_API_KEY", "--model provider/name"]);
    }
    let (session, answer) = ask("hello");
    assert!(session.log.is_empty());
    holds(&answer, &["offline model", "explain this project", "OPENAI_API_KEY", "Ollama"]);
}

#[test]
fn no_request_breaks_it() {
    for request in [
        "",
        " ",
        "???",
        "`",
        "``",
        "“”",
        "🦀🦀",
        "運行",
        "use 3 subagents:",
        "use 99 agents to",
        "run",
        "read",
        "run ``",
        "(((",
        "\\d+[",
        "a\u{0}b",
        "<summary>",
        "WHAT: x RETURN: y",
    ] {
        let (_, answer) = ask(request);
        assert!(!answer.trim().is_empty(), "{request:?}");
    }
}
