//! An export that is damaged, or was cut off: what can be taken is taken, and what cannot is named.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Ran, Server};

/// An export of ten people, by its lines: a header, the people from line 2 on, the pages and the end.
struct Damaged {
    home: Home,
    server: Server,
    lines: Vec<String>,
}

impl Damaged {
    async fn new() -> Self {
        let home = Home::new();
        let server = home.serve();
        for n in 0..10 {
            let (status, said) =
                server.call(Method::PUT, &format!("/v1/users/u{n}"), Some(json!({ "timezone": "UTC" }))).await;
            assert!(status.is_success(), "{said}");
        }
        let path = home.path().join("all.jsonl").display().to_string();
        home.run(&["export", "--history", "none", "--output", &path]).ok();
        let lines: Vec<String> = std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
        assert!(lines[1].contains("\"u0\"") && lines[10].contains("\"u9\""), "{lines:?}");
        Self { home, server, lines }
    }

    /// Imports these lines.
    fn import(&self, lines: &[impl AsRef<[u8]>], how: &[&str]) -> Ran {
        let path = self.home.path().join("damaged.jsonl");
        let bytes: Vec<u8> = lines.iter().flat_map(|line| [line.as_ref(), b"\n"].concat()).collect();
        std::fs::write(&path, bytes).unwrap();
        self.home.run(&[&["import", path.to_str().unwrap()], how].concat())
    }

    /// Which of the people are there, after they were all removed and these lines were imported.
    async fn people(&self, lines: &[impl AsRef<[u8]>], words: &[&str]) -> Vec<String> {
        for n in 0..10 {
            self.server.call(Method::DELETE, &format!("/v1/users/u{n}"), None).await;
        }
        let ran = self.import(lines, &["--apply"]);
        let missing: Vec<&&str> = words.iter().filter(|words| !ran.out.contains(**words)).collect();
        assert!(ran.code == Some(1) && missing.is_empty(), "{missing:?}: {:?}: {}", ran.code, ran.out);
        let page = self.server.get("/v1/users?limit=500").await;
        page["users"].as_array().unwrap().iter().map(|user| user["id"].as_str().unwrap().to_owned()).collect()
    }
}

fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("u{n}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_cut_off_is_no_success() {
    let file = Damaged::new().await;
    let no_end = "The file has no end";
    let cut = &file.lines[..6];
    for how in [&["--check"][..], &[], &["--apply"]] {
        let ran = file.import(cut, how);
        assert!(ran.code == Some(1) && ran.out.contains(no_end), "{how:?}: {}", ran.out);
        assert!(!ran.out.contains("Nothing differs"), "{}", ran.out);
    }
    let said: Value = serde_json::from_str(&file.import(cut, &["--check", "--json"]).out).unwrap();
    assert_eq!((&said["whole"], &said["refused"], &said["here"]), (&json!(false), &json!(0), &json!({ "user": 5 })));
    assert_eq!(file.people(cut, &[no_end]).await, names(0..5));

    let half = [&file.lines[..6], &[file.lines[6][..20].to_owned()]].concat();
    assert_eq!(file.people(&half, &["line 7: is cut off", "1 lines cannot be taken.", no_end]).await, names(0..5));

    // One that is whole but for a line is not whole.
    let mut lost = file.lines.clone();
    lost.remove(4);
    let fewer = "The file has 1 lines fewer than its end says.";
    assert_eq!(file.people(&lost, &[fewer]).await, names([0, 1, 2, 4, 5, 6, 7, 8, 9]));
    let ran = file.import(&lost, &["--check"]);
    assert!(ran.code == Some(1) && ran.out.contains(fewer) && !ran.out.contains("Nothing differs"), "{}", ran.out);

    let mut spaced = file.lines.clone();
    spaced.push(String::new());
    file.import(&spaced, &["--apply"]).ok();
    let whole = file.import(&spaced, &["--check"]).ok();
    assert!(whole.contains("Nothing differs: every line of the file is here"), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_cannot_be_read_is_named_and_stops_no_other() {
    let file = Damaged::new().await;
    let mut lines: Vec<Vec<u8>> = file.lines.iter().map(|line| line.clone().into_bytes()).collect();
    lines[2] = b"garbage".to_vec();
    lines[4] = file.lines[4].replace("UTC", "Mars").into_bytes();
    lines[6] = b"{\"line\":\"user\",\"id\":\"u\xff".to_vec();
    lines[8] = b"{}".to_vec();
    let words = [
        "line 3: is no JSON\n",
        "line 5: line: timezone: unknown time zone `Mars`",
        "line 7: is no text\n",
        "line 9: does not say what it is\n",
        "6 lines were new",
        "4 lines cannot be taken.",
    ];
    assert_eq!(file.people(&lines, &words).await, names([0, 2, 4, 6, 8, 9]));
    let ran = file.import(&lines, &["--check"]);
    for words in
        ["line 3: is no JSON", "What was compared is here", "that is not everything", "4 lines cannot be taken"]
    {
        assert!(ran.code == Some(1) && ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert!(!ran.out.contains("Nothing differs") && !ran.out.contains("fewer"), "{}", ran.out);

    // Of very many the first are named, and all are counted.
    let mut many = file.lines[..2].to_vec();
    many.extend((0..50).map(|_| "garbage".to_owned()));
    many.extend_from_slice(&file.lines[2..]);
    let ran = file.import(&many, &["--apply"]);
    assert!(ran.code == Some(1) && ran.out.contains("50 lines cannot be taken; the first 20 are named"), "{}", ran.out);
    assert_eq!((ran.out.matches("is no JSON").count(), ran.out.contains("line 22:")), (20, true), "{}", ran.out);
    assert_eq!(file.people(&many, &[]).await, names(0..10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_line_counts_where_the_page_before_it_is_damaged() {
    let file = Damaged::new().await;
    file.server.call(Method::DELETE, "/v1/users/u3", None).await;
    let path = file.home.path().join("all.jsonl");
    file.home.run(&["export", "--history", "none", "--output", path.to_str().unwrap()]).ok();
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let pages: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("\"line\":\"page\"")).collect();
    assert!(pages.len() > 2 && text.contains("\"gone\""), "{text}");
    for page in &pages[..pages.len() - 1] {
        lines[*page] = "garbage";
    }
    let words =
        ["3 lines cannot be taken".replace('3', &(pages.len() - 1).to_string()), "an earlier line has it".into()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(file.people(&lines, &words).await, names([0, 1, 2, 4, 5, 6, 7, 8, 9]));
}
