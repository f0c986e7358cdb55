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

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn variables_and_defaults() {
        let lookup = |name: &str| match name {
            "A" => Ok(Some("one".to_owned())),
            "EMPTY" => Ok(Some(String::new())),
            "KEY" => Err("KEY holds a key".to_owned()),
            _ => Ok(None),
        };
        let of = |text: &str| expand(text, &lookup);
        assert_eq!(of("x ${A} y").unwrap(), "x one y");
        assert_eq!(of("${B:-two}${EMPTY:-three}").unwrap(), "twothree");
        assert_eq!(of("${B:-}|$A|${A").unwrap(), "|$A|${A");
        assert_eq!(of("${B}").unwrap_err(), "the variable B is not set");
        assert_eq!(of("${KEY:-x}").unwrap_err(), "KEY holds a key");
    }
}
