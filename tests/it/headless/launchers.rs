//! Agents that a launcher runs somewhere else, with the real binary on both sides: their files go there and come back.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::Bench;
use super::mcp::gone;
use super::plain::Session;
use super::worktrees::streamed;
use crate::support::git;

const AGENT: &str = "---\nname: rewriter\ndescription: d\ntools: Read, Edit, Bash\n---\nYou rewrite.";

/// Does what comes back, what stays behind, and what should not be there.
const MIXED: &str = "mkdir -p new built .git/hooks && git init -q nested && echo one > new/file.txt && cat ignored/data > new/data.txt && \
                     echo x > built/x && echo x > nested/x && echo x > .git/hooks/post-checkout && \
                     mkdir .GIT && echo x > .GIT/config && rm tests/shop.rs && ln -s new/file.txt link";

/// Leaves what git takes for a repository, and what other programs act on.
const ACTED: &str = "mkdir -p sub/objects sub/refs && echo x > sub/HEAD && echo x > sub/config && echo x > sub/objects/x && \
                     echo x > sub/refs/x && echo 'touch /tmp/canary' > .envrc && ln -s /etc/passwd out";

/// What the models of a test are told, and when a task that waits may end.
#[derive(Clone, Default)]
struct Told {
    requests: Arc<std::sync::Mutex<Vec<Value>>>,
    go: Arc<Notify>,
}

/// A main agent that has one rewriter run there, and the rewriter.
async fn answer(State(told): State<Told>, body: Bytes) -> Response {
    // It is also asked for its models.
    let Ok(request) = serde_json::from_slice::<Value>(&body) else { return Response::default() };
    told.requests.lock().unwrap().push(request.clone());
    let messages = request["messages"].as_array().unwrap();
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    let first = messages[0].to_string();
    let call = |name: &str, input: Value| json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": input});
    let read = || call("Read", json!({"file_path": "src/lib.rs"}));
    let edit =
        |old: &str, new: &str| call("Edit", json!({"file_path": "src/lib.rs", "old_string": old, "new_string": new}));
    let done = || json!({"type": "text", "text": "<summary>done</summary>"});
    let block = if first.contains("It goes on with this message") {
        // It was cut off, and goes on.
        match turn {
            0 => read(),
            1 => edit("The shop", "The best shop"),
            _ => done(),
        }
    } else if first.contains("WHAT:") {
        match turn {
            0 if first.contains("and sleep") => call("Bash", json!({"command": "echo $$ > \"$PIDS\"; sleep 1000"})),
            0 => read(),
            1 => edit("A shop", "The shop"),
            2 if first.contains("and xpause") || first.contains("and xmix") => call("Bash", json!({"command": MIXED})),
            2 if first.contains("and xact") => call("Bash", json!({"command": ACTED})),
            2 => call(
                "Bash",
                json!({"command": "mkdir new && echo one > new/file.txt && rm tests/shop.rs && git status --short"}),
            ),
            3 if first.contains("and hang") || first.contains("and xpause") => {
                told.go.notified().await;
                done()
            }
            _ => done(),
        }
    } else if turn == 0 {
        let how =
            ["hang", "sleep", "xpause", "xmix", "xact"].into_iter().find(|how| first.contains(how)).unwrap_or("end");
        let prompt = format!("WHAT: rewrite the shop and {how}. WHERE: src/lib.rs. RETURN: one word.");
        let there = if first.contains("nowhere") { "nowhere" } else { "there" };
        call(
            "Agent",
            json!({"description": "rewrite", "subagent_type": "rewriter", "prompt": prompt, "isolation": there}),
        )
    } else {
        json!({"type": "text", "text": "that was it"})
    };
    streamed(&block)
}

/// A project, a launcher that runs the program itself with another home, and a model for both sides.
struct Elsewhere {
    bench: Bench,
    there: TempDir,
    base: String,
    told: Told,
}

impl Elsewhere {
    async fn new() -> Self {
        Self::with(|_| "folder = \"git\"".to_owned()).await
    }

