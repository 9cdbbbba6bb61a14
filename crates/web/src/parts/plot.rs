//! Plots, drawn as SVG without any text in them: the words stand beside, so that they stay readable on a phone, and every number is there as text too.

use maud::{Markup, html};

/// How high a plot is, in its own units. Its width is one unit for each part.
const HEIGHT: f64 = 100.0;

/// One bar in a row of a table: `part` of `whole`.
pub(crate) fn bar(part: u64, whole: u64, class: &str) -> Markup {
    let width = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    // What is there at all is seen.
    let width = if part > 0 { width.max(0.8) } else { 0.0 };
    html! {
        svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect class=(class) x="0" y="0" width=(format!("{width:.1}")) height="10" {}
        }
    }
}

/// Bars over time: `n` places, some of which have a value; each is a stack of a good and a bad part.
pub(crate) fn bars(n: usize, values: &[(usize, u64, u64)]) -> Markup {
    let most = values.iter().map(|(_, good, bad)| good + bad).max().unwrap_or(0).max(1) as f64;
    let height = |value: u64| if value == 0 { 0.0 } else { (value as f64 * HEIGHT / most).max(1.5) };
    // One shape for all bars of a kind: a day has 96 of them, and an element for each would be a third of its page.
    let (mut goods, mut bads) = (String::new(), String::new());
    for (place, good, bad) in values {
        let (good, bad) = (height(*good), height(*bad));
        goods.push_str(&bar_of(*place, bad, good));
        bads.push_str(&bar_of(*place, 0.0, bad));
    }
    html! {
        svg.plot viewBox=(format!("0 0 {n} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            path.good d=(goods) {}
            @if !bads.is_empty() { path.bad d=(bads) {} }
        }
    }
}

/// One bar of [`bars`] that stands so far above the ground. Nothing is drawn of nothing.
fn bar_of(place: usize, above: f64, height: f64) -> String {
    if height == 0.0 {
        return String::new();
    }
    format!("M{place}.1 {:.1}v-{height:.1}h.8v{height:.1}z", HEIGHT - above)
}

/// A line as small as a word: how a value went, on a scale of powers of ten. The number beside it says what matters.
pub(crate) fn spark(values: &[f64]) -> Markup {
    let scale = Scale::of(values.iter());
    let step = 72.0 / (values.len().max(2) - 1) as f64;
    let point =
        |(index, ms): (usize, &f64)| format!("{:.1},{:.1}", index as f64 * step, scale.y(*ms) / HEIGHT * 14.0 + 2.0);
    let points: Vec<String> = values.iter().enumerate().map(point).collect();
    html! {
        svg.spark viewBox="0 0 72 18" width="72" height="18" aria-hidden="true" focusable="false" { polyline points=(points.join(" ")) {} }
    }
}

/// One line of [`lines`]: its class, and its values in milliseconds by place.
pub(crate) struct Line<'a> {
    pub(crate) class: &'a str,
    pub(crate) values: Vec<(usize, f64)>,
}

/// The scale of a plot of milliseconds: powers of ten around all values.
pub(crate) struct Scale {
    from: i32,
    to: i32,
}

impl Scale {
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a f64>) -> Self {
        let (mut least, mut most) = (f64::MAX, f64::MIN);
        for value in values {
            (least, most) = (least.min(value.max(0.01)), most.max(value.max(0.01)));
        }
        if least > most {
            return Self { from: 0, to: 3 };
        }
        let (from, to) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        Self { from, to: to.max(from + 1) }
    }

    /// The powers of ten, the highest first.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        (self.from..=self.to).rev().map(|power| 10_f64.powi(power)).collect()
    }

    fn y(&self, ms: f64) -> f64 {
        let part = (ms.max(0.01).log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        HEIGHT - part.clamp(0.0, 1.0) * HEIGHT
    }
}

/// Lines over time on a scale of powers of ten. A line has a gap where a part has no value.
pub(crate) fn lines(n: usize, scale: &Scale, lines: &[Line<'_>]) -> Markup {
    html! {
        svg.plot.tall viewBox=(format!("0 0 {n} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            @for tick in scale.ticks() {
                path.grid d=(format!("M0 {y:.2}H{n}", y = scale.y(tick))) vector-effect="non-scaling-stroke" {}
            }
            @for line in lines {
                path class=(line.class) d=(path(scale, &line.values)) vector-effect="non-scaling-stroke" {}
            }
        }
    }
}

/// A step for each part; neighbours are joined.
fn path(scale: &Scale, values: &[(usize, f64)]) -> String {
    let mut path = String::new();
    let mut before: Option<usize> = None;
    for (place, ms) in values {
        let y = scale.y(*ms);
        let begin = if before.is_some_and(|before| before + 1 == *place) { 'L' } else { 'M' };
        path.push_str(&format!("{begin}{place} {y:.2}H{}", place + 1));
        before = Some(*place);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_powers_of_ten_around_the_values() {
        let scale = Scale::of([0.4, 220.0].iter());
        assert_eq!(scale.ticks(), [1000.0, 100.0, 10.0, 1.0, 0.1]);
        assert_eq!((scale.y(1000.0), scale.y(0.1)), (0.0, HEIGHT));
        assert_eq!(Scale::of([].iter()).ticks().len(), 4);
        assert_eq!(Scale::of([1.0].iter()).ticks(), [10.0, 1.0], "one value has a scale too");
    }

    #[test]
    fn a_bar_stands_on_the_one_below_it_and_nothing_is_drawn_of_nothing() {
        let drawn = bars(4, &[(0, 3, 1), (2, 0, 0), (3, 4, 0)]).into_string();
        assert!(drawn.contains(r#"class="good" d="M0.1 75.0v-75.0h.8v75.0zM3.1 100.0v-100.0h.8v100.0z""#), "{drawn}");
        assert!(drawn.contains(r#"class="bad" d="M0.1 100.0v-25.0h.8v25.0z""#), "{drawn}");
        assert!(!bars(4, &[(1, 2, 0)]).into_string().contains("bad"));
    }

    #[test]
    fn a_line_has_a_gap_where_nothing_was_sent() {
        let scale = Scale { from: 0, to: 2 };
        assert_eq!(path(&scale, &[(0, 1.0), (1, 10.0), (5, 100.0)]), "M0 100.00H1L1 50.00H2M5 0.00H6");
    }
}
