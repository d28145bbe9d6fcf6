//! One integration binary, so that everything links once. One file per area.

mod support;
mod tools;
