//! Values in places that are reused; each has a key that no later value of its place has.

/// A place, and the number of the life in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the place.
    pub place: u32,
    /// Number of the life there.
    pub life: u32,
}

#[derive(Debug)]
struct Place<T> {
    life: u32,
    value: Option<T>,
}

/// Values by key.
#[derive(Debug)]
pub struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: vec![], free: vec![] }
    }
}

impl<T> Table<T> {
    /// Adds a value.
    pub fn insert(&mut self, value: T) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { life: 0, value: None });
            (self.places.len() - 1) as u32
        });
        let home = &mut self.places[place as usize];
        home.life = home.life.wrapping_add(1);
        home.value = Some(value);
        Key { place, life: home.life }
    }

    /// The value of a key, while it is there.
    pub fn get(&self, key: Key) -> Option<&T> {
        let home = self.places.get(key.place as usize).filter(|home| home.life == key.life)?;
        home.value.as_ref()
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let home = self.places.get_mut(key.place as usize).filter(|home| home.life == key.life)?;
        home.value.as_mut()
    }

    /// Removes a value.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let home = self.places.get_mut(key.place as usize).filter(|home| home.life == key.life)?;
        let value = home.value.take()?;
        self.free.push(key.place);
        Some(value)
    }

    /// All values with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.places.iter().enumerate().filter_map(|(place, home)| {
            let key = Key { place: place as u32, life: home.life };
            home.value.as_ref().map(|value| (key, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_key_outlives_its_value_and_finds_no_other() {
        let mut table = Table::default();
        let (one, two) = (table.insert("one"), table.insert("two"));
        assert_eq!((table.remove(one), table.remove(one)), (Some("one"), None));
        let three = table.insert("three");
        assert_eq!((three.place, table.get(one)), (one.place, None));
        assert_eq!(table.get_mut(three), Some(&mut "three"));
        assert_eq!(table.get(two), Some(&"two"));
        assert_eq!(table.iter().map(|(_, value)| *value).collect::<Vec<_>>(), ["three", "two"]);
    }

    #[test]
    fn a_million_values_need_as_many_places_as_there_are_at_a_time() {
        let mut table = Table::default();
        let mut keys = VecDeque::from_iter((0..3).map(|number| table.insert(number)));
        for number in 3..1_000_000 {
            assert_eq!(keys.pop_front().and_then(|key| table.remove(key)), Some(number - 3));
            keys.push_back(table.insert(number));
        }
        assert_eq!((table.places.len(), table.free.len()), (3, 0));
    }
}
