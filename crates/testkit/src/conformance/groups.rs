//! People who belong together.

use punctual_core::group::{Group, Mode};

use super::desk::{Desk, at};

rules!(groups_are_kept_and_replaced);

pub(super) fn group(name: &str, users: &[&str]) -> Group {
    let users = users.iter().map(|user| (*user).to_owned()).collect();
    Group { name: name.into(), mode: Mode::InOrder, users, rota: None, shifts: vec![], created_at: at(1), updated_at: at(1) }
}

async fn groups_are_kept_and_replaced(desk: Desk) {
    let store = &desk.store;
    let (family, on_call) = (group("family", &["zoe", "ann"]), group("on-call", &["bob"]));
    for group in [&on_call, &family] {
        store.put_group(group.clone(), "ann".into()).await.expect("the store works");
    }
    assert_eq!(store.groups(None, 10).await.expect("the store works"), [family.clone(), on_call.clone()]);
    assert_eq!(store.groups(Some("family".into()), 10).await.expect("the store works"), std::slice::from_ref(&on_call));
    assert_eq!(store.groups(None, 1).await.expect("the store works"), std::slice::from_ref(&family));
    let named = |names: &[&str]| store.groups_of(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(named(&["nobody", "family"]).await.expect("the store works"), [family]);
    assert_eq!(named(&[]).await.expect("the store works"), []);

    let changed = Group { mode: Mode::All, users: vec!["eve".into(), "bob".into()], updated_at: at(2), ..on_call };
    store.put_group(changed.clone(), "ann".into()).await.expect("the store works");
    assert_eq!(named(&["on-call"]).await.expect("the store works"), [changed]);
    assert_eq!(store.delete_group("on-call", "ann".into(), at(3)).await.expect("the store works"), Some(vec![]));
    assert_eq!(store.delete_group("on-call", "ann".into(), at(3)).await.expect("the store works"), None);
    assert_eq!(named(&["on-call"]).await.expect("the store works"), []);
}
