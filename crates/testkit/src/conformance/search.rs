//! Finding reminders by words in their text.

use punctual_core::change::{Change, Patch};
use punctual_core::id::ReminderId;
use punctual_core::reminder::Reminder;
use punctual_core::rules::search::{Words, text_of};
use punctual_core::store::{Filled, FindQuery, Hits, Index, IndexText, KeptDuty, StoreError};

use super::desk::{Desk, at, once};

rules!(
    words_are_found_wherever_they_stand,
    the_last_to_come_is_found_first,
    a_users_texts_are_found_alone,
    few_letters_are_found_among_one_users_texts,
    a_text_that_changed_is_found_by_its_new_words,
    a_reminder_that_is_removed_is_found_no_more,
    the_index_is_filled_once,
    an_index_is_written_only_by_the_one_whose_duty_it_is,
    signs_mean_nothing_but_themselves,
);

fn saying(number: u8, message: &str) -> Reminder {
    Reminder { message: message.into(), ..once(number, 1000) }
}

async fn index(desk: &Desk, reminders: &[&Reminder]) {
    let text = |reminder: &&Reminder| IndexText {
        reminder: reminder.id,
        user: reminder.user.clone(),
        text: text_of(reminder),
    };
    let texts = reminders.iter().map(text).collect();
    desk.store.index(Index { texts, ..Index::default() }).await.expect("the store takes them");
}

/// Makes reminders and puts them into the index.
async fn indexed(desk: &Desk, reminders: &[&Reminder]) {
    desk.store.prepare_search().await.expect("the store can search");
    desk.create(reminders).await;
    index(desk, reminders).await;
}

async fn hits(desk: &Desk, words: &str, user: Option<&str>, before: Option<i64>, limit: usize) -> Hits {
    let words = Words::read("q", words, true).expect("words that can be looked for");
    let user = user.map(str::to_owned);
    desk.store.find(FindQuery { words, user, before, limit }).await.expect("the store works")
}

async fn found(desk: &Desk, words: &str, user: Option<&str>) -> Vec<ReminderId> {
    hits(desk, words, user, None, 100).await.list.into_iter().map(|(_, id)| id).collect()
}

async fn words_are_found_wherever_they_stand(desk: Desk) {
    let (mom, tea) = (saying(1, "Call Mom at noon"), saying(2, "Попиј чај"));
    let named = Reminder { name: Some("Müll".into()), ..saying(3, "take it out") };
    indexed(&desk, &[&mom, &tea, &named]).await;
    assert_eq!(found(&desk, "mom", None).await, [mom.id]);
    assert_eq!(found(&desk, "ALL MOM", None).await, [mom.id], "within words, too");
    assert_eq!(found(&desk, "call mom at noon", None).await, [mom.id]);
    assert_eq!(found(&desk, "čaj", None).await, [tea.id], "accents and letters are folded");
    assert_eq!(found(&desk, "mull", None).await, [named.id]);
    assert_eq!(found(&desk, "take it", None).await, [named.id]);
    assert!(found(&desk, "noon at", None).await.is_empty(), "the letters are there, and not in this order");
    assert!(found(&desk, "dad", None).await.is_empty());
}

async fn the_last_to_come_is_found_first(desk: Desk) {
    let all: Vec<Reminder> = (1..=5).map(|n| saying(n, "water the plants")).collect();
    indexed(&desk, &all.iter().collect::<Vec<_>>()).await;
    let ids: Vec<ReminderId> = all.iter().rev().map(|reminder| reminder.id).collect();
    assert_eq!(found(&desk, "plants", None).await, ids);
    let first = hits(&desk, "plants", None, None, 2).await;
    assert_eq!(first.list.iter().map(|(_, id)| *id).collect::<Vec<_>>(), ids[..2]);
    let second = hits(&desk, "plants", None, first.more_before, 10).await;
    assert_eq!(second.list.iter().map(|(_, id)| *id).collect::<Vec<_>>(), ids[2..]);
    assert_eq!(second.more_before, None);
}

async fn a_users_texts_are_found_alone(desk: Desk) {
    let (anns, bobs) = (saying(1, "call mom"), Reminder { user: "bob".into(), ..saying(2, "call mom") });
    indexed(&desk, &[&anns, &bobs]).await;
    assert_eq!(found(&desk, "mom", Some("ann")).await, [anns.id]);
    assert_eq!(found(&desk, "mom", Some("bob")).await, [bobs.id]);
    assert!(found(&desk, "mom", Some("bo")).await.is_empty());
    assert_eq!(found(&desk, "mom", None).await, [bobs.id, anns.id]);
}

