//! Everything that happens is in the journal, once, and can be read from anywhere.

use jiff::Timestamp;
use punctual_core::change::{Change, Patch};
use punctual_core::channel::SendError;
use punctual_core::journal::{ENGINE, Entry, Kind, Placed, Who};
use punctual_core::reminder::Reminder;
use punctual_core::store::{By, Duty, JournalQuery, KeptDuty, KnownDuty, Said, Start};
use punctual_core::key::{ApiKey, Rotation, Scope, Scopes};
use punctual_core::user::User;

use super::desk::{Desk, asking, at, every, failed, once, taken};

rules!(
    every_command_leaves_its_entry,
    every_attempt_leaves_its_entry,
    what_is_refused_leaves_none,
    an_entry_says_who_where_and_through_which_door,
    positions_rise_and_reading_resumes_anywhere,
    the_newest_come_first_where_asked_for,
    entries_are_found_by_what_they_say,
    entries_are_found_by_the_tags_of_their_reminder,
    entries_since_an_instant_are_found_wherever_they_stand,
    users_keys_and_tests_are_in_it,
    old_entries_go_and_the_last_one_stays,
    a_duty_is_held_by_its_last_lease,
    a_duty_begins_at_the_end_of_the_journal,
    a_duty_is_shown_with_its_node_and_its_note,
);

/// All entries, oldest first.
async fn all(desk: &Desk) -> Vec<Placed> {
    desk.journal(JournalQuery::new(Start::OLDEST, 1000)).await.entries
}

/// What entries are about, with their run and their data.
fn lines(entries: &[Placed]) -> Vec<String> {
    let line = |entry: &Placed| {
        let run = entry.run.map(|run| format!(" {run}")).unwrap_or_default();
        let data = entry.data.as_deref().map(|data| format!(" {data}")).unwrap_or_default();
        format!("{}{run}{data}", entry.kind).replace('"', "")
    };
    entries.iter().map(line).collect()
}

async fn every_command_leaves_its_entry(desk: Desk) {
    let reminder = asking(every(1, 100), 3);
    desk.create(&[&reminder]).await;
    let patch = Patch { message: Some("drink".into()), name: Some(None), ..Patch::default() };
    desk.change(reminder.id, Change::Update(Box::new(patch)), 1).await;
    desk.change(reminder.id, Change::Pause, 2).await;
    desk.change(reminder.id, Change::Resume, 3).await;
    desk.change(reminder.id, Change::Skip, 4).await;
    desk.deliver(200).await;
    desk.change(reminder.id, Change::Snooze { until: at(500) }, 260).await;
    desk.deliver(300).await;
    let said = Said { text: Some("popio \"sam\"".into()), channel: Some("phone".into()), name: None };
    let by = By { said, ..By::new("ann", at(310)) };
    desk.store.change(reminder.id, Change::Ack, by).await.expect("it was asked");
    desk.deliver(400).await;
    desk.change(reminder.id, Change::Dismiss, 410).await;
    desk.change(reminder.id, Change::Cancel, 420).await;
    let until = at(500);
    let expect = [
        "reminder.created".to_owned(),
        "reminder.changed {did:update,fields:[message]}".to_owned(),
        "reminder.changed 1 {did:pause}".to_owned(),
        "reminder.changed 1 {did:resume}".to_owned(),
        "reminder.changed 1 {did:skip}".to_owned(),
        "reminder.sent 2 {channel:phone,attempt:1}".to_owned(),
        format!("reminder.snoozed 2 {{minutes:4,until:{until},by_user:ann}}"),
        "reminder.sent 3 {channel:phone,attempt:1}".to_owned(),
        "reminder.acknowledged 3 {text:popio \\sam\\,channel:phone,by_user:ann}".to_owned(),
        "reminder.sent 4 {channel:phone,attempt:1}".to_owned(),
        "reminder.dismissed 4 {by_user:ann}".to_owned(),
        "reminder.cancelled 2 {runs:[2,5],carried_by:5}".to_owned(),
    ];
    assert_eq!(lines(&desk.entries(reminder.id).await), expect);
}

