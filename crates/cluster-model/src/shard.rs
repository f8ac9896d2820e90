//! The shard as a state machine: three nodes, each a gateway with a replica, and the stream.

use stateright::{
    Model, Property,
    semantics::{ConsistencyTester, LinearizabilityTester},
};

use crate::{
    gateway::{Confirmation, Progress, Session, View, acknowledges},
    point::{Answer, Operation, Point, Write},
    replica::{Entry, Position, Replica},
    rules::{GIVEN_UP_AFTER, MAJORITY, REPLICAS, Rules},
    scope::{Call, Scope, TIMES},
    stream::{Message, Request, Stream},
};

/// Strong reads and writes are those of one point on one machine.
pub const LINEARIZABLE: &str = "strong reads and writes are linearizable";
/// Durable by itself: also without the stream.
pub const HELD: &str = "a majority of the logs holds what is acknowledged";
/// What the stream still has may come to the replicas.
pub const NOT_LOST: &str = "what is acknowledged is not lost";
/// Nobody sees its effect twice.
pub const ONCE: &str = "a request takes effect once in a log";
/// By a put that comes again.
pub const NOT_UNDONE: &str = "an acknowledged delete is not undone";
/// Nothing was written, as the client was told.
pub const REFUSED: &str = "no majority of the logs has what is refused";
/// For session reads.
pub const SESSION: &str = "a session read sees what its node acknowledged";
/// That the scope allows what it is meant to.
pub const ALL_ANSWERED: &str = "every call may be answered";

/// The shard within a scope. Some of its rules may be left out.
#[derive(Clone, Debug)]
pub struct Shard {
    rules: Rules,
    scope: Scope,
    calls: Vec<(usize, Call, Option<Request>)>,
    /// The only property to check, if there is one.
    property: Option<&'static str>,
}

/// Everything at one moment.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct State {
    stream: Stream,
    /// The place in `TIMES`.
    time: usize,
    losses: u8,
    crashes: u8,
    replicas: [Replica; REPLICAS],
    /// The logs of lost disks: what was said of them may be on its way.
    lost: Vec<(usize, Replica)>,
    sessions: [Session; REPLICAS],
    progress: Vec<Progress>,
    sent: Vec<Sent>,
    /// Of each read that began: the writes that its node had acknowledged.
    acknowledged: Vec<Vec<Request>>,
    history: LinearizabilityTester<Request, Point>,
    is_linearizable: bool,
    is_session_kept: bool,
}

/// Of a write: how it was sent.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Sent {
    /// When, by the clock of its node.
    at: u16,
    /// When, in truth.
    begun: u16,
    /// How often.
    tries: u8,
    /// How many of them are on their way to the stream.
    copies: u8,
    /// Its node has crashed: only the servers have them.
    is_orphaned: bool,
}

/// What happens next. What can be late or lost is an action that may be late or never come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// A client calls. A write is sent by a clock at this place in `TIMES`, and so often.
    Begin(Request, usize, u8),
    /// A copy of a write comes to the stream, whose clock is at this place in `TIMES`.
    Store(Request, usize),
    /// A replica applies the next message: that which the stream had in this epoch.
    Apply(usize, usize),
    /// A confirmation comes to the gateway: of the request, as the replica has it at the position.
    Confirm(Request, Confirmation),
    /// The first round of a read has the position of another replica.
    Ask(Request, usize),
    /// The read takes its view.
    View(Request),
    /// The read takes its position.
    Mark(Request),
    /// The second look of a read has found the position at another replica.
    Look(Request, usize),
    /// The stream loses all behind this many messages.
    Lose(usize),
    /// Time passes.
    Tick,
    /// A node crashes and starts again, with its log and without its memory.
    Crash(usize),
    /// A node crashes and starts again without its log.
    LoseDisk(usize),
    /// It tells the others, and hears how far they are.
    Tell(usize),
    /// It takes the log of another one.
    Seed(usize, usize),
}

