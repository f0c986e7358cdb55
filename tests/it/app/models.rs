//! Choosing a model inside: a list of what the services offer, and names.

use belvedere::agent::{EventKind, SessionEvent, TurnEvent};
use belvedere::app::{Effect, Event};
use belvedere::message::{AgentId, AssistantMessage, Effort, Usage};
use belvedere::provider::Price;
use belvedere::provider::offer::OfferedModel;
use belvedere::subagent::Command;

use crate::screens::stage::Stage;

fn model(provider: &str, id: &str, display: &str, price: Option<(f64, f64)>) -> OfferedModel {
    let price = price.map(|(input, output)| Price { input, output, ..Price::FREE });
    OfferedModel {
        provider: provider.to_owned(),
        id: id.to_owned(),
        display: display.to_owned(),
        context_window: Some(200_000),
        price,
        is_listed: true,
    }
}

fn offered(stage: &mut Stage) {
    let models = vec![
        model("anthropic", "claude-opus-5-5", "opus 5.5", Some((4.0, 20.0))),
        model("anthropic", "claude-sonnet-5-5", "sonnet", Some((2.0, 10.0))),
        model("openai", "gpt-5-mini", "gpt-5-mini", None),
    ];
    stage.event(Event::ModelsListed { models, is_whole: true });
}

fn used(effects: &[Effect]) -> Vec<(AgentId, &str)> {
    let used = |effect| match effect {
        &Effect::Command(Command::UseModel { agent, ref name }) => Some((agent, name.as_str())),
        _ => None,
    };
    effects.iter().filter_map(used).collect()
}

#[test]
fn the_list_shows_what_services_offer_and_one_is_chosen() {
    for keys in ["/model<enter>", "<alt+p>"] {
        let mut stage = Stage::new(120, 30).with_model();
        let effects = stage.keys(keys);
        assert!(effects.contains(&Effect::ListModels), "{effects:?}");
        offered(&mut stage);
        let text = stage.text();
        assert!(text.contains("now sonnet (anthropic)"), "{text}");
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(row("claude-opus-5-5").contains("200k ctx  $4 in · $20 out"), "{text}");
        assert!(row("claude-sonnet-5-5").contains("now claude-sonnet"), "{text}");
        assert!(row("gpt-5-mini").contains("price unknown"), "{text}");
        let effects = stage.keys("opus<enter>");
        assert_eq!(used(&effects), [(AgentId::MAIN, "anthropic/claude-opus-5-5")]);
        stage.session(SessionEvent::ModelChosen {
            provider: "anthropic".to_owned(),
            id: "demo-1".to_owned(),
            display: "opus 5.5".to_owned(),
            context_window: Some(1_000_000),
            note: None,
        });
        assert!(
            stage.text().contains("model: opus 5.5 (anthropic), starting with the next message"),
            "{}",
            stage.text()
        );
    }
}

#[test]
fn a_name_that_is_not_listed_is_taken_as_typed() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("<alt+p>");
    offered(&mut stage);
    stage.keys("ollama/qwen3");
    assert!(stage.text().contains("enter uses the name as typed"), "{}", stage.text());
    let effects = stage.keys("<enter>");
    assert_eq!(used(&effects), [(AgentId::MAIN, "ollama/qwen3")]);
    // The name of a model holds a slash, and is no path that someone writes about.
    let effects = stage.keys("/model mine/large<enter>");
    assert_eq!(used(&effects), [(AgentId::MAIN, "mine/large")]);
    let effects = stage.keys("/usr/bin/model is gone, see /etc<enter>");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Command(Command::Send { .. }))), "{effects:?}");
}

#[test]
fn a_wrong_name_says_what_is_near_and_leaves_the_present_model() {
    let mut stage = Stage::new(120, 30).with_model();
    stage.keys("/model sonet<enter>");
    stage.session(SessionEvent::ModelSearch { place: "127.0.0.1:11434".to_owned() });
    stage.session(SessionEvent::NoModel { reason: "No model \"sonet\"; did you mean sonnet?".to_owned() });
    let text = stage.text();
    assert!(text.contains("did you mean sonnet?") && text.contains("still using sonnet"), "{text}");
    assert!(!text.contains("looking for") && !text.contains("no model  "), "{text}");
    stage.wait(5_000);
    let status = stage.text().lines().last().unwrap().to_owned();
    assert!(status.contains("sonnet") && !status.contains("no model"), "{status}");
}

#[test]
fn after_a_wrong_name_at_the_start_a_model_can_be_chosen() {
    let mut stage = Stage::new(120, 30);
    stage.session(SessionEvent::NoModel { reason: "No model \"sonet\"; did you mean sonnet?".to_owned() });
    let text = stage.text();
    assert!(text.contains("did you mean sonnet?") && !text.contains("looking for a model"), "{text}");
    stage.keys("/model<enter>");
    offered(&mut stage);
    assert!(stage.text().contains("No model connected."), "{}", stage.text());
    let effects = stage.keys("sonnet<enter>");
    assert_eq!(used(&effects), [(AgentId::MAIN, "anthropic/claude-sonnet-5-5")]);
}

