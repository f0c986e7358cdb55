//! What a settings file of Claude Code asks of the sandbox.
//!
//! Owns the keys below `sandbox`, and what becomes of each in our own settings. Leaves the sandbox itself to `services`.
//! Invariants: what a project asks for only narrows; a key that may restrict and is not understood is reported as lost.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::settings_file::is_on;
use super::{Config, SettingsFile, SettingsTier, json, restrictions};
use crate::message::is_variable;
use crate::sandbox::Hosts;

/// What one file asks for. Paths are as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxWishes {
    /// What commands may not read, nor change.
    pub hide: Vec<String>,
    pub deny_write: Vec<String>,
    pub write: Vec<String>,
    /// The hosts that commands may reach, if there is a list, and those they may not.
    pub hosts: Option<Vec<String>>,
    pub denied_hosts: Vec<String>,
    /// Whether only the organization's hosts count.
    only_managed_hosts: bool,
    /// Whether what commands send is to go through a proxy that is not ours.
    has_proxy: bool,
    /// Whether commands run in it even if the user has switched it off.
    is_wanted: bool,
    /// Variables that commands do not get.
    pub variables: Vec<String>,
    pub limits: SandboxLimits,
}

/// What is kept from commands, whoever asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Whether nothing begins where there is none.
    pub is_required: bool,
    /// Whether no command leaves it.
    pub is_closed: bool,
    /// Whether commands ask in it too.
    pub asks: bool,
}

/// Keys below `sandbox` that only let more happen, or that say how Claude Code's own is built.
const IDLE: [&str; 21] = [
    "allowAppleEvents",
    "allowNestedUserNamespaces",
    "bwrapPath",
    "credentials.allowPlaintextInject",
    "credentials.awsPairs",
    "credentials.sigv4",
    "enableWeakerNestedSandbox",
    "enableWeakerNetworkIsolation",
    "excludedCommands",
    "filesystem.allowManagedReadPathsOnly",
    "filesystem.allowRead",
    "filesystem.disabled",
    "ignoreViolations",
    "network.allowAllUnixSockets",
    "network.allowLocalBinding",
    "network.allowMachLookup",
    "network.allowUnixSockets",
    "network.strictAllowlist",
    "network.tlsTerminate",
    "ripgrep",
    "socatPath",
];

impl SandboxWishes {
    pub(super) fn of(value: Option<&Value>, lost: &mut Vec<(String, String)>) -> Self {
        let mut read = Self::default();
        let Some(value) = value.filter(|value| !value.is_null()) else { return read };
        for (key, value) in &section("sandbox", value, lost) {
            let name = format!("sandbox.{key}");
            match key.as_str() {
                "enabled" => read.is_wanted = *value == true,
                "failIfUnavailable" => read.limits.is_required = is_on(Some(value)),
                "allowUnsandboxedCommands" => read.limits.is_closed = *value != true,
                "autoAllowBashIfSandboxed" => read.limits.asks = *value != true,
                "network" => read.network(&section(&name, value, lost), lost),
                "filesystem" => read.filesystem(&section(&name, value, lost), lost),
                "credentials" => read.credentials(&section(&name, value, lost), lost),
                other => unknown(other, lost),
            }
        }
        read
    }

    fn network(&mut self, keys: &Map<String, Value>, lost: &mut Vec<(String, String)>) {
        for (key, value) in keys {
            let name = format!("sandbox.network.{key}");
            match key.as_str() {
                // An entry that is no host allows nothing.
                "allowedDomains" => self.hosts = Some(texts(value).0),
                "deniedDomains" => self.denied_hosts = forbidding(&name, value, lost),
                "allowManagedDomainsOnly" => self.only_managed_hosts = is_on(Some(value)),
                "httpProxyPort" | "socksProxyPort" => self.has_proxy = true,
                other => unknown(&format!("network.{other}"), lost),
            }
        }
    }

    fn filesystem(&mut self, keys: &Map<String, Value>, lost: &mut Vec<(String, String)>) {
        for (key, value) in keys {
            let name = format!("sandbox.filesystem.{key}");
            match key.as_str() {
                "denyRead" => self.hide.extend(forbidding(&name, value, lost)),
                "denyWrite" => self.deny_write = forbidding(&name, value, lost),
                "allowWrite" => self.write = texts(value).0,
                other => unknown(&format!("filesystem.{other}"), lost),
            }
        }
    }

    /// What is to be masked is hidden: nothing here puts anything in its place.
    fn credentials(&mut self, keys: &Map<String, Value>, lost: &mut Vec<(String, String)>) {
        for (key, value) in keys {
            let name = format!("sandbox.credentials.{key}");
            let (what, of) = match key.as_str() {
                "files" => (&mut self.hide, "path"),
                "envVars" => (&mut self.variables, "name"),
                other => {
                    unknown(&format!("credentials.{other}"), lost);
                    continue;
                }
            };
            let entries = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let named = entries.iter().map(|entry| entry.as_str().or(entry[of].as_str()));
            let named: Vec<&str> = named.flatten().filter(|text| !text.is_empty()).collect();
            if named.len() < entries.len() || !value.is_array() || of == "name" && !named.iter().all(|n| is_variable(n))
            {
                lost.push((name, format!("has an entry that names no {of}")));
            }
            what.extend(named.into_iter().map(str::to_owned));
        }
    }
}

