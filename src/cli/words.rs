//! Values of flags that are one of some words, which shells then offer.
//!
//! Leaves what a word means to the type of the value.

use std::ffi::OsStr;
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads a value as its type does, and knows the words for it.
pub(super) struct FlagWords<T> {
    words: Vec<&'static str>,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for FlagWords<T> {
    fn clone(&self) -> Self {
        Self { words: self.words.clone(), value: PhantomData }
    }
}

/// Returns what reads a value that is one of these words.
pub(super) fn one_of<T>(words: impl IntoIterator<Item = &'static str>) -> FlagWords<T> {
    FlagWords { words: words.into_iter().collect(), value: PhantomData }
}

impl<T> TypedValueParser for FlagWords<T>
where
    T: FromStr<Err: Display> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let read = |text: &str| text.parse::<T>().map_err(|error| error.to_string());
        TypedValueParser::parse_ref(&read, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().map(|word| PossibleValue::new(*word))))
    }
}
