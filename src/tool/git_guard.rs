//! Settings that keep git from running programs which a repository's own configuration names.
//!
//! A repository can come from anyone, with hooks, filters, signature checkers and text converters of its maker's
//! choice. Commands that only read run without asking, so they must not start any of these. Git has no switch for
//! that; settings of the environment outrank those of the repository.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// How long git may take to list its settings.
const PATIENCE: Duration = Duration::from_secs(5);
/// Settings with a fixed name.
const FIXED: [(&str, &str); 14] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.sshCommand", "false"),
    ("diff.external", ""),
    ("diff.submodule", "short"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("safe.bareRepository", "explicit"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];
/// Settings that a repository can give any name to: pattern of the names, and the value that runs nothing of its own.
const NAMED: [(&str, &str); 4] = [(".textconv", "cat"), (".clean", ""), (".process", ""), (".required", "false")];

/// Returns the command as it is run. `status` looks into submodules, whose filters are named in their own
/// configuration; no setting of ours reaches them, so it is kept from looking.
pub(super) fn read_only_command(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let place = if words.get(1) == Some(&"--no-pager") { 2 } else { 1 };
    if words.get(place) == Some(&"status") {
        words.insert(place + 1, "--ignore-submodules=dirty");
    }
    words.join(" ")
}

/// Returns the environment in which git, started in `cwd`, only reads.
pub(super) async fn read_only_environment(cwd: &Path) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> =
        FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for name in named_drivers(cwd).await {
        if let Some((_, value)) = NAMED.iter().find(|(ending, _)| name.ends_with(ending)) {
            settings.push((name, (*value).to_owned()));
        }
    }
    let mut environment = vec![
        ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()),
        // Reading must neither write the index nor fetch what is missing.
        ("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned()),
        ("GIT_NO_LAZY_FETCH".to_owned(), "1".to_owned()),
        ("GIT_ALLOW_PROTOCOL".to_owned(), "none".to_owned()),
    ];
    for (number, (name, value)) in settings.into_iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{number}"), name));
        environment.push((format!("GIT_CONFIG_VALUE_{number}"), value));
    }
    environment
}

/// Returns the names of all settings that define a filter or a text converter. Listing settings runs nothing.
async fn named_drivers(cwd: &Path) -> Vec<String> {
    let listing = Command::new("git")
        .args([
            "config",
            "--null",
            "--name-only",
            "--get-regexp",
            r"^(filter|diff)\..*\.(clean|process|required|textconv)$",
        ])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(PATIENCE, listing).await {
        Ok(Ok(output)) => output
            .stdout
            .split(|byte| *byte == 0)
            .filter_map(|name| std::str::from_utf8(name).ok())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}
