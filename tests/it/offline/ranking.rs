//! Which of several places comes first: one small project for each class of mistake.

use super::answers::{ask_in, holds};
use super::talk::Talk;

/// Asks about files made for the purpose and returns the first line of the answer, and the answer.
async fn ask(files: &[(&str, &str)], question: &str) -> (String, String) {
    let mut talk = Talk::empty(|_| ());
    for (path, text) in files {
        talk.write(path, text);
    }
    let said = ask_in(&mut talk, question).await;
    (said.answer.lines().next().unwrap_or_default().to_owned(), said.answer)
}

#[tokio::test]
async fn a_short_word_is_not_found_inside_other_words() {
    let files = [
        ("lib/app.js", "/** Registers a route. */\napp.route = function route(path) {\n};\n"),
        ("lib/net.js", "function address(req) {\n  var address = req.url;\n}\nfunction author() {\n}\n"),
        ("lib/login.js", "/** Asks for a password. */\nfunction authenticate(req) {\n}\n"),
    ];
    let (first, answer) = ask(&files, "how do I add a route").await;
    assert!(first.starts_with("The function `route` at `lib/app.js:2`"), "{answer}");
    assert!(!answer.contains("address"), "{answer}");
    let (first, answer) = ask(&files, "where is auth done?").await;
    assert_eq!(first, "The function `authenticate` at `lib/login.js:2`: Asks for a password.", "{answer}");
    assert!(!answer.contains("author()"), "{answer}");
}

#[tokio::test]
async fn what_a_compiler_wrote_comes_after_its_source() {
    let files = [
        ("src/parse.ts", "export function parseQuery(text: string): Query {\n  return new Query(text);\n}\n"),
        ("parse.js", "export function parseQuery(text) {\n    return new Query(text);\n}\n"),
        ("parse.d.ts", "export declare function parseQuery(text: string): Query;\n"),
        ("lib/app.min.js", "function parseQuery(t){return new Query(t)}\n"),
    ];
    let (first, answer) = ask(&files, "where is parseQuery?").await;
    assert_eq!(first, "The function `parseQuery` is defined at `src/parse.ts:1`.");
    assert!(!answer.contains("parse.d.ts") && !answer.contains("min.js"), "{answer}");
}

#[tokio::test]
async fn a_method_that_looks_like_a_file_is_found_as_a_method() {
    let files = [("lib/response.js", "/**\n * Sends JSON.\n */\nres.json = function json(obj) {\n};\n")];
    let (first, _) = ask(&files, "what does res.json do").await;
    assert_eq!(first, "The function `json` at `lib/response.js:4`: Sends JSON.");
}

#[tokio::test]
async fn a_default_that_a_comment_states_is_the_answer() {
    let files = [(
        "src/client.rs",
        "impl Builder {\n    /// Sets a total timeout.\n    ///\n    /// Default is no timeout.\n    pub fn timeout(self) {}\n}\n",
    )];
    let (first, _) = ask(&files, "what is the default timeout?").await;
    assert_eq!(first, "`src/client.rs:4` has `/// Default is no timeout.`.");
}

#[tokio::test]
async fn asked_for_tests_the_tests_come_first() {
    let files = [
        ("src/codec.py", "class Codec:\n    \"\"\"Turns words into bytes.\"\"\"\n"),
        ("tests/test_codec.py", "from src.codec import Codec\n\ndef test_codec_round_trip():\n    assert Codec()\n"),
    ];
    let (first, _) = ask(&files, "where is Codec tested?").await;
    assert!(first.contains("`tests/test_codec.py:"), "{first}");
    let (first, _) = ask(&files, "what does Codec do?").await;
    assert!(first.starts_with("The class `Codec` at `src/codec.py:1`"), "{first}");
}

#[tokio::test]
async fn how_something_is_done_is_told_by_the_file_named_after_it() {
    let files = [
        ("src/redirect.rs", "//! Following redirects, ten at most.\n\npub struct Policy;\n"),
        ("src/error.rs", "pub fn redirect_failed() {}\n"),
    ];
    let (first, _) = ask(&files, "where are redirects followed?").await;
    assert_eq!(first, "Following redirects, ten at most (`src/redirect.rs:1`).");
}

