//! Who answers, by flag, config and environment.

use belvedere::message::WireFormat;
use belvedere::provider::Credential;
use belvedere::provider::choice::{ChoiceError, ModelChoice, ModelEndpoint, ModelPreferences, choose, connect};
use belvedere::provider::rate_limiter::RateLimiters;
use belvedere::provider::table::{ProviderEnv, ProviderTable};

fn env(set: &[(&str, &str)]) -> ProviderEnv {
    env_of(ProviderTable::default(), set)
}

fn env_of(table: ProviderTable, set: &[(&str, &str)]) -> ProviderEnv {
    ProviderEnv::new(table, |variable| {
        set.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned())
    })
}

/// Says a choice in one line.
fn say(choice: Result<ModelChoice, ChoiceError>) -> String {
    match choice {
        Ok(ModelChoice::Connect(ModelEndpoint { endpoint, model, .. })) => {
            let key = match (endpoint.provider.wire, endpoint.credential) {
                (_, Credential::None) => "none",
                (WireFormat::Anthropic | WireFormat::Gemini, Credential::Key(_) | Credential::Fetched(_)) => "key",
                (WireFormat::Anthropic | WireFormat::Gemini, Credential::Token(_)) => "token",
                (WireFormat::OpenAi | WireFormat::Responses | WireFormat::AnthropicVertex, _) => "bearer",
            };
            let provider = &endpoint.provider.name;
            format!("{provider}/{model} at {} with {key}", endpoint.base.as_str().trim_end_matches('/'))
        }
        Ok(ModelChoice::Probe { endpoints, model, wish, .. }) => {
            let names: Vec<_> = endpoints.into_iter().map(|endpoint| endpoint.provider.name.clone()).collect();
            format!(
                "probe {} for {} asked {}",
                names.join(" "),
                model.as_deref().unwrap_or("any"),
                wish.as_deref().unwrap_or("nothing")
            )
        }
        Ok(ModelChoice::Offline) => "offline".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn wish(flag: &str, set: &[(&str, &str)]) -> String {
    say(choose(&ModelPreferences {
        flag: Some(flag.to_owned()),
        config: Some("offline".to_owned()),
        settings: None,
        env: env(set),
    }))
}

const CLAUDE: (&str, &str) = ("ANTHROPIC_API_KEY", "a");
const GPT: (&str, &str) = ("OPENAI_API_KEY", "o");
const LOCAL: (&str, &str) = ("OPENAI_BASE_URL", "http://localhost:8000");

#[test]
fn flag_then_config_then_key_then_local_server() {
    let all = [CLAUDE, GPT];
    let by = |flag: Option<&str>, config: Option<&str>, set: &[(&str, &str)]| {
        say(choose(&ModelPreferences {
            flag: flag.map(str::to_owned),
            config: config.map(str::to_owned),
            settings: None,
            env: env(set),
        }))
    };
    assert_eq!(by(Some("offline/any"), Some("sonnet"), &all), "offline");
    assert_eq!(by(None, Some("gpt"), &all), "openai/gpt-5.2 at https://api.openai.com/v1 with bearer");
    assert_eq!(by(Some(" "), None, &all), "anthropic/claude-sonnet-5-5 at https://api.anthropic.com with key");
    assert_eq!(by(None, None, &[GPT]), "openai/gpt-5.2 at https://api.openai.com/v1 with bearer");
    assert_eq!(
        by(None, None, &[("OPENROUTER_API_KEY", "r")]),
        "openrouter/anthropic/claude-sonnet-5.5 at https://openrouter.ai/api/v1 with bearer"
    );
    assert_eq!(
        by(None, None, &[("DEEPSEEK_API_KEY", "d")]),
        "deepseek/deepseek-flash at https://api.deepseek.com with bearer"
    );
    assert_eq!(by(None, None, &[LOCAL]), "probe openai for any asked OPENAI_BASE_URL (http://localhost:8000/)");
    assert_eq!(by(None, None, &[]), "probe ollama lmstudio llamacpp vllm sglang for any asked nothing");
}

#[test]
fn models_are_named_in_full_by_alias_or_by_id() {
    let claude = "at https://api.anthropic.com with key";
    assert_eq!(wish("haiku", &[CLAUDE, GPT]), format!("anthropic/claude-haiku-5-5 {claude}"));
    assert_eq!(wish("anthropic/opus", &[CLAUDE]), format!("anthropic/claude-opus-5-5 {claude}"));
    assert_eq!(wish("Anthropic", &[CLAUDE]), format!("anthropic/claude-sonnet-5-5 {claude}"));
    assert_eq!(wish("claude-new", &[CLAUDE]), format!("anthropic/claude-new {claude}"));
    assert_eq!(wish("gpt-9", &[GPT]), "openai/gpt-9 at https://api.openai.com/v1 with bearer");
    assert_eq!(wish("ollama/qwen3:8b", &[]), "ollama/qwen3:8b at http://127.0.0.1:11434/v1 with none");
    assert_eq!(wish("lmstudio/org/model", &[]), "lmstudio/org/model at http://127.0.0.1:1234/v1 with none");
    let keyed = [("LLAMACPP_API_KEY", "k"), ("LMSTUDIO_API_KEY", "k"), ("OLLAMA_API_KEY", "k")];
    assert_eq!(wish("llamacpp/any", &keyed), "llamacpp/any at http://127.0.0.1:8080/v1 with bearer");
    assert_eq!(wish("lmstudio/any", &keyed), "lmstudio/any at http://127.0.0.1:1234/v1 with bearer");
    assert_eq!(wish("ollama/any", &keyed), "ollama/any at http://127.0.0.1:11434/v1 with bearer");
    assert_eq!(wish("ollama/any", &[GPT]), "ollama/any at http://127.0.0.1:11434/v1 with none");
    let with_others = [LOCAL, keyed[0], keyed[1], keyed[2]];
    assert_eq!(wish("qwen3", &with_others), "openai/qwen3 at http://localhost:8000 with none", "each its own server's");
    assert_eq!(wish("llamacpp", &[CLAUDE]), "probe llamacpp for any asked llamacpp");
    assert_eq!(
        wish("qwen/qwen3", &[("OPENROUTER_API_KEY", "r")]),
        "openrouter/qwen/qwen3 at https://openrouter.ai/api/v1 with bearer"
    );
    assert_eq!(wish("qwen3", &[CLAUDE]), "probe ollama lmstudio llamacpp vllm sglang for qwen3 asked qwen3");
}

#[test]
fn base_urls_and_tokens_are_obeyed() {
    assert_eq!(wish("qwen3", &[LOCAL]), "openai/qwen3 at http://localhost:8000 with none");
    assert_eq!(wish("claude-x", &[LOCAL]), "openai/claude-x at http://localhost:8000 with none");
    assert_eq!(wish("openai", &[LOCAL, GPT]), "probe openai for any asked openai");
    assert_eq!(
        wish("openai", &[("OPENAI_BASE_URL", "https://gate.example/v1"), GPT]),
        "openai/gpt-5.2 at https://gate.example/v1 with bearer"
    );
    let gate = ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/x/");
    assert_eq!(wish("sonnet", &[gate]), "anthropic/claude-sonnet-5-5 at http://127.0.0.1:9/x with none");
    let token = ("ANTHROPIC_AUTH_TOKEN", "t");
    assert_eq!(wish("sonnet", &[gate, token]), "anthropic/claude-sonnet-5-5 at http://127.0.0.1:9/x with token");
}

#[test]
fn ollama_is_looked_for_where_its_own_variable_says() {
    for (host, base) in [
        ("box", "http://box:11434/v1"),
        ("box:80", "http://box/v1"),
        (" 0.0.0.0 ", "http://127.0.0.1:11434/v1"),
        (":9000", "http://127.0.0.1:9000/v1"),
        ("[::]:9000", "http://[::1]:9000/v1"),
        ("::1", "http://[::1]:11434/v1"),
        ("http://box", "http://box/v1"),
        ("https://box.example/ollama/", "https://box.example/ollama/v1"),
        ("ftp://box", "http://127.0.0.1:11434/v1"),
        ("a b", "http://127.0.0.1:11434/v1"),
    ] {
        assert_eq!(
            wish("ollama/qwen3", &[("OLLAMA_HOST", host)]),
            format!("ollama/qwen3 at {base} with none"),
            "{host}"
        );
        let Ok(ModelChoice::Probe { endpoints, .. }) =
            choose(&ModelPreferences { env: env(&[("OLLAMA_HOST", host)]), ..ModelPreferences::default() })
        else {
            panic!("nothing is configured")
        };
        assert_eq!((endpoints[0].provider.name.as_str(), endpoints[0].base.as_str()), ("ollama", base));
        assert_eq!(endpoints.len(), 5);
    }
}

#[test]
fn what_other_settings_name_counts_where_its_service_is_at_hand() {
    let by = |config: Option<&str>, settings: &str, set: &[(&str, &str)]| {
        let config = config.map(str::to_owned);
        say(choose(&ModelPreferences { flag: None, config, settings: Some(settings.to_owned()), env: env(set) }))
    };
    assert!(by(None, "opus", &[CLAUDE]).starts_with("anthropic/claude-opus"), "{}", by(None, "opus", &[CLAUDE]));
    for (settings, set, expected) in
        [("opus", GPT, "openai/gpt-5.2"), ("default", CLAUDE, "anthropic/claude-sonnet"), ("", CLAUDE, "anthropic/")]
    {
        assert!(by(None, settings, &[set]).starts_with(expected), "{settings}: {}", by(None, settings, &[set]));
    }
    assert!(by(Some("haiku"), "opus", &[CLAUDE]).starts_with("anthropic/claude-haiku"));
}

#[test]
fn an_address_is_shown_without_its_password() {
    let words = say(choose(&ModelPreferences {
        env: env(&[("OPENAI_BASE_URL", "http://me:hush@localhost:8000/v1?key=hush")]),
        ..ModelPreferences::default()
    }));
    assert!(words.contains("http://localhost:8000/v1") && !words.contains("hush"), "{words}");
    let words = wish("openai/x", &[("OPENAI_BASE_URL", "ftp://me:hush@host/v1")]);
    assert!(words.contains("host/v1") && !words.contains("hush"), "{words}");
}

#[test]
fn what_is_missing_is_named() {
    for (name, variable) in [
        ("sonnet", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("openrouter/x/y", "OPENROUTER_API_KEY"),
        ("deepseek", "DEEPSEEK_API_KEY"),
    ] {
        let words = wish(name, &[]);
        assert!(words.contains(variable) && words.contains("PROVIDER/NAME") && words.contains("sonnet"), "{words}");
    }
    for bad in ["localhost:8000", "file:///etc/passwd", "nonsense"] {
        let words = wish("openai/x", &[("OPENAI_BASE_URL", bad)]);
        assert!(words.contains("OPENAI_BASE_URL") && words.contains(bad), "{words}");
    }
}

#[test]
fn connecting_makes_a_provider_that_knows_its_name_and_model() {
    for (flag, name, display) in [("haiku", "anthropic", "haiku 5.5"), ("ollama/qwen3", "ollama", "qwen3")] {
        let wishes = ModelPreferences {
            flag: Some(flag.to_owned()),
            env: env(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")]),
            ..ModelPreferences::default()
        };
        let Ok(ModelChoice::Connect(endpoint)) = choose(&wishes) else { panic!("{flag} needs no search") };
        let (provider, model) = connect(endpoint, &RateLimiters::default());
        assert_eq!((provider.name(), model.display.as_str()), (name, display));
    }
}

#[test]
fn a_name_that_is_nearly_known_is_asked_back() {
    let words = |wish: &str| ChoiceError::no_server(wish.to_owned(), &ProviderTable::default()).to_string();
    assert!(words("sonet").starts_with("No model \"sonet\"; did you mean sonnet?"), "{}", words("sonet"));
    assert!(words("anthropc/opus").contains("did you mean anthropic/opus?"), "{}", words("anthropc/opus"));
    assert!(words("oflin").contains("did you mean offline?"), "{}", words("oflin"));
    for other in ["qwen3", "mistral", "org/model", "sonnet"] {
        let words = words(other);
        assert!(!words.contains("did you mean") && words.len() < 200, "{words}");
    }
}

#[test]
fn a_gateway_on_this_machine_has_no_price_that_is_known() {
    for (flag, set, price_is_known) in [
        ("sonnet", ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"), false),
        ("openai/gpt-5", ("OPENAI_BASE_URL", "http://localhost:9/v1"), false),
        ("openai/gpt-5", ("OPENAI_API_KEY", "k"), true),
        ("ollama/qwen3", ("OPENAI_API_KEY", "k"), true),
    ] {
        let env = env(&[set]);
        let wishes = ModelPreferences { flag: Some(flag.to_owned()), config: None, settings: None, env: env.clone() };
        let Ok(ModelChoice::Connect(endpoint)) = choose(&wishes) else { panic!("{flag} needs no search") };
        assert_eq!(env.is_behind_gateway(&endpoint.endpoint.provider.name), !price_is_known);
        let (_, model) = connect(endpoint, &RateLimiters::default());
        assert_eq!(model.price.is_some(), price_is_known, "{flag} {set:?}");
    }
}

#[test]
fn keys_are_never_printed() {
    let wishes =
        ModelPreferences { flag: None, config: None, settings: None, env: env(&[("ANTHROPIC_API_KEY", "sk-secret")]) };
    let words = format!("{wishes:?} {:?}", choose(&wishes));
    assert!(words.contains("***") && !words.contains("sk-secret"), "{words}");
}
