//! Claiming: urgent first, earliest first, and never what another holds.

use jiff::civil::time;
use punctual_core::change::{Change, Patch};
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::phrase::Lang;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Priority, Reminder};
use punctual_core::store::Claim;
use punctual_core::user::{Except, Person, QuietHours, User};
use punctual_core::zone::Zone;

use super::desk::{Desk, LEASE, asking, at, failed, once, run, taken};

rules!(
    the_most_urgent_come_first_and_then_the_earliest,
    a_claim_writes_the_attempt_before_the_send,
    a_leased_run_is_not_claimed_again,
    a_claim_keeps_to_its_window_and_its_limit,
    a_claim_can_be_about_certain_reminders,
    only_what_is_to_be_sent_is_claimed_ahead,
    runs_whose_moment_has_not_come_hide_no_due_run,
    a_claim_knows_the_person,
    a_reminder_without_addresses_goes_to_its_user_and_else_to_the_fallback,
    the_users_addresses_come_after_the_reminders_own_unless_it_says_only,
    a_reminder_that_nobody_can_receive_any_more_fails,
);

async fn the_most_urgent_come_first_and_then_the_earliest(desk: Desk) {
    let of = |number, second, priority| Reminder { priority, ..once(number, second) };
    let low = of(1, 5, Priority::Low);
    let normal = of(2, 30, Priority::Normal);
    let normal_earlier = of(3, 20, Priority::Normal);
    let critical = of(4, 40, Priority::Critical);
    let high = of(5, 10, Priority::High);
    desk.create(&[&low, &normal, &normal_earlier, &critical, &high]).await;
    let order: Vec<_> = desk.claim(60).await.to_send.iter().map(|claimed| claimed.before.id.reminder).collect();
    assert_eq!(order, [critical.id, high.id, normal_earlier.id, normal.id, low.id]);
}

async fn a_claim_writes_the_attempt_before_the_send(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let claims = desk.claim(10).await;
    let claimed = &claims.to_send[0];
    assert_eq!((claims.n_taken, claimed.lease, claimed.attempt(), claimed.wake_at), (1, 1, 1, at(10)));
    assert_eq!(claimed.lease_until, at(10) + LEASE);
    assert_eq!((*claimed.reminder).clone(), reminder);
    let trail = desk.trail(run(&reminder, 1)).await;
    assert_eq!(trail.occurrence.state.kind(), StateKind::Processing);
    let attempt = &trail.attempts[0];
    assert_eq!((attempt.number, attempt.status, attempt.started_at), (1, AttemptStatus::Sending, at(10)));
    assert_eq!((attempt.channel.as_str(), attempt.address.as_str(), attempt.ended_at), ("phone", "ann", None));
}

async fn a_leased_run_is_not_claimed_again(desk: Desk) {
    desk.create(&[&once(1, 10)]).await;
    assert_eq!(desk.claim(10).await.to_send.len(), 1);
    for now in [10, 11, 24] {
        let claims = desk.claim(now).await;
        assert_eq!((claims.to_send.len(), claims.n_taken), (0, 0), "at second {now}");
    }
}

async fn a_claim_keeps_to_its_window_and_its_limit(desk: Desk) {
    let all: Vec<Reminder> = (1..=6).map(|number| once(number, 10 * i64::from(number))).collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let taken = |claims: punctual_core::store::Claims| {
        claims.to_send.iter().map(|claimed| claimed.wake_at.as_second() - at(0).as_second()).collect::<Vec<_>>()
    };
    assert_eq!(taken(desk.claim_between(60, 20, 40, 2).await), [20, 30]);
    assert_eq!(taken(desk.claim_between(60, 20, 40, 2).await), [40]);
    assert_eq!(taken(desk.claim_between(60, 20, 40, 2).await), Vec::<i64>::new());
    assert_eq!(taken(desk.claim(60).await), [10, 50, 60]);
}

async fn a_claim_can_be_about_certain_reminders(desk: Desk) {
    let asked = asking(once(4, 5), 1);
    desk.create(&[&asked]).await;
    desk.deliver(5).await;
    let urgent = Reminder { priority: Priority::Critical, ..once(3, 50) };
    let all = [once(1, 10), once(2, 20), urgent, once(5, 30), once(6, 90)];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let ids = |claims: &punctual_core::store::Claims| {
        claims.to_send.iter().map(|claimed| claimed.before.id.reminder).collect::<Vec<_>>()
    };
    let nobody = once(9, 1).id;
    let wanted = vec![all[0].id, all[2].id, all[3].id, all[4].id, asked.id, nobody];
    let claims = desk.claim_only(60, wanted.clone(), 100).await;
    assert_eq!(ids(&claims), [all[2].id, all[0].id, all[3].id], "urgent first, and nothing that is not due yet");
    assert_eq!(claims.not_before, [], "an answer that is waited for is not its business");
    assert_eq!(ids(&desk.claim_only(60, wanted, 100).await), [], "another has them");
    assert_eq!(ids(&desk.claim_only(60, vec![], 100).await), []);
    assert_eq!(ids(&desk.claim(60).await), [all[1].id], "the others are left alone");
}

