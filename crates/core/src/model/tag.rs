//! Words by which reminders are found and silenced together.

use crate::invalid::{Faults, Invalid};

/// The most tags one reminder has.
pub const TAGS_MAX: usize = 16;
/// The longest tag.
pub const TAG_BYTES_MAX: usize = 64;

/// Tags as they are kept: in lower case, without blanks around them, in order, each once.
pub fn kept(tags: Vec<String>) -> Vec<String> {
    let mut tags: Vec<String> = tags.iter().map(|tag| one(tag)).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// One tag as it is kept.
pub fn one(tag: &str) -> String {
    tag.trim().to_lowercase()
}

/// Checks the tags in `field`, as they are kept or as they are given.
pub fn check(field: &str, tags: &[String]) -> Result<(), Invalid> {
    if tags.len() > TAGS_MAX {
        return Err(Invalid::new(field, format!("has {} tags; at most {TAGS_MAX}", tags.len())));
    }
    let mut faults = Faults::default();
    for (index, tag) in tags.iter().enumerate() {
        faults.note(check_one(&format!("{field}[{index}]"), tag));
    }
    faults.finish()
}

/// Checks the tag in `field`.
pub fn check_one(field: &str, tag: &str) -> Result<(), Invalid> {
    let tag = one(tag);
    if tag.is_empty() {
        return Err(Invalid::new(field, "is empty; write a word such as health"));
    }
    if tag.len() > TAG_BYTES_MAX {
        return Err(Invalid::new(field, format!("is {} bytes long; at most {TAG_BYTES_MAX} are accepted", tag.len())));
    }
    if tag.chars().any(|c| c == ',' || c.is_control()) {
        return Err(Invalid::new(field, "has a comma or a control character; write one word, such as health"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn tags_are_kept_in_order_and_once() {
        assert_eq!(kept(list(&[" Home", "chores", "HOME ", "Čišćenje"])), ["chores", "home", "čišćenje"]);
        assert_eq!(kept(Vec::new()), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_tag_is_named() {
        let long = "x".repeat(65);
        for (tags, expect) in [
            (list(&["a", " "]), "tags[1]: is empty; write a word such as health"),
            (list(&["a,b"]), "tags[0]: has a comma or a control character; write one word, such as health"),
            (list(&["a\nb"]), "tags[0]: has a comma or a control character; write one word, such as health"),
            (list(&[&long]), "tags[0]: is 65 bytes long; at most 64 are accepted"),
            (vec!["a".to_owned(); 17], "tags: has 17 tags; at most 16"),
        ] {
            assert_eq!(check("tags", &tags).unwrap_err().to_string(), expect);
        }
        assert!(check("tags", &list(&[&"x".repeat(64), "two words", "čišćenje"])).is_ok());
    }
}
