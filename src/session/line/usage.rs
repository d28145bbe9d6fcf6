//! The look at what an answer or a summary cost.
//!
//! Sums are saturating: a file may claim any number.

use serde::de::{IgnoredAny, MapAccess};

use super::lenient::{FromAny, Lenient, Scalar};
use crate::session::index::Spent;

/// The counts of a `usage`, as they stand in the file.
#[derive(Default)]
pub(super) struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total: u64,
    cost: f64,
}

impl Usage {
    /// `None` when nothing was spent.
    pub(super) fn spent(&self) -> Option<Spent> {
        let input = self.input.saturating_add(self.cache_write);
        let sum = input.saturating_add(self.output).saturating_add(self.cache_read);
        let spent = Spent {
            input,
            output: self.output,
            cache_read: self.cache_read,
            context: if self.total > 0 { self.total } else { sum },
            cost: self.cost,
        };
        (spent != Spent::default()).then_some(spent)
    }
}

impl<'de> FromAny<'de> for Usage {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut usage = Self::default();
        while let Some(Lenient(key)) = map.next_key::<Lenient<Key>>()? {
            let slot = match key {
                Some(Key::Input) => &mut usage.input,
                Some(Key::Output) => &mut usage.output,
                Some(Key::CacheRead) => &mut usage.cache_read,
                Some(Key::CacheWrite) => &mut usage.cache_write,
                Some(Key::Total) => &mut usage.total,
                Some(Key::Cost) => {
                    usage.cost = map.next_value::<Lenient<Cost>>()?.0.map_or(0.0, |cost| cost.0);
                    continue;
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = map.next_value::<Scalar<'_>>()?.whole().unwrap_or_default();
        }
        Ok(Some(usage))
    }
}

enum Key {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    Total,
    Cost,
}

impl FromAny<'_> for Key {
    fn from_text(text: &str) -> Option<Self> {
        Some(match text {
            "input" => Self::Input,
            "output" => Self::Output,
            "cacheRead" => Self::CacheRead,
            "cacheWrite" => Self::CacheWrite,
            "totalTokens" => Self::Total,
            "cost" => Self::Cost,
            _ => return None,
        })
    }
}

/// The `total` of a cost.
struct Cost(f64);

impl<'de> FromAny<'de> for Cost {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut total = 0.0;
        while let Some(Lenient(key)) = map.next_key::<Lenient<std::borrow::Cow<'de, str>>>()? {
            if key.as_deref() == Some("total") {
                total = map.next_value::<Scalar<'_>>()?.amount().unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(Self(total)))
    }
}
