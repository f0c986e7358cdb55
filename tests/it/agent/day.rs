//! A day of work by a scripted model, through the real loop: how many questions it asks, and which.

use std::collections::BTreeMap;

use belvedere::agent::{AgentEvent, EventKind, ToolEvent};
use belvedere::message::AgentId;
use belvedere::permission::{AccessKind, Answer, ApprovalRequest, Confinement, PermissionMode};
use belvedere::sandbox::Hosts;
use belvedere::subagent::Command;
use belvedere::tool::{Fetcher, Shell};
use serde_json::{Value, json};

use super::{reply, script};
use crate::support::{Parts, Session, git, sandboxed, shell};

/// Forty commands, as models give them.
const COMMANDS: [&str; 40] = [
    "ls -la",
    "git status",
    "git log --oneline | head -5",
    "grep -rn TODO src | wc -l",
    "find . -name '*.py' -not -path './.git/*' | xargs wc -l",
    "head -20 src/app.py && cat Makefile",
    "python3 -m py_compile src/app.py",
    "python3 -m unittest discover -s tests 2>&1 | tail -5",
    "make",
    "make test 2>&1 | tail -3",
    "mkdir -p src/util && touch src/util/__init__.py",
    "sed -i 's/one/two/' src/app.py",
    "git diff --stat",
    "git add -A && git -c user.name=a -c user.email=a@b commit -qm 'step one'",
    "git checkout -q -b feature",
    "for f in src/*.py; do echo $f; done",
    "python3 -c 'print(sum(range(10)))'",
    "echo 'x = 1' > scratch.py && python3 scratch.py && rm scratch.py",
    "cp src/app.py src/old.py && mv src/old.py src/older.py && rm src/older.py",
    "tar czf build.tgz src && rm build.tgz",
    "env | sort | head -3",
    "command -v python3 git make",
    "cat <<'EOF' > data.json\n{\"a\": 1}\nEOF\npython3 -m json.tool data.json",
    "echo more >> README.md; git stash -q; git stash pop -q",
    "git log main..feature --oneline",
    "make clean",
    "du -sh . ; df -h . | tail -1",
    "date; uname -a",
    "printf '#!/bin/sh\\necho ran\\n' > run.sh; chmod +x run.sh && ./run.sh",
    "cat /etc/os-release | head -1",
    "python3 -m http.server 0 >/dev/null 2>&1 & kill $!",
    "git show --stat HEAD",
    "git -c user.name=a -c user.email=a@b commit -qam 'step two' && git checkout -q main && git merge -q feature",
    "diff README.md data.json | head -2",
    "awk '{print $1}' README.md | sort -u",
    // What nobody gets without a question.
    "python3 -c 'import urllib.request as u; u.urlopen(\"http://packages.test/simple/\")'",
    "python3 -c 'import urllib.request as u; u.urlopen(\"http://packages.test/more/\")'",
    "git push -q OUTSIDE/remote.git main",
    "git config user.email me@example.com",
    "cp data.json OUTSIDE/data.json",
];

/// What else it does: a tool and its input.
fn calls() -> Vec<(&'static str, Value)> {
    let write = |path: &str| ("Write", json!({"file_path": path, "content": "x = 1\n"}));
    let edit =
        |from: &str, to: &str| ("Edit", json!({"file_path": "docs/notes.md", "old_string": from, "new_string": to}));
    vec![
        ("Read", json!({"file_path": "src/app.py"})),
        ("Grep", json!({"pattern": "TODO"})),
        ("Glob", json!({"pattern": "**/*.py"})),
        write("src/new.py"),
        write("docs/notes.md"),
        edit("x = 1", "x = 2"),
        edit("x = 2", "x = 3"),
        write("tests/test_new.py"),
        write(".github/workflows/ci.yml"),
        ("Read", json!({"file_path": "/etc/hosts"})),
        ("WebFetch", json!({"url": "https://docs.test/a", "prompt": "what"})),
        ("WebFetch", json!({"url": "https://docs.test/b", "prompt": "what"})),
        ("WebFetch", json!({"url": "https://other.test/", "prompt": "what"})),
    ]
}

