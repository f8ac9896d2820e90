/** How a cluster is, as somebody sees it who is none of its nodes. */
export interface ClusterStatus {
  readonly cluster: string;
  readonly dimension: number;
  /** How many replicas it has, of which not all may have started yet. */
  readonly replicas: number;
  readonly nats: NatsStatus;
  /** Undefined where it cannot be looked at. */
  readonly stream: StreamStatus | undefined;
  readonly nodes: readonly NodeStatus[];
}

/** The server that was asked. */
export interface NatsStatus {
  readonly server: string;
  readonly version: string;
  /** What is wrong with the version, if something is. */
  readonly versionFault: string | undefined;
}

export interface StreamStatus {
  readonly name: string;
  readonly created: string;
  /** Whether the map of the cluster says that it was made then. */
  readonly isOfMap: boolean;
  /** The servers that hold it. Without a leader most of them are away. */
  readonly servers: readonly { readonly name: string; readonly state: ServerState }[];
  readonly messages: number;
  readonly bytes: number;
  /** CLUSTER_LOG_BYTES, with which the cluster was made. */
  readonly limitBytes: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
}

export type ServerState = 'leader' | 'current' | 'behind' | 'away';

/** A node, and its replica. */
export interface NodeStatus {
  readonly node: string;
  /** Its place in the list of the replicas. */
  readonly replica: number;
  /** Undefined where it does not answer. */
  readonly answer: ReplicaAnswer | undefined;
}

export interface ReplicaAnswer {
  /** The last message that it has applied. */
  readonly sequence: number;
  /** How many messages of the stream it has not applied, though it had some time. */
  readonly lacks: number;
  readonly history: History;
  /** Whether its disk has hardly any space left. */
  readonly isFull: boolean;
}

/** Whether most of the others have the same messages; unknown where none remembers them. */
export type History = 'same' | 'other' | 'unknown';
