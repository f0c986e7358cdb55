//! The profile for macOS, as text: nobody has run it there yet.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use belvedere::sandbox::{SandboxFacts, SandboxPolicy, SandboxState, seatbelt_profile};

fn paths<const N: usize>(names: [&str; N]) -> Vec<PathBuf> {
    names.map(PathBuf::from).to_vec()
}

fn policy() -> SandboxPolicy {
    SandboxPolicy {
        writable: paths(["/Users/me/shop", "/private/tmp/own"]),
        protected: paths(["/Users/me/shop/.git/hooks", "/Users/me/shop/.claude"]),
        vacant: vec![("/Users/me/shop/.envrc".into(), None)],
        hidden: paths(["/Users/me/.ssh", "/Users/me/shop/a \"b\\c"]),
        ..SandboxPolicy::default()
    }
}

#[test]
fn what_is_not_named_is_refused_and_refusals_come_last() {
    let profile = seatbelt_profile(&policy()).unwrap();
    assert!(profile.starts_with("(version 1)\n(deny default)\n"), "{profile}");
    insta::assert_snapshot!("seatbelt", profile);
    let at = |line: &str| profile.find(line).unwrap_or_else(|| panic!("no {line} in {profile}"));
    let allowed = [at("(allow file-read*)"), at("(allow file-write* (subpath \"/Users/me/shop\"))")];
    for refused in [
        "(deny file-write* (subpath \"/Users/me/shop/.git/hooks\"))",
        "(deny file-write* (subpath \"/Users/me/shop/.envrc\"))",
        "(deny file-write-unlink (literal \"/Users/me/shop/.git\"))",
        "(deny file-read* file-write* (subpath \"/Users/me/.ssh\"))",
        "(deny file-read* file-write* (subpath \"/Users/me/shop/a \\\"b\\\\c\"))",
    ] {
        assert!(allowed.iter().all(|rule| *rule < at(refused)), "{refused}");
    }
    assert!(!profile.contains("network") && !profile.contains("system-socket"), "{profile}");
    let open = seatbelt_profile(&SandboxPolicy { has_network: true, ..policy() }).unwrap();
    assert!(open.contains("(allow network*)"), "{open}");
}

#[test]
fn a_path_that_no_profile_can_name_is_no_sandbox() {
    for path in [Path::new("/a\n(allow default)"), Path::new(OsStr::from_bytes(b"/a\xff"))] {
        let policy = SandboxPolicy { hidden: vec![path.to_path_buf()], ..policy() };
        assert_eq!(seatbelt_profile(&policy), Err(path.to_path_buf()));
    }
}

#[test]
fn it_is_said_that_nobody_has_tested_it() {
    let facts = SandboxFacts {
        state: SandboxState::On,
        writable: Vec::new(),
        protected: Vec::new(),
        hidden: Vec::new(),
        shares_processes: None,
        has_network: false,
        is_untested: true,
        hosts: Vec::new(),
    };
    assert!(facts.page().starts_with("The sandbox is on, and untested on this system"), "{}", facts.page());
}
