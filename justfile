# Short names for what is done often. `just check` must be green before each commit.

# Everything that must hold
check:
    bash .ci/run

# Open the screen on the offline demo model
demo:
    cargo run -- --model demo/demo

test *args:
    cargo test {{args}}

# Write changed snapshots, to be read before they are committed
snap:
    INSTA_UPDATE=always cargo test --test it

bench:
    cargo bench

# Files by code lines, the longest first
loc:
    find src -name '*.rs' | xargs wc -l | sort -rn | head -30
