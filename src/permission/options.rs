//! Options with which a program starts another one, writes files of its own accord, or works somewhere else.
//!
//! Owns the list of them, for programs that people allow by the first words of a command. Leaves everything else to
//! grants and rules. Invariant: in doubt a word is such an option; what comes of it is a question.

/// The options of some programs.
struct Options {
    programs: &'static [&'static str],
    /// Long options, without dashes. Their beginnings count as well.
    long: &'static [&'static str],
    /// Letters after one dash, alone or among others.
    letters: &'static str,
    /// Whether what follows `--` is for somebody else.
    has_end: bool,
}

const TABLE: [Options; 15] = [
    Options {
        programs: &["git"],
        long: &[
            "output",
            "ext-diff",
            "textconv",
            "filters",
            "no-index",
            "open-files-in-pager",
            "exec",
            "exec-path",
            "git-dir",
            "work-tree",
            "config-env",
            "upload-pack",
            "receive-pack",
            "contents",
            "ignore-revs-file",
            "recurse-submodules",
            "dirty",
            "broken",
            "paginate",
            "namespace",
            "super-prefix",
            "attr-source",
            "show-signature",
            "submodule",
            "ignore-submodules",
            "untracked-cache",
            "batch-command",
            "shell",
            "tempfile",
        ],
        letters: "",
        has_end: true,
    },
    Options {
        programs: &["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"],
        long: &[
            "script-shell",
            "shell",
            "node-options",
            "node-arg",
            "prefix",
            "dir",
            "cwd",
            "userconfig",
            "globalconfig",
            "call",
            "editor",
            "viewer",
            "git",
            "init-module",
            "require",
            "preload",
            "import",
            "location",
            "modules-folder",
            "use-yarnrc",
            "config",
            "scripts-prepend-node-path",
            "shell-mode",
        ],
        letters: "Ccr",
        has_end: true,
    },
    Options {
        programs: &["cargo"],
        long: &["config", "manifest-path", "target-dir", "artifact-dir", "out-dir", "lockfile-path"],
        letters: "CZ",
        has_end: true,
    },
    Options {
        programs: &["make", "gmake", "ninja", "just"],
        long: &[
            "file",
            "makefile",
            "directory",
            "eval",
            "include-dir",
            "environment-overrides",
            "justfile",
            "shell",
            "working-directory",
            "set",
        ],
        letters: "fCIEed",
        has_end: false,
    },
    Options {
        programs: &["tar", "bsdtar"],
        long: &[
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
            "directory",
            "absolute-names",
        ],
        letters: "IFCP",
        has_end: false,
    },
    Options {
        programs: &["find"],
        long: &["delete", "exec", "execdir", "ok", "okdir", "fprint", "fprint0", "fprintf", "fls", "files0-from"],
        letters: "",
        has_end: false,
    },
    Options { programs: &["rg"], long: &["pre", "hostname-bin", "search-zip"], letters: "z", has_end: true },
    Options {
        programs: &["go"],
        long: &[
            "exec",
            "toolexec",
            "overlay",
            "modfile",
            "vettool",
            "ldflags",
            "gcflags",
            "asmflags",
            "gccgoflags",
            "pkgdir",
            "outputdir",
            "C",
            "o",
        ],
        letters: "",
        has_end: false,
    },
    Options {
        programs: &["pytest", "py.test"],
        long: &["rootdir", "confcutdir", "config-file", "basetemp", "override-ini", "pdbcls", "junitxml"],
        letters: "pco",
        has_end: true,
    },
    Options {
        programs: &["sort", "tree", "uniq"],
        long: &["output", "compress-program", "temporary-directory"],
        letters: "oT",
        has_end: true,
    },
    Options {
        programs: &["curl", "wget"],
        long: &["output", "output-document", "remote-name", "config", "upload-file", "execute", "use-askpass"],
        letters: "oOKTe",
        has_end: true,
    },
    Options {
        programs: &["mvn", "gradle", "gradlew"],
        long: &["file", "settings", "global-settings", "init-script", "build-file", "project-dir", "settings-file"],
        letters: "fsIbpcD",
        has_end: true,
    },
    Options {
        programs: &["python", "python3", "node", "deno", "ruby", "perl", "php", "lua"],
        long: &["eval", "print", "require", "import", "loader", "experimental-loader", "run"],
        letters: "ceErIp",
        has_end: true,
    },
    Options { programs: &["file"], long: &["compile", "magic-file"], letters: "Cm", has_end: true },
    Options { programs: &["sed"], long: &["in-place", "file", "expression"], letters: "ifesE", has_end: true },
];

