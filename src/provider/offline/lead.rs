//! The offline model as the main agent: hands out tasks, reads the reports, composes the answer.
//!
//! Owns the wording of tasks and answers. Leaves the inquiries to the children, and takes them over where no child can
//! be had. Invariant: what a child did not finish is named as unfinished.

use std::fmt::Write as _;

use super::child::{ALL_FILES, Inquiry};
use super::direct::Direct;
use super::evidence::Evidence;
use super::intent::{self, Intent, Topic};
use super::place::Place;
use super::plan::{Call, Part, Plan};
use super::question;
use super::rank;
use super::report::{Received, Report};
use super::terms::Terms;

/// How to connect a language model.
pub(super) const CONNECT: &str = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local Ollama, LM Studio or llama.cpp server, or pass \
    `--model provider/name`";

/// Chooses the plan for what the user said.
pub(super) fn choose(evidence: &Evidence) -> Box<dyn Plan> {
    let text = evidence.task();
    plan_for(intent::read(text), text)
}

fn plan_for(intent: Intent, text: &str) -> Box<dyn Plan> {
    match intent {
        Intent::Help => Box::new(Saying(help())),
        Intent::Decline { what } => Box::new(Saying(decline(what, text))),
        Intent::Direct { call, title } => Box::new(Doing(Direct { call, title })),
        Intent::Overview => Delegation::boxed(topics(), Form::Sections, Intent::Overview, text),
        Intent::Topic(topic) => Delegation::boxed(vec![topic_task(topic)], Form::Sections, Intent::Topic(topic), text),
        Intent::Files { glob } => {
            let what = format!("{ALL_FILES}{glob}` and summarize what each one does");
            let tasks = vec![Task::item(&what)];
            Delegation::boxed(tasks, Form::Sections, Intent::Files { glob }, text)
        }
        Intent::Many(items) => {
            let tasks = items.iter().map(|item| item_task(item)).collect();
            Delegation::boxed(tasks, Form::Sections, Intent::Many(items), text)
        }
        Intent::Counted(count, inner) => counted(count, *inner, text),
        Intent::Question(question) => {
            let terms = Terms::of(&question);
            if terms.is_empty() {
                return Box::new(Saying(unclear()));
            }
            Delegation::boxed(
                searches(&question),
                Form::Question { question: question.clone(), terms },
                Intent::Question(question),
                text,
            )
        }
    }
}

/// Hands one matter to just so many subagents.
fn counted(count: usize, inner: Intent, text: &str) -> Box<dyn Plan> {
    match inner {
        Intent::Overview => {
            let tasks = topics().into_iter().take(count.max(1)).collect();
            Delegation::boxed(tasks, Form::Sections, Intent::Overview, text)
        }
        Intent::Question(question) => {
            let terms = Terms::of(&question);
            let tasks = searches(&question).into_iter().take(count.max(1)).collect();
            Delegation::boxed(
                tasks,
                Form::Question { question: question.clone(), terms },
                Intent::Question(question),
                text,
            )
        }
        other => plan_for(other, text),
    }
}

/// One task for one subagent.
#[derive(Debug, Clone)]
struct Task {
    kind: &'static str,
    title: String,
    prompt: String,
}

