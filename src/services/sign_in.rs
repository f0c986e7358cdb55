//! Signing in to MCP servers: where that is kept, and the user's browser.
//!
//! Owns the wiring. Leaves the sign-in itself to `mcp`. Invariant: no program of the project is run to show an address.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::Bootstrap;
use crate::config::Paths;
use crate::mcp::{SignIn, SignIns};
use crate::message::sanitize_line;
use crate::program::SearchPath;
use crate::session::Secrets;

/// What shows an address in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
/// Variables that say that a browser can be shown here.
const DISPLAYS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// Returns where sign-ins are kept, beside the sessions, and how a browser is opened. Programs do not lie in the
/// `untrusted` folders, and get no variable of `withheld`.
pub(super) fn sign_ins(
    paths: Option<&Paths>,
    secrets: &Secrets,
    (untrusted, withheld): (Vec<PathBuf>, Vec<String>),
) -> SignIns {
    let secrets = secrets.clone();
    SignIns {
        folder: paths.map(|paths| paths.state_dir.join("mcp-sign-ins").into()),
        learn: Some(Arc::new(move |token| secrets.learn([token]))),
        open_browser: Some(Arc::new(move |address| open_browser(address, &untrusted, &withheld))),
    }
}

/// Shows an address in the browser of this machine. Where there is none, or the user sits elsewhere, nothing happens: the
/// address is shown as text, too.
fn open_browser(address: &str, untrusted: &[PathBuf], withheld: &[String]) {
    let has_display = cfg!(target_os = "macos") || DISPLAYS.iter().any(|name| std::env::var_os(name).is_some());
    if !has_display || std::env::var_os("SSH_CONNECTION").is_some() {
        return;
    }
    let search = SearchPath::of_process(&untrusted.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    let Some(program) = search.find(OPENER) else { return };
    let mut command = Command::new(program);
    command.arg(address).env("PATH", search.value());
    for name in withheld {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Somebody has to take in its end.
        std::thread::spawn(move || child.wait());
    }
}

impl Bootstrap {
    /// Begins to sign the user in to an MCP server, and opens their browser.
    ///
    /// # Errors
    /// Returns why nobody can sign in.
    pub async fn sign_in(&self, server: &str) -> anyhow::Result<SignIn> {
        let config = self.mcp_server(server)?;
        if let Some(why) = &config.off {
            anyhow::bail!("{} is not to be reached: {}", sanitize_line(server), sanitize_line(why));
        }
        let begun = SignIn::begin(&config, &self.servers.sign_ins).await;
        let sign_in = begun.map_err(|why| anyhow::anyhow!("cannot sign in to {}: {why}", sanitize_line(server)))?;
        self.servers.sign_ins.show(sign_in.address());
        Ok(sign_in)
    }

    /// Forgets a sign-in. Returns `false` if there was none.
    ///
    /// # Errors
    /// Returns that there is no such server, or why the sign-in is still there.
    pub async fn sign_out(&self, server: &str) -> anyhow::Result<bool> {
        let config = self.mcp_server(server)?;
        self.servers.sign_ins.forget(&config).await.map_err(anyhow::Error::msg)
    }
}
