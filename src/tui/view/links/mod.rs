//! Web addresses on screen, so that the terminal can open them.
//!
//! Owns finding them in what was drawn, and the places of labels that lead somewhere. Leaves what may be opened to
//! `target`, and telling the terminal to `terminal`. Invariants: a link leads where its text says, or the address it
//! leads to stands beside it; what is drawn over a link is none; an address of which a part is not seen is none.

mod target;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::super::terminal::Link;
use super::markdown::Label;
use super::wrap::{TextEnd, end_of};
use target::{LONGEST, begins, is_sign, trimmed};
pub(super) use target::{Target, addresses, says, target_of};

/// What those who draw text know of the links in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LinkSpans {
    /// Labels, each with what was drawn of it.
    labels: Vec<(Link, String)>,
    /// Rows whose last word goes on in the next row.
    joined: Vec<Rect>,
}

impl LinkSpans {
    pub(super) fn row(&mut self, line: &Line<'_>, row: Rect) {
        if end_of(line) == TextEnd::Joined {
            self.joined.push(row);
        }
    }

    pub(super) fn label(&mut self, label: &Label, row: Rect, buf: &Buffer) {
        let from = label.columns.start.min(row.width);
        let to = label.columns.end.min(row.width);
        let area = Rect { x: row.x + from, width: to - from, ..row }.intersection(buf.area);
        if !area.is_empty() {
            self.labels.push((Link { area, url: label.target.to_string() }, drawn(area, buf)));
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.labels.extend(other.labels);
        self.joined.extend(other.joined);
    }

    /// Adds the labels that are still seen, and the addresses in the areas outside of them.
    pub(super) fn links(self, areas: impl Iterator<Item = Rect>, buf: &Buffer, links: &mut Vec<Link>) {
        let mut found = Vec::new();
        areas.for_each(|area| find(area, &self.joined, buf, &mut found));
        let labels = self.labels.into_iter().filter(|(link, text)| drawn(link.area, buf) == *text);
        links.extend(labels.map(|(link, _)| link));
        let labels = links.len();
        for link in found {
            if !links[..labels].iter().any(|label| label.area.intersects(link.area)) {
                links.push(link);
            }
        }
        links.sort_by_key(|link| (link.area.y, link.area.x));
    }
}

fn drawn(area: Rect, buf: &Buffer) -> String {
    area.positions().map(|at| buf[at].symbol()).collect()
}

/// Adds the addresses in a drawn text. One that reaches the end of a joined row goes on in the next.
fn find(area: Rect, joined: &[Rect], buf: &Buffer, links: &mut Vec<Link>) {
    let area = area.intersection(buf.area);
    let goes_on = |y: u16| joined.iter().any(|row| row.y == y && row.intersects(area));
    let mut open: Option<Vec<(Rect, String)>> = None;
    for y in area.y..area.bottom() {
        let mut x = area.x;
        if let Some(mut parts) = open.take() {
            x += indent(area, y, buf);
            let (end, text) = run(area, x, y, buf);
            parts.push((Rect { x, y, width: end - x, height: 1 }, text));
            x = end;
            if end == area.right() && goes_on(y) { open = Some(parts) } else { close(&parts, links) }
        }
        while x < area.right() {
            if buf[(x, y)].symbol() != "h" {
                x += 1;
                continue;
            }
            let (end, text) = run(area, x, y, buf);
            if !begins(&text) {
                x += 1;
                continue;
            }
            let cut = buf.cell((end, y)).is_some_and(|cell| end < area.right() && cell.symbol() == "…");
            let parts = vec![(Rect { x, y, width: end - x, height: 1 }, text)];
            if end == area.right() && goes_on(y) {
                open = Some(parts);
            } else if !cut {
                close(&parts, links);
            }
            x = end;
        }
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
            [sign] if is_sign(*sign) => text.push(char::from(*sign)),
            _ => break,
        }
        x += 1;
    }
    (x, text)
}

/// Adds an address without the signs of the sentence around it.
fn close(parts: &[(Rect, String)], links: &mut Vec<Link>) {
    let whole: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    let url = trimmed(&whole);
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
