//! What models know of skills, load, and have subagents carry out.

use std::sync::Arc;

use belvedere::agent::EventKind;
use belvedere::definition::skill::SkillLibrary;
use belvedere::definition::{AgentDefinition, Catalog, Source, Tier, parse};
use belvedere::message::{AgentId, Message, ResultPart};
use belvedere::permission::{Places, Rule, RuleEffect, RuleOrigin, RuleSet, ToolKind};
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::SessionSkills;
use serde_json::{Value, json};

use super::{Shelf, put};
use crate::agent::{agent, reply, script};
use crate::support::{Parts, Session};

struct Offering {
    session: Session,
    provider: Arc<Scripted>,
    library: SkillLibrary,
    shelf_home: tempfile::TempDir,
}

fn offering(files: &[(&str, &str)], plan: &[Value], change: impl FnOnce(&mut Parts)) -> Offering {
    let shelf = Shelf::with(files);
    let library = shelf.library("");
    let rest = reply(json!({}), vec![json!({"say": "done"})]);
    let provider = script(&[plan, &[rest]].concat());
    let mut parts = Parts::new(provider.clone());
    parts.skills = SessionSkills { catalog: library.catalog().clone(), session: "session-1".to_owned() };
    parts.folder = Some(shelf.project);
    change(&mut parts);
    Offering { session: Session::start(parts), provider, library, shelf_home: shelf.home }
}

/// Returns the description of the tool in a request, if it is offered.
fn offer(request: &Request) -> Option<String> {
    request.tools.iter().find(|tool| tool.name == "Skill").map(|tool| tool.description.clone())
}

fn results(request: &Request) -> Vec<(String, bool)> {
    let text = |parts: &[ResultPart]| -> String {
        parts.iter().map(|part| if let ResultPart::Text { text } = part { text.as_str() } else { "" }).collect()
    };
    let results = request.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults { results } => Some(results),
        _ => None,
    });
    results.flatten().map(|result| (text(&result.content), result.is_error)).collect()
}

fn call(skill: &str, args: &str) -> Value {
    json!({"call": "Skill", "input": {"skill": skill, "args": args}})
}

const FILES: [(&str, &str); 4] = [
    (
        "~/.claude/skills/tea/SKILL.md",
        "---\ndescription: Brews tea\nwhen_to_use: When someone is thirsty.\n---\nBoil $1.",
    ),
    (".claude/skills/cake/SKILL.md", "---\ndescription: Bakes <human>\n---\nBake."),
    (".claude/commands/mine.md", "---\ndescription: x\ndisable-model-invocation: true\n---\nMINE"),
    (".claude/skills/back/SKILL.md", "---\ndescription: Knows things\nuser-invocable: false\n---\nKnow."),
];

#[tokio::test]
async fn the_tool_names_what_models_may_load_and_its_result_is_the_text() {
    let plan = reply(json!({"turn": 0}), vec![call("tea", "water"), call("mine", ""), call("none", "")]);
    let Offering { mut session, provider, .. } = offering(&FILES, &[plan], |_| {});
    session.ask("go").await;
    session.quit().await;
    let requests = provider.requests();
    let offer = offer(&requests[0]).unwrap();
    assert!(offer.contains("- tea: Brews tea When someone is thirsty.\n"), "{offer}");
    let (own, foreign) = offer.split_once("<project_skills>\n").unwrap();
    assert!(own.contains("tea") && foreign.contains("- cake: Bakes ") && foreign.contains("- back: Knows things\n"));
    assert!(!offer.contains("<human>"), "{offer}");
    assert!(!offer.contains("mine") && !offer.contains("Boil") && !offer.contains("{{"), "{offer}");
    let results = results(&requests[1]);
    assert!(results[0].0.starts_with("<skill name=\"tea\" folder=\""), "{results:?}");
    assert!(results[0].0.ends_with("\">\nBoil water.\n</skill>") && !results[0].1, "{results:?}");
    assert!(results[1].0.contains("Only the user can call mine") && results[1].1, "{results:?}");
    assert!(results[2].0.contains("Available: tea, back, cake") && results[2].1, "{results:?}");
}

#[tokio::test]
async fn the_list_stays_as_it_was_and_changes_follow_as_news() {
    let Offering { mut session, provider, library, shelf_home } = offering(&FILES, &[], |_| {});
    session.ask("one").await;
    put(&shelf_home.path().join(".claude/skills/soup/SKILL.md"), "---\ndescription: Cooks soup\n---\nCook.");
    library.reload();
    session.ask("two").await;
    session.quit().await;
    let requests = provider.requests();
    assert_eq!(offer(&requests[0]), offer(&requests[1]), "the service need not read it anew");
    let last = requests[1].messages.iter().rev().find_map(|message| match &**message {
        Message::User { text } => Some(text.clone()),
        _ => None,
    });
    let news = last.unwrap();
    assert!(
        news.starts_with("The available skills have changed: 1 new or changed.") && news.contains("- soup: Cooks soup"),
        "{news}"
    );
}

