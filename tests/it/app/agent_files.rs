//! The view of all agents, by keys and mouse.

use std::path::{Path, PathBuf};

use belvedere::agent::SessionEvent;
use belvedere::app::agent_files::{AgentFileRow, AgentFilesPage, FileNews, FileRequest};
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::keymap::Context;
use belvedere::app::{Effect, Event, Focus, Popup, lists};
use belvedere::definition::{CatalogChanges, Parsed, Tier};
use belvedere::message::Diagnostic;

use crate::screens::agent_files::{everything, file, listing, stage};
use crate::screens::stage::Stage;

const KODE: &str = "/home/me/src/shop/.kode/agents";

fn requests(effects: Vec<Effect>) -> Vec<FileRequest> {
    let requests = effects.into_iter().filter_map(|effect| match effect {
        Effect::AgentFiles(request) => Some(request),
        _ => None,
    });
    requests.collect()
}

fn tell(stage: &mut Stage, news: FileNews) -> Vec<FileRequest> {
    requests(stage.event(Event::AgentFiles(news)))
}

fn read(stage: &mut Stage, files: Vec<Parsed>) {
    tell(stage, FileNews::Listed(listing(files)));
}

fn chosen(stage: &Stage) -> (String, Tier) {
    let view = stage.app.agent_files().unwrap();
    let listed = view.chosen(stage.app.listing()).unwrap();
    (listed.name(), listed.source.tier)
}

fn path(stem: &str) -> PathBuf {
    Path::new(KODE).join(format!("{stem}.md"))
}

#[test]
fn keys_choose_open_and_leave() {
    let mut stage = stage(80, 24, everything());
    assert_eq!(stage.app.context(), Context::AgentFiles);
    assert_eq!(chosen(&stage), ("general-purpose".to_owned(), Tier::BuiltIn));
    stage.keys("jj<up>");
    assert_eq!(chosen(&stage).0, "explore");
    stage.keys("G");
    assert_eq!(chosen(&stage), ("one-off".to_owned(), Tier::CommandLine));
    stage.keys("j<pagedown>");
    assert_eq!(chosen(&stage).0, "one-off", "the last one stays chosen");
    stage.keys("<pageup>gG<up><enter>");
    assert_eq!(stage.app.agent_files().unwrap().page(), AgentFilesPage::Detail { scroll: 0 });
    assert!(stage.text().contains("Reviews with the new checklist"));
    stage.keys("<esc><esc>");
    assert!(stage.app.agent_files().is_none());
    stage.keys("hello");
    assert_eq!(stage.app.composer().text(), "hello");
}

#[test]
fn a_detail_scrolls_to_its_end_and_no_further() {
    let mut stage = stage(60, 15, everything());
    stage.keys("Gk<enter>");
    stage.draw();
    stage.keys("<pagedown><pagedown><pagedown>G");
    let text = stage.text();
    assert!(text.contains("prices without a currency"), "{text}");
    stage.keys("g");
    assert!(stage.text().contains("name         reviewer"));
}

#[test]
fn the_search_finds_by_name_and_by_description_and_esc_clears_it_first() {
    let mut stage = stage(80, 24, everything());
    stage.keys("/rvw");
    assert_eq!(chosen(&stage).0, "reviewer");
    stage.keys("<ctrl+u>endpoint");
    assert_eq!(chosen(&stage).0, "api-tester");
    let rows = |stage: &Stage| {
        let rows = stage.app.agent_files().unwrap().rows();
        rows.iter().filter(|row| matches!(row, AgentFileRow::Agent { .. })).count()
    };
    assert_eq!(rows(&stage), 1);
    stage.keys("<backspace>zz");
    assert_eq!(rows(&stage), 0);
    assert!(stage.text().contains("no agent matches"));
    // Letters that are actions elsewhere, and the key that deletes, only type here.
    stage.keys("<ctrl+u>exndq<delete>");
    assert!(stage.app.popup().is_none());
    assert_eq!(stage.app.agent_files().unwrap().query().text(), "exndq");
    stage.keys("<esc>");
    assert_eq!(rows(&stage), 17);
    assert_eq!(chosen(&stage).0, "explore", "what was found last stays chosen");
    stage.keys("/api<enter>");
    assert_eq!(stage.app.context(), Context::AgentFiles);
    stage.keys("<esc>");
    assert!(stage.app.agent_files().is_some(), "the first esc only shows all again");
    stage.keys("<esc>");
    assert!(stage.app.agent_files().is_none());
}

