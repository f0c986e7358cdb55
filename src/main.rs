//! The binary: parses the command line and starts a front end.

fn main() {}
