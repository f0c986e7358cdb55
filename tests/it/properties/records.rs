//! Sessions on the disk: a line is read or refused, alone, and what is read is written as it was.

use std::path::Path;

use belvedere::agent::LogEvent;
use belvedere::session::{PartLine, Record, Stretch, read, read_part};
use tempfile::NamedTempFile;

use super::Choices;

pub(super) fn records(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let step = choices.below(200) as u64 + 1;
    let bytes = choices.rest();
    let lines: Vec<&[u8]> =
        bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)).collect();
    let expected: Vec<Option<Record<LogEvent>>> = lines.iter().map(|line| record(line).ok()).collect();
    for record in expected.iter().flatten() {
        let written = serde_json::to_vec(record).unwrap();
        let again = self::record(&written);
        assert_eq!(again.as_ref(), Ok(record), "what is written reads back");
        assert_eq!(serde_json::to_vec(&again.unwrap()).unwrap(), written);
    }

    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let all: Vec<_> = read::<LogEvent>(file.path()).unwrap().map(|record| record.map_err(|error| error.line)).collect();
    assert_eq!(all.len(), lines.len(), "one for each line");
    for (record, expected) in all.into_iter().zip(&expected) {
        match record {
            Ok(record) => assert_eq!(Some(&record), expected.as_ref()),
            Err(line) => {
                assert!(expected.is_none(), "a broken line costs no other");
                let count = bytes.split(|byte| *byte == b'\n').count();
                assert!(line.is_some_and(|line| (1..=count).contains(&line)), "{line:?} of {count} lines");
            }
        }
    }
    assert_eq!(stretches(file.path(), step), lines, "read in pieces, from the beginning");
    assert_eq!(stretches_back(file.path(), step), lines, "read in pieces, from the end");
}

fn record(bytes: &[u8]) -> Result<Record<LogEvent>, String> {
    PartLine { at: 0, bytes: bytes.to_vec() }.record()
}

fn stretches(path: &Path, step: u64) -> Vec<Vec<u8>> {
    let (mut found, mut at) = (Vec::new(), 0);
    loop {
        let part = read_part(path, Stretch::After(at), step).unwrap();
        found.extend(part.lines.into_iter().map(|line| line.bytes));
        if part.to >= part.length {
            return found;
        }
        assert!(part.to > at, "it comes nearer to the end");
        at = part.to;
    }
}

fn stretches_back(path: &Path, step: u64) -> Vec<Vec<u8>> {
    let (mut found, mut end) = (Vec::new(), u64::MAX);
    loop {
        let part = read_part(path, Stretch::Before(end), step).unwrap();
        found.extend(part.lines.into_iter().rev().map(|line| line.bytes));
        if part.from == 0 {
            found.reverse();
            return found;
        }
        assert!(part.from < end, "it comes nearer to the beginning");
        end = part.from;
    }
}
