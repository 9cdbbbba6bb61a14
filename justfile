# A few verbs; `just test` is what CI runs.

serve:
    cargo run --release -- serve

test:
    scripts/test

fmt:
    cargo fmt --all

# Thousands of simulated worlds instead of a few hundred.
sim runs="5000":
    PUNCTUAL_SIM_RUNS={{runs}} cargo test --release -p punctual-testkit --test sim

# kill -9 in the middle of the work, again and again.
crash cycles="1000":
    cargo run --release -- bench crash --cycles {{cycles}}

# Many nodes on one PostgreSQL, at the sizes that are promised: 100,000 reminders while nodes come and go, 50 power cuts.
nodes:
    PUNCTUAL_TEST_NODES_FULL=1 cargo test --release -p punctual --test nodes -- --nocapture --test-threads=1
