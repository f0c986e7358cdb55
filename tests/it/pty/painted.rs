//! Images on terminals that paint them over their cells: by sixel, and by the protocol of iTerm2.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Home;
use super::pictures::{is_answered, send_image};
use super::terminal::Terminal;

const SIXEL: &str = "\x1bP0;1;0q";
const ITERM: &str = "\x1b]1337;File=";
/// What stands for the pixels of an image.
const PIXELS: char = '█';

/// Starts the program in a project with an image of 200×160 pixels, on a terminal of this kind. Cells have 10×20 pixels.
fn start(home: &Home, project: &Path, env: &[(&str, &str)]) -> Terminal {
    std::fs::write(project.join("shot.png"), png()).unwrap();
    let env = [&[("HOME", home.path().to_str().unwrap())][..], env].concat();
    Terminal::start(100, 40, &["--model", "offline"], project, &env)
}

/// Starts it on a terminal that can draw sixel, with so many color registers.
fn start_sixel(home: &Home, project: &Path, registers: u16) -> Terminal {
    let terminal = start(home, project, &[("WT_SESSION", "x")]);
    terminal.writes("the question", |written| count(written, "\x1b[?1;1;0S\x1b[c") == 1);
    terminal.send(&format!("\x1b[?1;0;{registers}S\x1b[?61;4;6;22c"));
    terminal.shows("offline");
    terminal
}

/// Returns an image with a red half and one that goes from black to green; the lowest 20 rows on the right show nothing.
fn png() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 200, 160);
    encoder.set_color(png::ColorType::Rgba);
    let pixel = |at: u32| match (at % 200, at / 200) {
        (..100, _) => [255, 0, 0, 255],
        (_, 140..) => [9, 9, 9, 0],
        (column, _) => [0, u8::try_from((column - 100) * 255 / 99).unwrap(), 0, 255],
    };
    let data: Vec<u8> = (0..200 * 160).flat_map(pixel).collect();
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    bytes
}

fn count(written: &[u8], text: &str) -> usize {
    memchr::memmem::find_iter(written, text).count()
}

/// An image as it was painted.
struct Painted<'a> {
    columns: usize,
    rows: usize,
    body: &'a [u8],
}

/// Returns where the first image begins and ends in what was written.
fn first_image(written: &[u8]) -> Option<(usize, usize)> {
    let of = |beginning: &str, end: &str| {
        let start = memchr::memmem::find(written, beginning.as_bytes())?;
        let length = memchr::memmem::find(&written[start + 2..], end.as_bytes())?;
        Some((start, start + 2 + length + end.len()))
    };
    [of(SIXEL, "\x1b\\"), of(ITERM, "\x07")].into_iter().flatten().min()
}

fn image(sequence: &[u8]) -> Painted<'_> {
    if let Some(body) = sequence.strip_prefix(SIXEL.as_bytes()) {
        let (width, height) = size(body);
        return Painted { columns: width.div_ceil(10), rows: height.div_ceil(20), body };
    }
    let text = std::str::from_utf8(sequence).unwrap();
    let number = |key: &str| {
        let (_, after) = text.split_once(&format!(";{key}=")).unwrap();
        after[..after.find([';', ':']).unwrap()].parse().unwrap()
    };
    let body = &sequence[text.find(':').unwrap() + 1..sequence.len() - 1];
    Painted { columns: number("width"), rows: number("height"), body }
}

/// Returns width and height as a sixel's raster attributes say.
fn size(body: &[u8]) -> (usize, usize) {
    let attributes = body.strip_prefix(b"\"1;1;").unwrap();
    let end = attributes.iter().position(|byte| !byte.is_ascii_digit() && *byte != b';').unwrap();
    let (width, height) = std::str::from_utf8(&attributes[..end]).unwrap().split_once(';').unwrap();
    (width.parse().unwrap(), height.parse().unwrap())
}

/// Returns the screen of this size with a sign where an image's pixels are. They go where a cell is written, or all is
/// emptied.
fn screen(written: &[u8], (columns, rows): (u16, u16)) -> String {
    let begins = memchr::memmem::rfind(written, b"\x1b[2J").unwrap();
    let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    let mut rest = &written[begins..];
    while let Some((start, end)) = first_image(rest) {
        parser.process(&rest[..start]);
        let (y, x) = parser.screen().cursor_position();
        let painted = image(&rest[start..end]);
        for row in 0..painted.rows {
            let signs = PIXELS.to_string().repeat(painted.columns);
            parser.process(format!("\x1b[{};{}H{signs}", usize::from(y) + row + 1, x + 1).as_bytes());
        }
        rest = &rest[end..];
    }
    parser.process(rest);
    parser.screen().contents()
}

