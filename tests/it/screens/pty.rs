//! The whole screen in a real terminal: the child is this test binary with an engine that makes things up.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use belvedere::agent::{AgentEvent, EventKind, FileTally, Outcome, Spawn, Status};
use belvedere::app::MouseCapture;
use belvedere::app::keymap::Keymap;
use belvedere::message::{AgentId, Usage};
use belvedere::permission::PermissionMode;
use belvedere::subagent::Command;
use belvedere::tui::view::theme::{ColorDepth, Theme};
use belvedere::tui::{ScreenSetup, run};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

const CHILD: &str = "BELVEDERE_TEST_SCREEN";
/// How long a test waits for what has to appear.
const PATIENCE: Duration = Duration::from_secs(10);

/// Streams text from eight subagents until told to stop.
async fn engine(
    events: tokio::sync::mpsc::Sender<Arc<AgentEvent>>,
    mut commands: tokio::sync::mpsc::Receiver<Command>,
) {
    let send = async |agent: u32, kind: EventKind| {
        let _ = events.send(Arc::new(AgentEvent { agent: AgentId(agent), at: jiff::Timestamp::now(), kind })).await;
    };
    send(0, EventKind::Started).await;
    for agent in 1..=8 {
        let spawn = Spawn {
            parent: AgentId::MAIN,
            call_id: format!("call-{agent}"),
            name: format!("explore-{agent}"),
            agent_type: "explore".to_owned(),
            color: None,
            description: format!("Task {agent}"),
            prompt: "Look.".to_owned(),
            model: "m".to_owned(),
            tools: Vec::new(),
        };
        send(agent, EventKind::Spawned(spawn)).await;
        send(agent, EventKind::Started).await;
    }
    let mut alive = [true; 9];
    let mut tick = tokio::time::interval(Duration::from_millis(25));
    for word in 0_u64.. {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Stop { agent }) => {
                    let outcome = Outcome {
                        status: Status::Cancelled,
                        text: "half done".to_owned(),
                        reason: Some("stopped by the user".to_owned()),
                        turns: 1,
                        tool_calls: 0,
                        usage: Usage::default(),
                        cost_usd: None,
                        elapsed_ms: 1_000,
                        files: FileTally::default(),
                    };
                    alive[agent.0 as usize] = false;
                    send(agent.0, EventKind::Ended { outcome }).await;
                }
                Some(Command::Send { text }) => send(0, EventKind::UserMessage { text }).await,
                Some(_) => {}
                None => return,
            },
            _ = tick.tick() => {
                for agent in (1..=8).filter(|agent| alive[*agent as usize]) {
                    let text = if word % 12 == 11 { format!("word {word}\n\n") } else { format!("word {word} ") };
                    send(agent, EventKind::Text { text }).await;
                }
            }
        }
    }
}

#[test]
#[ignore = "the child of the other tests, which run it in a pty"]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (events, inbox) = tokio::sync::mpsc::channel(256);
        let (commands, outbox) = tokio::sync::mpsc::channel(16);
        tokio::spawn(engine(events, outbox));
        let farewell = run(ScreenSetup {
            events: inbox,
            commands,
            cwd: std::env::temp_dir(),
            folder: "~/shop".to_owned(),
            mode: PermissionMode::Default,
            keymap: Keymap::builtin(),
            theme: Theme::load("dark", ColorDepth::TrueColor).unwrap(),
            history: None,
            notices: Vec::new(),
            mouse: MouseCapture::On,
        });
        let farewell = farewell.await.unwrap();
        // The words come back to the parent through the terminal that was given back.
        let _ = writeln!(std::io::stdout(), "farewell to {}", farewell.running.len());
    });
    runtime.shutdown_background();
}

/// The child in a terminal of its own.
struct Session {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn std::io::Write + Send>,
    bytes: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    raw: Vec<u8>,
}

