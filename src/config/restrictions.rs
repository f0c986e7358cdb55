//! Keys of Claude Code's settings that restrict and are not heeded here, and unknown ones that may.
//!
//! Owns the table of the former and how the latter are told. Leaves those that are heeded to where they act. Invariant: a
//! file in which such a key is set is never used as if it were not.

use serde_json::{Map, Value};

use super::SettingsTier;
use super::more_settings::{SettingsKey, kind_of, kind_of_permission};
use super::settings_file::is_on;

/// A key that restricts, and is not heeded.
struct Unmet {
    /// With dots between sections; `*` is any key.
    name: &'static str,
    /// Whether it counts in the organization's files only, as it does for Claude Code.
    only_managed: bool,
    /// What it would keep from happening.
    what: &'static str,
}

const UNMET: [Unmet; 10] = [
    any("availableModels", "which models may be used"),
    managed("deniedModels", "which models may be used"),
    any("maxEffortLevel", "how hard models may think"),
    any("modelSettings.*.maxEffortLevel", "how hard models may think"),
    any("permissions.blockReadsOutsideWorkingDirectories", "what may be read"),
    any("permissions.blockWritesOutsideWorkingDirectories", "what may be written"),
    managed("allowedProviders", "which services may be used"),
    managed("forceRemoteSettingsRefresh", "that nothing begins without the settings of a server"),
    managed("policyHelper", "what a program of the organization says"),
    managed("strictPluginOnlyCustomization", "where skills, agents, hooks and servers may come from"),
];

const fn any(name: &'static str, what: &'static str) -> Unmet {
    Unmet { name, only_managed: false, what }
}

const fn managed(name: &'static str, what: &'static str) -> Unmet {
    Unmet { name, only_managed: true, what }
}

/// Keys that others may be meant to be, by where they stand.
const NEAR_TOP: [&str; 8] = [
    "permissions",
    "hooks",
    "sandbox",
    "deniedMcpServers",
    "allowedMcpServers",
    "disabledMcpjsonServers",
    "enabledMcpjsonServers",
    "allowManagedPermissionRulesOnly",
];
const NEAR_PERMISSIONS: [&str; 4] = ["deny", "ask", "defaultMode", "disableBypassPermissionsMode"];

/// Words in names of what restricts.
const WORDS: [&str; 16] = [
    "deny",
    "denied",
    "denies",
    "denylist",
    "block",
    "blocked",
    "blocks",
    "blocklist",
    "forbid",
    "forbidden",
    "disallow",
    "disallowed",
    "restrict",
    "restricted",
    "strict",
    "prohibit",
];

/// Returns the keys of a file that may restrict and are not heeded, each with what to say of it.
pub(super) fn unmet(keys: &Map<String, Value>, tier: SettingsTier) -> Vec<(String, String)> {
    let meant = UNMET.iter().filter(|key| !key.only_managed || tier == SettingsTier::Managed);
    let known = meant.filter(|key| {
        let path: Vec<&str> = key.name.split('.').collect();
        path.split_first().is_some_and(|(first, rest)| is_set(keys.get(*first), rest))
    });
    let known = known.map(|key| (plain(key.name), format!("is not heeded here: it decides {}", key.what)));
    let section = keys.get("permissions").and_then(Value::as_object);
    let below = section.into_iter().flatten().filter(|(key, _)| kind_of_permission(key) == SettingsKey::Unknown);
    let below = below.map(|(key, value)| (format!("permissions.{key}"), key, value, &NEAR_PERMISSIONS[..], 0.7));
    let top = keys.iter().filter(|(key, _)| kind_of(key) == SettingsKey::Unknown);
    let top = top.map(|(key, value)| (key.clone(), key, value, &NEAR_TOP[..], 0.8));
    let unknown = top.chain(below).filter(|(_, _, value, ..)| is_on(Some(value)));
    let unknown = unknown.filter_map(|(name, key, _, known, least)| {
        let is_remark = key.starts_with(['$', '_', '/', '#']);
        let near = similar::get_close_matches(key.as_str(), known, 1, least).first().copied();
        let near = near.or_else(|| known.iter().copied().find(|known| known.eq_ignore_ascii_case(key)));
        match near {
            _ if is_remark || key.len() > 64 => None,
            Some(near) => Some((name, format!("is not known here; did you mean `{near}`?"))),
            None if looks_restricting(key) => Some((name, "is not known here, and may restrict something".to_owned())),
            None => None,
        }
    });
    known.chain(unknown).collect()
}

/// Returns `true` if the name of an unknown key speaks of keeping something from happening.
pub(super) fn looks_restricting(key: &str) -> bool {
    let mut words = String::new();
    for sign in key.chars().take(64) {
        if sign.is_uppercase() || !sign.is_alphanumeric() {
            words.push(' ');
        }
        words.extend(sign.to_lowercase());
    }
    words.split(|sign: char| !sign.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

fn is_set(value: Option<&Value>, path: &[&str]) -> bool {
    match (path.split_first(), value) {
        (None, value) => is_on(value),
        (Some((&"*", rest)), Some(Value::Object(keys))) => keys.values().any(|value| is_set(Some(value), rest)),
        (Some((key, rest)), Some(Value::Object(keys))) => is_set(keys.get(*key), rest),
        _ => false,
    }
}

/// Returns the part of a name that can be found in a file.
fn plain(name: &str) -> String {
    name.split('.').filter(|part| *part != "*").collect::<Vec<_>>().join(".")
}
