//! Bytes as a run of choices, taken from their end so that what begins like a file of the world stays one.

/// The choices that are left.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns a number below `end`, which is 0 once there are no more bytes.
    pub fn below(&mut self, end: usize) -> usize {
        let (last, rest) = self.0.split_last().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*last) % end.max(1)
    }

    pub fn pick<'t, T>(&mut self, among: &'t [T]) -> &'t T {
        &among[self.below(among.len())]
    }

    /// Returns the bytes that nothing was chosen by.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
}
