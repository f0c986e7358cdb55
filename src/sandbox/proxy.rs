//! The way out of the sandbox: a proxy that lets through what goes to hosts on a list.
//!
//! A sandbox has a network of its own, where nothing answers but what runs inside, and this. Owns the requests that a
//! proxy gets (RFC 9110, section 9.3.6, and `http://` addresses in full), which hosts are on the list, and keeping what was
//! refused. Invariants: a public name that leads to this machine or its neighbours is refused;
//! a way that was asked for leads to one host for good; of other connections one request is handed on, and nothing after it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::request_body::RequestBody;
use crate::message::{HostPort, is_host_below, is_near};

/// The port of the proxy inside, where all ports are free.
pub(super) const PORT: u16 = 3128;
/// Bytes of a request's head.
const MAX_HEAD: usize = 32 << 10;
const HEAD_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// Connections of one command at the same time.
const MAX_CONNECTIONS: usize = 256;
/// Hosts that are remembered as refused.
const MAX_REFUSED: usize = 20;

/// Hosts that commands may reach: `example.com`, with a port `example.com:8080`, or `*.example.com` for all below.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

impl Hosts {
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub(super) fn add(&mut self, name: &str) {
        let name = name.to_ascii_lowercase();
        if !self.0.contains(&name) {
            self.0.push(name);
        }
    }

    /// Returns `true` if a name can stand on the list.
    #[must_use]
    pub fn is_host(name: &str) -> bool {
        let (host, port) = name.rsplit_once(':').map_or((name, None), |(host, port)| (host, Some(port)));
        let host = host.strip_prefix("*.").unwrap_or(host);
        is_plain(host) && !host.starts_with('.') && port.is_none_or(|port| port.parse::<u16>().is_ok())
    }

    /// Returns the list with more hosts.
    #[must_use]
    pub fn with(mut self, more: &[HostPort]) -> Self {
        for host in more {
            self.add(&host.to_string());
        }
        self
    }

    /// Says how the list has a host; `None` if it has not.
    pub fn entry(&self, place: &HostPort) -> Option<HostEntry> {
        let (host, port) = (place.host(), place.port());
        let covers = |name: &&String| {
            let (name, own) = name.rsplit_once(':').map_or((name.as_str(), None), |(name, own)| (name, Some(own)));
            own.is_none_or(|own| own == port.to_string())
                && match name.strip_prefix("*.") {
                    Some(top) => is_host_below(top, host),
                    None => name == host,
                }
        };
        let found = self.0.iter().find(covers)?;
        Some(if place.is_own() && !found.starts_with("*.") { HostEntry::Own } else { HostEntry::Public })
    }
}

/// How a list has a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEntry {
    /// An address, or a name that only this machine or its network knows.
    Own,
    Public,
}

/// The proxy of one command. It ends when it is dropped.
#[derive(Debug)]
pub struct SandboxProxy {
    refused: Arc<Mutex<Vec<HostPort>>>,
    _task: AbortOnDropHandle<()>,
}

impl SandboxProxy {
    /// Serves what connects to a socket that listens inside.
    pub fn serve(listener: std::net::TcpListener, hosts: Hosts) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let refused = Arc::<Mutex<Vec<HostPort>>>::default();
        let door = Arc::new(Door { hosts, refused: refused.clone() });
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while open.try_join_next().is_some() {}
                if open.len() >= MAX_CONNECTIONS {
                    open.join_next().await;
                }
                let door = door.clone();
                open.spawn(async move { door.serve(stream).await });
            }
        });
        Ok(Self { refused, _task: AbortOnDropHandle::new(task) })
    }

    /// Returns the hosts that were asked for and refused, in the order in which that happened.
    pub fn refused(&self) -> Vec<HostPort> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Door {
    hosts: Hosts,
    refused: Arc<Mutex<Vec<HostPort>>>,
}

/// The first request of a connection.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    place: HostPort,
    /// What the host gets of the head; nothing if only a way to it is asked for.
    head: Vec<u8>,
    /// What follows the head; `None` if only a way is asked for.
    body: Option<RequestBody>,
}

