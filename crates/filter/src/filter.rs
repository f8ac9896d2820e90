//! A filter that is ready to be asked about many points.

use std::collections::HashSet;

use crate::{
    expression::{Condition, Expression, Test},
    field::{Field, Fields, Subject},
    values::Value,
};

/// An [`Expression`] in a form that reads a point once, whatever the number of conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    root: Node,
    tests: Vec<(Field, Test)>,
    /// The fields of the tests.
    fields: Fields,
}

/// The expression, each of its tests as a number.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Ids(HashSet<[u8; 16]>),
    Test(usize),
}

/// What decides whether points pass.
#[derive(Clone, Copy, Debug)]
pub enum Question<'f> {
    /// Which of them pass the test of this number, see [`Filter::tests`].
    Test(usize),
    /// Which of them have one of these ids.
    Ids(&'f HashSet<[u8; 16]>),
}

/// Tests of a filter: each point that passes the filter passes one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Their numbers.
    pub tests: Vec<usize>,
    /// The number of points that pass them, or more: one that passes several counts for each.
    pub points: usize,
    /// Whether each point that passes one of them passes the filter.
    pub is_whole: bool,
}

/// Which tests the last point has passed: memory that is used again for each point.
#[derive(Debug, Default)]
pub struct Held(Vec<bool>);

impl Filter {
    /// Makes a filter of what it is to say.
    #[must_use]
    pub fn new(expression: Expression) -> Filter {
        let mut filter = Filter {
            root: Node::All(Vec::new()),
            tests: Vec::new(),
            fields: Fields::new(),
        };
        filter.root = filter.node(expression);
        filter
    }

    /// The tests of the filter, each with its field.
    #[must_use]
    pub fn tests(&self) -> &[(Field, Test)] {
        &self.tests
    }

    /// Whether the filter asks for the ids of points, which no column has.
    #[must_use]
    pub fn asks_for_ids(&self) -> bool {
        self.root.asks_for_ids()
    }

    /// Whether a point passes the filter.
    #[must_use]
    pub fn matches(&self, subject: Subject, held: &mut Held) -> bool {
        let Held(held) = held;
        held.clear();
        held.resize(self.tests.len(), false);
        self.fields.read(&subject, |number, stored| {
            held[number] = stored.passes(&self.tests[number].1);
        });
        let answer = |question: Question, _| match question {
            Question::Test(number) => u64::from(held[number]),
            Question::Ids(ids) => u64::from(ids.contains(subject.id)),
        };
        self.passing(1, answer) != 0
    }

    /// Which of up to 64 points pass the filter: a bit for each. `asked` are the points that the
    /// answer is about; `answer` is called with a question and the points that it is about, and
    /// returns the bits of those of which it holds. It is not called for points that pass or fail
    /// without it.
    #[must_use]
    pub fn passing(&self, asked: u64, mut answer: impl FnMut(Question, u64) -> u64) -> u64 {
        self.root.passing(asked, &mut answer)
    }

    /// The cover with the fewest points, by the number of points that may pass each test; it is not
    /// known for all tests. None if there is no cover of tests of which it is known.
    #[must_use]
    pub fn cover(&self, points: impl Fn(usize) -> Option<usize>) -> Option<Cover> {
        self.root.cover(&points)
    }

    fn node(&mut self, expression: Expression) -> Node {
        let mut nodes =
            |list: Vec<Expression>| list.into_iter().map(|one| self.node(one)).collect();
        match expression {
            Expression::All(list) => Node::All(nodes(list)),
            Expression::Any(list) => Node::Any(nodes(list)),
            Expression::Not(one) => Node::Not(Box::new(self.node(*one))),
            Expression::Condition(Condition::Id(ids)) => Node::Ids(ids),
            Expression::Condition(Condition::ContentType(numbers)) => {
                let numbers = numbers.into_iter().map(f64::from).map(Value::Number);
                self.test(Field::ContentType, Test::In(numbers.collect()))
            }
            Expression::Condition(Condition::Metadata(key, test)) => {
                self.test(Field::Metadata(key), test)
            }
        }
    }

    fn test(&mut self, field: Field, test: Test) -> Node {
        let number = self.tests.len();
        self.fields.add(number, &field);
        self.tests.push((field, test));
        Node::Test(number)
    }
}

impl Node {
    fn asks_for_ids(&self) -> bool {
        match self {
            Node::All(list) | Node::Any(list) => list.iter().any(Node::asks_for_ids),
            Node::Not(node) => node.asks_for_ids(),
            Node::Ids(_) => true,
            Node::Test(_) => false,
        }
    }

    fn cover(&self, points: &impl Fn(usize) -> Option<usize>) -> Option<Cover> {
        match self {
            Node::All(list) => {
                let covers = list.iter().filter_map(|node| node.cover(points));
                let mut least = covers.min_by_key(|cover| cover.points)?;
                least.is_whole &= list.len() == 1;
                Some(least)
            }
            Node::Any(list) => {
                let mut all = Cover {
                    tests: Vec::new(),
                    points: 0,
                    is_whole: true,
                };
                for node in list {
                    let one = node.cover(points)?;
                    all.tests.extend(one.tests);
                    all.points = all.points.saturating_add(one.points);
                    all.is_whole &= one.is_whole;
                }
                Some(all)
            }
            Node::Test(number) => Some(Cover {
                tests: vec![*number],
                points: points(*number)?,
                is_whole: true,
            }),
            Node::Not(_) | Node::Ids(_) => None,
        }
    }

    fn passing(&self, asked: u64, answer: &mut impl FnMut(Question, u64) -> u64) -> u64 {
        match self {
            Node::All(list) => {
                let mut passing = asked;
                for node in list {
                    if passing == 0 {
                        break;
                    }
                    passing = node.passing(passing, answer);
                }
                passing
            }
            Node::Any(list) => {
                let mut passing = 0;
                for node in list {
                    if passing == asked {
                        break;
                    }
                    passing |= node.passing(asked & !passing, answer);
                }
                passing
            }
            Node::Not(node) => asked & !node.passing(asked, answer),
            Node::Ids(ids) => asked & answer(Question::Ids(ids), asked),
            Node::Test(number) => asked & answer(Question::Test(*number), asked),
        }
    }
}
