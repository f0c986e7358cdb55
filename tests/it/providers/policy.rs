//! Pure policy: the catalog of models, and when to send again.

use std::time::Duration;

use belvedere::message::Effort;
use belvedere::provider::model::{self, DEFAULT_OUTPUT};
use belvedere::provider::retry::{self, RetryState};
use belvedere::provider::table::ProviderTable;
use belvedere::provider::{ErrorKind, Model, Price, ProviderError};

use super::row;

fn lookup(provider: &str, id: &str) -> Model {
    model::lookup(&row(provider), id)
}

#[test]
fn every_alias_and_default_leads_to_a_model_with_sizes_and_a_price() {
    let mut count = 0;
    for name in model::aliases() {
        let (provider, id) = model::alias(name).expect("an alias");
        let found = lookup(provider, name);
        assert_eq!(found.id, id);
        assert!(found.price.is_some() && found.context_window.is_some(), "{name}: {found:?}");
        assert_eq!(model::home_of(id), Some(provider));
        count += 1;
    }
    assert!(count >= 6);
    for provider in ["anthropic", "openai", "openrouter", "deepseek"] {
        assert!(row(provider).model.is_some(), "{provider}");
    }
}

#[test]
fn the_longest_prefix_wins_and_the_rest_has_sane_sizes() {
    assert_eq!(lookup("anthropic", "claude-sonnet-4-5-20250929").display, "sonnet 4.5");
    assert_eq!(lookup("anthropic", "claude-sonnet-4-20250514").display, "sonnet 4");
    assert_eq!(lookup("openai", "gpt-5-mini-2025-08-07").price.map(|price| price.input), Some(0.25));
    let unknown = lookup("ollama", "qwen3:8b");
    assert_eq!((unknown.id.as_str(), unknown.display.as_str()), ("qwen3:8b", "qwen3:8b"));
    assert_eq!((unknown.max_output_tokens, unknown.context_window), (DEFAULT_OUTPUT, None));
    assert_eq!(unknown.price, Some(Price::FREE), "nobody is paid for what runs on one's own machine");
    assert_eq!(Model::built_in("offline").price, Some(Price::FREE));
    assert_eq!(lookup("ollama", "gpt-oss:120b-cloud").price, None, "this runs elsewhere");
    assert_eq!(lookup("openai", "gpt-99").price, None);
    for (id, context, output) in
        [("gpt-4-0613", 8_192, 4_096), ("gpt-4o", 128_000, 16_384), ("gpt-6-sol", 1_050_000, 32_000)]
    {
        let known = lookup("openai", id);
        assert_eq!((known.context_window, known.max_output_tokens), (Some(context), output), "{id}");
    }
    // The same model elsewhere has the same size, but not the same price.
    let resold = lookup("openrouter", "anthropic/claude-sonnet-4.5");
    assert_eq!((resold.display.as_str(), resold.context_window, resold.price), ("sonnet 4.5", Some(200_000), None));
}

