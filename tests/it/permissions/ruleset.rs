//! Rules of settings files: deny, then ask, then allow.

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grant, Grants, PermissionMode, Permissions, Project, RuleEffect, RuleSet,
};
use proptest::prelude::*;

use super::{PROJECT, execute, read, rule, ruleset, settings, write};

fn under(set: RuleSet, mode: PermissionMode) -> Permissions {
    Permissions::new(Project::at(PROJECT.into()), mode, Grants::default()).under(set)
}

/// Returns rules of all three kinds.
fn all(deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleSet {
    let places = belvedere::permission::Places { project: PROJECT.as_ref(), home: Some("/home/me".as_ref()) };
    let lists = [(RuleEffect::Allow, allow), (RuleEffect::Deny, deny), (RuleEffect::Ask, ask)];
    lists.into_iter().fold(RuleSet::default(), |set, (effect, entries)| {
        set.with(effect, &settings(), entries.iter().map(|entry| rule(entry, places)))
    })
}

fn outside(command: &str) -> Access {
    Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement: Confinement::None })
}

fn inside(command: &str) -> Access {
    Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement: Confinement::Sandbox })
}

fn is_denied(decision: &Decision) -> bool {
    matches!(decision, Decision::Deny(_))
}

#[test]
fn deny_goes_before_ask_and_ask_before_allow_in_every_mode() {
    let set = || all(&["Bash(git push:*)"], &["Bash(git commit:*)"], &["Bash(git:*)", "Bash(npm test:*)"]);
    for mode in [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::BypassPermissions] {
        let permissions = under(set(), mode);
        for command in ["git push origin main", "npm test && git push", "git -C . push", "timeout 5 git push"] {
            assert!(is_denied(&permissions.decide(&outside(command))), "{mode:?} {command}");
            assert!(is_denied(&permissions.decide(&inside(command))), "{mode:?} {command}, in the sandbox");
        }
        assert_eq!(permissions.decide(&inside("git commit -m x")), Decision::Ask, "{mode:?}");
        assert_eq!(permissions.decide(&outside("npm test")), Decision::Allow, "{mode:?}");
        assert_eq!(permissions.offer(&inside("git commit -m x")), None, "no answer would hold");
    }
    let plan = under(set(), PermissionMode::Plan);
    assert!(is_denied(&plan.decide(&outside("npm test"))), "what is allowed is not allowed in plan mode");
    assert!(is_denied(&plan.decide(&execute("git push"))));
}

#[test]
fn a_refusal_and_a_question_name_the_rule_and_its_file() {
    let permissions = under(all(&["Bash(rm:*)"], &["Bash(curl:*)"], &[]), PermissionMode::Default);
    let Decision::Deny(why) = permissions.decide(&outside("rm -rf build")) else { panic!() };
    assert_eq!(why, "Not allowed here: deny Bash(rm:*) (/work/shop/.claude/settings.json). Continue without it.");
    let asked = permissions.reason(&outside("curl https://example.com"));
    assert_eq!(asked, "rule: ask Bash(curl:*) (/work/shop/.claude/settings.json)");
    let unclear = permissions.reason(&outside("eval \"$X\""));
    assert!(unclear.contains("this line might do that: it contains a command that runs other commands"), "{unclear}");
}

#[test]
fn a_line_is_allowed_only_if_each_part_is() {
    let permissions = under(all(&[], &[], &["Bash(npm test:*)", "Bash(make)"]), PermissionMode::Default);
    for line in [
        "npm test",
        "npm test && make",
        "npm test; make",
        "npm test 2>&1 | tail -n 20",
        "npm test | grep -i fail",
        "npm test | grep -A 3 '' | head -n 5 | wc -l",
        "stdbuf -oL npm test",
        "timeout 60 npm test",
        "timeout -k 5 60 nice -n 10 npm test --silent",
        "if npm test; then make; fi",
        "npm test > /dev/null",
    ] {
        assert_eq!(permissions.decide(&outside(line)), Decision::Allow, "{line}");
    }
    for line in [
        "npm test && rm x",
        "npm test | sh",
        "npm test > out.txt",
        "npm test < secrets",
        "npm test $(rm x)",
        "npm test `rm x`",
        "npm test | tee x",
        "npm test | cat key.pem",
        "npm test | grep -r key .",
        "npm test | grep key id_rsa",
        "X=1 npm test",
        "env X=1 npm test",
        "sudo npm test",
        "nice --adjustment 5 npm test",
        "npm test & disown",
        "cd elsewhere && npm test",
        "make all",
        "./timeout 5 npm test",
        "bin/nice npm test",
        "NICE npm test",
        "timeout 5 ./npm test",
        "/usr/bin/time --output=zz --format=evil npm test",
        "time --output=zz npm test",
        "time -pozz npm test",
        "timeout -vk 5 3 npm test",
        "npm test; cat 5",
        "npm test | grep -h '' 5",
        "npm test | grep -rh SECRET",
        "npm test | grep -e x 5",
        "npm test | tail -n 5 7",
        "npm test ${IFS}x && make",
        "(npm test; rm x)",
    ] {
        assert_eq!(permissions.decide(&outside(line)), Decision::Ask, "{line}");
    }
}

