// Clients of two real servers on three members of etcd see one register per object, while members die, stand still and are cut off,
// and so do the servers; and so do those of one server on SQLite that is killed and started again.
// CRASH_HTTP_OPERATIONS says how many operations the run takes, TEST_SEED repeats it as far as the scheduler allows.

import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { test } from "vitest";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { expectLinearizable } from "./testing/expect-linearizable.ts";
import { objectRegister } from "./testing/object-register.ts";
import { createFaults, type Fault } from "./testing/random-faults.ts";
import { recordHistory } from "./testing/record-history.ts";
import { type Replicas, startReplicas } from "./testing/replicas.ts";
import { startServerProcess } from "./testing/server-process.ts";

const OPERATIONS = Number(process.env["CRASH_HTTP_OPERATIONS"] ?? 2_000);
const seed = Number(process.env["TEST_SEED"]);
/** Starts of servers take most of it, on a busy machine many seconds each. */
const SIDE_BY_SIDE = { timeout: 600_000 + 150 * OPERATIONS, concurrent: true };
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test.skipIf(whyNoEtcd() !== undefined)(
  `two servers on etcd are linearizable through all failures (TEST_SEED=${seed}, CRASH_HTTP_OPERATIONS=${OPERATIONS})`,
  SIDE_BY_SIDE,
  async ({ skip }) => {
    await using replicas = await startReplicas();
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const registers = replicas.servers.map(({ client }) => objectRegister(client, replicas.adminKey));
    await expectLinearizableThrough(faultsOf(replicas), Math.ceil(OPERATIONS / 15), registers);
  },
);

test(
  `a server on SQLite is linearizable while it is killed and stopped (TEST_SEED=${seed}, CRASH_HTTP_OPERATIONS=${OPERATIONS})`,
  SIDE_BY_SIDE,
  async () => {
    await using directory = await temporaryDirectory();
    await using server = await startServerProcess(directory.path);
    const register = objectRegister(server.client, server.adminKey ?? "");
    const killAndRestart = async (): Promise<void> => {
      await server.kill();
      await server.restart();
    };
    const faults: readonly Fault[] = [
      { name: "server dies", begin: killAndRestart, end: () => undefined },
      { name: "server stands still", begin: server.pause, end: server.resume },
    ];
    // Every fault is one of the only server there is, and a start takes seconds.
    await expectLinearizableThrough(faults, Math.ceil(OPERATIONS / 5), [register]);
  },
);

/** `lasting`: the most operations that a fault lasts for, and that lie between two. */
async function expectLinearizableThrough(
  possible: readonly Fault[],
  lasting: number,
  registers: readonly ReturnType<typeof objectRegister>[],
): Promise<void> {
  const next = randomNumbers(seed);
  const faults = createFaults(possible, { next, operations: lasting });
  const history = await recordHistory({
    stores: () => registers,
    clients: 10,
    keys: 6,
    operations: OPERATIONS,
    next,
    // Clients pause before they retry a server that is down.
    afterOutage: () => pause(50),
    onOperation: faults.onOperation,
  });
  await faults.end();
  process.stdout.write(`${JSON.stringify({ ...history.counts, faults: faults.counts })}\n`);
  expectLinearizable(history, OPERATIONS / 4);
}

function faultsOf(replicas: Replicas): readonly Fault[] {
  const { etcd, servers } = replicas;
  return [
    ...etcd.members.flatMap((member, index): Fault[] => [
      { name: "member stands still", begin: member.pause, end: member.resume },
      { name: "member dies", begin: member.kill, end: member.restart },
      {
        name: "member cut off",
        begin: () => replicas.isolateMember(index),
        end: () => replicas.rejoinMember(index),
      },
    ]),
    ...servers.flatMap((server): Fault[] => [
      { name: "server stands still", begin: server.pause, end: server.resume },
      { name: "server dies", begin: server.kill, end: server.restart },
      { name: "server cut off", begin: server.cutOff, end: server.reconnect },
    ]),
  ];
}