/// Returns how many rows show pixels. Each is as wide as the image, and no other row is between two of them.
fn rows(screen: &str) -> Option<usize> {
    let counts: Vec<usize> = screen.lines().map(|line| line.matches(PIXELS).count()).collect();
    let shown: Vec<usize> = (0..counts.len()).filter(|row| counts[*row] > 0).collect();
    let is_whole = shown.iter().all(|row| counts[*row] == 20) && shown.windows(2).all(|two| two[0] + 1 == two[1]);
    is_whole.then_some(shown.len())
}

/// Waits until the screen of this size is as wanted, pixels and all.
fn wait(terminal: &Terminal, size: (u16, u16), what: &str, is_so: impl Fn(&str) -> bool) -> String {
    let seen = std::panic::AssertUnwindSafe(|| terminal.writes(what, |written| is_so(&screen(written, size))));
    let is_seen = std::panic::catch_unwind(seen).is_ok();
    let screen = screen(&terminal.written(), size);
    assert!(is_seen, "{what}:\n{screen}");
    screen
}

/// Returns the pixels of a sixel in percent, `None` where it draws none, and how many colors it has.
fn decoded(body: &[u8]) -> (Vec<Option<[u32; 3]>>, usize) {
    let (width, height) = size(body);
    let mut pixels = vec![None; width * height.div_ceil(6) * 6];
    let mut colors = std::collections::BTreeMap::new();
    let (mut color, mut column, mut band, mut at) = (0, 0, 0, 0);
    let numbers = |at: &mut usize| -> Vec<u32> {
        let length = body[*at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        *at += length;
        let text = std::str::from_utf8(&body[*at - length..*at]).unwrap();
        text.split(';').map(|number| number.parse().unwrap()).collect()
    };
    while body[at] != 0x1b {
        let sign = body[at];
        at += 1;
        let mut repeats = 1;
        match sign {
            b'"' => drop(numbers(&mut at)),
            b'#' => match numbers(&mut at)[..] {
                [number] => color = number,
                [number, 2, red, green, blue] => drop(colors.insert(number, [red, green, blue])),
                _ => panic!("no color"),
            },
            b'$' => column = 0,
            b'-' => (column, band) = (0, band + 1),
            b'!' => {
                repeats = numbers(&mut at)[0] as usize;
                at += 1;
            }
            _ => {}
        }
        let sign = body[at - 1];
        if (b'?'..=b'~').contains(&sign) {
            for column in column..column + repeats {
                for row in (0..6).filter(|row| (sign - b'?') & (1 << row) != 0) {
                    pixels[(band * 6 + row) * width + column] = Some(colors[&color]);
                }
            }
            column += repeats;
        }
    }
    pixels.truncate(width * height);
    (pixels, colors.len())
}

#[test]
fn sixel_shows_the_pixels_in_so_many_colors_as_there_are_and_what_was_typed_before_the_answer_stays() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    let terminal = start(&home, project.path(), &[("WT_SESSION", "x")]);
    terminal.writes("the question", |written| count(written, "\x1b[?1;1;0S\x1b[c") == 1);
    terminal.send("he\x1b[D\x1b[?1;0;16S\x1b[C\x1b[?61;4;6;22cllo \x1b[200~pasted");
    terminal.send("\x1b[201~ and more");
    let shown = terminal.shows("hello pasted and more");
    assert!(!shown.contains("61;4"), "{shown}");
    terminal.send("\x15");
    send_image(&terminal, project.path());
    let shown = wait(&terminal, (100, 40), "the image", |screen| rows(screen) == Some(8));
    let above = shown.lines().position(|line| line.contains(PIXELS)).unwrap() - 1;
    assert!(shown.lines().nth(above).unwrap().contains("[Image #1]"), "{shown}");

    let written = terminal.written();
    let (start, end) = first_image(&written).unwrap();
    let body = image(&written[start..end]).body;
    assert_eq!(size(body), (200, 160));
    let (pixels, colors) = decoded(body);
    assert!((8..=16).contains(&colors), "{colors}");
    assert_eq!(pixels[0], Some([100, 0, 0]));
    assert_eq!(pixels[159 * 200 + 99], Some([100, 0, 0]), "the last row");
    assert_eq!(pixels[159 * 200 + 100], None, "nothing is there");
    let green: Vec<u32> = pixels[100..200].iter().map(|pixel| pixel.unwrap()[1]).collect();
    assert!(green.is_sorted() && green[0] < 10 && green[99] > 90, "{green:?}");
    terminal.send("x");
    terminal.shows("› x");
    assert_eq!(count(&terminal.written(), SIXEL), 1, "sent once");
}

