//! What to use in place of tools that are not here.
//!
//! Owns the words for each. Invariant: advice names a tool that the agent has, and that one first.

use crate::message::{canonical_name, loose_name};

/// A tool of ours, names of tools elsewhere that it stands in for, and how.
#[rustfmt::skip]
const ADVICE: &[(&str, &[&str], &str)] = &[
    ("Edit", &["applypatch", "inserteditintofile", "insert", "editnotebook", "notebookedit", "strreplaceeditor", "strreplacebasededittool",
        "applydiff", "insertcontent"], "with the exact lines before and after."),
    ("Bash", &["deletefile", "removefile", "delete"], "with rm to delete files."),
    ("Bash", &["movefile", "renamefile", "copyfile"], "with mv or cp."),
    ("Bash", &["createdirectory", "mkdir"], "with mkdir -p."),
    ("Bash", &["python", "pythonexec", "executecode", "codeinterpreter", "repl"], "with a script."),
    ("Bash", &["gitdiff", "gitstatus", "gitlog", "getchangedfiles"], "with git."),
    ("TaskOutput", &["writestdin", "readterminal", "sendinput", "wait"],
        "for what a command in the background has printed; commands here have no standard input."),
    ("TodoWrite", &["taskcreate", "taskupdate", "tasklist", "taskget", "todoread", "readtodos"], "with the whole list each time."),
    ("Symbols", &["lsp", "findsymbol", "gotodefinition", "findreferences", "codebasesearch", "semanticsearch", "listcodedefinitionnames",
        "getsymbolsoverview", "listcodeusages"], "for definitions, uses and outlines."),
    ("WebFetch", &["openurl", "browse", "browseraction", "browser"], "for the text of a page."),
    ("AskUserQuestion", &["askfollowupquestion", "askuserquestion", "askuser"], "to ask the user."),
    ("Agent", &["subagent", "delegate", "task"], "with a prompt."),
];

/// Names of tools elsewhere by which a model says that it has done.
const ENDS: [&str; 6] = ["attemptcompletion", "finish", "taskcomplete", "complete", "submit", "done"];
/// Names of tools elsewhere by which calls are put together.
const BUNDLES: [&str; 3] = ["multitooluse.parallel", "parallel", "batch"];
/// Names of tools elsewhere by which a model takes notes of its thoughts.
const THOUGHTS: [&str; 3] = ["think", "sequentialthinking", "reportintent"];

/// Returns what to use in place of a tool, if that is among those that an agent has.
pub(super) fn advice_on(name: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let letters = loose_name(name);
    let letters = letters.as_str();
    if ENDS.contains(&letters) {
        return Some("To end, answer in words, without a call.".to_owned());
    }
    if BUNDLES.contains(&letters) {
        return Some("Call each tool by itself; several calls in one reply run together.".to_owned());
    }
    if THOUGHTS.contains(&letters) {
        return Some("Think without a tool.".to_owned());
    }
    let rows = ADVICE.iter().filter(|(_, names, _)| names.contains(&letters));
    if let Some((tool, _, how)) = rows.clone().find(|(tool, ..)| has(tool)) {
        return Some(format!("Use {tool} {how}"));
    }
    let ours = canonical_name(name);
    (ours != name && has(ours)).then(|| format!("Use {ours}."))
}