#[test]
fn what_is_denied_is_found_behind_what_runs_it() {
    let permissions = under(all(&["Bash(curl:*)", "Bash(rm:*)"], &[], &[]), PermissionMode::Default);
    for line in [
        "curl x",
        "/usr/bin/curl x",
        "sudo curl x",
        "env A=1 curl x",
        "xargs rm < list",
        "find . -name a -exec rm {} ;",
        "timeout 5 curl x",
        "tmux new -d curl x",
        "screen -dm rm x",
        "bwrap --dev-bind / / rm x",
        "valgrind curl x",
        "nohup curl x",
        "nice --adjustment 5 rm x",
        "command rm x",
        "true && rm x",
        "ls | xargs -n 1 rm",
        "if true; then rm x; fi",
        "echo $(curl x)",
        "timeout -vk 5 3 rm a",
        "timeout -vs 9 3 rm x",
        "flock lock rm x",
        "npx rm x",
        "uv run rm x",
        "toybox rm x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm f",
    ] {
        assert!(is_denied(&permissions.decide(&inside(line))), "{line}: {:?}", permissions.decide(&inside(line)));
    }
    for line in [
        "bash -c 'curl x'",
        "eval curl x",
        "X=curl; $X y",
        "cat <<'E'\ncurl\nE",
        "f() { rm x; }; f",
        ". ./x",
        "hash -p /bin/rm foo; foo b",
        "test -v 'x[$(rm d)]'",
        "printf -v 'x[$(rm e)]' %s 1",
        "mapfile -C 'rm c;' -c1",
        "compgen -C 'rm g'",
        "read 'a[$(rm d)]'",
        "git -c alias.p=push p",
        "git bisect run rm x",
        "git rebase --exec 'rm x'",
    ] {
        assert_ne!(permissions.decide(&inside(line)), Decision::Allow, "{line}");
    }
    for line in ["cargo test", "git commit -m rm", "make", "npm run curl", "echo curl"] {
        assert_eq!(permissions.decide(&inside(line)), Decision::Allow, "{line}");
    }
}

#[test]
fn paths_are_patterns_of_ignored_files_from_the_project_the_home_or_the_root() {
    let set = all(
        &[
            "Read(./.env)",
            "Read(secrets/**)",
            "Read(*.pem)",
            "Read(~/.kube/**)",
            "Edit(/vendor/**)",
            "Read(//etc/shadow)",
        ],
        &["Edit(docs/**)"],
        &["Edit(src/**)", "Read(//usr/share/**)", "Edit(.github/**)"],
    );
    let permissions = under(set, PermissionMode::AcceptEdits);
    for path in [".env", "secrets/a/b", "deep/er/cert.pem"].map(|path| format!("{PROJECT}/{path}")) {
        assert!(is_denied(&permissions.decide(&read(&path))), "{path}");
    }
    assert!(is_denied(&permissions.decide(&read("/home/me/.kube/config"))));
    assert!(is_denied(&permissions.decide(&read("/etc/shadow"))));
    assert!(is_denied(&permissions.decide(&write("/work/shop/vendor/x.js"))));
    assert_eq!(permissions.decide(&read("/work/shop/vendor/x.js")), Decision::Allow);
    assert_eq!(permissions.decide(&write("/work/shop/docs/a.md")), Decision::Ask, "though edits are accepted");
    assert_eq!(permissions.decide(&read("/usr/share/dict/words")), Decision::Allow);
    assert_eq!(permissions.decide(&read("/work/shop/.env.example")), Decision::Allow);
    let readers = under(all(&["Read(./.env)"], &[], &["Bash(cat:*)", "Bash(npm test:*)"]), PermissionMode::Default);
    assert_eq!(readers.decide(&outside("cat .env")), Decision::Ask, "only the sandbox knows what it reads");
    assert_eq!(readers.decide(&outside("npm test")), Decision::Allow);
    let default = under(all(&[], &[], &["Edit(src/**)", "Edit(.github/**)"]), PermissionMode::Default);
    assert_eq!(default.decide(&write("/work/shop/src/a.rs")), Decision::Allow);
    let by_write = Access::new("Write", AccessKind::Write { path: "/work/shop/src/a.rs".into() });
    assert_eq!(default.decide(&by_write), Decision::Allow, "`Edit` is about all tools that write");
    assert_eq!(default.decide(&write("/work/shop/src/.git/hooks/x")), Decision::Ask, "other programs run it");
    assert_eq!(default.decide(&write("/work/shop/.github/workflows/ci.yml")), Decision::Allow, "it is named");
    assert_eq!(default.decide(&write("/work/shop/.github/.git/config")), Decision::Ask);
    // What looks through a folder leaves out what is denied, so the folder is not.
    let grep = Access::new("Grep", AccessKind::Read { path: PROJECT.into() });
    let searched = Access { looks_below: true, ..grep };
    assert_eq!(permissions.decide(&searched), Decision::Allow);
}