#[tokio::test]
async fn an_error_of_the_name_is_not_how_it_works() {
    let files = [
        ("http/errors.py", "class RetryError(Exception):\n    \"\"\"Retries failed.\"\"\"\n"),
        ("http/policy.py", "class RetryPolicy:\n    \"\"\"Tries three times.\"\"\"\n"),
    ];
    let (first, answer) = ask(&files, "how does the retry work").await;
    assert!(first.contains("The class `RetryPolicy`"), "{answer}");
}

#[tokio::test]
async fn a_place_that_has_only_some_of_the_words_is_called_the_nearest() {
    let files = [("src/cache.rs", "pub struct Cache;\n")];
    let (first, _) = ask(&files, "how does the wrap cache work").await;
    assert!(first.starts_with("I found nothing certain for `wrap`, `cache`; this is the nearest."), "{first}");
}

#[tokio::test]
async fn a_file_that_has_all_the_words_comes_before_a_name_that_has_some() {
    let files = [
        ("src/retry.rs", "//! When to send again: a pure policy.\n\npub struct Plan;\n"),
        ("src/error.rs", "/// Seconds to wait.\npub fn retry_after() {}\n"),
    ];
    let (first, _) = ask(&files, "where is the retry policy").await;
    assert_eq!(first, "When to send again: a pure policy (`src/retry.rs:1`).");
}

#[tokio::test]
async fn a_word_is_found_in_a_name_that_writes_it_as_two() {
    let files = [
        ("src/ws.rs", "/// Turns a request into a connection.\npub struct WebSocketUpgrade;\n"),
        ("src/rejection.rs", "pub struct InvalidUpgradeHeader;\n"),
    ];
    let (first, _) = ask(&files, "where is the websocket upgrade").await;
    assert!(first.starts_with("The struct `WebSocketUpgrade` at `src/ws.rs:2`: Turns a request"), "{first}");
}

#[tokio::test]
async fn a_doc_comment_counts_across_an_empty_line_and_attributes() {
    let files = [("src/rect.rs", "/// An area of the screen.\n\n#[derive(Debug)]\npub struct Rect;\n")];
    let (first, _) = ask(&files, "what does Rect do").await;
    assert_eq!(first, "The struct `Rect` at `src/rect.rs:4`: An area of the screen.");
}

#[tokio::test]
async fn data_of_tests_is_neither_the_project_nor_its_tests() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"1.0.0\"\n"),
        ("src/lib.rs", "const NEEDLES: [&str; 2] = [\"use proptest\", \"insta::\"];\n#[test]\nfn it_works() {}\n"),
        ("tests/fixtures/b/package.json", "{\n  \"devDependencies\": {\n    \"mocha\": \"1\"\n  }\n}\n"),
    ];
    let (first, answer) = ask(&files, "which test framework is used?").await;
    assert!(first.contains("cargo test) (`src/lib.rs:2`)"), "{answer}");
    assert!(!answer.contains("Mocha") && !answer.contains("proptest") && !answer.contains("insta"), "{answer}");
}

#[tokio::test]
async fn a_readme_of_three_words_is_a_readme() {
    let files = [("README.md", "# Shop\n\nA tiny shop.\n"), ("src/lib.rs", "pub fn login() {}\n")];
    let (first, answer) = ask(&files, "explain this repository").await;
    assert!(answer.contains("The README says (`README.md:3`): A tiny shop."), "{first}\n{answer}");
}

#[tokio::test]
async fn a_word_that_asks_for_a_look_is_none_to_look_for() {
    let files =
        [("src/jwt_utils.py", "import jwt\n\ndef make_token(user):\n    return jwt.encode({'u': user}, 'k')\n")];
    let (_, answer) = ask(&files, "Investigate JWT handling").await;
    assert!(answer.contains("src/jwt_utils.py") && !answer.contains("`investigate`"), "{answer}");
}

