//! Which addresses are of this machine, or of networks around it.
//!
//! Invariant: an address that is written as one of another kind is judged by where it leads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns `true` for addresses of this machine and of networks around it, and for those that lead to no single machine
/// (the registries of RFC 6890, RFC 1112 and RFC 6598).
#[must_use]
pub fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_near_v4(v4),
        IpAddr::V6(v6) => v6.to_ipv4_mapped().or_else(|| translated(v6)).map_or_else(|| is_near_v6(v6), is_near_v4),
    }
}

fn is_near_v6(v6: Ipv6Addr) -> bool {
    let [first, second, third, ..] = v6.segments();
    // Site-local addresses (RFC 3879) are no longer given out, but still routed by some.
    let is_site_local = first & 0xffc0 == 0xfec0;
    // A network's own translation (RFC 8215) leads to whatever it likes.
    let is_translated_here = (first, second, third) == (0x64, 0xff9b, 1);
    is_site_local
        || is_translated_here
        || v6.is_loopback()
        || v6.is_unspecified()
        || v6.is_unique_local()
        || v6.is_unicast_link_local()
        || v6.is_multicast()
}

fn is_near_v4(v4: Ipv4Addr) -> bool {
    let [first, second, third, _] = v4.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    let is_for_protocols = (first, second, third) == (192, 0, 0);
    let is_for_tests_between = first == 198 && second & 0xfe == 18;
    first == 0
        || first >= 240
        || is_shared
        || is_for_protocols
        || is_for_tests_between
        || v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_multicast()
}

/// Returns the address that one of NAT64 (RFC 6052), of 6to4 (RFC 3056) or of Teredo (RFC 4380), or a compatible one
/// (RFC 4291, section 2.5.5.1) leads to.
fn translated(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let four = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(four(high, low)),
        // Teredo writes the client's address with its bits turned over.
        [0x2001, 0, _, _, _, _, high, low] => Some(four(!high, !low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(four(high, low)),
        _ => None,
    }
}
