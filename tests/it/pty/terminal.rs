//! A terminal for tests: the real binary in a real pty, its screen kept by a terminal emulator.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belvedere::app::GUARD;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// How long a test waits for something that has to happen.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A program on a terminal.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    emulator: Arc<Emulator>,
    before: String,
}

struct Emulator {
    state: Mutex<State>,
    changed: Condvar,
}

impl Emulator {
    /// A test that failed while it looked at the screen leaves it usable for the thread that feeds it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct State {
    parser: vt100::Parser,
    bytes: usize,
    raw: Vec<u8>,
    closed: bool,
}

impl Terminal {
    /// Starts the binary on a terminal of this size.
    pub(crate) fn start(cols: u16, rows: u16, args: &[&str], cwd: &Path, env: &[(&str, &str)]) -> Self {
        Self::start_program(env!("CARGO_BIN_EXE_belvedere"), (cols, rows), args, cwd, env)
    }

    /// Starts any program on a terminal of this size.
    pub(crate) fn start_program(
        program: &str,
        (cols, rows): (u16, u16),
        args: &[&str],
        cwd: &Path,
        env: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let before = line_settings(pair.master.as_ref());
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(cwd);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        // What these are about is asked only where there is no sandbox.
        command.env("BELVEDERE_SANDBOX_ENABLED", "false");
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let state = State {
            parser: vt100::Parser::new(length(rows), length(cols), 0),
            bytes: 0,
            raw: Vec::new(),
            closed: false,
        };
        let emulator = Arc::new(Emulator { state: Mutex::new(state), changed: Condvar::new() });
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let feeding = emulator.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let mut state = feeding.lock();
                state.parser.process(&buffer[..count]);
                state.bytes += count;
                state.raw.extend_from_slice(&buffer[..count]);
                feeding.changed.notify_all();
            }
            feeding.lock().closed = true;
            feeding.changed.notify_all();
        });
        Self { master: pair.master, writer, child, emulator, before }
    }

    /// Sends bytes as a keyboard would.
    pub(crate) fn send(&self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Answers a question, again and again with time between, because a key that comes too soon does not count.
    pub(crate) fn answers(&self, keys: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            self.send(keys);
            let again = Instant::now() + GUARD * 2;
            let mut state = self.emulator.lock();
            loop {
                let screen = state.parser.screen().contents();
                if is_so(&screen) {
                    return;
                }
                assert!(Instant::now() < deadline && !state.closed, "no answer counts on this screen:\n{screen}");
                let left = again.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = self.emulator.changed.wait_timeout(state, left).unwrap().0;
            }
        }
    }

    /// Waits until the program has written something more.
    pub(crate) fn wrote_more(&self) {
        let state = self.emulator.lock();
        let before = state.bytes;
        let is_same = |state: &mut State| state.bytes == before && !state.closed;
        let (state, _) = self.emulator.changed.wait_timeout_while(state, TIMEOUT, is_same).unwrap();
        assert!(state.bytes > before, "nothing more is written");
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + TIMEOUT;
        let mut state = self.emulator.lock();
        loop {
            let screen = state.parser.screen().contents();
            if is_so(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !state.closed, "{what}: not so on this screen:\n{screen}");
            state = self.emulator.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until what the program has written is as wanted.
    pub(crate) fn writes(&self, what: &str, is_so: impl Fn(&[u8]) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        let mut state = self.emulator.lock();
        while !is_so(&state.raw) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !state.closed, "{what}: not written");
            state = self.emulator.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Returns everything the program has written so far.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.emulator.lock().raw.clone()
    }

    /// Waits until the screen shows a text.
    pub(crate) fn shows(&self, text: &str) -> String {
        self.wait(&format!("showing {text:?}"), |screen| screen.contains(text))
    }

    /// Tells whether anything on the screen is drawn in a colour.
    pub(crate) fn has_colours(&self) -> bool {
        let state = self.emulator.lock();
        let screen = state.parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let cells = (0..rows).flat_map(|row| (0..columns).filter_map(move |column| screen.cell(row, column)));
        cells.into_iter().any(|cell| cell.fgcolor() != vt100::Color::Default)
    }

    /// Changes the size of the terminal. What it showed is lost, as on a terminal that does not keep it.
    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        let mut state = self.emulator.lock();
        state.parser.screen_mut().set_size(length(rows), length(cols));
        state.parser.process(b"\x1b[2J");
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.process()), signal).unwrap();
    }

    /// Returns the number of the program's process.
    pub(crate) fn process(&self) -> i32 {
        i32::try_from(self.child.process_id().unwrap()).unwrap()
    }

    /// Kills the program, which cannot give the terminal back then.
    pub(crate) fn killed(mut self) {
        self.signal(nix::sys::signal::Signal::SIGKILL);
        self.child.wait().unwrap();
    }

    /// Waits for the program's end, and returns all that was written.
    pub(crate) fn left(mut self) -> Vec<u8> {
        self.child.wait().unwrap();
        {
            let state = self.emulator.lock();
            drop(self.emulator.changed.wait_timeout_while(state, TIMEOUT, |state| !state.closed).unwrap());
        }
        self.written()
    }

    /// Waits for the program's end and checks that the terminal is as it was before.
    pub(crate) fn ended(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        let settings = line_settings(self.master.as_ref());
        let state = self.emulator.lock();
        let (state, _) = self.emulator.changed.wait_timeout_while(state, TIMEOUT, |state| !state.closed).unwrap();
        let screen = state.parser.screen();
        assert_eq!(settings, self.before, "the line settings are not restored");
        assert!(!screen.alternate_screen(), "the alternate screen is left on");
        assert!(!screen.hide_cursor(), "the cursor is left hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is left on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is left captured");
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn length(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

fn line_settings(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}
