//! Everything there is, out and in.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::change::Change;
use punctual_core::clock::Clock;
use punctual_core::event::Offset;
use punctual_core::group::{Group, Mode};
use punctual_core::feed::{EVERY, Feed, FeedKey, FeedKind, FeedSettings};
use punctual_core::id::{OccurrenceId, SilenceId};
use punctual_core::occurrence::{State, StateKind};
use punctual_core::reminder::{Address, Reminder};
use punctual_core::scope::{Path, Scope};
use punctual_core::silence::Silence;
use punctual_core::step::{Step, Target};
use punctual_core::store::{DeadAddress, JournalQuery, Record, Start, Which, WholeQuery};
use punctual_core::user::User;
use punctual_core::whole::{Cursor, Line, LineKind, Overdue, Section, Whole};
use punctual_engine::export::{Export, History, page};
use punctual_store::line::{differences, from_json, to_json};

use super::desk::{Desk, asking, at, every, failed, once, taken};
use crate::clock::ManualClock;
use crate::memory::MemoryStore;
use crate::sample;

rules!(
    what_is_exported_is_the_same_in_every_store,
    what_is_there_stays_as_it_is,
    a_run_that_is_overdue_is_missed,
    a_run_that_is_overdue_is_sent_where_that_is_asked_for,
    a_question_that_is_overdue_stays_open,
    a_run_that_was_being_sent_is_not_sent_again,
    a_long_history_stands_in_several_lines,
    what_changes_meanwhile_is_written_again,
    a_person_gets_their_own_and_nothing_else,
    an_import_that_comes_twice_is_one,
    a_person_who_is_erased_stands_nowhere,
    a_name_is_also_erased_where_it_is_escaped,
    what_could_not_be_read_of_a_rota_names_nobody_who_is_erased,
    what_died_while_an_export_is_written_is_exported,
    a_reminder_that_is_to_come_is_not_removed,
);

fn in_memory() -> Desk {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(at(1_000_000_000)));
    Desk::new(Arc::new(MemoryStore::new(clock)))
}

/// Every line of a store, at second `now`, and where the export ended.
async fn exported(desk: &Desk, now: i64, export: Export) -> (Vec<Line>, Cursor) {
    let (mut lines, mut export) = (Vec::new(), export);
    loop {
        let page = page(&*desk.store, &export, at(now)).await.expect("the store works");
        assert_eq!(page.unreadable, []);
        lines.extend(page.lines);
        if page.is_last {
            return (lines, page.next);
        }
        assert_ne!(page.next, export.after, "an export goes on");
        export.after = page.next;
    }
}

async fn all(desk: &Desk) -> Export {
    let head = desk.store.place().await.expect("the store works");
    let (after, user) = (Cursor::begin(Section::Entries), None);
    Export { after, head, user, history: History::All, runs_max: 1000 }
}

async fn lines_of(desk: &Desk, now: i64) -> Vec<Line> {
    exported(desk, now, all(desk).await).await.0
}

async fn adopt(desk: &Desk, lines: Vec<Line>, now: i64) -> usize {
    let adopted = desk.store.adopt(lines, Overdue::Missed, at(now)).await.expect("the store works");
    adopted.is_new.iter().filter(|is_new| **is_new).count()
}

/// The lines as JSON, without what no two stores share.
fn texts(lines: &[Line]) -> Vec<String> {
    let text = |line: &Line| {
        let mut line = line.clone();
        if let Line::Entry(entry) = &mut line {
            entry.position = 0;
        }
        to_json(&line)
    };
    lines.iter().map(text).collect()
}

fn whole_of(lines: &[Line], id: punctual_core::id::ReminderId) -> Whole {
    let of_id = lines.iter().rev().find_map(|line| match line {
        Line::Reminder(whole) if whole.reminder.id == id => Some((**whole).clone()),
        _ => None,
    });
    of_id.expect("the reminder is there")
}

