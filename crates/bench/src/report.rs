//! The report that is printed.

use jiff::SignedDuration;
use serde_json::{Map, Value};

/// One workload's numbers, for people and for programs.
pub(super) struct Report {
    title: String,
    tables: Vec<Table>,
    notes: Vec<String>,
    json: Map<String, Value>,
}

impl Report {
    pub(super) fn new(workload: &str, title: impl Into<String>) -> Self {
        let json = Map::from_iter([("workload".to_owned(), Value::from(workload))]);
        Self { title: title.into(), tables: Vec::new(), notes: Vec::new(), json }
    }

    pub(super) fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// A sentence below the tables.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// A field of the JSON document.
    pub(super) fn field(&mut self, name: &str, value: impl Into<Value>) {
        self.json.insert(name.to_owned(), value.into());
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for table in &self.tables {
            text.push('\n');
            text.push_str(&table.render());
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(note);
            text.push('\n');
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        Value::Object(self.json.clone())
    }
}

/// Names on the left, numbers under their headers.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Self { header: header.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn render(&self) -> String {
        let lines: Vec<&Vec<String>> = std::iter::once(&self.header).chain(&self.rows).collect();
        let n_columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let width = |column: usize| {
            lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..n_columns).map(width).collect();
        let mut text = String::new();
        for line in lines {
            let mut out = String::from(" ");
            for (column, cell) in line.iter().enumerate() {
                let fill = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
                if column == 0 {
                    out.push_str(&format!(" {cell}{fill}"));
                } else {
                    out.push_str(&format!("  {fill}{cell}"));
                }
            }
            text.push_str(out.trim_end());
            text.push('\n');
        }
        text
    }
}

/// With the digits that matter: `0.084 ms`, `3.21 ms`, `1,234 ms`.
pub(super) fn milliseconds(span: SignedDuration) -> String {
    let millis = span.as_secs_f64() * 1e3;
    match millis.abs() {
        size if size < 1.0 => format!("{millis:.3} ms"),
        size if size < 10.0 => format!("{millis:.2} ms"),
        size if size < 100.0 => format!("{millis:.1} ms"),
        _ => format!("{} ms", thousands(millis.round() as i64)),
    }
}

/// How many a second: `12,345/s`.
pub(super) fn per_second(rate: f64) -> String {
    format!("{}/s", thousands(rate.round() as i64))
}

/// How many of something happened in a second, when `count` took `span`.
pub(super) fn rate(count: usize, span: SignedDuration) -> f64 {
    count as f64 / span.as_secs_f64().max(1e-9)
}

/// `12345` as `12,345`.
pub(super) fn thousands(number: impl Into<i64>) -> String {
    let number: i64 = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its thousands set apart.
pub(super) fn count(number: usize) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(-1_234_567), "-1,234,567");
        assert_eq!(per_second(12_345.6), "12,346/s");
        assert_eq!(milliseconds(SignedDuration::from_micros(84)), "0.084 ms");
        assert_eq!(milliseconds(SignedDuration::from_micros(3_214)), "3.21 ms");
        assert_eq!(milliseconds(SignedDuration::from_micros(1_234_567)), "1,235 ms");
        assert_eq!(rate(500, SignedDuration::from_millis(250)), 2_000.0);
    }

    #[test]
    fn columns_align() {
        let mut table = Table::new(["", "p50", "max"]);
        table.row(["punctual", "0.1 ms", "12.0 ms"].map(str::to_owned));
        table.row(["the limit", "–", "3 ms"].map(str::to_owned));
        assert_eq!(
            table.render(),
            "                p50      max\n  punctual   0.1 ms  12.0 ms\n  the limit       –     3 ms\n"
        );
    }
}