impl Task {
    fn new(kind: &'static str, title: &str, what: &str, to_return: &str) -> Self {
        let prompt =
            format!("WHAT: {what}\nWHERE: the whole project, from the working directory down.\nRETURN: {to_return}");
        Self { kind, title: title.to_owned(), prompt }
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

    fn call(&self) -> Call {
        Call::agent(self.kind, &self.title, &self.prompt)
    }
}

fn item_task(item: &str) -> Task {
    match intent::read(item) {
        Intent::Topic(topic) => Task { title: Task::item(item).title, ..topic_task(topic) },
        _ => Task::item(item),
    }
}

fn topic_task(topic: Topic) -> Task {
    match topic {
        Topic::Layout => Task::new(
            "explore",
            "Layout and languages",
            "Map the layout of this project: languages, directories, main modules",
            "what the README says the project is, files by language, what the main directories hold, with path:line.",
        ),
        Topic::Build => Task::new(
            "explore",
            "Build and entry points",
            "Find how this project is built: build system, dependencies, entry points",
            "the manifests with name, version and dependencies, the build command, where a run begins, with path:line.",
        ),
        Topic::Tests => Task::new(
            "explore",
            "Tests and frameworks",
            "Find what testing framework this project uses",
            "the framework with the path:line that shows it, where the tests are, and the command that runs them.",
        ),
        Topic::History => Task::new(
            "explore",
            "Recent history",
            "Look at the recent history of this project: latest commits, authors, files changed most often",
            "the latest commits and what changes most; without git, what the change log says.",
        ),
    }
}

fn topics() -> Vec<Task> {
    [Topic::Layout, Topic::Build, Topic::Tests, Topic::History].into_iter().map(topic_task).collect()
}

fn searches(question: &str) -> Vec<Task> {
    let quoted = question.replace(['“', '”'], "\"");
    let quoted = quoted.trim();
    vec![
        Task::new(
            "search-specialist",
            "Search by content",
            &format!("Search by content for what answers “{quoted}”: definitions first, then uses"),
            "the best places as path:line with the line's text, source before tests before documentation.",
        ),
        Task::new(
            "search-specialist",
            "Search by name",
            &format!("Search by name for files that answer “{quoted}”"),
            "the files whose names fit, with what each says it is for.",
        ),
        Task::new(
            "explore",
            "Search the history",
            &format!("Search the history for commits that concern “{quoted}”"),
            "the commits whose messages fit; without git, what the change log says.",
        ),
    ]
}

/// How the answer is put together.
enum Form {
    /// One section for each task.
    Sections,
    /// One answer from the best places of all reports.
    Question { question: String, terms: Terms },
}

/// Tasks handed out, and the inquiry that stands in where none could be.
struct Delegation {
    tasks: Vec<Task>,
    form: Form,
    fallback: Inquiry,
}

impl Delegation {
    fn boxed(tasks: Vec<Task>, form: Form, intent: Intent, text: &str) -> Box<dyn Plan> {
        let fallback = Inquiry::for_intent(intent, text);
        Box::new(Self { tasks, form, fallback })
    }

    fn received(&self, evidence: &Evidence) -> Vec<(&Task, Received)> {
        let found = self.tasks.iter().map(|task| (task, evidence.find(&task.call())));
        found.filter_map(|(task, exchange)| Some((task, Received::read(exchange?)))).collect()
    }

    /// Tells whether any child told anything.
    fn is_answered(&self, evidence: &Evidence) -> bool {
        self.received(evidence).iter().any(|(_, got)| got.is_complete() || !got.report.findings.is_empty())
    }

    /// Returns the places of all reports, those of searches by content first, each once.
    fn places(&self, evidence: &Evidence) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (_, got) in self.received(evidence) {
            for place in got.report.findings.iter().filter_map(|line| Place::parse(line)) {
                if !places.iter().any(|known| known.path == place.path && known.line.abs_diff(place.line) < 3) {
                    places.push(place);
                }
            }
        }
        // How something works is best told by the file that is named after it.
        if let Form::Question { question, terms } = &self.form
            && question.to_lowercase().starts_with("how ")
            && let Some(at) =
                places.iter().position(|place| place.label == "file" && rank::is_about(terms, &place.path))
        {
            places[..=at].rotate_right(1);
        }
        places
    }
}

impl Plan for Delegation {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<Call>> {
        let is_question = matches!(self.form, Form::Question { .. });
        match n {
            0 => Some(self.tasks.iter().map(Task::call).collect()),
            1 if is_question => Some(self.places(evidence).iter().take(3).map(question::window).collect()),
            2 if is_question => {
                Some(self.places(evidence).iter().take(1).filter_map(|best| question::above(best, evidence)).collect())
            }
            1 | 2 => Some(Vec::new()),
            _ if self.is_answered(evidence) => None,
            _ => self.fallback.stage(n - 3, evidence),
        }
    }

    fn lead(&self, n: usize) -> String {
        let titles: Vec<String> = self.tasks.iter().map(|task| task.title.to_lowercase()).collect();
        match (n, titles.len()) {
            (0, 1) => format!("One subagent looks into it: {}.", titles[0]),
            (0, count) => format!("{count} subagents look at once: {}.", titles.join("; ")),
            (1, _) => "Opening the best places to check them.".to_owned(),
            (3, _) => "I look at it myself.".to_owned(),
            _ => String::new(),
        }
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        let received = self.received(evidence);
        let mut text = if self.is_answered(evidence) {
            match &self.form {
                Form::Sections => sections(&received),
                Form::Question { terms, .. } => answer(terms, &self.places(evidence), &received, evidence),
            }
        } else {
            own_words(&self.fallback.report(evidence))
        };
        let notes: Vec<String> = received.iter().filter_map(|(task, got)| got.note(&task.title)).collect();
        if !notes.is_empty() {
            let _ = write!(text, "\n\n> {}", notes.join(" "));
        }
        text
    }
}