#[test]
fn whole_tools_and_agents_are_denied_by_name() {
    let set = ruleset(RuleEffect::Deny, &["WebFetch", "Agent(explore)", "mcp__github", "Edit"]);
    assert!(set.takes_away("WebFetch") && set.takes_away("mcp__github__push") && !set.takes_away("Read"));
    let permissions = under(set, PermissionMode::BypassPermissions);
    assert!(!permissions.allow_kind("explore") && permissions.allow_kind("plan"));
    let by_write = Access::new("Write", AccessKind::Write { path: "/work/shop/a".into() });
    assert!(is_denied(&permissions.decide(&by_write)), "`Edit` is about all tools that write");
    let search = Access::new("mcp__github__push", AccessKind::Nothing);
    assert!(is_denied(&permissions.decide(&search)));
}

fn page(host: &str) -> Access {
    Access::new("WebFetch", AccessKind::Fetch { url: format!("https://{host}/x"), host: host.to_owned() })
}

#[test]
fn pages_are_allowed_and_denied_by_their_host() {
    let allowed = ["WebFetch(domain:docs.rs)", "WebFetch(domain:*.example.org)"];
    let set = all(&["WebFetch(domain:evil.example)"], &["WebFetch(domain:ask.org)"], &allowed);
    for mode in [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::Plan] {
        let permissions = under(set.clone(), mode);
        for allowed in ["docs.rs", "www.example.org"] {
            assert_eq!(permissions.decide(&page(allowed)), Decision::Allow, "{allowed} in {mode}");
        }
        for asks in ["example.com", "example.org", "notdocs.rs", "www.docs.rs", "docs.rs.evil.com", "sub.ask.org"] {
            assert_eq!(permissions.decide(&page(asks)), Decision::Ask, "{asks} in {mode}");
        }
    }
    let bypass = under(set, PermissionMode::BypassPermissions);
    for denied in ["evil.example", "a.b.evil.example"] {
        assert!(is_denied(&bypass.decide(&page(denied))), "{denied}");
    }
    assert_eq!(bypass.decide(&page("ask.org")), Decision::Ask, "what asks does so in every mode");
    assert_eq!(bypass.decide(&page("notevil.example")), Decision::Allow);
    let permissions = under(ruleset(RuleEffect::Ask, &[]), PermissionMode::Default);
    let grant = permissions.offer(&page("docs.rs")).unwrap();
    assert_eq!(grant.to_string().parse(), Ok(grant.clone()));
    assert_eq!(grant.as_rule().as_deref(), Some("WebFetch(domain:docs.rs)"));
    permissions.grant(grant);
    assert_eq!(permissions.decide(&page("docs.rs")), Decision::Allow);
    assert_eq!(permissions.decide(&page("crates.io")), Decision::Ask);
    assert!("WebFetch(domain:*)".parse::<Grant>().is_err() && "WebFetch(x)".parse::<Grant>().is_err());
}

proptest! {
    #[test]
    fn a_denied_command_stays_denied_however_a_line_is_put_together(
        before in prop::sample::select(vec!["", "true && ", "ls; ", "cat a | ", "(", "sudo ", "timeout 5 ", "echo $("]),
        name in prop::sample::select(vec!["rm", "/bin/rm", "'rm'", "r\"m\"", "\\rm", "./rm"]),
        words in prop::collection::vec(prop::sample::select(vec!["-rf", "x", "'a b'", "$X", "*", "--"]), 0..3),
        after in prop::sample::select(vec!["", " && true", " | cat", "; ls", " > /dev/null", " &"]),
    ) {
        let close = if before.ends_with('(') { ")" } else { "" };
        let line = format!("{before}{name} {}{close}{after}", words.join(" "));
        let set = all(&["Bash(rm:*)"], &[], &["Bash", "Edit", "Read"]);
        for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
            prop_assert_ne!(under(set.clone(), mode).decide(&inside(&line)), Decision::Allow, "{}", line);
        }
    }
}

