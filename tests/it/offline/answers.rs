//! What the model answers about a small project in Rust and Python.

use super::citations::check;
use super::talk::{Said, Talk};

/// Asks about the shop, checks every citation, and returns what came of it.
async fn ask(question: &str) -> Said {
    ask_in(&mut Talk::shop(), question).await
}

/// Asks in a talk under way.
pub(super) async fn ask_in(talk: &mut Talk, question: &str) -> Said {
    let said = talk.ask(question).await;
    let (_, errors) = check(&talk.root(), &said.answer);
    assert!(errors.is_empty(), "{errors:#?}\nin the answer to {question}:\n{}", said.answer);
    said
}

#[track_caller]
pub(super) fn holds(answer: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(answer.contains(piece), "no {piece:?} in:\n{answer}");
    }
}

#[tokio::test]
async fn an_overview_is_composed_of_four_parallel_reports() {
    let mut talk = Talk::shop();
    let said = ask_in(&mut talk, "Explain this repository").await;
    assert_eq!(said.calls("Agent"), 4);
    holds(
        &said.answer,
        &[
            "computes the price of a cart and prints a receipt",
            "- `Cargo.toml:5` says: `description = ",
            "- `Cargo.toml:3` says: `version = ",
            "A run begins at `src/main.rs:3`",
            "cargo test) (`src/discount.rs:29`)",
            "not a git repository",
        ],
    );
    let (count, _) = check(&talk.root(), &said.answer);
    assert!(count >= 8, "only {count} citations");
    for variant in ["what is this project?", "map the codebase", "give me an overview of this project"] {
        assert_eq!(ask_in(&mut talk, variant).await.calls("Agent"), 4, "{variant}");
    }
}

#[tokio::test]
async fn a_question_is_answered_by_the_definition_and_its_doc_comment() {
    let said = ask("Where are discount codes parsed?").await;
    assert_eq!(said.calls("Agent"), 1);
    let first = said.answer.lines().next().unwrap_or_default();
    assert_eq!(
        first,
        "The method `Discount.parse_code` at `src/discount.rs:14`: Parses a discount code such as `SAVE10`."
    );
    holds(&said.answer, &["14      pub fn parse_code(code: &str) -> Option<Self> {"]);
    assert_eq!(said.answer.matches("`src/discount.rs:14`").count(), 1, "once is enough:\n{}", said.answer);
}

#[tokio::test]
async fn the_value_of_a_constant_is_the_answer() {
    let said = ask("what is the maximum number of items?").await;
    assert!(said.answer.starts_with("`MAX_ITEMS` is `99` (`src/cart.rs:6`)"), "{}", said.answer);
    let said = ask("how long is the default timeout").await;
    assert!(said.answer.starts_with("`DEFAULT_TIMEOUT` is `30` (`scripts/import_prices.py:9`)."), "{}", said.answer);
}

#[tokio::test]
async fn an_identifier_leads_straight_to_its_definition_in_any_language() {
    for (question, start) in [
        (
            "where is `add_item`?",
            "The method `Cart.add_item` at `src/cart.rs:17`: Adds an item with its price in cents.",
        ),
        ("what is PriceTable", "The class `PriceTable` at `scripts/import_prices.py:12`: Prices by item name."),
        ("Wo wird Cart::total berechnet?", "The method `Cart.total` at `src/cart.rs:26`: Returns the total price"),
        ("どこで `add_item` が定義されていますか", "The method `Cart.add_item` at `src/cart.rs:17`"),
    ] {
        let said = ask(question).await;
        assert!(said.answer.starts_with(start), "{question}:\n{}", said.answer);
    }
}

#[tokio::test]
async fn who_calls_it_is_answered_by_its_uses_and_not_by_its_definition() {
    let mut talk = Talk::shop();
    for question in ["who calls `apply`?", "where is apply used", "find all callers of apply()"] {
        let said = ask_in(&mut talk, question).await;
        assert_eq!(said.calls("Agent"), 1, "{question}: {:?}", said.log);
        holds(&said.answer, &["The method `apply` (`src/discount.rs:20`) is used at 1 place.", " use in `total`: `"]);
    }
    let said = ask_in(&mut talk, "who calls parse_code").await;
    holds(
        &said.answer,
        &["is used only in tests and examples", "`src/discount.rs:31` use in `discount_code_is_parsed`"],
    );
    let said = ask_in(&mut talk, "who calls no_such_thing").await;
    assert_eq!(said.answer, "Nothing in the files is called `no_such_thing`.");
}

