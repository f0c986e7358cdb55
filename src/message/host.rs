//! A host and a port that a program wants to reach.
//!
//! Owns which names are hosts, and the one way each is written. Leaves which addresses are near to `address`. Invariant: no
//! two spellings of one host are two hosts: letters are small and of ASCII, addresses are written in full.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::is_near;

/// Characters of a name, and of each part of it (RFC 1035, section 2.3.4).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Where a connection goes, written as `example.com:443`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    host: String,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host with a port, such as `example.com:443`")]
pub struct HostError(String);

impl HostPort {
    /// Returns `None` if it is no name of a host. Of names in other letters, only their code is one.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Option<Self> {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=MAX_LABEL).contains(&label.len())
                && !label.starts_with('-')
                && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        };
        if host.len() > MAX_NAME || !host.split('.').all(is_label) {
            return None;
        }
        // A resolver takes such a name for an address, in whatever form.
        let last = host.rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
        let host = if is_number { address(&host)?.to_string() } else { host };
        Some(Self { host, port })
    }

    /// Reads what people write: an address with `http://` or `https://`, `host:port`, or a name with a dot in it. Returns
    /// `None` for what rather is a path.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let schemes = [("https://", 443), ("http://", 80)];
        let found = schemes.iter().find_map(|(scheme, port)| Some((text.strip_prefix(scheme)?, *port)));
        let (authority, port) = match found {
            Some((rest, port)) => (rest.split(['/', '?', '#']).next()?, port),
            None => (text, 443),
        };
        let (host, own) = authority.rsplit_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
        let is_meant = found.is_some() || own.is_some() || host.trim_matches('.').contains('.');
        let port = own.map_or(Some(port), |own| own.parse().ok())?;
        Self::new(host, port).filter(|_| is_meant)
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns `true` for an address, and for a name that only this machine or its network knows. Where any other name
    /// leads, somebody else says.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok() || is_near_name(&self.host)
    }

    /// Says what a host is that is not what it may look like.
    #[must_use]
    pub fn about(&self) -> Option<&'static str> {
        let address = self.host.parse::<IpAddr>().ok();
        let is_here = address.map_or_else(
            || self.host == "localhost" || self.host.ends_with(".localhost"),
            |address| address.is_loopback() || address.is_unspecified(),
        );
        match address {
            _ if is_here => Some("this machine"),
            Some(address) => is_near(address).then_some("an address of your own network"),
            None if is_near_name(&self.host) => Some("a name of your own network"),
            None => self.host.split('.').any(|label| label.starts_with("xn--")).then_some("a name in other letters"),
        }
    }

    /// Returns it with what there is to say about it.
    #[must_use]
    pub fn described(&self) -> String {
        self.about().map_or_else(|| self.to_string(), |about| format!("{self} ({about})"))
    }
}

/// Returns `true` for names that only this machine or its network knows.
#[must_use]
pub fn is_near_name(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_near = matches!(
        last,
        "localhost" | "localdomain" | "local" | "internal" | "intranet" | "private" | "lan" | "home" | "corp"
    );
    // RFC 8375.
    is_near || !host.contains('.') || is_host_below(host, "home.arpa")
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for HostPort {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.rsplit_once(':').and_then(|(host, port)| Self::new(host, port.parse().ok()?));
        parsed.ok_or_else(|| HostError(text.to_owned()))
    }
}

impl TryFrom<String> for HostPort {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<HostPort> for String {
    fn from(host: HostPort) -> Self {
        host.to_string()
    }
}

/// Returns `true` if a host lies below another in the tree of names.
#[must_use]
pub fn is_host_below(top: &str, host: &str) -> bool {
    host.strip_suffix(top).is_some_and(|rest| rest.ends_with('.'))
}

/// Reads an address as inet_aton(3) does: one to four numbers, in tens, eights or sixteens, of which the last fills what is
/// left.
fn address(text: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|byte| *byte > 255) {
        return None;
    }
    let left = u32::BITS - 8 * u32::try_from(first.len()).ok()?;
    if left < u32::BITS && last >> left != 0 {
        return None;
    }
    let high = first.iter().zip([24, 16, 8]).fold(0, |high, (byte, shift)| high | byte << shift);
    Some(Ipv4Addr::from(high | last))
}
