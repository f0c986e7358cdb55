//! Files that other programs obey: one table, by which tools ask and the sandbox keeps.

use belvedere::permission::{Access, AccessKind, Decision, Grants, PermissionMode, Permissions, Project};
use serde_json::json;

use super::{Inside, run, text_of};

/// Obeyed without being asked, each as a command would make it.
const KEPT: &str = "
    .hg/hgrc lefthook-local.yml .lefthook-local.yml .lintstagedrc.js .lintstagedrc.mjs .mise.local.toml mise.local.toml
    .mise.dev.toml .pnpmfile.cjs .pnpmfile.mjs p.code-workspace p.sublime-project .envrc.local rust-toolchain.toml
    rust-toolchain .huskyrc.js .simple-git-hooks.cjs .commitlintrc.js Jenkinsfile.release .envrc .vimrc .gdbinit .irbrc
    .Rprofile .ghci .iex.exs .pdbrc .bazelrc .mvn/extensions.xml .bundle/config sitecustomize.py pip.conf
    .github/workflows/x.yml .github/actions/x/action.yml .woodpecker.yml .buildkite/pipeline.yml AGENTS.md QWEN.md .crush.json
    .clinerules .roomodes .helix/languages.toml .prototools opencode.json .yarn/plugins/x.cjs .overcommit.yml .junie/x.md
";

/// What ordinary work makes, which must alarm nobody.
const ORDINARY: &str = "
    .gitignore .gitattributes .eslintrc .eslintrc.js .prettierrc .babelrc .env .env.local .editorconfig .nvmrc .python-version
    .node-version .tool-versions .venv/bin/python .venv/pyvenv.cfg venv/pyvenv.cfg node_modules/.bin/x node_modules/x/.npmrc
    .pytest_cache/x .mypy_cache/x .ruff_cache/x .next/x .nuxt/x .svelte-kit/x .turbo/x .parcel-cache/x .cache/x .tox/x .nox/x
    .coverage .nyc_output/x .terraform/x .gradle/x .dart_tool/x .stack-work/x .eggs/x .ipynb_checkpoints/x .DS_Store .swp
    .cargo-ok .rustfmt.toml .clang-format .dockerignore .npmignore .bundle/x .yarn/cache/x .yarn/install-state.gz .pnp.cjs
    .github/dependabot.yml .storybook/main.js .changeset/x .vercel/x .serverless/x .aws-sam/x .angular/x .expo/x
    target/debug/x build/x.pth server.pem server.key id_rsa_test app.desktop Makefile package.json build.rs conftest.py
    lefthook-notes.md mise.lock lint-staged.md jupyter_notes.py
";

fn paths(list: &str) -> Vec<&str> {
    list.split_whitespace().collect()
}

#[tokio::test]
async fn what_tools_ask_about_no_command_makes() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    let project = Project::at(root.to_path_buf());
    let permissions = Permissions::new(project, PermissionMode::AcceptEdits, Grants::default());
    for path in paths(KEPT) {
        let asked = permissions.decide(&Access::new("Write", AccessKind::Write { path: root.join(path) }));
        assert!(matches!(asked, Decision::Ask), "{path}: {asked:?}");
        let output = inside.bash(&format!("mkdir -p $(dirname {path}) && echo evil > {path}; sleep 0.05; true")).await;
        assert!(!root.join(path).exists(), "{path} stays: {}", text_of(&output));
        assert!(text_of(&output).contains(".blocked-"), "{path}: {}", text_of(&output));
        for entry in std::fs::read_dir(root.as_path()).unwrap().map(|entry| entry.unwrap().path()) {
            let _ = std::fs::remove_dir_all(&entry);
            let _ = std::fs::remove_file(&entry);
        }
    }
}

#[tokio::test]
async fn what_is_there_by_a_pattern_is_not_changed() {
    let Some(inside) = Inside::new().await else { return };
    for name in ["p.code-workspace", "lefthook-local.yml", ".mise.local.toml", "Jenkinsfile.release"] {
        inside.bench.put(name, "mine");
        inside.refused(&format!("echo x >> {name}")).await;
        inside.refused(&format!("rm {name}")).await;
        assert_eq!(inside.bench.get(name), "mine");
    }
}

#[tokio::test]
async fn ordinary_work_alarms_nobody() {
    let Some(inside) = Inside::new().await else { return };
    let all = paths(ORDINARY);
    let lines: Vec<String> = all.iter().map(|path| format!("mkdir -p $(dirname {path}); echo x > {path}")).collect();
    let said = inside.works(&lines.join("\n")).await;
    let missing: Vec<&&str> = all.iter().filter(|path| !inside.bench.path(path).exists()).collect();
    assert!(missing.is_empty() && !said.contains("blocked"), "{missing:?}: {said}");
    let aside = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().contains(".blocked-");
    let entries = std::fs::read_dir(inside.bench.path("")).unwrap().map(Result::unwrap);
    assert!(!entries.into_iter().any(|entry| aside(&entry)));
}

#[tokio::test]
async fn what_a_tool_writes_by_a_pattern_stays() {
    let Some(mut inside) = Inside::new().await else { return };
    let watch = inside.sandbox.watch().clone();
    let writers = belvedere::tool::Writers::default().beside(watch);
    inside.bench.context.freshness = std::sync::Arc::new(belvedere::tool::Freshness::new("main", &writers));
    let input = json!({"command": "sleep 30", "run_in_background": true});
    let started = run(&inside.tools, "Bash", input, &inside.bench.context).await;
    assert!(!started.is_error, "{}", text_of(&started));
    let input = json!({"file_path": "p.code-workspace", "content": "{}"});
    let written = run(&inside.tools, "Write", input, &inside.bench.context).await;
    assert!(!written.is_error, "{}", text_of(&written));
    inside.sandbox.watch().look();
    inside.works("true").await;
    assert_eq!(inside.bench.get("p.code-workspace"), "{}");
    let id = text_of(&started).split(' ').next().unwrap().to_owned();
    inside.bench.context.background.commands.stop(&id, belvedere::tool::EndedBy::User);
}
