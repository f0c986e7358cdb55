//! What holds whatever bytes come: checked by the fuzzer, and by a bounded run with all other tests.
//!
//! Owns the properties of everything that reads what strangers wrote. Leaves the search for bytes to `fuzz` and to
//! `tests/fuzz`, whose library this is. Invariants: a property depends on nothing but its bytes, starts no process, and
//! panics where it does not hold.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a property says by its panic what went wrong")]
#![allow(unreachable_pub, reason = "public to the fuzzer, for which this is a crate of its own")]

mod agent_files;
mod answers;
mod brought;
mod calls;
mod choices;
mod exports;
mod pages;
mod pictures;
mod programs;
mod records;
mod repository;
mod rights;
mod settings;
mod shell;
mod text;
mod views;

pub use choices::Choices;
pub use repository::obeyed;

/// Something that holds for any bytes.
pub struct Property {
    /// Name of its target for the fuzzer, and of the folder of its bytes in `tests/fixtures/seeds`.
    pub name: &'static str,
    /// Panics if it does not hold.
    pub check: fn(&[u8]),
    /// Folder or file below `tests/fixtures` that holds more bytes to begin with; empty if there is none.
    pub seeds: &'static str,
}

pub const ALL: [Property; 21] = [
    Property { name: "sanitizer", check: text::sanitizer, seeds: "" },
    Property { name: "columns", check: text::columns, seeds: "" },
    Property { name: "answers", check: answers::answers, seeds: "providers" },
    Property { name: "shell_lines", check: shell::lines, seeds: "" },
    Property { name: "denials", check: shell::denials, seeds: "" },
    Property { name: "rules", check: rights::rules, seeds: "" },
    Property { name: "agent_files", check: agent_files::files, seeds: "agents" },
    Property { name: "narrowing", check: agent_files::narrowing, seeds: "agents" },
    Property { name: "exports", check: exports::exports, seeds: "" },
    Property { name: "pages", check: pages::pages, seeds: "" },
    Property { name: "records", check: records::records, seeds: "" },
    Property { name: "keymap", check: settings::keymap, seeds: "" },
    Property { name: "theme", check: settings::theme, seeds: "" },
    Property { name: "config", check: settings::config, seeds: "" },
    Property { name: "git_settings", check: repository::git_settings, seeds: "" },
    Property { name: "views", check: views::views, seeds: "" },
    Property { name: "hooks", check: brought::hooks, seeds: "" },
    Property { name: "servers", check: brought::servers, seeds: "" },
    Property { name: "pictures", check: pictures::pictures, seeds: "pictures" },
    Property { name: "programs", check: programs::programs, seeds: "" },
    Property { name: "calls", check: calls::calls, seeds: "" },
];