impl Session {
    fn start(width: u16, height: u16) -> Self {
        let size = PtySize { rows: height, cols: width, ..PtySize::default() };
        let pty = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", "screens::pty::child", "--ignored", "--nocapture", "--test-threads", "1"]);
        command.env(CHILD, "1");
        let child = pty.slave.spawn_command(command).unwrap();
        let mut reader = pty.master.try_clone_reader().unwrap();
        let (send, bytes) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = vt100::Parser::new(height.try_into().unwrap(), width.try_into().unwrap(), 0);
        let writer = pty.master.take_writer().unwrap();
        Self { master: pty.master, writer, bytes, screen, child, raw: Vec::new() }
    }

    fn press(&mut self, bytes: &str) {
        self.writer.write_all(bytes.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Reads until the screen shows a text.
    fn wait_for(&mut self, what: &str) {
        self.wait_until(what, |text| text.contains(what));
    }

    fn wait_until(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(&self.contents()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) if !left.is_zero() => {
                    self.screen.process(&bytes);
                    self.raw.extend(bytes);
                }
                _ => {
                    let _ = self.child.kill();
                    panic!("{what:?} never appeared in\n{}", self.contents());
                }
            }
        }
    }

    /// Waits for the end of the child and reads what is left.
    fn end(mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        // The terminal's other side closes when the child is gone.
        while let Ok(bytes) = self.bytes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.screen.process(&bytes);
            self.raw.extend(bytes);
            if self.child.try_wait().unwrap().is_some() {
                break;
            }
        }
        if self.child.try_wait().unwrap().is_none() {
            let _ = self.child.kill();
        }
        assert!(self.child.wait().unwrap().success(), "{}", self.contents());
        drop(self.writer);
        drop(self.master);
        while let Ok(bytes) = self.bytes.recv_timeout(PATIENCE) {
            self.screen.process(&bytes);
            self.raw.extend(bytes);
        }
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

#[test]
fn eight_children_stream_while_someone_types() {
    for (width, height) in [(200, 50), (120, 40), (80, 24), (60, 15)] {
        let mut session = Session::start(width, height);
        session.wait_for("8 running");
        session.press("hello there");
        session.wait_for("› hello there");
        session.press("\r");
        session.wait_for("Ask, or describe a task");
        session.press("\x1b3");
        session.press("\x1b3");
        session.wait_until("agent 3 in full", |text| text.starts_with("▾ 3 explore"));
        session.press("x");
        session.wait_for("cancelled");
        session.press("\x1b");
        session.wait_for("7 running");
        session.press("\x1b");
        // Bytes that follow an escape at once would be a key with alt.
        session.wait_for("ctrl+p actions");
        session.press("again");
        session.wait_for("› again");
        session.press("\x03\x03");
        session.wait_for("quits and stops");
        session.press("\x03");
        let written = session.end();
        assert!(written.contains("farewell to 7"));
        assert!(written.rfind("\x1b[?1049l") > written.rfind("\x1b[?1049h"), "the terminal was given back");
    }
}

#[test]
fn a_resize_is_drawn_whole() {
    let mut session = Session::start(120, 40);
    session.wait_for("8 running");
    session.screen.screen_mut().set_size(24.try_into().unwrap(), 80.try_into().unwrap());
    session.master.resize(PtySize { rows: 24, cols: 80, ..PtySize::default() }).unwrap();
    session.wait_until("the stacked form", |text| {
        text.contains("8 explore") && text.contains("─ agents") && !text.contains("conversation")
    });
    session.press("\x03\x03");
    session.end();
}

#[test]
fn a_termination_gives_the_terminal_back() {
    let mut session = Session::start(100, 30);
    session.wait_for("8 running");
    let child = i32::try_from(session.child.process_id().unwrap()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), nix::sys::signal::Signal::SIGTERM).unwrap();
    let written = session.end();
    assert!(written.rfind("\x1b[?1049l") > written.rfind("\x1b[?1049h"));
    assert!(written.contains("farewell to 8"));
}