async fn every_attempt_leaves_its_entry(desk: Desk) {
    let given_up = Reminder { retries_max: 1, ..once(1, 10) };
    desk.create(&[&given_up]).await;
    desk.settle(&desk.claim_one(10).await, failed(), 10).await;
    let again = desk.claim_one(70).await;
    desk.settle(&again, Err(SendError::Refused("no".into())), 71).await;
    let retry_at = at(70);
    let expect = [
        "reminder.created".to_owned(),
        format!("attempt.failed 1 {{channel:phone,attempt:1,status:failed,error:not now,next_at:{retry_at}}}"),
        "reminder.failed 1 {channel:phone,attempt:2,status:refused,error:no}".to_owned(),
    ];
    let found = lines(&desk.entries(given_up.id).await);
    assert_eq!(found, expect);

    // A node that died leaves its attempt to the next one, who knows nothing of it.
    let cut_off = once(2, 100);
    desk.create(&[&cut_off]).await;
    desk.claim_one(100).await;
    let claimed = desk.claim_one(120).await;
    desk.settle(&claimed, taken(), 121).await;
    let expect = [
        "reminder.created",
        "attempt.failed 1 {channel:phone,attempt:1,status:unknown,error:cut off in flight}",
        "reminder.sent 1 {channel:phone,attempt:2}",
    ];
    assert_eq!(lines(&desk.entries(cut_off.id).await), expect);

    // A result that comes too late is nobody's.
    desk.settle(&claimed, failed(), 122).await;
    assert_eq!(desk.entries(cut_off.id).await.len(), 3);
}

async fn what_is_refused_leaves_none(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.refused(reminder.id, Change::Resume, 1).await;
    desk.refused(reminder.id, Change::Ack, 1).await;
    assert!(desk.try_create(&[&once(2, 10), &reminder]).await.is_err(), "there is one of this id");
    assert_eq!(lines(&all(&desk).await), ["reminder.created"]);
}

