//! What settings keep from skills: some are off, some are the user's alone, and none may run commands.
//!
//! Owns what becomes of a skill that is kept from something. Leaves reading the settings to `config`. Invariant: a word that
//! is not understood switches the skill off.

use std::sync::Arc;

use super::Skill;
use crate::message::{Diagnostic, SkillPiece};

/// What settings say of skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillLimits {
    /// Names of skills, and the word for each.
    pub overrides: Vec<(String, String)>,
    /// Whether none runs commands.
    pub bars_commands: bool,
}

impl SkillLimits {
    /// Returns a skill as it may be used, and why it may not.
    pub(super) fn apply(&self, skill: Arc<Skill>) -> (Option<Arc<Skill>>, Option<Diagnostic>) {
        let refused = |words: &str| (None, Some(Diagnostic::in_file(&skill.path, words)));
        let runs = || skill.load("", "").pieces.iter().any(|piece| matches!(piece, SkillPiece::Command { .. }));
        if self.bars_commands && runs() {
            return refused(
                "it runs commands, which your settings do not let skills do (`disableSkillShellExecution`).",
            );
        }
        let words = self.overrides.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&skill.name));
        let words: Vec<&str> = words.map(|(_, word)| word.as_str()).collect();
        let is_one_of = |known: &[&str]| words.iter().all(|word| known.contains(word));
        if !is_one_of(&["on", "name-only", "user-invocable-only"]) {
            return refused("your settings switch it off (`skillOverrides`).");
        }
        if is_one_of(&["on", "name-only"]) {
            return (Some(skill), None);
        }
        let users_alone = Skill { is_for_models: false, ..skill.as_ref().clone() };
        (Some(Arc::new(users_alone)), None)
    }
}
