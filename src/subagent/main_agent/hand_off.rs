//! `… &`: a message that an agent in the background works on, at the user's request; and those of an earlier run that go on.
//!
//! Owns which agent that is, and waiting for a model before. Leaves the run to the tree: it is a subagent of the main agent like any other, which gets its
//! report as a message. Invariant: the main agent's conversation does not hold the message.

use crate::agent::{EventKind, RunMode};
use crate::message::{AgentId, MessageId};
use crate::subagent::limits::Refusal;
use crate::subagent::main_agent::connection::Connecting;
use crate::subagent::main_agent::main_parent;
use crate::subagent::spawn::SpawnRequest;
use crate::subagent::spawn::capabilities::Capabilities;
use crate::subagent::tools::agent_tool::AgentInput;
use crate::subagent::tools::offer::Offers;
use crate::subagent::tree::Tree;

/// What stands in the place of a tool call at a subagent that the user has handed a message to.
const HAND_OFF_CALL: &str = "hand-off";
/// The agent that gets the message.
const GENERAL_PURPOSE: &str = "general-purpose";

impl Tree {
    /// Starts an agent in the background on a message of the user, or says why it cannot.
    pub(in crate::subagent) async fn hand_off(
        self,
        connecting: Connecting,
        capabilities: Result<Capabilities, Refusal>,
        offers: std::sync::Arc<Offers>,
        task: String,
    ) {
        let unable = match (connecting.await, capabilities) {
            (Ok(connection), Ok(capabilities)) => {
                let parent = main_parent(connection, capabilities, offers);
                let input = AgentInput::of_user(GENERAL_PURPOSE, task);
                match self.admit_again(&parent, &input) {
                    Ok(admitted) => {
                        let request = SpawnRequest {
                            call_id: HAND_OFF_CALL,
                            description: &input.title(),
                            task: input.prompt.clone(),
                            run_mode: RunMode::Background,
                            wants_report: true,
                            options: Box::default(),
                        };
                        self.spawn(&parent, admitted, request).await;
                        return;
                    }
                    Err(refusal) => refusal.to_string(),
                }
            }
            (Err(reason), _) => reason,
            (_, Err(refusal)) => refusal.to_string(),
        };
        let text = format!("Not handed to a background agent: {unable}");
        self.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text }).await;
    }

    /// Resumes subagents that may have worked in an earlier run of the program, once there is a model.
    pub(in crate::subagent) async fn resume_saved(
        self,
        connecting: Connecting,
        capabilities: Result<Capabilities, Refusal>,
        offers: std::sync::Arc<Offers>,
        (agents, message): (Vec<AgentId>, Option<(MessageId, String)>),
    ) {
        let main = match (connecting.await, capabilities) {
            (Ok(connection), Ok(capabilities)) => Ok(main_parent(connection, capabilities, offers)),
            (Err(reason), _) => Err(reason),
            (_, Err(refusal)) => Err(refusal.to_string()),
        };
        for agent in agents {
            let ready = match &main {
                Ok(main) => self.make_ready_below(agent, main).await.map_err(|refusal| refusal.to_string()),
                Err(reason) => Err(reason.clone()),
            };
            match ready {
                Ok(()) => self.resume(agent, message.clone()).await,
                Err(text) => self.sink().emit_unhindered(agent, EventKind::Notice { text }).await,
            }
        }
    }
}
