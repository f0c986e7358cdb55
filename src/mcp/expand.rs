//! `${VAR}` and `${VAR:-default}` in the configuration of servers.
//!
//! Owns that grammar, which is Claude Code's. Leaves which variables may be named to its caller. Invariant: a variable that
//! is missing, or may not be named, is an error and never an empty text.

/// Says what a variable holds; `Err` says why it may not be used.
pub(super) type VariableLookup<'a> = dyn Fn(&str) -> Result<Option<String>, String> + 'a;

/// Replaces the variables of a text. The error names the one that cannot be.
pub(super) fn expand(text: &str, lookup: &VariableLookup<'_>) -> Result<String, String> {
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
