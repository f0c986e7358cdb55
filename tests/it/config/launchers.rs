//! `[launchers.NAME]`: what runs agents somewhere else.

use belvedere::message::{ExternalProgram, LauncherFolder, LauncherSettings, RsyncFolder};

use super::Place;

fn program(words: &[&str], env: &[(&str, &str)]) -> ExternalProgram {
    let (command, args) = words.split_first().unwrap();
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let args = args.iter().map(|word| (*word).to_owned()).collect();
    ExternalProgram { command: (*command).to_owned(), args, env }
}

#[test]
fn a_launcher_is_a_line_or_a_list_of_words() {
    let loaded = Place::new()
        .user(
            "[launchers.big]\ncommand = \"ssh big 'a b' belvedere acp\"\n\n[launchers.pool-2]\ncommand = [\"srun\", \"belvedere\", \
             \"acp\"]\nfolder = \"git\"\nat_once = 400\nenv = { PART = \"long\" }\n",
        )
        .load();
    assert_eq!(loaded.diagnostics, []);
    let big = program(&["ssh", "big", "a b", "belvedere", "acp"], &[]);
    let pool = program(&["srun", "belvedere", "acp"], &[("PART", "long")]);
    assert_eq!(
        loaded.config.launchers,
        [
            LauncherSettings { name: "big".into(), program: big, folder: LauncherFolder::None, at_once: 8 },
            LauncherSettings { name: "pool-2".into(), program: pool, folder: LauncherFolder::Git, at_once: 400 },
        ]
    );
}

#[test]
fn rsync_is_told_where_and_what() {
    let text =
        "[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"me@big:/var/tmp/\"\ninclude = [\"data/set\"]\n";
    let loaded = Place::new().user(text).load();
    assert_eq!(loaded.diagnostics, []);
    let place = RsyncFolder { to: "me@big:/var/tmp".into(), include: vec!["data/set".into()], exclude: Vec::new() };
    assert_eq!(place.path(), std::path::Path::new("/var/tmp"));
    assert_eq!(loaded.config.launchers[0].folder, LauncherFolder::Rsync(place));
}

#[test]
fn what_makes_no_launcher_is_named_and_skipped() {
    for (text, words) in [
        ("[launchers.a]\nfolder = \"git\"\n", "missing field `command`"),
        ("[launchers.a]\ncommand = \"\"\n", "`command` is the program and its arguments"),
        ("[launchers.a]\ncommand = 3\n", "`command` is a line, or a list of its words"),
        ("[launchers.a]\ncommand = \"./run acp\"\n", "a name in PATH or an absolute path"),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"scp\"\n", "unknown variant `scp`"),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\n", "needs `to`"),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"big:work\"\n", "`to` is a folder over there"),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"big::all/work\"\n", "`to` is a folder over there"),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"-e sh:/tmp\"\n", "`to` is a folder over there"),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"/a/../b\"\n", "`to` is a folder over there"),
        ("[launchers.a]\ncommand = \"x\"\nto = \"big:/tmp\"\n", "`to` goes with `folder = \"rsync\"`"),
        ("[launchers.a]\ncommand = \"x\"\nexclude = []\n", "go with `folder = \"rsync\"`"),
        (
            "[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"/t\"\ninclude = [\"../a\"]\n",
            "which `../a` is not",
        ),
        ("[launchers.a]\ncommand = \"x\"\nfolder = \"rsync\"\nto = \"/t\"\nexclude = [\"\"]\n", "which `` is not"),
        ("[launchers.a]\ncommand = \"x\"\nat_once = 0\n", "`at_once` is a number from 1 to 10000"),
        ("[launchers.a]\ncommand = \"x\"\nhost = \"y\"\n", "unknown field `host`"),
        ("[launchers.a]\ncommand = \"x\"\nenv = { \"A-B\" = \"y\" }\n", "`A-B`, which is no variable"),
        ("[launchers.worktree]\ncommand = \"x\"\n", "and is not `worktree`"),
        ("[launchers.\"a b\"]\ncommand = \"x\"\n", "a name has letters, digits"),
        ("[launchers]\na = 1\n", "write `[launchers.a]`"),
    ] {
        let loaded = Place::new().user(text).load();
        assert_eq!(loaded.config.launchers, [], "{text}");
        let said = loaded.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn a_project_sets_none_up() {
    let loaded = Place::new().project("[launchers.a]\ncommand = \"evil\"\n").load();
    assert_eq!(loaded.config.launchers, []);
    let said = loaded.diagnostics[0].to_string();
    assert!(said.contains("launchers") && said.contains("it starts programs"), "{said}");
}
