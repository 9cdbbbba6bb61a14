//! The commands of README.md, as a person types them who reads it from top to bottom.

use std::process::Command;

use crate::common::{Home, Ran};

/// The commands in README.md, but for those that build, start or test the program itself.
fn commands() -> String {
    let path = format!("{}/../../README.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut commands = String::new();
    let mut is_inside = false;
    for line in text.lines() {
        match line {
            "```sh" => is_inside = true,
            "```" => is_inside = false,
            line if ["cargo ", "alias ", "scripts/"].iter().any(|own| line.starts_with(own)) => {}
            line if is_inside => {
                commands.push_str(line);
                commands.push('\n');
            }
            _ => {}
        }
    }
    commands
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_readme_work_in_order() {
    let home = Home::new();
    let server = home.serve();
    // Where they are if nobody says.
    let usual = home.path().join(".local/share");
    std::fs::create_dir_all(&usual).unwrap();
    std::os::unix::fs::symlink(home.data_dir(), usual.join("punctual")).unwrap();
    let commands = commands().replace("http://127.0.0.1:7373", &server.url);
    let n_commands = commands.matches("\npunctual ").count();
    assert!(n_commands > 10, "the commands were found: {commands}");
    assert!(commands.contains("\ncurl "), "{commands}");

    let program = env!("CARGO_BIN_EXE_punctual");
    // The first command that fails ends the test, and the last line names it.
    let script = format!("set -ex\npunctual() {{ {program} \"$@\"; }}\n{commands}");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&script).env_clear().env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap());
    let ran = Ran::of(punctual_testkit::process::output(&mut shell));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("cancelled ") && ran.out.contains("snoozed "), "{}", ran.out);

    // The request of a program was accepted as well, which curl's exit code does not say.
    let alice = server.get("/v1/reminders?user=alice").await;
    assert_eq!(alice["reminders"][0]["message"], "Take your medicine", "{}", ran.out);
    let left = server.get("/v1/reminders?user=me&status=cancelled").await;
    assert_eq!(left["reminders"].as_array().unwrap().len(), 1, "{left}");
}