#[tokio::test]
async fn an_empty_folder_is_said_to_be_empty_in_a_few_words() {
    let mut talk = Talk::empty(|_| ());
    let said = ask_in(&mut talk, "explain this repository").await;
    let all = "No README and no manifest says what the project is. I found nothing certain: no manifest names an entry point, and \
        there is no main function. It looks like a library. I found no testing framework, none that I know. This is not \
        a git repository.";
    assert_eq!(said.answer, all);
    let said = ask_in(&mut talk, "where is the parser?").await;
    holds(&said.answer, &["Nothing found for `parser`"]);
}

#[tokio::test]
async fn what_changed_in_a_file_is_told_by_git_whatever_letters_its_name_has() {
    let mut talk = Talk::empty(|_| ());
    let root = talk.root();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"];
        let done = std::process::Command::new("git").args(who).args(args).current_dir(&root).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    for (path, subject) in
        [("src/café.py", "Open the café"), ("src/日本.py", "Greet Japan"), ("src/bar.py", "Add a bar")]
    {
        talk.write(path, "def greet():\n    pass\n");
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", subject]);
    }
    for (path, subject) in
        [("src/café.py", "Open the café"), ("src/日本.py", "Greet Japan"), ("src/bar.py", "Add a bar")]
    {
        let said = ask_in(&mut talk, &format!("what changed recently in {path}?")).await;
        let (start, end) = (format!("`{path}` was last changed by `"), format!("by Ann, \"{subject}\"."));
        let first = said.answer.lines().next().unwrap_or_default();
        assert!(first.starts_with(&start) && first.ends_with(&end), "{}", said.answer);
    }
}

#[tokio::test]
async fn what_does_something_is_found_by_what_it_does() {
    let files = [
        ("lib/cleaner.rb", "class Cleaner\n  def obsolete\n  end\nend\n"),
        (
            "lib/generator.rb",
            "# Words of any bytes are cut between signs: \u{20000}er, \u{20000}\u{20000}ers.\nclass Generator\nend\n",
        ),
        ("lib/site.rb", "class Site\nend\n"),
    ];
    let (first, answer) = ask(&files, "where is the site directory cleaned?").await;
    assert!(first.contains("The class `Cleaner` at") || answer.contains("`lib/cleaner.rb:1`"), "{answer}");
    let (_, answer) = ask(&files, "which class generates pages?").await;
    assert!(answer.contains("`lib/generator.rb:2`"), "{answer}");
}

#[tokio::test]
async fn tests_that_define_nothing_are_found_by_the_name_of_their_file() {
    let files = [
        ("lib/router.js", "function route() {\n}\n"),
        ("test/router.test.js", "test('finds a path', () => {\n})\n"),
        ("test/reply.test.js", "test('sends', () => {\n})\n"),
    ];
    let (first, answer) = ask(&files, "where is the router tested?").await;
    assert!(first.contains("`test/router.test.js:1`") && !answer.contains("reply.test.js"), "{answer}");
}

#[tokio::test]
async fn the_second_place_is_in_another_file_where_both_fit_as_well() {
    let files = [
        ("src/first.py", "def send_mail():\n    pass\n\n\ndef send_note():\n    pass\n"),
        ("src/other.py", "def send_post():\n    pass\n"),
    ];
    let (_, answer) = ask(&files, "where is sending done?").await;
    let at = |place: &str| answer.find(place).unwrap_or_else(|| panic!("no {place} in {answer}"));
    assert!(at("`src/first.py:1`") < at("`src/other.py:1`"), "{answer}");
    assert!(at("`src/other.py:1`") < at("`src/first.py:5`"), "{answer}");
}

#[tokio::test]
async fn a_value_that_only_the_lines_around_it_explain_is_shown() {
    let table = "const struct option table[] = {\n\t{ .name = \"history-limit\",\n\t  .minimum = 0,\n\t  .default_num = 2000,\n\t},\n};\n";
    let files = [("options.c", table), ("history.c", "int history_lines(void)\n{\n\treturn kept;\n}\n")];
    let (_, answer) = ask(&files, "how many lines of history are kept by default?").await;
    holds(&answer, &["`options.c:4`", "2000"]);
}

