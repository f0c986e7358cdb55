//! Web addresses on screen, so that the terminal can open them.
//!
//! Owns finding them in what was drawn. Leaves telling the terminal to `terminal`. Invariant: a link leads where its
//! text says, because it is found in that text; whatever a model gives as target of other words, it shows beside them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::terminal::Link;

/// What an address begins with.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// Longest address that is a link.
const LONGEST: usize = 2_000;

/// Adds the addresses in a drawn text. One that reaches the end of a row goes on in the next.
pub(super) fn find(area: Rect, buf: &Buffer, links: &mut Vec<Link>) {
    let area = area.intersection(buf.area);
    let mut open: Option<Vec<(Rect, String)>> = None;
    for y in area.y..area.bottom() {
        let mut x = area.x;
        if let Some(mut parts) = open.take() {
            x += indent(area, y, buf);
            let (end, text) = run(area, x, y, buf);
            parts.push((Rect { x, y, width: end - x, height: 1 }, text));
            x = end;
            if end == area.right() { open = Some(parts) } else { close(&parts, links) }
        }
        while x < area.right() {
            if !begins(area, x, y, buf) {
                x += 1;
                continue;
            }
            let (end, text) = run(area, x, y, buf);
            let parts = vec![(Rect { x, y, width: end - x, height: 1 }, text)];
            if end == area.right() {
                open = Some(parts);
            } else {
                close(&parts, links);
            }
            x = end;
        }
    }
    if let Some(parts) = open {
        close(&parts, links);
    }
}

/// Tells whether an address begins at a cell.
fn begins(area: Rect, x: u16, y: u16, buf: &Buffer) -> bool {
    buf[(x, y)].symbol() == "h" && {
        let (_, text) = run(area, x, y, buf);
        SCHEMES.iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
    }
}

/// Returns the columns before the text of a row.
fn indent(area: Rect, y: u16, buf: &Buffer) -> u16 {
    let blanks = (area.x..area.right()).take_while(|x| buf[(*x, y)].symbol() == " ").count();
    u16::try_from(blanks).unwrap_or(0)
}

/// Returns the signs of an address from a cell on, and where they end.
fn run(area: Rect, from: u16, y: u16, buf: &Buffer) -> (u16, String) {
    let mut text = String::new();
    let mut x = from;
    while x < area.right() {
        match buf[(x, y)].symbol().as_bytes() {
            [sign] if sign.is_ascii_graphic() && !b"<>\"`{}|\\^".contains(sign) => text.push(char::from(*sign)),
            _ => break,
        }
        x += 1;
    }
    (x, text)
}

/// Adds an address without the signs of the sentence around it.
fn close(parts: &[(Rect, String)], links: &mut Vec<Link>) {
    let whole: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    let mut url = whole.as_str();
    loop {
        let closing = url.ends_with(')') && url.matches('(').count() < url.matches(')').count();
        match url.strip_suffix(['.', ',', ':', ';', '!', '?', '\'', '*', '_', ']']) {
            Some(shorter) => url = shorter,
            None if closing => url = &url[..url.len() - 1],
            None => break,
        }
    }
    if url.len() > LONGEST {
        return;
    }
    let mut left = u16::try_from(url.len()).unwrap_or(0);
    for (area, _) in parts {
        let area = Rect { width: area.width.min(left), ..*area };
        left -= area.width;
        if !area.is_empty() {
            links.push(Link { area, url: url.to_owned() });
        }
    }
}
