//! Which addresses hooks may be, and which variables their headers may hold.
//!
//! Owns the lists of settings files, and how those of several files add up. Leaves what an entry matches to `message`, and
//! heeding them to `services`. Source: the reference of Claude Code's settings. Invariant: an entry that is not understood allows nothing.

use reqwest::Url;
use serde_json::{Map, Value};

use super::{SettingsFile, json};
use crate::message::allows_url;

/// The lists of one file, as far as it has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileHttpHookLists {
    pub urls: Option<Vec<String>>,
    pub variables: Option<Vec<String>>,
}

/// The lists of all files. Each of them has to have what is to be allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpHookLists {
    urls: Vec<Vec<String>>,
    variables: Vec<Vec<String>>,
}

impl FileHttpHookLists {
    pub(super) fn of(keys: &Map<String, Value>, lost: &mut Vec<(String, String)>) -> Self {
        let mut list = |key: &str| {
            let value = keys.get(key).filter(|value| !value.is_null())?;
            let Value::Array(items) = value else {
                lost.push((key.to_owned(), format!("is {}, no list: it allows nothing", json::kind(value))));
                return Some(Vec::new());
            };
            Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        Self { urls: list("allowedHttpHookUrls"), variables: list("httpHookAllowedEnvVars") }
    }
}

impl HttpHookLists {
    /// Returns what the lists of all files come to. A project's list allows nothing that the user's does not.
    #[must_use]
    pub fn of(files: &[SettingsFile]) -> Self {
        let lists = |of: fn(&FileHttpHookLists) -> Option<&Vec<String>>| {
            let of_tier = |is_projects: bool| {
                let those = files.iter().filter(|file| file.tier.is_projects() == is_projects);
                those.filter_map(|file| of(&file.more.http_hooks).cloned()).reduce(|all, more| [all, more].concat())
            };
            of_tier(false).into_iter().chain(of_tier(true)).collect()
        };
        Self { urls: lists(|file| file.urls.as_ref()), variables: lists(|file| file.variables.as_ref()) }
    }

    #[must_use]
    pub fn allow_url(&self, url: &Url) -> bool {
        self.urls.iter().all(|list| list.iter().any(|entry| allows_url(entry, url)))
    }

    #[must_use]
    pub fn allow_variable(&self, name: &str) -> bool {
        self.variables.iter().all(|list| list.iter().any(|known| known == name))
    }
}
