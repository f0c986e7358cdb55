//! Commands: their output, their time, and that nothing of them is left.

use belvedere::permission::{AccessKind, Confinement, Preview};
use belvedere::tool::{ToolOutput, ToolView, bound_text};
use serde_json::json;

use super::{Bench, text_of};

async fn bash(bench: &Bench, command: &str) -> ToolOutput {
    bench.run("Bash", json!({"command": command})).await
}

/// Tells whether a process is there and not merely waiting to be reaped.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

fn pids(bench: &Bench) -> Vec<String> {
    bench.get("pids").lines().map(str::to_owned).collect()
}

/// Waits until the command has printed `word`.
async fn printed(bench: &Bench, word: &str) {
    bench.progress.clone().wait_for(|tail| tail.contains(word)).await.unwrap();
}

#[tokio::test]
async fn both_streams_arrive_in_order_with_the_exit_code() {
    let bench = Bench::new();
    let output = bash(&bench, "echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(text_of(&output), "one\ntwo\nthree\n[exit 3]");
    assert_eq!((output.summary.as_str(), output.is_error), ("exit 3, 3 lines", true));
    assert_eq!(output.view, Some(ToolView::Output { text: "one\ntwo\nthree".to_owned() }));
    let output = bash(&bench, "true").await;
    assert_eq!(text_of(&output), "(no output)\n[exit 0]");
    assert_eq!((output.summary.as_str(), output.is_error, output.view), ("exit 0, 0 lines", false, None));
    assert_eq!(text_of(&bash(&bench, "-x").await).lines().last(), Some("[exit 127]"), "a command, not an option");
    assert_eq!(text_of(&bash(&bench, "kill -9 $$").await), "(no output)\n[killed by SIGKILL]");
    assert!(bench.error("Bash", json!({"command": "  "})).await.contains("empty"));
}

#[tokio::test]
async fn a_plan_names_the_whole_command() {
    let bench = Bench::new();
    let input = json!({"command": "make\nrm x", "description": "Build it"});
    let plan = bench.plan("Bash", input).await.unwrap();
    assert_eq!(plan.access, AccessKind::Execute { command: "make\nrm x".to_owned(), confinement: Confinement::None });
    assert_eq!(plan.preview, Some(Preview::Note { text: "Build it".to_owned() }));
}

#[tokio::test]
async fn commands_have_no_terminal_and_no_input() {
    let bench = Bench::new();
    let output =
        bash(&bench, "pwd; cat; test -t 0 || test -t 1 || echo none; (echo x >/dev/tty) 2>/dev/null || echo no tty")
            .await;
    let cwd = bench.context.cwd.display();
    assert_eq!(text_of(&output), format!("{cwd}\nnone\nno tty\n[exit 0]"));
    let output = bash(&bench, "echo $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $TERM $NO_COLOR").await;
    assert_eq!(text_of(&output), "cat cat 0 dumb 1\n[exit 0]");
}

#[tokio::test]
async fn terminal_tricks_are_made_plain() {
    let bench = Bench::new();
    let output = bash(
        &bench,
        r"printf '\033[31mred\033[0m \033]0;title\007ok\n10%%\r99%%\rdone\nab\bc\n\033]0;never ends\nlast\r\n'",
    )
    .await;
    assert_eq!(text_of(&output), "red ok\n10%\n99%\ndone\nac\n\nlast\n[exit 0]");
    let output = bash(&bench, r"printf 'caf\351 \033['").await;
    assert_eq!(text_of(&output), "caf\u{fffd} \n[exit 0]");
}

#[tokio::test]
async fn eight_bit_sequences_and_lists_with_nul_are_made_plain() {
    let bench = Bench::new();
    let output = bash(&bench, r"printf 'a\302\23331mb \302\235title\302\234c\none\0two\0'").await;
    assert_eq!(text_of(&output), "ab c\none\ntwo\n[exit 0]");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_counted_and_not_shown() {
    let bench = Bench::new();
    let output = bash(&bench, r"for i in $(seq 500); do printf '\001\377\376\200ab'; done").await;
    assert!(text_of(&output).starts_with("[3,000 bytes of binary output not shown"), "{}", text_of(&output));
    assert_eq!(output.view, None);
}

#[tokio::test]
async fn as_much_of_an_output_is_kept_as_a_result_may_hold() {
    let mut bench = Bench::new();
    bench.put("long", format!("{}\n", "ä".repeat(99)).repeat(600));
    for (tool, input) in [
        ("Bash", json!({"command": "cat long"})),
        ("Read", json!({"file_path": "long"})),
        ("Grep", json!({"pattern": "ä", "path": "long", "output_mode": "content", "head_limit": 0})),
    ] {
        let mut lengths = Vec::new();
        for chars in [50_000, 200_000] {
            bench.context.result_chars = chars;
            let text = bench.text(tool, input.clone()).await;
            lengths.push(text.chars().count());
            assert_eq!(text, bound_text(&text, chars), "{tool}: nothing more is cut from it");
        }
        assert!((48_500..=50_000).contains(&lengths[0]) && lengths[1] >= 60_000, "{tool}: {lengths:?}");
    }
}

#[tokio::test]
async fn long_output_keeps_its_ends() {
    let bench = Bench::new();
    let output = bash(&bench, "echo first; seq 1 200000; echo last").await;
    let text = text_of(&output);
    assert!(text.starts_with("first\n1\n2\n") && text.ends_with("200000\nlast\n[exit 0]"), "{text}");
    assert!(text.contains("bytes left out …]") && (49_000..=50_000).contains(&text.len()), "{}", text.len());
    assert_eq!(output.summary, "exit 0, 200,002 lines");
}

#[tokio::test]
async fn ten_gigabytes_neither_fill_memory_nor_outlive_a_cancel() {
    let mut bench = Bench::new();
    let cancel = bench.context.cancel.clone();
    let mut progress = bench.progress.clone();
    let command = "echo $$ > pids; timeout 60 yes | head -c 10G";
    let run = bash(&bench, command);
    let stop = async {
        progress.changed().await.unwrap();
        progress.changed().await.unwrap();
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(run, stop);
    let text = text_of(&output);
    assert!(output.is_error && text.contains("[interrupted: ") && text.len() <= 50_000, "{}", output.summary);
    assert!(bench.progress.borrow_and_update().starts_with("y\ny"));
    assert!(!is_alive(&bench.get("pids")));
}

/// A shell and a child that both ignore TERM.
const STUBBORN: &str = "trap '' TERM; (echo $BASHPID >> pids; echo one up; while :; do sleep 1; done) & \
                        echo $$ >> pids; echo two up; while :; do sleep 1; done";

#[tokio::test]
async fn a_cancel_ends_everyone_even_those_who_ignore_term() {
    let bench = Bench::new();
    let stop = async {
        printed(&bench, "one up").await;
        printed(&bench, "two up").await;
        bench.context.cancel.cancel();
    };
    let (output, ()) = tokio::join!(bash(&bench, STUBBORN), stop);
    assert!(output.summary.starts_with("interrupted, 2 lines"), "{}", output.summary);
    let pids = pids(&bench);
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_alive(pid)), "{pids:?}");
}

#[tokio::test]
async fn the_last_words_of_a_command_that_is_ended_are_kept() {
    let bench = Bench::new();
    let command = "trap 'seq 20000; echo last words; exit' TERM; echo ready; while :; do sleep 0.01; done";
    let cancel = async {
        printed(&bench, "ready").await;
        bench.context.cancel.cancel();
    };
    let (output, ()) = tokio::join!(bash(&bench, command), cancel);
    assert!(text_of(&output).contains("20000\nlast words\n[interrupted"), "{}", text_of(&output));
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let bench = Bench::new();
    let output = bench.run("Bash", json!({"command": "sleep 1000 | sleep 1000", "timeout": 100})).await;
    let words = "(no output)\n[timed out after 0.1 s; the command and its processes were killed]";
    assert_eq!((text_of(&output).as_str(), output.is_error), (words, true));
    assert_eq!(output.summary, "timed out after 0.1 s, 0 lines");
}

#[tokio::test]
async fn a_child_in_the_background_neither_holds_up_nor_survives_the_command() {
    let bench = Bench::new();
    let command = "(echo $BASHPID >> pids; exec sleep 1000) & (echo $BASHPID >> pids; exec timeout 60 yes) >/dev/null & \
                   while [ \"$(wc -l < pids)\" -lt 2 ]; do :; done; echo done";
    let output = bash(&bench, &format!("touch pids; {command}")).await;
    assert_eq!(text_of(&output), "done\n[exit 0; its background processes were killed]");
    assert!(pids(&bench).iter().all(|pid| !is_alive(pid)));
}

#[tokio::test]
async fn a_dropped_call_takes_its_processes_along() {
    let bench = Bench::new();
    let up = async {
        printed(&bench, "one up").await;
        printed(&bench, "two up").await;
    };
    tokio::select! {
        output = bash(&bench, STUBBORN) => panic!("{}", text_of(&output)),
        () = up => {}
    }
    let pids = pids(&bench);
    assert_eq!(pids.len(), 2);
    while pids.iter().any(|pid| is_alive(pid)) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_a_clear_result() {
    let bench = Bench::new();
    std::fs::remove_dir(bench.path("")).unwrap();
    let words = bench.error("Bash", json!({"command": "true"})).await;
    assert!(words.contains("could not be started in"), "{words}");
}

/// Runs something in the background in a way that leads out of the command's process group, after it has noted itself.
const HIDDEN: &str = "touch pids
    setsid -f bash -c 'echo $$ >> pids; exec sleep 1000'
    (setsid bash -c 'echo $$ >> pids; exec sleep 1000' &)
    (setsid bash -c '(echo $BASHPID >> pids; exec sleep 1000) & exit' &)
    nohup bash -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 &
    bash -c 'echo $$ >> pids; exec sleep 1000' & disown
    setsid bash -c 'echo $$ >> pids; kill -STOP $$' &
    while [ \"$(wc -l < pids)\" -lt 6 ]; do sleep 0.01; done";

#[tokio::test]
async fn processes_that_hide_are_ended_with_the_command() {
    let bench = Bench::new();
    let output = bash(&bench, &format!("{HIDDEN}; echo done; exit 3")).await;
    assert_eq!(text_of(&output), "done\n[exit 3; its background processes were killed]");
    let pids = pids(&bench);
    assert_eq!(pids.len(), 6);
    assert!(pids.iter().all(|pid| !is_alive(pid)), "{pids:?}");
}

#[tokio::test]
async fn processes_that_hide_are_ended_when_the_command_is_stopped() {
    let bench = Bench::new();
    let stop = async {
        printed(&bench, "hidden").await;
        bench.context.cancel.cancel();
    };
    let command = format!("{HIDDEN}; echo hidden; sleep 1000");
    let (output, ()) = tokio::join!(bash(&bench, &command), stop);
    assert!(output.summary.starts_with("interrupted"), "{}", output.summary);
    let pids = pids(&bench);
    assert_eq!(pids.len(), 6);
    assert!(pids.iter().all(|pid| !is_alive(pid)), "{pids:?}");
}

#[tokio::test]
async fn a_process_that_runs_away_from_its_own_end_is_caught() {
    let bench = Bench::new();
    // Each hands on to a new one and is gone.
    let runner = "run() { (echo $BASHPID >> at; run) & exit; }; run";
    std::fs::write(bench.path("run.sh"), runner).unwrap();
    let output = bash(&bench, "setsid -f bash run.sh >/dev/null 2>&1; while [ ! -s at ]; do sleep 0.01; done").await;
    assert!(text_of(&output).contains("were killed"), "{}", text_of(&output));
    let last = bench.get("at").lines().last().unwrap().to_owned();
    std::fs::remove_file(bench.path("at")).unwrap();
    assert!(!is_alive(&last) && !bench.path("at").exists());
}

#[tokio::test]
async fn a_command_that_signals_its_own_group_ends_as_it_would() {
    let bench = Bench::new();
    assert_eq!(text_of(&bash(&bench, "trap 'echo told; exit 4' TERM; kill 0; sleep 1").await), "told\n[exit 4]");
    assert_eq!(text_of(&bash(&bench, "kill -34 $$").await), "(no output)\n[killed by signal 34]");
}

fn shell(names: &[&str]) -> belvedere::tool::Shell {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    belvedere::tool::Shell::new(env!("CARGO_BIN_EXE_belvedere"), &names, &["MYAPP_LLM".to_owned()])
}

/// Run by the test below in a process with much in its environment.
#[tokio::test]
async fn the_environment_is_a_list_of_what_commands_need() {
    let bench = Bench::new();
    let tools = crate::support::tools_of(&shell(&["DATABASE_URL", "MYAPP_*", "OPENAI_*", "BASH_ENV", "GIT_*"]));
    let text = text_of(&super::run(&tools, "Bash", json!({"command": "env"}), &bench.context).await);
    assert!(!text.contains("canary"), "{text}");
    if std::env::var_os("DATABASE_URL").is_some() {
        for line in [
            "DATABASE_URL=postgres://me:kept@host/db",
            "MYAPP_TOKEN=kept",
            "CARGO_HOME=/kept",
            "LC_ALL=C",
            "CXXFLAGS=-DUSE_TOKENIZER=1 -DKEYS=3 -Dkept",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} is missing: {text}");
        }
    }
    let text = text_of(&bash(&bench, "env").await);
    assert!(!text.contains("MYAPP") && !text.contains("DATABASE"), "{text}");
}

/// Names of secrets that other programs know.
const SECRETS: [&str; 40] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "OPENAI_API_KEY",
    "openrouter_api_key",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "AZURE_API_KEY",
    "KIMI_API_KEY",
    "ZAI_API_KEY",
    "NVIDIA_API_KEY",
    "LITELLM_MASTER_KEY",
    "HF_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "PYPI_TOKEN",
    "UV_PUBLISH_TOKEN",
    "PIP_PASSWORD",
    "CARGO_REGISTRY_TOKEN",
    "CARGO_REGISTRIES_MINE_TOKEN",
    "DOCKER_AUTH_CONFIG",
    "KUBECONFIG",
    "SSH_AUTH_SOCK",
    "SLACK_TOKEN",
    "STRIPE_SECRET_KEY",
    "SENTRY_DSN",
    "PGPASSWORD",
    "MYSQL_PWD",
    "REDIS_URL",
    "VAULT_TOKEN",
    "BELVEDERE_MODEL",
    "GIT_CONFIG_PARAMETERS",
    "SOMETHING_ELSE",
];

#[test]
fn what_no_list_names_stays_out_of_the_environment_of_commands() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::commands::the_environment_is_a_list_of_what_commands_need"])
        .envs(SECRETS.map(|name| (name, "canary")))
        .envs([
            ("https_proxy", "http://me:canary@proxy:8080"),
            ("PIP_INDEX_URL", "https://canary@packages/simple"),
            ("GOPROXY", "https://a,https://me:canary@b"),
            ("MAVEN_OPTS", "-Xmx1g -Drepo.password=canary"),
            ("GRADLE_OPTS", "-PsigningPassword=canary"),
            ("NIX_CONFIG", "access-tokens = github.com=canary"),
            ("NODE_OPTIONS", "--require ./x.js --token canary"),
            ("CFLAGS", "-O2 -DAPI_KEY=canary"),
            ("GOFLAGS", "-ldflags=-X=main.authToken=canary"),
            ("RUBYOPT", "-W0 -rset ghp_canarycanarycanarycanary1"),
            ("MAKEFLAGS", "HEADER='Authorization: Bearer canary'"),
            ("CARGO_BUILD_RUSTFLAGS", "--cfg secret=\"canary\""),
            ("CXXFLAGS", "-DUSE_TOKENIZER=1 -DKEYS=3 -Dkept"),
            ("BASH_ENV", "/canary"),
            ("BASH_FUNC_ls%%", "() { echo canary; }"),
            ("LD_PRELOAD", ""),
            ("DATABASE_URL", "postgres://me:kept@host/db"),
            ("MYAPP_TOKEN", "kept"),
            ("MYAPP_LLM", "canary"),
            ("CARGO_HOME", "/kept"),
            ("LC_ALL", "C"),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
