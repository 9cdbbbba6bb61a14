//! Schemathesis (PyPI) tries out the API by its description: it finds no 5xx, no answer that is not described and none of another shape.
//!
//! It runs for two minutes here. `PUNCTUAL_SCHEMATHESIS_SECONDS` gives it another time, and `PUNCTUAL_SCHEMATHESIS_SEED` another seed.

use std::process::Command;
use std::time::Duration;

use punctual_testkit::judges::judges;
use punctual_testkit::report;

use crate::common::{Home, within};

/// How long it tries.
const SECONDS: u64 = 120;
/// What it must not take for a mistake.
const SETTINGS: &str = r#"
# Texts that a description cannot rule out, such as a zone that there is not, are refused with a 422, as they should be.
[checks.positive_data_acceptance]
enabled = false

# A request may be wrong in more than one way: a condition that is not met and a body that is too large are refusals as well.
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "408", "409", "412", "413", "415", "422", "428", "429"]

# A reminder that is cancelled can still be seen.
[[operations]]
include-path-regex = "^/v1/reminders"
checks.use_after_free.enabled = false
"#;
/// It never ends.
const ENDLESS: &str = "stream_journal";
/// They speak a protocol of their own, which has its own judges (`mcp/`).
const ASSISTANTS: [&str; 2] = ["ask_as_assistant", "end_assistant_session"];

fn set(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test]
async fn schemathesis_finds_nothing() {
    let Some(programs) = judges() else { return };
    let program = programs.join("st");
    if !program.exists() {
        report::left_out("the API tried out by Schemathesis: run scripts/judges, which needs PyPI");
        return;
    }
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_LINK_SECRET", "sixteen or more characters")]);
    let seconds = set("PUNCTUAL_SCHEMATHESIS_SECONDS", SECONDS);
    std::fs::write(home.path().join("schemathesis.toml"), SETTINGS).unwrap();
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home.path()).env("NO_COLOR", "1").env("COLUMNS", "160").current_dir(home.path());
    command.args(["run", &format!("{}/openapi.json", server.url)]);
    command.args(["--header", &format!("Authorization: Bearer {}", server.key)]);
    command.args(["--max-time", &seconds.to_string(), "--seed", &set("PUNCTUAL_SCHEMATHESIS_SEED", 15).to_string()]);
    for left_out in [ENDLESS, ASSISTANTS[0], ASSISTANTS[1]] {
        command.args(["--exclude-operation-id", left_out]);
    }
    command.args(["--continue-on-failure", "--no-shrink", "--request-timeout", "30", "--suppress-health-check", "all"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = within(Duration::from_secs(seconds + 240), output).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary =
        said.split("SUMMARY").nth(1).unwrap_or(&said).trim_start_matches(['=', ' ', '\n']).trim_end().to_owned();
    println!("{summary}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.get("/readyz").await["status"], "ready");
    let (n_scenarios, n_links) = (first_number(&said, "Scenarios:"), first_number(&said, "API Links:"));
    assert!(
        n_scenarios > 0 && n_links > 0,
        "the stateful phase followed {n_links} links in {n_scenarios} scenarios: {said}"
    );
    let cases = summary.lines().find(|line| line.contains(" generated, ")).unwrap_or_default().trim().to_owned();
    report::ran(&format!("Schemathesis for {seconds} s: {cases}; {n_scenarios} scenarios over {n_links} links"));
}

/// The number behind `name` in what was said; 0 if it is not there.
fn first_number(said: &str, name: &str) -> u64 {
    let line = said.lines().find_map(|line| line.trim_start().strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