#[test]
fn a_wish_of_an_agent_file_is_served_by_the_present_provider_or_not_at_all() {
    let id = |provider: &str, wish: &str| {
        model::resolve(&ProviderTable::default(), &row(provider), wish).map(|model| model.id)
    };
    assert_eq!(id("anthropic", "Haiku").as_deref(), Some("claude-haiku-5-5"));
    assert_eq!(id("anthropic", "fable").as_deref(), Some("claude-fable-5-2"));
    assert_eq!(id("anthropic", "anthropic/haiku").as_deref(), Some("claude-haiku-5-5"));
    assert_eq!(id("anthropic", "sonnet[1m]").as_deref(), Some("claude-sonnet-5-5"));
    assert_eq!(id("anthropic", "openai/gpt-5"), None);
    assert_eq!(id("ollama", "fable"), None);
    assert_eq!(id("openrouter", "anthropic/claude-opus-5.5").as_deref(), Some("anthropic/claude-opus-5.5"));
    assert_eq!(id("anthropic", "claude-opus-4-5-20251101").as_deref(), Some("claude-opus-4-5-20251101"));
    // Documented words, and ids that are no longer served.
    assert_eq!(id("anthropic", "best").as_deref(), Some("claude-opus-5-5"));
    assert_eq!(id("anthropic", "opusplan").as_deref(), Some("claude-sonnet-5-5"));
    assert_eq!(id("openai", "opusplan").as_deref(), id("openai", "sonnet").as_deref());
    assert_eq!(id("anthropic", "claude-opus-4-20250514").as_deref(), Some("claude-opus-5-5"));
    assert_eq!(id("anthropic", "claude-opus-4-1-20250805").as_deref(), Some("claude-opus-5-5"));
    // What begins as no model of the service does is junk there, and anything elsewhere.
    assert_eq!((id("anthropic", "wibble-9"), id("anthropic", "glm-4.5"), id("openai", "wibble-9")), (None, None, None));
    assert_eq!(id("openai", "ft:gpt-4o:me").as_deref(), Some("ft:gpt-4o:me"));
    assert_eq!(id("ollama", "wibble-9").as_deref(), Some("wibble-9"));
    // Every service has its own models of these sizes; a local one has what its owner has set up.
    assert_eq!(id("openai", "haiku").as_deref(), Some("gpt-5-mini"));
    assert_eq!(id("openai", "Quick").as_deref(), Some("gpt-5-mini"));
    assert_eq!(id("openai", "opus").as_deref(), Some("gpt-5.2"));
    assert_eq!(id("deepseek", "fable").as_deref(), Some("deepseek-v4-pro"));
    assert_eq!(id("openrouter", "sonnet").as_deref(), Some("anthropic/claude-sonnet-5.5"));
    assert_eq!(id("anthropic", "gpt"), None);
    assert_eq!(id("openai", "claude-opus-4-20250514"), None);
    assert_eq!(id("ollama", "haiku"), None);
    assert_eq!(id("ollama", "deepseek-r1:8b").as_deref(), Some("deepseek-r1:8b"));
    assert_eq!(id("anthropic", " "), None);
}

#[test]
fn an_effort_is_the_highest_that_the_model_takes_and_no_more_than_was_asked_for() {
    let effort = |id: &str, wish: Effort| lookup("anthropic", id).effort(wish);
    for model in ["claude-opus-4-6", "claude-sonnet-4-6"] {
        assert_eq!((effort(model, Effort::Max), effort(model, Effort::XHigh)), (Some(Effort::Max), Some(Effort::High)));
    }
    assert_eq!(effort("claude-opus-4-7", Effort::XHigh), Some(Effort::XHigh));
    assert_eq!(effort("claude-opus-4-5", Effort::Max), Some(Effort::High));
    assert_eq!(effort("claude-haiku-5-5", Effort::High), Some(Effort::High));
    assert_eq!(effort("claude-sonnet-4-5", Effort::Max), Some(Effort::Max), "as a number of tokens");
    assert_eq!(effort("claude-3-5-haiku", Effort::High), None);
}

fn network() -> ProviderError {
    ProviderError::new(ErrorKind::Network, "p", "d")
}

fn limited(seconds: u64) -> ProviderError {
    ProviderError::new(ErrorKind::RateLimit, "p", "d").after(Some(Duration::from_secs(seconds)))
}

fn tried(attempt: u32) -> RetryState {
    RetryState { attempt, alike: attempt, refusals: attempt, lasted: Duration::ZERO, failing_for: Duration::ZERO }
}

