//! Who runs the calls of a record: the process, told apart from a later one with the same pid.

use std::sync::OnceLock;

use crate::session::journal::Owner;

/// This process. Read once.
pub(super) fn this_process() -> Owner {
    static OWNER: OnceLock<Owner> = OnceLock::new();
    OWNER
        .get_or_init(|| Owner { pid: std::process::id(), start: start_time(), boot: boot_id() })
        .clone()
}

/// Field 22 of `/proc/self/stat`, counted after the command name, which may hold spaces.
fn start_time() -> u64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0 };
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().nth(19).and_then(|field| field.parse().ok()).unwrap_or(0)
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}