#[tokio::test]
async fn version_and_license_are_those_of_the_manifest() {
    let mut talk = Talk::shop();
    let said = ask_in(&mut talk, "where is the version defined?").await;
    assert_eq!(said.answer, "The version is stated at `Cargo.toml:3`: `version = \"0.3.1\"`.");
    let said = ask_in(&mut talk, "what is the license?").await;
    assert_eq!(said.answer, "The license is stated at `Cargo.toml:6`: `license = \"MIT\"`.");
    let mut python = Talk::empty(|_| ());
    python.write("pyproject.toml", "[project]\nname = \"kiosk\"\ndynamic = [\"version\"]\nlicense = \"MIT\"\n");
    python.write("kiosk/__init__.py", "__version__ = \"2.0\"\n");
    let said = ask_in(&mut python, "what version is this").await;
    assert_eq!(said.answer, "The version is stated at `kiosk/__init__.py:1`: `__version__ = \"2.0\"`.");
    let said = ask_in(&mut python, "under which license is it released").await;
    assert_eq!(said.answer, "The license is stated at `pyproject.toml:4`: `license = \"MIT\"`.");
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_not_there() {
    let said = ask("where is the quantum flux capacitor?").await;
    holds(&said.answer, &["Nothing found for `quantum`, `flux`, `capacitor`"]);
}

#[tokio::test]
async fn one_subagent_names_the_testing_framework_and_the_line_that_shows_it() {
    let said = ask("Use a subtask to find what testing framework this project uses").await;
    assert_eq!(said.calls("Agent"), 1);
    holds(&said.answer, &["cargo test) (`src/discount.rs:29`)", "proptest (`Cargo.toml:12`)", "`cargo test`"]);
}

#[tokio::test]
async fn one_subagent_reads_all_files_of_a_kind() {
    let said = ask("Delegate: read all .py files and summarize what each one does").await;
    assert_eq!((said.calls("Agent"), said.calls("Read")), (1, 3), "{:?}", said.log);
    insta::assert_snapshot!(said.answer, @r"
    Read 3 of the 3 files that match `**/*.py`. Empty: 1.

    - `scripts/export.py:4`: function `export_table`
    - `scripts/import_prices.py:2`: Import prices from a CSV file (constant `DEFAULT_TIMEOUT`, class `PriceTable`, function `load`)
    ");
}

#[tokio::test]
async fn one_file_is_told_by_what_it_says_and_defines() {
    let said = ask("what does src/receipt.rs do?").await;
    insta::assert_snapshot!(said.answer, @r"
    `src/receipt.rs:1`: Receipts as text (function `render`).

    - `src/receipt.rs:8` function `render`
    ");
}

#[tokio::test]
async fn a_list_of_tasks_is_obeyed_one_child_each() {
    for request in [
        "use 3 subagents: find the discount type; how is this tested; what does src/receipt.rs do?",
        "Use three agents to find the discount type, how is this tested and what does src/receipt.rs do?",
        "With 3 subagents:\n1. find the discount type\n2. how is this tested\n3. what does src/receipt.rs do?",
    ] {
        let said = ask(request).await;
        assert_eq!(said.calls("Agent"), 3, "{request}");
        holds(&said.answer, &["`src/discount.rs:4`", "proptest", "Receipts as text (function `render`)"]);
    }
}

#[tokio::test]
async fn direct_requests_become_direct_calls() {
    let mut talk = Talk::shop();
    for (request, call, piece) in [
        ("run `git log --oneline -3`", "Bash git log --oneline -3", "exit code"),
        ("run: cargo build", "Bash cargo build", "was not run: the user said no"),
        ("read src/cart.rs:6", "Read src/cart.rs", "MAX_ITEMS: usize = 99"),
    ] {
        let said = talk.ask(request).await;
        assert_eq!(said.log, [call], "{request}");
        holds(&said.answer, &[piece]);
    }
}

#[tokio::test]
async fn what_needs_a_language_model_is_declined_in_one_sentence() {
    let mut talk = Talk::shop();
    for request in [
        "Refactor the cart",
        "why is the maximum of items 99?",
        "add a coupon to Discount",
        "fix the bug",
        "write a test",
        "translate the README",
        "when was the cart added?",
        "who wrote the cart?",
    ] {
        let said = ask_in(&mut talk, request).await;
        assert!(said.log.is_empty(), "{request}: {:?}", said.log);
        holds(&said.answer, &["needs a language model", "ANTHROPIC_API_KEY", "--model provider/name"]);
        assert_eq!(said.answer.matches(". ").count(), 0, "more than one sentence: {}", said.answer);
    }
    let said = ask_in(&mut talk, "hello").await;
    assert!(said.log.is_empty());
    holds(&said.answer, &["offline model", "explain this project", "OPENAI_API_KEY", "Ollama"]);
}

#[tokio::test]
async fn what_needs_a_language_model_inside_a_longer_request_is_declined_alone() {
    let mut talk = Talk::shop();
    let said = ask_in(&mut talk, "Use a task to create a new module, then verify it").await;
    assert!(said.log.is_empty(), "{:?}", said.log);
    assert!(said.answer.starts_with("Creating files needs a language model"), "{}", said.answer);
    let said = ask_in(&mut talk, "explore the codebase then refactor auth").await;
    assert!(said.answer.starts_with("Refactoring needs a language model"), "{}", said.answer);
    assert_eq!(said.calls("Agent"), 4);
    holds(&said.answer, &["A run begins at `src/main.rs:3`"]);
    let said = ask_in(&mut talk, "find where discount codes are parsed and fix it").await;
    assert!(said.answer.starts_with("Fixing code needs a language model"), "{}", said.answer);
    holds(&said.answer, &["The method `Discount.parse_code` at `src/discount.rs:14`"]);
    let said = ask_in(&mut talk, "what does it add and remove in the cart?").await;
    assert!(!said.answer.contains("needs a language model"), "{}", said.answer);
}

#[tokio::test]
async fn no_request_breaks_it() {
    let mut talk = Talk::shop();
    for request in [
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
        "and it?",
        "who calls",
        "when",
    ] {
        let said = ask_in(&mut talk, request).await;
        assert!(!said.answer.trim().is_empty(), "{request:?}");
    }
}

/// Asks about files made for the purpose.
async fn ask_of(files: &[(&str, &str)], question: &str) -> String {
    let mut talk = Talk::empty(|_| ());
    for (path, text) in files {
        talk.write(path, text);
    }
    ask_in(&mut talk, question).await.answer
}

#[tokio::test]
async fn a_dependency_is_told_by_its_own_line() {
    let cmake = "cmake_minimum_required(VERSION 3.20)\nproject(shop VERSION 2.1)\nfind_package(ZLIB REQUIRED)\n";
    let autoconf = "AC_INIT([shop], 1.4)\nPKG_CHECK_MODULES(\n\tEVENT,\n\t[libevent >= 2],\n)\n";
    let gradle = "dependencies {\n    implementation(\"com.squareup.okio:okio:3.0\")\n}\n";
    for (path, text, name, line) in [
        ("go.mod", "module shop\n\nrequire (\n\tgolang.org/x/term v0.1.0\n)\n", "golang.org/x/term", 4),
        ("CMakeLists.txt", cmake, "ZLIB", 3),
        ("configure.ac", autoconf, "libevent", 4),
        ("build.gradle", gradle, "com.squareup.okio:okio", 2),
        ("meson.build", "project('shop', 'c', version: '1.2')\nz = dependency('zlib')\n", "zlib", 2),
    ] {
        let answer = ask_of(&[(path, text)], "which libraries does it depend on?").await;
        holds(&answer, &[&format!("It depends on `{name}` (`{path}:{line}`).")]);
    }
    let manifest = "{\n  \"dependencies\": {\n    \"redux\": \"^5\",\n    \"immer\": \"^11\"\n  }\n}\n";
    let answer = ask_of(&[("package.json", manifest)], "Does it depend on immer?").await;
    assert_eq!(answer.lines().next(), Some("It depends on `immer` (`package.json:4`)."), "{answer}");
    let answer = ask_of(&[("package.json", manifest)], "does it depend on react?").await;
    assert!(answer.starts_with("I found nothing certain for `react`"), "{answer}");
}

#[tokio::test]
async fn a_version_is_told_by_the_line_that_states_it() {
    for (path, text, question, start) in [
        (
            "CMakeLists.txt",
            "project(shop VERSION 2.1)\n",
            "which version is this?",
            "`CMakeLists.txt:1`: `project(shop VERSION 2.1)`",
        ),
        ("VERSION", "3.4.5\n", "which version is this?", "`VERSION:1`: `3.4.5`"),
        (
            "setup.cfg",
            "[options]\npython_requires = >=3.7\n",
            "which Python version does it need?",
            "`setup.cfg:2`: `python_requires = >=3.7`",
        ),
    ] {
        holds(&ask_of(&[(path, text)], question).await, &[start]);
    }
}

#[tokio::test]
async fn how_the_tests_are_run_is_told_by_the_projects_own_command() {
    let scripts = "{\n  \"scripts\": {\n    \"test\": \"npm run unit\",\n    \"unit\": \"c8 tap\"\n  }\n}\n";
    let composer = "{\n  \"scripts\": {\n    \"test\": \"phpunit\"\n  }\n}\n";
    for (path, text, question, start) in [
        (
            "package.json",
            scripts,
            "how do I run the tests?",
            "Run the tests with `npm test`, which is `npm run unit` (`package.json:3`).",
        ),
        (
            "package.json",
            scripts,
            "how do I run the unit tests?",
            "Run the tests with `npm run unit`, which is `c8 tap` (`package.json:4`).",
        ),
        (
            "composer.json",
            composer,
            "how do I run the tests?",
            "Run the tests with `composer test`, which is `phpunit` (`composer.json:3`).",
        ),
        (
            "Makefile",
            "all: build\n\ntest:\n\tgo test\n",
            "how are the tests run?",
            "Run the tests with `make test` (`Makefile:3`).",
        ),
    ] {
        let answer = ask_of(&[(path, text)], question).await;
        assert!(answer.starts_with(start), "{question}: {answer}");
    }
}

#[tokio::test]
async fn entry_points_are_told_first_by_the_manifest_and_then_by_main_functions() {
    let files = [
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    shop = shop.cli:main\n"),
        ("shop/cli.py", "def main():\n    pass\n"),
    ];
    let answer = ask_of(&files, "what are the entry points?").await;
    holds(&answer, &["A run begins at `setup.cfg:3`", "- `shop/cli.py:1` says: `def main():`"]);
    let list = "public class List {\n    public static void main(String[] args) {\n    }\n}\n";
    let answer = ask_of(&[("src/examples/List.java", list)], "what are the entry points?").await;
    assert!(answer.starts_with("A run begins at `src/examples/List.java:2`: `"), "{answer}");
    let answer = ask_of(&[("lib.rb", "class Shop\nend\n")], "what are the entry points?").await;
    assert!(answer.starts_with("I found nothing certain"), "{answer}");
}

#[tokio::test]
async fn all_of_a_kind_are_listed_by_what_holds_them_or_each() {
    let command = "pub enum Subcommand {\n    Build,\n    Check,\n}\n\nfn subcommands() {}\n";
    let answer = ask_of(&[("src/command.rs", command)], "list the subcommands").await;
    holds(&answer, &["The enum `Subcommand` at `src/command.rs:1` lists them.", "2      Build,"]);
    let of = |name: &str| format!("class {name}Processor:\n    pass\n");
    let (git, host, web) = (of("Git"), of("Host"), of("Web"));
    let files =
        [("lib/processors/git.py", git.as_str()), ("lib/processors/host.py", &host), ("lib/processors/web.py", &web)];
    let answer = ask_of(&files, "which processors are there?").await;
    holds(&answer, &["3 are named after `processors`", "- `lib/processors/host.py:1` class `HostProcessor`"]);
    let answer = ask_of(&[("a.py", "def add_processor():\n    pass\n")], "list the processors").await;
    assert!(answer.starts_with("I found nothing certain that lists `processors`"), "{answer}");
}

#[tokio::test]
async fn a_file_that_is_to_be_read_is_read() {
    for question in
        ["read src/cart.rs and summarize it", "summarize src/cart.rs", "what is the purpose of src/cart.rs?"]
    {
        holds(&ask(question).await.answer, &["`src/cart.rs:1`", "The cart: what a customer wants to buy"]);
    }
}

#[tokio::test]
async fn how_something_changes_is_not_asked_of_the_history() {
    let said = ask("how does the total get changed in the cart?").await;
    assert!(!said.answer.contains("was last changed"), "{}", said.answer);
}
