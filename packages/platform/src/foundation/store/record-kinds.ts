// All records of the store that no resource serves: to whom each belongs, what limits it, and what happens at the limit (ADR 157).

export type RecordKind = {
  /** The account that a record counts for. */
  readonly owner: string;
  readonly limit: string;
  /** Absent: it cannot be full. */
  readonly whenFull?: string;
};

export const RECORD_KINDS = {
  "access-key": {
    owner: "the control plane of a cluster or virtual cluster",
    limit: "one for each; deleted with it",
  },
  "authority-rotations": {
    owner: "the embedded virtual cluster, or the platform",
    limit: "one for each CA that was rotated; deleted with the cluster",
  },
  "certificate-authority": {
    owner: "the embedded virtual cluster",
    limit: "one for each; deleted with it",
  },
  "certificate-activity": {
    owner: "the certificate",
    limit: "a timestamp and an address for each certificate; the certificates of an owner have a limit",
  },
  certificates: {
    owner:
      "the owner that a certificate was issued to; the virtual cluster, if it was requested there without an access key",
    limit: "2,000 and 4 MiB",
    whenFull: "expired and revoked ones go; then 403, or the condition Failed of the CertificateSigningRequest",
  },
  "client-keys": {
    owner: "the platform",
    limit: "one; three keys for each of two algorithms",
    whenFull: "old keys go in time",
  },
  "cluster-agents": {
    owner: "the connected cluster that an agent connects",
    limit: "one for each; deleted with it",
  },
  "cluster-joins": {
    owner: "the connected cluster that is about to join",
    limit: "one for each, for a day after it was good",
    whenFull: "a new value replaces it",
  },
  "key-activity": {
    owner: "the access key",
    limit: "a few timestamps for each key; the keys of an owner have a limit",
  },
  "key-notices": {
    owner: "the access key",
    limit: "one notice for each lead time of the configuration",
  },
  "key-ring": { owner: "the platform", limit: "one" },
  "key-usage": {
    owner: "the access key",
    limit: "50 entries and 100 uses of 300 characters for each key; 20,000 keys in memory",
    whenFull: "the first ones stay",
  },
  "key-values": {
    owner: "the owner of the access key whose value was chosen",
    limit: "5,000",
    whenFull: "403 for a chosen value; generated values need no record",
  },
  "platform-authority": { owner: "the platform", limit: "one" },
  "service-account-key": {
    owner: "the embedded virtual cluster",
    limit: "one for each; deleted with it",
  },
  "session-recordings": { owner: "the platform", limit: "one: the key of all recordings" },
  "sign-ins": {
    owner: "the user who has signed in; before that, the address",
    limit: "5,000 and 16 MiB, of which 4,000 for addresses",
    whenFull: "the oldest of the user or address with the most goes",
  },
  "taken-tokens": {
    owner: "the project of a trust rule; otherwise the issuer",
    limit: "10,000 of a project, 100,000 of an issuer",
    whenFull: "the exchange is refused until older tokens have expired",
  },
  "wrapped-values": {
    owner: "the owner of the wrapped credential",
    limit: "1,000 and 8 MiB, until they expire, or for a day after they were read",
    whenFull: "the oldest that were read go; then 403",
  },
} as const satisfies { readonly [name: string]: RecordKind };

export type RecordKindName = keyof typeof RECORD_KINDS;

/** The prefix of the records of one kind, with a slash at its end. */
export const recordPrefixOf = (composition: string, kind: RecordKindName): string =>
  `/registry/${composition}/internal/${kind}/`;
