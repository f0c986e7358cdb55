//! The tools by which the main agent asks the user: `ExitPlanMode` for a yes to its plan, `AskUserQuestion` for a choice.
//!
//! Owns their inputs, the mode that a yes to a plan brings about, and what models read of answers. Leaves the questions to
//! the front ends. Invariants: no plan is taken as approved without a yes to exactly its text; only the main agent asks.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::{Cancel, EventKind, SessionEvent, ToolEvent};
use crate::message::{AgentId, INTERRUPTED, columns, reveal_line, sanitize, sanitize_line};
use crate::permission::{
    Access, AccessKind, Answer, ApprovalId, ApprovalRequest, PermissionMode, Preview, QuestionAnswer, ToolKind,
    UserQuestion,
};
use crate::subagent::tree::Tree;
use crate::tool::{AnyTool, Concurrency, Plan, Tool, ToolContext, ToolOutput, ToolView};

/// Names of the tools by which the main agent asks the user.
pub const ASK_TOOLS: [&str; 2] = ["AskUserQuestion", "ExitPlanMode"];

/// Characters of a plan.
const MAX_PLAN: usize = 40_000;
const MAX_QUESTIONS: usize = 4;
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=4;
/// Characters of a question, of a description and of a preview.
const MAX_TEXT: usize = 4_000;

/// Returns the tools by which the main agent asks the user.
pub(in crate::subagent) fn tools(tree: &Tree) -> [Arc<dyn AnyTool>; 2] {
    [Arc::new(AskUserQuestion(tree.clone())), Arc::new(ExitPlanMode(tree.clone()))]
}

struct ExitPlanMode(Tree);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanInput {
    /// The whole plan, in Markdown: what will be changed, where, in which order, and how it is checked.
    plan: String,
}

impl Tool for ExitPlanMode {
    type Input = PlanInput;
    type Prepared = String;

    const NAME: &'static str = "ExitPlanMode";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/ExitPlanMode.md");
    const KIND: ToolKind = ToolKind::Other;
    const KEEPS_TIME: bool = true;

    fn applies(&self) -> bool {
        self.0.setup().permissions.mode() == PermissionMode::Plan
    }

    fn concurrency(&self, _input: &PlanInput) -> Concurrency {
        Concurrency::InOrder
    }

    fn title(&self, input: &PlanInput, _context: &ToolContext) -> String {
        let first = input.plan.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|line| !line.is_empty());
        sanitize_line(first.unwrap_or_default()).chars().take(100).collect()
    }

    async fn prepare(&self, input: PlanInput, _context: &ToolContext) -> Result<(Plan, String), ToolOutput> {
        let plan = input.plan.trim();
        if plan.is_empty() {
            return Err(ToolOutput::error("The plan is empty. Write what will be done, then call this again."));
        }
        if plan.chars().nth(MAX_PLAN).is_some() {
            return Err(ToolOutput::error(format!("The plan is too long. Keep it below {MAX_PLAN} characters.")));
        }
        if !Tool::applies(self) {
            return Err(ToolOutput::error("Plan mode is off: nothing has to be approved. Go on with the task."));
        }
        Ok((Plan::free(), plan.to_owned()))
    }

    async fn run(&self, plan: String, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let request = Request {
            tool: Self::NAME,
            title: "plan".to_owned(),
            preview: Preview::Plan { text: plan.clone() },
            reason: "plan mode: nothing is changed before a yes".to_owned(),
        };
        match self.0.ask_user(request, context).await {
            Some(Answer::Plan { accepts_edits, text }) => {
                let mode = if accepts_edits { PermissionMode::AcceptEdits } else { PermissionMode::Default };
                self.0.setup().permissions.set_mode(mode);
                self.0.sink().emit_session_unhindered(SessionEvent::ModeChanged { mode }).await;
                let edits = if accepts_edits { "Edits in the project are allowed." } else { "Changes ask the user." };
                let edited = text.filter(|text| text.trim() != plan).map(|text| sanitize(text.trim()).into_owned());
                let (words, summary) = match &edited {
                    Some(_) => ("has edited the plan and approved it as it stands below", "approved, edited"),
                    None => ("has approved the plan", "approved"),
                };
                let shown = edited.clone().unwrap_or(plan);
                let below = edited.map_or_else(String::new, |text| format!("\n\n{text}"));
                let text = format!("The user {words}. Plan mode is off. {edits} Start now.{below}");
                Ok(ToolOutput { view: Some(ToolView::Output { text: shown }), ..ToolOutput::text(text, summary) })
            }
            Some(Answer::No { comment }) => {
                let comment = comment.map(|comment| comment.trim().to_owned()).filter(|comment| !comment.is_empty());
                let text = match &comment {
                    Some(comment) => {
                        format!("The user wants to keep planning: {comment}\nChange the plan, then ask again.")
                    }
                    None => "The user wants to keep planning. Ask what is missing, or improve the plan.".to_owned(),
                };
                let summary =
                    comment.map_or_else(|| "keep planning".to_owned(), |comment| format!("keep planning: {comment}"));
                Ok(ToolOutput { view: Some(ToolView::Output { text: plan }), ..ToolOutput::text(text, summary) })
            }
            Some(Answer::Nobody { .. }) => Err(ToolOutput::error(
                "Nobody is there to approve a plan. Give the plan as your answer, and change nothing.",
            )),
            Some(_) => Err(ToolOutput::error("The plan was not approved. Keep planning.")),
            None => Err(ToolOutput::error(INTERRUPTED)),
        }
    }
}