#[tokio::test]
async fn a_folder_of_fuzzers_holds_tests() {
    let files = [
        ("input.c", "int input_parse(void)\n{\n\treturn 0;\n}\n"),
        ("fuzz/input-fuzzer.c", "int feed_input(void)\n{\n\treturn input_parse();\n}\n"),
    ];
    let (first, answer) = ask(&files, "where is the input parser fuzzed?").await;
    assert!(first.contains("`fuzz/input-fuzzer.c:1`"), "{answer}");
}

#[tokio::test]
async fn a_list_is_sooner_held_by_a_type_than_by_what_does_something() {
    let files = [(
        "status.py",
        "def exit_code(status):\n    return exit\n\n\nclass Exit:\n    \"\"\"The exit codes.\"\"\"\n\n    SUCCESS = 0\n",
    )];
    let (first, answer) = ask(&files, "list the exit codes").await;
    assert!(first.contains("`status.py:5`"), "{answer}");
}

#[tokio::test]
async fn what_a_text_says_first_counts_more_than_its_parameters() {
    let files = [
        (
            "src/parse.py",
            "def parse(text, base):\n    \"\"\"Parses a page.\n\n    :param base: makes a relative link complete\n    \"\"\"\n    return text + base\n",
        ),
        (
            "src/link.py",
            "def absolute(link, base):\n    \"\"\"Returns a complete link for a relative one.\"\"\"\n    return base + link\n",
        ),
    ];
    let (first, answer) = ask(&files, "which function turns a relative link into a complete one?").await;
    assert!(first.contains("`src/link.py:1`"), "{answer}");
}

#[tokio::test]
async fn what_is_said_in_two_words_is_found_by_the_word_that_names_have() {
    let files = [
        ("src/walk.rs", "pub fn visit(path: &Path) {\n    // On the left there is nothing to see.\n}\n"),
        ("src/rules.rs", "pub fn is_excluded(path: &Path) -> bool {\n    false\n}\n"),
        ("src/table.rs", "pub fn deep_freeze(table: &mut Table) {\n}\n"),
    ];
    for (question, place) in [
        ("where are paths left out?", "`src/rules.rs:1`"),
        ("which function makes a table read-only?", "`src/table.rs:1`"),
        ("where is a table frozen?", "`src/table.rs:1`"),
    ] {
        let (first, answer) = ask(&files, question).await;
        assert!(first.contains(place), "{question}: {answer}");
    }
}

#[tokio::test]
async fn a_file_that_is_named_after_a_topic_is_no_guess() {
    let files = [
        ("jwt_utils.py", "import jwt\n\ndef decode_token(token):\n    return jwt.decode(token)\n"),
        ("app.py", "from jwt_utils import decode_token\n"),
    ];
    let (first, answer) = ask(&files, "Investigate JWT handling").await;
    assert_eq!(first, "The function `decode_token` is defined at `jwt_utils.py:3`.", "{answer}");
}

#[tokio::test]
async fn a_library_for_something_is_the_one_that_its_code_names() {
    let files = [
        ("package.json", "{\n  \"dependencies\": {\n    \"@shop/error\": \"1\",\n    \"marked\": \"2\"\n  }\n}\n"),
        ("lib/text.js", "/** Renders markdown with marked, or throws an error. */\nfunction render(markdown) {\n}\n"),
    ];
    for question in ["Which package does it use for markdown?", "which markdown library does it build on?"] {
        let (first, answer) = ask(&files, question).await;
        assert_eq!(first, "Its code for `markdown` speaks of `marked` (`package.json:4`).", "{answer}");
    }
}

#[tokio::test]
async fn the_thing_of_a_list_stands_before_what_is_said_of_it() {
    let files = [
        ("src/key.rs", "pub fn bound(key: Key) -> bool {\n    true\n}\n"),
        ("src/action.rs", "pub enum Action {\n    Open,\n    Close,\n}\n"),
    ];
    let (first, answer) = ask(&files, "list the actions a key can be bound to").await;
    assert_eq!(first, "The enum `Action` at `src/action.rs:1` lists them.", "{answer}");
}
