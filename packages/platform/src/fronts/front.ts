// The servers of one process, each in a thread of its own, as each sees the others. The first opens the store, writes the audit log, leads, and starts the
// further ones.

import type { AuditSink } from "@postern/apiserver/audit/audit-sink";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { HttpTransport } from "@postern/apiserver/transport/listener/http-transport";
import type { GatherUses } from "../features/access-keys/last-use/periodic-writer.ts";
import type { UsedProofs } from "../features/access-keys/proofs/used-proofs.ts";
import type { ActivitySnapshot } from "../features/activity/activity-snapshot.ts";
import type { ServerActivity } from "../features/activity/server-activity.ts";
import type { OneTimeLink } from "../features/sign-in/one-time-link.ts";
import type { ServingIdentity } from "../server/serving-identity.ts";

export type FirstFront = {
  readonly isFirst: true;
  /** 48 bytes: each front resumes the TLS sessions of the others. */
  readonly ticketKeys: Uint8Array;
  /** Proofs that any front has accepted. */
  readonly usedProofs: UsedProofs;
  /** Starts the further ones, which listen on the port. Rejects where three threads do not start in one place. */
  start(parts: {
    readonly port: number;
    readonly serving: ServingIdentity;
    readonly audit: AuditSink;
    readonly link: OneTimeLink;
    readonly activity: Pick<ServerActivity, "read" | "add" | "end">;
    readonly writeUses: GatherUses;
    readonly departures: FrontDepartures;
  }): Promise<void>;
  /** New handshakes use another certificate. */
  replaceServing(serving: ServingIdentity): void;
  /** Resolves with the text of `/metrics` for all. */
  scrape(): Promise<string>;
  /** Resolves with `own`, to which the others have added theirs. */
  readActivity(own: Pick<ServerActivity, "read">): Promise<ActivitySnapshot>;
  /** Resolves once the others have written the uses that they have noted, as far as they do so soon. */
  readonly gatherUses: GatherUses;
  /** Locks that all fronts share. */
  readonly limitLocks: LimitLocks;
  /** The further ones begin to finish their requests. */
  beginClose(): void;
  /** Resolves once they have. */
  closed(): Promise<void>;
};

/** A further one answers with these. */
export type FurtherParts = {
  readonly activity: Pick<ServerActivity, "take">;
  readonly writeUses: GatherUses;
  readonly departures: FrontDepartures;
};

export type FrontDepartures = Pick<HttpTransport["departures"], "staying" | "move" | "retire">;

export type FurtherFront = {
  readonly isFirst: false;
  readonly ticketKeys: Uint8Array;
  /** From 1 on. */
  readonly number: number;
  /** Its own among all servers on the store. */
  readonly id: string;
  /** The port of the first. */
  readonly port: number;
  /** Hands events to the first. */
  readonly audit: AuditSink;
  readonly link: OneTimeLink;
  /** The used proofs of the first front. */
  readonly usedProofs: UsedProofs;
  onServing(listener: (serving: ServingIdentity) => void): void;
  scrape(): Promise<string>;
  /** Resolves with that of all, which the first knows. */
  readActivity(): Promise<ActivitySnapshot>;
  readonly gatherUses: GatherUses;
  /** Those of the first. */
  readonly limitLocks: LimitLocks;
  /** Gives the first what it adds up, and what it asks for. */
  serve(parts: FurtherParts): void;
};

export type Front = FirstFront | FurtherFront;
