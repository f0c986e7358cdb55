//! A draft of an agent file, by rules: the words of the wish in the form of a file.
//!
//! Owns name, tools and text of the draft. Leaves writing the file to whoever asked. Invariant: the file is strict, and
//! the agent only reads unless the wish speaks of changing or running something.

use serde_json::Value;

use super::AnswerPlan;
use super::answer::how_to_connect;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::text::lists;

/// The task of the agent that drafts; the wish stands in the place of the mark.
const TASK: &str = include_str!("../../../assets/prompts/draft-task.md");

/// The file, with marks for what depends on the wish.
const FILE: &str = include_str!("../../../assets/prompts/offline-draft.md");

/// Words that say little about what an agent is for.
const FILLERS: &str = "a an the and or of in on to for with that this which who it its my our your i we me want need please make create write build agent \
    subagent should can could would will is are be all every each some";

/// Words that speak of changing files, without their endings.
const CHANGING: &str =
    "fix writ edit chang refactor implement creat add updat renam remov delet migrat format generat translat";

/// Words that speak of running commands, without their endings.
const RUNNING: &str = "run runn execut compil deploy benchmark install lint";

/// Returns a verb without the ending that its form gives it.
fn stem(word: &str) -> &str {
    ["ing", "es", "s", "e"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word)
}

/// Returns the wish in a task to draft an agent.
pub(crate) fn wish(task: &str) -> Option<&str> {
    let (before, after) = TASK.trim_end().split_once("{{request}}")?;
    Some(task.strip_prefix(before)?.strip_suffix(after)?.trim())
}

/// The draft of one wish.
pub(crate) struct DraftPlan(String);

impl DraftPlan {
    pub(crate) fn new(wish: &str) -> Self {
        Self(wish.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned())
    }

    fn file(&self) -> String {
        let lower = self.0.to_lowercase();
        let words = || lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let speaks_of = |stems: &str| words().any(|word| lists(stems, stem(word)));
        let telling = words().filter(|word| !lists(FILLERS, word) && word.len() <= 20);
        let name = telling.take(3).collect::<Vec<_>>().join("-");
        let (mut tools, mut limits) = ("Read, Grep, Glob, LS".to_owned(), "Change nothing: no file, no setting.");
        if speaks_of(CHANGING) {
            tools.push_str(", Edit, Write");
            limits = "Change only what the task needs, and keep to the style of the code around it.";
        }
        if speaks_of(RUNNING) {
            tools.push_str(", Bash");
        }
        let description = Value::from(format!("Use this agent when the task is: {}. Tell it where to look.", self.0));
        FILE.trim_end()
            .replace("{{name}}", if name.is_empty() { "new-agent" } else { &name })
            .replace("{{tools}}", &tools)
            .replace("{{limits}}", limits)
            .replace("{{wish}}", &self.0)
            .replace("{{description}}", &description.to_string())
    }
}

impl AnswerPlan for DraftPlan {
    fn stage(&self, n: usize, _evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        (n == 0).then(|| vec![PlannedCall::ls(".")])
    }

    fn opening(&self, _n: usize) -> String {
        "A look at the project first.".to_owned()
    }

    fn conclude(&self, _evidence: &Evidence) -> String {
        let (how, file) = (how_to_connect(), self.file());
        format!(
            "<summary>Drafted by rules from the words of the wish. A language model would write more: {how}.</summary>\n\
             <answer>\n{file}\n</answer>"
        )
    }
}
