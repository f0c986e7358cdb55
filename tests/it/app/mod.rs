//! The app, driven by keys and events.
