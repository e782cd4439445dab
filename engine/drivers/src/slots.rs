//! Items under small numbers that are reused: a connection's prepared statements.

/// A list with reusable slots.
pub(crate) struct Slots<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Stores `thing`; returns its number.
    pub fn add(&mut self, thing: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        self.places[number as usize] = Some(thing);
        number
    }

    /// Releases `number` for reuse; does nothing if it is not in use.
    pub fn remove(&mut self, number: u32) {
        self.take(number);
    }

    /// Releases `number` and returns its item.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let thing = self.places.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(thing)
    }

    /// The item at `number`, if it is in use.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.places.get(number as usize)?.as_ref()
    }

    /// The item at `number`, mutable.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.places.get_mut(number as usize)?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_never_given_out_twice() {
        let mut slots = Slots::default();
        assert_eq!(['a', 'b', 'c'].map(|thing| slots.add(thing)), [0, 1, 2]);
        slots.remove(1);
        slots.remove(1);
        slots.remove(9);
        assert_eq!([1, 9].map(|number| slots.get_mut(number).copied()), [None, None]);
        assert_eq!(['d', 'e'].map(|thing| slots.add(thing)), [1, 3]);
        assert_eq!([1, 2].map(|number| slots.get_mut(number).copied()), [Some('d'), Some('c')]);
    }
}