#[tokio::test]
async fn the_list_is_bounded_and_names_the_rest() {
    let long = format!("---\ndescription: {}\n---\nBody", "word ".repeat(600));
    let names: Vec<String> = (0..12).map(|at| format!("~/.claude/skills/s{at:02}/SKILL.md")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), long.as_str())).collect();
    let Offering { mut session, provider, .. } = offering(&files, &[], |_| {});
    session.ask("go").await;
    session.quit().await;
    let offer = offer(&provider.requests()[0]).unwrap();
    assert!(offer.len() < 9_000, "one percent of 200,000 tokens: {}", offer.len());
    assert!(offer.contains("- More skills, by name: s05") && offer.contains("s11"), "{offer}");
}

fn ruleset(effect: RuleEffect, entry: &str) -> RuleSet {
    let places = Places { project: std::path::Path::new("/p"), home: None };
    let rule = Rule::parse(entry, places, |_| ToolKind::Other);
    RuleSet::default().with(effect, &RuleOrigin::Config, [rule])
}

#[tokio::test]
async fn rules_and_lists_of_tools_keep_skills_away() {
    for entry in ["Skill(tea)", "Skill(tea *)", "Skill(t*)"] {
        let plan = reply(json!({"turn": 0}), vec![call("tea", "")]);
        let Offering { mut session, provider, .. } =
            offering(&FILES, &[plan], |parts| parts.rules = ruleset(RuleEffect::Deny, entry));
        session.ask("go").await;
        session.quit().await;
        let requests = provider.requests();
        assert!(!offer(&requests[0]).unwrap().contains("tea"), "{entry}");
        assert!(results(&requests[1])[0].1, "{entry}");
    }
    let of = |head: &str| -> AgentDefinition {
        let text = format!("---\nname: kid\ndescription: d\n{head}\n---\nYou work.");
        parse(&text, Source { tier: Tier::UserClaude, path: None }).definition.unwrap()
    };
    for (head, has_tool) in
        [("", true), ("tools: Read, Skill", true), ("tools: Read", false), ("disallowedTools: Skill", false)]
    {
        let plan = reply(json!({"task": "go", "turn": 0}), vec![agent("kid", "kid-task")]);
        let Offering { mut session, provider, .. } =
            offering(&FILES, &[plan], |parts| parts.catalog = Catalog::of(vec![of(head)]));
        session.ask("go").await;
        session.quit().await;
        assert_eq!(offer(&provider.requests()[1]).is_some(), has_tool, "{head}");
    }
}

#[tokio::test]
async fn agent_files_have_the_texts_of_their_skills_in_their_prompts() {
    let text = "---\nname: kid\ndescription: d\nskills: [tea, none, mine]\n---\nYou work.";
    let kid = parse(text, Source { tier: Tier::UserClaude, path: None }).definition.unwrap();
    let plan = reply(json!({"task": "go", "turn": 0}), vec![agent("kid", "kid-task")]);
    let Offering { mut session, provider, .. } =
        offering(&FILES, &[plan], |parts| parts.catalog = Catalog::of(vec![kid]));
    session.ask("go").await;
    let notes: Vec<String> = session
        .seen
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Notice { text } => Some(text.clone()),
            _ => None,
        })
        .collect();
    session.quit().await;
    let system = provider.requests()[1].system.to_string();
    assert!(system.contains("You work.\n\n# Skills\n") && system.contains("\nBoil $1.\n</skill>"), "{system}");
    assert!(!system.contains("MINE"), "what only the user may call");
    assert!(notes.iter().filter(|note| note.contains("no skill `")).count() == 2, "{notes:?}");
}

const FORK: &str = "---\ndescription: Looks around\ncontext: fork\nagent: scout\neffort: low\nallowed-tools: Bash(touch:*)\n---\n\
                    Look at $1 and report.";

fn scouts(parts: &mut Parts) {
    let text = "---\nname: scout\ndescription: d\n---\nYou scout.";
    parts.catalog = Catalog::of(vec![parse(text, Source { tier: Tier::UserClaude, path: None }).definition.unwrap()]);
}

