//! Pure text: sanitising, measuring, cutting, comparing. No I/O, no colours, no terminal.

pub mod age;
pub mod diff;
pub mod nearest;
pub mod sanitize;
pub mod tokens;
pub mod truncate;
pub mod width;
