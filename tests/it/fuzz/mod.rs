//! The properties of everything that reads what strangers wrote, on bytes that are the same in every run.
//!
//! Owns where those bytes come from: the fixtures, what the fuzzer has found, and changes of both. Leaves the properties to
//! `properties`, and the search for more bytes to `tests/fuzz`.

mod oracles;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::properties::{ALL, Property};
use crate::support::Dice;

/// Changed bytes that each property is checked on.
const CASES: u64 = 100;
/// Bytes of the longest input that is made: a debug build is slow.
const MAX_BYTES: usize = 1_500;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the bytes of all files below a path, in order; none if there is no such path.
fn files(path: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(path) else { return fs::read(path).into_iter().collect() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| files(path)).collect()
}

/// Returns what a property is known to be worth checking on.
fn seeds(property: &Property) -> Vec<Vec<u8>> {
    let fixtures = root().join("tests/fixtures");
    let mut seeds = files(&fixtures.join("seeds").join(property.name));
    if !property.seeds.is_empty() {
        seeds.extend(files(&fixtures.join(property.seeds)));
    }
    seeds
}

fn index(dice: &mut Dice, end: usize) -> usize {
    usize::try_from(dice.roll(end.max(1) as u64)).unwrap()
}

/// Returns a stretch of some seed.
fn stretch<'a>(dice: &mut Dice, seeds: &'a [Vec<u8>], max: usize) -> &'a [u8] {
    let seed = dice.pick(seeds);
    let from = index(dice, seed.len() + 1);
    &seed[from..seed.len().min(from + index(dice, max))]
}

/// Returns bytes that nobody wrote: a seed, cut, mended with others and damaged.
fn changed(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = dice.pick(seeds).clone();
    bytes.truncate(MAX_BYTES);
    for _ in 0..=index(dice, 6) {
        let at = index(dice, bytes.len() + 1);
        let end = bytes.len().min(at + index(dice, 12));
        match dice.roll(5) {
            0 => bytes.splice(at..end, []).for_each(drop),
            1 => bytes.insert(at, u8::try_from(dice.roll(256)).unwrap()),
            2 => bytes.splice(at..at, stretch(dice, seeds, 40).iter().copied()).for_each(drop),
            3 => bytes.splice(at..end, stretch(dice, seeds, 200).iter().copied()).for_each(drop),
            _ => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
        }
    }
    bytes
}

/// Returns the first bytes for which a property does not hold.
fn broken_by(property: &Property) -> Option<Vec<u8>> {
    let check = property.check;
    let holds = |bytes: &Vec<u8>| catch_unwind(|| check(bytes)).is_ok();
    let seeds = seeds(property);
    assert!(!seeds.is_empty(), "`{}` has no bytes to begin with", property.name);
    let mut dice = Dice::new(1);
    let made = (0..CASES).map(|_| changed(&mut dice, &seeds));
    seeds.iter().cloned().chain(made).find(|bytes| !holds(bytes))
}

#[test]
fn every_property_holds_for_any_bytes() {
    let broken = ALL.iter().filter_map(|property| Some((property.name, broken_by(property)?)));
    let broken: Vec<String> =
        broken.map(|(name, bytes)| format!("{name}: {:?}", String::from_utf8_lossy(&bytes))).collect();
    assert!(broken.is_empty(), "what went wrong stands above, once for each of\n{}", broken.join("\n"));
}

#[test]
fn every_property_is_a_target_of_the_fuzzer() {
    let manifest = fs::read_to_string(root().join("tests/fuzz/Cargo.toml")).unwrap();
    let targets: Vec<&str> =
        manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(targets, ALL.map(|property| property.name));
}
