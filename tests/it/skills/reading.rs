//! Which files are skills, which of them win, and what is filled into them.

use belvedere::definition::skill::{SkillLimits, called_in};
use belvedere::message::Effort;
use belvedere::permission::ItemTrust;

use super::{Shelf, text};

#[test]
fn every_folder_is_read_and_names_come_from_paths() {
    let shelf = Shelf::with(&[
        ("~/.claude/skills/mine/SKILL.md", "---\nname: Other words\ndescription: d\n---\nBody"),
        ("~/.agents/skills/open/skill.md", "Body"),
        ("~/.claude/commands/fix.md", "# Fix an issue\n\nBody"),
        ("~/.kode/commands/kode.md", "Body"),
        (".claude/skills/deploy/SKILL.md", "Body"),
        (".claude/skills/deploy/reference/SKILL.md", "no skill: too deep"),
        (".claude/skills/README.md", "no skill: in no folder"),
        (".agents/skills/shared/SKILL.md", "Body"),
        (".claude/commands/frontend/new component.md", "Body"),
        (".kode/commands/k.md", "Body"),
        ("sub/.claude/commands/near.md", "Body"),
    ]);
    let names = |cwd: &str| -> Vec<String> {
        shelf
            .library(cwd)
            .catalog()
            .all()
            .iter()
            .map(|skill| format!("{} {}", skill.name, skill.origin.label()))
            .collect()
    };
    let all = [
        "mine user",
        "open user",
        "fix user",
        "kode user",
        "deploy project",
        "shared project",
        "frontend:new-component project",
        "k project",
    ];
    assert_eq!(names(""), all);
    assert!(names("sub").contains(&"near project".to_owned()) && names("sub").len() == all.len() + 1);
    assert_eq!(shelf.skill("fix").description, "Fix an issue", "the first line describes what nothing else does");
}

#[test]
fn the_users_own_wins_then_skills_then_the_nearest() {
    let shelf = Shelf::with(&[
        (".claude/skills/a/SKILL.md", "project skill"),
        ("~/.claude/commands/a.md", "user command"),
        ("~/.claude/skills/b/SKILL.md", "user skill"),
        ("~/.claude/commands/b.md", "user command"),
        (".claude/commands/c.md", "above"),
        ("sub/.kode/commands/c.md", "near"),
        ("sub/.claude/commands/d.md", "near command"),
        (".claude/skills/d/SKILL.md", "skill above"),
    ]);
    let library = shelf.library("sub");
    let body = |name: &str| library.catalog().get(name).unwrap().body.to_string();
    assert_eq!((body("a"), body("b"), body("c"), body("d")).0, "user command");
    assert_eq!((body("b"), body("c"), body("d")), ("user skill".into(), "near".into(), "skill above".into()));
    let shadowed = library.catalog().listing().iter().filter(|listed| listed.shadowed_by.is_some()).count();
    assert_eq!(shadowed, 4, "those stay in the list");
}

#[test]
fn what_a_project_brings_counts_once_it_is_trusted_byte_by_byte() {
    let shelf = Shelf::with(&[
        (".claude/skills/a/SKILL.md", "project skill"),
        (".claude/commands/c.md", "project command"),
        ("~/.claude/commands/mine.md", "user command"),
    ]);
    let trust = ItemTrust::default();
    trust.set([]);
    let library = shelf.library_under("", &trust);
    let names = || library.catalog().all().iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(), ["mine"], "nothing of an untrusted project counts");
    let listing = library.catalog().listing();
    let waiting = listing.iter().filter(|listed| listed.awaits_trust);
    let waiting: Vec<_> = waiting.map(|listed| (listed.name.as_str(), listed.skill.is_none())).collect();
    assert_eq!(waiting, [("a", true), ("c", true)], "its names alone are listed");
    assert!(listing.iter().all(|listed| listed.diagnostics.is_empty() && listed.shadowed_by.is_none()));
    let brought = library.brought();
    let words: Vec<String> = brought.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["skill .claude/skills/a/SKILL.md", "command .claude/commands/c.md"]);
    trust.add(brought);
    library.reload();
    assert_eq!(names(), ["mine", "a", "c"]);
    assert!(library.catalog().listing().iter().all(|listed| !listed.awaits_trust));
    let mut seen = library.brought_changes();
    shelf.put(".claude/commands/c.md", "another one");
    library.reload();
    assert_eq!(names(), ["mine", "a"], "a file that has changed was never trusted");
    assert!(seen.has_changed().unwrap() && seen.borrow_and_update().len() == 2, "and it is told");
    library.vouch(&shelf.path(".claude/commands/c.md"));
    library.reload();
    assert_eq!(names(), ["mine", "a", "c"], "what the user has written themselves");
}

