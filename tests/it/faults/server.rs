//! A server on loopback that breaks answers as it is told, and keeps the truth about what it delivered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::clock::Work;
use super::fault::{Act, Delivery, Fault, sound};
use crate::support::{Api, Planned, read_request};

pub(super) const CHILDREN: usize = 8;
/// How long a server that only pings pauses.
const BEAT: Duration = Duration::from_secs(5);

/// Who has sent a request: a child by its number, or the main agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    Main,
    Child(usize),
}

/// A request, as far as an answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) by: Asker,
    /// Tool results in it.
    pub(super) results: usize,
    /// Whether a summary of the conversation is asked for, which calls no tools.
    for_summary: bool,
    /// Whether the asker has children.
    is_lead: bool,
}

impl Asked {
    fn read(api: Api, request: &Value) -> Self {
        let messages = request["messages"].to_string();
        let is_lead = messages.contains("go eight");
        let child = (0..CHILDREN).find(|number| messages.contains(&child_name(*number))).filter(|_| !is_lead);
        let for_summary = request["tools"].is_null() || request["tool_choice"]["type"] == "none";
        let results = api.results(request).len();
        Self { by: child.map_or(Asker::Main, Asker::Child), results, for_summary, is_lead }
    }
}

/// A fault and the event before which it strikes.
pub(super) type Strike = (Fault, usize);

/// Decides what becomes of an answer of so many events.
pub(super) type Choose = Box<dyn FnMut(Asked, usize) -> Option<Strike> + Send>;

/// What was delivered.
#[derive(Default)]
pub(super) struct Truth {
    /// Every request, with the fault its answer had.
    pub(super) asked: Vec<(Asked, Option<Fault>)>,
    /// The mark of every call that was sent, and whether it arrived whole in an answer that arrived whole.
    pub(super) calls: BTreeMap<usize, bool>,
    /// Whose final answer arrived whole.
    pub(super) answered: BTreeSet<Asker>,
    /// The last request of the main agent.
    pub(super) last: Value,
}

pub(super) struct Server {
    pub(super) base: String,
    truth: Arc<Mutex<Truth>>,
}

struct Shared {
    api: Api,
    /// Tool calls of each agent that has no subagents.
    calls: usize,
    choose: Mutex<Choose>,
    truth: Arc<Mutex<Truth>>,
    work: Arc<Work>,
}

impl Server {
    pub(super) async fn start(api: Api, calls: usize, work: Arc<Work>, choose: Choose) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let truth = Arc::<Mutex<Truth>>::default();
        let shared = Arc::new(Shared { api, calls, choose: Mutex::new(choose), truth: truth.clone(), work });
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(shared.clone(), socket));
            }
        });
        Self { base, truth }
    }

    pub(super) fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap()
    }
}

/// The name of a child, as its task holds it.
pub(super) fn child_name(number: usize) -> String {
    format!("CHILD-{number:02}")
}

/// The file that the calls of an agent write their marks to.
pub(super) const MARKS: &str = "marks";

async fn answer(shared: Arc<Shared>, mut socket: TcpStream) {
    let busy = shared.work.begin();
    let Some(request) = read_request(&mut socket).await else { return };
    let request = serde_json::from_slice(&request).unwrap();
    let asked = Asked::read(shared.api, &request);
    let (plan, marks) = shared.plan(asked);
    let strike = (shared.choose.lock().unwrap())(asked, shared.api.events(&plan).len());
    let play = match strike {
        Some((fault, cut)) => fault.play(shared.api, &plan, cut),
        None => sound(shared.api, &plan),
    };
    {
        let mut truth = shared.truth.lock().unwrap();
        truth.asked.push((asked, strike.map(|(fault, _)| fault)));
        truth.calls.extend(marks.map(|mark| (mark, play.delivery == Delivery::Whole)));
        if play.delivery == Delivery::Whole && plan.calls.is_empty() && !asked.for_summary {
            truth.answered.insert(asked.by);
        }
        if asked.by == Asker::Main {
            truth.last = request;
        }
    }
    let mut busy = Some(busy);
    for act in play.acts {
        if act.waits() {
            busy = None;
        }
        if !act.carry_out(&mut socket).await {
            return;
        }
    }
    let _ = socket.shutdown().await;
    drop(busy);
}

impl Act {
    fn waits(&self) -> bool {
        matches!(self, Self::Stall | Self::Beat(_))
    }

    /// Returns `false` if the connection is gone.
    async fn carry_out(self, socket: &mut TcpStream) -> bool {
        match self {
            Self::Send(bytes) => socket.write_all(&bytes).await.is_ok(),
            Self::ByteByByte(bytes) => {
                for byte in bytes {
                    if socket.write_all(&[byte]).await.is_err() {
                        return false;
                    }
                    tokio::task::yield_now().await;
                }
                true
            }
            Self::Forever(bytes) => {
                while socket.write_all(&bytes).await.is_ok() {}
                false
            }
            Self::Beat(bytes) => {
                while socket.write_all(&bytes).await.is_ok() {
                    tokio::time::sleep(BEAT).await;
                }
                false
            }
            Self::Stall => socket.read_u8().await.is_ok(),
            Self::Reset => {
                socket.set_zero_linger().unwrap();
                false
            }
        }
    }
}

impl Shared {
    /// Returns the answer to a request, and the mark of the call in it. No two calls have the same.
    fn plan(&self, asked: Asked) -> (Planned, Option<usize>) {
        let name = match asked.by {
            Asker::Main => "the main agent".to_owned(),
            Asker::Child(number) => child_name(number),
        };
        if asked.for_summary {
            return (Planned { text: vec![format!("<summary>The work of {name}.</summary>")], calls: vec![] }, None);
        }
        if asked.is_lead && asked.results == 0 {
            let calls = (0..CHILDREN).map(delegate).collect();
            return (Planned { text: vec!["Eight at once.".into()], calls }, None);
        }
        if asked.is_lead || asked.results >= self.calls {
            let text = vec!["<summary>The report ".into(), format!("of {name}: grün.</summary>")];
            return (Planned { text, calls: vec![] }, None);
        }
        let mark = self.truth.lock().unwrap().calls.len();
        let call = ("Bash".to_owned(), json!({"command": format!("echo {mark} >> {MARKS}")}));
        (Planned { text: vec!["First I look ".into(), "for größere Dinge.".into()], calls: vec![call] }, Some(mark))
    }
}

pub(super) fn delegate(number: usize) -> (String, Value) {
    let prompt = format!("WHAT: {} leaves its marks. WHERE: here. RETURN: one line.", child_name(number));
    ("Agent".into(), json!({"description": "leaves marks", "subagent_type": "general-purpose", "prompt": prompt}))
}
