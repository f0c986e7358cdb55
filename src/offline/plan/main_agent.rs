//! The offline model as the main agent: hands out tasks, reads the reports, composes the answer.
//!
//! Owns the wording of tasks. Leaves the inquiries to the subagents, and takes them over where no subagent can be had.
//! Invariant: what a subagent did not finish is named as unfinished.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::AnswerPlan;
use super::answer::{self, answer, decline, help, own_words, sections, unclear};
use super::direct;
use super::subagent::{ALL_FILES, Inquiry};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::report::{AnswerPart, Received};
use crate::offline::request::{self, Direct, Intent, Topic, mentions};
use crate::offline::search::{Search, window};
use crate::offline::text::terms::Terms;

pub(crate) fn choose(evidence: &Evidence) -> Box<dyn AnswerPlan> {
    let text = &without_name(evidence.task(), evidence.project());
    if let Some((what, agents)) = mentions(text) {
        let tasks = agents.into_iter().map(|kind| Task { kind: kind.into(), ..Task::item(&what) }).collect();
        return Delegation::boxed(tasks, Form::Sections, request::read(&what), &what);
    }
    plan_for(request::read(text), text)
}

fn plan_for(intent: Intent, text: &str) -> Box<dyn AnswerPlan> {
    let tasks = match &intent {
        Intent::Help => return Box::new(FixedAnswer(help())),
        Intent::Decline { what } => return Box::new(FixedAnswer(decline(what))),
        Intent::Direct(direct) => return Box::new(DirectCall(direct.clone())),
        Intent::Partly { first, what } => {
            return Box::new(Partly { sentence: decline(what), plan: plan_for(request::read(first), first) });
        }
        Intent::Question(question) => return question_plan(question, text),
        Intent::Overview { sides } => {
            project::SIDES.into_iter().take((*sides).max(1)).map(|topic| topic_task(topic, "")).collect()
        }
        Intent::Topic(topic) => vec![topic_task(*topic, text)],
        Intent::Files { glob } => vec![Task::item(&format!("{ALL_FILES}{glob}` and summarize what each one does"))],
        Intent::Many(items) => match items.as_slice() {
            [item] if matches!(request::read(item), Intent::Decline { .. }) => {
                return plan_for(request::read(item), item);
            }
            items => items.iter().map(|item| item_task(item)).collect(),
        },
    };
    Delegation::boxed(tasks, Form::Sections, intent, text)
}

/// Chooses the searches that answer a question.
fn question_plan(question: &str, text: &str) -> Box<dyn AnswerPlan> {
    let terms = Terms::of(question);
    if terms.is_empty() {
        return Box::new(FixedAnswer(unclear()));
    }
    let intent = Intent::Question(question.to_owned());
    let search = Search::best(question);
    let mut tasks = vec![Task::search(&search, question)];
    if !search.is_for_one_place() {
        return Delegation::boxed(tasks, Form::Sections, intent, text);
    }
    let tests = Search::of_tests(question);
    if search.title != tests.title {
        tasks.push(Task::search(&tests, question));
    }
    Delegation::boxed(tasks, Form::Question { terms }, intent, text)
}

#[derive(Debug, Clone)]
struct Task {
    kind: Cow<'static, str>,
    title: String,
    prompt: String,
}

impl Task {
    fn new(kind: &'static str, title: &str, what: &str, to_return: &str) -> Self {
        let prompt =
            format!("WHAT: {what}\nWHERE: the whole project, from the working directory down.\nRETURN: {to_return}");
        Self { kind: Cow::Borrowed(kind), title: title.to_owned(), prompt }
    }

    /// A task in the user's own words.
    fn item(what: &str) -> Self {
        let words: Vec<&str> = what.split_whitespace().collect();
        let title = words.iter().take(5).copied().collect::<Vec<_>>().join(" ");
        let mut letters = title.chars();
        let title: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        let returns = "what was found, each finding with its path:line, and one sentence that answers.";
        Self::new("explore", title.trim_end_matches(['.', ',', '?', ':']), what, returns)
    }

    fn search(search: &Search, question: &str) -> Self {
        Self::new("search-specialist", search.title, &search.task(question), search.to_return)
    }

    fn call(&self) -> PlannedCall {
        PlannedCall::agent(&self.kind, &self.title, &self.prompt)
    }
}

fn item_task(item: &str) -> Task {
    match request::read(item) {
        Intent::Topic(topic) => Task { title: Task::item(item).title, ..topic_task(topic, item) },
        _ => Task::item(item),
    }
}

