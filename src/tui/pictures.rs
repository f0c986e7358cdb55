//! Pictures that the user pastes: from the clipboard, or as the path of a file.
//!
//! Owns the programs that read the clipboard of a desktop. Leaves what a picture is to `message`, and keeping it to
//! `session`. Invariants: no program of the project is started; none runs longer, or prints more, than a picture takes.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::app::composer::pictures::{PictureNews, PictureSource};
use crate::config::Environment;
use crate::message::{PICTURE_FILE_BYTES, too_large};
use crate::program::SearchPath;
use crate::session::{PictureStore, read_picture};

const TIME_LIMIT: Duration = Duration::from_secs(3);
/// How long the end of a program is waited for at a time.
const PAUSE: Duration = Duration::from_millis(10);
/// Programs that print the picture in the clipboard, with the variable that says they can.
const READERS: [(&str, &[&str], Option<&str>); 5] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"], Some("WAYLAND_DISPLAY")),
    ("wl-paste", &["--no-newline", "--type", "image/jpeg"], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"], Some("DISPLAY")),
    ("xclip", &["-selection", "clipboard", "-t", "image/jpeg", "-o"], Some("DISPLAY")),
    ("pngpaste", &["-"], None),
];

/// Attaches a picture, and says what came of it. Blocks.
pub(super) fn attach(source: PictureSource, pictures: Option<&PictureStore>, cwd: &Path) -> PictureNews {
    let (bytes, name, pasted) = match source {
        PictureSource::Clipboard => (in_clipboard(cwd), "the clipboard".to_owned(), None),
        PictureSource::File { path, pasted } => {
            let path = match (path.strip_prefix("~/"), Environment::of_process().home()) {
                (Some(below), Some(home)) => home.join(below),
                _ => cwd.join(&path),
            };
            // A text that only looks like the path of a picture is a text.
            if !path.is_file() {
                return PictureNews::Text { pasted, why: None };
            }
            (read_picture(&path), path.display().to_string(), Some(pasted))
        }
    };
    let kept = bytes.and_then(|bytes| {
        let pictures = pictures.ok_or("cannot be attached: this session is not saved")?;
        pictures.attach(bytes)
    });
    match (kept, pasted) {
        (Ok((number, words)), _) => PictureNews::Attached { number, words },
        (Err(why), Some(pasted)) => PictureNews::Text { pasted, why: Some(format!("{name} {why}")) },
        (Err(why), None) => PictureNews::Nothing { why: format!("{name} {why}") },
    }
}

/// Returns the picture in the clipboard. The error says what to do.
fn in_clipboard(cwd: &Path) -> Result<Vec<u8>, String> {
    let search = SearchPath::of_process(&[cwd]);
    let environment = Environment::of_process();
    let mut is_there = false;
    for (program, arguments, variable) in READERS {
        let Some(path) = search.find(program) else { continue };
        if variable.is_some_and(|name| environment.get(name).is_none()) {
            continue;
        }
        is_there = true;
        match printed(Command::new(path).args(arguments)) {
            Some(bytes) if bytes.len() as u64 > PICTURE_FILE_BYTES => {
                return Err(too_large(bytes.len() as u64, PICTURE_FILE_BYTES));
            }
            Some(bytes) if !bytes.is_empty() => return Ok(bytes),
            _ => {}
        }
    }
    if is_there {
        Err("holds no image: copy one, or paste the path of a file".to_owned())
    } else {
        Err("needs wl-clipboard, xclip or pngpaste; or paste the path of an image".to_owned())
    }
}

/// Returns what a program prints, up to a little more than a picture may have; `None` if it fails or takes too long.
fn printed(command: &mut Command) -> Option<Vec<u8>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let stdout = child.stdout.take()?;
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.take(PICTURE_FILE_BYTES + 1).read_to_end(&mut bytes).ok().map(|_| bytes)
    });
    let until = Instant::now() + TIME_LIMIT;
    while Instant::now() < until && !reading.is_finished() {
        std::thread::sleep(PAUSE);
    }
    // It has printed all there is, or too much, or nothing for too long.
    let is_late = !reading.is_finished();
    let _ = child.kill();
    let _ = child.wait();
    if is_late { None } else { reading.join().ok().flatten() }
}