/// Tells whether one of the words that follow the `allowed` ones makes a program, which these name, do something else
/// than it was allowed for.
pub(super) fn lead_astray(allowed: &[&str], rest: &[&str]) -> bool {
    let rest: Vec<String> = rest.iter().map(|word| word.replace(['"', '\''], "")).collect();
    let named = |program: &str| allowed.iter().any(|word| word.rsplit('/').next() == Some(program));
    let mut tables = TABLE.iter().filter(|options| options.programs.iter().any(|program| named(program)));
    tables.any(|options| options.are_in(&rest))
        || (named("git") && strays_from_git(allowed, &rest))
        || (named("make") || named("gmake")) && rest.iter().any(|word| word.contains('='))
        || named("cargo") && rest.first().is_some_and(|word| word.starts_with('+'))
        || named("tar")
            && rest.first().is_some_and(|word| !word.starts_with('-') && word.contains(['I', 'F', 'C', 'P']))
        || named("uniq") && rest.iter().filter(|word| !word.starts_with('-')).count() > 1
        || named("sed") && !only_prints(allowed, &rest)
}

impl Options {
    fn are_in(&self, words: &[String]) -> bool {
        let own = words.iter().take_while(|word| !(self.has_end && *word == "--"));
        own.filter_map(|word| word.strip_prefix('-')).any(|word| self.has(word))
    }

    /// Looks at one word without its first dash.
    fn has(&self, word: &str) -> bool {
        let name = word.strip_prefix('-').unwrap_or(word).split('=').next().unwrap_or_default();
        let is_long = word.starts_with('-');
        // Most programs take the beginning of a long option for the whole; `find` and `go` write them with one dash.
        let is_named =
            self.long.iter().any(|long| *long == name || (is_long && !name.is_empty() && long.starts_with(name)));
        is_named || (!is_long && word.contains(|c| self.letters.contains(c)))
    }
}

/// Tells whether git is led elsewhere: by an option before the name of its command, or by one that runs a pager.
fn strays_from_git(allowed: &[&str], rest: &[String]) -> bool {
    let at = allowed.iter().position(|word| word.rsplit('/').next() == Some("git")).unwrap_or_default();
    let command = allowed[at + 1..].iter().copied().find(|word| !word.starts_with('-'));
    let before = rest.iter().take_while(|word| command.is_none() && word.starts_with('-'));
    let greps = command == Some("grep") || (command.is_none() && rest.iter().any(|word| word == "grep"));
    let pages = |word: &String| {
        word.starts_with("-O") || (greps && word.starts_with('-') && !word.starts_with("--") && word.contains('O'))
    };
    before.into_iter().any(|word| word != "--no-pager") || rest.iter().take_while(|word| *word != "--").any(pages)
}

/// Tells whether all that `sed` is told to do is to print and to leave out lines.
fn only_prints(allowed: &[&str], rest: &[String]) -> bool {
    let at = allowed.iter().position(|word| word.rsplit('/').next() == Some("sed")).unwrap_or_default();
    let is_script = |word: &&str| !word.starts_with('-');
    if allowed[at + 1..].iter().any(is_script) {
        return true;
    }
    let script = rest.iter().map(String::as_str).find(is_script).unwrap_or_default();
    let pattern =
        |text: &str| text.strip_prefix('/').and_then(|text| text.split_once('/')).map(|(_, after)| after.to_owned());
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "$,;pdq=! ".contains(c));
    let mut left = script.to_owned();
    for _ in 0..2 {
        left = pattern(&left).map_or(left.clone(), |after| after.trim_start_matches(',').to_owned());
    }
    plain(&left)
}