impl Shard {
    /// A shard without data.
    #[must_use]
    pub fn new(rules: Rules, scope: Scope) -> Self {
        Self {
            rules,
            scope,
            calls: scope.calls(),
            property: None,
        }
    }

    /// Checks this property alone.
    #[must_use]
    pub fn only(self, property: &'static str) -> Self {
        Self {
            property: Some(property),
            ..self
        }
    }

    fn node(&self, call: Request) -> usize {
        self.calls[call].0
    }

    fn others(&self, call: Request) -> impl Iterator<Item = usize> {
        let own = self.node(call);
        (0..REPLICAS).filter(move |replica| *replica != own)
    }

    fn actions_of(&self, state: &State, call: Request, actions: &mut Vec<Action>) {
        match &state.progress[call] {
            Progress::Waiting => {
                let before = self.calls[call].2;
                if before.is_none_or(|before| state.progress[before].is_over()) {
                    self.beginnings(state, call, actions);
                }
            }
            Progress::Writing(confirmed) => {
                for (replica, log) in state.told() {
                    for (entry, outcome) in log.outcomes(call).filter(|(entry, _)| entry.is_told) {
                        let Entry {
                            position, known, ..
                        } = *entry;
                        let confirmation = Confirmation {
                            replica,
                            position,
                            outcome,
                            known,
                        };
                        if !confirmed.contains(&confirmation) {
                            actions.push(Action::Confirm(call, confirmation));
                        }
                    }
                }
            }
            Progress::Asking if state.replicas[self.node(call)].has_log() => {
                let others = self
                    .others(call)
                    .filter(|one| state.replicas[*one].has_log());
                actions.extend(others.map(|replica| Action::Ask(call, replica)));
            }
            Progress::Viewing {
                target,
                view,
                position,
            } => {
                let own = state.replicas[self.node(call)].position();
                let is_position_next = if self.rules.position_after_view {
                    view.is_some()
                } else {
                    position.is_none()
                };
                if own.sequence >= *target {
                    let next = if is_position_next {
                        Action::Mark
                    } else {
                        Action::View
                    };
                    actions.push(next(call));
                }
            }
            Progress::Looking(_, position) => {
                let own = self.node(call);
                let known = state.replicas[own].known();
                let holders = state.told().filter(|(replica, log)| {
                    let is_now = log.known()[*replica] == known[*replica];
                    *replica != own
                        && (is_now || !self.rules.incarnations)
                        && log.holds(*position, self.rules.look_chains)
                });
                actions.extend(holders.map(|(replica, _)| Action::Look(call, replica)));
            }
            Progress::Following(after) if state.replicas[self.node(call)].has_log() => {
                let own = self.node(call);
                let compares = self.rules.session_chain;
                if after.is_none_or(|after| state.replicas[own].holds(after, compares)) {
                    actions.push(Action::View(call));
                }
            }
            _ => {}
        }
        let copies = state.sent[call].copies;
        let clocks = self
            .scope
            .clocks(state.time)
            .filter(|clock| copies > 0 && !state.stream.drops(call, TIMES[*clock]));
        actions.extend(clocks.map(|clock| Action::Store(call, clock)));
    }

    fn beginnings(&self, state: &State, call: Request, actions: &mut Vec<Action>) {
        let most = self.scope.copies;
        if self.write(call).is_none() {
            actions.push(Action::Begin(call, state.time, 0));
            return;
        }
        let least = if self.rules.refuse_if_sent_once {
            1
        } else {
            most
        };
        for clock in self.scope.node_clocks(state.time) {
            actions.extend((least..=most).map(|tries| Action::Begin(call, clock, tries)));
        }
    }

