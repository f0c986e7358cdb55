//! Servers that hang, die and come back.

use std::sync::Arc;
use std::time::Duration;

use belvedere::mcp::{McpError, McpFacts, McpServers, McpState};
use serde_json::Map;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Heard, config, connected, in_process};

fn facts(servers: &McpServers, name: &str) -> McpFacts {
    servers.facts().into_iter().find(|facts| facts.name == name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_or_dies_is_named_and_delays_no_other() {
    let heard = Heard::default();
    let servers = in_process(&heard, &Arc::default());
    let before = Instant::now();
    servers.set(vec![config("hangs", "hang"), config("dies", "dies"), config("good", "tools 1")]);
    assert_eq!(before.elapsed(), Duration::ZERO, "nobody waits");
    servers.settled(|name| name != "hangs", Duration::from_secs(5)).await;
    assert_eq!(facts(&servers, "good").state, McpState::Connected);
    assert_eq!(facts(&servers, "hangs").state, McpState::Starting);
    let dead = facts(&servers, "dies");
    assert_eq!(dead.state, McpState::Failed("it has ended before it answered: a line of its log".to_owned()));
    assert_eq!(servers.tools().len(), 2);
    servers.settled(|_| true, Duration::from_mins(1)).await;
    let hung = facts(&servers, "hangs");
    assert_eq!(hung.state.word(), "failed");
    assert!(hung.line().starts_with("no answer within 20 s"), "{}", hung.line());
    let page = facts(&servers, "good").page();
    assert!(page.contains("fixture 1.2") && page.contains("`mcp__good__echo`"), "{page}");
    servers.end().await;
    assert!(servers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_called_after_its_end_is_started_again() {
    let heard = Heard::default();
    let servers = connected(&heard, &[("good", "tools 1")]).await;
    servers.restart("good").unwrap();
    let stop = CancellationToken::new();
    let reply = servers.call(("good", "echo"), Map::new(), &stop).await.unwrap();
    assert_eq!(reply.content, [belvedere::mcp::McpContent::Text("nothing".to_owned())]);
    assert_eq!(heard.of("initialize").len(), 2);
    assert_eq!(servers.restart("bad"), Err(McpError::Unknown("bad".to_owned())));
    let stopped = CancellationToken::new();
    stopped.cancel();
    assert_eq!(servers.call(("good", "echo"), Map::new(), &stopped).await, Err(McpError::Stopped));
}

#[tokio::test]
async fn servers_that_stay_as_they_are_go_on() {
    let heard = Heard::default();
    let servers = connected(&heard, &[("one", "tools 1"), ("two", "tools 1")]).await;
    let off = belvedere::mcp::McpConfig { off: Some("not now".to_owned()), ..config("three", "tools 1") };
    servers.set(vec![config("two", "tools 1"), off]);
    assert_eq!(facts(&servers, "two").state, McpState::Connected);
    assert_eq!(facts(&servers, "three").state, McpState::Off("not now".to_owned()));
    assert!(servers.restart("three").is_err());
    assert_eq!(heard.of("initialize").len(), 2);
}
