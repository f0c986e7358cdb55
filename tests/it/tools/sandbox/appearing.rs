//! What appears where commands in the sandbox may not write, while some go on beside others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use belvedere::sandbox::PlaceNews;
use belvedere::tool::{Freshness, Writers};
use serde_json::json;
use tokio::sync::mpsc;

use super::repository::moved_aside;
use super::{Inside, git, run, text_of};

/// Commands beside each other, and what the user is told.
struct Beside {
    inside: Inside,
    root: PathBuf,
    news: mpsc::UnboundedReceiver<PlaceNews>,
}

impl Beside {
    async fn new() -> Option<Self> {
        let mut inside = Inside::new().await?;
        let (listener, news) = mpsc::unbounded_channel();
        let watch = inside.sandbox.watch().clone();
        watch.tell(listener);
        inside.bench.context.freshness = Arc::new(Freshness::new("main", &Writers::default().beside(watch)));
        let root = inside.bench.context.cwd.to_path_buf();
        Some(Self { inside, root, news })
    }

    /// Starts a command that goes on, and returns its name.
    async fn start(&self, command: &str) -> String {
        let input = json!({"command": command, "run_in_background": true});
        let output = run(&self.inside.tools, "Bash", input, &self.inside.bench.context).await;
        assert!(!output.is_error, "{}", text_of(&output));
        text_of(&output).split(' ').next().unwrap().to_owned()
    }

    /// Waits for the end of a command, and says how it ended.
    async fn ended(&self, id: &str) -> String {
        let commands = &self.inside.bench.context.background.commands;
        commands.news(id, false, None).await;
        commands.look(id, None).unwrap().ended.unwrap()
    }

    async fn stop(&self, id: &str) -> String {
        assert!(self.inside.bench.context.background.commands.stop(id, belvedere::tool::EndedBy::User));
        self.ended(id).await
    }

    /// Runs a command of the user's own.
    async fn user(&self, line: &str) {
        let context = &self.inside.bench.context;
        let (host, shell) = (context.background.clone(), self.inside.shell.clone());
        host.run_for_user(&shell, line, &context.cwd).await.unwrap();
        let commands = &context.background.commands;
        let last =
            (1..100).take_while(|number| commands.look(&format!("bash_{number}"), None).is_some()).last().unwrap();
        self.ended(&format!("bash_{last}")).await;
    }

    async fn write(&self, name: &str, content: &str) {
        let input = json!({"file_path": name, "content": content});
        let output = run(&self.inside.tools, "Write", input, &self.inside.bench.context).await;
        assert!(!output.is_error, "{}", text_of(&output));
    }

    fn has(&self, name: &str) -> bool {
        self.root.join(name).symlink_metadata().is_ok()
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.root.join(name), "").unwrap();
    }

    async fn told(&mut self) -> String {
        self.news.recv().await.unwrap().words()
    }
}

/// Waits until a look finds something.
pub(super) async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..4_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never is");
}

