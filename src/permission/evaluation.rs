//! What becomes of one access, and why: all that is asked about it follows from one evaluation.
//!
//! Owns the order in which fences, lists, rules, answers and modes are asked, and the words for what decides. Leaves each of these
//! to its own file. Invariant: the decision, its reason, what an answer would allow and what a hook may say are of one moment.

use std::sync::PoisonError;

use super::ruleset::Ruling;
use super::shell::is_read_only;
use super::{
    Access, AccessKind, ActiveGrant, Confinement, Decision, Grant, PermissionMode, Permissions, RuleNotice, State,
    decide, grants, is_reading,
};

/// What becomes of an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    pub decision: Decision,
    pub because: Because,
    /// What an answer for the session or the project would allow. Where a rule asks, only a yes for this time is of use.
    pub offer: Option<Grant>,
    /// Whether a hook may answer a question with a yes: not where a rule asks, nor about what other programs run or obey, what
    /// lies outside of the project, or a way to a host.
    pub hook_may_allow: bool,
}

/// What decides on an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// The bounds of the agent or its lists, in words for the model.
    Bounds(String),
    Rule(RuleNotice),
    /// A rule that may be about it; the text says why that is not certain.
    Doubt(RuleNotice, &'static str),
    /// It is not known what it does, which may be what this rule or another one is about.
    Unread(RuleNotice, &'static str),
    Answer(ActiveGrant),
    /// The skill that the agent carries out.
    Skill,
    /// A rule about files, from which nothing would keep a command that reads: no rule allows such a one.
    Withheld(RuleNotice),
    /// What is lost for good, which no mode takes upon itself.
    Lasting(String),
    /// The mode in force, whether it is the agent's own, and what it makes of this.
    Mode {
        mode: PermissionMode,
        is_own: bool,
        why: &'static str,
    },
}

impl Because {
    fn of_mode(mode: PermissionMode, why: &'static str) -> Self {
        Self::Mode { mode, is_own: false, why }
    }

    /// Says it to people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Bounds(why) => why.clone(),
            Self::Rule(rule) => format!("rule: {rule}"),
            Self::Doubt(rule, why) => format!("rule: {rule}; this line might do that: {why}"),
            Self::Unread(rule, why) => {
                format!("rule: {rule}, or another one about commands; this line might do that: {why}")
            }
            Self::Answer(given) => {
                format!("answer: {} ({}, {})", given.grant, given.origin.word(), given.holder.words())
            }
            Self::Withheld(rule) => {
                format!("rule: {rule}; outside of the sandbox, nothing keeps this command from that")
            }
            Self::Lasting(why) => format!("nothing brings this back: {why}"),
            Self::Skill => "the skill that is carried out allows it".to_owned(),
            Self::Mode { mode, is_own, why } => {
                let whose = if *is_own { " (this agent's own)" } else { "" };
                format!("mode {}{whose}: {why}", mode.word())
            }
        }
    }

    /// Returns `true` if a rule of the settings decides, so that no other rule is of use.
    #[must_use]
    pub fn is_rule(&self) -> bool {
        matches!(self, Self::Rule(_) | Self::Doubt(..) | Self::Unread(..) | Self::Withheld(_))
    }
}

impl Evaluation {
    /// Says what decides, for people. What is refused is said as the model reads it.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.decision {
            Decision::Deny(why) => why.clone(),
            Decision::Allow | Decision::Ask => self.because.words(),
        }
    }
}

impl Permissions {
    /// Evaluates one access: what the agent's fence, its lists or a rule forbid is forbidden in every mode.
    pub fn evaluate(&self, access: &Access) -> Evaluation {
        self.evaluate_in(self.mode(), access)
    }

    /// Decides on one access.
    pub fn decide(&self, access: &Access) -> Decision {
        self.evaluate(access).decision
    }

    /// Decides anew on an access that the user is being asked about. A grant that was given meanwhile allows it, and a
    /// stricter mode refuses it; a mode that would have let it pass answers no question that is open.
    pub fn decide_again(&self, access: &Access) -> Decision {
        self.evaluate_in(self.mode().stricter(PermissionMode::Default), access).decision
    }

    /// Says why an access is asked about, for people.
    pub fn reason(&self, access: &Access) -> String {
        self.evaluate(access).because.words()
    }

    /// Returns the grant that an answer for the session or the project would add for `access`.
    pub fn offer(&self, access: &Access) -> Option<Grant> {
        self.evaluate(access).offer
    }

