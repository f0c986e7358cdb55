//! Whose files a start reads (`--setting-sources`).
//!
//! Owns the names of the layers. Leaves what lies in each to those who read it. Invariant: the organization's files are in
//! no list, for they always count.

use std::str::FromStr;

use super::SettingsTier;

/// The layers of settings, memory files, agents and skills that are read beside the organization's. The default is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingSources {
    pub user: bool,
    pub project: bool,
    /// What the user has said for this project alone.
    pub local: bool,
}

impl Default for SettingSources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl SettingSources {
    /// Returns `true` if files of this tier are read.
    #[must_use]
    pub fn read(self, tier: SettingsTier) -> bool {
        match tier {
            SettingsTier::Managed | SettingsTier::Given => true,
            SettingsTier::Local => self.local,
            SettingsTier::Project => self.project,
            SettingsTier::User => self.user,
        }
    }
}

/// Reads a list such as `user,project`; an empty one is for none.
impl FromStr for SettingSources {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sources = Self { user: false, project: false, local: false };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                other => return Err(format!("`{other}` is none of user, project, local")),
            }
        }
        Ok(sources)
    }
}
