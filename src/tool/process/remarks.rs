//! What is said behind the output of a command.
//!
//! Owns the words on its exit, on variables that it may have missed, and on the folder that it ended in. Invariant: nothing is said of what
//! is not plain from the line and its output.

use std::path::Path;
use std::process::ExitStatus;

use super::Shell;
use crate::permission::shell_words;
use crate::tool::ToolOutput;
use crate::tool::file::path::{lexical, printable};

/// Adds to the output of a command what the model, and the user, should know beside it.
pub(in crate::tool) fn add_remarks(output: &mut ToolOutput, shell: &Shell, (line, printed): (&str, &str), cwd: &Path) {
    if let Some(words) = shell.withheld_words(line, printed, output.is_error) {
        output.add_text(format!("\n[{words}]"));
        let name = words.split(" set,").next().unwrap_or_default();
        output.summary = format!("{}; {name} withheld", output.summary);
    }
    if let Some(cwd) = left_folder(line, cwd) {
        output.add_text(format!("\n[The next command starts in {cwd} again.]"));
    }
}

/// Returns the working directory, if a line plainly ends in another folder. What is not plain is passed over: it is said for
/// convenience.
fn left_folder(line: &str, cwd: &Path) -> Option<String> {
    let mut folder = cwd.to_path_buf();
    let is_plain = !line.contains(['(', '{', '`', '|', '<']);
    for command in line.split(['\n', ';', '&']).filter(|_| is_plain) {
        if let [program, target] = shell_words(command).as_slice()
            && matches!(program.as_str(), "cd" | "pushd")
        {
            folder = lexical(target, &folder);
        }
    }
    (folder != cwd).then(|| printable(cwd))
}

/// Says how a process has ended.
pub(in crate::tool) fn exit_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => nix::sys::signal::Signal::try_from(signal)
            .map_or_else(|_| format!("killed by signal {signal}"), |signal| format!("killed by {signal}")),
        (None, None) => "ended".to_owned(),
    }
}
