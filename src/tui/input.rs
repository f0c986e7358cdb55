//! From the terminal library's events to plain data.
//!
//! Owns the translation and the stream. Leaves meaning to `app`. Invariant: at most one stream exists at a time, and
//! none while another program owns the terminal.

use crossterm::event::{
    Event, EventStream, KeyCode as Code, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use futures::StreamExt as _;

use crate::app::key::{Input, Key, KeyCode, Mods, Mouse, MouseKind};

/// What the terminal sends, as it comes.
///
/// Drop it before another program (an editor, the shell after a suspend) takes the terminal, and open a new one
/// after. The library holds a bracketed paste back until its end arrives; one that never ends holds back everything
/// after it, and the library offers no way to see or end it (crossterm issue 1060).
#[derive(Debug)]
pub struct InputStream {
    events: EventStream,
}

impl InputStream {
    /// Starts to read.
    #[must_use]
    pub fn open() -> Self {
        Self { events: EventStream::new() }
    }

    /// Waits for the next input; `None` when the terminal is gone.
    ///
    /// # Errors
    /// The terminal cannot be read any more.
    pub async fn next(&mut self) -> Option<std::io::Result<Input>> {
        loop {
            match self.events.next().await? {
                Ok(event) => {
                    if let Some(input) = translate(event) {
                        return Some(Ok(input));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns an event as plain data; `None` for what the program has no use for.
#[must_use]
pub fn translate(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) => translate_key(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(normalise_paste(text))),
        Event::Mouse(mouse) => translate_mouse(mouse).map(Input::Mouse),
        Event::Resize(width, height) => Some(Input::Resize { width, height }),
        Event::FocusGained => Some(Input::FocusGained),
        Event::FocusLost => Some(Input::FocusLost),
    }
}

/// Terminals send line ends of a paste as carriage returns.
fn normalise_paste(text: String) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text }
}

fn translate_key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let held = [
        (KeyModifiers::SHIFT, Mods::SHIFT),
        (KeyModifiers::ALT, Mods::ALT),
        (KeyModifiers::META, Mods::ALT),
        (KeyModifiers::CONTROL, Mods::CTRL),
    ];
    let mut mods = held
        .into_iter()
        .filter(|(theirs, _)| event.modifiers.contains(*theirs))
        .fold(Mods::NONE, |mods, (_, ours)| mods.with(ours));
    let code = match event.code {
        Code::Char(c) => KeyCode::Char(c),
        Code::Enter => KeyCode::Enter,
        Code::Esc => KeyCode::Esc,
        Code::Tab => KeyCode::Tab,
        Code::BackTab => {
            mods = mods.with(Mods::SHIFT);
            KeyCode::Tab
        }
        Code::Backspace => KeyCode::Backspace,
        Code::Delete => KeyCode::Delete,
        Code::Insert => KeyCode::Insert,
        Code::Up => KeyCode::Up,
        Code::Down => KeyCode::Down,
        Code::Left => KeyCode::Left,
        Code::Right => KeyCode::Right,
        Code::Home => KeyCode::Home,
        Code::End => KeyCode::End,
        Code::PageUp => KeyCode::PageUp,
        Code::PageDown => KeyCode::PageDown,
        Code::F(number) => KeyCode::F(number),
        _ => return None,
    };
    Some(Key::new(code, mods))
}

fn translate_mouse(event: MouseEvent) -> Option<Mouse> {
    let kind = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
        MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
        MouseEventKind::Up(MouseButton::Left) => MouseKind::Release,
        MouseEventKind::ScrollUp => MouseKind::WheelUp,
        MouseEventKind::ScrollDown => MouseKind::WheelDown,
        _ => return None,
    };
    Some(Mouse { kind, column: event.column, row: event.row })
}
