//! Servers that are added to files and removed from them.

use belvedere::mcp::{edit_own_file, edit_project_file};
use serde_json::json;

#[test]
fn servers_come_and_go_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let before = "# mine\nmodel = \"x\" # kept\n\n[ui]\nmouse = false\n";
    std::fs::write(&path, before).unwrap();
    let entry = json!({"command": "npx", "args": ["-y", "a b"], "env": {"A": "1"}});
    assert_eq!(edit_own_file(&path, "one", Some(&entry)), Ok(true));
    assert_eq!(edit_own_file(&path, "two", Some(&json!({"type": "http", "url": "http://h/"}))), Ok(true));
    assert!(edit_own_file(&path, "one", Some(&entry)).unwrap_err().contains("already"));
    assert_eq!(edit_own_file(&path, "one", None), Ok(true));
    assert_eq!(edit_own_file(&path, "one", None), Ok(false));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(before) && text.contains("[mcp_servers.two]") && !text.contains("npx"), "{text}");
}

#[test]
fn a_file_that_is_not_understood_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let text = "mcp_servers = { one = { command = \"a\" } }\n";
    std::fs::write(&path, text).unwrap();
    assert!(edit_own_file(&path, "one", None).is_err());
    assert!(edit_own_file(&path, "two", Some(&json!({"command": "b"}))).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_projects_file_keeps_what_else_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    std::fs::write(&path, r#"{"other": 1, "mcpServers": {"a": {"command": "x"}}}"#).unwrap();
    assert_eq!(edit_project_file(&path, "b", Some(json!({"command": "y"}))), Ok(true));
    assert_eq!(edit_project_file(&path, "a", None), Ok(true));
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document, json!({"other": 1, "mcpServers": {"b": {"command": "y"}}}));
}
