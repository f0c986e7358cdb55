//! What is no plain file of the project, and what is free where there is no project.

use belvedere::permission::{Decision, Grant, Grants, Holder, PermissionMode, Permissions, Project, decide};

use super::{PROJECT, execute, read, write};

/// Decides in `acceptEdits` on a write to a place of the project.
fn accepting(project: &Project, path: &str) -> Decision {
    decide(
        PermissionMode::AcceptEdits,
        (&Grants::default(), &Holder::Main),
        project,
        &write(&format!("{PROJECT}/{path}")),
    )
}

/// What is no plain file, by class.
const OBEYED: [&str; 116] = [
    // Folders of tools.
    ".git/config",
    "sub/.git/hooks/pre-commit",
    ".hg/hgrc",
    ".svn/x",
    ".jj/repo",
    ".bzr/x",
    ".claude/settings.json",
    ".kode/agents/a.md",
    ".belvedere/config.toml",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".devcontainer/devcontainer.json",
    ".github/workflows/ci.yml",
    ".gitlab/x",
    ".circleci/config.yml",
    ".husky/pre-commit",
    ".githooks/pre-commit",
    ".cargo/config.toml",
    ".config/x",
    ".ssh/config",
    ".gnupg/gpg.conf",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".zed/tasks.json",
    ".nvim/init.lua",
    ".direnv/x",
    ".bundle/config",
    ".yarn/releases/yarn.cjs",
    ".pnpm-store/x",
    "node_modules/.bin/eslint",
    ".local/bin/ls",
    // Files.
    ".envrc",
    ".env",
    ".env.local",
    ".mcp.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".inputrc",
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook-local.json",
    "mise.production.toml",
    "mise/config.toml",
    "rust-toolchain.toml",
    "bunfig.toml",
    "Jenkinsfile.prod",
    "jupyter_lab_config.py",
    "python312._pth",
    "QWEN.md",
    ".lefthook.yml",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".gdbinit",
    ".lldbinit",
    ".pythonrc",
    "venv/pyvenv.cfg",
    "sitecustomize.py",
    "lib/usercustomize.py",
    "evil.pth",
    ".pypirc",
    "pip.conf",
    ".netrc",
    ".curlrc",
    ".wgetrc",
    ".screenrc",
    ".tmux.conf",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    ".terraformrc",
    ".condarc",
    ".Rprofile",
    ".irbrc",
    ".pryrc",
    ".psqlrc",
    ".my.cnf",
    ".dir-locals.el",
    ".ycm_extra_conf.py",
    ".clangd",
    "AGENTS.md",
    "docs/CLAUDE.md",
    "Jenkinsfile",
    "shop.code-workspace",
    "id_rsa",
    "keys/id_ed25519",
    "server.pem",
    "authorized_keys",
    // Other spellings of the same names.
    ".GIT/config",
    ".\u{212A}ode/x",
    ".g\u{200C}it/config",
    ".gıt/../.git/config",
    "SiteCustomize.py",
    "ſitecustomize.py",
    "sitecustomize.py.",
    "sitecustomize.py ",
    "sitecustomize.py::$DATA",
    "GIT~1/config",
];

#[test]
fn what_other_programs_run_or_obey_asks_even_where_edits_are_accepted() {
    let project = Project::at(PROJECT.into());
    for obeyed in OBEYED {
        assert_eq!(accepting(&project, obeyed), Decision::Ask, "{obeyed}");
        let granted = Grants::from_iter([Grant::Edits]);
        let access = write(&format!("{PROJECT}/{obeyed}"));
        assert_eq!(
            decide(PermissionMode::Default, (&granted, &Holder::Main), &project, &access),
            Decision::Ask,
            "{obeyed}"
        );
    }
}

#[test]
fn source_that_runs_when_it_is_asked_to_is_a_plain_file() {
    let project = Project::at(PROJECT.into());
    for plain in [
        "src/main.rs",
        "Makefile",
        "package.json",
        "build.rs",
        "justfile",
        "conftest.py",
        "setup.py",
        "Dockerfile",
        "README.md",
        "docs/a b.md",
        "id_card.rs",
        "config/app.toml",
        "src/credentials/mod.rs",
        ".gitignore",
        ".dockerignore",
        ".editorconfig",
        ".env.example",
        "größe/ßtraße.md",
    ] {
        assert_eq!(accepting(&project, plain), Decision::Allow, "{plain}");
    }
    // The project's own place may have any name.
    let hidden = Project::at("/home/me/.dotfiles/shop".into());
    let access = write("/home/me/.dotfiles/shop/src/a.rs");
    assert_eq!(
        decide(PermissionMode::AcceptEdits, (&Grants::default(), &Holder::Main), &hidden, &access),
        Decision::Allow
    );
}

#[test]
fn what_is_guarded_is_no_plain_file_and_the_question_says_why() {
    let permissions =
        Permissions::new(Project::at(PROJECT.into()), PermissionMode::AcceptEdits, Grants::from_iter([Grant::Edits]));
    let access = write(&format!("{PROJECT}/meta/config"));
    assert_eq!(permissions.decide(&access), Decision::Allow);
    permissions.guard([format!("{PROJECT}/meta").into()]);
    assert_eq!(permissions.decide(&access), Decision::Ask);
    assert_eq!(permissions.decide(&write(&format!("{PROJECT}/metadata"))), Decision::Allow);
    assert_eq!(permissions.reason(&access), "mode accept edits: other programs act on this file");
    assert_eq!(permissions.offer(&access), None);
}

#[test]
fn without_a_project_nothing_is_free() {
    let none = Project::none();
    for mode in [PermissionMode::Default, PermissionMode::AcceptEdits] {
        for access in [read("/home/me/.ssh/id_rsa"), write("/home/me/notes.md"), execute("ls"), execute("git status")] {
            let granted = Grants::from_iter([Grant::Edits]);
            assert_eq!(decide(mode, (&granted, &Holder::Main), &none, &access), Decision::Ask, "{access:?}");
        }
    }
    assert_eq!(
        decide(PermissionMode::Plan, (&Grants::default(), &Holder::Main), &none, &read("/home/me/x")),
        Decision::Ask
    );
    let permissions = Permissions::new(none, PermissionMode::Default, Grants::default());
    assert_eq!(permissions.reason(&read("/home/me/x")), "mode ask: no project here, so everything needs approval");
}
