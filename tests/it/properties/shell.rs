//! Shell lines: what passes without a question is one plain command, and what is denied stays so in every disguise.

use std::path::Path;
use std::sync::Arc;

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grant, Grants, PermissionMode, Permissions, Places, Project, Rule,
    Rules, is_git_query, is_reading, reads_files, shell_words,
};

use super::Choices;
use super::rights::{PROJECT, kind_of};

fn permissions(mode: PermissionMode, grants: Grants) -> Permissions {
    Permissions::new(Project::at(PROJECT.into()), mode, grants)
}

fn execute(command: &str, confinement: Confinement) -> Access {
    Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement })
}

/// Returns `true` if an agent that may do everything but run `rm` may run a line.
fn passes(line: &str) -> bool {
    let places = Places { project: Path::new(PROJECT), home: None };
    let list: Arc<[Rule]> = [Rule::parse("Bash(rm:*)", places, kind_of)].into();
    let permissions = permissions(PermissionMode::BypassPermissions, Grants::default());
    permissions.with_rules(Rules::default().forbidding(list)).decide(&execute(line, Confinement::Guard))
        == Decision::Allow
}

/// Returns a line without what stands between quotes, or `None` if a quote is not closed.
fn unquoted(line: &str) -> Option<String> {
    let (mut out, mut quote) = (String::new(), None);
    for c in line.chars() {
        match quote {
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => out.push(c),
            Some(open) if open == c => quote = None,
            // Between double quotes these keep their meaning.
            Some('"') if "$`\\".contains(c) => out.push(c),
            Some(_) => {}
        }
    }
    quote.is_none().then_some(out)
}

/// Panics if a line is more than one simple command, all of whose words are what they look like.
fn assert_plain(line: &str, why: &str) {
    let line = line.trim_matches([' ', '\t', '\n']);
    let rest = unquoted(line).unwrap_or_else(|| panic!("{line:?} is {why}, with an open quote"));
    let sign =
        rest.find(['\n', '\r', '\0', ';', '&', '|', '<', '>', '`', '$', '(', ')', '\\', '*', '?', '[', '{', '}']);
    assert_eq!(sign, None, "{line:?} is {why}");
}

pub(super) fn lines(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if is_reading(&text) {
        assert_plain(&text, "said to read only");
    }
    if is_git_query(&text) {
        assert_plain(&text, "said to be a query of git");
    }
    if let Some(words) = reads_files(&text) {
        assert_eq!(words, shell_words(&text), "what was judged is what runs");
        let leaves = |word: &String| word.starts_with(['/', '~']) || word.split('/').any(|part| part == "..");
        assert!(!words[1..].iter().any(leaves), "{text:?} leaves the project");
    }

    let plan = permissions(PermissionMode::Plan, Grants::default());
    for confinement in [Confinement::Guard, Confinement::None] {
        let access = execute(&text, confinement);
        match plan.decide(&access) {
            Decision::Allow => {
                assert_eq!(confinement, Confinement::Guard, "{text:?} is not even guarded");
                assert_plain(&text, "free in plan mode");
            }
            Decision::Deny(_) => {}
            Decision::Ask => panic!("plan mode asks nothing: {text:?}"),
        }
    }

    let access = execute(&text, Confinement::Guard);
    let prefixes = ["cat", "ls", "git log", "git commit", "find", "sed", "npm test", "echo"]
        .map(|words| Grant::Prefix(words.into()));
    if permissions(PermissionMode::Default, Grants::from_iter(prefixes)).decide(&access) == Decision::Allow {
        assert_plain(&text, "covered by its first words");
    }
    let asked = permissions(PermissionMode::Default, Grants::default());
    if let Some(grant) = asked.offer(&access) {
        assert_eq!(grant.to_string().parse::<Grant>().as_ref(), Ok(&grant), "what is offered reads back");
        asked.grant(grant);
        assert_eq!(asked.decide(&access), Decision::Allow, "what was granted is allowed: {text:?}");
    }

    // A line that does not run `rm` does so once `rm` stands before or behind it.
    if passes(&text) {
        for line in [
            format!("rm x; {text}"),
            format!("rm x\n{text}"),
            format!("{text}\nrm x"),
            format!("{text}\n\\rm x"),
            format!("ls $(rm x)\n{text}"),
            format!("{{ rm x; }} && {text}"),
        ] {
            assert!(!passes(&line), "{line:?} passes where `rm` is denied");
        }
        assert!(passes(&format!("{text} \n")), "blanks at its end make no difference: {text:?}");
    }
}

/// Spellings of `rm` for bash.
const NAMES: [&str; 12] =
    ["rm", "'rm'", "\"rm\"", "r'm'", "\\rm", "r\\m", "r\"\"m", "/bin/rm", "'/bin'/rm", "/bin/r\\m", "./rm", "''rm"];
/// What makes no difference before the words of a command.
const BEFORE: [&str; 12] =
    ["", " ", "\t", "\n", "2>&1 ", ">/dev/null ", "</dev/null ", "2>/dev/null ", "  ", "\n\n", "! ", "1>&2 "];
const APART: [&str; 5] = [" ", "\t", "  ", " \t ", " 2>&1 "];
const WORDS: [&str; 10] = ["x", "-rf", "'a b'", "\"a\"", "--", "$x", "*", "a=b", "\\;", "'#'"];
/// What runs what stands between: before it, and behind it.
const AROUND: [(&str, &str); 26] = [
    ("", ""),
    ("(", ")"),
    ("( ", " )"),
    ("{ ", "; }"),
    ("{\n", "\n}"),
    ("if ", "; then ls; fi"),
    ("if ls; then ", "; fi"),
    ("if ls\nthen ls\nelse ", "\nfi"),
    ("while ", "; do ls; done"),
    ("while ls; do ", "; done"),
    ("until ls\ndo\n", "\ndone"),
    ("for f in a b; do ", "; done"),
    ("ls $(", ")"),
    ("ls \"$(", ")\""),
    ("ls a$(", ")b"),
    ("ls <(", ")"),
    ("cat < <(", ")"),
    ("ls `", "`"),
    ("ls && ", ""),
    ("ls | ", " | cat"),
    ("ls & ", " &"),
    ("ls;", ";ls"),
    ("ls 'a' || ", ""),
    ("# comment\n", "\n# comment"),
    ("ls \"a # b\"; ", " # c"),
    ("[ -f x ] && ", ""),
];

/// Builds lines that run `rm`, and panics if one of them passes an agent to which it is denied.
pub(super) fn denials(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut line = format!("{}{}", choices.pick(&BEFORE), choices.pick(&NAMES));
    for _ in 0..choices.below(4) {
        line = format!("{line}{}{}", choices.pick(&APART), choices.pick(&WORDS));
    }
    for _ in 0..=choices.below(4) {
        let (before, behind) = choices.pick(&AROUND);
        line = format!("{before}{line}{behind}");
    }
    assert!(!passes(&line), "{line:?} passes where `rm` is denied");
    for confinement in [Confinement::Guard, Confinement::None] {
        let decision = permissions(PermissionMode::Plan, Grants::default()).decide(&execute(&line, confinement));
        assert!(matches!(decision, Decision::Deny(_)), "{line:?} runs in plan mode");
    }
}
