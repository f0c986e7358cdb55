//! What agents ask the user, put to the client: permissions, plans, reports and choices.
//!
//! Owns the options of each kind of question, and what a chosen one means. Invariants: nothing is allowed that the client
//! was not shown whole; a client that does not answer, or answers what was not offered, has said no.

use std::collections::HashMap;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use serde_json::value::RawValue;

use super::client::Client;
use super::schema::{
    CLIENT_METHOD_NAMES, Error, PermissionOption, PermissionOptionKind, RequestId, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use super::shown;
use super::updates::Updates;
use crate::message::{reveal, sanitize, sanitize_line};
use crate::permission::{Answer, ApprovalId, ApprovalRequest, Preview, QuestionAnswer, UserQuestion};
use crate::subagent::unattended_advice;

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const EDITS: &str = "edits";
const NO: &str = "no";
/// What stands before the number of an option of a choice.
const CHOICE: &str = "choice-";

/// What was asked and is not answered.
struct Open {
    request: ApprovalRequest,
    /// The number of our request to the client.
    asked: RequestId,
    /// What was chosen so far, one for each question that was asked.
    chosen: Vec<QuestionAnswer>,
}

type Answered = (ApprovalId, Option<Result<Box<RawValue>, Error>>);

/// What came of an answer of the client.
pub(super) enum ApprovalStep {
    Settled(ApprovalId, Answer),
    /// There is another question, as a line for the client.
    Next(String),
}

pub(super) struct OpenApprovals {
    client: Client,
    session: SessionId,
    open: HashMap<ApprovalId, Open>,
    waiting: FuturesUnordered<BoxFuture<'static, Answered>>,
}

impl OpenApprovals {
    pub(super) fn new(client: Client, session: SessionId) -> Self {
        Self { client, session, open: HashMap::new(), waiting: FuturesUnordered::new() }
    }

    /// Puts a question to the client; returns the line that does.
    pub(super) fn ask(&mut self, request: ApprovalRequest, updates: &mut Updates) -> String {
        let call = updates.running(request.id.agent, &request.id.call_id).map(|(id, _)| id.clone());
        let call = call.unwrap_or_else(|| updates.next_id("question"));
        let fields = fields_of(&request, updates.name_of(request.id.agent));
        let options = options_of(&request, 0);
        self.put(
            request,
            Vec::new(),
            &RequestPermissionRequest::new(self.session.clone(), ToolCallUpdate::new(call, fields), options),
        )
    }

    fn put(
        &mut self,
        request: ApprovalRequest,
        chosen: Vec<QuestionAnswer>,
        question: &RequestPermissionRequest,
    ) -> String {
        let id = request.id.clone();
        let (asked, line, answer) = self.client.ask(CLIENT_METHOD_NAMES.session_request_permission, question);
        let waited_for = id.clone();
        self.waiting.push(answer.map(move |answer| (waited_for, answer.ok())).boxed());
        self.open.insert(id, Open { request, asked, chosen });
        line
    }

    /// Waits for the next answer; waits for ever if nothing was asked.
    pub(super) async fn answered(&mut self) -> Answered {
        match self.waiting.next().await {
            Some(answered) => answered,
            None => std::future::pending().await,
        }
    }

    /// Takes an answer of the client. `None` if it comes too late.
    pub(super) fn take(&mut self, (id, answer): Answered, updates: &mut Updates) -> Option<ApprovalStep> {
        let open = self.open.remove(&id)?;
        let Some(answer) = answer.map(|answer| selected(answer.as_deref())) else {
            // The client is gone.
            return Some(ApprovalStep::Settled(id, nobody(&open.request)));
        };
        let chosen = match answer {
            Ok(Some(option)) => option,
            Ok(None) => return Some(ApprovalStep::Settled(id, Answer::No { comment: None })),
            Err(()) => return Some(ApprovalStep::Settled(id, nobody(&open.request))),
        };
        if let Some(questions) = open.request.questions().map(<[UserQuestion]>::to_vec) {
            return Some(self.choose(open, &questions, &chosen, updates));
        }
        let answer = answer_of(&open.request, &chosen);
        Some(ApprovalStep::Settled(id, answer))
    }

    /// Takes what was chosen for one question, and asks the next.
    fn choose(&mut self, open: Open, questions: &[UserQuestion], chosen: &str, updates: &mut Updates) -> ApprovalStep {
        let Open { request, chosen: mut answers, .. } = open;
        let id = request.id.clone();
        let option = chosen.strip_prefix(CHOICE).and_then(|number| number.parse::<usize>().ok());
        let question = questions.get(answers.len());
        let Some(option) = question.zip(option).and_then(|(question, number)| question.options.get(number)) else {
            return ApprovalStep::Settled(id, Answer::No { comment: None });
        };
        answers.push(QuestionAnswer { chosen: vec![option.label.clone()], other: None });
        let Some(next) = questions.get(answers.len()) else {
            return ApprovalStep::Settled(id, Answer::Choices { answers });
        };
        let call = updates.running(id.agent, &id.call_id).map(|(call, _)| call.clone());
        let call = call.unwrap_or_else(|| updates.next_id("question"));
        let fields = ToolCallUpdateFields::new().title(question_title(next)).content(vec![question_text(next)]);
        let options = options_of(&request, answers.len());
        let question = RequestPermissionRequest::new(self.session.clone(), ToolCallUpdate::new(call, fields), options);
        ApprovalStep::Next(self.put(request, answers, &question))
    }

    /// Answers everything with no, for nobody is there any more.
    pub(super) fn refuse_all(&mut self) -> Vec<(ApprovalId, Answer)> {
        self.open.drain().map(|(id, open)| (id, nobody(&open.request))).collect()
    }

    /// Notes that a question is answered otherwise, or asked no more. Returns the number of our request, if the client still
    /// looks at it.
    pub(super) fn resolved(&mut self, id: &ApprovalId) -> Option<RequestId> {
        self.open.remove(id).map(|open| open.asked)
    }
}

fn nobody(request: &ApprovalRequest) -> Answer {
    Answer::Nobody { advice: unattended_advice(request) }
}

/// Reads which option was chosen; `None` is none. `Err` if the client cannot ask.
pub(super) fn selected(answer: Result<&RawValue, &Error>) -> Result<Option<String>, ()> {
    let answer = answer.map_err(|error| tracing::warn!(%error, "the client did not ask"))?;
    let answer: RequestPermissionResponse = serde_json::from_str(answer.get())
        .map_err(|error| tracing::warn!(%error, "the client's answer to a question makes no sense"))?;
    Ok(match answer.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    })
}

