//! Commands in the sandbox that want a host: what is asked, and where the next run leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belvedere::message::HostPort;
use belvedere::permission::{AccessKind, Answer, ApprovalRequest, Confinement, Grant, PermissionMode, Preview};
use belvedere::sandbox::SandboxChange;
use belvedere::subagent::Command;

use super::sandbox::OneCommand;

/// Asks the proxy inside for what a place serves. Each run of the line leaves a line in `runs`.
const ASK: &str = "echo run >> runs; ask() { exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:}; \
                   printf 'GET http://%s/ HTTP/1.1\\r\\n\\r\\n' $1 >&3; cat <&3; }; ";

/// A server on this machine, which is a host like others to the proxy.
struct Server {
    place: String,
    served: Arc<AtomicUsize>,
}

impl Server {
    fn new() -> Self {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("localhost:{}", listener.local_addr().unwrap().port());
        let served = Arc::new(AtomicUsize::new(0));
        let count = served.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 1024]);
                count.fetch_add(1, Ordering::SeqCst);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\nserved\n");
            }
        });
        Self { place, served }
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

fn runs(it: &OneCommand) -> usize {
    std::fs::read_to_string(it.session.root().join("runs")).unwrap_or_default().lines().count()
}

/// Checks that a question is about a host, and returns what it says.
fn about(asked: &ApprovalRequest, place: &str) -> String {
    let AccessKind::Reach { host, .. } = &asked.access.kind else { panic!("{:?}", asked.access) };
    assert_eq!(host.to_string(), place);
    assert_eq!(asked.grant, Some(Grant::Host(host.clone())));
    match &asked.preview {
        Some(Preview::Note { text }) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_yes_runs_it_again_inside_with_a_way_to_that_host_only() {
    let (server, other) = (Server::new(), Server::new());
    let line = format!("{ASK} ask {} | grep served; ask {} | grep served; touch FILE; true", server.place, other.place);
    let Some(mut it) = OneCommand::new(&line, PermissionMode::Default).await else { return };
    let first = it.asked().await;
    let said = about(&first, &server.place);
    assert!(said.contains("(this machine)") && said.contains("runs the command again, in the sandbox"), "{said}");
    assert_eq!((runs(&it), server.served()), (1, 0));
    let second = it.asked_next(&first, Answer::Once).await;
    about(&second, &other.place);
    let told = it.answer(&second, Answer::No { comment: None }).await;
    assert_eq!((runs(&it), server.served(), other.served()), (2, 1, 0), "{told}");
    assert!(told.starts_with("served\n") && told.contains("Read-only file system"), "{told}");
    assert!(told.contains(&format!("not run again with a way to {}.]", other.place)), "{told}");
    assert!(told.contains("The user said no"), "{told}");
    let again = it.asked().await;
    about(&again, &server.place);
    it.session.send(Command::Answer { id: again.id, answer: Answer::No { comment: None } });
    it.session.quit().await;
}

#[tokio::test]
async fn an_answer_for_the_session_holds_for_later_commands() {
    let server = Server::new();
    let Some(mut it) = OneCommand::new(&format!("{ASK} ask {}", server.place), PermissionMode::Default).await else {
        return;
    };
    let asked = it.asked().await;
    assert!(it.answer(&asked, Answer::Always).await.contains("served"));
    it.session.ask("again").await;
    assert_eq!((it.questions(), server.served(), runs(&it)), (1, 2, 3));
    it.session.quit().await;
}

#[tokio::test]
async fn a_no_leaves_what_came_of_the_first_run() {
    let server = Server::new();
    let Some(mut it) = OneCommand::new(&format!("{ASK} ask {}", server.place), PermissionMode::Default).await else {
        return;
    };
    let asked = it.asked().await;
    let told = it.answer(&asked, Answer::No { comment: Some("use the copy".to_owned()) }).await;
    assert!(told.contains("403 Forbidden") && told.contains(&format!("refused hosts: {}", server.place)), "{told}");
    assert!(told.ends_with("use the copy"), "{told}");
    assert_eq!((it.questions(), server.served(), runs(&it)), (1, 0, 1), "and it is not offered outside");
    it.session.quit().await;
}

#[tokio::test]
async fn hosts_without_end_are_not_asked_about_without_end() {
    let line = format!("{ASK} ask a$(wc -l < runs).test:80; ask b.test:80; false");
    let Some(mut it) = OneCommand::new(&line, PermissionMode::AcceptEdits).await else { return };
    let mut asked = it.asked().await;
    for name in ["b.test:80", "a2.test:80", "a3.test:80", "a4.test:80"] {
        asked = it.asked_next(&asked, Answer::Once).await;
        about(&asked, name);
    }
    it.answer(&asked, Answer::Once).await;
    assert_eq!((it.questions(), runs(&it)), (5, 5));
    it.session.quit().await;
}

#[tokio::test]
async fn without_anybody_to_ask_the_host_and_its_setting_are_named() {
    let line = format!("{ASK} ask example.com:443; ask xn--bcher-kva.example:80");
    let Some(mut it) = OneCommand::attended(&line, PermissionMode::Default, false).await else { return };
    it.session.ask("go").await;
    let told = it.told();
    assert!(told.contains("let commands reach example.com:443."), "{told}");
    assert!(told.contains("BELVEDERE_SANDBOX_HOSTS=xn--bcher-kva.example:80"), "{told}");
    assert!(told.contains("xn--bcher-kva.example:80 (a name in other letters)"), "{told}");
    assert_eq!(runs(&it), 1);
    it.session.quit().await;
}

#[tokio::test]
async fn a_yes_about_a_host_is_none_for_a_run_without_a_sandbox() {
    let server = Server::new();
    let Some(mut it) = OneCommand::new(&format!("{ASK} ask {}", server.place), PermissionMode::Default).await else {
        return;
    };
    let asked = it.asked().await;
    it.sandbox.change(&SandboxChange::Turn { on: false });
    let outside = it.asked_next(&asked, Answer::Once).await;
    let AccessKind::Execute { confinement, .. } = outside.access.kind else { panic!("{:?}", outside.access) };
    assert_eq!((confinement, runs(&it)), (Confinement::None, 1));
    it.answer(&outside, Answer::No { comment: None }).await;
    assert_eq!(runs(&it), 1);
    it.session.quit().await;
}

#[tokio::test]
async fn what_wants_the_network_past_the_proxy_is_offered_outside() {
    let line = "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 80)'";
    let Some(mut it) = OneCommand::new(line, PermissionMode::Default).await else { return };
    let asked = it.asked().await;
    assert_eq!(asked.reason, "it runs again, outside the sandbox, as it wants the network without the proxy");
    assert!(matches!(asked.access.kind, AccessKind::Execute { .. }));
    it.answer(&asked, Answer::No { comment: None }).await;
    it.session.quit().await;
}

#[tokio::test]
async fn in_plan_mode_a_host_is_named_and_nobody_is_asked() {
    let line = ASK.replace("echo run >> runs;", "") + "ask example.com:443";
    let Some(mut it) = OneCommand::new(&line, PermissionMode::Plan).await else { return };
    it.session.ask("go").await;
    assert!(it.told().contains("refused hosts: example.com:443"), "{}", it.told());
    assert_eq!(it.questions(), 0);
    it.session.quit().await;
}

#[test]
fn a_host_has_one_spelling_and_says_what_it_is() {
    let own = Some("an address of your own network");
    for (text, is, about) in [
        ("Example.COM.:443", "example.com:443", None),
        ("localhost:1", "localhost:1", Some("this machine")),
        ("a.localhost:1", "a.localhost:1", Some("this machine")),
        ("127.1:80", "127.0.0.1:80", Some("this machine")),
        ("0177.0.0.1:80", "127.0.0.1:80", Some("this machine")),
        ("0x7F000001:80", "127.0.0.1:80", Some("this machine")),
        ("0:80", "0.0.0.0:80", Some("this machine")),
        ("10.258:80", "10.0.1.2:80", own),
        ("169.254.169.254:80", "169.254.169.254:80", own),
        ("93.184.216.34:80", "93.184.216.34:80", None),
        ("db:5432", "db:5432", Some("a name of your own network")),
        ("xn--pple-43d.com:443", "xn--pple-43d.com:443", Some("a name in other letters")),
    ] {
        let host: HostPort = text.parse().unwrap();
        assert_eq!((host.to_string().as_str(), host.about()), (is, about), "{text}");
        let grant = Grant::Host(host);
        assert_eq!(grant.to_string().parse(), Ok(grant));
    }
    for text in [
        "",
        ":80",
        "a",
        "a:",
        "a:x",
        "a:65536",
        "a b:80",
        "аpple.com:443",
        "a..b:80",
        "-a:80",
        "256.1.1.1:80",
        "1.2.3.4.5:80",
        "a.1:80",
        "a/b:80",
        "a@b:80",
        "[::1]:80",
        "::1:80",
        "a\n:80",
        "a\u{202e}:80",
        "1.16777216:80",
        "08.1:80",
    ] {
        assert!(text.parse::<HostPort>().is_err(), "{text}");
    }
    assert!(format!("{}.com:80", "a".repeat(64)).parse::<HostPort>().is_err());
    assert!(format!("{}com:80", "a.".repeat(126)).parse::<HostPort>().is_err());
}
