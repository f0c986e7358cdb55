//! Skills and commands on the screen: which can be called, and the list of all.
//!
//! Owns what is known of them and how each is shown. Leaves the files to `definition`. Invariants: a built-in command wins over
//! one of the same name, and the list says so; what a file says is one line, without controls.

use std::sync::Arc;

use crate::app::command::{SlashCommand, candidates};
use crate::app::composer::Candidate;
use crate::app::lists::{ListCell, ListEntry, ListKind, ListStyle, cell};
use crate::app::overlay::trust;
use crate::app::{App, Effect, ListPopup, Popup};
use crate::definition::CatalogChanges;
use crate::definition::skill::{ListedSkill, Skill, awaits_trust, called_in};
use crate::message::sanitize_line;

/// Characters of a description that are shown.
const DETAIL_CHARS: usize = 120;

/// What is known of skills.
#[derive(Debug, Default)]
pub struct SkillChoices {
    /// `None` until they were listed.
    listed: Option<Arc<[ListedSkill]>>,
}

impl SkillChoices {
    fn all(&self) -> &[ListedSkill] {
        self.listed.as_deref().unwrap_or_default()
    }

    /// Returns those that the user can call, in the order of the list.
    pub fn callable(&self) -> impl Iterator<Item = &Skill> {
        let in_force = self.all().iter().filter_map(ListedSkill::in_force).map(Arc::as_ref);
        in_force.filter(|skill| skill.is_for_users && SlashCommand::find(&skill.name).is_none())
    }
}

/// Returns what a skill does, with where it comes from and what may follow its name, on one line.
#[must_use]
pub fn skill_words(skill: &Skill) -> String {
    format!("{} · {}", sanitize_line(&skill.origin.label()), about(skill))
}

fn about(skill: &Skill) -> String {
    let hint = skill.argument_hint.as_ref().map(|hint| format!("{hint} ")).unwrap_or_default();
    let words = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
    sanitize_line(&format!("{hint}{words}")).chars().take(DETAIL_CHARS).collect()
}

