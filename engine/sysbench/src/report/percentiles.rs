//! `--percentile`: one rank, or several separated by commas.

/// Ranks in per cent, each in `(0, 100]`; none: no percentile is printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentiles(Vec<f64>);

impl Percentiles {
    /// Parses an option's text, such as `95`, `0` (none) or `50,95,99.9`. An error is the message to
    /// print.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("Invalid value for --percentile: {text}");
        if text.trim() == "0" {
            return Ok(Self(Vec::new()));
        }
        let ranks = text.split(',').map(|rank| match rank.trim().parse::<f64>() {
            Ok(rank) if rank > 0.0 && rank <= 100.0 => Ok(rank),
            _ => Err(invalid()),
        });
        Ok(Self(ranks.collect::<Result<_, _>>()?))
    }

    /// Returns the ranks in the order given.
    pub fn ranks(&self) -> &[f64] {
        &self.0
    }

    /// Returns the rank that hooks see as `latency_pct`.
    pub fn first(&self) -> Option<f64> {
        self.0.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_several_or_none() {
        let ranks = |text| Percentiles::parse(text).map(|p| p.ranks().to_vec());
        assert_eq!(ranks("95"), Ok(vec![95.0]));
        assert_eq!(ranks("50, 99,99.9"), Ok(vec![50.0, 99.0, 99.9]));
        assert_eq!(ranks("0"), Ok(vec![]));
        for text in ["101", "-1", "x", "", "95,", "nan"] {
            assert!(ranks(text).is_err(), "{text}");
        }
    }
}