    /// As [`Self::new`], with files that rsync takes there.
    async fn by_rsync() -> Self {
        let elsewhere = Self::with(|place| {
            format!("folder = \"rsync\"\nto = \"{place}/tmp/folders\"\ninclude = [\"ignored\"]\nexclude = [\"built\"]")
        });
        let elsewhere = elsewhere.await;
        elsewhere.bench.file(".gitignore", "ignored\n");
        elsewhere.bench.file("ignored/data", "data\n");
        elsewhere.bench.file("built/kept", "kept\n");
        elsewhere
    }

    async fn with(folder: impl Fn(&str) -> String) -> Self {
        let (bench, there) = (Bench::new(), tempfile::tempdir().unwrap());
        git(bench.project.path(), ["init", "-q", "-b", "main"]);
        git(bench.project.path(), ["add", "-A"]);
        git(bench.project.path(), ["commit", "-q", "-m", "first"]);
        bench.at_home(".claude/agents/rewriter.md", AGENT);
        let told = Told::default();
        let app = Router::new().fallback(answer).with_state(told.clone());
        let base = format!("http://{}", crate::support::serve(app).await);
        for name in ["home", "tmp"] {
            std::fs::create_dir(there.path().join(name)).unwrap();
        }
        let place = there.path().display();
        let folder = folder(&place.to_string());
        let program = env!("CARGO_BIN_EXE_belvedere");
        let settings = format!(
            "[launchers.there]\ncommand = [\"sh\", \"-c\", 'umask 000; echo $$ > \"$AGENT_PID\"; exec \"{program}\" acp --model anthropic/opus \
             --permission-mode bypassPermissions']\n{folder}\nat_once = 2\n\
             [launchers.there.env]\nHOME = \"{place}/home\"\nTMPDIR = \"{place}/tmp\"\nANTHROPIC_API_KEY = \"k\"\n\
             ANTHROPIC_BASE_URL = \"{base}\"\nBELVEDERE_SANDBOX_ENABLED = \"false\"\nAGENT_PID = \"{place}/agent\"\n\
             PIDS = \"{place}/pids\"\nBELVEDERE_TOOLS_ENVIRONMENT = \"PIDS\"\n"
        );
        bench.at_home(".config/belvedere/config.toml", &settings);
        Self { bench, there, base, told }
    }

    fn session(&self) -> Session {
        let args = ["--plain", "--model", "anthropic/opus", "--permission-mode", "bypassPermissions"];
        let env = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", self.base.as_str())];
        Session::start_with(&self.bench, &args, &env)
    }

    fn shop(&self) -> String {
        std::fs::read_to_string(self.bench.project.path().join("src/lib.rs")).unwrap()
    }

    fn in_project(&self, path: &str) -> bool {
        self.bench.project.path().join(path).exists()
    }

    fn written(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.there.path().join(name)).ok().filter(|text| text.ends_with('\n'))
    }

    /// Returns what is left of folders that were sent there.
    fn left(&self) -> Vec<PathBuf> {
        let places = ["tmp", "tmp/folders"].map(|name| std::fs::read_dir(self.there.path().join(name)));
        let entries = places.into_iter().flatten().flatten().map(|entry| entry.unwrap().path());
        entries.filter(|path| !path.ends_with("folders")).collect()
    }

    /// Asserts that nobody else can look into what was sent there.
    fn assert_private(&self) {
        let left = self.left();
        assert!(!left.is_empty(), "nothing is there");
        for path in left {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
    }

    /// Returns the first messages that agents were given there.
    fn tasks(&self) -> Vec<String> {
        let requests = self.told.requests.lock().unwrap();
        let first = |request: &Value| request["messages"][0].to_string();
        requests.iter().map(first).filter(|first| first.contains("WHAT:")).collect()
    }
}

