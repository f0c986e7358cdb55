//! Memory files on the screen: the list, and the question where a line goes.
//!
//! Owns both lists and what is chosen in them. Leaves the files to `memory`. Invariant: a line that begins with `#` reaches
//! neither a file nor a model before the user has seen it and chosen which.

use crate::app::lists::{ListCell, ListEntry, ListKind, ListStyle, cell};
use crate::app::{App, Effect, ListPopup, Popup};
use crate::memory::{ListedMemory, MemoryAnswer, MemoryRequest};
use crate::message::{reveal_line, sanitize_line};

/// What is known of memory files.
#[derive(Debug, Default)]
pub(in crate::app) struct MemoryChoices {
    /// `None` until they were listed.
    listed: Option<Vec<ListedMemory>>,
    /// What was written, with its `#`, while it is asked where it goes.
    asked: String,
}

impl MemoryChoices {
    fn all(&self) -> &[ListedMemory] {
        self.listed.as_deref().unwrap_or_default()
    }

    /// Returns the files that take lines, the project's first: most lines are about the work at hand.
    fn takers(&self) -> Vec<&ListedMemory> {
        let mut takers: Vec<&ListedMemory> = self.all().iter().filter(|listed| listed.takes_lines).collect();
        takers.sort_by_key(|listed| (!listed.owner.is_projects(), listed.owner));
        takers
    }

    /// Returns the line that would be added.
    fn line(&self) -> &str {
        self.asked.trim_start_matches('#').trim()
    }
}

/// The memory files, to open one.
pub(in crate::app) static MEMORY: ListKind = ListKind {
    name: "memory",
    title: |_| "memory files".to_owned(),
    columns: 96,
    head: Some(|app| if app.memory.listed.is_none() { "looking …".to_owned() } else { String::new() }),
    has_query: false,
    entries: |app, _, columns| app.memory.all().iter().map(|listed| row(listed, columns)).collect(),
    empty: "",
    accept_word: Some("edit"),
    accept: |app, list| {
        if let Some(listed) = app.memory.all().get(list.chosen) {
            app.out.push(Effect::Memory(MemoryRequest::Edit(listed.path.clone())));
        }
    },
    acts: &[],
    shows_choice: true,
};

/// Where a line goes.
pub(in crate::app) static MEMORY_LINE: ListKind = ListKind {
    name: "memory line",
    title: |_| "add to memory".to_owned(),
    columns: 96,
    head: Some(|app| format!("- {}", reveal_line(app.memory.line()))),
    has_query: false,
    entries: |app, _, columns| {
        let files = app.memory.takers().into_iter().map(|listed| row(listed, columns));
        let message = ListEntry::new("message", vec![cell("no file: send it as a message", ListStyle::Text)]);
        files.chain(app.memory.listed.is_some().then_some(message)).collect()
    },
    empty: "looking …",
    accept_word: Some("add"),
    accept,
    acts: &[],
    shows_choice: true,
};

fn row(listed: &ListedMemory, columns: u16) -> ListEntry {
    let size = match listed.chars {
        Some(chars) => format!("{chars} characters"),
        None => "new".to_owned(),
    };
    let mut cells = vec![cell(sanitize_line(&listed.shown), ListStyle::Text).wide(32)];
    cells.push(cell(format!(" {size}"), ListStyle::Muted).wide(19));
    if columns >= 70 {
        cells.push(ListCell { gives_way: true, ..cell(listed.owner.words(), ListStyle::Faint) });
    }
    ListEntry::new(listed.path.to_string_lossy(), cells)
}

/// Opens the list of memory files.
pub(in crate::app) fn open(app: &mut App) {
    app.out.push(Effect::Memory(MemoryRequest::List));
    app.overlay.open(Popup::List(ListPopup::new(&MEMORY, 0)));
}

/// Asks where a line goes, if the text is one: a `#` and words, on a single line.
pub(in crate::app) fn ask(app: &mut App, text: &str) -> bool {
    let is_line = text.starts_with('#') && !text.trim_end().contains('\n');
    if !is_line || text.trim_start_matches('#').trim().is_empty() {
        return false;
    }
    text.trim_end().clone_into(&mut app.memory.asked);
    app.out.push(Effect::Memory(MemoryRequest::List));
    app.overlay.open(Popup::List(ListPopup::new(&MEMORY_LINE, 0)));
    true
}

fn accept(app: &mut App, list: &ListPopup) {
    let text = app.memory.asked.clone();
    // The draft may be another one by now.
    if app.memory.listed.is_none() || app.messages.composer().expanded().trim_end() != text {
        return;
    }
    let path = app.memory.takers().get(list.chosen).map(|listed| listed.path.clone());
    let Some(path) = path else {
        let said = app.messages.composer().said().with_text(text);
        return app.send_written(said);
    };
    let line = app.memory.line().to_owned();
    app.messages.composer_mut().take();
    app.out.push(Effect::SaveHistory(text));
    app.out.push(Effect::Memory(MemoryRequest::Add { path, line }));
}

/// Takes in what came of a request.
pub(in crate::app) fn answered(app: &mut App, answer: MemoryAnswer) {
    match answer {
        MemoryAnswer::Listed(listed) => app.memory.listed = Some(listed),
        MemoryAnswer::Changed(shown) => {
            app.out.inform(format!("{} changed: in force with your next message", sanitize_line(&shown)));
        }
        MemoryAnswer::Failed(why) => app.out.warn(sanitize_line(&why).into_owned()),
    }
}
