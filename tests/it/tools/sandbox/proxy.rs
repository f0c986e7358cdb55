//! The way out: one request of a connection, and nothing behind it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use belvedere::sandbox::{Hosts, SandboxProxy};

/// A host that answers once it has read this, and keeps all that comes.
fn host(until: &'static str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut all, mut part) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&all).contains(until) {
            let count = stream.read(&mut part).unwrap();
            assert!(count > 0, "it ended after {}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&part[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    });
    (place, heard)
}

async fn answer(proxy: std::net::SocketAddr, request: String) -> String {
    let asking = move || {
        let mut stream = TcpStream::connect(proxy).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::task::spawn_blocking(asking).await.unwrap()
}

fn proxy(hosts: &[&str]) -> (SandboxProxy, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let proxy = SandboxProxy::serve(listener, Hosts::new(hosts.iter().map(|host| (*host).to_owned()))).unwrap();
    (proxy, place)
}

const SECOND: &str =
    "GET http://HOST/second HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /third HTTP/1.1\r\nHost: evil.example\r\n\r\n";

#[tokio::test]
async fn a_second_request_on_a_connection_reaches_nobody() {
    for (fields, body, end) in [
        ("", "", "Connection: close\r\n\r\n"),
        ("Content-Length: 5\r\n", "hello", "hello"),
        ("content-length:\t0\r\n", "", "Connection: close\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\nA: b\r\n\r\n", "you\r\n0\r\n\r\n"),
        ("Connection: keep-alive\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\n", "", "Connection: close\r\n\r\n"),
    ] {
        let (place, heard) = host(end);
        let (_proxy, door) = proxy(&[&place]);
        let first = format!("POST http://{place}/first HTTP/1.1\r\nHost: evil.example\r\n{fields}\r\n{body}");
        let said = answer(door, first + &SECOND.replace("HOST", &place)).await;
        assert!(said.ends_with("\r\n\r\nok"), "{fields}: {said}");
        let heard = tokio::task::spawn_blocking(|| heard.join().unwrap()).await.unwrap();
        assert!(
            heard.starts_with("POST /first HTTP/1.1\r\n") && heard.contains(&format!("Host: {place}\r\n")),
            "{heard}"
        );
        for word in ["evil", "second", "third", "Upgrade", "keep-alive", "x=y"] {
            assert!(!heard.contains(word), "{fields}: {word} in {heard}");
        }
        assert!(heard.ends_with(end), "{heard}");
    }
}

#[tokio::test]
async fn a_length_that_two_readers_could_understand_differently_is_refused() {
    for fields in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Content-Length:\r\n",
        "no colon\r\n",
        "A: b\r\n Content-Length: 5\r\n",
    ] {
        let (_proxy, door) = proxy(&["127.0.0.1:9"]);
        let said = answer(door, format!("POST http://127.0.0.1:9/ HTTP/1.1\r\n{fields}\r\nhello")).await;
        assert!(said.starts_with("HTTP/1.1 400 "), "{fields}: {said}");
    }
}
