//! Requests as a server reads them from a connection of its own.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Reads one whole request of HTTP/1.1 and returns its body, or `None` if none comes. A server that closes before that takes
/// back what it has answered.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut seen = Vec::new();
    let body = loop {
        if let Some(at) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        more(stream, &mut seen).await?;
    };
    let head = String::from_utf8_lossy(&seen[..body]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap_or("0");
    let end = body + length.trim().parse::<usize>().unwrap();
    while seen.len() < end {
        more(stream, &mut seen).await?;
    }
    Some(seen[body..end].to_vec())
}

async fn more(stream: &mut (impl AsyncRead + Unpin), seen: &mut Vec<u8>) -> Option<()> {
    (stream.read_buf(seen).await.unwrap_or(0) > 0).then_some(())
}