/// Returns the answers of the subagent that carries the skill out, which first makes a file.
fn scouting() -> [Value; 2] {
    [
        reply(
            json!({"task": "Look at", "turn": 0}),
            vec![json!({"call": "Bash", "input": {"command": "touch seen.txt"}})],
        ),
        reply(json!({"task": "Look at", "turn": 1}), vec![json!({"say": "<summary>All is well.</summary>"})]),
    ]
}

#[tokio::test]
async fn a_fork_runs_in_a_pane_of_its_own_and_only_its_report_comes_back() {
    for by_user in [true, false] {
        let plan = reply(json!({"task": "go", "turn": 0}), vec![call("look", "here")]);
        let plan = [&scouting()[..], &[plan]].concat();
        let files = [(".claude/skills/look/SKILL.md", FORK)];
        let Offering { mut session, provider, .. } = offering(&files, &plan, scouts);
        session.ask(if by_user { "/look here" } else { "go" }).await;
        let spawned: Vec<_> = session
            .seen
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Spawned(spawn) => {
                    Some((spawn.agent_type.clone(), spawn.description.clone(), spawn.prompt.clone()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(spawned, [("scout".to_owned(), "/look".to_owned(), "Look at here and report.".to_owned())]);
        assert!(session.root().join("seen.txt").exists(), "allowed in advance for the subagent: nobody was asked");
        session.quit().await;
        let requests = provider.requests();
        let child: Vec<&Request> = requests.iter().filter(|request| request.system.starts_with("You scout.")).collect();
        assert_eq!(child.len(), 2);
        let main = requests.last().unwrap();
        let back = if by_user {
            main.messages.iter().map(|message| format!("{message:?}")).collect::<String>()
        } else {
            results(main)[0].0.clone()
        };
        assert!(back.contains("All is well.") && back.contains("agent: scout-1 (scout)"), "{back}");
        assert!(!back.contains("touch seen.txt"), "its calls stay with it: {back}");
    }
}

#[tokio::test]
async fn a_fork_that_cannot_be_is_said() {
    let files = [(".claude/skills/look/SKILL.md", "---\ncontext: fork\nagent: nobody\n---\nLook.")];
    let Offering { mut session, provider, .. } = offering(&files, &[], scouts);
    session.ask("/look").await;
    assert_eq!(session.seen.iter().filter(|event| event.agent != AgentId::MAIN).count(), 0);
    session.quit().await;
    let said = provider.requests()[0].messages.iter().map(|message| format!("{message:?}")).collect::<String>();
    assert!(said.contains("Skill /look: not carried out") && said.contains("nobody"), "{said}");
}

#[tokio::test]
async fn model_and_effort_hold_while_the_message_is_answered() {
    let files = [
        ("~/.claude/commands/quick.md", "---\nmodel: small\neffort: low\n---\nBe quick."),
        ("~/.claude/commands/lost.md", "---\nmodel: missing\n---\nBe quick."),
    ];
    let Offering { mut session, provider, .. } = offering(&files, &[], |_| {});
    session.ask("/quick").await;
    session.ask("and now?").await;
    session.ask("/lost").await;
    let said = session
        .of(AgentId::MAIN)
        .any(|event| matches!(event, EventKind::Notice { text } if text.contains("/lost: not answered by `missing`")));
    session.quit().await;
    let models: Vec<String> = provider.requests().iter().map(|request| request.model.clone()).collect();
    assert_eq!(models, ["small", "test-model", "test-model"]);
    assert!(said);
}

#[tokio::test]
async fn a_skill_about_files_is_offered_once_the_agent_has_touched_one() {
    let files = [
        (".claude/skills/web/SKILL.md", "---\ndescription: About pages\npaths: [\"web/**/*.ts\", docs]\n---\nPages."),
        (".claude/skills/always/SKILL.md", "---\ndescription: About all\n---\nAll."),
    ];
    let read = |path: &str| json!({"call": "Read", "input": {"file_path": path}});
    let plan =
        [reply(json!({"turn": 0}), vec![read("src/a.rs")]), reply(json!({"turn": 1}), vec![read("web/app/page.ts")])];
    let mut offering = offering(&files, &plan, |parts| {
        parts.files = vec![("src/a.rs", "fn a() {}".to_owned()), ("web/app/page.ts", "let a = 1".to_owned())];
    });
    offering.session.ask("go").await;
    let requests = offering.provider.requests();
    let says = |at: usize| format!("{:?}", requests[at].messages);
    let first = offer(&requests[0]).unwrap();
    assert!(first.contains("always") && !first.contains("- web"), "{first}");
    assert!(!says(1).contains("- web"), "another file was read: {}", says(1));
    assert!(says(2).contains("The available skills have changed: 1 new") && says(2).contains("- web"), "{}", says(2));
    offering.session.quit().await;
}