#[test]
fn the_choice_follows_its_file_through_a_reload() {
    let mut stage = stage(80, 24, everything());
    stage.keys("/new checklist<enter><esc>");
    assert_eq!(chosen(&stage), ("reviewer".to_owned(), Tier::ProjectKode));
    let mut files = everything();
    files.insert(0, file(Tier::UserKode, "a", "---\nname: a\ndescription: new\n---\nA."));
    files.insert(0, file(Tier::UserKode, "b", "---\nname: b\ndescription: new\n---\nB."));
    read(&mut stage, files.clone());
    assert_eq!(chosen(&stage), ("reviewer".to_owned(), Tier::ProjectKode));
    stage.keys("<enter>");
    files.retain(|parsed| parsed.source.path != Some(path("reviewer")));
    read(&mut stage, files);
    let view = stage.app.agent_files().unwrap();
    assert_eq!(view.page(), AgentFilesPage::List, "what is gone is not shown any more");
    assert!(view.chosen(stage.app.listing()).is_some(), "a neighbour is chosen");
}

#[test]
fn a_file_is_edited_and_a_fault_in_it_is_told() {
    let mut stage = stage(80, 24, everything());
    let effects = stage.keys("/new checklist<enter>e");
    assert_eq!(requests(effects), [FileRequest::Edit(path("reviewer"))]);
    assert_eq!(tell(&mut stage, FileNews::Edited(path("reviewer"))), [FileRequest::Edited(path("reviewer"))]);
    let mut files = everything();
    files.retain(|parsed| parsed.source.path != Some(path("reviewer")));
    files.push(file(Tier::ProjectKode, "reviewer", "---\nname: reviewer\n---\nNo description."));
    read(&mut stage, files);
    let error = stage.app.agent_files().unwrap().error().unwrap().to_owned();
    assert!(error.contains("line 1") && error.contains("description"), "{error}");
    assert!(stage.text().contains(&error[..30]));
    stage.keys("j");
    assert_eq!(stage.app.agent_files().unwrap().error(), None);
}

#[test]
fn deleting_asks_first_and_names_the_file() {
    let mut stage = stage(80, 24, everything());
    stage.keys("/new checklist<enter>x");
    assert!(stage.text().contains("~/src/shop/.kode/agents/reviewer.md"));
    for no in ["n", "<esc>", "<enter>", "q"] {
        assert_eq!(requests(stage.keys(no)), [], "{no} keeps it");
        assert!(stage.app.popup().is_none() && stage.app.agent_files().is_some());
        stage.keys("<delete>");
    }
    assert_eq!(requests(stage.keys("y")), [FileRequest::Delete(path("reviewer"))]);
    assert!(stage.app.popup().is_none());
}

#[test]
fn what_is_not_a_file_is_neither_edited_nor_deleted() {
    let mut stage = stage(80, 24, everything());
    for keys in ["e", "x", "<delete>", "Ge", "x", "c"] {
        assert_eq!(requests(stage.keys(keys)), [], "{keys}");
        assert!(stage.app.popup().is_none(), "{keys}");
        assert!(stage.app.flash().is_some(), "{keys} says why");
    }
    stage.keys("ge");
    assert!(stage.app.flash().unwrap().text.contains("duplicate it"));
}