fn entries(root: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        root.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_in_the_background_plants_is_moved_while_it_runs() {
    let Some(mut beside) = Beside::new().await else { return };
    git(&beside.root, ["init", "-q", "--template="]);
    let plant = "mkdir -m 555 idea; mv idea .idea; echo '{}' > .mcp.json; echo x > .git/commondir; echo; sleep 600";
    let id = beside.start(plant).await;
    let told = [beside.told().await, beside.told().await, beside.told().await].join("\n");
    for place in [".idea", ".mcp.json", ".git/commondir"] {
        assert!(!beside.has(place), "{place}");
        let said = format!(
            "{}/{place} appeared while bash_1 ran in the sandbox, which may not write there: it is now",
            beside.root.display()
        );
        assert!(told.contains(&said) && told.contains("If you made it, move it back once it has ended."), "{told}");
    }
    assert!(moved_aside(&beside.root, ".mcp.json").unwrap().is_file());
    assert!(moved_aside(&beside.root, ".idea").unwrap().is_dir());
    assert!(moved_aside(&beside.root.join(".git"), "commondir").is_some());
    let how = beside.stop(&id).await;
    assert!(how.starts_with("stopped; ") && how.contains("/.mcp.json appeared while it ran, where"), "{how}");
}

#[tokio::test]
async fn what_git_obeys_in_a_folder_without_it_is_made_and_protected() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q", "--template="]);
    for command in [
        "echo x > .git/hooks/pre-commit",
        "mkdir h; mv .git/hooks h2; mv h .git/hooks",
        "echo '* filter=x' > .git/info/attributes",
        "mv .git/info i",
        "rm -f .git/config.worktree",
    ] {
        let said = inside.refused(command).await;
        assert!(!said.contains("appeared"), "the kernel keeps it: {said}");
    }
    assert_eq!(
        inside.works("rm -r h h2 i; git fsck --strict 2>&1 | grep -v ^notice; git status --porcelain; echo over").await,
        "over\n[exit 0]"
    );
    assert_eq!(entries(&root.join(".git/hooks")), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_our_own_tools_write_meanwhile_stays_and_what_is_put_beside_it_does_not() {
    let Some(mut beside) = Beside::new().await else { return };
    let id = beside
        .start(
            "until [ -e go ]; do sleep 0.02; done; mkdir a; echo evil > a/evil.md; mv a .claude/agents; \
             until [ -e on ]; do sleep 0.02; done; echo evil > AGENTS.md; sleep 600",
        )
        .await;
    beside.write(".claude/settings.json", "{}").await;
    beside.write("AGENTS.md", "mine").await;
    beside.touch("go");
    let told = beside.told().await;
    assert!(told.contains(".claude/agents appeared"), "{told}");
    let aside = moved_aside(&beside.root, ".claude").unwrap();
    assert!(aside.join("evil.md").exists() && !beside.has(".claude/agents"), "not in the folder that is read");
    beside.touch("on");
    assert!(beside.told().await.contains("AGENTS.md appeared"));
    assert!(!beside.has("AGENTS.md"), "it is another one now");
    beside.write(".claude/other.json", "{}").await;
    beside.stop(&id).await;
    assert_eq!(entries(&beside.root.join(".claude")), ["other.json", "settings.json"]);
    assert_eq!(beside.inside.bench.get(".claude/settings.json"), "{}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_makes_by_a_command_of_their_own_stays() {
    let Some(mut beside) = Beside::new().await else { return };
    let id = beside.start("until [ -e go ]; do sleep 0.02; done; touch .npmrc .idea; sleep 600").await;
    beside.user("mkdir .claude; echo one > .claude/mine; sleep 0.6").await;
    let told = beside.told().await;
    let said = "/.claude stays: it came while `mkdir .claude; echo one > .claude/mine; sleep 0.6` ran outside of the \
                sandbox, and bash_1 inside. Look at it if you do not know it.";
    assert!(told.ends_with(said), "{told}");
    // One that was caught is not believed again, but for what the user names.
    beside.touch("go");
    let both = [beside.told().await, beside.told().await].join("\n");
    assert!(both.contains(".npmrc appeared") && both.contains(".idea appeared"), "{both}");
    let made =
        "touch .mise.toml ./.idea; n=vs; mkdir .${n}code; echo 'a vscode; zed' > zed; touch .${PWD:0:0}zed; sleep 0.6";
    beside.user(made).await;
    beside.user(&format!("cp -r .mise.toml {}/.github; git init -q", beside.root.display())).await;
    beside.stop(&id).await;
    assert_eq!(beside.inside.bench.get(".claude/mine"), "one\n");
    assert!(beside.has(".idea") && beside.has(".mise.toml") && !beside.has(".vscode") && !beside.has(".npmrc"));
    assert!(beside.has(".git") && !beside.has(".zed"), "it is named as a path, or as what it makes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_the_user_makes_is_worked_in_and_its_hooks_are_watched() {
    let Some(mut beside) = Beside::new().await else { return };
    let id = beside.start("until [ -e go ]; do sleep 0.02; done; echo x > .git/hooks/post-commit; sleep 600").await;
    beside.user("git init -q --template= && mkdir .git/hooks && touch .git/hooks/mine").await;
    assert!(beside.told().await.contains("/.git stays: "));
    let as_user = "-c user.name=a -c user.email=a@b";
    beside.touch("a.txt");
    beside.inside.works(&format!("git add -A && git {as_user} commit -qm one")).await;
    beside.touch("go");
    assert!(beside.told().await.contains(".git/hooks/post-commit appeared"));
    beside.inside.works(&format!("git {as_user} commit --allow-empty -qm two && git fsck --strict")).await;
    beside.stop(&id).await;
    assert_eq!(entries(&beside.root.join(".git/hooks")), ["mine"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_is_not_blamed_for_what_another_may_have_made() {
    let Some(mut beside) = Beside::new().await else { return };
    let id = beside.start("until [ -e go ]; do sleep 0.02; done; echo '{}' > .mcp.json; sleep 600").await;
    let root = beside.root.clone();
    let (output, ()) = tokio::join!(beside.inside.bash("touch go; while [ -e go ]; do sleep 0.02; done"), async {
        until(|| root.join("go").exists()).await;
        assert!(beside.news.recv().await.unwrap().words().contains("while bash_1 and `touch go; while"));
        std::fs::remove_file(root.join("go")).unwrap();
    });
    assert!(!output.is_error && output.refused_inside.is_none(), "{}", text_of(&output));
    assert!(text_of(&output).contains("/.mcp.json appeared while it and bash_1 ran, where"), "{}", text_of(&output));
    beside.stop(&id).await;
    assert!(beside.inside.refused("touch .mcp.json").await.contains("/.mcp.json appeared while it ran, where"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_plants_again_and_again_is_ended() {
    let Some(beside) = Beside::new().await else { return };
    let id = beside.start("while :; do touch .mcp.json .npmrc .envrc .exrc .nvimrc .idea .zed .roo .kiro .qwen .fleet .kode; sleep 0.6; done").await;
    let how = beside.ended(&id).await;
    assert!(
        how.starts_with("ended for what appeared where it may not write; ") && how.contains("and 8 more such"),
        "{how}"
    );
    let output = beside
        .inside
        .bash("touch .mcp.json .npmrc .envrc .exrc .nvimrc .idea .zed .roo .kiro .qwen .fleet .kode; sleep 600")
        .await;
    assert!(text_of(&output).contains("[ended for what appeared where it may not write"), "{}", text_of(&output));
}

#[tokio::test]
async fn what_was_there_before_a_command_began_is_not_its() {
    let Some(inside) = Inside::new().await else { return };
    let bash = inside.tools.find("Bash").unwrap();
    let call = bash.parse(&super::super::args(json!({"command": "cat .mcp.json; echo x > .mcp.json"})));
    let Ok(prepared) = call.prepare(&inside.bench.context).await else { panic!("it cannot be prepared") };
    inside.bench.put(".mcp.json", "mine");
    let output = prepared.run.await;
    let said = text_of(&output);
    assert!(
        output.is_error && said.contains("mine") && said.contains("Read-only") && !said.contains("appeared"),
        "{said}"
    );
    assert_eq!(inside.bench.get(".mcp.json"), "mine");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_beyond_a_link_is_moved_while_a_command_swaps_it() {
    let Some(beside) = Beside::new().await else { return };
    let victim = beside.inside.bench.outside("victim");
    std::fs::create_dir_all(victim.join("workflows")).unwrap();
    std::fs::write(victim.join("workflows/ci.yml"), "as it was").unwrap();
    let swap = format!(
        "mkdir -p real/workflows; while :; do mv real .github; mv .github real; ln -s {} .github; rm .github; done 2>/dev/null",
        victim.display()
    );
    let id = beside.start(&swap).await;
    for _ in 0..300 {
        beside.inside.sandbox.watch().look();
    }
    if beside.inside.bench.context.background.commands.stop(&id, belvedere::tool::EndedBy::User) {
        beside.ended(&id).await;
    }
    assert_eq!(std::fs::read_to_string(victim.join("workflows/ci.yml")).unwrap(), "as it was");
}

#[tokio::test]
async fn what_is_about_to_be_written_by_us_is_looked_at_first() {
    let Some(beside) = Beside::new().await else { return };
    let id = beside.start("sleep 1000").await;
    let planted = beside.root.join("CLAUDE.md");
    std::fs::write(&planted, "obey\n").unwrap();
    let writing = beside.inside.sandbox.watch().writing(&planted);
    assert!(!planted.exists(), "it would be read, and written back as ours");
    drop(writing);
    beside.stop(&id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_again_at_once_is_seen_all_the_same() {
    let Some(beside) = Beside::new().await else { return };
    beside.inside.bench.put(
        "flicker.py",
        "import os, time\nwhile True:\n    open('c', 'w').close()\n    os.rename('c', '.mcp.json')\n    try: os.rename('.mcp.json', 'c')\n    except OSError: pass\n    time.sleep(0.02)\n",
    );
    let id = beside.start("python3 flicker.py").await;
    let how = beside.ended(&id).await;
    assert!(how.starts_with("ended for what appeared where it may not write; "), "{how}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_writes_a_protected_file_by_another_name() {
    let Some(mut beside) = Beside::new().await else { return };
    git(&beside.root, ["init", "-q"]);
    let line = "i=$(stat -c %i .git/config); touch ready; until [ $(stat -c %i .git/config) != $i ]; do sleep 0.01; done; \
                until ln .git/config .git/NAME_MSG; do sleep 0.01; done; touch linked; sleep 600";
    let id = beside.start(line).await;
    let root = beside.root.clone();
    until(|| root.join("ready").exists()).await;
    beside.user("git config user.name me").await;
    until(|| root.join("linked").exists()).await;
    let output = beside.inside.bash("echo evil >> .git/NAME_MSG").await;
    let said = text_of(&output);
    assert!(output.is_error && said.contains("/.git/config has another name (a hard link)"), "{said}");
    assert!(said.contains("Stop them, or remove the other name"), "{said}");
    beside.stop(&id).await;
    beside.inside.works("echo evil >> .git/NAME_MSG").await;
    let config = std::fs::read_to_string(root.join(".git/config")).unwrap();
    assert!(config.contains("name = me") && !config.contains("evil"), "{config}");
    let told = beside.told().await;
    assert!(told.starts_with("Protected files with another name") && told.contains("now: "), "{told}");
    assert!(told.contains("/.git/config. What has the other name stays as it is."), "{told}");
    // Where both names are protected, nothing has to be done.
    std::fs::write(root.join("CLAUDE.md"), "one").unwrap();
    std::fs::hard_link(root.join("CLAUDE.md"), root.join("AGENTS.md")).unwrap();
    beside.inside.refused("echo evil >> AGENTS.md").await;
    assert_eq!(std::os::unix::fs::MetadataExt::nlink(&root.join("CLAUDE.md").metadata().unwrap()), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_ours_stays_only_as_we_have_written_it() {
    let Some(beside) = Beside::new().await else { return };
    beside.inside.bench.put(
        "race.py",
        "import os, sys\nnames = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md', 'Jenkinsfile', 'mise.toml']\nwhile names:\n    for n in list(names):\n        try:\n            if n < 'D': os.link(n, n + '.link')\n            else:\n                f = os.open(n, os.O_WRONLY | os.O_APPEND); os.write(f, b'EVIL'); os.close(f)\n            names.remove(n)\n        except OSError: pass\nopen('over', 'w').close()\nimport time; time.sleep(600)\n",
    );
    let id = beside.start("python3 race.py").await;
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "Jenkinsfile", "mise.toml"] {
        beside.write(name, "mine").await;
    }
    let root = beside.root.clone();
    until(|| root.join("over").exists()).await;
    beside.stop(&id).await;
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "Jenkinsfile", "mise.toml"] {
        assert!(!beside.has(name), "{name}: a command has changed it, or could");
        assert!(moved_aside(&root, name).is_some(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_moved_from_a_name_that_a_pattern_fits_is_not_moved_again() {
    let Some(mut beside) = Beside::new().await else { return };
    let line = "for n in Jenkinsfile.x .envrc.local mise.local.toml .gitlab-ci.x.yml; do echo x > $n; done; sleep 600";
    let id = beside.start(line).await;
    for _ in 0..4 {
        assert!(beside.told().await.contains(" appeared while bash_1 ran"));
    }
    // A look for each of them, and one more.
    beside.write("later.txt", "").await;
    let how = beside.stop(&id).await;
    assert!(how.starts_with("stopped; ") && !how.contains("more such"), "{how}");
    let twice = entries(&beside.root).into_iter().find(|name| name.matches(".blocked-").count() > 1);
    assert_eq!(twice, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_things_is_one_move_and_few_words() {
    let Some(mut beside) = Beside::new().await else { return };
    let line = "until [ -d .vscode ] && [ -e go ]; do sleep 0.02; done; cd .vscode; mkdir $(seq 5000); sleep 600";
    let id = beside.start(line).await;
    beside.user("mkdir .vscode; touch .vscode/mine").await;
    beside.touch("go");
    let root = beside.root.clone();
    until(|| root.join(".vscode").symlink_metadata().is_err()).await;
    beside.stop(&id).await;
    let mut said = 0;
    while beside.news.try_recv().is_ok() {
        said += 1;
    }
    assert!((2..=15).contains(&said), "{said}");
    let aside = entries(&beside.root).iter().filter(|name| name.starts_with(".vscode.blocked-")).count();
    assert!(aside <= 40, "{aside}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_the_user_stay_and_what_comes_by_them_does_not() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    for (link, target) in [(".cargo", "conf"), (".github", "shared/gh"), (".idea", "nowhere")] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    std::fs::create_dir_all(root.join("conf")).unwrap();
    let said = inside.refused("mkdir -p shared/gh/workflows; echo evil > conf/config.toml; mkdir nowhere").await;
    for (link, target) in [(".cargo", "conf"), (".github", "shared/gh"), (".idea", "nowhere")] {
        assert_eq!(std::fs::read_link(root.join(link)).unwrap(), Path::new(target), "{said}");
    }
    assert!(moved_aside(&root.join("conf"), "config.toml").is_some() && !root.join(".cargo/config.toml").exists());
    assert!(!root.join(".github/workflows").exists() && !root.join("nowhere").exists(), "{said}");
    // A link in the way of something that is protected is none that a command can put another in the place of.
    inside.bench.put("conf/config.toml", "mine");
    let said = inside.refused("rm .cargo; mkdir .cargo; echo evil > .cargo/config.toml").await;
    assert_eq!(std::fs::read_to_string(root.join(".cargo/config.toml")).unwrap(), "mine", "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_something_cannot_be_moved_no_command_begins() {
    let Some(mut beside) = Beside::new().await else { return };
    let path = beside.root.join(".mcp.json");
    let immutable =
        |flag: &str| std::process::Command::new("chattr").arg(flag).arg(&path).status().is_ok_and(|s| s.success());
    let writing = beside.inside.sandbox.watch().writing(&path);
    let id = beside.start("sleep 600").await;
    std::fs::write(&path, "{}").unwrap();
    if !immutable("+i") {
        return;
    }
    drop(writing);
    let how = beside.ended(&id).await;
    let refused = text_of(&beside.inside.bash("true").await);
    let told = beside.told().await;
    assert!(immutable("-i"));
    assert!(how.starts_with("ended for what appeared"), "{how}");
    assert!(told.contains("/.mcp.json appeared while bash_1 ran") && told.contains("it could not be moved."), "{told}");
    assert!(
        refused.contains("/.mcp.json, which could not be moved. No command runs in the sandbox until"),
        "{refused}"
    );
    let found = beside.inside.sandbox.watch().found();
    let said = belvedere::sandbox::Intrusion::still_there(&found).unwrap();
    assert!(said.contains("; still in force, as it could not be moved: ") && said.ends_with("/.mcp.json."), "{said}");
    std::fs::remove_file(&path).unwrap();
    beside.inside.works("true").await;
}