async fn an_entry_says_who_where_and_through_which_door(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let who = Who { key: Some("key_7".into()), ..Who::from("key phone").via("api") };
    desk.store.change(reminder.id, Change::Pause, By::new(who, at(3))).await.expect("it is active");
    desk.change(reminder.id, Change::Resume, 4).await;
    desk.deliver(10).await;
    let entries = desk.entries(reminder.id).await;
    let by: Vec<_> = entries.iter().map(|entry| (entry.actor.as_str(), entry.via.as_deref())).collect();
    assert_eq!(by, [("ann", Some("test")), ("key phone", Some("api")), ("ann", None), (ENGINE, None)]);
    assert_eq!(entries[1].data.as_deref(), Some(r#"{"key":"key_7","did":"pause"}"#));
    let when: Vec<_> = entries.iter().map(|entry| entry.at).collect();
    assert_eq!(when, [at(0), at(3), at(4), at(10)]);
    assert!(entries.iter().all(|entry| entry.user.as_deref() == Some("ann")));
}

async fn positions_rise_and_reading_resumes_anywhere(desk: Desk) {
    assert_eq!(desk.store.place().await.expect("the store works"), 0, "nothing has happened");
    let nothing = desk.journal(JournalQuery::new(Start::OLDEST, 10)).await;
    assert_eq!((nothing.entries.len(), nothing.reached, nothing.is_last, nothing.head), (0, 0, true, 0));
    let reminders: Vec<Reminder> = (1..=5).map(|number| once(number, 10)).collect();
    desk.create(&reminders.iter().collect::<Vec<_>>()).await;
    for reminder in &reminders {
        desk.change(reminder.id, Change::Pause, 1).await;
    }
    let everything = desk.journal(JournalQuery::new(Start::OLDEST, 1000)).await;
    let positions: Vec<i64> = everything.entries.iter().map(|entry| entry.position).collect();
    assert_eq!((everything.entries.len(), everything.is_last), (10, true));
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
    assert_eq!((everything.head, everything.first), (positions[9], positions[0]));
    assert_eq!(desk.store.place().await.expect("the store works"), everything.head, "placing again moves nothing");
    for (index, after) in positions.iter().enumerate() {
        let rest = desk.journal(JournalQuery::new(Start::After(*after), 1000)).await;
        assert_eq!(rest.entries, everything.entries[index + 1..], "after {after}");
    }
    for limit in 1..=3 {
        let (mut read, mut after) = (Vec::new(), 0);
        loop {
            let page = desk.journal(JournalQuery::new(Start::After(after), limit)).await;
            assert!(page.entries.len() <= limit && page.reached >= after);
            read.extend(page.entries);
            after = page.reached;
            if page.is_last {
                break;
            }
        }
        assert_eq!(read, everything.entries, "{limit} at a time");
        assert_eq!(after, everything.head);
    }
    desk.change(reminders[0].id, Change::Cancel, 2).await;
    let new = desk.journal(JournalQuery::new(Start::After(everything.head), 10)).await;
    assert_eq!(lines(&new.entries), ["reminder.cancelled 1 {runs:[1],paused:true}"]);
}

async fn the_newest_come_first_where_asked_for(desk: Desk) {
    let reminders: Vec<Reminder> = (1..=5).map(|number| once(number, 10)).collect();
    desk.create(&reminders.iter().collect::<Vec<_>>()).await;
    let mut everything = all(&desk).await;
    everything.reverse();
    for limit in [1, 2, 5, 9] {
        let (mut read, mut start) = (Vec::new(), Start::NEWEST);
        loop {
            let page = desk.journal(JournalQuery::new(start, limit)).await;
            read.extend(page.entries);
            start = Start::Before(page.reached);
            if page.is_last {
                break;
            }
        }
        assert_eq!(read, everything, "{limit} at a time");
    }
}

async fn entries_are_found_by_what_they_say(desk: Desk) {
    let (anns, bobs) = (once(1, 10), Reminder { user: "bob".into(), created_via: "sql".into(), ..every(2, 50) });
    desk.create(&[&anns, &bobs]).await;
    desk.deliver(10).await;
    desk.deliver(50).await;
    let by = By::new("bob", at(60));
    desk.store.change(bobs.id, Change::Pause, by).await.expect("it is active");
    let all = || JournalQuery::new(Start::OLDEST, 100);
    let queries: [(&str, JournalQuery, &[&str]); 8] = [
        ("reminder", JournalQuery { reminder: Some(anns.id), ..all() }, &["created", "sent"]),
        ("user", JournalQuery { user: Some("bob".into()), ..all() }, &["created", "sent", "changed"]),
        ("kinds", JournalQuery { kinds: vec![Kind::Sent, Kind::Changed], ..all() }, &["sent", "sent", "changed"]),
        ("actor", JournalQuery { actor: Some("bob".into()), ..all() }, &["changed"]),
        ("the engine", JournalQuery { actor: Some(ENGINE.into()), ..all() }, &["sent", "sent"]),
        ("door", JournalQuery { via: Some("sql".into()), ..all() }, &["created"]),
        ("time", JournalQuery { from: Some(at(10)), to: Some(at(60)), ..all() }, &["sent", "sent"]),
        (
            "several at once",
            JournalQuery { user: Some("ann".into()), kinds: vec![Kind::Sent], from: Some(at(1)), ..all() },
            &["sent"],
        ),
    ];
    for (what, query, expect) in queries {
        let found = desk.journal(query.clone()).await;
        let kinds: Vec<_> =
            found.entries.iter().map(|entry| entry.kind.rsplit('.').next().unwrap_or_default()).collect();
        assert_eq!((kinds.as_slice(), found.is_last), (expect, true), "by {what}");
        let mut newest = desk.journal(JournalQuery { start: Start::NEWEST, ..query }).await.entries;
        newest.reverse();
        assert_eq!(newest, found.entries, "by {what}, backwards");
    }
}

async fn entries_are_found_by_the_tags_of_their_reminder(desk: Desk) {
    let tagged = |tags: &[&str], reminder: Reminder| Reminder {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..reminder
    };
    let (home, both, none) =
        (tagged(&["home"], once(1, 10)), tagged(&["garden", "home"], once(2, 10)), tagged(&[], once(3, 10)));
    desk.create(&[&home, &both, &none]).await;
    let by_tag = async |tag: &str, start| {
        let found = desk.journal(JournalQuery { tag: Some(tag.to_owned()), ..JournalQuery::new(start, 100) }).await;
        assert!(found.is_last);
        found.entries.iter().filter_map(|entry| entry.reminder).collect::<Vec<_>>()
    };
    assert_eq!(by_tag("home", Start::OLDEST).await, [home.id, both.id]);
    assert_eq!(by_tag("home", Start::NEWEST).await, [both.id, home.id]);
    assert_eq!(by_tag("hom", Start::OLDEST).await, []);
    let with_user = JournalQuery {
        user: Some(both.user.clone()),
        tag: Some("garden".into()),
        kinds: vec![Kind::Created],
        ..JournalQuery::new(Start::OLDEST, 100)
    };
    assert_eq!(desk.journal(with_user).await.entries.len(), 1);
    let of_all = async |tag: &str| {
        let ids = vec![home.id, both.id, none.id];
        let mut found = desk.store.tagged(tag, ids).await.expect("the store works");
        found.sort_unstable();
        found
    };
    assert_eq!(of_all("home").await, [home.id, both.id]);
    assert_eq!(of_all("garden").await, [both.id]);
    assert_eq!(desk.store.tagged("home", Vec::new()).await.expect("the store works"), []);
    // A reminder that is tagged later is found with all that happened to it before.
    let patch = Patch { tags: Some(vec!["home".into()]), ..Patch::default() };
    desk.store.change(none.id, Change::Update(Box::new(patch)), By::new("ann", at(1))).await.expect("it is active");
    assert_eq!(by_tag("home", Start::OLDEST).await, [home.id, both.id, none.id, none.id]);
}

async fn entries_since_an_instant_are_found_wherever_they_stand(desk: Desk) {
    // The clock was set back and forth, by hours and by seconds.
    let hours = [5, 5, 1, 9, 2, 9, 0, 30, 3];
    for hour in hours {
        let entry = Entry::channel_test(at(hour * 3600 + 7), Who::from("admin"), "bob", "phone", hour.to_string());
        desk.store.record(entry).await.expect("the store works");
    }
    for hour in 0..=31 {
        for (from, expect) in [(at(hour * 3600 + 7), hour), (at(hour * 3600 + 8), hour + 1)] {
            let since = |start| JournalQuery { from: Some(from), ..JournalQuery::new(start, 100) };
            let found = desk.journal(since(Start::OLDEST)).await;
            let expect: Vec<_> = hours.into_iter().filter(|told| *told >= expect).map(|told| at(told * 3600 + 7)).collect();
            assert_eq!(found.entries.iter().map(|entry| entry.at).collect::<Vec<_>>(), expect, "since {from}");
            let mut newest = desk.journal(since(Start::NEWEST)).await.entries;
            newest.reverse();
            assert_eq!((newest, found.is_last), (found.entries, true), "since {from}, backwards");
        }
    }
}

async fn users_keys_and_tests_are_in_it(desk: Desk) {
    let store = &desk.store;
    let user = User {
        id: "ann".into(),
        timezone: None,
        language: None,
        addresses: Vec::new(),
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(1),
        updated_at: at(1),
    };
    let admin = || Who::from("admin").via("api");
    store.put_user(user.clone(), admin()).await.expect("the store works");
    store.put_user(user.clone(), admin()).await.expect("the store works");
    let german = User { language: Some("de".into()), admin: true, updated_at: at(2), ..user };
    store.put_user(german, admin()).await.expect("the store works");
    store.delete_user("ann", admin(), at(3)).await.expect("the store works");
    store.delete_user("ann", admin(), at(3)).await.expect("the store works");
    let key = ApiKey {
        id: "key_1".into(),
        name: "phone".into(),
        prefix: None,
        hash: [1; 32],
        user: Some("ann".into()),
        channels: vec!["phone".into()],
        scopes: Scopes::of([Scope::Read]),
        rate: None,
        expires_at: None,
        created_at: at(4),
        used_at: None,
        replaced: None,
    };
    store.put_key(key.clone(), admin()).await.expect("the store works");
    assert!(store.put_key(key, admin()).await.is_err(), "a hash belongs to one key");
    let rotation = Rotation { hash: [2; 32], prefix: "pk_2".into(), until: at(9), now: at(5) };
    store.rotate_key("key_1", rotation.clone(), admin()).await.expect("the store works");
    store.rotate_key("key_2", rotation, admin()).await.expect("the store works");
    store.delete_key("key_1", admin(), at(5)).await.expect("the store works");
    store.delete_key("key_1", admin(), at(5)).await.expect("the store works");
    store.record(Entry::channel_test(at(6), admin(), "bob", "phone", "sent".into())).await.expect("the store works");
    let entries = all(&desk).await;
    let expect = [
        "user.changed {fields:[]}",
        "user.changed {fields:[language,admin]}",
        "user.changed {deleted:true}",
        "key.created {id:key_1,name:phone,user:ann,channels:[phone],scopes:[read]}",
        "key.rotated {id:key_1,name:phone,user:ann,channels:[phone],scopes:[read],replaced_until:2023-11-14T22:13:29Z}",
        "key.deleted {id:key_1,name:phone,user:ann,channels:[phone],scopes:[read]}",
        "channel.test {channel:phone,outcome:sent}",
    ];
    assert_eq!(lines(&entries), expect);
    let users: Vec<_> = entries.iter().map(|entry| entry.user.as_deref().unwrap_or_default()).collect();
    assert_eq!(users, ["ann", "ann", "ann", "ann", "ann", "ann", "bob"]);
    assert!(entries.iter().all(|entry| entry.actor == "admin" && entry.via.as_deref() == Some("api")));
    assert!(entries.iter().all(|entry| entry.reminder.is_none() && entry.run.is_none()));
}

async fn old_entries_go_and_the_last_one_stays(desk: Desk) {
    let reminders: Vec<Reminder> = (1..=4).map(|number| once(number, 10)).collect();
    for reminder in &reminders {
        desk.create(&[reminder]).await;
    }
    let before = all(&desk).await;
    let prune = async |before, limit| desk.store.prune_journal(before, limit).await.expect("the store works");
    assert_eq!(prune(Timestamp::MIN, 100).await, 0, "nothing is as old as that");
    while prune(Timestamp::MAX, 2).await > 0 {}
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 100)).await;
    assert_eq!(page.entries, before[3..], "the end of the journal stays known");
    assert_eq!((page.first, page.head), (before[3].position, before[3].position));
    desk.create(&[&once(5, 10)]).await;
    assert!(all(&desk).await[1].position > before[3].position, "no position is given twice");
}

