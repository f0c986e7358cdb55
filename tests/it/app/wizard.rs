//! A new agent, step by step, by keys alone.

use std::path::PathBuf;

use belvedere::agent::{Bounds, EventKind, RunMode, SessionEvent, Spawn, Status};
use belvedere::app::agent_files::{FileNews, FileRequest};
use belvedere::app::key::Input;
use belvedere::app::wizard::{COLORS, TOOL_GROUPS, WizardStep};
use belvedere::app::{Effect, Event, Popup};
use belvedere::config::Config;
use belvedere::definition::{
    AgentDraft, AgentHome, Catalog, CatalogChanges, HomeState, Source, Tier, ToolsField, parse,
};
use belvedere::message::AgentId;
use belvedere::provider::table::ProviderEnv;
use belvedere::services::known_names;
use belvedere::subagent::{Command, DRAFT_CALL, TASK_TOOLS};
use belvedere::tui::view::theme::{ColorDepth, Theme};

use crate::screens::stage::Stage;

fn home(tier: Tier, path: &str, state: HomeState) -> AgentHome {
    AgentHome { tier, path: PathBuf::from(path), state }
}

fn stage(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    let homes = vec![
        home(Tier::ProjectClaude, "/home/ada/src/shop/.claude/agents", HomeState::There),
        home(Tier::UserClaude, "/home/ada/.claude/agents", HomeState::There),
        home(Tier::ProjectKode, "/home/ada/src/shop/.kode/agents", HomeState::Missing),
        home(Tier::UserKode, "/home/ada/.kode/agents", HomeState::Missing),
    ];
    stage.event(Event::AgentFiles(FileNews::Homes(homes)));
    let catalog = Catalog::builtin();
    let mut all: Vec<_> = catalog.all().iter().map(|definition| (**definition).clone().into()).collect();
    let path = PathBuf::from("/home/ada/src/shop/.claude/agents/taken.md");
    all.push(parse(
        "---\nname: taken\ndescription: Is there.\n---\nGo.",
        Source { tier: Tier::ProjectClaude, path: Some(path) },
    ));
    catalog.replace(all);
    stage.event(Event::AgentFiles(FileNews::Listed(catalog.listing())));
    stage
}

pub(super) fn open(width: u16, height: u16) -> Stage {
    let mut stage = stage(width, height);
    stage.keys("/agents new<enter>");
    assert_eq!(stage.app.popup(), Some(&Popup::Wizard));
    stage
}

/// Fills in every step up to the summary.
const BY_HAND: &str = "<enter><enter>test-runner<enter>Use it when tests fail.<alt+enter>Or pass.<enter>\
                       You run tests.<alt+enter>Report.<enter>6<down><enter>8<down><down><enter>";

fn created(effects: &[Effect]) -> Option<(Tier, AgentDraft)> {
    effects.iter().find_map(|effect| match effect {
        Effect::AgentFiles(FileRequest::Create { tier, draft }) => Some((*tier, (**draft).clone())),
        _ => None,
    })
}

fn step(stage: &Stage) -> WizardStep {
    stage.app.wizard().step()
}

/// The child that drafts begins to work.
fn draft_begins(stage: &mut Stage, agent: u32) {
    stage.agent(
        agent,
        EventKind::Spawned(Spawn {
            parent: AgentId::MAIN,
            call_id: DRAFT_CALL.to_owned(),
            name: format!("draft-agent-{agent}"),
            agent_type: "draft-agent".to_owned(),
            color: None,
            description: "Draft a new agent".to_owned(),
            prompt: "Draft.".to_owned(),
            model: "sonnet".to_owned(),
            tools: vec!["Read".to_owned()],
            bounds: Bounds::default(),
            run_mode: RunMode::Foreground,
            options: Box::default(),
        }),
    );
    stage.starts(agent);
}

const ANSWER: &str = "<summary>Done.</summary>\n<answer>\n---\nname: Release Notes\ndescription: Use it for notes.\n\
                      tools: Read, Bash(git log:*)\n---\n\nYou write notes.\n</answer>";

