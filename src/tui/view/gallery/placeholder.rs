//! The cells of a frame that show parts of pictures.
//!
//! Owns their signs, and finding which parts of which pictures a frame has left visible. Leaves the pixels to `painting`.
//! Invariant: what is found of a picture are whole rows, each with all of its cells.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::theme::{picture_id, picture_style, without_picture};
use super::ShownPicture;

/// Columns before a picture.
pub(super) const INDENT: u16 = 2;
/// The sign of a cell that shows a part of a picture.
pub(in crate::tui::view) const PLACEHOLDER: char = '\u{10eeee}';
/// The marks that count rows and columns, as the protocol of kitty orders them.
const MARKS: [char; 64] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}', '\u{346}', '\u{34a}',
    '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}', '\u{35b}', '\u{363}', '\u{364}', '\u{365}',
    '\u{366}', '\u{367}', '\u{368}', '\u{369}', '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}',
    '\u{483}', '\u{484}', '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}', '\u{59f}', '\u{5a0}', '\u{5a1}', '\u{5a8}', '\u{5a9}',
    '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}', '\u{610}', '\u{611}', '\u{612}', '\u{613}', '\u{614}', '\u{615}',
    '\u{616}', '\u{617}', '\u{657}', '\u{658}',
];

/// Returns the rows of a picture: each of its cells is a sign with marks for its row and its column, in a color that names
/// the picture.
pub(super) fn lines(picture: ShownPicture) -> impl Iterator<Item = Line<'static>> {
    let ShownPicture { id, columns, rows } = picture;
    let row = move |row: char| -> Line<'static> {
        let cells = MARKS[..usize::from(columns)].iter().flat_map(|column| [PLACEHOLDER, row, *column]).collect();
        Line::from(vec![Span::raw(" ".repeat(INDENT.into())), Span::styled::<String, _>(cells, picture_style(id))])
    };
    MARKS[..usize::from(rows)].iter().map(move |mark| row(*mark))
}

/// Rows of a picture that a frame shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VisiblePart {
    pub(super) id: u32,
    pub(super) rows: Range<u16>,
    pub(super) area: Rect,
}

/// Takes the signs out of a frame, which leaves blanks, and returns what they showed. `columns` are those of a picture by its
/// id. A row of which something is covered is not shown, nor is the last row of the screen: painting there would move all
/// others up.
pub(super) fn take_visible(buf: &mut Buffer, columns: impl Fn(u32) -> Option<u16>) -> Vec<VisiblePart> {
    let mut parts: Vec<VisiblePart> = Vec::new();
    let area = buf.area;
    for y in area.y..area.bottom() {
        let mut x = area.x;
        while x < area.right() {
            let Some(first) = sign_at(buf, x, y) else {
                x += 1;
                continue;
            };
            let follows = |next: &u16| {
                let expected = SignOf { column: next - x + first.column, ..first };
                sign_at(buf, *next, y) == Some(expected)
            };
            let length = (x..area.right()).take_while(follows).count();
            let length = u16::try_from(length).unwrap_or(1).max(1);
            let is_whole = first.column == 0 && columns(first.id) == Some(length);
            if is_whole && y + 1 < area.bottom() {
                add(&mut parts, first, Rect { x, y, width: length, height: 1 });
            }
            for x in x..x + length {
                buf[(x, y)].set_symbol(" ").set_style(without_picture());
            }
            x += length;
        }
    }
    parts
}

/// Adds a row to the part that it goes on, or begins another one.
fn add(parts: &mut Vec<VisiblePart>, sign: SignOf, row: Rect) {
    let goes_on = |part: &&mut VisiblePart| {
        let below = (part.area.x, part.area.bottom(), part.area.width);
        part.id == sign.id && part.rows.end == sign.row && below == (row.x, row.y, row.width)
    };
    match parts.iter_mut().find(goes_on) {
        Some(part) => {
            part.rows.end += 1;
            part.area.height += 1;
        }
        None => parts.push(VisiblePart { id: sign.id, rows: sign.row..sign.row + 1, area: row }),
    }
}

/// What a cell shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SignOf {
    id: u32,
    row: u16,
    column: u16,
}

fn sign_at(buf: &Buffer, x: u16, y: u16) -> Option<SignOf> {
    let cell = buf.cell((x, y))?;
    let mut signs = cell.symbol().strip_prefix(PLACEHOLDER)?.chars();
    let mut number = || {
        let mark = signs.next()?;
        u16::try_from(MARKS.iter().position(|one| *one == mark)?).ok()
    };
    let (row, column) = (number()?, number()?);
    Some(SignOf { id: picture_id(cell)?, row, column })
}