async fn few_letters_are_found_among_one_users_texts(desk: Desk) {
    let (tea, mom) = (saying(1, "a cup of tea"), saying(2, "call mom"));
    indexed(&desk, &[&tea, &mom, &Reminder { user: "bob".into(), ..saying(3, "up") }]).await;
    assert_eq!(found(&desk, "up", Some("ann")).await, [tea.id]);
    assert_eq!(found(&desk, "m", Some("ann")).await, [mom.id]);
}

async fn a_text_that_changed_is_found_by_its_new_words(desk: Desk) {
    let (reminder, other) = (saying(1, "call mom"), saying(2, "call dad"));
    indexed(&desk, &[&reminder, &other]).await;
    let patch = Patch { message: Some("feed the cat".into()), ..Patch::default() };
    let changed = desk.change(reminder.id, Change::Update(Box::new(patch)), 10).await.view.reminder;
    index(&desk, &[&changed]).await;
    index(&desk, &[&changed]).await;
    assert!(found(&desk, "mom", None).await.is_empty());
    assert_eq!(found(&desk, "cat", None).await, [reminder.id]);
    assert_eq!(found(&desk, "call", None).await, [other.id]);
}

async fn a_reminder_that_is_removed_is_found_no_more(desk: Desk) {
    let (gone, stays) = (saying(1, "call mom"), saying(2, "call mom"));
    indexed(&desk, &[&gone, &stays]).await;
    desk.change(gone.id, Change::Cancel, 10).await;
    assert_eq!(found(&desk, "mom", None).await, [stays.id, gone.id], "what is over is found, too");
    assert_eq!(desk.store.prune(at(20), 100).await.expect("the store works"), 1);
    assert_eq!(found(&desk, "mom", None).await, [stays.id]);
    index(&desk, &[&gone]).await;
    assert_eq!(found(&desk, "mom", None).await, [stays.id], "nor does it come into the index again");
}

async fn the_index_is_filled_once(desk: Desk) {
    let all: Vec<Reminder> = (1..=3).map(|n| saying(n, "water")).collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let store = &desk.store;
    assert_eq!(store.filled().await.expect("the store works"), Filled::Nothing);
    let first = store.ids_after(None, 2).await.expect("the store works");
    assert_eq!(first, [all[0].id, all[1].id]);
    for filled in [Filled::To(first[1]), Filled::Whole] {
        store.index(Index { filled: Some(filled), ..Index::default() }).await.expect("the store works");
        assert_eq!(store.filled().await.expect("the store works"), filled);
    }
    assert_eq!(store.ids_after(Some(first[1]), 2).await.expect("the store works"), [all[2].id]);
    assert!(store.ids_after(Some(all[2].id), 2).await.expect("the store works").is_empty());
}

async fn an_index_is_written_only_by_the_one_whose_duty_it_is(desk: Desk) {
    let reminder = saying(1, "call mom");
    desk.store.prepare_search().await.expect("the store can search");
    desk.create(&[&reminder]).await;
    let take = async || desk.store.take_duty("search", "desk", at(0)).await.expect("the store works").expect("it is free");
    let (first, second) = (take().await, take().await);
    let texts = vec![IndexText { reminder: reminder.id, user: "ann".into(), text: text_of(&reminder) }];
    let kept = |lease| {
        let kept = KeptDuty { name: "search".into(), lease, position: 7, note: None, now: at(1) };
        Index { texts: texts.clone(), kept: Some(kept), filled: None }
    };
    let refused = desk.store.index(kept(first.lease)).await;
    assert!(matches!(refused, Err(StoreError::LeaseLost)), "{refused:?}");
    assert!(found(&desk, "mom", None).await.is_empty());
    desk.store.index(kept(second.lease)).await.expect("it is ours");
    assert_eq!(found(&desk, "mom", None).await, [reminder.id]);
    let duties = desk.store.duties().await.expect("the store works");
    assert_eq!(duties.iter().find(|duty| duty.name == "search").map(|duty| duty.position), Some(7));
}

async fn signs_mean_nothing_but_themselves(desk: Desk) {
    let texts = [r#"say "hi" & 100% _done_"#, r"c:\temp * OR (NOT) x", "plain text"];
    let all: Vec<Reminder> = (1..).zip(texts).map(|(n, text)| saying(n, text)).collect();
    indexed(&desk, &all.iter().collect::<Vec<_>>()).await;
    for words in [r#""hi""#, "100%", "_done", "0% _d"] {
        assert_eq!(found(&desk, words, None).await, [all[0].id], "{words}");
    }
    for words in [r"c:\t", "* or (not)", "not)"] {
        assert_eq!(found(&desk, words, None).await, [all[1].id], "{words}");
    }
    for words in ["%%%", "___", "t%x", "a_n", r"\\\", "mom OR text"] {
        assert!(found(&desk, words, None).await.is_empty(), "{words}");
    }
}
