// Mistakes in a replica of a stream: each would let two replicas drift apart, or one forget what it
// has confirmed. Each replaces text that is in a file exactly once, and names the arguments of
// `cargo test` that must notice it.

const GROUPS = 'crates/engine/src/engine/writer/group_commit.rs';
const STORE = 'crates/engine/src/store';
const REPLICA_TESTS = ['--lib', 'tests::replica'];

export const REPLICA_MUTANTS = [
  mutant(
    'a delete passes a message that waits for the graphs',
    GROUPS,
    'waits_behind || (request.change.stores() && !has_room)',
    'request.change.stores() && !has_room',
  ),
  mutant(
    'a message on a full disk waits behind those that came later',
    GROUPS,
    'waiting.extend(self.aside.drain(..));\n                self.aside = waiting.into();',
    'self.aside.extend(waiting);',
  ),
  mutant(
    'a message for which there is no space is passed over',
    GROUPS,
    'return self.hold(group, is_full);',
    'group.into_iter().for_each(|request| request.refuse(&Error::StorageFull));\n' +
      '            return Vec::new();',
  ),
  mutant(
    'the deletes before a message that finds no space wait with it for ever',
    GROUPS,
    '        waiting.extend(rest);\n',
    '',
  ),
  mutant(
    'a message is applied again',
    GROUPS,
    'if sequence != position.sequence + 1 =>',
    'if sequence > position.sequence + 1 =>',
  ),
  mutant(
    'a message is left out',
    GROUPS,
    'if sequence != position.sequence + 1 =>',
    'if sequence <= position.sequence =>',
  ),
  mutant(
    'a message that changes nothing leaves no trace',
    GROUPS,
    'if !writes.is_empty() || position.is_some() {',
    'if !writes.is_empty() {',
  ),
  mutant(
    'what every replica refuses stops this one',
    GROUPS,
    'Err(error @ (Error::InvalidArgument(_) | Error::OtherCount { .. })) =>',
    'Err(error @ Error::InvalidArgument(_)) =>',
  ),
  mutant(
    'a filter is decided beside a damaged record',
    GROUPS,
    'matches!(change, Change::DeleteMatching(..)) && is_damaged()',
    'matches!(change, Change::DeleteMatching(..)) && false && is_damaged()',
  ),
  mutant(
    'new ids are not looked up',
    'crates/engine/src/engine/writer/message.rs',
    'KEEP => Change::Store(self.batch(dimension)?, Existing::Keep),',
    'KEEP => Change::Store(self.batch(dimension)?, Existing::Impossible),',
  ),
  mutant(
    'the history does not tell the order of messages',
    `${STORE}/log/stream.rs`,
    'hasher.update(&self.chain.to_le_bytes());',
    '',
    ['--lib', 'log::stream'],
  ),
  mutant(
    'a group does not say where it is in the stream',
    `${STORE}/log/group.rs`,
    '        stream: place.stream,\n',
    '        stream: None,\n',
  ),
  mutant(
    'the manifest does not say where the stream is',
    `${STORE}/log/manifest.rs`,
    '        self.stream = stream;\n        if let',
    '        let _: Option<StreamPosition> = stream;\n        if let',
  ),
  mutant(
    'a start looks at the manifest alone for the position',
    `${STORE}/recovery.rs`,
    'if position >= entry.end {\n                    walked.stream',
    'if position > u64::MAX - 1 {\n                    walked.stream',
  ),
  mutant(
    'a restored folder stays a replica',
    `${STORE}/tools/restore.rs`,
    '    manifest.stream = None;\n',
    '',
  ),
  mutant(
    'a replica is written by others',
    `${STORE}/mod.rs`,
    '(Some(_), false) =>',
    '(Some(_), false) if self.failure.is_some() =>',
  ),
];

function mutant(name, file, from, to, tests = REPLICA_TESTS) {
  return { name, file, from, to, tests };
}
