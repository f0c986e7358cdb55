//! The demonstration: a scripted model and scripted tools behind the real loop, tree and screen.

use std::sync::Arc;

use futures::FutureExt;

use super::SessionKind;
use crate::agent::{SessionEvent, Sink};
use crate::provider::Model;
use crate::provider::scripted::Scripted;
use crate::subagent::{Connecting, Connection};
use crate::tool::{ScriptedTool, ToolSet};

const MODEL: &str = include_str!("../../assets/scripts/demo.jsonl");
const TOOLS: &str = include_str!("../../assets/scripts/demo-tools.jsonl");

/// What the demonstration asks, as if someone had typed it.
pub const REQUEST: &str = "Refactor auth to use JWT";

/// What takes the place of the real parts.
pub(super) struct DemoParts {
    provider: Result<Scripted, String>,
    pub(super) tools: ToolSet,
}

impl DemoParts {
    /// Returns the parts of the demonstration, if that is what is played.
    pub(super) fn of(kind: SessionKind) -> Option<Self> {
        if kind == SessionKind::Live {
            return None;
        }
        let tools = ScriptedTool::parse(TOOLS).map(ToolSet::from_iter).map_err(|error| error.to_string());
        let provider = Scripted::from_jsonl(MODEL).map_err(|error| error.to_string());
        Some(match tools {
            Ok(tools) => Self { provider, tools },
            Err(error) => Self { provider: Err(error), tools: ToolSet::default() },
        })
    }

    pub(super) fn connecting(self, sink: Sink) -> Connecting {
        let model = Arc::new(Model::built_in("demo"));
        let found = self.provider.map(|provider| Connection { provider: Arc::new(provider), model });
        let connecting = async move {
            let chosen = SessionEvent::ModelChosen {
                provider: "demo".to_owned(),
                id: "demo".to_owned(),
                display: "demo".to_owned(),
                context_window: Some(200_000),
                note: Some("Demo: scripted, and nothing on your machine is touched.".to_owned()),
            };
            sink.emit_session(chosen).await;
            found
        };
        let connecting = connecting.boxed().shared();
        tokio::spawn(connecting.clone().map(drop));
        connecting
    }
}