#[test]
fn a_copy_goes_to_the_chosen_folder_and_is_chosen() {
    let mut stage = stage(80, 24, everything());
    stage.keys("jd");
    assert!(stage.app.popup().is_some_and(|popup| popup.is_list(&lists::FOLDERS)));
    let asked = requests(stage.keys("<down><enter>"));
    let [FileRequest::Duplicate { name, tier, source }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((name.as_str(), *tier, source.tier), ("explore", Tier::ProjectClaude, Tier::BuiltIn));
    let copy = PathBuf::from("/home/me/src/shop/.claude/agents/explore.md");
    let mut files = everything();
    files.push(file(Tier::ProjectClaude, "explore", "---\nname: explore\ndescription: copied\n---\nLook."));
    // Whichever is told first.
    tell(&mut stage, FileNews::Created(copy));
    assert_eq!(chosen(&stage), ("explore".to_owned(), Tier::BuiltIn));
    read(&mut stage, files);
    assert_eq!(chosen(&stage), ("explore".to_owned(), Tier::ProjectClaude));
}

#[test]
fn using_an_agent_writes_its_name_into_the_message() {
    let mut stage = stage(80, 24, everything());
    stage.keys("u");
    assert!(stage.app.agent_files().is_none());
    assert_eq!(stage.app.focus(), Focus::Composer);
    assert_eq!(stage.app.composer().text(), "@agent-general-purpose ");
    stage.keys("<ctrl+u>/agents<enter><down>u");
    assert!(stage.app.agent_files().is_some(), "a shadowed one is not used");
    assert!(stage.app.flash().unwrap().text.contains("shadowed by project (.kode)"));
}

#[test]
fn errors_are_shown_in_the_view_and_lose_nothing() {
    let mut stage = stage(60, 15, everything());
    stage.keys("/review<enter>");
    let before = chosen(&stage);
    tell(&mut stage, FileNews::Failed("x.md cannot be deleted: it is gone\u{1b}[2J\nand so on".to_owned()));
    let text = stage.text();
    assert!(text.contains("x.md cannot be deleted"), "{text}");
    assert_eq!(chosen(&stage), before);
    assert_eq!(stage.app.agent_files().unwrap().query().text(), "review");
}

#[test]
fn a_reload_tells_what_there_is() {
    let mut stage = stage(80, 24, everything());
    assert_eq!(requests(stage.keys("r")), [FileRequest::Reload]);
    read(&mut stage, everything());
    assert_eq!(stage.app.flash().unwrap().text, "reloaded: 13 active · 3 shadowed · 1 broken");
}

#[test]
fn help_and_palette_stand_before_the_view() {
    let mut stage = stage(80, 24, everything());
    stage.keys("?<esc>");
    assert!(stage.app.agent_files().is_some());
    stage.keys("<ctrl+p>delete the agent<enter>");
    assert!(stage.app.popup().is_none() && stage.app.flash().is_some());
    stage.keys("<ctrl+c>");
    assert!(stage.app.agent_files().is_none());
    stage.keys("<ctrl+p>list all agents<enter>");
    assert!(stage.app.agent_files().is_some());
    stage.keys("<esc><ctrl+p>edit the agent's<enter>");
    assert!(stage.app.flash().unwrap().text.contains("/agents"));
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mut stage = stage(80, 15, everything());
    stage.draw();
    let mut mouse = |kind, row| {
        stage.event(Event::Input(Input::Mouse(Mouse { kind, column: 10, row })));
        let view = stage.app.agent_files().unwrap();
        (view.chosen(stage.app.listing()).unwrap().name(), view.page())
    };
    assert_eq!(mouse(MouseKind::Press, 1).0, "general-purpose", "a heading is not chosen");
    assert_eq!(mouse(MouseKind::Press, 4), ("plan".to_owned(), AgentFilesPage::List));
    assert_eq!(mouse(MouseKind::WheelDown, 4).0, "plan", "it is still visible");
    for _ in 0..3 {
        mouse(MouseKind::WheelDown, 4);
    }
    assert_ne!(mouse(MouseKind::WheelDown, 4).0, "plan", "what is chosen is visible");
    let (name, _) = mouse(MouseKind::Press, 10);
    assert_eq!(mouse(MouseKind::Press, 10), (name, AgentFilesPage::Detail { scroll: 0 }));
}

#[test]
fn a_question_of_an_agent_stays_in_sight() {
    let mut stage = stage(80, 24, everything());
    stage.asks("work");
    stage.spawns(1, "code", "Write it");
    stage.starts(1);
    stage.wants_to_run(1, "b", "cargo test --workspace");
    let text = stage.text();
    assert!(text.contains("cargo test --workspace") && text.contains("general-purpose"), "{text}");
    stage.wait(1_000);
    let effects = stage.keys("<alt+y>");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Command(_))), "it can be answered from here");
}