async fn a_duty_is_held_by_its_last_lease(desk: Desk) {
    let store = &desk.store;
    let take = async |node: &str| store.take_duty("tell", node, at(0)).await.expect("the store works");
    let keep = async |lease: u64, position: i64, note: Option<&str>| {
        let (name, note) = ("tell".to_owned(), note.map(str::to_owned));
        store.keep_duty(KeptDuty { name, lease, position, note, now: at(1) }).await.expect("the store works")
    };
    let first = take("a").await.expect("nobody has it");
    assert_eq!(first, Duty { lease: 1, position: 0, note: None });
    assert!(keep(1, 7, None).await && keep(1, 7, None).await);
    store.leave_duty("tell", 1).await.expect("the store works");
    let second = take("b").await.expect("it was given back");
    assert_eq!(second, Duty { lease: 2, position: 7, note: None });
    assert!(!keep(1, 99, None).await, "another has it by now");
    store.leave_duty("tell", 1).await.expect("the store works");
    assert!(keep(2, 8, Some("gone")).await);
    let third = take("b").await.expect("a node that starts again takes what it had");
    assert_eq!(third, Duty { lease: 3, position: 8, note: Some("gone".into()) });
    assert!(keep(3, 8, None).await);
}

async fn a_duty_begins_at_the_end_of_the_journal(desk: Desk) {
    desk.create(&[&once(1, 10), &once(2, 10)]).await;
    let head = desk.store.place().await.expect("the store works");
    let duty = desk.store.take_duty("tell", "a", at(0)).await.expect("the store works").expect("nobody has it");
    assert_eq!(duty.position, head);
}

async fn a_duty_is_shown_with_its_node_and_its_note(desk: Desk) {
    let store = &desk.store;
    assert_eq!(store.duties().await.expect("the store works"), []);
    for name in ["tell", "keep"] {
        store.take_duty(name, "a", at(0)).await.expect("the store works").expect("nobody has it");
    }
    let kept = KeptDuty { name: "tell".into(), lease: 1, position: 7, note: Some("it is gone".into()), now: at(1) };
    assert!(store.keep_duty(kept).await.expect("the store works"));
    let duty = |name: &str, position: i64, note: Option<&str>| KnownDuty {
        name: name.to_owned(),
        node: Some("a".to_owned()),
        position,
        note: note.map(str::to_owned),
    };
    let known = store.duties().await.expect("the store works");
    assert_eq!(known, [duty("keep", 0, None), duty("tell", 7, Some("it is gone"))]);
}