impl Door {
    async fn serve(&self, mut inside: TcpStream) -> Option<()> {
        let (head, rest) = timeout(HEAD_LIMIT, read_head(&mut inside)).await.ok()?.ok()??;
        let Some(request) = Request::parse(&head) else {
            return answer(&mut inside, "400 Bad Request", "This proxy takes CONNECT, and http:// addresses in full.")
                .await;
        };
        let place = &request.place;
        let mut outside = match self.reach(&request).await {
            Ok(stream) => stream,
            Err(Refusal::NotListed) => {
                self.note(place);
                let words = format!("The sandbox refuses {place}: network is unreachable from inside.");
                return answer(&mut inside, "403 Forbidden", &words).await;
            }
            Err(Refusal::Failed(error)) => {
                return answer(&mut inside, "502 Bad Gateway", &format!("Cannot reach {place}: {error}.")).await;
            }
        };
        if request.head.is_empty() {
            inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
        }
        let Some(body) = &request.body else {
            outside.write_all(&rest).await.ok()?;
            return copy_bidirectional(&mut inside, &mut outside).await.ok().map(drop);
        };
        let (mut from, mut to) = inside.split();
        let (mut answer, mut out) = outside.split();
        let mut said = BufReader::new(rest.as_slice().chain(&mut from));
        let telling = async {
            out.write_all(&request.head).await?;
            body.send(&mut said, &mut out).await
        };
        let answering = tokio::io::copy(&mut answer, &mut to);
        let (mut telling, mut answering) = (std::pin::pin!(telling), std::pin::pin!(answering));
        tokio::select! {
            // Whatever else comes on this connection is not handed on.
            told = &mut telling => told.ok()?,
            answered = &mut answering => return answered.ok().map(drop),
        }
        answering.await.ok().map(drop)
    }

    fn note(&self, place: &HostPort) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSED && !refused.contains(place) {
            refused.push(place.clone());
        }
    }

    async fn reach(&self, request: &Request) -> Result<TcpStream, Refusal> {
        let entry = self.hosts.entry(&request.place).ok_or(Refusal::NotListed)?;
        let connecting = async {
            let found = tokio::net::lookup_host((request.place.host(), request.place.port())).await?;
            let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
            for address in found {
                if is_near(address.ip()) && entry != HostEntry::Own {
                    last = io::Error::new(io::ErrorKind::PermissionDenied, "it leads to this machine or its network");
                    continue;
                }
                match TcpStream::connect(address).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        let late = || Err(io::ErrorKind::TimedOut.into());
        timeout(CONNECT_LIMIT, connecting).await.unwrap_or_else(|_| late()).map_err(Refusal::Failed)
    }
}

enum Refusal {
    NotListed,
    Failed(io::Error),
}

/// Reads up to the blank line that ends a head. Returns it, and what came after it.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(Some((bytes, rest)));
        }
        if bytes.len() > MAX_HEAD || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, status: &str, words: &str) -> Option<()> {
    let length = words.len() + 1;
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close");
    stream.write_all(format!("{head}\r\n\r\n{words}\n").as_bytes()).await.ok()
}

impl Request {
    fn parse(head: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let (line, fields) = head.split_once("\r\n")?;
        let [method, target, version] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        if !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            return Some(Self { place: place_of(target, None)?, head: Vec::new(), body: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let place = place_of(authority, Some(80))?;
        // What the next reader could take for another field.
        if fields.split("\r\n").any(|field| field.starts_with([' ', '\t']) || field.contains(['\r', '\n'])) {
            return None;
        }
        let body = RequestBody::of(fields)?;
        // What is between us, what would keep the connection for a request to somebody else, and a name that need not be
        // the one on the list: behind an address there may be several hosts.
        let is_ours = |field: &&str| {
            let name = field.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            let is_known =
                matches!(name.as_str(), "" | "connection" | "keep-alive" | "host" | "upgrade" | "trailer" | "te");
            !is_known && !name.starts_with("proxy-")
        };
        let fields: String = fields.split("\r\n").filter(is_ours).map(|field| format!("{field}\r\n")).collect();
        let path = if path.is_empty() { "/" } else { path };
        let named = if place.port() == 80 { place.host().to_owned() } else { place.to_string() };
        let head =
            format!("{method} {path} {version}\r\nHost: {named}\r\n{fields}Connection: close\r\n\r\n").into_bytes();
        Some(Self { place, head, body: Some(body) })
    }
}

fn place_of(authority: &str, port: Option<u16>) -> Option<HostPort> {
    // A name and a password before the host are for nobody.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, port?),
    };
    HostPort::new(host, port)
}

/// Returns `true` if nothing in a host's name could mean something else to whoever reads it next.
fn is_plain(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
}