/// A life with a bit of everything, until second 500.
async fn live(desk: &Desk) {
    let person = User { addresses: vec![Address::new("phone", "ann")], ..sample::user("ann", at(0)) };
    desk.store.put_user(person, "ops".into()).await.expect("the store works");
    desk.store
        .put_user(User { admin: true, ..sample::user("zoe", at(1)) }, "ops".into())
        .await
        .expect("the store works");
    let users = vec!["ann".to_owned(), "zoe".to_owned()];
    let group = Group {
        name: "all".into(),
        mode: Mode::All,
        users,
        rota: None,
        shifts: vec![],
        created_at: at(2),
        updated_at: at(2),
    };
    desk.store.put_group(group, "ops".into()).await.expect("the store works");
    let silence = Silence {
        id: SilenceId::new(at(3), [9; 10]),
        user: Some("zoe".into()),
        group: None,
        tag: Some("chores".into()),
        from: at(3),
        until: at(90_000),
        created_at: at(3),
        created_by: "ops".into(),
    };
    assert!(desk.store.put_silence(silence, "ops".into()).await.expect("the store works"));
    let (address, reason) = (Address::new("phone", "gone"), "no such number".to_owned());
    desk.store.mark_dead(DeadAddress { address, since: at(4), reason }).await.expect("the store works");

    let metadata = punctual_core::reminder::Metadata::from_stored("{\"b\":1.0,\"a\":[\"ž\"]}".into());
    let tagged = Reminder { tags: vec!["home".into()], metadata, name: Some("tea \"2\"\n".into()), ..once(1, 100) };
    desk.create(&[&tagged, &asking(once(2, 100), 3), &every(3, 60), &once(4, 100), &once(5, 80_000)]).await;
    for claimed in desk.claim(100).await.to_send {
        let said = if claimed.reminder.id == once(4, 0).id { failed() } else { taken() };
        desk.settle(&claimed, said, 101).await;
    }
    desk.change(once(2, 0).id, Change::Snooze { until: at(70_000) }, 110).await;
    // Two times: what was missed before comes first.
    for _ in 0..2 {
        for claimed in desk.claim(200).await.to_send {
            desk.settle(&claimed, taken(), 201).await;
        }
    }
    desk.change(once(5, 0).id, Change::Pause, 300).await;
    let path: Path = "guild:1".parse().expect("a path");
    let scope =
        Scope { path: path.clone(), offsets: vec![Offset::parse("15m").expect("an offset")], updated_at: at(301) };
    desk.store.put_scope(scope, "ops".into()).await.expect("the store works");
    desk.create(&[&once(6, 60_000)]).await;
}

async fn what_is_exported_is_the_same_in_every_store(desk: Desk) {
    live(&desk).await;
    let lines = lines_of(&desk, 201).await;
    for kind in ["entry", "user", "group", "silence", "dead_address", "scope", "reminder"] {
        let kind: LineKind = kind.parse().expect("the store works");
        assert!(lines.iter().any(|line| line.kind() == kind), "there is a line of kind {kind}");
    }
    // As JSON and back.
    let read: Vec<Line> = texts(&lines).iter().map(|text| from_json(text).expect("a line of ours")).collect();
    assert_eq!(texts(&read), texts(&lines));
    // From this store into another,
    let other = in_memory();
    assert_eq!(adopt(&other, read, 201).await, lines.len());
    assert_eq!(texts(&lines_of(&other, 201).await), texts(&lines));
    for line in &lines {
        assert_eq!(differences(line, line), []);
    }
    // and what it does next is the same.
    for desk in [&desk, &other] {
        let claims = desk.claim(70_000).await;
        let mut sent: Vec<OccurrenceId> = claims.to_send.iter().map(|claimed| claimed.before.id).collect();
        sent.sort_unstable();
        assert!(sent.contains(&OccurrenceId { reminder: once(2, 0).id, run: 1 }), "{sent:?}");
    }
}

/// From another store into this one: what the rule before does not show of this store's import.
async fn what_is_there_stays_as_it_is(desk: Desk) {
    let other = in_memory();
    live(&other).await;
    let lines = lines_of(&other, 201).await;
    // One of the reminders and one of the people are there.
    let own = Reminder { message: "my own".into(), ..once(4, 100) };
    desk.create(&[&own]).await;
    desk.store.put_user(sample::user("zoe", at(0)), "me".into()).await.expect("the store works");
    adopt(&desk, lines.clone(), 201).await;
    let after = lines_of(&desk, 201).await;
    assert_eq!(whole_of(&after, own.id).reminder.message, "my own");
    assert_eq!(whole_of(&after, own.id).runs[0].attempts, [], "nor does anything come to it that it has not");
    assert!(!desk.store.user("zoe").await.expect("the store works").expect("there is one").admin);
    for id in [1, 2, 3, 5, 6].map(|number| once(number, 0).id) {
        assert_eq!(whole_of(&after, id), whole_of(&lines, id));
    }
}