#[test]
fn a_subagent_gets_another_model_for_its_next_run() {
    let mut stage = Stage::new(120, 30).with_model();
    stage.asks("work");
    stage.spawns(1, "explore", "Look around");
    stage.starts(1);
    let effects = stage.keys("/model 1 haiku<enter>");
    assert_eq!(used(&effects), [(AgentId(1), "haiku")]);
    assert!(stage.text().contains("explore-1: haiku starting with its next run"), "{}", stage.text());
    stage.keys("/model 7 haiku<enter>");
    assert!(stage.text().contains("usage: /model NAME, or /model N NAME"), "{}", stage.text());
}

#[test]
fn the_model_of_one_agent_is_chosen_from_the_list_in_its_pane() {
    let mut stage = Stage::new(120, 40).with_model();
    stage.asks("look around");
    stage.spawns(1, "explore", "Find it");
    stage.starts(1);
    for open in ["<alt+1><alt+p>", "<esc>/model 1<enter>", "<esc>/model explore-1<enter>"] {
        stage.keys(open);
        offered(&mut stage);
        assert!(stage.text().contains("model of explore-1, starting with its next run"), "{open}\n{}", stage.text());
        let effects = stage.keys("opus<enter>");
        assert_eq!(used(&effects), [(AgentId(1), "anthropic/claude-opus-5-5")], "{open}");
    }
    stage.keys("<esc><alt+p>");
    assert!(stage.text().contains("model · now"), "in the composer it is the main agent's\n{}", stage.text());
    let effects = stage.keys("gpt<enter>");
    assert_eq!(used(&effects), [(AgentId::MAIN, "openai/gpt-5-mini")]);
}

#[test]
fn a_model_that_has_answered_shows_how_fast() {
    let mut stage = Stage::new(120, 30).with_model();
    let replied = |latency_ms| {
        let (message, usage) = (AssistantMessage::default(), Usage::default());
        EventKind::Turn(TurnEvent::Ended { message, usage, cost_usd: None, stop: None, latency_ms })
    };
    let row = |stage: &mut Stage, name: &str| {
        stage.keys("/model<enter>");
        offered(stage);
        let text = stage.text();
        stage.keys("<esc>");
        text.lines().find(|line| line.contains(name)).unwrap().to_owned()
    };
    assert!(!row(&mut stage, "claude-sonnet-5-5").contains(" ms"));
    for (latency, shown) in [(Some(412), "412 ms"), (None, "412 ms"), (Some(1_300), "1,300 ms")] {
        stage.main(replied(latency));
        let sonnet = row(&mut stage, "claude-sonnet-5-5");
        assert!(sonnet.contains(shown) && sonnet.contains("$2 in"), "{sonnet}");
    }
    assert!(!row(&mut stage, "claude-opus-5-5").contains(" ms"));
}

fn efforts(effects: &[Effect]) -> Vec<Option<Effort>> {
    let chosen = |effect: &Effect| match effect {
        Effect::Command(Command::SetEffort(effort)) => Some(*effort),
        _ => None,
    };
    effects.iter().filter_map(chosen).collect()
}

#[test]
fn an_effort_is_chosen_from_a_list_or_by_name_and_shown_beside_the_model() {
    let mut stage = Stage::new(120, 30).with_model();
    stage.keys("/effort<enter>");
    let text = stage.text();
    assert!(text.contains("now default") && text.contains("low       fast and cheap"), "{text}");
    // The list begins at the present one, the last.
    assert_eq!(efforts(&stage.keys("<up><up><up><enter>")), [Some(Effort::High)]);
    let settled = |wish, sent| SessionEvent::EffortChosen { wish, sent };
    stage.session(settled(Some(Effort::High), Some(Effort::High)));
    let text = stage.text();
    assert!(text.contains("effort: high, starting with the next message"), "{text}");
    let status = text.lines().rfind(|line| line.contains("sonnet")).unwrap();
    assert!(status.contains("sonnet  high"), "{status}");
    stage.keys("/model<enter>");
    offered(&mut stage);
    assert!(stage.text().contains("now sonnet (anthropic), effort high"), "{}", stage.text());
    stage.keys("<esc>");
    assert_eq!(efforts(&stage.keys("/effort XHIGH<enter>")), [Some(Effort::XHigh)]);
    stage.session(settled(Some(Effort::XHigh), Some(Effort::High)));
    assert!(stage.text().contains("effort: high, as sonnet takes no xhigh"), "{}", stage.text());
    assert_eq!(efforts(&stage.keys("/effort auto<enter>")), [None]);
    stage.session(settled(None, None));
    assert!(stage.text().contains("effort: default"), "{}", stage.text());
    assert_eq!(efforts(&stage.keys("/effort max<enter>")), [Some(Effort::Max)]);
    stage.session(settled(Some(Effort::Max), None));
    assert!(stage.text().contains("effort: max, which sonnet is not told: it takes none"), "{}", stage.text());
    assert_eq!(efforts(&stage.keys("/effort much<enter>")), []);
    assert!(stage.text().contains("`much` is not an effort"), "{}", stage.text());
}
