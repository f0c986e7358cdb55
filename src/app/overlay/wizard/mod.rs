//! The wizard that makes a new agent, step by step or from a draft of the model's.
//!
//! Owns the steps, the answers and their checks. Leaves the format and the file to `definition`, the drafting to
//! `subagent` and drawing to `tui`. Invariant: what was filled in is kept until it is written or thrown away by the
//! user, also while the wizard is closed.

mod acts;
mod form;
mod rows;

pub use acts::WIZARD_COLUMNS;
pub(in crate::app) use acts::WizardAct;
pub use form::{Drafting, Wizard};
pub use rows::{COLORS, HowRow, ModelRow, TOOL_GROUPS, ToolChoice, ToolRow, WizardStep, model_rows};