async fn a_run_that_is_overdue_is_missed(desk: Desk) {
    let other = in_memory();
    other.create(&[&once(1, 100), &every(2, 60), &once(3, 900)]).await;
    adopt(&desk, lines_of(&other, 50).await, 210).await;
    let lines = lines_of(&desk, 210).await;
    assert_eq!(whole_of(&lines, once(1, 0).id).runs[0].occurrence.state, State::Missed { at: at(210) });
    let series = whole_of(&lines, every(2, 60).id);
    let states: Vec<StateKind> = series.runs.iter().map(|run| run.occurrence.state.kind()).collect();
    // Due at 60, 120 and 180; the next is at 240.
    let missed = StateKind::Missed;
    assert_eq!(states, [missed, missed, missed, StateKind::Scheduled]);
    assert_eq!(series.runs[3].occurrence.due_at, at(240));
    assert_eq!(desk.claim(230).await.to_send.len(), 0, "nothing that was due before is sent");
    assert_eq!(desk.claim(240).await.to_send.len(), 1);
    assert_eq!(desk.claim_only(900, vec![once(3, 0).id], 1).await.to_send.len(), 1);
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 100)).await;
    let told = page.entries.iter().filter(|entry| entry.kind == "reminder.missed").count();
    assert_eq!(told, 2, "one for each reminder");
}

async fn a_run_that_is_overdue_is_sent_where_that_is_asked_for(desk: Desk) {
    let other = in_memory();
    other.create(&[&once(1, 100), &once(2, 100)]).await;
    let sending = other.claim_only(100, vec![once(2, 0).id], 1).await;
    assert_eq!(sending.to_send.len(), 1);
    let lines = lines_of(&other, 100).await;
    desk.store.adopt(lines, Overdue::Deliver, at(210)).await.expect("the store works");
    assert_eq!(desk.claim(210).await.to_send.len(), 2, "also the one that a node was sending there");
}

async fn a_question_that_is_overdue_stays_open(desk: Desk) {
    let other = in_memory();
    other.create(&[&asking(once(1, 100), 3)]).await;
    let claimed = other.claim_one(100).await;
    other.settle(&claimed, taken(), 100).await;
    adopt(&desk, lines_of(&other, 100).await, 1000).await;
    assert_eq!(desk.claim(1000).await.to_send.len(), 0, "it may have been asked again there");
    desk.change(once(1, 0).id, Change::Ack, 1010).await;
    let lines = lines_of(&desk, 1010).await;
    assert_eq!(whole_of(&lines, once(1, 0).id).runs[0].occurrence.state, State::Completed { at: at(1010) });
}

async fn a_run_that_was_being_sent_is_not_sent_again(desk: Desk) {
    let other = in_memory();
    other.create(&[&once(1, 100)]).await;
    other.claim_one(100).await;
    adopt(&desk, lines_of(&other, 100).await, 101).await;
    let whole = whole_of(&lines_of(&desk, 101).await, once(1, 0).id);
    assert_eq!(whole.runs[0].occurrence.state, State::Missed { at: at(101) });
    assert_eq!(whole.runs[0].attempts[0].error.as_deref(), Some("cut off in flight"));
    assert_eq!(desk.claim(10_000).await.to_send.len(), 0);
}

async fn a_long_history_stands_in_several_lines(desk: Desk) {
    desk.create(&[&every(1, 60), &once(2, 90_000)]).await;
    for round in 1..=8 {
        let claimed = desk.claim_one(60 * round).await;
        desk.settle(&claimed, taken(), 60 * round).await;
    }
    let export = Export { runs_max: 3, ..all(&desk).await };
    let (lines, _) = exported(&desk, 480, export).await;
    let of = |line: &Line| match line {
        Line::Reminder(whole) => Some(whole.runs.iter().map(|run| run.occurrence.id.run).collect::<Vec<u32>>()),
        Line::Runs(_, runs) => Some(runs.iter().map(|run| run.occurrence.id.run).collect()),
        _ => None,
    };
    let runs: Vec<Vec<u32>> = lines.iter().filter_map(of).collect();
    assert_eq!(runs, [vec![7, 8, 9], vec![4, 5, 6], vec![1, 2, 3], vec![1]]);
    let other = in_memory();
    adopt(&other, lines, 480).await;
    assert_eq!(texts(&lines_of(&other, 480).await), texts(&lines_of(&desk, 480).await));
}