    fn begin(&self, state: &mut State, call: Request, clock: usize, tries: u8) {
        let (node, kind, _) = self.calls[call];
        if let Some(operation) = kind.operation(call) {
            state
                .history
                .on_invoke(call, operation)
                .expect("each call is a thread of its own");
        }
        let session = &state.sessions[node];
        state.progress[call] = match kind {
            Call::Put | Call::Delete => {
                state.sent[call] = Sent {
                    at: TIMES[clock],
                    begun: TIMES[state.time],
                    tries,
                    copies: tries,
                    is_orphaned: false,
                };
                Progress::Writing(Vec::new())
            }
            Call::Get => self.begin_strong(session),
            Call::SessionGet if session.forgot && self.rules.strong_after_restart => {
                self.begin_strong(session)
            }
            Call::SessionGet => Progress::Following(session.acknowledged),
        };
        if kind == Call::SessionGet {
            state.acknowledged[call] = self.acknowledged_by(state, node);
        }
    }

    fn begin_strong(&self, session: &Session) -> Progress {
        let target = match session.last_round {
            _ if !self.rules.first_round => 0,
            Some(sequence) if !self.rules.fresh_round => sequence,
            _ => return Progress::Asking,
        };
        Progress::Viewing {
            target,
            view: None,
            position: None,
        }
    }

    fn acknowledged_by(&self, state: &State, node: usize) -> Vec<Request> {
        let is_acknowledged = |call: &Request| {
            self.node(*call) == node
                && self.write(*call).is_some()
                && matches!(state.progress[*call], Progress::Answered(_))
        };
        (0..self.calls.len()).filter(is_acknowledged).collect()
    }

    fn write(&self, call: Request) -> Option<Write> {
        match self.calls[call].1.operation(call) {
            Some(Operation::Write(write)) => Some(write),
            _ => None,
        }
    }

    fn store(&self, state: &mut State, call: Request, clock: usize) {
        state.sent[call].copies -= 1;
        let sent = state.sent[call].at;
        let write = self.write(call).expect("only writes have copies");
        state.stream.store(Message {
            request: call,
            write,
            sent,
            stored: TIMES[clock],
        });
        if !self.rules.own_logs && matches!(state.progress[call], Progress::Writing(_)) {
            let answer = match write {
                Write::Put(_) => Answer::Stored,
                Write::Delete => Answer::Deleted,
            };
            state.answer(call, answer, None);
        }
    }

    fn confirm(&self, state: &mut State, call: Request, confirmation: Confirmation) {
        let Progress::Writing(known) = &mut state.progress[call] else {
            return;
        };
        known.push(confirmation);
        if acknowledges(known, self.rules) {
            let Confirmation {
                position, outcome, ..
            } = confirmation;
            let is_once = !self.rules.refuse_if_sent_once || state.sent[call].tries == 1;
            if outcome == Answer::Refused && !is_once {
                state.progress[call] = Progress::Unknown;
                return;
            }
            state.answer(call, outcome, Some(position));
            state.sessions[self.node(call)].note(position);
        } else {
            // The order in which they came decides nothing.
            known.sort_by_key(|one| (one.replica, one.position.sequence, one.known));
        }
    }

    fn ask(&self, state: &mut State, call: Request, replica: usize) {
        let node = self.node(call);
        let sequence = |replica: usize| state.replicas[replica].position().sequence;
        let target = sequence(node).max(sequence(replica));
        state.progress[call] = Progress::Viewing {
            target,
            view: None,
            position: None,
        };
        if !self.rules.fresh_round {
            state.sessions[node].last_round = Some(target);
        }
    }

    fn view(&self, state: &mut State, call: Request) {
        let own = &state.replicas[self.node(call)];
        let acknowledged = &state.acknowledged[call];
        let found = View {
            value: own.value(),
            has_acknowledged: acknowledged
                .iter()
                .all(|one| own.effects(*one).next().is_some()),
        };
        match &mut state.progress[call] {
            Progress::Viewing {
                view,
                position: None,
                ..
            } if self.rules.second_look => {
                *view = Some(found);
            }
            Progress::Viewing {
                position: Some(position),
                ..
            } => {
                state.progress[call] = Progress::Looking(found, *position);
            }
            _ => self.found(state, call, found, None),
        }
    }

