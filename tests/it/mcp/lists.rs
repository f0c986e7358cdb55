//! What servers list that is not to the letter: one bad tool costs one tool, and is named.

use serde_json::{Value, json};

use super::{Heard, connected};
use crate::models::schemas::faults;

/// Returns the tools that are offered of a list, and what is said of the server.
async fn offered(listed: Value) -> (Vec<(String, Value)>, String) {
    let servers = connected(&Heard::default(), &[("s", &format!("lists {listed}"))]).await;
    let tools = servers.tools().into_iter().map(|tool| (tool.name.clone(), tool.input_schema.as_ref().clone()));
    (tools.collect(), servers.facts()[0].line())
}

fn tool(name: &str, schema: &Value) -> Value {
    json!({"name": name, "inputSchema": schema})
}

#[tokio::test(start_paused = true)]
async fn one_bad_tool_costs_one_tool_and_is_named() {
    let good = || tool("good", &json!({"type": "object"}));
    for (bad, said) in [
        (json!({"inputSchema": {"type": "object"}}), "number 2: it has no name"),
        (json!({"name": "", "inputSchema": {}}), "number 2: it has no name"),
        (json!({"name": 5, "inputSchema": {}}), "number 2: it has no name"),
        (json!("bad"), "number 2: it has no name"),
        (tool("bad", &json!("object")), "bad: its input schema is not an object"),
        (tool("bad", &json!([])), "bad: its input schema is not an object"),
        (tool("bad", &json!(false)), "bad: its input schema is not an object"),
        (tool("bad", &json!({"type": "array"})), "bad: its input is not an object"),
        (tool("bad", &json!({"type": "string", "enum": ["a"]})), "bad: its input is not an object"),
        (tool("good", &json!({})), "good: it is listed twice"),
        (
            tool("bad", &json!({"type": "object", "x": "y".repeat(70_000)})),
            "bad: its input schema is larger than 64 KB",
        ),
    ] {
        let (tools, line) = offered(json!([good(), bad, tool("last", &json!({}))])).await;
        let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["mcp__s__good", "mcp__s__last"], "{bad}");
        assert!(line.starts_with("2 tools") && line.ends_with(&format!("; tools left out: {said}")), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_odd_and_can_be_called_is_offered_as_an_object() {
    let any = json!({"type": "object"});
    for odd in [
        json!({"name": "odd"}),
        tool("odd", &json!(null)),
        tool("odd", &json!(true)),
        tool("odd", &json!({})),
        json!({"name": "odd", "inputSchema": {}, "annotations": {"readOnlyHint": "yes"}, "icons": "x", "_meta": 5}),
    ] {
        let (tools, line) = offered(json!([odd])).await;
        assert_eq!((tools, line.contains("left out")), (vec![("mcp__s__odd".to_owned(), any.clone())], false), "{odd}");
    }
    let text = json!({"type": "string"});
    let page = json!({"properties": {"page": text, "both": text}, "required": ["page", "both"]});
    let block = json!({"properties": {"block": text, "both": text}, "required": ["block", "both"]});
    let parts = json!({"page": text, "both": text, "block": text});
    for (union, required) in [
        (json!({"anyOf": [page, block]}), json!(["both"])),
        (json!({"type": "object", "oneOf": [page, block, {"type": "null"}]}), json!(["both"])),
        (json!({"allOf": [page, block]}), json!(["page", "both", "block"])),
        (json!({"$ref": "#/$defs/in", "$defs": {"in": {"anyOf": [page, block]}}}), json!(["both"])),
    ] {
        let (tools, _) = offered(json!([tool("odd", &union)])).await;
        let schema = &tools[0].1;
        assert_eq!((&schema["type"], &schema["properties"]), (&json!("object"), &parts), "{union}");
        assert_eq!(schema["required"], required, "{union}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_schema_that_is_offered_is_refused_by_a_strict_service() {
    for property in [
        json!({"type": "string", "enum": ["a", null]}),
        json!({"type": "string", "enum": [null]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
        json!({"type": "integer", "enum": [1, "2"], "default": "1"}),
        json!({"type": "array"}),
        json!({"type": "array", "items": [{"type": "string"}]}),
        json!({"type": "list", "items": true}),
        json!({"type": "any"}),
        json!({"type": "String"}),
        json!({"type": ["int", "any"]}),
        json!({"type": "object", "required": true}),
        json!({"type": "object", "required": ["gone"], "properties": {}}),
        json!({"type": "object", "anyOf": [{"required": ["a"]}], "properties": {"a": {}}}),
        json!({"type": "string", "oneOf": [{"const": "a"}]}),
        json!({"type": "number", "exclusiveMinimum": true, "minimum": "0"}),
        json!({"type": "string", "pattern": "\\d+", "format": {}}),
        json!({"$ref": "#/properties/other"}),
        json!({"$ref": "https://example.org/schema"}),
        json!({"$ref": "#/$defs/gone"}),
        json!({"anyOf": []}),
        json!({"anyOf": [true, {"type": "string"}]}),
        json!(true),
        json!(null),
        json!("string"),
        json!({"enum": []}),
        json!({"not": {}, "if": {}, "then": {}, "patternProperties": {"^x": {}}}),
    ] {
        let listed = json!([tool("odd", &json!({"type": "object", "properties": {"p": property}, "required": ["p"]}))]);
        let (tools, line) = offered(listed).await;
        assert_eq!(tools.len(), 1, "{property}: {line}");
        assert_eq!(faults(&tools[0].1), Vec::<String>::new(), "{property}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_whose_names_become_one_are_told_apart() {
    let any = || json!({"type": "object"});
    for (first, second) in [("日本", "中国"), ("a.b/c", "a_b_c"), ("a b", "a.b")] {
        let (tools, line) = offered(json!([tool(first, &any()), tool(second, &any())])).await;
        let (turned, _) = offered(json!([tool(second, &any()), tool(first, &any())])).await;
        assert!(!line.contains("left out") && tools.len() == 2 && tools[0].0 != tools[1].0, "{tools:?}");
        assert_eq!([&tools[0].0, &tools[1].0], [&turned[1].0, &turned[0].0], "the order changes no name");
    }
    let (tools, _) = offered(json!([tool("a.b/c", &any()), tool("a_b_c", &any())])).await;
    assert_eq!(tools[1].0, "mcp__s__a_b_c", "one that has the name to the letter keeps it");
}
