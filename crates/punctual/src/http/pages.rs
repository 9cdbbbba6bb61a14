//! Pages of a list, bounded in bytes as well as in number.
//!
//! Items differ in size by a factor of a thousand, so a page of five hundred may be a hundred megabytes. A page therefore also ends where it is large
//! enough, and is read in steps, so that no more is read from the store than about fits.

use std::future::Future;

use punctual_core::reminder::Reminder;
use punctual_core::store::StoreError;

/// A page ends with the item that makes it larger than this.
const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// How many items are read before it is known how large they are: those of a page of the usual limit, and one more.
const FIRST_STEP: usize = 51;
/// An item's size beside its texts.
const ITEM_BYTES: usize = 512;

/// Reads up to `limit` items with `read`, which takes the cursor to begin at and how many. Returns the items, and the cursor of the next
/// page if there is one.
pub(super) async fn read_page<T, C, Reading>(
    limit: usize,
    mut at: Option<C>,
    read: impl Fn(Option<C>, usize) -> Reading,
    bytes_of: impl Fn(&T) -> usize,
    cursor: impl Fn(&T) -> C,
) -> Result<(Vec<T>, Option<C>), StoreError>
where
    Reading: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut items: Vec<T> = Vec::new();
    let (mut bytes, mut fits) = (0, FIRST_STEP);
    loop {
        // One more than wanted tells whether there is a next page.
        let step = (limit - items.len() + 1).min(fits);
        let found = read(at, step).await?;
        let is_last = found.len() < step;
        for item in found {
            if let Some(last) = items.last()
                && (items.len() >= limit || bytes >= PAGE_BYTES_MAX)
            {
                let next = Some(cursor(last));
                return Ok((items, next));
            }
            bytes += ITEM_BYTES + bytes_of(&item);
            items.push(item);
        }
        if is_last {
            return Ok((items, None));
        }
        at = items.last().map(&cursor);
        fits = PAGE_BYTES_MAX.saturating_sub(bytes) / (bytes / items.len().max(1)).max(1) + 1;
    }
}

/// About how many bytes the texts of a reminder take.
pub(super) fn bytes_of(reminder: &Reminder) -> usize {
    let original = reminder.original_text.as_ref().map_or(0, String::len);
    let to: usize = reminder.to.iter().map(|to| to.address.len()).sum();
    reminder.message.len() + reminder.metadata.as_str().len() + original + to
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Pages of a list of `n` items of `bytes` each: how many items each has, and in which steps they were read.
    async fn pages(n: usize, bytes: usize, limit: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut sizes, steps) = (Vec::new(), RefCell::new(Vec::new()));
        let (mut at, mut expected) = (None, 0);
        loop {
            let read = |at: Option<usize>, step: usize| {
                steps.borrow_mut().push(step);
                let from = at.map_or(0, |at| at + 1);
                std::future::ready(Ok((from..n.min(from + step)).collect()))
            };
            let (items, next) = read_page(limit, at, read, |_| bytes, |item: &usize| *item).await.unwrap();
            assert_eq!(items, (expected..expected + items.len()).collect::<Vec<_>>());
            expected += items.len();
            sizes.push(items.len());
            match next {
                Some(_) => at = next,
                None => break,
            }
        }
        assert_eq!(expected, n, "all are listed, once");
        (sizes, steps.into_inner())
    }

    #[tokio::test]
    async fn a_page_ends_by_number_or_by_size() {
        assert_eq!(pages(0, 10, 50).await, (vec![0], vec![51]));
        assert_eq!(pages(50, 10, 50).await, (vec![50], vec![51]));
        assert_eq!(pages(51, 10, 50).await, (vec![50, 1], vec![51, 51]));
        assert_eq!(pages(700, 10, 500).await, (vec![500, 200], vec![51, 450, 51, 450]));
        // A hundred and thirty kilobytes each: eight make more than a megabyte.
        let (sizes, steps) = pages(100, 130 * 1024, 500).await;
        assert_eq!(sizes, [vec![8; 12], vec![4]].concat());
        assert!(steps.iter().all(|step| *step <= 51), "{steps:?}");
        // One that is larger than a page is a page.
        assert_eq!(pages(3, 2 * 1024 * 1024, 500).await.0, vec![1, 1, 1]);
    }
}