async fn what_changes_meanwhile_is_written_again(desk: Desk) {
    desk.create(&[&once(1, 100), &once(2, 900)]).await;
    let (mut lines, end) = exported(&desk, 0, all(&desk).await).await;
    let n_lines = lines.len();
    let claimed = desk.claim_one(100).await;
    desk.settle(&claimed, taken(), 100).await;
    desk.store.put_user(sample::user("bob", at(101)), "ops".into()).await.expect("the store works");
    // Where it ended it goes on.
    let export = Export { after: end, head: 0, ..all(&desk).await };
    lines.extend(exported(&desk, 101, export).await.0);
    let kinds: Vec<LineKind> = lines[n_lines..].iter().map(Line::kind).collect();
    assert_eq!(kinds, [LineKind::User, LineKind::Reminder, LineKind::Entry, LineKind::Entry]);
    let whole = whole_of(&lines, once(1, 0).id);
    assert_eq!(whole.runs[0].occurrence.state, State::Delivered { at: at(100) }, "the later line counts");
}

async fn a_person_gets_their_own_and_nothing_else(desk: Desk) {
    live(&desk).await;
    let theirs = Reminder { user: "zoe".into(), to: vec![Address::new("phone", "zoe")], ..once(9, 100) };
    desk.create(&[&theirs]).await;
    let export = Export { user: Some("zoe".into()), ..all(&desk).await };
    let (lines, _) = exported(&desk, 400, export).await;
    let texts = texts(&lines);
    assert!(texts.iter().all(|line| !line.contains("\"ann\"") || line.contains("\"actor\":\"ann\"")), "{texts:#?}");
    let kinds: Vec<LineKind> = lines.iter().map(Line::kind).filter(|kind| *kind != LineKind::Entry).collect();
    assert_eq!(kinds, [LineKind::User, LineKind::Group, LineKind::Silence, LineKind::Reminder]);
    assert!(lines.iter().any(|line| line.kind() == LineKind::Entry));
}

async fn an_import_that_comes_twice_is_one(desk: Desk) {
    let other = in_memory();
    live(&other).await;
    let lines = lines_of(&other, 201).await;
    let (first, second) = lines.split_at(lines.len() / 2);
    adopt(&desk, first.to_vec(), 201).await;
    adopt(&desk, lines.clone(), 201).await;
    adopt(&desk, second.to_vec(), 201).await;
    assert_eq!(texts(&lines_of(&desk, 201).await), texts(&lines));
    let entries = lines.iter().filter_map(|line| match line {
        Line::Entry(entry) => Some(entry.clone()),
        _ => None,
    });
    let entries: Vec<_> = entries.collect();
    let n = entries.len();
    assert_eq!(desk.store.has_entries(entries.clone()).await.expect("the store works"), vec![true; n]);
    let other = entries.into_iter().map(|entry| punctual_core::journal::Placed { run: Some(77), ..entry });
    assert_eq!(desk.store.has_entries(other.collect()).await.expect("the store works"), vec![false; n]);
    let query = WholeQuery { which: Which::These(vec![once(77, 0).id]), user: None, runs_max: 1 };
    assert_eq!(desk.store.wholes(query).await.expect("the store works").wholes, []);
}

/// Takes `user` out of every record.
async fn redact(desk: &Desk, user: &str) -> usize {
    let mut n = 0;
    for record in Record::ALL {
        let mut after = String::new();
        loop {
            let redacted = desk.store.redact(user, record, &after).await.expect("the store works");
            n += redacted.n;
            match redacted.next {
                Some(next) => after = next,
                None => break,
            }
        }
    }
    n
}

async fn a_person_who_is_erased_stands_nowhere(desk: Desk) {
    live(&desk).await;
    // Bob's reminder, which ann is asked about next, and to which she answers.
    let step = Step { after: Duration::from_secs(60), to: Target::User("ann".into()) };
    let to = vec![Address::new("phone", "bob")];
    let theirs = Reminder { user: "bob".into(), to, escalate: vec![step], ..asking(once(7, 300), 3) };
    desk.create(&[&theirs]).await;
    for claimed in desk.claim(300).await.to_send {
        desk.settle(&claimed, taken(), 300).await;
    }
    desk.change(theirs.id, Change::Ack, 310).await;
    let before = desk.journal(JournalQuery::new(Start::OLDEST, 500)).await.entries;

    for number in 1..=6 {
        // One that has ended is not to be cancelled.
        let _ = desk.try_change(once(number, 0).id, Change::Cancel, 320).await;
    }
    loop {
        let removed = desk.store.remove_reminders("ann").await.expect("the store works");
        assert_eq!(removed.open, []);
        if !removed.has_more {
            break;
        }
    }
    desk.store.delete_user("ann", "ops".into(), at(321)).await.expect("the store works");
    let group = Group {
        name: "all".into(),
        mode: Mode::All,
        users: vec!["zoe".into()],
        rota: None,
        shifts: vec![],
        created_at: at(2),
        updated_at: at(2),
    };
    desk.store.put_group(group, "ops".into()).await.expect("the store works");
    assert!(redact(&desk, "ann").await > 0);
    assert_eq!(redact(&desk, "ann").await, 0, "the second time nothing is left");

    let lines = texts(&lines_of(&desk, 400).await);
    assert_eq!(lines.iter().find(|line| line.contains("\"ann\"")), None);
    assert!(lines.iter().any(|line| line.contains("\"user_id\":\"bob\"")), "others stay as they are");
    let after = desk.journal(JournalQuery::new(Start::OLDEST, 500)).await.entries;
    for (before, after) in before.iter().zip(&after) {
        let same = (before.position, before.at, &before.kind, before.reminder, before.run);
        assert_eq!((after.position, after.at, &after.kind, after.reminder, after.run), same);
    }
    let n_erased = after.iter().filter(|entry| entry.user.as_deref() == Some("erased")).count();
    assert!(n_erased >= 10, "{n_erased}");
}