/// Waits until something holds.
fn comes<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_mins(1);
    while Instant::now() < until {
        if let Some(found) = holds() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} did not come");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_changes_elsewhere_comes_back_and_is_merged() {
    let elsewhere = Elsewhere::new().await;
    tokio::task::spawn_blocking(move || {
        // What is not committed goes along.
        elsewhere.bench.file("src/more.rs", "// more\n");
        let mut session = elsewhere.session();
        session.line("rewrite it");
        session.until("worktree kept, not merged: 3 files, +2 −3");
        assert!(elsewhere.shop().contains("A shop"), "nothing reaches the project by itself");
        session.line("/merge rewriter-1");
        session.until("merged into the project, not committed · 3 files: ");
        assert!(elsewhere.shop().contains("The shop"));
        assert!(elsewhere.in_project("new/file.txt") && !elsewhere.in_project("tests/shop.rs"));
        assert!(elsewhere.in_project("src/more.rs"));
        assert_eq!(session.end().0, 0);
        assert!(gone(&elsewhere.written("agent").unwrap()));
        assert_eq!(elsewhere.left(), Vec::<PathBuf>::new(), "its folder is gone");
        let requests = elsewhere.told.requests.lock().unwrap();
        let there = requests.iter().find(|request| request["messages"][0].to_string().contains("WHAT:")).unwrap();
        let tools: Vec<&str> =
            there["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(tools.contains(&"Edit") && !tools.contains(&"Write"), "its file holds there too: {tools:?}");
        assert!(there["system"].to_string().contains("You rewrite."));
        let listing = there["messages"].to_string();
        assert!(!listing.contains(&elsewhere.bench.project.path().display().to_string()), "{listing}");
        let status = requests.iter().rev().find(|request| request["messages"].to_string().contains("?? new/"));
        assert!(status.is_some(), "there it is a repository of its own");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_other_programs_act_on_is_named_and_merged_when_that_is_repeated() {
    let elsewhere = Elsewhere::new().await;
    tokio::task::spawn_blocking(move || {
        let mut session = elsewhere.session();
        session.line("rewrite it and xact");
        session.until("Not brought back, because they are repositories of their own: sub.");
        session.until("worktree kept, not merged: 3 files, +3 −1; other programs act on .envrc, out");
        session.line("/merge rewriter-1");
        session.until("/merge rewriter-1 again merges what other programs act on: .envrc, out");
        assert!(!elsewhere.in_project(".envrc"));
        session.line("/merge rewriter-1");
        session.until("merged into the project, not committed · 3 files: ");
        assert!(elsewhere.in_project(".envrc") && !elsewhere.in_project("sub"));
        assert_eq!(session.end().0, 0);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_whose_connection_is_cut_is_interrupted_and_goes_on_from_what_came_back() {
    let elsewhere = Elsewhere::new().await;
    tokio::task::spawn_blocking(move || {
        let mut session = elsewhere.session();
        session.line("rewrite it and hang");
        let made = session.until("works in a worktree: ");
        let root = PathBuf::from(made.trim().rsplit(", ").next().unwrap());
        comes("the change", || {
            std::fs::read_to_string(root.join("src/lib.rs")).ok().filter(|text| text.contains("The shop"))
        });
        comes("the new file", || root.join("new/file.txt").exists().then_some(()));
        elsewhere.assert_private();
        // Another look may have come between these two: the command was at work.
        comes("the removal", || (!root.join("tests/shop.rs").exists()).then_some(()));
        let pid = elsewhere.written("agent").unwrap();
        kill(Pid::from_raw(pid.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
        let ended = session.until("rewriter-1: interrupted");
        assert!(ended.contains("The connection to there was lost"), "{ended}");
        session.line("/resume rewriter-1 make it better still");
        session.until("rewriter-1: done");
        session.until("worktree kept, not merged: ");
        session.line("/merge rewriter-1");
        session.until("merged into the project, not committed · 3 files: ");
        assert!(elsewhere.shop().contains("The best shop"));
        let again = elsewhere.tasks().into_iter().next_back().unwrap();
        assert!(again.contains("You worked on this before") && again.contains("make it better still"), "{again}");
        assert!(again.contains("in a new folder"), "{again}");
        assert_eq!(session.end().0, 0);
        assert!(gone(&elsewhere.written("agent").unwrap()));
        elsewhere.told.go.notify_waiters();
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_running_there_when_the_program_ends() {
    let elsewhere = Elsewhere::new().await;
    tokio::task::spawn_blocking(move || {
        let mut session = elsewhere.session();
        session.line("rewrite it and sleep");
        session.until("works in a worktree: ");
        let command = comes("the command", || elsewhere.written("pids"));
        assert!(std::path::Path::new(&format!("/proc/{}", command.trim())).exists());
        session.line("/quit");
        session.until("/quit again stops them and quits");
        session.line("/quit");
        session.end();
        assert!(gone(&command), "a command goes on");
        assert!(gone(&elsewhere.written("agent").unwrap()), "the agent goes on");
        assert_eq!(elsewhere.left(), Vec::<PathBuf>::new(), "its folder is gone");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_nobody_has_set_up_is_refused_by_name() {
    let elsewhere = Elsewhere::new().await;
    tokio::task::spawn_blocking(move || {
        let mut session = elsewhere.session();
        session.line("rewrite it nowhere");
        session.until("main: that was it");
        let requests = elsewhere.told.requests.lock().unwrap().clone();
        let last = requests.last().unwrap()["messages"].to_string();
        let words = "There is no launcher `nowhere` to run an agent with. Available for `isolation`: worktree, there.";
        assert!(last.contains(words), "{last}");
        let tool = requests[0]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "Agent").unwrap();
        assert_eq!(tool["input_schema"]["properties"]["isolation"]["enum"], json!(["worktree", "there"]));
        assert_eq!(session.end().0, 0);
    })
    .await
    .unwrap();
}

/// Returns `true` if rsync is here; else asserts that its absence is said.
fn has_rsync(session: &mut Session) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = std::env::split_paths(&path).any(|folder| folder.join("rsync").is_file());
    if !is_here {
        let failed = session.until("rewriter-1: failed");
        assert!(
            failed.contains("rsync is not installed here; `folder = \"rsync\"` needs it on both sides"),
            "{failed}"
        );
    }
    is_here
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_rsync_has_taken_there_comes_back_like_a_strangers_and_is_merged() {
    let elsewhere = Elsewhere::by_rsync().await;
    tokio::task::spawn_blocking(move || {
        let mut session = elsewhere.session();
        session.line("rewrite it and xmix");
        if !has_rsync(&mut session) {
            return;
        }
        session.until("Not brought back, because they are repositories of their own: nested.");
        session.until("worktree kept, not merged: 5 files");
        session.line("/merge rewriter-1");
        session.until("merged into the project, not committed · 5 files: ");
        assert!(elsewhere.shop().contains("The shop"));
        let project = elsewhere.bench.project.path();
        assert_eq!(
            std::fs::read_to_string(project.join("new/data.txt")).unwrap(),
            "data\n",
            "what git ignores went along"
        );
        assert!(elsewhere.in_project("new/file.txt") && !elsewhere.in_project("tests/shop.rs"));
        assert_eq!(std::fs::read_link(project.join("link")).unwrap(), PathBuf::from("new/file.txt"));
        for left_out in ["nested", ".GIT/config", "built/x", ".git/hooks/post-checkout"] {
            assert!(!elsewhere.in_project(left_out), "{left_out}");
        }
        assert!(elsewhere.in_project("built/kept") && elsewhere.in_project("ignored/data"));
        assert_eq!(session.end().0, 0);
        assert!(gone(&elsewhere.written("agent").unwrap()));
        assert_eq!(elsewhere.left(), Vec::<PathBuf>::new(), "its folder is gone");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_rsync_has_taken_there_outlives_the_agents_connection() {
    let elsewhere = Elsewhere::by_rsync().await;
    tokio::task::spawn_blocking(move || {
        let mut session = elsewhere.session();
        session.line("rewrite it and xpause");
        if !has_rsync(&mut session) {
            return;
        }
        session.until("rewriter-1: Bash mkdir");
        elsewhere.assert_private();
        let pid = elsewhere.written("agent").unwrap();
        kill(Pid::from_raw(pid.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
        let ended = session.until("rewriter-1: interrupted");
        assert!(ended.contains("The connection to there was lost"), "{ended}");
        // Whether its command was at work or done, rsync fetches all that is there.
        session.until("worktree kept, not merged: 5 files");
        session.line("/resume rewriter-1 make it better still");
        session.until("rewriter-1: done");
        session.until("worktree kept, not merged: ");
        session.line("/merge rewriter-1");
        session.until("merged into the project, not committed · 5 files: ");
        assert!(elsewhere.shop().contains("The best shop"));
        assert_eq!(session.end().0, 0);
        assert_eq!(elsewhere.left(), Vec::<PathBuf>::new(), "both of its folders are gone");
        elsewhere.told.go.notify_waiters();
    })
    .await
    .unwrap();
}
