//! `punctual mcp`, `punctual mcp install` and `punctual tool-schema`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use punctual_testkit::process::{ended_within, output};
use serde_json::{Value, json};

use crate::common::{Home, NOWHERE, Ran};

/// Asks `punctual mcp` at `url` line by line; its answers.
fn ask(home: &Home, url: &str, lines: &[Value]) -> Vec<Value> {
    let mut command = home.command(["mcp"]);
    command.env("PUNCTUAL_URL", url).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answers = Vec::new();
    for line in lines {
        writeln!(input, "{line}").unwrap();
        if line["id"].is_null() {
            continue;
        }
        let answer = output.next().expect("it answers").unwrap();
        answers.push(serde_json::from_str(&answer).unwrap());
    }
    drop(input);
    let ended = ended_within(&mut child, std::time::Duration::from_secs(30)).expect("it ends with its input");
    assert!(ended.success(), "{ended}");
    answers
}

#[test]
fn without_a_server_the_tool_says_so() {
    let home = Home::new();
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let call = json!({ "name": "scheduler", "arguments": { "action": "list" } });
    let answers = ask(
        &home,
        NOWHERE,
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
        ],
    );
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "punctual", "{answers:?}");
    assert_eq!(answers[1]["result"]["isError"], true);
    let said = answers[1]["result"]["structuredContent"]["said"].as_str().unwrap();
    assert!(said.contains("punctual serve"), "{said}");
    assert!(!home.data_dir().exists(), "it starts no server, and makes nothing");
}

#[test]
fn the_configuration_of_assistants_is_printed_and_nothing_is_changed() {
    let home = Home::new();
    let all = home.run_alone(&["mcp", "install"]).ok();
    for name in ["Claude Desktop", "Claude Code", "Cursor", "VS Code", "Zed"] {
        assert!(all.contains(&format!("# {name}\n")), "{all}");
    }
    let one = home.run_alone(&["mcp", "install", "--client", "cursor"]).ok();
    assert!(one.contains("\"mcpServers\"") && !one.contains("# Zed"), "{one}");
    let http = home.run_alone(&["mcp", "install", "--client", "vscode", "--http"]).ok();
    assert!(http.contains(&format!("{NOWHERE}/mcp")), "{http}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is written");
    let unknown = home.run_alone(&["mcp", "install", "--client", "nobody"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
}

#[test]
fn the_printed_configuration_has_the_values_that_are_in_force() {
    let home = Home::new();
    let config = home.path().join("a b.toml");
    std::fs::write(&config, "").unwrap();
    let install = |args: &[&str], user: Option<&str>| {
        let mut command = home.command(["mcp", "install", "--client", "cursor"]);
        command.args(args).env("PUNCTUAL_URL", NOWHERE).env("PUNCTUAL_CONFIG", "a b.toml").current_dir(home.path());
        command.envs(user.map(|user| ("PUNCTUAL_USER", user)));
        let printed = Ran::of(output(&mut command)).ok();
        let json = printed.split("\n\n").find(|part| part.starts_with('{')).unwrap();
        let config: Value = serde_json::from_str(json).unwrap();
        config["mcpServers"]["punctual"]["args"].clone()
    };
    let data_dir = home.data_dir();
    let found = |user: &[&str]| {
        let before = ["--config", config.to_str().unwrap(), "--data-dir", data_dir.to_str().unwrap(), "--url", NOWHERE];
        json!([&before[..], &["mcp"], user].concat())
    };
    assert_eq!(install(&[], None), found(&[]));
    assert_eq!(install(&[], Some("bob")), found(&["--user", "bob"]));
    assert_eq!(install(&["--user", "alice"], Some("bob")), found(&["--user", "alice"]));
    let http = home.run_alone(&["mcp", "install", "--client", "cursor", "--http", "--user", "alice"]).ok();
    assert!(http.contains("punctual keys create assistant --user alice"), "{http}");
    let none = home.run_alone(&["mcp", "install", "--client", "claude-desktop", "--http"]);
    none.fails(2, &["--http", "Claude Desktop takes no HTTP server"]);
}

#[test]
fn the_schema_of_the_tool_is_printed_for_each_api() {
    let home = Home::new();
    let schema = |format: &str| home.run_alone(&["tool-schema", "--format", format]).json();
    assert_eq!(schema("openai")["function"]["name"], "scheduler");
    assert_eq!(schema("openai")["function"]["parameters"], schema("anthropic")["input_schema"]);
    // A client of MCP that checks calls lets fields pass that the schema does not name.
    let mut open = schema("anthropic")["input_schema"].clone();
    assert_eq!(open.as_object_mut().unwrap().remove("additionalProperties"), Some(false.into()));
    assert_eq!(schema("mcp")["inputSchema"], open);
    assert_eq!(schema("mcp")["outputSchema"]["type"], "object");
}