fn sections(received: &[(&Task, Received)]) -> String {
    let mut out = String::new();
    for (task, got) in received {
        let Report { summary, findings, .. } = &got.report;
        if !got.is_complete() && findings.is_empty() {
            continue;
        }
        if received.len() > 1 {
            let _ = write!(out, "\n\n### {}\n\n", task.title);
        }
        // Shown output stands between fences; cutting it would leave one open.
        let is_output = findings.iter().any(|line| line.starts_with("```"));
        let most = if received.len() > 1 && !is_output { 9 } else { 80 };
        let shown = own_words(&Report {
            summary: summary.clone(),
            findings: findings.iter().take(most).cloned().collect(),
            answer: got.report.answer.clone(),
        });
        out.push_str(&shown);
        if findings.len() > most {
            let _ = write!(out, "\n- and {} more", findings.len() - most);
        }
    }
    out.trim().to_owned()
}

/// Writes a report as an answer.
fn own_words(report: &Report) -> String {
    let head = if report.answer.is_empty() { &report.summary } else { &report.answer };
    let mut out = head.trim().to_owned();
    if !report.findings.is_empty() {
        let _ = write!(out, "\n\n{}", report.findings.join("\n").trim_end());
    }
    out
}

fn answer(terms: &Terms, places: &[Place], received: &[(&Task, Received)], evidence: &Evidence) -> String {
    let Some(best) = places.first() else {
        let mut out =
            format!("I found nothing about {}: no definition, no text and no file name matches.", terms.names());
        push_commits(&mut out, received);
        out.push_str(" A name as the source spells it would find more.");
        return out;
    };
    let lines = evidence.lines_of(&best.path);
    let mut out = String::new();
    let covered = question::coverage(terms, best, &lines);
    if covered * 2 < terms.count() {
        let _ = write!(out, "No place matches all of {}; this is the nearest. ", terms.names());
    }
    out.push_str(&question::statement(best, &lines));
    let mut shown = 0;
    for (at, place) in places.iter().enumerate().take(3) {
        let most = if at == 0 { 22 } else { 12 };
        let is_code = at == 0 || !["text", "file", "change"].contains(&place.label.as_str());
        if let Some(excerpt) = place.excerpt(&evidence.lines_of(&place.path), most).filter(|_| is_code) {
            let _ = write!(out, "\n\n`{}:{}` ({})\n{excerpt}", place.path, place.line, place.label);
            shown = at + 1;
        } else {
            break;
        }
    }
    let rest: Vec<String> = places.iter().skip(shown).take(7).map(Place::bullet).collect();
    if !rest.is_empty() {
        let _ = write!(out, "\n\nMore places:\n{}", rest.join("\n"));
    }
    push_commits(&mut out, received);
    out
}

fn push_commits(out: &mut String, received: &[(&Task, Received)]) {
    let all = received.iter().flat_map(|(_, got)| &got.report.findings);
    let commits: Vec<&str> = all.filter(|line| line.starts_with("- commit `")).take(3).map(String::as_str).collect();
    if !commits.is_empty() {
        let _ = write!(out, "\n\nCommits that mention it:\n{}\n", commits.join("\n"));
    }
}

/// An answer that needs no tool.
struct Saying(String);

impl Plan for Saying {
    fn stage(&self, _n: usize, _evidence: &Evidence) -> Option<Vec<Call>> {
        None
    }

    fn conclude(&self, _evidence: &Evidence) -> String {
        self.0.clone()
    }
}

/// One tool call and its output.
struct Doing(Direct);

impl Plan for Doing {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<Call>> {
        self.0.stage(n, evidence)
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        self.0.text(evidence)
    }
}

fn help() -> String {
    format!(
        "I am the built-in offline model: rules, not a language model. I search and read this project, alone or with \
         subagents, and cite what I find. Try:\n\n\
         - `explain this project`\n\
         - `where is the config file parsed?`\n\
         - `use a subtask to find what testing framework this project uses`\n\
         - `read all .rs files and summarize what each one does`\n\
         - `use 3 subagents: find the entry points; find the error types; find the tests`\n\
         - ``run `git log --oneline -n 5` ``\n\n\
         To connect a language model: {CONNECT}."
    )
}

fn decline(what: &str, text: &str) -> String {
    let object = text.trim().split_once(' ').map_or("", |(_, object)| object);
    let terms = Terms::of(object);
    let offer = if terms.is_empty() {
        "I can explain how the project is laid out, or find a name or a topic in it.".to_owned()
    } else {
        format!("I can find the places it concerns: ask, for example, where {} is used.", terms.names())
    };
    format!("{what} needs a language model, and none is connected: {CONNECT}. {offer}")
}

fn unclear() -> String {
    format!(
        "I found no name or topic to search for in that. I am the built-in offline model and understand requests such as \
         `explain this project` or `where is \"some name\" defined?`. To connect a language model: {CONNECT}."
    )
}