    fn mark(&self, state: &mut State, call: Request) {
        let own = state.replicas[self.node(call)].position();
        let Progress::Viewing { view, position, .. } = &mut state.progress[call] else {
            return;
        };
        match view {
            Some(view) => state.progress[call] = Progress::Looking(*view, own),
            None => *position = Some(own),
        }
    }

    fn look(&self, state: &mut State, call: Request) {
        if let Progress::Looking(view, position) = state.progress[call] {
            self.found(state, call, view, Some(position));
        }
    }

    fn found(&self, state: &mut State, call: Request, view: View, held: Option<Position>) {
        if self.calls[call].1 == Call::SessionGet {
            state.is_session_kept &= view.has_acknowledged;
            state.progress[call] = Progress::Answered(None);
            let session = &mut state.sessions[self.node(call)];
            if let Some(held) = held {
                session.forgot = false;
                session.note(held);
            }
        } else {
            state.answer(call, Answer::Found(view.value), None);
        }
    }

    /// Time passes, and old writes are given up.
    fn tick(&self, state: &mut State) {
        state.time += 1;
        for call in 0..self.calls.len() {
            let is_old = TIMES[state.time] - state.sent[call].begun > GIVEN_UP_AFTER;
            if is_old && matches!(state.progress[call], Progress::Writing(_)) {
                state.progress[call] = Progress::Unknown;
            }
        }
    }

    fn crash(&self, state: &mut State, node: usize) {
        state.sessions[node] = Session {
            forgot: true,
            ..Session::default()
        };
        for call in 0..self.calls.len() {
            if self.node(call) != node {
                continue;
            }
            if state.progress[call].is_under_way() {
                state.progress[call] = Progress::Unknown;
            }
            state.sent[call].is_orphaned = self.scope.ends_subscriptions;
        }
        if self.scope.ends_subscriptions {
            state.replicas[node].restart(state.stream.epoch());
        }
    }

    /// The epochs whose next message a replica may be given, each message once.
    fn epochs(&self, state: &State, replica: usize) -> Vec<usize> {
        let log = &state.replicas[replica];
        let next = |epoch: usize| state.stream.at(epoch, log.position().sequence);
        if self.scope.ends_subscriptions {
            let epochs = log.epochs(self.rules, &state.stream);
            return epochs.filter(|epoch| next(*epoch).is_some()).collect();
        }
        let is_new = |epoch: &usize| (0..*epoch).all(|before| next(before) != next(*epoch));
        (0..=state.stream.epoch())
            .filter(|epoch| next(*epoch).is_some() && is_new(epoch))
            .collect()
    }

    fn apply(&self, state: &mut State, replica: usize, epoch: usize) {
        let log = &mut state.replicas[replica];
        let next = state.stream.at(epoch, log.position().sequence);
        log.apply(self.rules, *next.expect("the epoch has a message there"));
        if self.scope.ends_subscriptions {
            log.follow(epoch);
        }
    }

    /// The stream loses its tail. What only its servers have is lost as well.
    fn lose(state: &mut State, length: usize) {
        state.losses += 1;
        state.stream.lose(length);
        for sent in state.sent.iter_mut().filter(|sent| sent.is_orphaned) {
            sent.copies = 0;
        }
    }

    /// The position that a log must reach for this replica to take it in place of its lost one. The
    /// others tell it; None if they say nothing, or disagree.
    fn least(&self, state: &State, replica: usize) -> Option<Position> {
        let others = state.replicas.iter().enumerate();
        let others = others.filter(|(other, _)| *other != replica);
        if !self.rules.seed_from_all {
            let mut logs = others.filter(|(_, log)| log.has_log());
            return logs.next().map(|_| Position::default());
        }
        let logs: Vec<_> = others.map(|(_, log)| log).collect();
        let furthest = logs.iter().max_by_key(|log| log.position().sequence)?;
        let are_one = logs
            .iter()
            .all(|log| log.has_log() && furthest.holds(log.position(), true));
        are_one.then(|| furthest.position())
    }