struct AskUserQuestion(Tree);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionsInput {
    /// 1 to 4 questions.
    questions: Vec<UserQuestion>,
}

impl Tool for AskUserQuestion {
    type Input = QuestionsInput;
    type Prepared = Vec<UserQuestion>;

    const NAME: &'static str = "AskUserQuestion";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/AskUserQuestion.md");
    const KIND: ToolKind = ToolKind::Other;
    const KEEPS_TIME: bool = true;

    fn concurrency(&self, _input: &QuestionsInput) -> Concurrency {
        Concurrency::InOrder
    }

    fn title(&self, input: &QuestionsInput, _context: &ToolContext) -> String {
        let words: Vec<String> = input.questions.iter().map(|one| sanitize_line(&one.question).into_owned()).collect();
        words.join(" · ").chars().take(200).collect()
    }

    async fn prepare(
        &self,
        input: QuestionsInput,
        _context: &ToolContext,
    ) -> Result<(Plan, Vec<UserQuestion>), ToolOutput> {
        check(&input.questions).map_err(ToolOutput::error)?;
        Ok((Plan::free(), input.questions))
    }

    async fn run(&self, questions: Vec<UserQuestion>, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let request = Request {
            tool: Self::NAME,
            title: questions.iter().map(|one| one.question.as_str()).collect::<Vec<_>>().join("\n"),
            preview: Preview::Questions { questions: questions.clone() },
            reason: String::new(),
        };
        match self.0.ask_user(request, context).await {
            Some(Answer::Choices { answers }) => Ok(answered(&questions, &answers)),
            Some(Answer::No { comment }) => {
                let comment = comment.map(|comment| comment.trim().to_owned()).filter(|comment| !comment.is_empty());
                let words = comment.map_or_else(String::new, |comment| format!(" They say: {comment}"));
                let text = format!("The user does not answer.{words} Go on with what you think best, or ask in words.");
                Ok(ToolOutput::text(text, "not answered"))
            }
            Some(Answer::Nobody { .. }) => Err(ToolOutput::error(
                "Nobody is there to answer questions. Choose what is most sensible yourself, and say in your answer what \
                 you have assumed.",
            )),
            Some(_) => Err(ToolOutput::error("The question was not answered. Go on with what you think best.")),
            None => Err(ToolOutput::error(INTERRUPTED)),
        }
    }
}

/// Columns of a label, which is the answer, and has to be seen whole.
const MAX_LABEL: usize = 50;
/// Columns of a question.
const MAX_QUESTION: usize = 400;

