//! The thread that highlights.
//!
//! Owns the grammars and the parser states of blocks that still grow. Leaves the cache and its limits to its parent.
//! Invariant: the lock is held only to take a job and to leave a result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use super::{CodeClass, CodeLine, Job, JobId, Shared, Worker};

/// Longer lines stay plain: they are data, and grammars are slow on them.
const MAX_LINE_BYTES: usize = 2_000;
/// Blocks whose parser state is kept: about as many as agents write at once.
const MAX_OPEN: usize = 8;

/// Languages whose grammars are kept: each compiles as it is used, to as much as 45 MB.
const MAX_LANGUAGES: usize = 3;
/// Without work for this long the grammars are given up; loading them again takes some milliseconds.
const IDLE: Duration = Duration::from_secs(20);

/// A block that may go on. Its state stays valid when the grammars are loaded anew: they are always the same.
struct Open {
    id: JobId,
    lang: String,
    code: String,
    state: ParseState,
    stack: ScopeStack,
}

/// Works until the highlighter is dropped.
pub(super) fn run(shared: &Arc<Shared>) {
    let mut loaded: Option<Grammars> = None;
    let mut open: Vec<Open> = Vec::new();
    loop {
        let job = match next_job(shared, loaded.as_ref().map(|_| IDLE)) {
            Next::Job(job) => job,
            Next::Idle => {
                loaded = None;
                continue;
            }
            Next::Stop => return,
        };
        if loaded.as_ref().is_some_and(|grammars| grammars.is_full_for(&job.lang)) {
            loaded = None;
        }
        let grammars = loaded.get_or_insert_with(Grammars::load);
        let id = job.id;
        // A grammar that panics costs the colours of one block.
        let done = catch_unwind(AssertUnwindSafe(|| highlight(shared, grammars, &mut open, &job)));
        let mut state = shared.state();
        state.pending.remove(&id);
        match done {
            Ok(Some(lines)) => state.cache.insert(id, Arc::new(lines)),
            Ok(None) => return,
            Err(_) => {
                open.clear();
                state.cache.insert(id, Arc::new(job.code.lines().map(plain_line).collect()));
            }
        }
        drop(state);
        (shared.wake)();
    }
}

enum Next {
    Job(Job),
    Idle,
    Stop,
}

/// Waits for a job, at most `patience` if there is any; the newest comes first, because it is what the user looks at.
fn next_job(shared: &Shared, patience: Option<Duration>) -> Next {
    let mut state = shared.state();
    loop {
        if state.worker == Worker::Stopped {
            return Next::Stop;
        }
        if let Some(job) = state.queue.pop_back() {
            return Next::Job(job);
        }
        let Some(patience) = patience else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let (after, waited) = shared.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
        state = after;
        if waited.timed_out() && state.queue.is_empty() && state.worker == Worker::Running {
            return Next::Idle;
        }
    }
}

/// Highlights a block, from where an earlier one left off if it goes on; `None` when the highlighter is gone.
fn highlight(shared: &Shared, grammars: &mut Grammars, open: &mut Vec<Open>, job: &Job) -> Option<Vec<CodeLine>> {
    grammars.note(&job.lang);
    let Some(syntax) = grammars.find(&job.lang) else {
        return Some(job.code.lines().map(plain_line).collect());
    };
    let (mut lines, mut block) = match resume(shared, open, job) {
        Some(resumed) => resumed,
        None => (Vec::new(), fresh(job, ParseState::new(syntax))),
    };
    let rest = job.code[block.code.len()..].split_inclusive('\n');
    for line in rest {
        if shared.state().worker == Worker::Stopped {
            return None;
        }
        let whole = line.ends_with('\n');
        if whole {
            lines.push(grammars.line(line, &mut block.state, &mut block.stack));
            block.code.push_str(line);
        } else {
            // The line may still grow: its state is not kept.
            lines.push(grammars.line(line, &mut block.state.clone(), &mut block.stack.clone()));
        }
    }
    if block.code.len() == job.code.len() {
        block.id = job.id;
        open.push(block);
        if open.len() > MAX_OPEN {
            open.remove(0);
        }
    }
    Some(lines)
}

fn fresh(job: &Job, state: ParseState) -> Open {
    Open { id: job.id, lang: job.lang.clone(), code: String::new(), state, stack: ScopeStack::new() }
}

/// Finds the block that this one goes on from, with its lines, which the cache gives up: the longer block takes
/// their place.
fn resume(shared: &Shared, open: &mut Vec<Open>, job: &Job) -> Option<(Vec<CodeLine>, Open)> {
    let at = open.iter().position(|block| block.lang == job.lang && job.code.starts_with(&block.code))?;
    let block = open.remove(at);
    let lines = shared.state().cache.remove(block.id)?;
    Some((Arc::unwrap_or_clone(lines), block))
}

fn plain_line(line: &str) -> CodeLine {
    one_class(line, CodeClass::Plain)
}