/// Returns the keys of a section.
fn section(name: &str, value: &Value, lost: &mut Vec<(String, String)>) -> Map<String, Value> {
    if let Value::Object(keys) = value {
        return keys.iter().filter(|(_, value)| !value.is_null()).map(|(key, of)| (key.clone(), of.clone())).collect();
    }
    if !value.is_null() {
        lost.push((name.to_owned(), format!("is {}, no object", json::kind(value))));
    }
    Map::new()
}

fn unknown(key: &str, lost: &mut Vec<(String, String)>) {
    if !IDLE.contains(&key) && restrictions::looks_restricting(key) {
        lost.push((format!("sandbox.{key}"), "is not known here, and may restrict something".to_owned()));
    }
}

/// Returns the texts of a list, and whether it is one of nothing else. A single text is a list of one.
fn texts(value: &Value) -> (Vec<String>, bool) {
    match value {
        Value::String(text) => (vec![text.clone()], true),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
            let is_whole = texts.len() == items.len();
            (texts, is_whole)
        }
        _ => (Vec::new(), false),
    }
}

fn forbidding(name: &str, value: &Value, lost: &mut Vec<(String, String)>) -> Vec<String> {
    let (texts, is_whole) = texts(value);
    if !is_whole {
        lost.push((name.to_owned(), "is no list of texts: not all of it holds".to_owned()));
    }
    texts
}

/// Puts what settings files ask for into the configuration. `root` is the project's.
pub(super) fn apply(config: &mut Config, files: &[SettingsFile], root: Option<&Path>) {
    let wishes = || files.iter().map(|file| (file, &file.more.sandbox));
    let sandbox = &mut config.sandbox;
    for (file, wish) in wishes() {
        let limits = &mut sandbox.limits;
        limits.is_required |= wish.limits.is_required;
        limits.is_closed |= wish.limits.is_closed;
        limits.asks |= wish.limits.asks;
        sandbox.enabled |= wish.is_wanted;
        sandbox.hide.extend(wish.hide.iter().flat_map(|path| places(file, path, root)));
        sandbox.deny_write.extend(wish.deny_write.iter().flat_map(|path| places(file, path, root)));
        sandbox.hidden_variables.extend(wish.variables.iter().cloned());
        if !file.tier.is_projects() {
            sandbox.write.extend(wish.write.iter().filter_map(|path| places(file, path, None).into_iter().next()));
        }
    }
    let is_managed = |file: &SettingsFile| file.tier == SettingsTier::Managed;
    let only_managed = wishes().any(|(file, wish)| is_managed(file) && wish.only_managed_hosts);
    if only_managed {
        sandbox.hosts.clear();
    }
    for (file, wish) in wishes() {
        let counts = !file.tier.is_projects() && (!only_managed || is_managed(file));
        let hosts = wish.hosts.iter().flatten().filter(|host| counts && Hosts::is_host(host));
        sandbox.hosts.extend(hosts.cloned());
    }
    // Whoever lists hosts does not want commands to reach all of them.
    if only_managed || wishes().any(|(_, wish)| wish.hosts.is_some() || !wish.denied_hosts.is_empty()) {
        sandbox.network = false;
    }
    if wishes().any(|(_, wish)| wish.has_proxy) {
        (sandbox.hosts, sandbox.network) = (Vec::new(), false);
    }
    let denied: Vec<&String> = wishes().flat_map(|(_, wish)| &wish.denied_hosts).collect();
    sandbox.hosts.retain(|host| !denied.iter().any(|denied| is_touched(host, denied)));
}

/// Returns `true` if an entry of the list of hosts holds one that is denied.
fn is_touched(host: &str, denied: &str) -> bool {
    let name = |text: &str| {
        let text = text.rsplit_once(':').map_or(text, |(name, _)| name).to_ascii_lowercase();
        text.trim_end_matches('.').to_owned()
    };
    let (host, denied) = (name(host), name(denied));
    let bare = |name: &str| name.strip_prefix("*.").unwrap_or(name).to_owned();
    let is_below = |low: &str, high: &str| low == high || low.ends_with(&format!(".{high}"));
    let (bare_host, bare_denied) = (bare(&host), bare(&denied));
    denied == "*"
        || host == denied
        || denied.starts_with("*.") && is_below(&bare_host, &bare_denied)
        || host.starts_with("*.") && is_below(&bare_denied, &bare_host)
}

/// Returns where a path may lie that a file names: one that does not say where it begins is meant below the file's folder,
/// and below the project.
fn places(file: &SettingsFile, path: &str, root: Option<&Path>) -> Vec<PathBuf> {
    // Two slashes begin an absolute path in rules.
    let path = if path.starts_with("//") { &path[1..] } else { path };
    let path = path.trim_end_matches("/**").trim_end_matches("/*");
    if path.starts_with('/') || path.starts_with("~/") || path == "~" {
        return vec![PathBuf::from(path)];
    }
    let path = path.trim_start_matches("./");
    let mut found: Vec<PathBuf> = [Some(file.folder()), root].into_iter().flatten().map(|at| at.join(path)).collect();
    found.dedup();
    found
}
