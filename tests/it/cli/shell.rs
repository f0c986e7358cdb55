//! `belvedere completions`, `man` and `models`.

use std::process::Command;

use super::Bench;

/// What each shell's own check of a script is called with, if the shell is here.
const CHECKS: [(&str, &[&str]); 3] = [("bash", &["-n"]), ("zsh", &["-n"]), ("fish", &["--no-execute"])];

#[test]
fn completions_are_scripts_that_know_each_subcommand() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "nushell", "powershell"] {
        let ran = bench.run("shop", &["completions", shell]);
        assert_eq!(ran.status, 0, "{ran:?}");
        for word in ["completions", "doctor", "permission-mode", "output-format"] {
            assert!(ran.out.contains(word), "{shell} does not know {word}");
        }
        let Some((program, flags)) = CHECKS.iter().find(|(name, _)| *name == shell) else { continue };
        let script = bench.file(&format!("completion.{shell}"), &ran.out);
        let Ok(checked) = Command::new(program).args(*flags).arg(script).output() else { continue };
        assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
    }
    assert_eq!(bench.run("shop", &["completions", "tcsh"]).status, 2);
}

#[test]
fn bash_completes_a_subcommand_and_its_words() {
    let bench = Bench::new();
    let script = bench.file("completion.bash", &bench.run("shop", &["completions", "bash"]).out);
    let completed = |line: &str| {
        let act = format!(
            "source {}; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _belvedere belvedere \
             \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["--norc", "-c", &act]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(completed("belvedere doc"), "doctor");
    assert_eq!(completed("belvedere config sc"), "schema");
    assert_eq!(completed("belvedere --output-format te"), "text");
    assert_eq!(completed("belvedere --permission-mode acc"), "acceptEdits");
    assert_eq!(completed("belvedere --effort x"), "xhigh");
}

#[test]
fn zsh_and_fish_complete_the_words_of_a_subcommand() {
    let bench = Bench::new();
    let zsh = bench.run("shop", &["completions", "zsh"]).out;
    // In the place of the prompt it would take the subcommand, and offer all subcommands once more.
    assert!(zsh.contains("curcontext=\"${curcontext%:*:*}:belvedere-command-$line[1]:\""), "{zsh}");
    assert!(!zsh.contains("::prompt"));
    let fish = bench.run("shop", &["completions", "fish"]).out;
    let line = "-n \"__fish_belvedere_using_subcommand completions\" -f -a \"bash zsh fish nushell powershell\"";
    assert!(fish.contains(line), "{fish}");
    assert!(fish.contains("or argparse -s (__fish_belvedere_global_optspecs) -- $cmd[1..-2]"), "{fish}");
}

#[test]
fn man_pages_are_written_for_each_subcommand() {
    let bench = Bench::new();
    let page = bench.run("shop", &["man"]).out;
    assert!(page.contains(".TH belvedere 1") && page.contains("permission\\-mode"), "{page}");
    let ran = bench.run("shop", &["man", "pages"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    for name in ["belvedere.1", "belvedere-config.1", "belvedere-config-set.1", "belvedere-mcp-add.1"] {
        assert!(bench.path(&format!("shop/pages/{name}")).exists(), "{name}");
    }
}

#[test]
fn models_are_those_of_services_with_a_key() {
    let mut bench = Bench::new();
    assert_eq!(bench.run("shop", &["models"]).out.trim_end(), "offline       -  free");
    bench.env.push(("ANTHROPIC_API_KEY", "canary".into()));
    bench.env.push(("ANTHROPIC_BASE_URL", "http://127.0.0.1:1".into()));
    let list = bench.run("shop", &["models", "--json", "sonnet"]).json();
    let first = &list[0];
    assert_eq!(first["provider"], "anthropic");
    assert!(first["context_window"].as_u64().unwrap() > 100_000 && first["listed"] == false, "{first}");
    let text = bench.run("shop", &["models", "opus"]).out;
    assert!(text.contains("anthropic/claude-opus") && text.contains("(not listed)"), "{text}");
}
