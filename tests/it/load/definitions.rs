//! What is kept of many agent files is little more than what they say.

use std::fs;

use belvedere::definition::{AgentDefinition, AgentDir, KnownNames, Library, Listed, Tier};
use tempfile::TempDir;

const FILES: usize = 500;
const TEN_MB: usize = 10 << 20;

/// Bytes that an agent takes, texts and all.
fn kept(listed: &Listed) -> usize {
    let definition = listed.definition.as_ref().map_or(0, |agent| {
        let texts = [&agent.name, &agent.description, &agent.prompt];
        size_of::<AgentDefinition>() + texts.iter().map(|text| text.capacity()).sum::<usize>()
    });
    let errors = listed.diagnostics.iter().map(|error| size_of_val(error) + error.message.capacity()).sum::<usize>();
    size_of::<Listed>() + definition + errors + 4 * listed.source.path.as_ref().map_or(0, std::path::PathBuf::capacity)
}

#[test]
fn five_hundred_agents_take_less_than_ten_megabytes_however_often_they_are_read() {
    let ground = TempDir::new().unwrap();
    for at in 0..FILES {
        let description = "When: something is to be done. ".repeat(40);
        let prompt = "You do one thing, and you do it well.\n".repeat(200);
        let text = format!("---\nname: agent-{at}\ndescription: {description}\n---\n{prompt}");
        fs::write(ground.path().join(format!("{at}.md")), text).unwrap();
    }
    let dirs = vec![AgentDir { tier: Tier::ProjectClaude, path: ground.path().to_path_buf(), bounds: None }];
    let library = Library::new(dirs.into(), Vec::new(), KnownNames::default());
    library.reload();
    let first = library.catalog().listing();
    let total: usize = first.iter().map(kept).sum();
    assert!((FILES * 8_000..TEN_MB).contains(&total), "{total} bytes");
    drop(first);
    for _ in 0..3 {
        library.reload();
    }
    // One owner is the catalog's list, one its order, one the cache; nothing else keeps an agent alive.
    for listed in library.catalog().listing().iter().filter_map(|listed| listed.definition.as_ref()) {
        assert!(std::sync::Arc::strong_count(listed) <= 3, "{}", listed.name);
    }
}
