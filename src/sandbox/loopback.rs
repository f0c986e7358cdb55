//! The one interface of a network of its own: programs talk to themselves there.
//!
//! Owns one message to the kernel, in the format of rtnetlink(7): a `nlmsghdr` and an `ifinfomsg`.

use std::io;
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket};

/// Bytes of the header and of the message together.
const LENGTH: u8 = 32;
const RTM_NEWLINK: u16 = 16;
/// It is a request, and is to be answered.
const REQUEST_AND_ACK: u16 = 0x1 | 0x4;
const IFF_UP: u32 = 0x1;
/// The interface `lo` has this number in every network.
const LOOPBACK: u32 = 1;
const NLMSG_ERROR: u16 = 2;

/// Brings the loopback interface up.
pub(super) fn up() -> io::Result<()> {
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut message = [0; LENGTH as usize];
    message[..4].copy_from_slice(&u32::from(LENGTH).to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_AND_ACK.to_ne_bytes());
    message[20..24].copy_from_slice(&LOOPBACK.to_ne_bytes());
    // The flags, and which of them are meant.
    message[24..28].copy_from_slice(&IFF_UP.to_ne_bytes());
    message[28..32].copy_from_slice(&IFF_UP.to_ne_bytes());
    sendto(netlink.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 256];
    let count = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let (kind, code) = (u16::from_ne_bytes([answer[4], answer[5]]), [answer[16], answer[17], answer[18], answer[19]]);
    match i32::from_ne_bytes(code) {
        0 if count >= 20 && kind == NLMSG_ERROR => Ok(()),
        code if count >= 20 && kind == NLMSG_ERROR => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