fn topic_task(topic: Topic, text: &str) -> Task {
    let (title, what) = match topic {
        Topic::About => ("What it is", "Find the description of this project"),
        Topic::EntryPoints => ("Entry points", "Find the entry points: where execution begins"),
        Topic::Tests => ("Tests and frameworks", "Find what testing framework this project uses"),
        Topic::TestRun => ("How tests are run", "Find how the tests of this project are run"),
        Topic::Toolchain => {
            ("Required versions", "Find which version of the language this project requires, its toolchain")
        }
        Topic::Dependencies => ("Dependencies", "Find the dependencies of this project"),
        Topic::GitHistory => (
            "Recent history",
            "Look at the recent history of this project: latest commits, authors, files changed most often",
        ),
        Topic::Version => ("Version", "Find where the version of this project is defined"),
        Topic::License => ("License", "Find the license of this project"),
    };
    // These two may be asked for something in particular.
    let what = match topic {
        Topic::TestRun | Topic::Dependencies => format!("{what}: {}", text.trim()),
        _ => what.to_owned(),
    };
    Task { title: title.to_owned(), ..Task::item(&what) }
}

/// How the answer is put together.
enum Form {
    Sections,
    /// One answer from the best places of the first report that has any.
    Question {
        terms: Terms,
    },
}

/// Returns a request without the project's own name: everything here is of it.
fn without_name(text: &str, project: Option<&str>) -> String {
    let Some(project) = project.filter(|name| name.len() > 1) else { return text.to_owned() };
    let is_own = |word: &str| word.trim_matches([',', '?', '.', '!']).eq_ignore_ascii_case(project);
    let pieces = text.split_inclusive(' ').map(|piece| {
        let word = piece.trim_end();
        if is_own(word) { piece.replace(word.trim_matches([',', '?', '.', '!']), "project") } else { piece.to_owned() }
    });
    pieces.collect()
}

/// Tasks handed out, and the inquiry that stands in where none could be.
struct Delegation {
    tasks: Vec<Task>,
    form: Form,
    fallback: Inquiry,
}

impl Delegation {
    fn boxed(tasks: Vec<Task>, form: Form, intent: Intent, text: &str) -> Box<dyn AnswerPlan> {
        let fallback = Inquiry::for_intent(intent, text);
        Box::new(Self { tasks, form, fallback })
    }

    fn received(&self, evidence: &Evidence) -> Vec<(String, Received)> {
        let found = self.tasks.iter().map(|task| (task, evidence.find(&task.call())));
        found.filter_map(|(task, exchange)| Some((task.title.clone(), Received::read(exchange?)))).collect()
    }

    /// Returns `true` if any subagent reported anything.
    fn is_answered(&self, evidence: &Evidence) -> bool {
        self.received(evidence).iter().any(|(_, got)| got.is_complete() || !got.report.findings.is_empty())
    }
}

impl AnswerPlan for Delegation {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let is_question = matches!(self.form, Form::Question { .. });
        match n {
            0 => Some(self.tasks.iter().map(Task::call).collect()),
            1 if is_question => {
                let places = answer::places(&self.received(evidence)).unwrap_or_default();
                Some(places.iter().take(1).map(window).collect())
            }
            1 => Some(Vec::new()),
            _ if self.is_answered(evidence) => None,
            _ => self.fallback.stage(n - 2, evidence),
        }
    }

    fn opening(&self, n: usize) -> String {
        let titles: Vec<String> = self.tasks.iter().map(|task| task.title.to_lowercase()).collect();
        match (n, titles.len()) {
            (0, 1) => format!("Starting a subagent: {}.", titles[0]),
            (0, count) => format!("Starting {count} subagents: {}.", titles.join("; ")),
            (1, _) => "Opening the best place to check it.".to_owned(),
            (2, _) => "Looking at it myself.".to_owned(),
            _ => String::new(),
        }
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        let received = self.received(evidence);
        let mut text = if self.is_answered(evidence) {
            match &self.form {
                Form::Sections => sections(&received),
                Form::Question { terms } => answer(terms, &received, evidence),
            }
        } else {
            own_words(&self.fallback.report(evidence))
        };
        if text.trim().is_empty() {
            text.push_str("The subagents reported nothing.");
        }
        let notes: Vec<String> = received.iter().filter_map(|(title, got)| got.note(title)).collect();
        if !notes.is_empty() {
            let _ = write!(text, "\n\n> {}", notes.join(" "));
        }
        text
    }
}

/// An answer that needs no tool.
struct FixedAnswer(String);

impl AnswerPlan for FixedAnswer {
    fn stage(&self, _n: usize, _evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        None
    }

    fn conclude(&self, _evidence: &Evidence) -> String {
        self.0.clone()
    }
}

/// One tool call and its output.
struct DirectCall(Direct);

impl AnswerPlan for DirectCall {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        self.0.stage(n, evidence)
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        direct::text(&self.0, evidence)
    }
}

/// What rules can do of a request, below a sentence on what they cannot.
struct Partly {
    sentence: String,
    plan: Box<dyn AnswerPlan>,
}

impl AnswerPlan for Partly {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        self.plan.stage(n, evidence)
    }

    fn opening(&self, n: usize) -> String {
        self.plan.opening(n)
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        format!("{}\n\n{}", self.sentence, self.plan.conclude(evidence))
    }
}
