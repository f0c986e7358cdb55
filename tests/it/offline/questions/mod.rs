//! Questions about published packages, with the answers fixed in advance: how good the offline model is.
//!
//! Owns how the questions are read and asked. Leaves to [`grade`] what an answer is worth, to [`table`] how the grades
//! are shown. What to get, and how to lay it out, is said in `tests/fixtures/questions/README.md`.

mod grade;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;

use grade::{Grade, Place};

const CLASSES: [&str; 12] =
    ["name", "where", "which", "how", "calls", "config", "tests", "meta", "list", "recent", "run", "none"];

/// The questions about one package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    /// What its folder is called.
    folder: String,
    language: String,
    /// Where it was published, its name and version.
    #[serde(rename = "package")]
    published: String,
    #[serde(rename = "question")]
    questions: Vec<Question>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    class: String,
    ask: String,
    /// A cited place within one of these is right.
    #[serde(default)]
    places: Vec<Place>,
    /// Places that are right, but not what was asked: they do not count.
    #[serde(default)]
    aside: Vec<Place>,
    /// What has to be said; `|` separates what is as good.
    #[serde(default)]
    says: Vec<String>,
    /// Whether it has to be declined, or answered with a warning.
    #[serde(default)]
    decline: bool,
}

/// A question, and what came of it.
struct Asked<'a> {
    package: &'a Package,
    question: &'a Question,
    grade: Grade,
    seconds: f64,
}

fn packages() -> Vec<Package> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/questions");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let read = |path: &PathBuf| {
        toml::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
}

/// Asks the program as a shell does, with a home of its own.
fn ask(program: &Path, repository: &Path, question: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(program)
        .args(["-p", question, "--model", "offline"])
        .current_dir(repository)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{question}: {}\n{}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// Keeps an answer where it can be read later.
fn keep(folder: &Path, package: &Package, number: usize, question: &Question, answer: &str) {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(format!("{}-{number:02}-{}.md", package.folder, question.class));
    fs::write(path, format!("# {}\n\n{answer}", question.ask)).unwrap();
}

#[test]
fn each_question_has_a_class_and_an_answer() {
    let packages = packages();
    assert!(packages.iter().map(|package| package.questions.len()).sum::<usize>() >= 150);
    for package in &packages {
        assert!(!package.language.is_empty() && !package.published.is_empty(), "{}", package.folder);
        for question in &package.questions {
            let place = format!("{}: {}", package.folder, question.ask);
            assert!(CLASSES.contains(&question.class.as_str()), "{place}: no such class: {}", question.class);
            assert_eq!(question.decline, question.places.is_empty() && question.says.is_empty(), "{place}");
        }
    }
}

#[test]
#[ignore = "needs repositories that are not kept here; see tests/fixtures/questions/README.md"]
#[allow(clippy::print_stdout, reason = "the table is what it is run for")]
fn the_questions_are_asked_and_graded() {
    let Some(repositories) = std::env::var_os("BELVEDERE_QUESTIONS").map(PathBuf::from) else {
        println!("Nothing was asked: BELVEDERE_QUESTIONS names no folder.");
        return;
    };
    let program = std::env::var_os("BELVEDERE_QUESTIONS_PROGRAM")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_belvedere")), PathBuf::from);
    let answers = std::env::var_os("BELVEDERE_QUESTIONS_ANSWERS").map(PathBuf::from);
    let packages = packages();
    let mut asked = Vec::new();
    for package in &packages {
        let repository = repositories.join(&package.folder);
        if !repository.join(".git").exists() {
            println!("Skipped: {} ({}) is not laid out.", package.folder, package.published);
            continue;
        }
        for (at, question) in package.questions.iter().enumerate() {
            let start = Instant::now();
            let answer = ask(&program, &repository, &question.ask);
            let seconds = start.elapsed().as_secs_f64();
            if let Some(folder) = &answers {
                keep(folder, package, at + 1, question, &answer);
            }
            asked.push(Asked { package, question, grade: grade::grade(&repository, question, &answer), seconds });
        }
    }
    println!("{}", table::write(&asked));
}
