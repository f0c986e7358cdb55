//! A server on loopback that answers as a test tells it, and keeps what it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, Response, StatusCode};
use futures::{Stream, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::support::read_request;

/// A request as it came in.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    /// Port of the client's end of the connection.
    pub(super) peer: u16,
}

/// How to answer.
#[derive(Clone)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Piece>,
}

/// A part of an answer's body.
#[derive(Clone)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// Nothing more comes, and the connection stays open.
    Stall,
}

impl Reply {
    pub(super) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", kind.to_owned())];
        Self { status, headers, pieces: vec![Piece::Bytes(body.into())] }
    }

    pub(super) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    pub(super) fn then(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

pub(super) struct Server {
    pub(super) base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Fires when the client has gone away from an answer that was not over.
    pub(super) gone: Option<oneshot::Receiver<()>>,
}

struct Gone(Option<oneshot::Sender<()>>);

impl Drop for Gone {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(());
        }
    }
}

impl Server {
    /// Starts a server that gives every request the same answer.
    pub(super) async fn start(reply: Reply) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (sender, gone) = oneshot::channel();
        let gone_sender = Arc::new(Mutex::new(Some(sender)));
        let record = Arc::clone(&seen);
        let answer = move |ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request| {
            let (reply, record, gone) = (reply.clone(), Arc::clone(&record), Arc::clone(&gone_sender));
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
                let body = String::from_utf8(body.to_vec()).expect("UTF-8");
                let path = parts.uri.path().to_owned();
                let query = parts.uri.query().map(str::to_owned);
                record.lock().expect("lock").push(Seen {
                    path,
                    query,
                    headers: parts.headers,
                    body,
                    peer: peer.port(),
                });
                let gone = Gone(gone.lock().expect("lock").take());
                respond(reply, gone)
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let app = Router::new().fallback(answer).into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { base, seen, gone: Some(gone) }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("lock").clone()
    }
}

fn respond(reply: Reply, gone: Gone) -> Response<Body> {
    let mut response = Response::builder().status(StatusCode::from_u16(reply.status).expect("a status"));
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from_stream(body(reply.pieces, gone))).expect("a response")
}

fn body(pieces: Vec<Piece>, gone: Gone) -> impl Stream<Item = Result<Vec<u8>, Infallible>> {
    futures::stream::iter(pieces).then(move |piece| {
        let _ = &gone;
        async move {
            match piece {
                Piece::Bytes(bytes) => Ok(bytes),
                Piece::Stall => std::future::pending().await,
            }
        }
    })
}

/// Starts a server that answers one request with these bytes and then breaks the connection.
pub(super) async fn break_off(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        read_request(&mut socket).await.expect("a request");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer = [head.as_bytes(), format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
        socket.write_all(&answer).await.expect("written");
    });
    base
}

/// Starts a server that keeps a connection after its answer and closes it when the next request has come. Counts the
/// requests.
pub(super) async fn close_after_each(bytes: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (bytes, counted) = (bytes.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                if read_request(&mut socket).await.is_none() {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
                let answer = [format!("{head}content-length: {}\r\n\r\n", bytes.len()).as_bytes(), &bytes].concat();
                socket.write_all(&answer).await.expect("written");
                if read_request(&mut socket).await.is_some() {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (base, count)
}
