//! Each built-in service answers from a server on loopback, over its own wire format and with its own key.

use belvedere::message::{Message, WireFormat};
use belvedere::provider::StopReason;
use belvedere::provider::choice::{Endpoint, ModelChoice, ModelEndpoint, ModelPreferences, choose, connect};
use belvedere::provider::rate_limiter::RateLimiters;
use belvedere::provider::table::{ProviderEnv, ProviderTable};
use futures::StreamExt;
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::{fixture, fold, request};

const KEY: &str = "sk-secret-1234";

/// Values of the variables that say where a service is.
const PLACES: [(&str, &str); 5] = [
    ("ANTHROPIC_FOUNDRY_RESOURCE", "shop"),
    ("AZURE_RESOURCE_NAME", "shop"),
    ("AWS_REGION", "eu-west-1"),
    ("ANTHROPIC_VERTEX_PROJECT_ID", "my-shop-7"),
    ("CLOUD_ML_REGION", "europe-west1"),
];

fn env(set: &[(&str, &str)]) -> ProviderEnv {
    ProviderEnv::new(ProviderTable::default(), |variable| {
        set.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned())
    })
}

fn chosen(flag: &str, set: &[(&str, &str)]) -> Result<ModelChoice, String> {
    let wishes = ModelPreferences { flag: Some(flag.to_owned()), env: env(set), ..ModelPreferences::default() };
    choose(&wishes).map_err(|error| error.to_string())
}

/// Returns where a service is asked, and with which model.
fn endpoint(name: &str, key_env: Option<&str>) -> ModelEndpoint {
    let mut set = PLACES.to_vec();
    set.extend(key_env.map(|variable| (variable, KEY)));
    match chosen(name, &set).unwrap_or_else(|error| panic!("{name}: {error}")) {
        ModelChoice::Connect(chosen) => chosen,
        ModelChoice::Probe { mut endpoints, .. } => {
            ModelEndpoint { endpoint: endpoints.remove(0), model: "m".to_owned(), context_window: None }
        }
        ModelChoice::Offline => panic!("{name} is offline"),
    }
}

/// What a server of each format answers, and where and with what it is asked.
struct Expected {
    answer: &'static str,
    path: &'static str,
    header: &'static str,
    has_model: bool,
}

fn expected(name: &str, wire: WireFormat) -> Expected {
    let of = |answer, path, header| Expected { answer, path, header, has_model: true };
    match wire {
        // OpenAI too, where it is not OpenAI that answers: such a server may not know the newer API.
        WireFormat::OpenAi => of("openai", "/chat/completions", "authorization"),
        WireFormat::Responses if name == "azure" => of("responses", "/openai/v1/responses", "api-key"),
        WireFormat::Responses => of("responses", "/v1/responses", "authorization"),
        WireFormat::Anthropic if name == "foundry" => of("anthropic", "/anthropic/v1/messages", "x-api-key"),
        WireFormat::Anthropic if name == "bedrock" => of("anthropic", "/anthropic/v1/messages", "authorization"),
        WireFormat::Anthropic => of("anthropic", "/v1/messages", "x-api-key"),
        WireFormat::AnthropicVertex => Expected {
            answer: "anthropic",
            path: "/v1/projects/my-shop-7/locations/europe-west1/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict",
            header: "authorization",
            has_model: false,
        },
        WireFormat::Gemini => Expected {
            answer: "gemini",
            path: "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
            header: "x-goog-api-key",
            has_model: false,
        },
    }
}

#[tokio::test]
async fn every_row_answers_over_its_own_wire_format() {
    for row in ProviderTable::default().rows() {
        let found = endpoint(&row.name, row.key_env.as_deref());
        let home = found.endpoint.base.clone();
        let Expected { answer, path, header, has_model } = expected(&row.name, row.wire);
        let server = Server::start(Reply::events(fixture(&format!("{answer}_tools.sse")))).await;
        // The server stands where the service's own host would; the path is the row's.
        let mut base: reqwest::Url = server.base.parse().expect("an address");
        base.set_path(home.path());
        let endpoint = Endpoint { base, ..found.endpoint };
        let (provider, model) = connect(ModelEndpoint { endpoint, ..found }, &RateLimiters::default());
        let asked =
            belvedere::provider::Request { model: model.id.clone(), ..request(vec![Message::user("Hi")], &["Read"]) };
        let stream = provider.stream(asked).await.unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let answer = fold(stream.map(|event| event.expect("an event")).collect::<Vec<_>>().await);
        assert_eq!((answer.calls.len(), answer.stop), (2, Some(StopReason::ToolUse)), "{}", row.name);
        let seen = &server.seen()[0];
        assert!(seen.path.ends_with(path), "{}: {}", row.name, seen.path);
        let value = seen.headers.get(header).unwrap_or_else(|| panic!("{}: no {header}", row.name));
        let value = value.to_str().expect("text").trim_start_matches("Bearer ");
        assert_eq!(value, KEY, "{}", row.name);
        let keys = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
        assert_eq!(keys.iter().filter(|name| seen.headers.contains_key(**name)).count(), 1, "{}", row.name);
        let body: Value = serde_json::from_str(&seen.body).expect("JSON");
        assert_eq!(body.get("model").is_some(), has_model, "{}", row.name);
        if row.name == "vertex" {
            assert_eq!(body["anthropic_version"], json!("vertex-2023-10-16"));
            assert!(!seen.headers.contains_key("anthropic-version"));
        }
    }
}