    /// Returns `true` if a hook may answer the question about an access with a yes.
    pub fn let_hook_allow(&self, access: &Access) -> bool {
        self.evaluate(access).hook_may_allow
    }

    /// Returns the same command outside of the sandbox, if it may run there: so it does.
    pub fn outside_if_allowed(&self, access: &Access) -> Option<Access> {
        access.unconfined().filter(|open| self.decide(open) == Decision::Allow)
    }

    /// Says what becomes of agents of a kind that the main agent starts.
    pub fn evaluate_kind(&self, kind: &str) -> Evaluation {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let (decision, because) = match state.ruleset.denying_kind(kind) {
            Some(rule) => (Decision::Deny(refusal_by(&rule)), Because::Rule(rule)),
            None => (Decision::Allow, Because::of_mode(self.mode_in(&state), "nothing forbids these agents")),
        };
        Evaluation { decision, because, offer: None, hook_may_allow: false }
    }

    fn evaluate_in(&self, mode: PermissionMode, access: &Access) -> Evaluation {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let Some(run) = access.unreaching() else {
            let (decision, because) = self.judge(&state, mode, access);
            return self.evaluation(&state, access, access, (decision, because));
        };
        // A way to a host is one thing, and the command that wants it another.
        let judged = match self.judge(&state, mode, &run) {
            refusal @ (Decision::Deny(_), _) => refusal,
            _ => self.by_mode(&state, mode, access),
        };
        self.evaluation(&state, access, &run, judged)
    }

    fn evaluation(
        &self,
        state: &State,
        access: &Access,
        run: &Access,
        (decision, because): (Decision, Because),
    ) -> Evaluation {
        let (access, run) = (&*self.as_in_project(access), &*self.as_in_project(run));
        let ruling = state.ruleset.judge(run, &state.project, &self.lines);
        let is_asked = matches!(ruling, Ruling::Asked(_) | Ruling::Likely(..) | Ruling::Unclear(..));
        // What nothing brings back is allowed each time, or by a rule.
        let has_offer = !is_asked && access.lasting.is_none();
        let offer = if has_offer { Grant::for_access(access, &state.project) } else { None };
        let hook_may_allow = !is_asked
            && match &access.kind {
                AccessKind::Write { path } => state.project.is_plain_file(path),
                AccessKind::Reach { .. } | AccessKind::Start { .. } => false,
                AccessKind::Nothing
                | AccessKind::Read { .. }
                | AccessKind::Execute { .. }
                | AccessKind::Fetch { .. }
                | AccessKind::Search { .. }
                | AccessKind::Call { .. }
                | AccessKind::Skill { .. } => true,
            };
        Evaluation { decision, because, offer, hook_may_allow }
    }

    /// Asks fence, lists, rules, answers and mode in this order.
    fn judge(&self, state: &State, mode: PermissionMode, access: &Access) -> (Decision, Because) {
        let forbid = |why: String| (Decision::Deny(why.clone()), Because::Bounds(why));
        if let Some(refusal) = self.fence.as_ref().and_then(|fence| fence.refusal(access))
            && !self.is_own(access)
        {
            return forbid(refusal);
        }
        let access = &*self.as_in_project(access);
        if let Some(refusal) = self.rules.refusal(access, &self.lines) {
            return forbid(refusal);
        }
        let access = &*self.as_rules_allow(access);
        if let Some(refusal) = self.refused_meanwhile(state, access) {
            return forbid(refusal);
        }
        let by_mode = || self.by_mode(state, mode, access);
        match state.ruleset.judge(access, &state.project, &self.lines) {
            Ruling::Denied(rule) => (Decision::Deny(refusal_by(&rule)), Because::Rule(rule)),
            Ruling::Asked(rule) => match by_mode() {
                refusal @ (Decision::Deny(_), _) => refusal,
                _ => (Decision::Ask, Because::Rule(rule)),
            },
            Ruling::Likely(rule, why) => match by_mode() {
                refusal @ (Decision::Deny(_), _) => refusal,
                _ => (Decision::Ask, Because::Doubt(rule, why)),
            },
            Ruling::Unclear(rule, why) => match by_mode() {
                refusal @ (Decision::Deny(_), _) => refusal,
                _ => (Decision::Ask, Because::Unread(rule, why)),
            },
            Ruling::Allowed(rule) => match by_mode() {
                refusal @ (Decision::Deny(_), _) => refusal,
                _ => (Decision::Allow, Because::Rule(rule)),
            },
            Ruling::Nothing => match by_mode() {
                (Decision::Ask, _) if self.is_own(access) => {
                    (Decision::Allow, Because::of_mode(mode, "it is the agent's own folder"))
                }
                (Decision::Ask, _) if self.is_lent(state, access) => (Decision::Allow, Because::Skill),
                (Decision::Ask, because) => match state.ruleset.keeping_from(access, &self.lines) {
                    Some(rule) => (Decision::Ask, Because::Withheld(rule)),
                    None => (Decision::Ask, because),
                },
                judged => judged,
            },
        }
    }

