//! Whose files are as good as the user's own.

/// Who the files of a project have to belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    user: u32,
    /// Who has become root with `sudo`.
    sudo: Option<u32>,
}

impl Owner {
    /// Returns the user of this number, who is root by `sudo` if that names someone.
    #[must_use]
    pub fn new(user: u32, sudo: Option<u32>) -> Self {
        Self { user, sudo: sudo.filter(|_| user == 0) }
    }

    #[must_use]
    pub fn is(self, uid: u32) -> bool {
        uid == self.user || self.sudo == Some(uid)
    }

    /// Returns `true` if something of this owner can be relied on: root could change the user's own files, too.
    #[must_use]
    pub fn trusts(self, uid: u32) -> bool {
        uid == 0 || self.is(uid)
    }
}
