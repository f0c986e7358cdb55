//! Answers in the form of a JSON Schema (`--json-schema`).
//!
//! Owns what the model is told, and judging its answer. Leaves validation to a crate. Invariant: what is called a
//! structured answer fits the schema; the model gets a few tries.

use std::sync::Arc;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use crate::message::UserText;

/// Times that the model is told what is wrong with its answer.
const MAX_RETRIES: u32 = 3;
/// Most characters of what is wrong.
const ERROR_CHARS: usize = 2_000;

/// A schema that answers have to fit.
#[derive(Clone)]
pub struct AnswerSchema {
    text: Arc<str>,
    schemas: Arc<Schemas>,
    index: SchemaIndex,
}

impl AnswerSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Returns why it is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let shown = serde_json::to_string(&schema).map_err(|error| error.to_string())?;
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(PLACE, schema).map_err(|error| error.to_string())?;
        let index = compiler.compile(PLACE, &mut schemas).map_err(|error| format!("{error:#}"))?;
        Ok(Self { text: shown.into(), schemas: Arc::new(schemas), index })
    }

    /// Returns what a system prompt says of it.
    #[must_use]
    pub fn instructions(&self) -> String {
        format!(
            "# The form of your answer\n\nA program reads your last message. Once the work is done, answer with one JSON \
             value that fits this JSON Schema, and with nothing else: no words before or after it, no code fence.\n\n{}",
            self.text
        )
    }

    fn judge(&self, answer: &str) -> Result<Value, String> {
        let value: Value = serde_json::from_str(unfenced(answer)).map_err(|error| format!("it is no JSON: {error}"))?;
        match self.schemas.validate(&value, self.index) {
            Ok(()) => Ok(value),
            Err(error) => Err(format!("{error:#}").chars().take(ERROR_CHARS).collect()),
        }
    }
}

/// The schema's own address, which nothing is fetched from.
const PLACE: &str = "schema:answer";

/// Returns the text without a code fence around it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(text).trim()
}

/// What to do after an answer.
#[derive(Debug)]
pub(super) enum NextTry {
    /// It fits, or there is nothing that it has to fit.
    Done(Option<Value>),
    /// The model is told this.
    Again(UserText),
    /// It has had its tries; this is wrong.
    Failed(String),
}

/// Judges the answers of a conversation.
#[derive(Default)]
pub(super) struct AnswerJudge {
    schema: Option<AnswerSchema>,
    retries: u32,
}

impl AnswerJudge {
    pub(super) fn new(schema: Option<AnswerSchema>) -> Self {
        Self { schema, retries: 0 }
    }

    /// Judges the answer to a message.
    pub(super) fn judge(&mut self, answer: &str) -> NextTry {
        let Some(schema) = &self.schema else { return NextTry::Done(None) };
        match schema.judge(answer) {
            Ok(value) => {
                self.retries = 0;
                NextTry::Done(Some(value))
            }
            Err(why) if self.retries < MAX_RETRIES => {
                self.retries += 1;
                NextTry::Again(UserText::from(format!(
                    "Your answer does not fit the JSON Schema: {why}\n\nAnswer again: one JSON value that fits, and nothing \
                     else."
                )))
            }
            Err(why) => {
                self.retries = 0;
                NextTry::Failed(why)
            }
        }
    }
}
