//! One integration binary, so that everything links once. One file per area.

// Tells clippy that all of this is test code, the functions beside tests too.
#![cfg(test)]

mod context;
mod headless;
mod session;
mod support;
mod tidy;
mod tools;
mod turn;