#[test]
fn what_is_denied_of_git_npm_and_scripts_is_found_in_other_spellings() {
    let rules = all(&["Bash(git push:*)", "Bash(npm run deploy:*)", "Bash(./deploy.sh:*)"], &[], &[]);
    let permissions = under(rules, PermissionMode::BypassPermissions);
    for line in [
        "/usr/lib/git-core/git-push origin",
        "git -C . --no-pager push",
        "npm --loglevel run run deploy",
        "././deploy.sh",
        "sub/../deploy.sh now",
        "/work/shop/deploy.sh",
        "deploy.sh",
    ] {
        assert!(is_denied(&permissions.decide(&inside(line))), "{line}: {:?}", permissions.decide(&inside(line)));
    }
    for line in ["git switch -c push", "git log", "npm run build", "npm run test -- deploy", "./other.sh"] {
        assert_eq!(permissions.decide(&inside(line)), Decision::Allow, "{line}");
    }
}

#[test]
fn no_format_of_printf_puts_anything_into_a_variable() {
    let permissions = under(all(&[], &[], &["Bash(printf:*)", "Bash(npm test)"]), PermissionMode::Default);
    assert_eq!(permissions.decide(&outside("printf %s x; npm test")), Decision::Allow);
    for line in ["printf -v PATH %s ev:/bin; npm test", "printf %n x; npm test", "ls ~ | cat"] {
        assert_eq!(permissions.decide(&outside(line)), Decision::Ask, "{line}");
    }
}

#[test]
fn a_link_is_denied_by_both_its_names() {
    let permissions = under(all(&["Read(lnk)", "Edit(sec/**)"], &[], &["Edit(*)"]), PermissionMode::BypassPermissions);
    let through = |access: Access, named: &str| access.named(Some(named.into()));
    assert!(is_denied(&permissions.decide(&through(read("/work/shop/real.txt"), "/work/shop/a/lnk"))));
    assert!(is_denied(&permissions.decide(&through(write("/work/shop/vault/new"), "/work/shop/sec/new"))));
    assert_eq!(permissions.decide(&through(read("/work/shop/real.txt"), "/work/shop/real.txt")), Decision::Allow);
    let resolved = rule("Edit(sec/**)", belvedere::permission::Places { project: PROJECT.as_ref(), home: None })
        .with_links_resolved(|path| path.ends_with("sec").then(|| "/work/shop/vault".into()));
    let set = RuleSet::default().with(RuleEffect::Deny, &settings(), resolved);
    assert!(is_denied(&under(set, PermissionMode::BypassPermissions).decide(&write("/work/shop/vault/new"))));
    let default = under(all(&[], &[], &["Edit(*)"]), PermissionMode::Default);
    assert_eq!(default.decide(&write("/work/shop/a.rs")), Decision::Allow);
    assert_eq!(default.decide(&write("/work/shop/.mcp.json")), Decision::Ask, "other programs obey it");
}

#[test]
fn no_sign_beyond_ascii_breaks_the_reading_of_a_line() {
    let permissions = under(all(&["Bash(rm:*)"], &[], &[]), PermissionMode::Default);
    for sign in ['\u{10ffff}', '\u{fffff}', '漢', 'é', '\u{a0}'] {
        for form in
            ["${X}", "$X", "X=1 ls", "2X> y", "{1..X}", "${a:X}", "[[ X ]]", "cat <<X\nX", "ls X y", "a[X]=1", "$((X))"]
        {
            permissions.decide(&inside(&form.replace('X', &sign.to_string())));
        }
        assert!(is_denied(&permissions.decide(&inside(&format!("ls {sign} && rm {sign}")))), "{sign}");
    }
}

#[test]
fn a_yes_of_a_hook_outweighs_no_rule_and_no_guard() {
    let permissions = under(all(&["Bash(rm:*)"], &["Bash(git push:*)"], &[]), PermissionMode::Default);
    for (access, may) in [
        (outside("cargo test && ls"), true),
        (outside("git push origin main"), false),
        (outside("ls && git push"), false),
        (write("/work/shop/src/main.rs"), true),
        (write("/work/shop/.claude/settings.json"), false),
        (write("/work/shop/.git/hooks/pre-commit"), false),
    ] {
        assert_eq!(permissions.let_hook_allow(&access), may, "{access:?}");
    }
    assert!(is_denied(&permissions.decide(&outside("rm -rf build"))), "what is denied is asked about by nobody");
    let far = Access::new("Write", AccessKind::Write { path: "/etc/passwd".into() });
    assert!(!permissions.let_hook_allow(&far));
}
