//! Searching the web, as data: what is found, and who searches.
//!
//! Owns what the user and the table of services may say of a search. Leaves searching to `tool` and `provider`. Invariant:
//! nothing here holds a key.

use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::provider_row::web_address;

/// A page that a search has found, in the words of whoever wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchHit {
    pub url: String,
    pub title: String,
    /// How old the page is, as the search says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<String>,
    /// What it says about the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// A service's own search of the web.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSearch {
    pub form: SearchForm,
    /// The model that searches, if not every one does.
    pub model: Option<String>,
    /// US dollars for a thousand searches, where the service counts them.
    #[serde(default)]
    pub price: u32,
}

/// How a request says that the service is to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchForm {
    /// A tool of the service: `web_search_20250305` of the Messages API, `web_search` of the Responses API.
    Tool,
    /// `web_search_options`.
    Options,
    /// The plugin `web`.
    Plugin,
}

/// The search that the user has set up, as `[web.search]` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    pub engine: SearchEngineKind,
    /// Where it is; Brave has an address of its own.
    #[serde(default, deserialize_with = "some_address")]
    pub url: Option<Url>,
    /// Variable that holds the key.
    pub key_env: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchEngineKind {
    Searxng,
    Brave,
}

impl SearchSettings {
    /// Returns the settings if they are whole; else what is missing, and what to write.
    pub fn checked(self) -> Result<Self, String> {
        if self.engine == SearchEngineKind::Searxng && self.url.is_none() {
            return Err("`url` says where your SearXNG is, such as http://localhost:8888".to_owned());
        }
        if self.key_env.as_deref().is_some_and(|name| !super::is_variable(name)) {
            // Nor is it shown: it may be a key.
            return Err("a variable name is made of A-Z, 0-9 and `_`; a key itself is `api_key`".to_owned());
        }
        Ok(self)
    }

    /// Returns the variable that holds the key.
    pub fn key_variable(&self) -> Option<&str> {
        let usual = (self.engine == SearchEngineKind::Brave).then_some("BRAVE_API_KEY");
        self.key_env.as_deref().or(usual)
    }
}

fn some_address<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    web_address(deserializer).map(Some)
}