/// Says what is wrong with questions, if anything is.
fn check(questions: &[UserQuestion]) -> Result<(), String> {
    if questions.is_empty() || questions.len() > MAX_QUESTIONS {
        return Err(format!("Ask 1 to {MAX_QUESTIONS} questions at a time."));
    }
    for one in questions {
        if one.question.trim().is_empty() {
            return Err("A question is empty. Write it out.".to_owned());
        }
        if !OPTIONS.contains(&one.options.len()) {
            return Err(format!("A question takes {} to {} options.", OPTIONS.start(), OPTIONS.end()));
        }
        let labels: Vec<&str> = one.options.iter().map(|option| option.label.trim()).collect();
        if labels.iter().any(|label| label.is_empty()) {
            return Err("An option has no label. Name it in 1 to 5 words.".to_owned());
        }
        let is_long = |label: &&str| shown_width(label) > MAX_LABEL || label.contains(['\n', '\r']);
        if labels.iter().any(is_long) {
            return Err(format!(
                "A label is longer than a line of {MAX_LABEL} characters. Put the rest into its description."
            ));
        }
        if shown_width(&one.question) > MAX_QUESTION {
            return Err(format!("A question is longer than {MAX_QUESTION} characters. Shorten it."));
        }
        if (1..labels.len()).any(|at| labels[..at].contains(&labels[at])) {
            return Err("Two options of a question have the same label. Give each its own.".to_owned());
        }
        let texts = one.options.iter().flat_map(|option| {
            [Some(&option.label), Some(&option.description), option.preview.as_ref()].into_iter().flatten()
        });
        if texts.chain([&one.question, &one.header]).any(|text| text.chars().nth(MAX_TEXT).is_some()) {
            return Err(format!("A text is longer than {MAX_TEXT} characters. Shorten it."));
        }
    }
    Ok(())
}

/// Returns the columns that a text takes with all that is hidden in it revealed.
fn shown_width(text: &str) -> usize {
    columns::width(&reveal_line(text))
}

/// Says what was answered, to the model and to whoever looks at the conversation.
fn answered(questions: &[UserQuestion], answers: &[QuestionAnswer]) -> ToolOutput {
    let pairs = || questions.iter().zip(answers);
    let lines: Vec<String> = pairs().map(|(one, answer)| format!("{}\n→ {}", one.question, answer.words())).collect();
    let summary: Vec<String> = pairs().map(|(_, answer)| sanitize_line(&answer.words()).into_owned()).collect();
    let text = format!("The user has answered:\n{}", lines.join("\n"));
    let view = (lines.len() > 1).then(|| ToolView::Output { text: lines.join("\n") });
    ToolOutput { view, ..ToolOutput::text(text, summary.join(" · ")) }
}

/// What is asked of the user.
struct Request {
    tool: &'static str,
    title: String,
    preview: Preview,
    reason: String,
}

impl Tree {
    /// Asks the user for the main agent; `None` if it is stopped before they answer.
    async fn ask_user(&self, request: Request, context: &ToolContext) -> Option<Answer> {
        let Request { tool, title, preview, reason } = request;
        let id = ApprovalId::new(AgentId::MAIN, context.call_id.clone());
        let access = Access::new(tool, AccessKind::Nothing);
        let preview = Some(preview);
        let request = ApprovalRequest { id: id.clone(), access, title, preview, grant: None, reason };
        let asked = self.setup().approver.ask(request.clone());
        self.sink().emit(AgentId::MAIN, EventKind::Tool(ToolEvent::ApprovalRequested { request })).await;
        let answer = tokio::select! {
            biased;
            () = context.cancel.cancelled() => None,
            answer = asked => Some(answer),
        };
        let resolved = ToolEvent::ApprovalResolved { id, answer: answer.clone(), by_grant: false };
        self.sink().emit_until(AgentId::MAIN, EventKind::Tool(resolved), &stopped()).await;
        answer
    }
}

/// Returns a token that lets no listener keep the agent waiting.
fn stopped() -> Cancel {
    let cancel = Cancel::default();
    cancel.stop(crate::agent::StopCause::User);
    cancel
}