#[test]
fn one_that_is_covered_scrolled_or_resized_leaves_nothing_behind_and_comes_back() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    let terminal = start_sixel(&home, project.path(), 256);
    send_image(&terminal, project.path());
    let (large, small) = ((100, 40), (100, 18));
    let is_done = |screen: &str| rows(screen) == Some(8) && is_answered(screen);
    wait(&terminal, large, "the image, and an answer", is_done);

    terminal.send("\x10");
    let covered = |screen: &str| screen.contains("actions") && rows(screen).is_some_and(|rows| rows < 8);
    let screen = wait(&terminal, large, "the palette covers a part of it", covered);
    let title = screen.lines().position(|line| line.contains("actions")).unwrap();
    let below = screen.lines().skip(title).any(|line| line.contains(PIXELS));
    assert!(!below, "no pixels beside or in the palette:\n{screen}");
    terminal.send("\x1b");
    wait(&terminal, large, "all of it again", is_done);

    let sent = count(&terminal.written(), SIXEL);
    terminal.send("typed");
    terminal.shows("typed");
    assert_eq!(count(&terminal.written(), SIXEL), sent, "what stays is not sent again");
    terminal.send(&"\x7f".repeat(5));

    terminal.resize(small.0, small.1);
    let is_smaller = |screen: &str| rows(screen).is_some_and(|rows| rows < 8) && screen.contains("ask");
    let mut before = wait(&terminal, small, "not all of it is in sight", is_smaller);
    let mut seen = rows(&before);
    while seen != Some(8) {
        terminal.send("\x1b[<64;10;2M");
        let is_next = |screen: &str| rows(screen).is_some() && screen != before && screen.contains("ask");
        before = wait(&terminal, small, "whole rows only", is_next);
        seen = rows(&before);
    }
    terminal.resize(large.0, large.1);
    terminal.send("\x1b[F");
    wait(&terminal, large, "all of it", is_done);
}

#[test]
fn one_that_cannot_or_does_not_say_gets_none_and_others_are_not_asked() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    let terminal = start(&home, project.path(), &[("WT_SESSION", "x")]);
    // 4 is what it is, and not what it can.
    terminal.send("\x1b[?4;6c");
    send_image(&terminal, project.path());
    terminal.shows("is not sent");
    assert_eq!(count(&terminal.written(), SIXEL), 0);

    let silent = start(&home, project.path(), &[("WT_SESSION", "x")]);
    silent.send("typed all the same");
    silent.shows("typed all the same");

    let windows = ("WT_SESSION", "x");
    let iterm = ("TERM_PROGRAM", "iTerm.app");
    for env in [
        [windows, ("TMUX", "/tmp/x,1,0")],
        [windows, ("NO_COLOR", "1")],
        [windows, ("BELVEDERE_UI_PICTURES", "false")],
        [iterm, ("ZELLIJ", "0")],
        [iterm, ("TERM", "screen-256color")],
        // Nobody knows how many pixels its cells have.
        [("XTERM_VERSION", "XTerm(379)"), ("LINES", "40")],
    ] {
        let terminal = start(&home, project.path(), &env);
        terminal.shows("offline");
        let written = terminal.written();
        assert_eq!((count(&written, "\x1b[c"), count(&written, "\x1b]1337")), (0, 0), "{env:?}");
    }
}

#[test]
fn iterm_gets_a_png_over_its_cells_once_it_has_answered() {
    for end in ["\x1b\\", "\x07"] {
        let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
        let terminal = start(&home, project.path(), &[("TERM_PROGRAM", "iTerm.app")]);
        terminal.shows("offline");
        assert_eq!(count(&terminal.written(), "\x1b]1337;ReportCellSize\x1b\\"), 1);
        send_image(&terminal, project.path());
        terminal.shows("is not sent");
        assert_eq!(count(&terminal.written(), ITERM), 0, "not before the answer");
        terminal.send(&format!("\x1b]1337;ReportCellSize=17.0;8.0;2.0{end}typed"));
        terminal.shows("typed");
        let shown = wait(&terminal, (100, 40), "the image", |screen| rows(screen) == Some(8));
        assert!(!shown.contains("ReportCellSize"), "{shown}");
        let written = terminal.written();
        let (start, end) = first_image(&written).unwrap();
        let png = STANDARD.decode(image(&written[start..end]).body).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (200, 160));
        assert_eq!(pixels[..4], [255, 0, 0, 255]);

        terminal.send("\x10");
        let covered = |screen: &str| screen.contains("actions") && rows(screen).is_some_and(|rows| rows < 8);
        wait(&terminal, (100, 40), "the palette covers a part of it", covered);
        terminal.send("\x1b");
        wait(&terminal, (100, 40), "all of it again", |screen| rows(screen) == Some(8));
    }
}