/// Returns the state of a file in a few words: in force, or why it is not.
#[must_use]
pub fn skill_state(listed: &ListedSkill) -> String {
    let first = |listed: &ListedSkill| {
        let error = listed.diagnostics.first()?;
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        Some(format!("{line}{}", error.message))
    };
    let words = match (&listed.skill, &listed.shadowed_by) {
        _ if listed.awaits_trust => "waits for your trust: /trust".to_owned(),
        (None, _) => format!("broken: {}", first(listed).unwrap_or_else(|| "cannot be used".to_owned())),
        (_, Some(by)) => format!("shadowed by {}", by.display()),
        (Some(skill), None) if skill.is_for_users && SlashCommand::find(&listed.name).is_some() => {
            format!("the built-in /{} wins; models can call it", listed.name)
        }
        (Some(skill), None) => {
            let who = match (skill.is_for_users, skill.is_for_models) {
                (true, true) => None,
                (true, false) => Some("only you call it".to_owned()),
                (false, true) => Some("only models call it".to_owned()),
                (false, false) => Some("nobody can call it".to_owned()),
            };
            let fork = skill
                .fork
                .as_ref()
                .map(|fork| format!("runs as {}", fork.agent.as_deref().unwrap_or("general-purpose")));
            let paths = (!skill.paths.is_empty()).then(|| format!("for {}", skill.paths.join(", ")));
            let doubt = first(listed).map(|words| format!("! {words}"));
            let parts = [who, fork, paths, doubt, Some(about(skill))];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
    };
    sanitize_line(&words).into_owned()
}

/// All skills and commands, to open one in the editor.
pub(in crate::app) static SKILLS: ListKind = ListKind {
    name: "skills",
    title: |_| "skills and commands".to_owned(),
    columns: 110,
    head: Some(|app| match (&app.settings.skills.listed, app.settings.skills.all().len()) {
        (None, _) => "looking …".to_owned(),
        (_, 0) => "none yet: write .claude/skills/NAME/SKILL.md or .claude/commands/NAME.md".to_owned(),
        _ => String::new(),
    }),
    has_query: false,
    entries: |app, _, columns| app.settings.skills.all().iter().map(|listed| row(listed, columns)).collect(),
    empty: "",
    accept_word: Some("edit"),
    accept: |app, list| match app.settings.skills.all().get(list.chosen) {
        Some(listed) if listed.awaits_trust => trust::ask(app),
        Some(listed) => app.out.push(Effect::EditSkill(listed.path.clone())),
        None => {}
    },
    acts: &[],
    shows_choice: true,
};

fn row(listed: &ListedSkill, columns: u16) -> ListEntry {
    let is_used = listed.in_force().is_some();
    let (name, words) =
        if is_used { (ListStyle::Text, ListStyle::Muted) } else { (ListStyle::Faint, ListStyle::Faint) };
    let mut cells = vec![cell(format!("/{}", sanitize_line(&listed.name)), name).wide(26)];
    let (whose, state) = (listed.origin.label(), skill_state(listed));
    let state = if columns >= 90 {
        cells.push(cell(format!(" {whose} {}", listed.kind.word()), ListStyle::Faint).wide(20));
        format!(" {state}")
    } else {
        format!(" {whose} · {state}")
    };
    cells.push(ListCell { gives_way: true, ..cell(state, words) });
    ListEntry::new(listed.path.to_string_lossy(), cells)
}

/// Opens the list.
pub(in crate::app) fn open(app: &mut App) {
    app.out.push(Effect::ListSkills);
    app.overlay.open(Popup::List(ListPopup::new(&SKILLS, 0)));
}

/// Takes in what there is.
pub(in crate::app) fn listed(app: &mut App, listed: Arc<[ListedSkill]>) {
    app.overlay.clamp_choice(&SKILLS, listed.len());
    app.settings.skills.listed = Some(listed);
    let own = app.settings.skills.callable();
    let own = own.map(|skill| Candidate { label: format!("/{}", skill.name), detail: skill_words(skill) });
    let commands: Vec<Candidate> = candidates().into_iter().chain(own).collect();
    app.messages.set_commands(commands);
    app.edited();
}

/// Takes in that some have changed.
pub(in crate::app) fn changed(app: &mut App, changes: &CatalogChanges) {
    app.out.push(Effect::ListSkills);
    let name = |name: &String| format!("/{}", sanitize_line(name));
    let words = [("new", &changes.added), ("changed", &changes.changed), ("removed", &changes.removed)];
    let words = words.iter().filter(|(_, names)| !names.is_empty());
    let words: Vec<String> = words
        .map(|(word, names)| match names.as_slice() {
            [one] => format!("{word}: {}", name(one)),
            many => format!("{word}: {} skills", many.len()),
        })
        .collect();
    if !words.is_empty() {
        app.out.inform(words.join(" · "));
    } else if !changes.errors.is_empty() {
        app.out.warn("a skill or command has a fault; /skills lists it");
    }
}

/// Returns `true` if a text calls one of the user's own.
pub(in crate::app) fn is_called(app: &App, text: &str) -> bool {
    called_in(text).is_some_and(|(name, _)| app.settings.skills.callable().any(|skill| skill.name == name))
}

/// Says that there is no such command, and what to do.
pub(in crate::app) fn no_command(name: &str, listing: &[ListedSkill]) -> String {
    let name = sanitize_line(name);
    if awaits_trust(listing, &name) {
        format!("/{name} waits for your trust: /trust shows what this folder brings")
    } else {
        format!("no command /{name}; see /help")
    }
}

/// Says on the screen that there is no such command.
pub(in crate::app) fn warn_unknown(app: &mut App, name: &str) {
    let words = no_command(name, app.settings.skills.all());
    app.out.warn(words);
}

/// Writes a call into the composer, for what may follow its name.
pub(in crate::app) fn write_call(app: &mut App, name: &str) {
    app.messages.composer_mut().set_text(&format!("/{name} "));
    app.edited();
}
