//! Images on a terminal that draws them.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Home;
use super::terminal::Terminal;

/// The sign of a cell that shows a part of an image.
const PLACEHOLDER: char = '\u{10eeee}';

/// Starts the program in a project with an image of 200×100 pixels, on a terminal of this kind.
fn start(home: &Home, project: &Path, more: &[(&str, &str)]) -> Terminal {
    std::fs::write(project.join("shot.png"), png(200, 100)).unwrap();
    let env = [&[("HOME", home.path().to_str().unwrap()), ("TERM", "xterm-kitty")][..], more].concat();
    let terminal = Terminal::start(100, 40, &["--model", "offline"], project, &env);
    terminal.shows("offline");
    terminal
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let data = vec![200; (width * height * 3) as usize];
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    bytes
}

fn count(terminal: &Terminal, text: &str) -> usize {
    memchr::memmem::find_iter(&terminal.written(), text).count()
}

/// Attaches the image to a message and sends it.
pub(super) fn send_image(terminal: &Terminal, project: &Path) {
    terminal.send(&format!("\x1b[200~{}\x1b[201~", project.join("shot.png").display()));
    terminal.shows("[Image #1]");
    terminal.send("hello\r");
}

/// Tells whether the message has been answered to the end, by an agent and then by the main one: nothing moves by itself
/// any more.
pub(super) fn is_answered(screen: &str) -> bool {
    screen.contains("1 done") && screen.matches("Nothing found for image").count() == 2
}

fn rows(screen: &str) -> usize {
    screen.lines().filter(|line| line.contains(PLACEHOLDER)).count()
}

#[test]
fn one_that_answers_gets_each_image_once_and_its_cells_move_like_text() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    let terminal = start(&home, project.path(), &[]);
    assert_eq!(
        count(&terminal, "\x1b_Gi=48879,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"),
        1,
        "asked once, before the first frame"
    );
    terminal.send("\x1b_Gi=48879;OK\x1b\\\x1b[?62;22c");
    terminal.send("typed _G");
    let screen = terminal.shows("typed _G");
    assert!(!screen.contains("48879"), "the answer is no input:\n{screen}");
    terminal.send(&"\x7f".repeat(8));
    send_image(&terminal, project.path());
    let screen = terminal.wait("the image", |screen| rows(screen) == 5);
    let line = screen.lines().find(|line| line.contains(PLACEHOLDER)).unwrap();
    assert_eq!(line.matches(PLACEHOLDER).count(), 20, "10×20 pixels a cell");
    assert!(line.contains("\u{10eeee}\u{305}\u{305}\u{10eeee}\u{305}\u{30d}"), "row and column: {line}");
    assert_eq!(count(&terminal, "\x1b_Ga=T,U=1,i=12451841,f=100,t=d,c=20,r=5,q=2,m=0;"), 1);
    assert!(count(&terminal, "38;2;190;0;1") > 0, "the color is its number");
    terminal.resize(20, 40);
    terminal.wait("too narrow for it", |screen| rows(screen) == 0 && !screen.trim().is_empty());
    terminal.resize(100, 40);
    terminal.wait("it again", |screen| rows(screen) == 5);
    assert_eq!(count(&terminal, "a=T,U=1"), 1, "it is sent once");
    let painted = count(&terminal, "\x1b_G");
    assert_eq!(painted, 2, "nothing else was said");
}

#[test]
fn one_that_does_not_answer_shows_text_and_others_are_not_asked() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    let terminal = start(&home, project.path(), &[]);
    send_image(&terminal, project.path());
    terminal.send("\x1b_Gi=48879;ENOTSUPPORTED:no\x1b\\");
    terminal.send("typed");
    let is_sent =
        |screen: &str| screen.contains("[Image #1]") && screen.contains("typed") && !screen.contains("hellotyped");
    let screen = terminal.wait("the message is sent", is_sent);
    assert!(!screen.contains("48879") && rows(&screen) == 0, "{screen}");
    assert_eq!((count(&terminal, "\x1b_G"), count(&terminal, "a=T")), (1, 0));
    for more in
        [("TERM", "xterm-256color"), ("TMUX", "/tmp/x,1,0"), ("NO_COLOR", "1"), ("BELVEDERE_UI_PICTURES", "false")]
    {
        let terminal = start(&home, project.path(), &[more]);
        assert_eq!(count(&terminal, "\x1b_G"), 0, "{more:?}");
    }
}

/// Returns what was copied last, through the terminal, of what the program has written.
fn copied(written: &[u8]) -> Option<String> {
    let written = String::from_utf8_lossy(written).into_owned();
    let (_, after) = written.rsplit_once("\x1b]52;c;")?;
    let end = after.find(['\x1b', '\x07'])?;
    String::from_utf8(STANDARD.decode(&after[..end]).ok()?).ok()
}

#[test]
fn an_image_scrolls_row_by_row_is_covered_and_leaves_no_signs_in_what_is_copied() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    let terminal = start(&home, project.path(), &[]);
    terminal.send("\x1b_Gi=48879;OK\x1b\\\x1b[?62;22c");
    send_image(&terminal, project.path());
    let screen = terminal.wait("the image and an answer", |screen| rows(screen) == 5 && is_answered(screen));
    let first = screen.lines().position(|line| line.contains(PLACEHOLDER)).unwrap();

    // From the row of the message above it to the last of its rows.
    terminal.send(&format!("\x1b[<0;1;{first}M\x1b[<32;60;{}M\x1b[<0;60;{}m", first + 5, first + 5));
    terminal.writes("a copy", |written| copied(written).is_some());
    let text = copied(&terminal.written()).unwrap();
    assert!(text.contains("[Image #1]"), "{text:?}");
    assert!(!text.contains(PLACEHOLDER) && !text.contains('\u{305}'), "{text:?}");

    terminal.send("\x10");
    terminal.wait("the palette covers a part of it", |screen| rows(screen) > 0 && screen.contains("actions"));
    terminal.send("\x1b");
    terminal.wait("all of it again", |screen| rows(screen) == 5);

    terminal.resize(100, 12);
    let shown = |screen: &str| -> Vec<char> {
        let marks = screen.lines().filter_map(|line| line.split(PLACEHOLDER).nth(1)?.chars().next());
        marks.collect()
    };
    let mut before = terminal.wait("a small screen, without it", |screen| {
        rows(screen) == 0 && is_answered(screen) && screen.lines().count() <= 12
    });
    let mut seen = std::collections::BTreeSet::new();
    // Up to where its first row stands.
    while !seen.contains(&'\u{305}') {
        terminal.send("\x1b[<64;10;3M");
        let is_next = |screen: &str| screen != before && shown(screen).is_sorted();
        before = terminal.wait("it scrolls, and its rows stay in order", is_next);
        seen.extend(shown(&before));
    }
    terminal.send("\x1b[F");
    terminal.resize(100, 40);
    terminal.wait("whole at the end", |screen| rows(screen) == 5);
    assert_eq!(count(&terminal, "a=T,U=1"), 1, "it is sent once");
}