fn one_class(line: &str, class: CodeClass) -> CodeLine {
    let length = u32::try_from(line.len()).unwrap_or(u32::MAX);
    CodeLine { text: line.into(), runs: [(length, class)].into() }
}

/// The grammars, and what their scopes mean.
struct Grammars {
    set: SyntaxSet,
    /// Languages used since they were loaded.
    used: Vec<String>,
    /// The first prefix of a scope decides; `None` leaves it to the scope around.
    classes: Vec<(Scope, Option<CodeClass>)>,
}

/// Prefixes of scope names as TextMate grammars use them, the more special before the more general.
const SCOPES: &[(&str, Option<CodeClass>)] = &[
    ("punctuation.definition", None),
    ("comment", Some(CodeClass::Comment)),
    ("constant.character.escape", Some(CodeClass::Number)),
    ("constant.other.placeholder", Some(CodeClass::Number)),
    ("string", Some(CodeClass::String)),
    ("constant", Some(CodeClass::Number)),
    ("keyword.operator", Some(CodeClass::Operator)),
    ("keyword", Some(CodeClass::Keyword)),
    ("storage", Some(CodeClass::Keyword)),
    ("entity.name.function", Some(CodeClass::Function)),
    ("entity.name.tag", Some(CodeClass::Keyword)),
    ("entity.other.attribute-name", Some(CodeClass::Function)),
    ("entity.name", Some(CodeClass::Type)),
    ("entity.other.inherited-class", Some(CodeClass::Type)),
    ("support.function", Some(CodeClass::Function)),
    ("support.macro", Some(CodeClass::Function)),
    ("support", Some(CodeClass::Type)),
    ("variable.function", Some(CodeClass::Function)),
    ("variable.language", Some(CodeClass::Keyword)),
    ("variable", Some(CodeClass::Variable)),
    ("markup.inserted", Some(CodeClass::Added)),
    ("markup.deleted", Some(CodeClass::Removed)),
    ("markup.heading", Some(CodeClass::Keyword)),
    ("markup.raw", Some(CodeClass::String)),
    ("meta.diff.header", Some(CodeClass::Comment)),
    ("punctuation", Some(CodeClass::Operator)),
];

/// Names that people give to languages and that no grammar has.
const ALIASES: &[(&str, &str)] = &[
    ("shell", "sh"),
    ("console", "sh"),
    ("shell-session", "sh"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("golang", "go"),
    ("c++", "cpp"),
    ("patch", "diff"),
    ("docker", "dockerfile"),
    ("node", "js"),
    ("py3", "py"),
];

impl Grammars {
    fn load() -> Self {
        let classes = SCOPES.iter().filter_map(|(name, class)| Some((Scope::new(name).ok()?, *class))).collect();
        Self { set: two_face::syntax::extra_newlines(), used: Vec::new(), classes }
    }

    /// Returns `true` if they should be given up before one more language is used.
    fn is_full_for(&self, lang: &str) -> bool {
        self.used.len() >= MAX_LANGUAGES && !self.used.iter().any(|used| used == lang)
    }

    fn note(&mut self, lang: &str) {
        if !self.used.iter().any(|used| used == lang) {
            self.used.push(lang.to_owned());
        }
    }

    fn find(&self, lang: &str) -> Option<&syntect::parsing::SyntaxReference> {
        let name = lang.split([',', ' ', '{']).next()?.trim().to_lowercase();
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, known)| known);
        self.set.find_syntax_by_token(name)
    }

    /// Highlights one line and carries the parser on.
    fn line(&self, line: &str, state: &mut ParseState, stack: &mut ScopeStack) -> CodeLine {
        let text = line.trim_end_matches(['\n', '\r']);
        if text.len() > MAX_LINE_BYTES {
            return plain_line(text);
        }
        let Ok(operations) = state.parse_line(line, &self.set) else { return plain_line(text) };
        let mut runs: Vec<(u32, CodeClass)> = Vec::new();
        let mut at = 0;
        for (offset, operation) in operations {
            let offset = offset.min(text.len());
            self.run(&mut runs, offset - at.min(offset), stack);
            at = at.max(offset);
            if stack.apply(&operation).is_err() {
                *stack = ScopeStack::new();
            }
        }
        self.run(&mut runs, text.len() - at, stack);
        CodeLine { text: text.into(), runs: runs.into() }
    }

    /// Appends a piece, or makes the last one longer.
    fn run(&self, runs: &mut Vec<(u32, CodeClass)>, length: usize, stack: &ScopeStack) {
        let Ok(length) = u32::try_from(length) else { return };
        if length == 0 {
            return;
        }
        let class = self.class(stack);
        match runs.last_mut() {
            Some((last, same)) if *same == class => *last += length,
            _ => runs.push((length, class)),
        }
    }

    /// Finds what the innermost scope that says anything means.
    fn class(&self, stack: &ScopeStack) -> CodeClass {
        for scope in stack.as_slice().iter().rev() {
            let known = self.classes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
            if let Some((_, Some(class))) = known {
                return *class;
            }
        }
        CodeClass::Plain
    }
}
