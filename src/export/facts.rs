//! What an export says of the session and of each agent, in words.

use std::time::Duration;

use super::Clean;
use super::recording::{RecordedAgent, Recording};
use crate::message::format::{counted, elapsed, tokens};
use crate::message::{AgentId, Spent};

/// Returns what there is to say of the whole session, besides its name.
pub(super) fn of_session(recording: &Recording, clean: &Clean<'_>) -> Vec<String> {
    let agents = recording.agents.keys().filter(|id| !id.is_main()).count();
    let folder = recording.meta.get("cwd").and_then(|folder| folder.as_str()).map(|folder| clean.line(folder));
    let model = recording.model.as_ref().map(|model| clean.line(model));
    let state = recording.agents.get(&AgentId::MAIN).map(|main| main.state(recording.is_live));
    let facts = [
        folder,
        Some(recording.start.strftime("%Y-%m-%d %H:%M UTC").to_string()),
        Some(elapsed(Duration::from_millis(recording.length))),
        model,
        Some(counted(agents, "agent")).filter(|_| agents > 0),
        Some(of_use(&recording.spent())),
        state.filter(|state| *state != "idle").map(str::to_owned),
    ];
    facts.into_iter().flatten().collect()
}

/// Returns what there is to say of an agent, besides its name and its task.
pub(super) fn of_agent(agent: &RecordedAgent, recording: &Recording, clean: &Clean<'_>) -> Vec<String> {
    let activity = &agent.activity;
    let runs = activity.ends.len();
    let facts = [
        Some(agent.state(recording.is_live).to_owned()),
        Some(counted(activity.tools as usize, "tool")),
        Some(elapsed(Duration::from_millis(agent.worked()))),
        Some(of_use(&activity.spent)),
        Some(counted(runs, "run")).filter(|_| runs > 1),
        agent.spawn.as_ref().map(|spawn| clean.line(&spawn.model)).filter(|model| !model.is_empty()),
    ];
    facts.into_iter().flatten().collect()
}

fn of_use(spent: &Spent) -> String {
    let cost = spent.whole_cost().filter(|cost| *cost >= 0.005).map(|cost| format!(" ${cost:.2}")).unwrap_or_default();
    format!("{} tok{cost}", spent.usage.spelled(tokens))
}
