//! Settings that are easily got wrong, and what is said about them.

use serde_json::Value;

use crate::common::{Home, Ran, Server};

const NTFY: (&str, &str) = ("PUNCTUAL_CHANNEL_NT_KIND", "ntfy");

/// The level of the log line about links at the start, if there was one.
fn level_of_links(server: &Server) -> Option<String> {
    let entries = server.started_with.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut about =
        entries.filter(|entry| entry["message"].as_str().unwrap_or_default().starts_with("links and buttons"));
    about.next().map(|entry| entry["level"].as_str().unwrap().to_owned())
}

/// What doctor says about links.
fn doctor_on_links(home: &Home) -> Option<Value> {
    let told = home.run(&["doctor", "--json"]).json();
    told["checks"].as_array().unwrap().iter().find(|check| check["name"] == "links").cloned()
}

#[tokio::test]
async fn links_that_only_this_machine_can_reach_are_said_at_the_start_in_channels_and_by_doctor() {
    let home = Home::new();
    let server = home.serve_with(&[NTFY]);
    assert_eq!(level_of_links(&server).as_deref(), Some("WARN"), "{:#?}", server.started_with);
    let listed = home.run(&["channels"]).ok();
    let words = format!("(nt, webhook) lead to {}, which only this machine can reach; set public_url", server.url);
    assert!(listed.contains(&words), "{listed}");
    let page = server.get("/v1/channels").await;
    assert!(page["warnings"][0].as_str().unwrap().contains(&words), "{page}");
    let check = doctor_on_links(&home).unwrap();
    assert_eq!(check["status"], "note");
    assert!(check["detail"].as_str().unwrap().contains(&server.url), "{check}");
    assert!(check["do"].as_str().unwrap().starts_with("set public_url"), "{check}");
    drop(server);

    let home = Home::new();
    let server = home.serve_with(&[NTFY, ("PUNCTUAL_PUBLIC_URL", "https://reminders.example.org")]);
    assert_eq!(level_of_links(&server), None);
    assert!(!home.run(&["channels"]).ok().contains("public_url"));
    assert_eq!(doctor_on_links(&home), None);
    drop(server);

    // No channel was set up whose messages have links, so there is no warning.
    let server = Home::new().serve();
    assert_eq!(level_of_links(&server).as_deref(), Some("INFO"));
}

#[test]
fn a_default_channel_without_an_address_is_told_what_to_write() {
    let home = Home::new();
    let run = |args: &[&str], default: &str| {
        let mut command = home.command(args);
        Ran::of(punctual_testkit::process::output(command.env(NTFY.0, NTFY.1).env("PUNCTUAL_DEFAULT_CHANNEL", default)))
    };
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let right = "default_channel: `nt` is a channel and no address; write \"nt:ADDRESS\", such as \"nt:my-topic\"";
    run(&serve, "nt").fails(1, &[right]);
    run(&serve, "webhook").fails(1, &["such as \"webhook:https://example.org/hook\""]);
    run(&serve, "nt:a topic").fails(1, &["default_channel: `nt:a topic`: ", "such as \"nt:my-topic\""]);
    run(&serve, "nowhere")
        .fails(1, &["default_channel: unknown channel `nowhere`; known are console, nt, webhook, webpush"]);
    assert!(!home.data_dir().exists(), "nothing was made");
    let checked = run(&["doctor"], "nt");
    assert_eq!(checked.code, Some(1));
    assert!(checked.out.contains(right), "{}", checked.out);
    let config = home.path().join("other.toml");
    std::fs::write(&config, "default_channel = \"nt\"\n[channels.nt]\nkind = \"ntfy\"\n").unwrap();
    home.run(&["--config", config.to_str().unwrap(), "serve", "--listen", "127.0.0.1:0"]).fails(1, &[right]);
}

#[test]
fn the_usual_config_file_is_read_where_there_is_one() {
    let home = Home::new();
    let write = |dir: &str, zone: &str| {
        let dir = home.path().join(dir).join("punctual");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.toml"), format!("timezone = \"{zone}\"\n")).unwrap();
        dir.join("config.toml")
    };
    let daily = ["next", "--daily", "--time", "08:00"];
    let zone = |args: &[&str], env: &[(&str, &str)]| {
        let ran =
            Ran::of(punctual_testkit::process::output(home.command([args, &daily].concat()).envs(env.iter().copied())))
                .ok();
        ran.lines().next().unwrap().rsplit(", ").next().unwrap().to_owned()
    };
    assert_eq!(zone(&[], &[]), "UTC", "none is there, and none is needed");
    let usual = write(".config", "Asia/Tokyo");
    assert_eq!(zone(&[], &[]), "Asia/Tokyo");
    let named = write("named", "Asia/Kolkata");
    assert_eq!(zone(&["--config", named.to_str().unwrap()], &[]), "Asia/Kolkata");
    assert_eq!(zone(&[], &[("PUNCTUAL_CONFIG", named.to_str().unwrap())]), "Asia/Kolkata");
    let elsewhere = home.path().join("named");
    assert_eq!(zone(&[], &[("XDG_CONFIG_HOME", elsewhere.to_str().unwrap())]), "Asia/Kolkata");
    assert_eq!(zone(&[], &[("PUNCTUAL_TIMEZONE", "Europe/Berlin")]), "Europe/Berlin", "the environment beats it");

    let server = home.serve();
    let told = home.run(&["doctor"]).ok();
    assert!(told.contains(&format!("{} is right", usual.display())), "{told}");
    let added = home.run(&["add", "call mom tomorrow at 8", "--json"]).json();
    assert_eq!(added["timezone"], "Asia/Tokyo", "the server has read it");
    drop(server);

    home.run(&["--config", "/nowhere.toml", "list"]).fails(2, &["cannot read the config file /nowhere.toml"]);
    std::fs::write(&usual, "timezone = 5\n").unwrap();
    home.run(&["list"]).fails(2, &["config.toml: timezone: must be a text"]);
    assert!(home.run(&["--help"]).ok().contains("~/.config/punctual/config.toml"));
}
