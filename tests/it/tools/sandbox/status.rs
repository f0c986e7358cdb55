//! What a command in the sandbox comes to whose exit status does not tell that it failed.

use belvedere::permission::LineStatus;
use belvedere::tool::RefusedInside;

use super::{Inside, text_of};

#[test]
fn a_status_is_hidden_by_what_follows_a_command() {
    use LineStatus::{Hidden, Own, Shown, Unclear};
    for (line, status) in [
        ("cargo build", Own),
        ("cargo build > log 2>&1", Own),
        ("cd a && cargo build;", Own),
        ("make &> log", Own),
        ("python3 -c 'a; b | c'", Own),
        ("echo \"a | b\" 'c; d'", Own),
        ("a \\| b \\; c", Own),
        ("cargo build 2>&1 | tail -5", Hidden),
        ("make || true", Hidden),
        ("make || :", Hidden),
        ("make; echo done", Hidden),
        ("make &", Hidden),
        ("make\nls", Hidden),
        ("! make", Hidden),
        ("cargo test 2>&1 | grep FAILED", Unclear),
        ("echo $(make)", Hidden),
        ("eval \"$X\" | (", Unclear),
        ("cat log | tail", Shown),
        ("grep 'Permission denied' log | tail", Shown),
        ("git log | head", Shown),
    ] {
        assert_eq!(LineStatus::of(line), status, "{line}");
    }
}

#[tokio::test]
async fn a_refusal_behind_a_pipe_is_one() {
    let Some(inside) = Inside::new().await else { return };
    for line in ["touch /no 2>&1 | tail -5", "touch /no || true", "touch /no; echo done", "mkdir /no 2>&1 | cat"] {
        let output = inside.bash(line).await;
        assert!(!output.is_error, "{line}: {}", text_of(&output));
        let Some(RefusedInside::Other(words)) = &output.refused_inside else { panic!("{line}: {}", text_of(&output)) };
        assert!(words.contains("Read-only file system") || words.contains("Permission denied"), "{words}");
    }
}

#[tokio::test]
async fn what_only_reads_like_a_refusal_asks_nobody() {
    let Some(inside) = Inside::new().await else { return };
    inside.bench.put("log", "open x: Permission denied\n");
    inside.bench.put("say.sh", "echo a: permission denied, as it should be; seq 5");
    for (line, is_told) in [
        ("grep 'Permission denied' log | tail", false),
        ("grep -c . log | tail; sort log | head -3", false),
        ("sed -n 1p log", false),
        ("python3 -c 'print(\"permission denied\")' | tail", false),
        ("sh say.sh", false),
        ("sh say.sh | tail -20", true),
        ("sh say.sh | grep denied", true),
    ] {
        let output = inside.bash(line).await;
        assert!(!output.is_error && output.refused_inside.is_none(), "{line}: {}", text_of(&output));
        assert_eq!(text_of(&output).contains("may have refused something"), is_told, "{line}: {}", text_of(&output));
    }
}

#[tokio::test]
async fn a_host_that_a_command_can_do_without_asks_nobody() {
    let Some(inside) = Inside::new().await else { return };
    let code = "import urllib.request\ntry: urllib.request.urlopen('http://news.test/')\nexcept OSError as e: print('no news')";
    inside.bench.put("work.py", code);
    let output = inside.bash("python3 work.py").await;
    let told = text_of(&output);
    assert!(output.refused_inside.is_none() && told.contains("the sandbox refused hosts: news.test:80"), "{told}");
    let output = inside.bash("python3 work.py | tail").await;
    let host = "news.test:80".parse().unwrap();
    assert_eq!(output.refused_inside, Some(RefusedInside::Hosts(vec![host])), "{}", text_of(&output));
    assert!(!output.is_error);
}
