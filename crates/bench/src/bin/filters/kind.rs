//! Where the points lie that match a filter, and the shares of them.

/// Shares of the points in percent, greatest first. Of the first, only the points around the query
/// are left out.
pub const SHARES: [f64; 6] = [99.0, 50.0, 10.0, 1.0, 0.1, 0.01];

/// From this share in percent on, [`Kind::Anti`] is everything but the clusters around the query.
pub const LEAST_ALL_BUT: f64 = 50.0;

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Anywhere: a random number is below a bound.
    Random,
    /// Anywhere: a text is equal.
    Tag,
    /// In the clusters nearest to the query.
    Correlated,
    /// In the clusters farthest from the query, or in all but the nearest.
    Anti,
    /// In every second cluster, whatever the query.
    Alternate,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Random,
        Kind::Tag,
        Kind::Correlated,
        Kind::Anti,
        Kind::Alternate,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Random => "random",
            Kind::Tag => "tag",
            Kind::Correlated => "correlated",
            Kind::Anti => "anti",
            Kind::Alternate => "alternate",
        }
    }

    /// Whether there are filters of this kind that such a share matches.
    pub fn has(self, share: f64) -> bool {
        match self {
            Kind::Anti => true,
            Kind::Alternate => share == LEAST_ALL_BUT,
            _ => share <= LEAST_ALL_BUT,
        }
    }
}

/// How many of the points are a share in percent, at least one.
#[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
pub fn count_of(share: f64, points: usize) -> usize {
    ((points as f64 * share / 100.0).round() as usize).max(1)
}
