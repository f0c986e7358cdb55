//! `${VAR}` and `${VAR:-default}` in what the user has configured.
//!
//! Owns that grammar, which is Claude Code's. Leaves which variables may be named to its caller. Invariant: a variable that
//! is missing, or may not be named, is an error and never an empty text.

/// Replaces the variables of a text. `lookup` says what a variable holds, or why it may not be used. The error names the
/// one that cannot be.
pub fn expand_variables(text: &str, lookup: &dyn Fn(&str) -> Result<Option<String>, String>) -> Result<String, String> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        whole.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            // Nothing that this grammar knows.
            whole.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, value)| (name, Some(value)));
        match (lookup(name)?.filter(|value| default.is_none() || !value.is_empty()), default) {
            (Some(value), _) => whole.push_str(&value),
            (None, Some(default)) => whole.push_str(default),
            (None, None) => return Err(format!("the variable {name} is not set")),
        }
        rest = behind;
    }
    whole.push_str(rest);
    Ok(whole)
}
