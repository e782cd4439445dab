//! Things by small numbers, which are used again: a connection's prepared statements.

/// A list with free places.
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
    /// Takes `thing` in; returns its number.
    pub fn add(&mut self, thing: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        self.places[number as usize] = Some(thing);
        number
    }

    /// Ends `number`, which may be given out again; does nothing if it is not in use.
    pub fn remove(&mut self, number: u32) {
        self.take(number);
    }

    /// The same, handing over what it stood for.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let thing = self.places.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(thing)
    }

    /// What `number` stands for, if it is in use.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.places.get(number as usize)?.as_ref()
    }

    /// The same, to be changed.
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
