//! Values along an order, on an axis of powers of ten.

use maud::{Markup, html};

use super::scale::Decades;

/// The verdict of a point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// It is as it should be.
    Good,
    /// It is not.
    Wrong,
    /// Nobody can say.
    Unknown,
}

impl State {
    /// The class of its colours.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Wrong => "bad",
            Self::Unknown => "open",
        }
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value; a point without one is a mark on the axis.
    pub value: Option<f64>,
    /// Its verdict.
    pub state: State,
    /// The tooltip.
    pub about: String,
}

/// A picture of points, from left to right in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// The label of the values.
    pub values: String,
    /// The label of the order.
    pub order: String,
    /// The line that values should stay below, and its label.
    pub limit: Option<(f64, String)>,
    /// The points.
    pub points: Vec<Point>,
    /// The meanings of good, wrong and unknown points.
    pub keys: [String; 3],
    /// The prefix of the row ids of the picture's table: the point `n` is `#{rows}-{n}`.
    pub rows: String,
}

const SIZE: (f64, f64) = (960.0, 300.0);
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 34.0;

impl Points {
    /// The picture. The script makes it wider and narrower; without it, it shows all points.
    pub fn draw(&self) -> Markup {
        let limit = self.limit.as_ref().map(|(limit, _)| *limit);
        let axis = Decades::from_values(self.points.iter().filter_map(|p| p.value).chain(limit));
        let y = |value: f64| TOP + (1.0 - axis.place(value)) * (SIZE.1 - TOP - BOTTOM);
        let last = self.points.len().saturating_sub(1).max(1) as f64;
        let place = |at: usize| at as f64 / last;
        let x = |at: usize| LEFT + place(at) * (SIZE.0 - LEFT - RIGHT);
        let ground = SIZE.1 - BOTTOM;
        html! {
            figure.points data-left=(LEFT) data-right=(SIZE.0 - RIGHT) data-rows=(self.rows) {
                svg role="img" aria-label={ (self.values) " by " (self.order) }
                    viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } {
                    @for (at, label) in axis.ticks(8) {
                        @let height = TOP + (1.0 - at) * (SIZE.1 - TOP - BOTTOM);
                        line.grid x1=(LEFT) x2=(SIZE.0 - RIGHT) y1=(number(height)) y2=(number(height)) {}
                        text.tick x=(LEFT - 6.0) y=(number(height + 4.0)) text-anchor="end" { (label) }
                    }
                    @if let Some((limit, name)) = &self.limit {
                        line.limit x1=(LEFT) x2=(SIZE.0 - RIGHT) y1=(number(y(*limit))) y2=(number(y(*limit))) {}
                        text.limit x=(SIZE.0 - RIGHT) y=(number(y(*limit) - 5.0)) text-anchor="end" { (name) }
                    }
                    line.axis x1=(LEFT) x2=(SIZE.0 - RIGHT) y1=(ground) y2=(ground) {}
                    text.label x=(LEFT) y=(SIZE.1 - 8.0) { (self.order) " →" }
                    text.label x=(SIZE.0 - RIGHT) y=(SIZE.1 - 8.0) text-anchor="end" { (self.values) }
                    g.marks {
                        @for (at, point) in self.points.iter().enumerate() {
                            @let class = point.state.class();
                            @match point.value {
                                Some(value) => {
                                    circle.(class) data-at=(at) data-x=(fine(place(at))) cx=(number(x(at)))
                                        cy=(number(y(value))) r=(if point.state == State::Wrong { "4.5" } else { "3" }) {
                                        title { (point.about) }
                                    }
                                }
                                None => {
                                    circle.none data-at=(at) data-x=(fine(place(at))) cx=(number(x(at)))
                                        cy=(ground) r="2" { title { (point.about) } }
                                }
                            }
                        }
                    }
                }
                figcaption {
                    @for (class, key) in ["good", "bad", "none"].into_iter().zip(&self.keys) {
                        span.key.(class) { (key) }
                    }
                    span.told {}
                }
            }
        }
    }
}

fn number(x: f64) -> String {
    format!("{x:.1}")
}

fn fine(x: f64) -> String {
    format!("{x:.5}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(value: Option<f64>, state: State) -> Point {
        Point { value, state, about: "Gemm <layer.0>".to_owned() }
    }

    fn picture(points: Vec<Point>) -> String {
        let limit = Some((1.0, "allowed".to_owned()));
        let rows = "value".to_owned();
        let keys = ["right", "wrong", "unknown"].map(str::to_owned);
        Points { keys, values: "error".to_owned(), order: "nodes".to_owned(), limit, points, rows }
            .draw()
            .into_string()
    }

    #[test]
    fn every_point_is_drawn_and_named() {
        let svg = picture(vec![
            point(Some(1e-7), State::Good),
            point(Some(f64::INFINITY), State::Wrong),
            point(None, State::Unknown),
        ]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("Gemm &lt;layer.0&gt;").count(), 3);
        assert!(svg.contains("∞"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn one_point_and_none_are_pictures_too() {
        for points in [vec![], vec![point(Some(0.0), State::Good)]] {
            assert!(!picture(points).contains("NaN"));
        }
    }
}