async fn only_what_is_to_be_sent_is_claimed_ahead(desk: Desk) {
    let asked = asking(once(1, 10), 1);
    let (leased, ahead) = (once(2, 57), once(3, 71));
    desk.create(&[&asked, &leased, &ahead]).await;
    desk.deliver(10).await;
    assert_eq!(desk.states(asked.id).await, [(StateKind::AwaitingAck, 10)]);
    desk.claim_one(57).await;

    // The answer may come until second 70, the lease lasts until 72, and second 71 may be claimed ahead of time.
    let claims = desk.claim_between(60, 0, 75, 100).await;
    let ids: Vec<_> = claims.to_send.iter().map(|claimed| claimed.before.id).collect();
    assert_eq!((ids, claims.n_taken), (vec![run(&ahead, 1)], 1));
    assert_eq!(claims.not_before, [at(70), at(72)], "each of them must be looked at when it comes");

    let claims = desk.claim(70).await;
    assert_eq!(claims.to_send[0].before.id, run(&asked, 1), "asked again");
    assert!(claims.not_before.is_empty());
}

async fn runs_whose_moment_has_not_come_hide_no_due_run(desk: Desk) {
    let urgent = |number| Reminder { priority: Priority::Critical, ..asking(once(number, 10), 1) };
    let asked: Vec<Reminder> = (1..=5).map(urgent).collect();
    let plain = once(9, 71);
    desk.create(&asked.iter().chain([&plain]).collect::<Vec<_>>()).await;
    let claims = desk.claim(10).await;
    for claimed in &claims.to_send {
        desk.settle(claimed, taken(), 10).await;
    }
    // Five questions wait until second 70 and would fill a claim of three.
    let claims = desk.claim_between(60, 0, 75, 3).await;
    assert_eq!(claims.to_send.iter().map(|c| c.before.id).collect::<Vec<_>>(), [run(&plain, 1)]);
    assert_eq!(claims.not_before, [at(70)]);
    // And when their time has come, none is forgotten.
    assert_eq!(desk.claim_between(70, 0, 70, 3).await.n_taken, 3);
    assert_eq!(desk.claim_between(70, 0, 70, 3).await.n_taken, 2);
}

async fn a_claim_knows_the_person(desk: Desk) {
    let zone = Zone::named("Europe/Zagreb").expect("a real zone");
    let quiet = QuietHours { from: time(3, 0, 0, 0), to: time(4, 0, 0, 0), except: Except::High, digest: true };
    let ann = User {
        id: "ann".into(),
        timezone: Some(zone.clone()),
        language: Some("de-AT".into()),
        addresses: vec![],
        quiet_hours: Some(quiet),
        paused_until: Some(at(5)),
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    };
    let bob = User { id: "bob".into(), timezone: None, language: Some("tlh".into()), quiet_hours: None, ..ann.clone() };
    desk.store.put_user(ann, "ann".into()).await.expect("the store works");
    desk.store.put_user(bob, "ann".into()).await.expect("the store works");
    let of = |number, user: &str| Reminder { user: user.into(), ..once(number, 10 * i64::from(number)) };
    // With addresses of their own, too.
    desk.create(&[&of(1, "ann"), &of(2, "bob"), &of(3, "stranger")]).await;
    let people: Vec<_> = desk.claim(30).await.to_send.iter().map(|claimed| (*claimed.person).clone()).collect();
    let (paused_until, language) = (Some(at(5)), Some(Lang::De));
    let known = Person { language, timezone: Some(zone), quiet: Some(quiet), paused_until, escalate: Vec::new() };
    assert_eq!(people, [known, Person { paused_until, ..Person::default() }, Person::default()]);
}

async fn a_reminder_without_addresses_goes_to_its_user_and_else_to_the_fallback(desk: Desk) {
    let user = User {
        id: "bob".into(),
        timezone: None,
        language: None,
        addresses: vec![Address::new("mail", "bob"), Address::new("phone", "bob")],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    };
    desk.store.put_user(user.clone(), "ann".into()).await.expect("the store works");
    let bobs = Reminder { user: "bob".into(), to: vec![], ..once(1, 10) };
    let nobodys = Reminder { user: "carol".into(), to: vec![], ..once(2, 20) };
    desk.create(&[&bobs, &nobodys]).await;
    let claimed = desk.claim(20).await.to_send;
    assert_eq!(claimed[0].route, user.addresses);
    assert_eq!(claimed[1].route, [Address::new("console", "")]);
}

