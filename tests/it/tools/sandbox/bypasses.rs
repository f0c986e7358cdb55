//! The table of lines that got past the lists of some agent, run for real: none reaches a canary.

use super::{Inside, git, text_of};
use crate::permissions::bypasses::Bypasses;

/// Runs each of the lines that are given as files in a shell of its own, and says which of them ended, and which printed
/// a secret.
const RUNNER: &str = r#"
export HOME=$1 PATH=$2/bin:$PATH
lines=$2
shift 2
one() {
    printf 'one\n' >a.txt
    timeout -k 0.1 0.3 bash "$lines/$1" 2>&1 </dev/null | grep -aqE 'CANARY-(KEY|NETRC)' && echo "$1 printed"
    echo "$1 ended"
}
for line; do
    one "$line" &
    ((++running < 6)) || wait -n
done
wait
"#;

/// Returns every file and link below a folder with what it holds.
fn contents(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).sort_by_file_path(std::cmp::Ord::cmp).build()
    {
        let path = entry.unwrap().into_path();
        let held = std::fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes());
        found.push((path.clone(), held.or_else(|_| std::fs::read(&path)).unwrap_or_default()));
    }
    found
}

#[tokio::test]
async fn no_line_that_got_past_a_list_reaches_a_canary() {
    let Some(inside) = Inside::new().await else { return };
    let (bench, root) = (&inside.bench, inside.bench.context.cwd.clone());
    git(&root, ["init", "-q"]);
    for (name, text) in [
        (".git/hooks/pre-commit", "canary"),
        (".claude/settings.json", "{}"),
        ("b.txt", "two\n"),
        ("x.py", "open('CANARY', 'w')"),
        ("script.sh", "touch CANARY"),
        ("Makefile", "canary:\n\ttouch CANARY\n"),
        ("../beside/canary.txt", "canary"),
        ("../lines/run", RUNNER),
    ] {
        bench.put(name, text);
    }
    let (home, lines) = (bench.outside("home"), bench.outside("lines"));
    let mut names = Vec::new();
    for (at, line) in Bypasses::read().commands().enumerate() {
        std::fs::write(lines.join(at.to_string()), line).unwrap();
        names.push(at.to_string());
    }
    // These take longer to start than a line is given, and what they would run is none of the project's.
    std::fs::create_dir(lines.join("bin")).unwrap();
    for slow in ["npm", "npx", "cargo"] {
        std::os::unix::fs::symlink("/bin/true", lines.join("bin").join(slow)).unwrap();
    }
    let run_lines = async |names: &[String]| {
        let (home, lines) = (home.display(), lines.display());
        text_of(&inside.bash(&format!("bash {lines}/run {home} {lines} {}", names.join(" "))).await)
    };
    // What can be read is seen, and what can be written is.
    std::fs::write(lines.join("control"), "echo CANARY-NETRC; touch written").unwrap();
    assert!(run_lines(&["control".to_owned()]).await.starts_with("control printed\ncontrol ended\n"));
    assert!(root.join("written").exists());
    let guarded = [bench.outside("beside"), bench.outside("home"), root.join(".git/hooks"), root.join(".claude")];
    let state = || {
        let config = std::fs::read(root.join(".git/config")).unwrap();
        (guarded.iter().flat_map(|folder| contents(folder)).collect::<Vec<_>>(), config)
    };
    let before = state();
    for batch in names.chunks(200) {
        let said = run_lines(batch).await;
        let has_ended = |name: &&String| said.lines().any(|line| line == format!("{name} ended"));
        let lost: Vec<&String> = batch.iter().filter(|name| !has_ended(name)).collect();
        assert!(lost.is_empty(), "{lost:?} did not end: {said}");
        assert!(!said.contains("printed"), "{said}");
        assert!(state() == before, "a canary changed after one of {batch:?}");
    }
    let leaked = |(path, held): &(std::path::PathBuf, Vec<u8>)| {
        let text = String::from_utf8_lossy(held);
        (text.contains("CANARY-KEY") || text.contains("CANARY-NETRC")).then(|| path.clone())
    };
    let leaks: Vec<_> = contents(&root).iter().filter_map(leaked).collect();
    assert!(leaks.is_empty(), "{leaks:?}");
}
