//! The grades as tables, by package and by class, and a list of what went wrong.

use std::fmt::Write as _;

use super::{Asked, CLASSES};

/// Writes all of it.
pub(super) fn write(asked: &[Asked<'_>]) -> String {
    let mut out = String::from("\n| | n | first | ≤3 | any | wrong, no warning | s |\n|---|---|---|---|---|---|---|\n");
    let mut folders: Vec<&str> = asked.iter().map(|one| one.package.folder.as_str()).collect();
    folders.dedup();
    for folder in folders {
        let of: Vec<&Asked<'_>> = asked.iter().filter(|one| one.package.folder == folder).collect();
        let name = of.first().map_or(String::new(), |one| format!("{folder} ({})", one.package.language));
        row(&mut out, &name, &of);
    }
    for class in CLASSES {
        let of: Vec<&Asked<'_>> = asked.iter().filter(|one| one.question.class == class).collect();
        row(&mut out, class, &of);
    }
    row(&mut out, "all", &asked.iter().collect::<Vec<_>>());
    out.push_str("\nNot right at first (`!` without a warning):\n");
    for one in asked.iter().filter(|one| !one.grade.within(1)) {
        failure(&mut out, one);
    }
    out
}

fn row(out: &mut String, name: &str, of: &[&Asked<'_>]) {
    let count = |is: &dyn Fn(&Asked<'_>) -> bool| of.iter().filter(|one| is(one)).count();
    let within = |places| count(&|one| one.grade.within(places));
    let seconds: f64 = of.iter().map(|one| one.seconds).sum();
    let _ = writeln!(
        out,
        "| {name} | {} | {} | {} | {} | {} | {seconds:.1} |",
        of.len(),
        within(1),
        within(3),
        within(usize::MAX),
        count(&|one| one.grade.misleads()),
    );
}

fn failure(out: &mut String, one: &Asked<'_>) {
    let grade = &one.grade;
    let mark = if grade.misleads() { '!' } else { ' ' };
    let rank = grade.before.map_or("none right".to_owned(), |before| format!("right at {}", before + 1));
    let cited = grade.cited.as_deref().unwrap_or("no place");
    let unsaid = if grade.unsaid.is_empty() { String::new() } else { format!(", unsaid: {}", grade.unsaid.join(", ")) };
    let _ = writeln!(
        out,
        "{mark} {} {:6} {} -> {cited} ({rank}{unsaid})",
        one.package.folder, one.question.class, one.question.ask
    );
}
