//! One integration binary, so that everything links once. One file per area.

// `cfg(test)` tells clippy that what stands here is test code, the functions beside tests too.
#[cfg(test)]
mod demo;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod support;
mod tidy;
