//! Which variables a command may have missed that were not handed to it.
//!
//! Pure. Owns which variables programs read. Invariant: a variable is named where the command's program is known to read it or
//! has said its name, and its value is never said.

use super::environment::HandedOn;

/// Programs that read variables which do not begin with their name, and how those begin.
#[rustfmt::skip]
const READ_BY: &[(&str, &[&str])] = &[
    ("gh", &["GITHUB_TOKEN"]),
    ("glab", &["GITLAB_"]),
    ("npm", &["NODE_AUTH_TOKEN"]),
    ("pnpm", &["NPM_", "NODE_AUTH_TOKEN"]),
    ("yarn", &["NPM_", "NODE_AUTH_TOKEN"]),
    ("cargo", &["CARGO_REGISTR"]),
    ("gcloud", &["GOOGLE_", "CLOUDSDK_"]),
    ("gsutil", &["GOOGLE_"]),
    ("az", &["AZURE_", "ARM_"]),
    ("wrangler", &["CLOUDFLARE_"]),
    ("terraform", &["TF_", "AWS_", "ARM_", "GOOGLE_"]),
    ("flyctl", &["FLY_"]),
    ("twine", &["PYPI_"]),
    ("psql", &["PG", "DATABASE_URL"]),
    ("ssh", &["SSH_AUTH_SOCK"]),
    ("scp", &["SSH_AUTH_SOCK"]),
];
/// Words by which programs say that nobody is signed in.
const SIGNED_OUT: [&str; 8] = [
    "auth login",
    "not logged in",
    "not authenticated",
    "authentication required",
    "authentication failed",
    "unauthorized",
    "no credentials",
    "credentials not found",
];
/// Letters of the shortest program whose variables are known by its name.
const MIN_LETTERS: usize = 2;

/// Says that variables were withheld from a command that failed for them, or may have.
pub(in crate::tool) fn withheld_words(
    handed_on: &HandedOn,
    line: &str,
    (printed, failed): (&str, bool),
) -> Option<String> {
    let said = printed.to_ascii_lowercase();
    // A program that is not there has missed nothing.
    if said.contains("command not found") || !failed && !SIGNED_OUT.iter().any(|words| said.contains(words)) {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let programs: Vec<&str> = line.split(|c| !is_part(c)).filter(|word| word.len() >= MIN_LETTERS).collect();
    let names_it = |text: &str, name: &str| text.split(|c| !is_part(c)).any(|word| word == name);
    let is_read = |name: &str| {
        let by_name = |program: &&str| {
            let own = program.to_ascii_uppercase().replace('-', "_");
            name.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        let rows = READ_BY.iter().filter(|(program, _)| programs.contains(program));
        programs.iter().any(by_name) || rows.flat_map(|(_, names)| *names).any(|start| name.starts_with(start))
    };
    let mut missed = handed_on.withheld();
    missed.retain(|name| is_read(name) || names_it(printed, name) || names_it(line, name));
    missed.sort_unstable();
    let (are, them) = if missed.len() == 1 { ("is", "it") } else { ("are", "them") };
    (!missed.is_empty()).then(|| {
        format!(
            "{} {are} set, but withheld from commands. If that is why, tell the user: `tools.environment` in config.toml \
             hands {them} on.",
            missed.join(", ")
        )
    })
}