#[test]
fn an_agent_is_made_by_hand() {
    let mut stage = open(80, 24);
    stage.keys(BY_HAND);
    assert_eq!(step(&stage), WizardStep::Summary);
    let (tier, draft) = created(&stage.keys("<enter>")).expect("it is written");
    assert_eq!(tier, Tier::ProjectClaude);
    let read_only = ["Read", "Grep", "Glob", "LS", "Symbols"].map(str::to_owned).to_vec();
    assert_eq!(
        draft,
        AgentDraft {
            name: "test-runner".to_owned(),
            description: "Use it when tests fail.\nOr pass.".to_owned(),
            tools: ToolsField::List(read_only),
            model: None,
            color: Some(COLORS[1].to_owned()),
            prompt: "You run tests.\nReport.".to_owned(),
        }
    );
    assert_eq!(created(&stage.keys("<enter>")), None, "once is enough");
    stage.event(Event::AgentFiles(FileNews::Created("/home/ada/src/shop/.claude/agents/test-runner.md".into())));
    assert_eq!(stage.app.popup(), None);
    let changes = CatalogChanges { added: vec!["test-runner".to_owned()], ..CatalogChanges::default() };
    stage.session(SessionEvent::AgentsChanged { changes });
    assert!(stage.text().contains("@agent-test-runner is ready"), "also when the change itself is told of");
    stage.keys("/agents new<enter>");
    assert!(stage.app.wizard().is_blank() && step(&stage) == WizardStep::How, "the next one begins empty");
}

#[test]
fn a_file_that_cannot_be_written_loses_nothing() {
    let mut stage = open(80, 24);
    stage.keys(BY_HAND);
    stage.keys("<enter>");
    stage.event(Event::AgentFiles(FileNews::Failed("the disk is full. Make room.".to_owned())));
    assert!(stage.text().contains("the disk is full. Make room."));
    assert_eq!(stage.app.wizard().draft().name, "test-runner");
    assert!(created(&stage.keys("<enter>")).is_some(), "it can be tried again");
}

#[test]
fn names_are_checked_while_they_are_typed() {
    let mut stage = open(80, 24);
    stage.keys("<enter><enter>Bad");
    assert!(stage.text().contains("Use lowercase letters, digits and dashes"));
    stage.keys("<enter>");
    assert_eq!(step(&stage), WizardStep::Name, "a bad name does not pass");
    stage.keys("<ctrl+u>taken");
    assert!(stage.text().contains("already exists"));
    stage.keys("<ctrl+u>explore");
    assert!(stage.text().contains("shadow explore (built-in)"));
    stage.keys("<ctrl+u><enter>");
    assert!(stage.text().contains("Enter a name"));
}

#[test]
fn a_stronger_agent_of_the_same_name_is_told_of() {
    let mut stage = open(80, 24);
    stage.keys("<enter><down><enter>taken");
    assert!(stage.text().contains("taken (project (.claude)) would shadow it"));
}

#[test]
fn steps_go_back_and_keep_their_answers() {
    let mut stage = open(80, 24);
    stage.keys(BY_HAND);
    for back in [
        WizardStep::Color,
        WizardStep::Model,
        WizardStep::Tools,
        WizardStep::Prompt,
        WizardStep::Description,
        WizardStep::Name,
        WizardStep::Where,
        WizardStep::How,
    ] {
        stage.keys("<shift+tab>");
        assert_eq!(step(&stage), back);
    }
    stage.keys("<enter><enter>");
    assert_eq!(step(&stage), WizardStep::Summary, "once all is answered, enter leads back");
    stage.keys("4 And more.<enter>");
    assert_eq!(step(&stage), WizardStep::Summary);
    let draft = stage.app.wizard().draft();
    assert_eq!(draft.description, "Use it when tests fail.\nOr pass. And more.");
    assert_eq!((draft.name.as_str(), draft.color.as_deref()), ("test-runner", Some(COLORS[1])));
}

#[test]
fn what_has_no_other_answer_is_asked_and_nothing_else() {
    let mut stage = open(80, 24);
    stage.keys("<enter><enter>test-runner<enter>Use it when tests fail.<enter>You run tests.<enter>");
    assert_eq!(step(&stage), WizardStep::Summary);
    let (_, draft) = created(&stage.keys("<enter>")).expect("six times enter for three answers");
    assert_eq!((draft.tools, draft.model, draft.color), (ToolsField::All, None, None));
}

#[test]
fn leaving_in_the_middle_loses_nothing() {
    for leave in ["<esc>", "<ctrl+c>", "<ctrl+p><esc>"] {
        let mut stage = open(80, 24);
        stage.keys("<enter><enter>half<enter>Some words");
        stage.keys(leave);
        assert_eq!(stage.app.popup(), None, "{leave}");
        stage.keys("/agents new<enter>");
        assert_eq!(step(&stage), WizardStep::Description, "{leave}");
        assert!(stage.text().contains("Some words"), "{leave}");
    }
}

#[test]
fn starting_anew_throws_away_what_was_filled_in() {
    let mut stage = open(80, 24);
    stage.keys(BY_HAND);
    stage.keys("<shift+tab><shift+tab><shift+tab><shift+tab><shift+tab><shift+tab><shift+tab><shift+tab>");
    stage.keys("<down><down><enter>");
    assert!(stage.app.wizard().is_blank());
    assert_eq!(step(&stage), WizardStep::How);
}