/// Returns what a chosen option means. One that was not offered is a no.
fn answer_of(request: &ApprovalRequest, chosen: &str) -> Answer {
    let is_offered = options_of(request, 0).iter().any(|option| &*option.option_id.0 == chosen);
    match chosen {
        ONCE if is_offered && request.is_of_plan() => Answer::Plan { accepts_edits: false, text: None },
        EDITS if is_offered => Answer::Plan { accepts_edits: true, text: None },
        ONCE if is_offered => Answer::Once,
        ALWAYS if is_offered => Answer::Always,
        _ => Answer::No { comment: None },
    }
}

/// Returns what can be answered to a question; `step` says which of several choices it is.
fn options_of(request: &ApprovalRequest, step: usize) -> Vec<PermissionOption> {
    let option = |id: &str, name: String, kind| PermissionOption::new(id.to_owned(), name, kind);
    let no = |name: &str| option(NO, name.to_owned(), PermissionOptionKind::RejectOnce);
    if let Some(question) = request.questions().and_then(|questions| questions.get(step)) {
        let choices = question.options.iter().enumerate().map(|(number, choice)| {
            let name = sanitize_line(&choice.label).into_owned();
            option(&format!("{CHOICE}{number}"), name, PermissionOptionKind::AllowOnce)
        });
        return choices.chain([no("Do not answer")]).collect();
    }
    if !request.is_shown_whole() {
        // A yes would be to what nobody has seen.
        return vec![no("Deny (part of this cannot be shown)")];
    }
    if request.is_of_plan() {
        return vec![
            option(ONCE, "Approve, ask before edits".to_owned(), PermissionOptionKind::AllowOnce),
            option(EDITS, "Approve, allow edits".to_owned(), PermissionOptionKind::AllowAlways),
            no("Keep planning"),
        ];
    }
    if request.is_of_report() {
        return vec![option(ONCE, "Let it be read".to_owned(), PermissionOptionKind::AllowOnce), no("Withhold it")];
    }
    let always = request.grant.as_ref().map(|grant| {
        let name = format!("Allow in this session: {}", sanitize_line(&grant.to_string()));
        option(ALWAYS, name, PermissionOptionKind::AllowAlways)
    });
    let once = option(ONCE, "Allow once".to_owned(), PermissionOptionKind::AllowOnce);
    [once].into_iter().chain(always).chain([no("Deny")]).collect()
}

/// Returns what the client shows with a question. The call has been told of; this says all that a yes would allow.
fn fields_of(request: &ApprovalRequest, agent: Option<&str>) -> ToolCallUpdateFields {
    let mut content: Vec<ToolCallContent> = Vec::new();
    let mut title = shown::title_of(agent, &request.access.tool, &request.title);
    match &request.preview {
        Some(Preview::Diff(diff)) => content.extend(shown::diffs(diff)),
        Some(Preview::Note { text }) => {
            content.push(shown::act(&request.act()));
            content.push(shown::text(reveal(text).into_owned()));
        }
        Some(Preview::Report { text } | Preview::Plan { text }) => {
            content.push(shown::text(sanitize(text).into_owned()));
        }
        Some(Preview::Questions { questions }) => {
            if let Some(first) = questions.first() {
                title = question_title(first);
                content.push(question_text(first));
            }
        }
        None => content.push(shown::act(&request.act())),
    }
    if !request.reason.is_empty() {
        content.push(shown::text(sanitize_line(&request.reason).into_owned()));
    }
    ToolCallUpdateFields::new()
        .title(title)
        .kind(shown::kind_of(&request.access.tool))
        .status(ToolCallStatus::Pending)
        .content(content)
}

fn question_title(question: &UserQuestion) -> String {
    sanitize_line(&question.question).into_owned()
}

/// Returns a question with its options.
fn question_text(question: &UserQuestion) -> ToolCallContent {
    let options = question.options.iter().map(|option| {
        let about = if option.description.is_empty() { String::new() } else { format!(": {}", option.description) };
        format!("- {}{about}", option.label)
    });
    let lines: Vec<String> = [question.question.clone(), String::new()].into_iter().chain(options).collect();
    shown::text(sanitize(&lines.join("\n")).into_owned())
}