    /// The replicas whose logs this one may take.
    fn sources(state: &State, replica: usize) -> impl Iterator<Item = usize> {
        let least = state.replicas[replica].least();
        let others = (0..REPLICAS).filter(move |other| *other != replica);
        others.filter(move |source| {
            let log = &state.replicas[*source];
            log.has_log() && least.is_some_and(|least| log.holds(least, true))
        })
    }

    fn lose_disk(&self, state: &mut State, replica: usize) {
        self.crash(state, replica);
        state.lost.push((replica, state.replicas[replica].clone()));
        state.replicas[replica].lose(replica);
    }

    /// The replica that lost its log tells the others, and hears how far they are.
    fn tell(&self, state: &mut State, replica: usize) {
        let least = self.least(state, replica);
        let known = state.replicas.each_ref().map(|log| *log.known());
        for log in &mut state.replicas {
            for heard in &known {
                log.hear(heard);
            }
        }
        state.replicas[replica].need(least);
    }

    /// It takes the log of another.
    fn seed(state: &mut State, replica: usize, source: usize) {
        let source = state.replicas[source].clone();
        state.replicas[replica].seed(&source, state.stream.epoch());
    }

    /// The acknowledged writes, with their positions if replicas confirmed them.
    fn acknowledged<'a>(
        &'a self,
        state: &'a State,
    ) -> impl Iterator<Item = (Request, Option<Position>)> + 'a {
        let writes = (0..self.calls.len()).filter(|call| self.write(*call).is_some());
        writes.filter_map(|call| match state.progress[call] {
            Progress::Answered(position) => Some((call, position)),
            _ => None,
        })
    }
}

impl State {
    fn answer(&mut self, call: Request, answer: Answer, position: Option<Position>) {
        self.progress[call] = match answer {
            Answer::Refused => Progress::Refused,
            _ => Progress::Answered(position),
        };
        self.history
            .on_return(call, answer)
            .expect("the call began and has no answer yet");
        // Only an answer can make a history wrong.
        self.is_linearizable &= self.history.is_consistent();
    }

    /// The logs that a gateway may have been told of.
    fn told(&self) -> impl Iterator<Item = (usize, &Replica)> {
        let lost = self.lost.iter().map(|(replica, log)| (*replica, log));
        self.replicas
            .iter()
            .enumerate()
            .filter(|(_, log)| log.has_log())
            .chain(lost)
    }

    /// Whether a majority of the logs has something. One that is lost will be taken from those.
    fn majority(&self, has: impl Fn(&Replica) -> bool) -> bool {
        let holders = self
            .replicas
            .iter()
            .filter(|log| !log.has_log() || has(log));
        holders.count() >= MAJORITY
    }
}