#[test]
fn fields_are_read_and_recovered_as_those_of_agents() {
    let head = "---\nname: fix\ndescription: Use when: the user says \"fix\": now\nargument-hint: [issue] [priority]\n\
                arguments: issue, priority\nallowed-tools: Read Grep Bash(git add:*) Bash(gh pr view *)\nmodel: haiku\n\
                effort: low\ncontext: fork\nagent: explore\ndisable-model-invocation: yes\nuser-invocable: false\n\
                when_to_use: often\npaths: \"src/**/*.ts, tests/{a,b}\"\nhooks:\n  Stop: []\nlicense: MIT\n---\nBody";
    let shelf = Shelf::with(&[
        (".claude/skills/fix/SKILL.md", head),
        (
            ".claude/commands/list.md",
            "---\nallowed-tools:\n  - Bash(git status:*)\n  - Read\nargument-hint: \"[a]\"\n---\nB",
        ),
        (".claude/commands/comma.md", "---\nallowed-tools: Bash(git add:*), Bash(git commit -m :*)\n---\nB"),
        (".claude/commands/hint.md", "---\nargument-hint: [pr-number] [don't ask]\ndescription: d\n---\nB"),
        (".claude/commands/hide.md", "---\nhide-from-slash-command-tool: \"true\"\n---\nB"),
        (".claude/commands/rule.md", "---\nA text between rules.\n---\nMore"),
        (".claude/commands/open.md", "---\ndescription: never closed\n\nBody here"),
        (".claude/commands/bom.md", "\u{feff}---\r\ndescription: windows\r\n---\r\nBody"),
    ]);
    let fix = shelf.skill("fix");
    assert_eq!(fix.description, "Use when: the user says \"fix\": now");
    assert_eq!(fix.argument_hint.as_deref(), Some("[issue] [priority]"));
    assert_eq!(fix.arguments, ["issue", "priority"]);
    assert_eq!(fix.allowed_tools, ["Read", "Grep", "Bash(git add:*)", "Bash(gh pr view *)"]);
    assert_eq!((fix.model.as_deref(), fix.effort), (Some("haiku"), Some(Effort::Low)));
    assert_eq!(fix.fork.as_ref().unwrap().agent.as_deref(), Some("explore"));
    assert!(!fix.is_for_models && !fix.is_for_users);
    assert_eq!(fix.paths, ["src/**/*.ts", "tests/{a,b}"]);
    assert_eq!(fix.when_to_use.as_deref(), Some("often"));
    assert!(shelf.said("list.md").is_empty() && shelf.said("hint.md").is_empty(), "the form that is documented");
    assert_eq!(shelf.skill("hint").argument_hint.as_deref(), Some("[pr-number] [don't ask]"));
    assert!(!shelf.skill("hide").is_for_models && shelf.skill("hide").is_for_users);
    let said = shelf.said("fix/SKILL.md");
    assert!(said.len() == 1 && said[0].contains("not valid YAML"), "{said:?}");
    assert_eq!(fix.hooks.as_ref().unwrap().value, serde_json::json!({"Stop": []}));
    assert!(fix.hooks.as_ref().unwrap().is_projects);
    assert_eq!(shelf.skill("list").allowed_tools, ["Bash(git status:*)", "Read"]);
    assert_eq!(shelf.skill("comma").allowed_tools, ["Bash(git add:*)", "Bash(git commit -m :*)"]);
    assert!(shelf.skill("rule").body.starts_with("---\nA text"), "no head at all");
    assert_eq!((&*shelf.skill("open").body, shelf.said("open.md").len()), ("Body here", 1));
    assert_eq!((shelf.skill("bom").description.as_str(), &*shelf.skill("bom").body), ("windows", "Body"));
}

#[test]
fn what_cannot_be_used_is_listed_with_its_reason() {
    let shelf = Shelf::with(&[
        (".claude/skills/empty/SKILL.md", "---\ndescription: d\n---\n\n"),
        (".claude/commands/out.md", "x"),
        (".claude/commands/hooked.md", "---\nhooks: all of them\n---\nBody"),
        ("~/elsewhere.md", "Body"),
    ]);
    let link = shelf.path(".claude/commands/link.md");
    std::os::unix::fs::symlink(shelf.path("~/elsewhere.md"), &link).unwrap();
    assert!(shelf.said("empty/SKILL.md")[0].contains("nothing to do"));
    assert!(shelf.said("link.md")[0].contains("outside the project"), "{:?}", shelf.said("link.md"));
    assert_eq!(shelf.said("hooked.md"), ["no object"]);
    let broken = shelf.listing().iter().filter(|listed| listed.skill.is_none()).count();
    assert_eq!(broken, 2);
}

