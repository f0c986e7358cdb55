//! Copies of agents: the same text elsewhere, or under another name beside the original.

use std::path::{Path, PathBuf};

use belvedere::definition::{Catalog, CopyError, DraftError, Listed, Source, Tier, duplicate, parse};

/// Returns an agent of the project whose file holds this text.
fn written(folder: &Path, stem: &str, text: &str) -> Listed {
    let path = folder.join(format!("{stem}.md"));
    std::fs::write(&path, text).unwrap();
    let parsed = parse(text, Source { tier: Tier::ProjectClaude, path: Some(path) });
    let catalog = Catalog::of(Vec::new());
    catalog.replace(vec![parsed]);
    catalog.listing()[0].clone()
}

fn name_in(path: &PathBuf) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    parse(&text, Source { tier: Tier::BuiltIn, path: None }).definition.unwrap().name
}

#[test]
fn in_another_tier_a_copy_is_the_same_text() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = "---\r\nname: \"Code Reviewer\"\r\ndescription: x: y\r\n---\r\nBody.\r\n";
    let original = written(from.path(), "rev", text);
    let folder = to.path().join("not/yet/there");
    let copy = duplicate(&original, Tier::UserKode, &folder).unwrap().path;
    assert_eq!(copy, folder.join("rev.md"));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), text);
    let again = duplicate(&original, Tier::UserKode, &folder);
    assert!(matches!(again, Err(CopyError::Unwritten(DraftError::Exists(path))) if path == copy));
}

#[test]
fn in_its_own_tier_a_copy_has_another_name() {
    let folder = tempfile::tempdir().unwrap();
    for (at, text) in [
        "---\nname: mine\ndescription: d\n---\nBody\n---\nname: not this\n",
        "\u{feff}---\r\ndescription: d\r\nname:   'mine'   # a remark\r\n---\r\nBody",
        "---\ndescription: a name comes from the file\n---\nBody",
        "---\nname: mine\ndescription: Use it: often: user: yes\n---\nBody",
    ]
    .into_iter()
    .enumerate()
    {
        let original = written(folder.path(), &format!("file-{at}"), text);
        for suffix in ["-copy", "-copy-2", "-copy-3"] {
            let copy = duplicate(&original, Tier::ProjectClaude, folder.path()).unwrap().path;
            assert_eq!(copy, folder.path().join(format!("file-{at}{suffix}.md")));
            assert_eq!(name_in(&copy), format!("{}{suffix}", original.name()), "{text:?}");
        }
        assert_eq!(std::fs::read_to_string(original.source.path.unwrap()).unwrap(), text, "the original is as it was");
    }
}

#[test]
fn a_built_in_agent_is_copied_as_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for original in Catalog::builtin().listing().iter() {
        let copy = duplicate(original, Tier::ProjectKode, folder.path()).unwrap().path;
        let text = std::fs::read_to_string(&copy).unwrap();
        let asset = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/agents/{}.md", original.name()));
        assert_eq!(text, std::fs::read_to_string(asset).unwrap());
    }
}

#[test]
fn what_has_no_text_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let mut original = written(folder.path(), "mine", "---\nname: mine\ndescription: d\n---\nBody");
    std::fs::remove_file(original.source.path.as_ref().unwrap()).unwrap();
    let gone = duplicate(&original, Tier::UserKode, folder.path());
    assert!(matches!(gone, Err(CopyError::Unreadable { .. })));
    original.source = Source { tier: Tier::CommandLine, path: None };
    assert!(matches!(duplicate(&original, Tier::UserKode, folder.path()), Err(CopyError::NoText(_))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