#[test]
fn tools_are_ticked_one_by_one() {
    let mut stage = open(80, 24);
    stage.keys("<enter><enter>a<enter>b<enter>c<enter>6");
    stage.keys("<down><down><enter>");
    assert!(stage.text().contains("Check tools with space"));
    stage.keys(" <down><down> ");
    let ToolsField::List(names) = stage.app.wizard().draft().tools else { panic!("a list") };
    assert!(!names.contains(&"Read".to_owned()) && !names.contains(&"Glob".to_owned()), "{names:?}");
    assert!(names.contains(&"Grep".to_owned()) && names.contains(&"Agent".to_owned()), "{names:?}");
    let mut none = open(80, 24);
    none.keys("<enter><enter>a<enter>b<enter>c<enter>6<down> <down><down> <down> <down> <down> <down> <enter>");
    assert_eq!(step(&none), WizardStep::Tools);
    assert!(none.text().contains("Check at least one tool"));
}

#[test]
fn a_model_is_chosen_or_typed() {
    let mut stage = open(80, 24);
    stage.keys("<enter><enter>a<enter>b<enter>c<enter>7");
    stage.keys("my model<enter>");
    assert!(stage.text().contains("is not a model name"));
    stage.keys("<ctrl+u>openrouter/some-1.5<enter>");
    assert_eq!(step(&stage), WizardStep::Summary);
    assert_eq!(stage.app.wizard().draft().model.as_deref(), Some("openrouter/some-1.5"));
    stage.keys("7");
    assert!(stage.text().contains("openrouter/some-1.5"));
}

#[test]
fn a_prompt_is_written_in_the_editor_and_comes_back_to_the_wizard() {
    let mut stage = open(80, 24);
    stage.keys("<enter><enter>a<enter>b<enter>First");
    let effects = stage.keys("<ctrl+g>");
    assert!(effects.contains(&Effect::EditText("First".to_owned())));
    let long = "a line of the prompt\n".repeat(60);
    stage.event(Event::Edited(Some(long.clone())));
    assert_eq!(stage.app.wizard().draft().prompt, long);
    assert!(stage.app.composer().is_empty(), "the composer's draft is another one");
    assert!(stage.text().contains("a line of the prompt"));
}

#[test]
fn pasted_text_goes_to_the_step() {
    let mut stage = open(80, 24);
    stage.keys("<enter><enter>");
    stage.event(Event::Input(Input::Paste("pasted-name".to_owned())));
    stage.keys("<enter>");
    stage.event(Event::Input(Input::Paste("Many\nlines\nof\nwords\n".repeat(5))));
    let draft = stage.app.wizard().draft();
    assert_eq!(draft.name, "pasted-name");
    assert!(draft.description.matches("Many").count() == 5, "{}", draft.description);
}

#[test]
fn a_draft_of_the_model_fills_the_form() {
    let mut stage = open(80, 24);
    stage.keys("<down><enter>");
    assert_eq!(step(&stage), WizardStep::Wish);
    stage.keys("<enter>");
    assert!(stage.text().contains("Say in a sentence"));
    let effects = stage.keys("writes release notes<enter>");
    assert!(effects.contains(&Effect::Command(Command::Draft { wish: "writes release notes".to_owned() })));
    assert!(stage.app.next_wakeup().is_some(), "the clock counts while nothing is heard");
    draft_begins(&mut stage, 1);
    stage.calls(1, "c1", "LS", ".", "3 files");
    assert!(stage.text().contains("draft-agent-1") && stage.text().contains("1 tool"));
    stage.ends(1, Status::Completed, ANSWER, None);
    assert_eq!(step(&stage), WizardStep::Where, "where it goes was not asked yet");
    stage.keys("<enter>");
    assert_eq!(step(&stage), WizardStep::Summary, "all else is drafted");
    let (_, draft) = created(&stage.keys("<enter>")).unwrap();
    assert_eq!((draft.name.as_str(), draft.prompt.as_str()), ("release-notes", "You write notes."));
    assert_eq!(draft.tools, ToolsField::List(vec!["Read".to_owned(), "Bash(git log:*)".to_owned()]));
}

