//! Keys in the system's keyring: the real binary where there is none, and the entries over a store in memory.

use std::process::Stdio;

use belvedere::message::Secret;
use belvedere::services::keyring::{Keyring, KeyringRecord};
use belvedere::services::keys::from_keyring;
use belvedere::session::Secrets;

use super::{Bench, text};
use crate::pty::terminal::Terminal;

const KEY: &str = "key-for-the-keyring-4711";
const NO_BUS: (&str, &str) = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus");

impl Bench {
    /// Runs `belvedere keys` with this on standard input.
    fn keys(&self, args: &[&str], input: &str, env: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = self.command(&[&["keys"], args].concat());
        command.env(NO_BUS.0, NO_BUS.1).envs(env.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that reads nothing may have ended.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }
}

#[tokio::test]
async fn an_entry_is_stored_found_and_removed() {
    let keyring = Keyring::of_store(keyring_core::mock::Store::new().unwrap());
    let secrets = Secrets::default();
    let fetch = |service: &str| from_keyring(keyring.clone(), service.to_owned(), secrets.clone());
    assert_eq!(fetch("openai").await.unwrap_err(), "the keyring has none");
    keyring.set("openai", &Secret::new("an-earlier-key-1").unwrap()).unwrap();
    keyring.set("openai", &Secret::new(KEY).unwrap()).unwrap();
    assert_eq!(fetch("openai").await.unwrap().expose(), KEY);
    assert_eq!(secrets.mask(&format!("It is {KEY}.")), "It is ***.", "it is known before it is sent");
    assert_eq!(keyring.get("anthropic").unwrap(), None, "each service has its own");
    assert_eq!((keyring.remove("openai"), keyring.remove("openai")), (Ok(true), Ok(false)));
    assert_eq!(keyring.get("openai").unwrap(), None);
}

#[test]
fn the_list_says_where_each_key_comes_from_and_asks_for_none() {
    let bench = Bench::new();
    bench.settings(&format!(
        "[providers.anthropic]\napi_key_command = \"touch ran\"\n[providers.deepseek]\napi_key = \"{KEY}\"\n\
         [providers.openai]\napi_key = \"{KEY}\"\n"
    ));
    let record = KeyringRecord::in_dir(&bench.home.path().join(".local/state/belvedere"));
    for (service, has_key) in [("openai", true), ("anthropic", true), ("openrouter", true), ("openrouter", false)] {
        record.note(service, has_key).unwrap();
    }
    assert_eq!(record.services(), ["openai", "anthropic"]);
    let (code, said) = bench.keys(&[], "", &[("ANTHROPIC_AUTH_TOKEN", "token-in-the-environment")]);
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.splitn(2, "  ").map(str::trim).collect()).collect();
    for line in [
        ["anthropic", "ANTHROPIC_AUTH_TOKEN (not used: api_key_command, keyring)"],
        ["openai", "keyring (not used: api_key in config.toml)"],
        ["deepseek", "api_key in config.toml"],
        ["openrouter", "none: set OPENROUTER_API_KEY, or run belvedere keys set openrouter"],
        ["ollama", "needs none"],
    ] {
        assert!(lines.contains(&line.to_vec()), "{line:?} in {said}");
    }
    assert!(!said.contains(KEY) && !said.contains("token-in"), "{said}");
    assert!(!bench.home.path().join("ran").exists());
}

#[test]
fn without_a_keyring_the_other_ways_are_named() {
    let bench = Bench::new();
    let (code, said) = bench.keys(&["set", "openai"], &format!("{KEY}\n"), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("belvedere: there is no keyring that can be used: "), "{said}");
    assert!(
        said.ends_with("use `api_key_command` of `[providers.openai]` in config.toml, or OPENAI_API_KEY\n"),
        "{said}"
    );
    assert!(!said.contains(KEY), "{said}");
    let (code, said) = bench.keys(&["set", "opnai"], KEY, &[]);
    assert_eq!((code, said.as_str()), (Some(2), "belvedere: no service \"opnai\"; did you mean openai?\n"));
    for (input, why) in [("\n", "no key was given"), ("two words", "a key is one word"), ("a\nb", "a key is one word")]
    {
        let (code, said) = bench.keys(&["set", "openai"], input, &[]);
        assert!(code == Some(1) && said.contains(why) && said.contains("nothing was stored"), "{said}");
    }
    let (code, said) = bench.keys(&["remove", "openai"], "", &[]);
    assert!(code == Some(1) && said.contains("there is no keyring"), "{said}");

    let record = KeyringRecord::in_dir(&bench.home.path().join(".local/state/belvedere"));
    assert!(record.services().is_empty(), "what was not stored is not noted");
    record.note("openai", true).unwrap();
    let mut command = bench.command(&["-p", "go", "--model", "openai/tiny"]);
    let output = command.env("OPENAI_BASE_URL", "http://127.0.0.1:9").env(NO_BUS.0, NO_BUS.1).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("127.0.0.1:9 needs an API key (there is no keyring that can be used: "), "{said}");
    assert!(
        said.contains("Check the key in the keyring (`belvedere keys set openai`), or set OPENAI_API_KEY."),
        "{said}"
    );
    assert!(bench.ask("hello", &[]).status.success(), "another model does not need it");
}

#[test]
fn a_key_that_is_typed_is_not_shown() {
    let bench = Bench::new();
    let env = [("HOME", bench.home.path().to_str().unwrap()), NO_BUS];
    for (keys, end) in [(format!("{KEY}\r"), "there is no keyring"), (format!("{KEY}\x03"), "no key was given")] {
        let terminal = Terminal::start(120, 20, &["keys", "set", "openai"], bench.project.path(), &env);
        terminal.shows("Key for OpenAI (not shown):");
        terminal.send(&keys);
        terminal.shows(end);
        let written = String::from_utf8_lossy(&terminal.written()).into_owned();
        assert!(!written.contains("keyring-4711"), "{written}");
        assert_eq!(terminal.ended().exit_code(), 1);
    }
}
