//! The parts of a text that are never a time: addresses, paths, versions, phone numbers, money.

/// Where they are, from left to right.
pub(super) struct Masks {
    spans: Vec<(usize, usize)>,
    /// The first that is not yet behind.
    next: usize,
}

impl Masks {
    /// Finds them in `text`.
    pub(super) fn of(text: &str) -> Self {
        let mut spans = Vec::new();
        let mut start = 0;
        for chunk in text.split(char::is_whitespace) {
            if is_address(chunk)
                || is_version(chunk)
                || is_dashed_phone(chunk)
                || is_money(chunk)
                || is_around_the_clock(chunk)
            {
                spans.push((start, start + chunk.len()));
            } else if let Some(length) = phone(&text[start..]).or_else(|| spaced_phone(&text[start..])) {
                spans.push((start, start + length));
            }
            start += chunk.len();
            start += text[start..].chars().next().map_or(0, char::len_utf8);
        }
        Self { spans, next: 0 }
    }

    /// Whether what begins at `at` is in one of them. Asked from left to right.
    pub(super) fn covers(&mut self, at: usize) -> bool {
        while self.spans.get(self.next).is_some_and(|(_, end)| *end <= at) {
            self.next += 1;
        }
        self.spans.get(self.next).is_some_and(|(start, _)| *start <= at)
    }
}

/// `https://…`, `www.…`, `me@example.com`, `/etc/hosts`, `C:\\x`.
fn is_address(chunk: &str) -> bool {
    let chunk = chunk.trim_start_matches(['(', '<', '"', '„', '“']);
    if chunk.contains("://") || chunk.starts_with("www.") || chunk.contains('\\') {
        return true;
    }
    if ["./", "../", "~/"].iter().any(|start| chunk.starts_with(start)) {
        return true;
    }
    let is_path = chunk.len() > 1 && chunk.starts_with('/') && chunk[1..].starts_with(|c: char| c.is_alphabetic());
    let is_mail = chunk.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && host.starts_with(|c: char| c.is_alphabetic())
    });
    is_path || is_mail
}

/// `v1.2.3`, `10.0.0.1`.
fn is_version(chunk: &str) -> bool {
    let chunk = chunk.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    let (numbers, is_named) = match chunk.strip_prefix(['v', 'V']) {
        Some(rest) => (rest, true),
        None => (chunk, false),
    };
    let parts = numbers.split('.').filter(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let n_parts = parts.count();
    // No date has a zero: 2.0.1.
    let has_zero = numbers.split('.').any(|part| part == "0");
    let enough = if is_named {
        1
    } else if has_zero {
        3
    } else {
        4
    };
    // A year has two figures or four: 5.10.2.
    let is_dated = numbers.rsplit('.').next().is_some_and(|last| matches!(last.len(), 2 | 4));
    let enough = if n_parts == 3 && !is_dated { 3 } else { enough };
    n_parts == numbers.split('.').count() && n_parts >= enough
}

/// `24/7`, which is always, and no date.
fn is_around_the_clock(chunk: &str) -> bool {
    let chunk = chunk.trim_start_matches(['(', '"', '„', '“', '\'']);
    chunk
        .strip_prefix("24/7")
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '/' | '.')) || rest == ".")
}

/// `$20`, `€5.50`.
fn is_money(chunk: &str) -> bool {
    chunk.strip_prefix(['$', '€', '£']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `555-123-4567`, `555-1234`.
fn is_dashed_phone(chunk: &str) -> bool {
    let chunk = chunk.trim_end_matches(['.', ',', ';', '!', '?']);
    let lengths: Vec<usize> = chunk.split('-').take(5).map(|part| digits(part).unwrap_or(0)).collect();
    matches!(lengths.as_slice(), [3, 4] | [3, 3, 4] | [1, 3, 3, 4] | [3, 3, 3])
}

/// How many digits a text has that has nothing else.
fn digits(text: &str) -> Option<usize> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then_some(text.len())
}

/// How long the number with a `+` is that `text` begins with: `+49 170 1234567`.
fn phone(text: &str) -> Option<usize> {
    const DIGITS_MIN: usize = 8;
    let rest = text.strip_prefix('+')?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ' ' | '-' | '/' | '(' | ')' | '.')));
    let number = rest[..end.unwrap_or(rest.len())].trim_end_matches([' ', '-', '/', '(', '.']);
    let n_digits = number.bytes().filter(u8::is_ascii_digit).count();
    (DIGITS_MIN..=16).contains(&n_digits).then_some(number.len() + 1)
}

/// How long the number in groups is that `text` begins with: `06 12 34 56 78`, `600 123 456`.
fn spaced_phone(text: &str) -> Option<usize> {
    const DIGITS_MIN: usize = 9;
    const GROUPS_MAX: usize = 6;
    let is_group = |group: &&str| group.len() > 1 && group.bytes().all(|byte| byte.is_ascii_digit());
    let groups: Vec<&str> = text.split(' ').take(GROUPS_MAX).take_while(is_group).collect();
    let first = groups.first()?;
    let n_digits: usize = groups.iter().map(|group| group.len()).sum();
    let is_year = |group: &&str| group.len() == 4 && (group.starts_with("19") || group.starts_with("20"));
    let is_even = groups.len() == 3 && groups.iter().all(|group| group.len() == 3);
    let is_number = groups.len() > 1 && (first.starts_with('0') || is_even) && !groups.iter().any(is_year);
    (is_number && n_digits >= DIGITS_MIN).then_some(n_digits + groups.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_or_a_number_to_call_is_never_a_time() {
        for text in [
            "https://example.com/2026/03/04",
            "www.example.com",
            "ann.12@example.com",
            "/var/log/2026-03-04",
            "v2.10.30",
            "10.0.0.1",
            "2.0.1",
            "+385 91 234 5678",
            "555-123-4567",
            "06 12 34 56 78",
            "0171 1234567",
            "600 123 456",
            "$20",
            "€5.50",
            "5.10.2",
            "24/7",
            "(24/7)",
            "24/7-Hotline",
        ] {
            assert!(Masks::of(text).covers(0), "{text}");
        }
        for text in [
            "05 06 2026 10",
            "10 20 30",
            "12.03.2026",
            "10:30",
            "2026-03-04",
            "22/feb/2026",
            "mon/wed",
            "+5 minutes",
            "10-12",
            "@8",
            "3.4",
            "24/7/2026",
            "24/07",
            "12.03.26",
        ] {
            assert!(!Masks::of(text).covers(0), "{text}");
        }
    }
}