/// Says what a question is about.
fn kind(request: &ApprovalRequest) -> &'static str {
    match &request.access.kind {
        AccessKind::Execute { confinement: Confinement::None, .. }
            if request.reason.contains("outside the sandbox") =>
        {
            "run again outside"
        }
        AccessKind::Execute { .. } => "command",
        AccessKind::Reach { .. } => "host of a command",
        AccessKind::Write { path } if path.to_string_lossy().contains("/.github/") => "file that others obey",
        AccessKind::Write { .. } => "edit",
        AccessKind::Read { .. } => "read outside",
        AccessKind::Fetch { .. } => "host of a page",
        AccessKind::Search { .. } => "search of the web",
        AccessKind::Call { .. } => "MCP tool",
        AccessKind::Skill { .. } => "skill",
        AccessKind::Start { .. } | AccessKind::Nothing => "other",
    }
}

/// Does a day of work and counts the questions by kind. Each is answered like this.
async fn count(
    (sandbox, shell): (Option<belvedere::sandbox::Sandbox>, Shell),
    answer: &Answer,
) -> BTreeMap<&'static str, usize> {
    // One for each day: what one has pushed, the next could not push over.
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    git(&outside, ["init", "-q", "--bare", "remote.git"]);
    let commands = COMMANDS.map(|command| command.replace("OUTSIDE", &outside.display().to_string()));
    let commands = commands.iter().map(|command| ("Bash", json!({"command": command})));
    let all: Vec<(&str, Value)> = commands.chain(calls()).collect();
    let turns = all
        .iter()
        .enumerate()
        .map(|(turn, (tool, input))| reply(json!({"turn": turn}), vec![json!({"call": tool, "input": input})]));
    let done = reply(json!({"turn": all.len()}), vec![json!({"say": "done"})]);
    let lines: Vec<Value> = turns.chain([done]).collect();
    let tools = belvedere::tool::standard_tools(
        &shell,
        &Fetcher::new(Hosts::default()),
        &belvedere::tool::LanguageServers::default(),
        &belvedere::tool::EditorFiles::default(),
    );
    let files = vec![
        ("src/app.py", "# TODO one\nprint('one')\n".to_owned()),
        ("tests/test_app.py", "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n".to_owned()),
        (
            "Makefile",
            "all:\n\techo built > built\ntest:\n\tpython3 -m unittest discover -s tests\nclean:\n\trm -f built\n"
                .to_owned(),
        ),
        ("README.md", "hello\n".to_owned()),
    ];
    let parts = Parts::new(script(&lines));
    let mut session = Session::start(Parts { mode: PermissionMode::Default, tools, sandbox, files, ..parts });
    let root = session.root();
    git(&root, ["init", "-q", "-b", "main"]);
    git(&root, ["add", "-A"]);
    git(&root, ["commit", "-q", "-m", "first"]);
    session.say("go");
    let mut counted = BTreeMap::new();
    loop {
        let next = session.wait(|event: &AgentEvent| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(Some(request.clone())),
            EventKind::Ended { .. } if event.agent == AgentId::MAIN => Some(None),
            _ => None,
        });
        let Some(request) = next.await else { break };
        *counted.entry(kind(&request)).or_default() += 1;
        session.send(Command::Answer { id: request.id, answer: answer.clone() });
    }
    session.quit().await;
    counted
}

/// `cargo test --test it -- --ignored --nocapture day_of_work` prints the count.
#[tokio::test]
#[ignore = "two hundred commands take their time"]
#[allow(clippy::print_stdout, reason = "the count is what it is run for")]
async fn a_day_of_work_asks_little() {
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    let cage = tempfile::tempdir().unwrap();
    let Some((sandbox, inside)) = sandboxed(cage.path(), &[]).await else { return };
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        sandbox.policy(Some(&outside), None).unwrap();
    }
    println!("100 policies took {:?}", begun.elapsed());
    let before = count((None, shell()), &Answer::Once).await;
    let once = count((Some(sandbox.clone()), inside.clone()), &Answer::Once).await;
    let session = count((Some(sandbox), inside), &Answer::Always).await;
    println!("without the sandbox: {before:?}\nin it: {once:?}\nwith answers for the session: {session:?}");
    let sum = |counted: &BTreeMap<&str, usize>| counted.values().sum::<usize>();
    assert_eq!([sum(&before), sum(&once), sum(&session)], [45, 15, 9]);
}