#[test]
fn hostile_names_and_descriptions_keep_to_their_columns() {
    let hostile =
        ["\\e[31mred\\e[0m \\u202Etxt.exe", "设置设置设置设置设置设置设置设置设置设置", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "a\\tb\\nc"];
    let texts = hostile.map(|text| format!("---\nname: \"{text}\"\ndescription: \"{text}\"\n---\n{text}\n"));
    let files =
        texts.iter().enumerate().map(|(at, text)| file(Tier::ProjectKode, &format!("{at}\u{1b}[2J"), text)).collect();
    for (width, height) in [(80, 24), (60, 15), (20, 6), (3, 2), (1, 1)] {
        let mut stage = stage(width, height, everything());
        read(&mut stage, Vec::clone(&files));
        for keys in ["G", "<enter>", "<esc>", "/r", "<esc>", "Gx", "<esc>", "c", "<esc>"] {
            stage.keys(keys);
            let text = stage.text();
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\t']), "{text}");
            if width >= 60 && stage.app.popup().is_none() {
                for line in text.lines().take(usize::from(height) - 1) {
                    assert!(line.ends_with(['│', '┐', '┘']), "{keys}: {line:?} in\n{text}");
                }
            }
        }
    }
}

#[test]
fn thousands_of_agents_are_laid_out_only_where_they_are_seen() {
    let many = (0..2_000).map(|number| {
        let text = format!("---\nname: agent-{number}\ndescription: Does thing {number}\n---\nDo it.");
        file(Tier::ProjectClaude, &format!("agent-{number}"), &text)
    });
    let mut stage = stage(80, 24, many.collect());
    stage.keys("/agent-1999");
    assert_eq!(chosen(&stage).0, "agent-1999");
    stage.keys("<esc>");
    for _ in 0..50 {
        stage.keys("<pageup>");
        stage.draw();
    }
    stage.keys("G");
    assert!(stage.text().contains("agent-1999"));
}

#[test]
fn the_agents_of_the_session_are_tasks_now() {
    let mut stage = Stage::new(80, 24);
    stage.asks("work");
    stage.spawns(1, "code", "Write it");
    stage.keys("/tasks<enter>");
    assert_eq!(stage.app.popup(), Some(&Popup::list(&lists::AGENTS)));
}

#[test]
fn a_change_while_one_works_is_one_line_that_names_the_fault() {
    let mut stage = Stage::new(120, 24);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let error = |file: &str| Diagnostic::in_file(format!("/p/.kode/agents/{file}"), "no `description`");
    let changes = CatalogChanges { added: names(&["scout"]), changed: names(&["a", "b"]), ..CatalogChanges::default() };
    let effects = stage.session(SessionEvent::AgentsChanged { changes });
    assert_eq!(requests(effects), [FileRequest::List]);
    assert!(stage.text().contains("agents: +scout  ~2"), "{}", stage.text());
    let one =
        CatalogChanges { errors: vec![Diagnostic { line: Some(3), ..error("one.md") }], ..CatalogChanges::default() };
    stage.session(SessionEvent::AgentsChanged { changes: one });
    assert!(stage.text().contains("agents: one.md:3 no `description`"), "{}", stage.text());
    let errors = vec![error("\u{1b}[31mone.md"), error("two.md"), error("three.md")];
    stage.session(SessionEvent::AgentsChanged { changes: CatalogChanges { errors, ..CatalogChanges::default() } });
    assert!(stage.text().contains("agents: one.md and 2 more problems, see /agents"), "{}", stage.text());
}
