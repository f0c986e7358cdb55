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
    let (before, after) = TASK.trim_end().split_once("{{wish}}")?;
    Some(task.strip_prefix(before)?.strip_suffix(after)?.trim())
}

pub(crate) struct DraftPlan {
    wish: String,
}

impl DraftPlan {
    pub(crate) fn new(wish: &str) -> Self {
        Self { wish: wish.split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    fn words(&self) -> Vec<String> {
        let lower = self.wish.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    fn speaks_of(&self, stems: &str) -> bool {
        self.words().iter().any(|word| lists(stems, stem(word)))
    }

    fn name(&self) -> String {
        let words = self.words();
        let telling: Vec<&str> = words.iter().map(String::as_str).filter(|word| !lists(FILLERS, word)).collect();
        let name: Vec<&str> = telling.into_iter().filter(|word| word.len() <= 20).take(3).collect();
        if name.is_empty() { "new-agent".to_owned() } else { name.join("-") }
    }

    fn tools(&self) -> String {
        let mut tools = vec!["Read", "Grep", "Glob", "LS"];
        if self.speaks_of(CHANGING) {
            tools.extend(["Edit", "Write"]);
        }
        if self.speaks_of(RUNNING) {
            tools.push("Bash");
        }
        tools.join(", ")
    }

    fn file(&self) -> String {
        let wish = self.wish.trim_end_matches('.');
        let description = Value::from(format!("Use this agent when the task is: {wish}. Tell it where to look."));
        let limits = if self.speaks_of(CHANGING) {
            "Change only what the task needs, and keep to the style of the code around it."
        } else {
            "Change nothing: no file is written and no setting is touched."
        };
        let proof = if self.speaks_of(RUNNING) {
            "Run the project's own commands to see whether it works, and quote what they print."
        } else {
            "Open every place you name; claim nothing that you have not seen."
        };
        format!(
            "---\nname: {}\ndescription: {description}\ntools: {}\n---\n\n\
             Your job: {wish}.\n\n\
             How you work:\n\
             - Begin with the shape of the project: its folders, manifests and entry points.\n\
             - Search for the names in the task, definitions before uses.\n\
             - Read the places that matter, not whole folders.\n\
             - {proof}\n\
             - {limits}\n\
             - You work alone and cannot ask back. Where something is open, decide, and say what you assumed.\n\n\
             What you return:\n\
             - What you found or did, in the order in which someone should read it.\n\
             - Every claim with its place as `path:line`.\n\
             - What is left open, if anything is.",
            self.name(),
            self.tools(),
        )
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
        format!(
            "<summary>Drafted `{}` by rules from the words of the wish. A language model would write more: {}.</summary>\n\
             <answer>\n{}\n</answer>",
            self.name(),
            how_to_connect(),
            self.file()
        )
    }
}
