//! Colours in the bytes that reach the terminal, and choices that outlive the program.

use super::Home;
use super::terminal::Terminal;

/// Returns the sequences that set a colour, but for those that go back to the terminal's own.
fn colors(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    let is_color = |sequence: &String| {
        let codes = sequence.split([';', ':']).filter_map(|code| code.parse::<u8>().ok());
        codes.into_iter().any(|code| matches!(code, 30..=38 | 40..=48 | 58 | 90..=107))
    };
    sequences.filter(is_color).collect()
}

#[test]
fn without_colours_no_colour_is_written() {
    let home = Home::new();
    let path = home.path().to_str().unwrap();
    let start = &|env: &[(&str, &str)]| {
        let env = [env, &[("HOME", path), ("COLORTERM", "truecolor")]].concat();
        let terminal = Terminal::start(120, 40, &["demo"], home.path(), &env);
        terminal.shows("src/auth/jwt.rs");
        terminal.shows("alt+y");
        terminal.send("\x1b2");
        terminal.send("?");
        terminal.shows("stop all agents");
        terminal.send("\x1b");
        terminal.wait("the keys gone", |screen| !screen.contains("stop all agents"));
        terminal.send("\x10theme");
        terminal.wrote_more();
        terminal.written()
    };
    // Each waits for its demonstration most of the time.
    let environments: [&[(&str, &str)]; 4] =
        [&[("NO_COLOR", "1")], &[("TERM", "dumb")], &[], &[("BELVEDERE_UI_THEME", "terminal-16")]];
    let [plain, dumb, colored, sixteen] = std::thread::scope(|scope| {
        let started = environments.map(|env| scope.spawn(move || colors(&start(env))));
        started.map(|one| one.join().unwrap())
    });
    assert_eq!((plain, dumb), (Vec::new(), Vec::new()));
    assert!(!colored.is_empty(), "the test sees colours where there are some");
    let own = |color: &String| {
        let codes: Vec<u8> = color.split(';').map(|code| code.parse().unwrap()).collect();
        !codes.windows(2).any(|two| matches!(two, [38 | 48, 2])) && codes.windows(3).all(|at| at[1] != 5 || at[2] < 16)
    };
    assert!(!sixteen.is_empty() && sixteen.iter().all(own), "{sixteen:?}");
}

#[test]
fn a_theme_and_a_layout_are_found_again_by_the_next_start() {
    let home = Home::new();
    let themes = home.path().join(".config/belvedere/themes");
    std::fs::create_dir_all(&themes).unwrap();
    std::fs::write(themes.join("mine.toml"), "base = \"light\"\naccent = \"#0000ee\"\nacent = \"red\"\n").unwrap();
    let terminal = home.start((100, 30), &["--model", "offline"]);
    terminal.shows("offline");
    terminal.send("/layout rail\r");
    terminal.shows("layout: rail");
    terminal.send("/theme\r");
    terminal.shows("terminal-16");
    terminal.send("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B");
    terminal.send("\r");
    terminal.shows("theme: mine");
    terminal.send("\x03");
    terminal.send("\x03");
    terminal.ended();
    let terminal = home.start((100, 30), &["--model", "offline"]);
    terminal.shows("mine.toml:3:1: no style");
    terminal.send("/theme\r");
    terminal.shows("terminal-16");
    terminal.send("\x1b");
    // An escape right before a letter would be another key.
    terminal.wait("the list gone", |screen| !screen.contains("terminal-16"));
    terminal.send("/layout\r");
    terminal.shows("one row for each agent");
    terminal.send("\x1b[B\r");
    terminal.shows("layout: hidden");
}