#[test]
fn words_of_an_address_are_filled_in_and_lead_to_no_other_domain() {
    let base = |name: &str, set: &[(&str, &str)]| match chosen(name, set)? {
        ModelChoice::Connect(chosen) => Ok(chosen.endpoint.base.to_string()),
        other => Err(format!("{other:?}")),
    };
    let bedrock = ("AWS_BEARER_TOKEN_BEDROCK", "b");
    let at = |region| base("bedrock", &[bedrock, ("AWS_REGION", region)]);
    assert_eq!(at("us-east-1"), Ok("https://bedrock-runtime.us-east-1.amazonaws.com/anthropic".to_owned()));
    for evil in ["evil.example/", "a@evil.example", "us.evil", "..", "x y", "%2e", "us-east-1:80", "é"] {
        let error = at(evil).expect_err(evil);
        assert!(error.starts_with("AWS_REGION is not"), "{error}");
    }
    let error = base("bedrock", &[bedrock]).expect_err("no region");
    assert!(error.starts_with("bedrock needs to know where it is: set AWS_REGION"), "{error}");
    let vertex = [("CLOUDSDK_AUTH_ACCESS_TOKEN", "t"), ("ANTHROPIC_VERTEX_PROJECT_ID", "shop")];
    let at = |region| base("vertex", &[vertex[0], vertex[1], ("CLOUD_ML_REGION", region)]);
    assert_eq!(at("global"), Ok("https://aiplatform.googleapis.com/v1/projects/shop/locations/global".to_owned()));
    let regional = "https://us-east5-aiplatform.googleapis.com/v1/projects/shop/locations/us-east5";
    assert_eq!(at("us-east5"), Ok(regional.to_owned()));
    let azure = ("AZURE_OPENAI_API_KEY", "a");
    let shop = Ok("https://shop.openai.azure.com/openai/v1".to_owned());
    assert_eq!(base("azure", &[azure, ("AZURE_RESOURCE_NAME", "shop")]), shop);
    for place in [
        "https://shop.openai.azure.com",
        "https://shop.openai.azure.com/openai/v1/",
        "https://shop.openai.azure.com/openai/v1",
    ] {
        assert_eq!(base("azure", &[azure, ("AZURE_OPENAI_ENDPOINT", place)]), shop, "{place}");
    }
    // A key alone makes nobody's choice fail.
    let unasked = choose(&ModelPreferences { env: env(&[bedrock, azure]), ..ModelPreferences::default() });
    assert!(matches!(unasked, Ok(ModelChoice::Probe { .. })), "{unasked:?}");
}

#[test]
fn models_of_a_service_are_known_where_they_are_served_by_another() {
    use belvedere::message::Effort;
    use belvedere::provider::model::{lookup, resolve};
    let table = ProviderTable::default();
    let row = |name: &str| table.get(name).expect("a row");
    let model = lookup(row("bedrock"), "eu.anthropic.claude-opus-5-5-v1:0");
    assert_eq!((model.context_window, model.max_effort, model.price), (Some(1_000_000), Some(Effort::Max), None));
    assert_eq!(lookup(row("vertex"), "claude-haiku-4-5@20251001").context_window, Some(200_000));
    let id = |service: &str, wish: &str| resolve(&table, row(service), wish).map(|model| model.id);
    assert_eq!(id("bedrock", "haiku").as_deref(), Some("global.anthropic.claude-haiku-5-5"));
    assert_eq!(id("vertex", "claude-haiku-5-5").as_deref(), Some("claude-haiku-5-5"));
    assert_eq!(id("azure", "gpt-5-mini").as_deref(), Some("gpt-5-mini"));
    assert_eq!(id("vertex", "gpt-5-mini"), None);
}