fn bob(addresses: Vec<Address>) -> User {
    User {
        id: "bob".into(),
        timezone: None,
        language: None,
        addresses,
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn the_users_addresses_come_after_the_reminders_own_unless_it_says_only(desk: Desk) {
    let (mail, phone, sms) = (Address::new("mail", "bob"), Address::new("phone", "bob"), Address::new("sms", "bob"));
    desk.store.put_user(bob(vec![mail.clone(), phone.clone()]), "ann".into()).await.expect("the store works");
    let of = |number, to: &[&Address], only| Reminder {
        user: "bob".into(),
        to: to.iter().map(|address| (*address).clone()).collect(),
        only,
        retries_max: 0,
        ..once(number, 10 * i64::from(number))
    };
    let all = [of(1, &[&sms], false), of(2, &[&phone, &sms], false), of(3, &[&sms], true)];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let routes: Vec<_> = desk.claim(30).await.to_send.into_iter().map(|claimed| claimed.route).collect();
    assert_eq!(routes[0], [sms.clone(), mail.clone(), phone.clone()]);
    assert_eq!(routes[1], [phone.clone(), sms.clone(), mail.clone()], "each once");
    assert_eq!(routes[2], std::slice::from_ref(&sms));
    assert_eq!(desk.view(all[2].id).await.reminder, all[2], "what was asked for is kept");

    let (tried, changed) = (of(4, &[&sms], false), of(5, &[&sms], false));
    desk.create(&[&tried, &changed]).await;
    for expect in [&sms, &mail, &phone] {
        let claimed = desk.claim_only(40, vec![tried.id], 1).await.to_send.remove(0);
        assert_eq!(claimed.to(), expect, "one after the other");
        let said = if *expect == phone { taken() } else { failed() };
        desk.settle(&claimed, said, 40).await;
    }
    assert_eq!(desk.states(tried.id).await, [(StateKind::Delivered, 40)]);
    let only = Patch { only: Some(true), ..Patch::default() };
    desk.change(changed.id, Change::Update(Box::new(only)), 41).await;
    let claimed = desk.claim_only(50, vec![changed.id], 1).await.to_send.remove(0);
    assert_eq!(claimed.route, std::slice::from_ref(&sms));
    desk.settle(&claimed, failed(), 50).await;
    assert_eq!(desk.states(changed.id).await, [(StateKind::Failed, 50)]);
}

async fn a_reminder_that_nobody_can_receive_any_more_fails(desk: Desk) {
    desk.store.put_user(bob(vec![Address::new("mail", "bob")]), "ann".into()).await.expect("the store works");
    let of = |number, user: &str, priority| Reminder { user: user.into(), to: vec![], priority, ..once(number, 10) };
    let (normal, critical) = (of(1, "bob", Priority::Normal), of(2, "bob", Priority::Critical));
    let mine = of(3, "me", Priority::Normal);
    desk.create(&[&normal, &critical, &mine]).await;
    desk.store.put_user(bob(vec![]), "ann".into()).await.expect("the store works");
    let console = Address::new("console", "");
    let default_channel = DefaultChannel { address: console.clone(), is_chosen: false };
    let claims =
        desk.store.claim(Claim { default_channel: default_channel.clone(), ..Desk::claim_of(10, 0, 10, 10) }).await;
    let claims = claims.expect("the store works");
    assert_eq!(claims.ended, [StateKind::Failed, StateKind::Failed]);
    let sent: Vec<_> = claims.to_send.iter().map(|claimed| (claimed.reminder.id, claimed.route.clone())).collect();
    assert_eq!(sent, [(mine.id, vec![console.clone()])]);
    for reminder in [&normal, &critical] {
        let trail = desk.trail(run(reminder, 1)).await;
        assert!(trail.attempts.is_empty(), "nothing was sent");
        let error = trail.occurrence.state.error().unwrap_or_default().to_owned();
        assert!(error.contains("nobody can receive it"), "{error}");
    }
    let claims = desk.store.claim(Claim { default_channel, ..Desk::claim_of(10, 0, 10, 10) }).await;
    let alert = claims.expect("the store works").to_send.remove(0);
    assert_eq!(alert.reminder.created_via, punctual_core::alert::VIA, "of the critical one somebody is told");
    assert_eq!(alert.route, [console]);
    assert!(alert.reminder.message.contains("nobody can receive it"), "{}", alert.reminder.message);
}
