//! Model servers on this machine that the user has named, and whose they are.
//!
//! Owns the record of them and the look at who listens on a port. Leaves finding servers to `provider`. Invariant: a
//! server of which anything is unknown counts as never named. Any process of any user can listen on a port, and what
//! answers there gets to read the project.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use reqwest::Url;

use crate::message::sanitize_line;
use crate::session::append_line;
use crate::whole_file::open_plain;

const MAX_RECORD_BYTES: u64 = 64 << 10;
const MAX_TABLE_BYTES: u64 = 16 << 20;
/// Characters of the longest name of a model that is shown.
const MAX_MODEL_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// What kind of server it is taken for, such as `llamacpp`.
    name: String,
    address: String,
    /// Whose process listens; `None` if that is not known.
    uid: Option<u32>,
}

impl ServerIdentity {
    /// Looks at who listens at an address.
    #[must_use]
    pub fn of(name: &str, base: &Url) -> Self {
        let port = base.port_or_known_default();
        let uid = port.filter(|_| is_this_machine(base)).and_then(|port| {
            let [four, six] = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| read(Path::new(table), MAX_TABLE_BYTES));
            listener_uid(&four?, &six.unwrap_or_default(), port)
        });
        let address = format!("{}:{}", base.host_str().unwrap_or_default(), port.unwrap_or_default());
        Self { name: name.to_owned(), address, uid }
    }

    fn line(&self) -> Option<String> {
        Some(format!("{} {} {}", self.name, self.address, self.uid?))
    }

    /// Says what was found and how to use it.
    pub fn question(&self, model: &str) -> String {
        let model: String = sanitize_line(model).chars().take(MAX_MODEL_CHARS).collect();
        let Self { name, address, .. } = self;
        format!(
            "A model server answers on {address} ({name}, model {model}; runs as {}). It has not been used before: to use it, \
             type /model {name}, or start with --model {name}.",
            self.owner()
        )
    }

    fn owner(&self) -> String {
        let Some(uid) = self.uid else { return "an unknown user".to_owned() };
        if uid == nix::unistd::geteuid().as_raw() {
            return "you".to_owned();
        }
        let account = nix::unistd::User::from_uid(uid.into()).ok().flatten();
        account.map_or_else(|| format!("user {uid}"), |account| sanitize_line(&account.name).into_owned())
    }
}

/// Servers that the user has named before.
#[derive(Debug, Clone)]
pub struct KnownServers(Option<PathBuf>);

impl KnownServers {
    /// Returns the record in the state directory; without one nothing is known.
    #[must_use]
    pub fn new(state_dir: Option<&Path>) -> Self {
        Self(state_dir.map(|dir| dir.join("servers")))
    }

    /// Returns `true` if the user has named this server before.
    pub fn hold(&self, server: &ServerIdentity) -> bool {
        let record = self.0.as_deref().and_then(|file| read(file, MAX_RECORD_BYTES)).unwrap_or_default();
        server.line().is_some_and(|line| record.lines().any(|known| known == line))
    }

    /// Records that the user has named this server. If that fails, the user is asked again.
    pub fn remember(&self, server: &ServerIdentity) {
        let (Some(file), Some(line)) = (&self.0, server.line()) else { return };
        if self.hold(server) {
            return;
        }
        if let Err(error) = append_line(file, &line) {
            tracing::warn!(%error, "a model server that was named cannot be kept");
        }
    }
}

pub(super) fn read(file: &Path, max: u64) -> Option<String> {
    let mut text = String::new();
    open_plain(file).ok()?.take(max).read_to_string(&mut text).ok()?;
    Some(text)
}

fn is_this_machine(base: &Url) -> bool {
    matches!(base.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
}

/// Returns whose process listens on a port of this machine, from the tables of TCP sockets that Linux has. Of several
/// listeners the one with the address itself is meant; otherwise they have to be of one user.
pub fn listener_uid(four: &str, six: &str, port: u16) -> Option<u32> {
    let all: Vec<(IpAddr, u32)> = four.lines().chain(six.lines()).filter_map(|line| listener(line, port)).collect();
    let own = all.iter().filter(|(address, _)| address.to_canonical().is_loopback());
    let everywhere = all.iter().filter(|(address, _)| address.is_unspecified());
    let uids = |uids: &mut dyn Iterator<Item = &(IpAddr, u32)>| -> Vec<u32> { uids.map(|(_, uid)| *uid).collect() };
    let meant = Some(uids(&mut own.into_iter())).filter(|own| !own.is_empty());
    let meant = meant.unwrap_or_else(|| uids(&mut everywhere.into_iter()));
    let first = *meant.first()?;
    meant.iter().all(|uid| *uid == first).then_some(first)
}

/// Reads one line of a table: address and user of a socket that listens on the port.
fn listener(line: &str, port: u16) -> Option<(IpAddr, u32)> {
    const LISTENING: &str = "0A";
    let mut fields = line.split_whitespace();
    let (address, own_port) = fields.nth(1)?.split_once(':')?;
    let state = fields.nth(1)?;
    let uid = fields.nth(3)?.parse().ok()?;
    let is_it = state == LISTENING && u16::from_str_radix(own_port, 16).ok()? == port;
    is_it.then_some((parsed(address)?, uid))
}

/// Reads an address as the kernel writes it: words of four bytes in the order of this machine.
fn parsed(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}
