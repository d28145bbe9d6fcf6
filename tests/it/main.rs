//! One integration binary, so that everything links once. One file per area.

mod context;
mod session;
mod support;
mod tidy;
mod tools;
