//! scratch
use super::executor::Session;
#[test]
fn probe() {
    let Ok(root) = std::env::var("PROBE_ROOT") else { return };
    for q in std::env::var("PROBE_Q").unwrap().split("||") {
        let mut s = Session::new(&root);
        let a = s.ask(q);
        eprintln!("=== {q}\n{a}\n");
        if std::env::var("PROBE_V").is_ok() {
            eprintln!("--- log\n{}\n--- reports\n{}", s.log.join("\n"), s.reports.join("\n-----\n"));
        }
        check(&root, &a);
    }
}
fn check(root: &str, a: &str) {
    let mut fence: Option<String> = None;
    let mut path = String::new();
    for line in a.lines() {
        if line.starts_with("```") {
            fence = if fence.is_some() { None } else { Some(path.clone()) };
            continue;
        }
        if let Some(p) = &fence {
            let t = line.trim_start();
            let n: String = t.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(n) = n.parse::<usize>() {
                let body = &t[n.to_string().len()..];
                let body = body.strip_prefix("  ").unwrap_or(body);
                let Ok(f) = std::fs::read_to_string(format!("{root}/{p}")) else { continue };
                let real = f.lines().nth(n - 1).unwrap_or("<none>");
                if !body.ends_with('…') && real != body {
                    eprintln!("!! WRONG {p}:{n} [{body}] real [{real}]");
                }
            }
            continue;
        }
        for piece in line.split('`') {
            if let Some((p, n)) = piece.rsplit_once(':') {
                if let Ok(n) = n.parse::<usize>() {
                    path = p.to_owned();
                    let Ok(f) = std::fs::read_to_string(format!("{root}/{p}")) else {
                        eprintln!("!! NOFILE {p}");
                        continue;
                    };
                    if f.lines().count() < n {
                        eprintln!("!! BEYOND {p}:{n}");
                    }
                    if let Some((_, q)) = line.split_once(": `") {
                        let q = q.trim_end_matches('`');
                        if line.starts_with("- `")
                            && !q.ends_with('…')
                            && f.lines().nth(n - 1).map(|l| l.trim().replace('`', "'")) != Some(q.to_owned())
                        {
                            eprintln!("!! TEXT {p}:{n} {q}");
                        }
                    }
                }
            }
        }
    }
}
