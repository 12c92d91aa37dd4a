//! Enums of several subjects that serialize as one flat list.
//!
//! In memory, an event or a command is nested: `AgentEvent::Shell(ShellEvent::BashStart { … })`, so that a
//! front end handles one subject at a time. As data there are no subjects: `{"type": "bash_start", …}`,
//! where `type` is unique across all of them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde_json::Value;

/// The field that names the variant.
const KIND: &str = "type";

/// Declares an enum whose variants each hold the enum of one subject, each with `#[serde(tag = "type")]`, and with
/// `strum::VariantNames` for the values of `type`.
macro_rules! subjects {
    (
        $(#[doc = $about:literal])+
        $vis:vis enum $all:ident {
            $($(#[doc = $doc:literal])+ $subject:ident($of:ident),)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $all {
            $($(#[doc = $doc])+ $subject($of),)+
        }

        $(impl From<$of> for $all {
            fn from(of: $of) -> Self {
                $all::$subject(of)
            }
        })+

        impl serde::Serialize for $all {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($all::$subject(of) => of.serialize(serializer),)+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $all {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::subject::ObjectVisitor::new())
            }
        }

        #[allow(clippy::disallowed_types, reason = "tables of names that never change")]
        impl $crate::subject::Subjects for $all {
            fn kinds() -> &'static [&'static str] {
                static ALL: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
                    [$(<$of as strum::VariantNames>::VARIANTS),+].concat()
                });
                &ALL
            }

            #[cfg(test)]
            fn kinds_by_serde() -> Vec<&'static str> {
                [$($crate::subject::tests::kinds_of::<$of>()),+].concat()
            }

            fn read<'de, A: serde::de::MapAccess<'de>>(kind: &str, object: A) -> Result<Self, A::Error> {
                $(if <$of as strum::VariantNames>::VARIANTS.contains(&kind) {
                    let object = serde::de::value::MapAccessDeserializer::new(object);
                    return <$of as serde::Deserialize>::deserialize(object).map($all::$subject);
                })+
                Err(serde::de::Error::unknown_variant(kind, Self::kinds()))
            }
        }
    };
}
pub(super) use subjects;

/// An enum whose variants each hold the enum of one subject.
pub(super) trait Subjects: Sized {
    /// All values of `type`.
    fn kinds() -> &'static [&'static str];

    /// All values of `type` that the subjects' own deserialization knows.
    #[cfg(test)]
    fn kinds_by_serde() -> Vec<&'static str>;

    /// Reads an object whose `type` is `kind`.
    fn read<'de, A: MapAccess<'de>>(kind: &str, object: A) -> Result<Self, A::Error>;
}

/// Reads an object of any subject.
pub(super) struct ObjectVisitor<T>(PhantomData<T>);

impl<T> ObjectVisitor<T> {
    pub(super) fn new() -> Self {
        ObjectVisitor(PhantomData)
    }
}

impl<'de, T: Subjects> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field `{KIND}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut rest: A) -> Result<T, A::Error> {
        // tau writes `type` as the first field.
        let mut before = Vec::new();
        while let Some(name) = rest.next_key::<String>()? {
            if name == KIND {
                let kind: String = rest.next_value()?;
                let fields = before.into_iter();
                return T::read(&kind, Object { kind: Some(kind.clone()), fields, value: None, rest });
            }
            before.push((name, rest.next_value::<Value>()?));
        }
        Err(Error::missing_field(KIND))
    }
}

/// An object whose fields up to `type` have been read.
struct Object<A> {
    kind: Option<String>,
    /// The fields before `type`.
    fields: std::vec::IntoIter<(String, Value)>,
    /// The value of the field whose name was read last; absent for fields in `rest`.
    value: Option<Value>,
    /// The fields after `type`.
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Object<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        if let Some(kind) = self.kind.take() {
            self.value = Some(Value::String(kind));
            return seed.deserialize(KIND.into_deserializer()).map(Some);
        }
        match self.fields.next() {
            Some((name, value)) => {
                self.value = Some(value);
                seed.deserialize(name.into_deserializer()).map(Some)
            }
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(Error::custom),
            None => self.rest.next_value_seed(seed),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde::de::DeserializeOwned;
    use serde::de::value::MapDeserializer;

    use super::*;
    use crate::command::AgentCommand;
    use crate::event::AgentEvent;

    #[test]
    fn the_names_of_variants_are_those_of_the_data() {
        assert_eq!(AgentEvent::kinds(), AgentEvent::kinds_by_serde());
        assert_eq!(AgentCommand::kinds(), AgentCommand::kinds_by_serde());
        assert!(AgentEvent::kinds().contains(&"agent_start") && AgentCommand::kinds().contains(&"session"));
    }

    /// The values of `type` of an enum. It is asked to read an object of an unknown type, and names them in its
    /// error.
    pub(crate) fn kinds_of<T: DeserializeOwned>() -> &'static [&'static str] {
        let nothing = MapDeserializer::<_, Kinds>::new(std::iter::once((KIND, "")));
        match T::deserialize(nothing) {
            Err(Kinds(kinds)) => kinds,
            Ok(_) => &[],
        }
    }

    /// The error of [`kinds_of`].
    #[derive(Debug)]
    struct Kinds(&'static [&'static str]);

    impl fmt::Display for Kinds {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0.join(", "))
        }
    }

    impl std::error::Error for Kinds {}

    impl Error for Kinds {
        fn custom<T: fmt::Display>(_: T) -> Self {
            Kinds(&[])
        }

        fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
            Kinds(expected)
        }
    }
}