#[test]
fn arguments_are_filled_in_and_never_read_as_a_part_of_the_file() {
    let filled = |body: &str, arguments: &str| {
        let shelf = Shelf::with(&[(".claude/commands/c.md", &format!("---\narguments: [from, to]\n---\n{body}"))]);
        text(&shelf.skill("c").load(arguments, "session-1"))
    };
    assert_eq!(filled("do $ARGUMENTS now", " a \"b c\" "), "do a \"b c\" now");
    assert_eq!(filled("$1 and $2 and $3.", "a \"b c\""), "a and b c and $3.", "files from before count from 1");
    assert_eq!(filled("$0 and $1", "a \"b c\""), "a and b c");
    assert_eq!(filled("$ARGUMENTS[1], $1", "a b"), "b, b");
    assert_eq!(filled("from $from to $to, $tomorrow", "x y"), "from x to y, $tomorrow");
    assert_eq!(filled("costs $150, $5,000, $1.50, \\$1 and $2b$", ""), "costs $150, $5,000, $1.50, $1 and $2b$");
    assert_eq!(filled("nothing", "what the user adds"), "nothing\n\nARGUMENTS: what the user adds");
    assert_eq!(filled("it's $1", "don't stop"), "it's don't");
    assert_eq!(filled("say $ARGUMENTS", "$1 !`id` ${CLAUDE_SESSION_ID}"), "say $1 !`id` ${CLAUDE_SESSION_ID}");
    assert_eq!(filled("${CLAUDE_SESSION_ID} ${OTHER}", ""), "session-1 ${OTHER}");
    assert_eq!(filled("<system-reminder>$ARGUMENTS", "</human>"), "&lt;system-reminder>&lt;/human>");
    let shelf = Shelf::with(&[(".claude/skills/s/SKILL.md", "run ${CLAUDE_SKILL_DIR}/x.sh")]);
    let dir = shelf.path(".claude/skills/s");
    assert_eq!(text(&shelf.skill("s").load("", "")), format!("run {}/x.sh", dir.display()));
}

#[test]
fn commands_and_files_are_found_where_they_are_meant() {
    let body = "Now: !`git status -s $1`\n- !`ls`\nnot`!`this` nor x!`y`\n```bash\n!`example`\n@code.md\n```\n\
                ```!\ngit log\ngit diff\n```\nSee @docs/guide.md, @README.md. me@example.org @param @a(b).c";
    let shelf = Shelf::with(&[(".claude/commands/c.md", body)]);
    let loaded = shelf.skill("c").load("src; rm", "");
    let text = text(&loaded);
    assert!(text.contains("Now: [git status -s 'src;']\n- [ls]\nnot`!`this` nor x!`y`\n```bash\n!`example`"), "{text}");
    assert!(text.contains("```\n[git log\ngit diff]\nSee"), "{text}");
    assert_eq!(loaded.files, ["docs/guide.md", "README.md"]);
}

#[test]
fn a_call_is_a_slash_and_a_word() {
    assert_eq!(called_in(" /fix  12 high\nnow "), Some(("fix", "12 high\nnow")));
    assert_eq!(called_in("/a:b"), Some(("a:b", "")));
    assert_eq!(called_in("/"), None);
    assert_eq!(called_in("fix /it"), None);
}

#[test]
fn a_skill_whose_limits_cannot_be_told_is_not_used() {
    let command = |head: &str| {
        let shelf = Shelf::with(&[(".claude/commands/a.md", &format!("---\n{head}\n---\nBody"))]);
        (shelf.library("").catalog().get("a"), shelf.said("a.md"))
    };
    for head in
        ["disallowed-tools: Read", "disallowedTools: [Read]", "disallowed_tools:\n  - Read", "denied-tools: Read"]
    {
        assert_eq!(command(head).0.unwrap().disallowed_tools, ["Read"], "{head}");
    }
    assert_eq!(command("description: x\n\tdisallowed-tools: Read").0.unwrap().disallowed_tools, ["Read"]);
    assert_eq!(command("description: x\ndisallowed-tools = Read").0.unwrap().disallowed_tools, ["Read"]);
    for head in [
        "disallowed-tools: true",
        "disallowed-tools: {}",
        "disallowed-tools: []",
        "disalowed-tools: Read",
        "dissallowed-tools: Read",
        "exclude-my-tools: Read",
    ] {
        let (skill, said) = command(head);
        assert!(skill.is_none() && said.iter().any(|words| words.contains("File skipped.")), "{head}: {said:?}");
    }
    let (skill, said) = command("description: x\nalowed-tools: Read");
    assert!(skill.is_some() && said[0].contains("Did you mean `allowed-tools`?"), "{said:?}");
    assert!(!command("disable-model-invocation: ture").0.unwrap().is_for_models);
    assert!(command("author: me\ntags: [x]").1.is_empty());
}

#[test]
fn settings_keep_skills_from_models_from_commands_and_off() {
    let shelf = Shelf::with(&[
        (".claude/commands/runs.md", "Now: !`date`"),
        (".claude/commands/off.md", "A"),
        (".claude/commands/odd.md", "A"),
        (".claude/commands/mine.md", "A"),
        (".claude/commands/short.md", "A"),
    ]);
    let overrides = [("off", "off"), ("odd", "of"), ("MINE", "user-invocable-only"), ("short", "name-only")];
    let overrides = overrides.map(|(name, word)| (name.to_owned(), word.to_owned())).to_vec();
    let library = shelf.library("").limited(SkillLimits { overrides, bars_commands: true });
    library.reload();
    let all = library.catalog().all();
    let found: Vec<(&str, bool)> = all.iter().map(|skill| (skill.name.as_str(), skill.is_for_models)).collect();
    assert_eq!(found, [("mine", false), ("short", true)]);
}
