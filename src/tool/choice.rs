//! Which of the built-in tools there are (`--tools`). Those of MCP servers are another matter.

use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;

use crate::message::canonical_name;

/// The built-in tools that agents are offered at most. The default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuiltInTools(Option<Arc<[String]>>);

/// Reads names between commas or blanks; `default` is for all tools, and nothing for none.
impl FromStr for BuiltInTools {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let names: Vec<&str> = text.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty()).collect();
        let is_all = names.iter().any(|name| name.eq_ignore_ascii_case("default"));
        Ok(Self((!is_all).then(|| names.into_iter().map(|name| canonical_name(name).to_owned()).collect())))
    }
}

impl BuiltInTools {
    /// Returns `true` if a built-in tool may be offered.
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.iter().any(|name| name.eq_ignore_ascii_case(tool)))
    }

    /// Lists the names that were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|names| names.iter()).map(String::as_str)
    }
}
