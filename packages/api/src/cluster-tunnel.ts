// The protocol of tunnels: paths, headers and bodies that the agent of a cluster and the server agree on (ADR 246).

/** The value of the Upgrade header. After the 101 the connection is HTTP/2, with the agent as the server. */
export const TUNNEL_PROTOCOL = "cluster-tunnel/1";

/** GET with an upgrade opens a tunnel, with the agent's key. */
export const TUNNEL_PATH = "/tunnel";
/** POST replaces the agent's key. */
export const TUNNEL_KEY_PATH = `${TUNNEL_PATH}/key`;
/** GET says how many servers there are. */
export const TUNNEL_SERVERS_PATH = `${TUNNEL_PATH}/servers`;
/** POST exchanges a join value, or a token of the ServiceAccount of an agent that has joined, for the agent's key; a GET below it serves the manifests. */
export const JOIN_PATH = "/join";

/** Headers of a request for a tunnel. */
export const AGENT_HEADERS = {
  /** Version of the agent. */
  version: "x-agent-version",
  /** Identifies the process, for people. */
  id: "x-agent-id",
  /** Uid of the namespace kube-system of the agent's cluster. */
  clusterUid: "x-agent-cluster-uid",
} as const;

/** Headers of the 101. */
export const SERVER_HEADERS = {
  /** Identifies the server process: an agent connects to each. */
  id: "x-server-id",
  /** How many servers there are. */
  count: "x-server-count",
  version: "x-server-version",
} as const;

/** The authority of the one stream that an agent opens: to its own API server. */
export const API_SERVER_AUTHORITY = "kubernetes";

/** Requests of the server that the agent answers itself, over HTTP/2. POST has it replace its key now. */
export const AGENT_ROTATE_PATH = "/rotate-key";

/** Milliseconds. Each side pings, and closes the tunnel where no answer comes: a dead peer is found after the sum at the latest. */
export const TUNNEL_PING = { intervalMs: 5_000, timeoutMs: 10_000 } as const;

/** With a join value: the identity that an agent has in its own cluster. Its later tokens take the place of a stored key. */
export type AgentProof = {
  /** A token of its ServiceAccount, for the platform alone. */
  readonly token: string;
  /** Public keys of the cluster's issuer, as a JWK set in JSON. */
  readonly jwks: string;
};

/** The body of a POST to the path of joins. */
export type JoinRequest =
  | { readonly value: string; readonly clusterUid: string; readonly identity?: AgentProof }
  | {
      readonly token: string;
      /** As they are now: the platform takes them over. */
      readonly jwks?: string;
      readonly cluster: string;
      readonly namespace?: string;
      readonly clusterUid: string;
    };

/** The answer to a join value, to a token, or to the key that an agent has. */
export type AgentKey = {
  /** Name of the Cluster, or of the VirtualClusterInstance. */
  readonly cluster: string;
  /** The namespace of the VirtualClusterInstance. Absent for a Cluster. */
  readonly namespace?: string;
  readonly key: string;
  /** RFC 3339; absent: it does not expire. */
  readonly expirationTimestamp?: string;
  /** CA certificates of the platform in PEM, to be trusted from now on; absent: those of before. */
  readonly certificateAuthority?: string;
  /** Present where tokens of the agent's ServiceAccount are exchanged for further keys: this one need not be kept. */
  readonly identity?: "token";
  /** Present where the agent has sent a token that is not accepted: the reason. */
  readonly identityFault?: string;
};

/** Releases between those of agent and server that work with each other. */
const MAX_MINORS_APART = 1;

type ReleaseGapReason = "AgentTooOld" | "AgentTooNew";

/** How an agent is too far from its server; undefined where both work together, or a version is no release. */
export function releaseGap(server: string, agent: string): ReleaseGapReason | undefined {
  const [ours, theirs] = [server, agent].map(releaseOf);
  if (ours === undefined || theirs === undefined) return undefined;
  const majors = ours.major - theirs.major;
  const minors = ours.minor - theirs.minor;
  if (majors === 0 && Math.abs(minors) <= MAX_MINORS_APART) return undefined;
  return majors > 0 || (majors === 0 && minors > 0) ? "AgentTooOld" : "AgentTooNew";
}

function releaseOf(version: string): { readonly major: number; readonly minor: number } | undefined {
  const [, major, minor] = /^v?(\d{1,6})\.(\d{1,6})/.exec(version) ?? [];
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}
