//! The pages of watches.

use punctual_engine::SystemClock;
use reqwest::StatusCode;

use super::Browser;
use crate::common::Home;

#[tokio::test]
async fn the_empty_page_shows_a_watch_that_the_config_file_takes() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key.clone()).await;
    let page = browser.get("/watches").await.text;
    assert!(page.contains("No watches yet"), "{page}");
    let example = page.split("<code>").nth(1).unwrap().split("</code>").next().unwrap().replace("&quot;", "\"");
    drop(server);
    let app = home.path().join("app.db");
    rusqlite::Connection::open(&app)
        .unwrap()
        .execute_batch(
            "create table tasks (id integer primary key, title text, owner text, due_date text, reminder_sent_at text)",
        )
        .unwrap();
    let file = home.path().join("config.toml");
    std::fs::write(&file, example.replace("sqlite:app.db", &format!("sqlite:{}", app.display()))).unwrap();
    let server = home.serve_with(&[("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    let mut browser = Browser::with_key(&server, &server.key.clone()).await;
    let page = browser.get("/watches").await.text;
    assert!(page.contains("href=\"/watches/tasks\""), "{page}");
}

#[tokio::test]
async fn a_dry_run_shows_rows_and_writes_nothing_and_a_run_shows_its_counts_and_bad_rows() {
    let home = Home::new();
    let app = home.path().join("app.db");
    let due = SystemClock::read() + jiff::SignedDuration::from_mins(30);
    let db = rusqlite::Connection::open(&app).unwrap();
    db.execute_batch(&format!(
        "create table tasks (id integer primary key, title text, owner text, due_date text, reminder_sent_at text);
         insert into tasks values (1, '<i>taxes</i>', 'ana', '{due}', null), (2, 'bank', null, '{due}', null)"
    ))
    .unwrap();
    let file = home.path().join("config.toml");
    let watch = format!(
        "[watches.tasks]\ndatabase = 'sqlite:{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nsent = 'reminder_sent_at'\nuser = 'owner'\n\
         message = '{{title}} is due'\nevery = '300d'\n",
        app.display()
    );
    std::fs::write(&file, watch).unwrap();
    let server = home.serve_with(&[("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    let mut browser = Browser::with_key(&server, &server.key.clone()).await;
    let dry = browser.submit("/watches/tasks", "/watches/tasks", &[("do", "test")]).await;
    assert_eq!(dry.status, StatusCode::OK, "{}", dry.text);
    assert!(dry.text.contains("1 row would be reminded of now; nothing was written."), "{}", dry.text);
    assert!(dry.text.contains("&lt;i&gt;taxes&lt;/i&gt; is due") && !dry.text.contains("<i>"), "{}", dry.text);
    let marked = |db: &rusqlite::Connection| -> i64 {
        db.query_row("select count(reminder_sent_at) from tasks", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(marked(&db), 0, "a dry run writes nothing");
    let ran = browser.submit("/watches/tasks", "/watches/tasks", &[("do", "run")]).await;
    assert_eq!((ran.status, ran.leads_to()), (StatusCode::SEE_OTHER, "/watches/tasks"), "{}", ran.text);
    assert_eq!(marked(&db), 1);
    let list = browser.get("/watches").await.text;
    assert!(list.contains("2 seen, 1 sent, 0 skipped, 1 failed, 0 retried"), "{list}");
    let page = browser.get("/watches/tasks").await.text;
    let run = page
        .split("href=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|link| link.contains("/runs/"))
        .unwrap()
        .to_owned();
    let run = browser.get(&run).await.text;
    assert!(run.contains("<th scope=\"row\">2</th><td>owner</td>"), "the bad row has its key and column: {run}");
}
