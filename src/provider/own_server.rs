//! Servers of the user's own: how much of a conversation they read, by their own word, and what to do about one that reads less.
//!
//! Owns the questions to Ollama, llama.cpp, LM Studio and vLLM, and the advice. Leaves what follows from the size to `agent`.
//! Invariants: a server that does not answer in time counts as one that says nothing; what it has loaded counts more than
//! what the model could hold.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};

use super::Credential;
use super::choice::ModelEndpoint;
use super::discover::{LEAST_WINDOW, LIST_CAP, is_same_model, models_of};
use super::http::{Http, is_on_own_network};

/// How long a server may take to say how large its context is.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the size of the context, in tokens, in which a server of the user's own runs a model; `None` if it does not
/// say, if it is known, or if this is no such server.
pub async fn window_of(chosen: &ModelEndpoint) -> Option<u64> {
    let ModelEndpoint { endpoint, model, context_window } = chosen;
    let is_moved = endpoint.provider.url_env.is_some() && !endpoint.is_at_home();
    // What is asked for with a key over the API of OpenAI is a gateway. Tools for the other API always send one.
    let is_server = !endpoint.provider.wire.is_openai() || endpoint.credential == Credential::None;
    let is_own = endpoint.provider.local || is_moved && is_server;
    let may_ask = is_on_own_network(&endpoint.base) && endpoint.credential.is_at_hand();
    if context_window.is_some() || !is_own || !may_ask {
        return None;
    }
    let root = Http::at(endpoint.service(), root_of(&endpoint.base));
    let get = async |path: &str| read(&root.get(path, LIST_CAP).await.ok()?);
    let asked =
        async { tokio::join!(of_ollama(&root, model), get("/props"), get("/api/v0/models"), models_of(endpoint)) };
    let (ollama, props, studio, listed) = tokio::time::timeout(ASK_TIMEOUT, asked).await.ok()?;
    let props = || props?["default_generation_settings"]["n_ctx"].as_u64();
    let studio = || of_list(&studio?["data"], model, "loaded_context_length");
    let listed = || listed.ok()?.into_iter().find(|listed| is_same_model(&listed.id, model))?.context_window;
    let found = ollama.or_else(props).or_else(studio).or_else(listed);
    found.filter(|tokens| *tokens >= LEAST_WINDOW)
}

/// Returns the size of the context in which Ollama has loaded a model, else the one that is set for it.
async fn of_ollama(root: &Http, model: &str) -> Option<u64> {
    let running = read(&root.get("/api/ps", LIST_CAP).await.ok()?)?;
    // Nobody else has such a list.
    running["models"].as_array()?;
    if let Some(loaded) = of_list(&running["models"], model, "context_length") {
        return Some(loaded);
    }
    let shown = read(&root.ask("/api/show", &json!({ "model": model }), LIST_CAP).await.ok()?)?;
    num_ctx(shown["parameters"].as_str()?)
}

/// Returns the address below which a server has all that it serves, its API among it.
fn root_of(base: &Url) -> Url {
    let mut root = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = ["/chat/completions", "/messages"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    root.set_path(path.strip_suffix("/v1").unwrap_or(path));
    root
}

fn read(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

/// Returns a number of a model in a list, by the name or the id of the model.
fn of_list(list: &Value, model: &str, key: &str) -> Option<u64> {
    let is_it = |entry: &&Value| {
        ["id", "name", "model"].iter().filter_map(|key| entry[key].as_str()).any(|id| is_same_model(id, model))
    };
    list.as_array()?.iter().find(is_it)?[key].as_u64()
}

/// Returns the size of the context that the parameters of a model of Ollama set: lines of a name and a value.
fn num_ctx(parameters: &str) -> Option<u64> {
    let mut lines = parameters.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    lines.find(|(name, _)| *name == "num_ctx")?.1.trim().parse().ok()
}

/// What is said of a server that does not read all it is sent.
#[derive(Debug, Default)]
pub(super) struct CutAdvice(AtomicBool);

impl CutAdvice {
    /// Returns what to set so that the server reads more; `None` if that was said.
    pub(super) fn take(&self, provider: &str) -> Option<&'static str> {
        let is_first = !self.0.swap(true, Ordering::Relaxed);
        is_first.then_some(match provider {
            "ollama" => "Start it with OLLAMA_CONTEXT_LENGTH=32768 or more, or give the model a larger `num_ctx`.",
            "llamacpp" => "Start it with a larger context (-c 32768 or more).",
            "lmstudio" => "Load the model with a larger context.",
            "vllm" => "Start it with a larger --max-model-len.",
            "sglang" => "Start it with a larger --context-length.",
            _ => {
                "Give the server a larger context: OLLAMA_CONTEXT_LENGTH (Ollama), -c (llama.cpp), or where it loads the model."
            }
        })
    }
}
