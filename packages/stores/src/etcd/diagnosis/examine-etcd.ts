// Reads the status of every endpoint of an etcd without changing anything.

import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { StoreVersionError } from "../../store-errors.ts";
import { EtcdConnection, type EtcdTls } from "../etcd-connection.ts";
import { toStorageError } from "../etcd-errors.ts";
import { EtcdKeys } from "../etcd-keys.ts";
import { readEtcdSchema } from "../etcd-schema.ts";
import { systemScheduler } from "../etcd-timers.ts";
import type { StatusResponse } from "../protocol/etcd-messages.ts";
import { findOtherUser, type OtherUser } from "./other-etcd-users.ts";
import { type UnreachableReason, whyUnreachable } from "./why-unreachable.ts";

export type EtcdMember = {
  /** `host:port`, as given. */
  readonly address: string;
  /** Why it does not answer; then everything else is absent. */
  readonly fault?: string;
  /** The cause, if it can be determined. */
  readonly reason?: UnreachableReason;
  readonly version?: string;
  readonly bytes?: number;
  /** Undefined before etcd 3.6, which does not report it. */
  readonly quotaBytes?: number | undefined;
  readonly hasLeader?: boolean;
  readonly errors?: readonly string[];
  /** Its clock minus ours in milliseconds, to the second; undefined if it sends no date. */
  readonly clockOffsetMs?: number | undefined;
};

export type EtcdExamination = {
  readonly members: readonly EtcdMember[];
  /** Such as `NOSPACE`. */
  readonly alarms: readonly string[];
  /** Other users of the same etcd; undefined without any. */
  readonly otherUser: OtherUser | undefined;
  /** Whether there is any key below the prefix. */
  readonly isInstalled: boolean;
  /** Why this release cannot use the data. */
  readonly versionFault: string | undefined;
};

/** For each request to etcd. */
const TIMEOUT_MS = 5_000;

/** Never rejects because of an endpoint: what cannot be determined is absent. */
export async function examineEtcd(deps: {
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly tls?: EtcdTls | undefined;
}): Promise<EtcdExamination> {
  const { endpoints, prefix, tls } = deps;
  const members = await Promise.all(endpoints.map((address) => examineMember(address, tls)));
  const answering = members.filter(({ fault }) => fault === undefined).map(({ address }) => address);
  const unknown = { members, alarms: [], otherUser: undefined, isInstalled: false, versionFault: undefined };
  if (answering.length === 0) return unknown;
  using connection = connect(answering, tls);
  const place = { connection, keys: new EtcdKeys(prefix) };
  const call = { repeatable: true };
  try {
    const { alarms = [] } = await connection
      .call(connection.methods.alarm, { action: "GET" }, call)
      // Not every etcd user may read this.
      .catch(() => ({ alarms: [] }));
    const { kvs } = await connection.call(
      connection.methods.range,
      { ...place.keys.everything, limit: 1, keys_only: true },
      call,
    );
    return {
      members,
      alarms: alarms.flatMap(({ alarm }) => (alarm === undefined || alarm === "NONE" ? [] : [alarm])),
      otherUser: await findOtherUser(place),
      isInstalled: (kvs ?? []).length > 0,
      versionFault: await versionFaultOf(place),
    };
  } catch (error) {
    const fault = toStorageError(error).message;
    return { ...unknown, members: members.map((member) => ({ fault, ...member })) };
  }
}

async function versionFaultOf(place: Parameters<typeof readEtcdSchema>[0]): Promise<string | undefined> {
  try {
    await readEtcdSchema(place);
    return undefined;
  } catch (error) {
    if (error instanceof StoreVersionError) return error.message;
    throw error;
  }
}

async function examineMember(address: string, tls: EtcdTls | undefined): Promise<EtcdMember> {
  // First, because it reports at once what a gRPC connection keeps retrying.
  const reason = await whyUnreachable(address, tls, TIMEOUT_MS);
  if (reason !== undefined) return { address, fault: reason, reason };
  using connection = connect([address], tls);
  let status: StatusResponse;
  try {
    status = await connection.call(connection.methods.status, {}, { repeatable: false });
  } catch (error) {
    return { address, fault: toStorageError(error).message };
  }
  const { version = "", dbSize = 0, dbSizeQuota = 0, leader = 0, errors = [] } = status;
  return {
    address,
    version,
    bytes: dbSize,
    quotaBytes: dbSizeQuota === 0 ? undefined : dbSizeQuota,
    hasLeader: leader !== 0,
    errors,
    clockOffsetMs: await clockOffset(address, tls),
  };
}

const connect = (endpoints: readonly string[], tls: EtcdTls | undefined): EtcdConnection =>
  new EtcdConnection({
    endpoints,
    ...(tls === undefined ? {} : { tls }),
    requestTimeoutMs: TIMEOUT_MS,
    scheduler: systemScheduler,
  });

/** From the Date header of its HTTP responses. */
function clockOffset(address: string, tls: EtcdTls | undefined): Promise<number | undefined> {
  const options = {
    path: "/version",
    timeout: TIMEOUT_MS,
    agent: false,
    ...(tls === undefined
      ? {}
      : { ca: pem(tls.ca), allowPartialTrustChain: true, cert: pem(tls.cert), key: pem(tls.key) }),
  };
  const send = tls === undefined ? httpRequest : httpsRequest;
  const url = `${tls === undefined ? "http" : "https"}://${address}`;
  return new Promise((resolve) => {
    const sentAt = Date.now();
    const request = send(url, options, (response) => {
      response.resume();
      const date = Date.parse(response.headers.date ?? "");
      // The date has no fraction of a second.
      resolve(Number.isNaN(date) ? undefined : date + 500 - (sentAt + Date.now()) / 2);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(undefined));
    request.end();
  });
}

const pem = (bytes: Uint8Array | undefined): Buffer | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes);