    /// Asks the answers and the mode, where no rule says anything.
    fn by_mode(&self, state: &State, mode: PermissionMode, access: &Access) -> (Decision, Because) {
        if self.only_reads(state, access) {
            return (Decision::Allow, Because::of_mode(mode, "it only reads"));
        }
        let decision = decide(mode, (&state.grants, &self.holder), &state.project, access);
        let because = match &decision {
            Decision::Deny(why) => Because::Bounds(why.clone()),
            Decision::Ask => match &access.lasting {
                // What is asked about is the way to the host.
                Some(why) if !matches!(access.kind, AccessKind::Reach { .. }) => Because::Lasting(why.clone()),
                _ => Because::Mode { mode, is_own: mode != state.mode, why: why_asked(state, access) },
            },
            Decision::Allow => match state.grants.covering(access, &state.project, &self.holder) {
                Some(given) => Because::Answer(given.clone()),
                None => Because::of_mode(mode, why_free(state, mode, access)),
            },
        };
        (decision, because)
    }

    /// Returns `true` for a command under guard that only reads the project. Rules about paths say nothing of commands,
    /// which could read what those keep from the agent.
    fn only_reads(&self, state: &State, access: &Access) -> bool {
        !self.rules.name_paths_to_read()
            && state.project.root().is_some()
            && matches!(
                &access.kind,
                AccessKind::Execute { command, confinement: Confinement::Guard } if is_reading(command)
            )
    }

    /// Returns `true` if what is lent allows an access about which no rule of the settings says anything.
    fn is_lent(&self, state: &State, access: &Access) -> bool {
        matches!(self.lent().judge(access, &state.project, &self.lines), Ruling::Allowed(_))
    }
}

fn refusal_by(rule: &RuleNotice) -> String {
    format!("Not allowed here: {rule}. Continue without it.")
}

fn why_free(state: &State, mode: PermissionMode, access: &Access) -> &'static str {
    match &access.kind {
        AccessKind::Read { path } if state.project.contains(path) => "reading in the project is free",
        AccessKind::Execute { confinement: Confinement::Sandbox | Confinement::ReadOnlySandbox, .. } => {
            "it runs in the sandbox"
        }
        AccessKind::Execute { command, .. } if is_reading(command) => "it only reads",
        AccessKind::Nothing | AccessKind::Skill { .. } => "it touches nothing",
        _ => mode.about(),
    }
}

fn why_asked(state: &State, access: &Access) -> &'static str {
    let project = &state.project;
    match &access.kind {
        AccessKind::Nothing | AccessKind::Skill { .. } => "this tool always asks",
        AccessKind::Fetch { .. } => "each host of the web is asked about once",
        AccessKind::Search { .. } => "the words of a search leave this machine",
        AccessKind::Start { .. } => "another program works on its own",
        AccessKind::Call { .. } => "each tool of another program is asked about",
        _ if project.root().is_none() => "no project here, so everything needs approval",
        AccessKind::Read { .. } => "outside the project",
        AccessKind::Write { path } if !project.contains(path) => "outside the project",
        AccessKind::Write { path } if !project.is_plain_file(path) => "other programs act on this file",
        AccessKind::Write { .. } => "every edit needs approval",
        AccessKind::Execute { command, .. } if !grants::is_simple(command) && state.ruleset.name_part_of(command) => {
            "your permission covers a part of it only"
        }
        AccessKind::Execute { command, .. }
            if grants::is_simple(command) && state.ruleset.name_beginning_of(command) =>
        {
            "only its beginning is allowed; the rest may do harm"
        }
        AccessKind::Execute { command, .. } if is_read_only(command) => {
            "it may reach outside the project or run its programs"
        }
        AccessKind::Execute { .. } => "it may modify files",
        AccessKind::Reach { .. } => "the sandbox has no way to this host",
    }
}
