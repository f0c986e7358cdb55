//! The README says what is so: its tables and flags are those of the program.

/// Tells whether the tests write what they would compare: the pictures, and the README's table of keys.
pub(crate) fn rewrites() -> bool {
    std::env::var_os("BELVEDERE_UPDATE_SCREENSHOTS").is_some_and(|value| value == "1")
}
