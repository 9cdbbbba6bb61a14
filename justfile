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