async fn a_name_is_also_erased_where_it_is_escaped(desk: Desk) {
    let path = Path::of_user("ann/x 50%").expect("a path");
    let scope = Scope { path, offsets: Vec::new(), updated_at: at(1) };
    desk.store.put_scope(scope, "ops".into()).await.expect("the store works");
    assert_eq!(redact(&desk, "ann/x 50%").await, 1);
    let entries = desk.journal(JournalQuery::new(Start::OLDEST, 10)).await.entries;
    assert_eq!(entries[0].named("scope").as_deref(), Some("user:erased"));
}

async fn what_died_while_an_export_is_written_is_exported(desk: Desk) {
    let dead = |address: &str, second: i64| DeadAddress {
        address: Address::new("phone", address),
        since: at(second),
        reason: "gone".into(),
    };
    desk.store.mark_dead(dead("long ago", 10)).await.expect("the store works");
    desk.create(&[&once(1, 9000)]).await;
    let head = desk.store.place().await.expect("the store works");
    let export =
        |user| Export { after: Cursor::begin(Section::Changes), head, user, history: History::None, runs_max: 10 };
    let died = async |user: Option<String>| -> Vec<String> {
        let (lines, _) = exported(&desk, 9001, export(user)).await;
        let dead = lines.into_iter().filter_map(|line| match line {
            Line::DeadAddress(dead) => Some(dead.address.address),
            _ => None,
        });
        dead.collect()
    };
    assert_eq!(died(None).await, [""; 0]);
    let claimed = desk.claim_one(9000).await;
    desk.settle(&claimed, failed(), 9000).await;
    desk.store.mark_dead(dead("now", 9000)).await.expect("the store works");
    assert_eq!(died(None).await, ["now"]);
    assert_eq!(died(Some("ann".into())).await, [""; 0], "it is not ann's");
}

async fn what_could_not_be_read_of_a_rota_names_nobody_who_is_erased(desk: Desk) {
    let key = FeedKey::of_group("duty");
    let mut rota = Feed::new(key, "https://example.org/r.ics".into(), FeedSettings::default(), EVERY, at(0));
    rota.problem = Some("ann's calendar is gone".into());
    rota.problems = vec!["`ann and bob` names ann and bob".into(), "`joann` names no user".into()];
    desk.store.put_feed(rota, "ops".into(), at(0)).await.expect("the store works");
    assert!(redact(&desk, "ann").await > 0);
    let kept = desk.store.feeds(FeedKind::Group, None, None, 10).await.expect("the store works").remove(0);
    assert_eq!(kept.problem.as_deref(), Some("erased's calendar is gone"));
    assert_eq!(kept.problems, ["`erased and bob` names erased and bob", "`joann` names no user"]);
    assert_eq!(redact(&desk, "ann").await, 0);
}

async fn a_reminder_that_is_to_come_is_not_removed(desk: Desk) {
    desk.create(&[&once(1, 100), &once(2, 200)]).await;
    let claimed = desk.claim_one(100).await;
    let removed = desk.store.remove_reminders("ann").await.expect("the store works");
    assert_eq!((removed.n_reminders, removed.open.len()), (0, 2), "nor is one that is being sent");
    desk.settle(&claimed, taken(), 100).await;
    let removed = desk.store.remove_reminders("ann").await.expect("the store works");
    assert_eq!((removed.n_reminders, &removed.open[..]), (1, &[once(2, 0).id][..]));
    assert_eq!(desk.claim(200).await.to_send.len(), 1);
}
