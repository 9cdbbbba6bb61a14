//! Following the journal.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use jiff::{SignedDuration, ToSpan};
use punctual_core::clock::BoxFuture;
use punctual_core::group::{Group, Mode};
use punctual_core::id::SilenceId;
use punctual_core::silence::Silence;
use punctual_engine::journal::{Ended, FollowError, Follower};
use punctual_testkit::sample::{instant, once};
use punctual_testkit::story::{BEGIN, Story};

/// Longer than one pass of the task that reads on.
const A_PASS: SignedDuration = SignedDuration::from_millis(30);

/// Makes a reminder that is due another day: one entry.
fn remind(story: &Story, number: u8) {
    story.create(&once(number, instant(BEGIN) + 240.hours(), story.now()));
}

fn follow(story: &Story, after: Option<i64>) -> Result<Follower, FollowError> {
    let engine = story.engine().clone();
    story.run(async move { engine.follow(after).await })
}

/// The positions that a follower sees next.
fn next(story: &Story, mut follower: Follower) -> (Follower, Result<Vec<i64>, Ended>) {
    story.run(async move {
        let page = follower.next().await;
        let positions = page.map(|page| page.entries.iter().map(|entry| entry.position).collect());
        (follower, positions)
    })
}

#[track_caller]
fn expect(story: &Story, follower: Follower, expect: &[i64]) -> Follower {
    let (follower, positions) = next(story, follower);
    assert_eq!(positions.unwrap(), expect);
    follower
}

#[test]
fn a_follower_sees_each_entry_once_from_where_it_begins() {
    let story = Story::default();
    (1..=3).for_each(|number| remind(&story, number));
    let behind = follow(&story, Some(1)).unwrap();
    let from_now = follow(&story, None).unwrap();
    let behind = expect(&story, behind, &[2, 3]);
    remind(&story, 4);
    let behind = expect(&story, behind, &[4]);
    let from_now = expect(&story, from_now, &[4]);
    // Several entries share a pass.
    (5..=7).for_each(|number| remind(&story, number));
    story.advance(A_PASS * 2);
    let (mut behind, mut seen) = (behind, Vec::new());
    while seen.last() != Some(&7) {
        let (follower, positions) = next(&story, behind);
        (behind, seen) = (follower, [seen, positions.unwrap()].concat());
    }
    assert_eq!((seen, behind.position()), (vec![5, 6, 7], 7));
    drop(from_now);
}

#[test]
fn one_that_begins_while_others_follow_meets_them() {
    let story = Story::default();
    let first = follow(&story, None).unwrap();
    (1..=2).for_each(|number| remind(&story, number));
    story.advance(A_PASS * 2);
    let second = follow(&story, Some(0)).unwrap();
    remind(&story, 3);
    let (mut second, mut seen) = (second, Vec::new());
    while seen.len() < 3 {
        let (follower, positions) = next(&story, second);
        (second, seen) = (follower, [seen, positions.unwrap()].concat());
    }
    assert_eq!(seen, [1, 2, 3]);
    drop(first);
}

#[test]
fn a_follower_that_takes_too_little_is_ended_and_can_begin_again_where_it_was() {
    let story = Story::default();
    let slow = follow(&story, None).unwrap();
    remind(&story, 0);
    let slow = expect(&story, slow, &[1]);
    // Each by itself, so that each is a page. Ids are made of the instant, too.
    for number in 0..300_u16 {
        remind(&story, (number % 250) as u8 + 1);
        story.advance(A_PASS);
    }
    let (slow, ended) = next(&story, slow);
    assert!(matches!(ended, Err(Ended::TooSlow)), "{ended:?}");
    let again = follow(&story, Some(slow.position())).unwrap();
    let (_, positions) = next(&story, again);
    assert_eq!(positions.unwrap()[..2], [2, 3]);
}

#[test]
fn nobody_can_follow_from_a_position_that_is_not_there() {
    let story = Story::default();
    remind(&story, 1);
    let ahead = follow(&story, Some(2)).err();
    assert!(matches!(ahead, Some(FollowError::Ahead { head: 1 })), "{ahead:?}");
}

#[test]
fn while_nobody_follows_nothing_is_read() {
    let story = Story::default();
    let n_calls = || story.n_calls("journal") + story.n_calls("place");
    let before = n_calls();
    for number in 1..=5 {
        story.create(&once(number, story.now() + 10.seconds(), story.now()));
    }
    story.advance(SignedDuration::from_mins(1));
    assert_eq!(story.phone.all().len(), 5);
    assert_eq!(n_calls(), before);
    let follower = follow(&story, None).unwrap();
    remind(&story, 6);
    drop(expect(&story, follower, &[11]));
    story.advance(SignedDuration::from_secs(1));
    let before = n_calls();
    remind(&story, 7);
    story.advance(SignedDuration::from_secs(1));
    assert_eq!(n_calls(), before, "nor when the last one has gone");
}

#[test]
fn entries_that_were_written_before_an_outage_are_seen_after_it() {
    let story = Story::default();
    let follower = follow(&story, None).unwrap();
    remind(&story, 1);
    story.store_is_down(true);
    story.advance(SignedDuration::from_secs(5));
    story.store_is_down(false);
    expect(&story, follower, &[1]);
}

#[test]
fn a_follower_hears_of_groups_and_silences_at_once() {
    let story = Story::default();
    let (now, engine) = (story.now(), story.engine().clone());
    let users = vec!["ann".to_owned()];
    let group = Group {
        name: "family".into(),
        mode: Mode::All,
        users,
        rota: None,
        shifts: vec![],
        created_at: now,
        updated_at: now,
    };
    let silence = Silence {
        id: SilenceId::new(now, [1; 10]),
        user: None,
        group: Some("family".into()),
        tag: None,
        from: now,
        until: now + 1.hour(),
        created_at: now,
        created_by: "ann".into(),
    };
    let id = silence.id;
    let writes: [BoxFuture<()>; 4] = [
        Box::pin({
            let engine = engine.clone();
            async move { engine.put_group(group, "ann").await.unwrap() }
        }),
        Box::pin({
            let engine = engine.clone();
            async move { assert!(engine.put_silence(silence, "ann").await.unwrap()) }
        }),
        Box::pin({
            let engine = engine.clone();
            async move { assert!(engine.end_silence(id, "ann").await.unwrap()) }
        }),
        Box::pin({
            let engine = engine.clone();
            async move { assert!(engine.delete_group("family", "ann").await.unwrap()) }
        }),
    ];
    let mut follower = follow(&story, None).unwrap();
    for (write, expect) in
        writes.into_iter().zip(["group.changed", "silence.created", "silence.deleted", "group.changed"])
    {
        story.run(write);
        let clock = engine.clock().clone();
        let kinds;
        (follower, kinds) = story.run(async move {
            let page = tokio::select! { biased;
                page = follower.next() => Some(page.unwrap()),
                () = clock.pause(std::time::Duration::from_secs(1)) => None,
            };
            let kinds: Vec<String> =
                page.iter().flat_map(|page| page.entries.iter().map(|entry| entry.kind.clone())).collect();
            (follower, kinds)
        });
        assert_eq!(kinds, [expect]);
    }
}
