// A well-behaved user while others attack, an owner who revokes keys, and an administrator: how long each waits for answers.

import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { API } from "../attacked-server.ts";
import type { Tenants } from "./tenants.ts";

/** Milliseconds of each answer, in their order, and by what was answered instead of a success. */
type Waits = {
  readonly times: readonly number[];
  /** How much of each the server worked, for whomever: on a machine that does nothing else this is all of it. */
  readonly work: readonly number[];
  readonly failures: Readonly<Record<string, number>>;
};

export type Experience = {
  /** GETs over a connection that is kept. */
  readonly reads: Waits;
  /** GETs over a new connection each. */
  readonly logins: Waits;
  /** Deletions of a key by its owner, over a new connection each. */
  readonly revocations: Waits;
  /** Writes of the administrator, over a connection that is kept. */
  readonly writes: Waits;
  /** Revoked keys that were accepted after the answer. */
  readonly acceptedAfterwards: number;
};

const READ_PAUSE_MS = 5;
const LOGIN_PAUSE_MS = 150;
const REVOCATION_PAUSE_MS = 400;
/** No client waits longer, and a test would say so. */
const GIVE_UP_MS = 30_000;

export const percentile = (times: readonly number[], part: number): number => {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

let revocations = 0;

/** The parts of a server under attack that the bystander needs. */
export type Bystanding = Pick<Tenants, "ca" | "good" | "admin" | "newKey"> & {
  readonly process: Pick<Tenants["process"], "url" | "pid">;
};

/** Resolves when all are answered that were sent until `until` did. */
export async function experience(tenants: Bystanding, until: Promise<unknown>): Promise<Experience> {
  let isOver = false;
  void until.finally(() => {
    isOver = true;
  });
  const { ca, good, admin } = tenants;
  const kept = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1, ca }));
  let acceptedAfterwards = 0;

  const repeatedly = async (pauseMs: number, act: (record: Recorder) => Promise<unknown>): Promise<Waits> => {
    const recorder = createRecorder(tenants);
    while (!isOver) {
      await act(recorder);
      await pause(pauseMs);
    }
    return recorder;
  };
  const [reads, logins, revoked, writes] = await Promise.all([
    repeatedly(READ_PAUSE_MS, (record) =>
      record.time(() => send(tenants, `${API}/users/good`, { key: good, agent: kept[0] })),
    ),
    repeatedly(LOGIN_PAUSE_MS, (record) => record.time(() => send(tenants, `${API}/users/good`, { key: good }))),
    repeatedly(REVOCATION_PAUSE_MS, async (record) => {
      const name = `victim-${++revocations}`;
      // Made by the owner: that it is made at all is no figure of ours.
      const key = await tenants.newKey(name, { user: "good" }).catch(() => undefined);
      if (key === undefined) return;
      const status = await record.time(() =>
        send(tenants, `${API}/ownedaccesskeys/${name}`, { key: good, method: "DELETE" }),
      );
      // A connection that breaks, or a refusal for another reason, accepts nothing.
      if (status === 200 && (await send(tenants, `${API}/users/good`, { key })) === 200) acceptedAfterwards++;
    }),
    repeatedly(REVOCATION_PAUSE_MS, async (record) => {
      const body = JSON.stringify({ spec: { description: `written at ${performance.now()}` } });
      await record.time(() =>
        send(tenants, `${API}/users/good`, { key: admin, agent: kept[1], method: "PATCH", body }),
      );
    }),
  ]);
  for (const agent of kept) agent.destroy();
  return { reads, logins, revocations: revoked, writes, acceptedAfterwards };
}

type Recorder = Waits & { time(ask: () => Promise<number | string>): Promise<number | string> };

function createRecorder(tenants: Bystanding): Recorder {
  const times: number[] = [];
  const work: number[] = [];
  const failures: Record<string, number> = {};
  return {
    times,
    work,
    failures,
    async time(ask) {
      const [sentAt, workedBefore] = [performance.now(), workOf(tenants)];
      const outcome = await ask();
      times.push(performance.now() - sentAt);
      work.push(workOf(tenants) - workedBefore);
      if (outcome !== 200) failures[outcome] = (failures[outcome] ?? 0) + 1;
      return outcome;
    },
  };
}

/** Processor time of the server's event loop, in milliseconds. */
const workOf = ({ process }: Bystanding): number =>
  Number(readFileSync(`/proc/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

type Asked = {
  readonly key: string;
  readonly method?: string;
  readonly body?: string;
  readonly agent?: Agent | undefined;
};

/** The status, or what was wrong with the connection. */
function send(
  { process, ca }: Bystanding,
  path: string,
  { key, method = "GET", body, agent }: Asked,
): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request(`${process.url}${path}`, {
      ca,
      agent: agent ?? false,
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined
          ? {}
          : { "content-type": "application/merge-patch+json", "content-length": Buffer.byteLength(body) }),
      },
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    sent.on("error", (error: Error & { code?: string }) => resolve(error.code ?? error.name));
    sent.on("response", (response) => {
      response.resume().on("error", (error: Error & { code?: string }) => resolve(error.code ?? error.name));
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.end(body);
  });
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
