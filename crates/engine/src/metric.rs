//! The metrics by which a search can ask for its nearest neighbours.

/// A metric, with the number that the wire format and the binding give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Metric {
    /// L2 distance.
    Euclidean = 0,
    /// L1 distance: the sum of absolute differences.
    Manhattan = 1,
    /// The number of positions whose values differ (IEEE equality: 0 equals -0).
    Hamming = 2,
    /// The angle, ordered as `1 - cos`; a zero vector is at distance 1 from everything.
    Cosine = 3,
}

impl Metric {
    /// Every metric, in the order of their numbers.
    pub const ALL: [Metric; 4] = [
        Metric::Euclidean,
        Metric::Manhattan,
        Metric::Hamming,
        Metric::Cosine,
    ];

    /// The distance that a rank under this metric stands for: the square root of that of
    /// [`Metric::Euclidean`], which is squared; any other rank is the distance.
    #[must_use]
    pub fn distance_of(self, rank: f64) -> f64 {
        match self {
            Metric::Euclidean => rank.sqrt(),
            Metric::Manhattan | Metric::Hamming | Metric::Cosine => rank,
        }
    }

    /// The metric with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Metric> {
        Metric::ALL.get(usize::from(number)).copied()
    }
}
