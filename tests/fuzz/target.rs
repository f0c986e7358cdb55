//! Every target of the fuzzer: the property of its own name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::ALL;

fuzz_target!(|bytes: &[u8]| {
    let property = ALL.iter().find(|property| property.name == env!("CARGO_BIN_NAME"));
    (property.expect("a property for each target").check)(bytes);
});
