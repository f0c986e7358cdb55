//! `!cmd`: a command of the user's own, as in their shell.
//!
//! It runs outside of the sandbox, without a question: whoever types it asks for exactly that. It gets the user's
//! environment, but for the keys of services and what would make a pager or an editor wait for a terminal.

use std::ffi::OsString;
use std::path::Path;

use super::follow::{FollowOptions, Launched, follow};
use super::{CommandEvent, CommandHost};
use crate::program::SearchPath;
use crate::tool::Shell;
use crate::tool::process::Group;
use crate::tool::process::command_watch::CommandWatch;

impl CommandHost {
    /// Starts a command of the user's own. On failure, says why it does not run.
    pub async fn run_for_user(self, shell: &Shell, line: &str, cwd: &Path) -> Result<(), String> {
        if line.contains('\0') {
            return Err("a command cannot contain a NUL character".to_owned());
        }
        let admitted = self.commands.admit(self.owner, line, true)?;
        let (environment, search) = (shell.handed_on.of_user(), SearchPath::of_process(&[]));
        let watch = CommandWatch::outside(shell, line).await;
        let starting = Group::start(shell, OsString::from(line), cwd.to_path_buf(), environment, search, None);
        let (group, pipe) = match starting.await {
            Ok(started) => started,
            Err(error) => {
                self.commands.withdraw(&admitted.id);
                return Err(format!("the command could not be started in {}: {error}", cwd.display()));
            }
        };
        let command_id = admitted.id.clone();
        self.listener.on_command(CommandEvent::Started { command_id, command: line.to_owned(), by_user: true }).await;
        let launched = Launched { group, pipe, proxy: None, watch, is_inside: false, guard: None };
        tokio::spawn(follow(self, admitted, launched, FollowOptions::default()));
        Ok(())
    }
}
