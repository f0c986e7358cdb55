//! Memory files of strangers: where they may not lead.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use belvedere::permission::{Places, Rule, RuleEffect, RuleOrigin, RuleSet, ToolKind};
use nix::sys::stat::Mode;

use super::{Place, put};

#[test]
fn what_holds_keys_is_never_read() {
    let place = Place::with(&[
        ("~/.ssh/id_rsa", "KEY"),
        ("~/.aws/credentials", "KEY"),
        ("CLAUDE.md", "@~/.ssh/id_rsa @../../.aws/credentials @link.md"),
        ("~/.claude/CLAUDE.md", "@~/.ssh/id_rsa"),
    ]);
    symlink(place.path("~/.ssh/id_rsa"), place.path("link.md")).unwrap();
    let reader = place.reader("");
    let all = [place.path("~/.ssh/id_rsa"), place.path("~/.aws/credentials")];
    reader.sources.trust.set(false, all.into());
    let read = reader.read(&BTreeSet::new());
    assert_eq!(place.names(&read), ["~/.claude/CLAUDE.md", "CLAUDE.md"]);
    assert_eq!(read.outside, BTreeSet::new(), "nobody is asked about keys");
    let said = place.said(&read);
    assert_eq!(said.iter().filter(|words| words.ends_with("it may hold keys. Not read.")).count(), 4, "{said:#?}");
}

#[test]
fn a_project_leads_nowhere_out_of_it_unless_the_user_trusts_that() {
    let place = Place::with(&[
        ("~/notes.md", "NOTES"),
        ("~/secret/CLAUDE.md", "SECRET"),
        ("CLAUDE.md", "@~/notes.md @out.md @folder/CLAUDE.md @/etc/hostname.md"),
        (".claude/rules/a.md", "A"),
    ]);
    symlink(place.path("~/notes.md"), place.path("out.md")).unwrap();
    symlink(place.path("~/secret"), place.path("folder")).unwrap();
    symlink(place.path("~/secret/CLAUDE.md"), place.path("CLAUDE.local.md")).unwrap();
    symlink(place.path("~/secret"), place.path(".claude/rules/more")).unwrap();
    let read = place.read("");
    assert_eq!(place.names(&read), ["CLAUDE.md", ".claude/rules/a.md"]);
    let outside: BTreeSet<_> = [place.path("~/notes.md"), place.path("~/secret/CLAUDE.md")].into();
    assert_eq!(read.outside, outside);
    let said = place.said(&read);
    assert!(said.iter().any(|words| words.contains("`@~/notes.md`: it lies outside of the project")), "{said:#?}");
    let trusting = place.reader("");
    trusting.sources.trust.set(false, [place.path("~/notes.md")].into());
    let read = trusting.read(&BTreeSet::new());
    assert_eq!(place.names(&read), ["CLAUDE.md", "~/notes.md", ".claude/rules/a.md"]);
}

#[test]
fn what_a_rule_denies_is_not_read_by_way_of_an_import() {
    let place = Place::with(&[("CLAUDE.md", "@.env @docs/a.md"), (".env", "TOKEN"), ("docs/a.md", "A")]);
    let mut reader = place.reader("");
    let places = Places { project: &place.project, home: Some(&place.home) };
    let rule = Rule::parse("Read(./.env)", places, |_| ToolKind::Read);
    let rules = RuleSet::default().with(RuleEffect::Deny, &RuleOrigin::Config, [rule]);
    reader.permissions = place.permissions().under(rules);
    let read = reader.read(&BTreeSet::new());
    assert_eq!(place.names(&read), ["CLAUDE.md", "docs/a.md"]);
    assert!(
        place.said(&read)[0].starts_with("CLAUDE.md:1:1: the import `@.env`: Not allowed here"),
        "{:?}",
        read.diagnostics
    );
}

#[test]
fn what_is_no_text_is_refused_and_said() {
    let place = Place::with(&[("CLAUDE.md", "@pipe.md @latin.md @large.md @closed.md @zero.md @folder.md")]);
    nix::unistd::mkfifo(&place.path("pipe.md"), Mode::from_bits_truncate(0o600)).unwrap();
    put(&place.path("latin.md"), b"caf\xe9");
    put(&place.path("zero.md"), b"a\0b");
    put(&place.path("large.md"), "x".repeat((1 << 20) + 1));
    put(&place.path("closed.md"), "closed");
    std::fs::create_dir(place.path("folder.md")).unwrap();
    std::fs::set_permissions(place.path("closed.md"), std::fs::Permissions::from_mode(0o000)).unwrap();
    nix::unistd::mkfifo(&place.path("CLAUDE.local.md"), Mode::from_bits_truncate(0o600)).unwrap();
    let read = place.read("");
    let is_root = nix::unistd::geteuid().is_root();
    let expected = if is_root { vec!["CLAUDE.md", "closed.md"] } else { vec!["CLAUDE.md"] };
    assert_eq!(place.names(&read), expected);
    let said = place.said(&read);
    let mut words = vec![
        "CLAUDE.md:1:1: the import `@pipe.md` is not a file that is there.",
        "CLAUDE.md:1:10: the import `@latin.md`: not valid UTF-8. Save it as UTF-8. Not read.",
        "CLAUDE.md:1:20: the import `@large.md`: larger than 1 MiB, too large for a memory file. Not read.",
        "CLAUDE.md:1:41: the import `@zero.md`: not a text. Not read.",
        "CLAUDE.md:1:50: the import `@folder.md` is not a file that is there.",
        "CLAUDE.local.md: not a regular file. Not read.",
    ];
    if !is_root {
        words.insert(3, "CLAUDE.md:1:30: the import `@closed.md`: permission denied. Allow reading with `chmod u+r`.");
    }
    assert_eq!(said, words);
}

#[test]
fn folders_above_count_only_if_they_are_the_users() {
    let place =
        Place::with(&[("~/work/CLAUDE.md", "@../up.md @side.md"), ("~/up.md", "UP"), ("~/work/side.md", "SIDE")]);
    let read = place.read("");
    assert_eq!(place.names(&read), ["~/work/CLAUDE.md", "~/work/side.md"], "it leads nowhere above its folder");
    let mut reader = place.reader("");
    reader.sources.user = Some(belvedere::permission::Owner::new(nix::unistd::geteuid().as_raw() + 1, None));
    assert_eq!(reader.read(&BTreeSet::new()).files, []);
    reader = place.reader("");
    reader.sources.home = Some(Path::new("/nowhere").to_path_buf());
    assert_eq!(reader.read(&BTreeSet::new()).files, []);
}