#[test]
fn waits_double_up_to_a_cap_and_end() {
    let seconds: Vec<_> =
        (1..=6).map(|attempt| retry::delay(&network(), &tried(attempt), 0.0).map(|wait| wait.as_secs())).collect();
    assert_eq!(seconds, [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
    assert_eq!(retry::delay(&network(), &tried(1), 1.0), Some(Duration::from_millis(500)));
    assert_eq!(retry::delay(&network(), &tried(1), f64::NAN), Some(Duration::from_secs(1)));
    assert_eq!(retry::delay(&network(), &tried(0), 0.0), Some(Duration::from_secs(1)));
}

#[test]
fn a_server_is_never_asked_earlier_than_it_wishes() {
    assert_eq!(retry::delay(&limited(7), &tried(1), 0.0), Some(Duration::from_secs(7)));
    assert!(retry::delay(&limited(600), &tried(1), 1.0) >= Some(Duration::from_mins(10)));
    assert_eq!(retry::delay(&limited(601), &tried(1), 0.0), None);
    assert_eq!(retry::delay(&limited(0), &tried(3), 0.0), Some(Duration::from_secs(4)), "no wait is no advice");
    // A wait of next to nothing grows with each refusal: no server is asked a hundred times a second, whatever it says.
    let soon = |millis| ProviderError::new(ErrorKind::RateLimit, "p", "d").after(Some(Duration::from_millis(millis)));
    assert_eq!(retry::delay(&soon(1), &tried(1), 0.0), Some(Duration::from_millis(50)));
    assert_eq!(retry::delay(&soon(1), &tried(3), 0.0), Some(Duration::from_millis(200)));
    assert_eq!(retry::delay(&soon(1), &tried(7), 0.0), Some(Duration::from_secs(30)));
    assert_eq!(retry::delay(&soon(500), &tried(3), 0.0), Some(Duration::from_millis(500)));
    for millis in [0, 1, 499, 500, 1_000] {
        let minute: Duration = (1..=20).filter_map(|attempt| retry::delay(&soon(millis), &tried(attempt), 1.0)).sum();
        assert!(minute >= Duration::from_mins(1), "20 attempts in {minute:?} at {millis} ms");
    }
    let lasting = ProviderError::new(ErrorKind::BadRequest, "p", "d");
    assert_eq!(retry::delay(&lasting, &tried(1), 0.0), None);
}

#[test]
fn a_rate_limit_is_borne_as_long_as_the_service_answers_anybody_and_never_for_ever() {
    let seconds = Duration::from_secs;
    let wait = |attempt, refusals, lasted, failing_for| {
        let trial =
            RetryState { attempt, alike: 1, refusals, lasted: seconds(lasted), failing_for: seconds(failing_for) };
        retry::delay(&limited(7), &trial, 0.0)
    };
    assert_eq!(wait(100, 1, 2_000, 10), Some(seconds(7)), "others are answered");
    assert_eq!(wait(7, 7, 60, 60), Some(seconds(7)), "it has not been long");
    assert_eq!(wait(2, 2, 1_300, 1_300), Some(seconds(7)), "two long waits are no proof");
    assert_eq!(wait(7, 7, 300, 300), None, "nobody is answered");
    assert_eq!(wait(1, 9, 300, 900), None, "it waited in vain while others were refused");
    assert_eq!(wait(1, 9, 10, 900), Some(seconds(7)), "it has just come");
    assert_eq!(wait(100, 1, 3_600, 0), None);
}

#[test]
fn a_server_that_breaks_down_in_the_same_words_is_asked_three_times() {
    let broke = ProviderError::new(ErrorKind::Internal, "p", "HTTP 500");
    let waits = |error: &ProviderError, alike| retry::delay(error, &RetryState { alike, ..tried(4) }, 0.0).is_some();
    assert_eq!([1, 2, 3].map(|alike| waits(&broke, alike)), [true, true, false]);
    assert!(waits(&network(), 4), "a lost connection has always the same words");
    assert_eq!(retry::pause_for_all(&broke, Some(Duration::from_secs(4))), None, "it may be this request alone");
}

#[test]
fn a_refusal_holds_all_agents_up_and_a_lost_connection_none() {
    let seconds = Duration::from_secs;
    let overloaded = |retry_after| ProviderError::new(ErrorKind::Overloaded, "p", "d").after(retry_after);
    let pause = |error, delay| retry::pause_for_all(&error, Some(seconds(delay)));
    assert_eq!(pause(limited(7), 7), Some(seconds(7)));
    assert_eq!(pause(overloaded(Some(seconds(5))), 5), Some(seconds(5)));
    assert_eq!(pause(overloaded(None), 16), Some(seconds(1)), "it may be this request alone");
    assert_eq!(pause(network(), 4), None);
}