#[test]
fn a_drafted_model_and_colour_survive_a_look_at_their_steps() {
    let mut stage = open(80, 24);
    stage.keys("<down><enter>anything<enter>");
    draft_begins(&mut stage, 1);
    let answer = ANSWER.replace("tools:", "model: some/model-1\ncolor: \"#ff8800\"\ntools:");
    stage.ends(1, Status::Completed, &answer, None);
    stage.keys("<enter>6<enter>7<enter>8<enter>");
    assert_eq!(step(&stage), WizardStep::Summary);
    let draft = stage.app.wizard().draft();
    assert_eq!((draft.model.as_deref(), draft.color.as_deref()), (Some("some/model-1"), Some("#ff8800")));
    assert_eq!(draft.tools, ToolsField::List(vec!["Read".to_owned(), "Bash(git log:*)".to_owned()]));
}

#[test]
fn an_answer_that_is_no_agent_file_is_shown_with_what_is_wrong() {
    let mut stage = open(80, 24);
    stage.keys("<down><enter>anything<enter>");
    draft_begins(&mut stage, 1);
    stage.ends(1, Status::Completed, "I would rather write a poem.", None);
    assert_eq!(step(&stage), WizardStep::Prompt);
    let screen = stage.text();
    assert!(screen.contains("rather write a poem") && screen.contains("not an agent file"), "{screen}");
}

#[test]
fn a_stopped_draft_goes_on_by_hand() {
    let mut stage = open(80, 24);
    stage.keys("<down><enter>anything<enter>");
    draft_begins(&mut stage, 1);
    assert!(stage.keys("x").contains(&Effect::Command(Command::Stop { agent: AgentId(1) })));
    stage.ends(1, Status::Cancelled, "half", Some("Stopped by the user."));
    assert_eq!(step(&stage), WizardStep::Where);
    assert!(stage.text().contains("Stopped by the user. Continue by hand."));
    stage.keys("<enter>by-hand<enter>");
    assert_eq!(step(&stage), WizardStep::Description);
}

#[test]
fn a_draft_that_comes_late_waits_to_be_taken() {
    let mut stage = open(80, 24);
    stage.keys("<down><enter>anything<enter>");
    draft_begins(&mut stage, 1);
    let effects = stage.keys("<esc><enter>my-own");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Command(_))), "esc stops nothing");
    stage.ends(1, Status::Completed, ANSWER, None);
    assert_eq!(stage.app.wizard().draft().name, "my-own", "what is typed stays");
    stage.keys("<shift+tab><shift+tab><down><down>");
    assert!(stage.text().contains("use the model's draft"));
    stage.keys("<enter>");
    assert_eq!(stage.app.wizard().draft().name, "release-notes");
}

#[test]
fn every_tool_and_colour_can_be_chosen_and_drawn() {
    let mut grouped: Vec<&str> = TOOL_GROUPS.iter().flat_map(|(_, tools)| tools.iter().map(String::as_str)).collect();
    let mut all = known_names(&Config::default(), &ProviderEnv::default()).tools;
    all.retain(|name| !TASK_TOOLS.contains(&name.as_str()));
    grouped.sort_unstable();
    all.sort_unstable();
    assert_eq!(grouped, all);
    let theme = Theme::load("dark", ColorDepth::TrueColor).unwrap();
    let unknown = theme.agent(Some("no colour at all"), "probe");
    for color in COLORS {
        let style = theme.agent(Some(color), "probe");
        assert_eq!(style, theme.agent(Some(color), "another"), "{color} is a colour of its own");
        assert_ne!(style, unknown, "{color}");
    }
}

#[test]
fn each_step_at_each_small_size() {
    for (width, height) in [(80, 24), (60, 15)] {
        let before = stage(width, height).frame();
        let mut stage = open(width, height);
        let shot = |stage: &mut Stage, name: &str| {
            insta::assert_snapshot!(format!("wizard-{name}-{width}x{height}"), stage.added_since(&before));
        };
        shot(&mut stage, "1-how");
        stage.keys("<down><enter>reviews the tests");
        shot(&mut stage, "1-wish");
        stage.keys("<enter>");
        draft_begins(&mut stage, 1);
        stage.calls(1, "c1", "LS", ".", "3 files");
        shot(&mut stage, "1-drafting");
        stage.ends(1, Status::Failed, "", Some("The service is down."));
        shot(&mut stage, "2-where");
        stage.keys("<down><enter>explore");
        shot(&mut stage, "3-name");
        stage.keys("r<enter>Use it to find a way when nobody knows the way, and when somebody does but is away.");
        shot(&mut stage, "4-description");
        stage.keys("<enter>You find ways.<alt+enter>You tell them.");
        shot(&mut stage, "5-prompt");
        stage.keys("<enter>6<down><down><down> ");
        shot(&mut stage, "6-tools");
        stage.keys("<enter>7");
        shot(&mut stage, "7-model");
        stage.keys("<down><enter>8<down><down>");
        shot(&mut stage, "8-colour");
        stage.keys("<enter>");
        shot(&mut stage, "9-summary");
    }
}