impl Model for Shard {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let calls = self.calls.len();
        vec![State {
            stream: Stream::default(),
            time: 0,
            losses: 0,
            crashes: 0,
            replicas: Default::default(),
            lost: Vec::new(),
            sessions: Default::default(),
            progress: vec![Progress::Waiting; calls],
            sent: vec![Sent::default(); calls],
            acknowledged: vec![Vec::new(); calls],
            history: LinearizabilityTester::new(Point::default()),
            is_linearizable: true,
            is_session_kept: true,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // Nobody is left who could be told something wrong.
        if state.progress.iter().all(Progress::is_over) {
            return;
        }
        for call in 0..self.calls.len() {
            self.actions_of(state, call, actions);
        }
        for (replica, log) in state.replicas.iter().enumerate() {
            if !log.has_log() {
                let may_tell = self.least(state, replica).is_some();
                actions.extend(may_tell.then_some(Action::Tell(replica)));
                let sources = Self::sources(state, replica);
                actions.extend(sources.map(|source| Action::Seed(replica, source)));
                continue;
            }
            let epochs = self.epochs(state, replica).into_iter();
            actions.extend(epochs.map(|epoch| Action::Apply(replica, epoch)));
        }
        if state.losses < self.scope.losses {
            actions.extend((0..state.stream.length()).map(Action::Lose));
        }
        if state.time < self.scope.ticks {
            actions.push(Action::Tick);
        }
        if state.crashes < self.scope.crashes {
            actions.extend((0..REPLICAS).map(Action::Crash));
        }
        if state.lost.len() < self.scope.lost_disks {
            let logs = (0..REPLICAS).filter(|replica| state.replicas[*replica].has_log());
            actions.extend(logs.map(Action::LoseDisk));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Begin(call, clock, tries) => self.begin(&mut state, call, clock, tries),
            Action::Store(call, clock) => self.store(&mut state, call, clock),
            Action::Apply(replica, epoch) => self.apply(&mut state, replica, epoch),
            Action::Confirm(call, confirmation) => self.confirm(&mut state, call, confirmation),
            Action::Ask(call, replica) => self.ask(&mut state, call, replica),
            Action::View(call) => self.view(&mut state, call),
            Action::Mark(call) => self.mark(&mut state, call),
            Action::Look(call, _) => self.look(&mut state, call),
            Action::Lose(length) => Self::lose(&mut state, length),
            Action::Tick => self.tick(&mut state),
            Action::Crash(node) => {
                state.crashes += 1;
                self.crash(&mut state, node);
            }
            Action::LoseDisk(node) => self.lose_disk(&mut state, node),
            Action::Tell(replica) => self.tell(&mut state, replica),
            Action::Seed(replica, source) => Self::seed(&mut state, replica, source),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(LINEARIZABLE, |_, state: &State| state.is_linearizable),
            Property::always(HELD, |model: &Self, state| {
                model.acknowledged(state).all(|(_, position)| {
                    position.is_none_or(|at| state.majority(|log| log.holds(at, true)))
                })
            }),
            Property::always(NOT_LOST, |model: &Self, state: &State| {
                model.acknowledged(state).all(|(call, _)| {
                    let has = |log: &Replica| log.effects(call).next().is_some();
                    state.stream.holds(call) || state.majority(has)
                })
            }),
            Property::always(REFUSED, |_, state: &State| {
                let calls = state.progress.iter().enumerate();
                let mut refused = calls.filter(|(_, one)| **one == Progress::Refused);
                refused.all(|(call, _)| {
                    let has = |log: &&Replica| log.effects(call).next().is_some();
                    state.replicas.iter().filter(has).count() < MAJORITY
                })
            }),
            Property::always(ONCE, |model, state: &State| {
                let requests = 0..model.calls.len();
                state.replicas.iter().all(|log| {
                    requests
                        .clone()
                        .all(|request| log.effects(request).count() <= 1)
                })
            }),
            Property::always(NOT_UNDONE, |model: &Self, state: &State| {
                let deletes = model
                    .acknowledged(state)
                    .filter(|(call, _)| model.write(*call) == Some(Write::Delete));
                deletes.filter_map(|(_, position)| position).all(|delete| {
                    let undoes =
                        |log: &Replica| log.holds(delete, true) && log.repeats_put_behind(delete);
                    !state.replicas.iter().any(undoes)
                })
            }),
            Property::always(SESSION, |_, state: &State| state.is_session_kept),
            Property::sometimes(ALL_ANSWERED, |_, state: &State| {
                state
                    .progress
                    .iter()
                    .all(|one| matches!(one, Progress::Answered(_)))
            }),
        ];
        properties.retain(|one| self.property.is_none_or(|only| one.name == only));
        properties
    }
}
