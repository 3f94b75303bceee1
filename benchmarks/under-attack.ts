// How long other clients' requests take while a server is attacked, compared to the same without the attack and to GETs of a server that does
// nothing: each attack of test/attacks/testing/denial in turn, against the built command, from a separate process. Reports for each
// whether the goal is met: 99 of 100 GETs within 100 ms, every revocation within a second, and no refusal. Exits with 1 if a goal is missed.
// Usage: npx tsx --conditions=@postern/source benchmarks/under-attack.ts [--minutes 8] [--objects 2000] [--ahead 5] [word…]
// All attacks share the minutes. With words, only the attacks with one in their name. With --ahead, which needs root, server and bystander
// get priority over everything else on the machine, and the attacker runs after them, as if on another machine. --profile names a module for
// the server to load, which gets SIGUSR2 before each attack.

import { readdir, readFile } from "node:fs/promises";
import { Agent, get } from "node:https";
import { setPriority } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { refusedIn, shownIn, totalOf } from "../test/attacks/testing/denial/attack.ts";
import { ATTACKS } from "../test/attacks/testing/denial/attacks.ts";
import { type Experience, experience, percentile } from "../test/attacks/testing/denial/bystander.ts";
import { startAttacker } from "../test/attacks/testing/denial/start-attacker.ts";
import { startTenants, type Tenants } from "../test/attacks/testing/denial/tenants.ts";
import { makeSelfSigned } from "../test/e2e/testing/self-signed.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { startProcess } from "./servers/start-process.ts";

const { values, positionals } = parseArgs({
  options: {
    minutes: { type: "string", default: "8" },
    objects: { type: "string", default: "2000" },
    ahead: { type: "string" },
    profile: { type: "string" },
  },
  allowPositionals: true,
});
const endsAt = performance.now() + Number(values.minutes) * 60_000;
const chosen = ATTACKS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
);

/** Milliseconds. */
const GOAL = { readP99: 100, revocation: 1_000 } as const;
const BARE_PAUSE_MS = 20;
/** Milliseconds. */
const ATTACK = { longest: 4_000, shortest: 1_000, alone: 500, begins: 700, rest: 300 } as const;

const milliseconds = (value: number): string => (Number.isNaN(value) ? "none" : value.toFixed(value < 10 ? 1 : 0));
const at = (waits: readonly number[], part: number): string => milliseconds(percentile(waits, part));
const p50and99 = (waits: readonly number[]): string => `${at(waits, 0.5)} / ${at(waits, 0.99)}`;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const failuresOf = (each: Experience): string =>
  Object.entries({ read: each.reads, login: each.logins, revocation: each.revocations, write: each.writes })
    .flatMap(([what, { failures }]) => Object.entries(failures).map(([why, many]) => `${many} × ${what} ${why}`))
    .join(", ");

async function residentMiB({ process }: Tenants): Promise<number> {
  return Math.round((Number((await readFile(`/proc/${process.pid}/statm`, "utf8")).split(" ")[1]) * 4096) / (1 << 20));
}

/** The longest delay of the event loop since the last call, in milliseconds. */
async function longestStall({ send, admin }: Tenants): Promise<number> {
  const { text } = await send("/metrics", { key: admin });
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? Number.NaN) * 1_000;
}

/** Milliseconds of GETs to a server that does nothing, one after the other on one connection, until `until` resolves. */
async function bareReads(url: string, until: Promise<unknown>): Promise<readonly number[]> {
  let isOver = false;
  void until.finally(() => {
    isOver = true;
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const times: number[] = [];
  while (!isOver) {
    const sentAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      get(`${url}/bytes/600`, { agent }, (response) => response.resume().once("end", resolve)).once("error", reject);
    });
    times.push(performance.now() - sentAt);
    await pause(BARE_PAUSE_MS);
  }
  agent.destroy();
  return times;
}

/** Seconds of processor time that the server has used. */
async function processorSeconds({ process }: Tenants): Promise<number> {
  const fields = (await readFile(`/proc/${process.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

await using directory = await temporaryDirectory();
const [certificate, privateKey] = [join(directory.path, "tls.crt"), join(directory.path, "tls.key")];
await makeSelfSigned({ certificate, key: privateKey, subject: "/CN=localhost" });
const bareServer = fileURLToPath(new URL("./servers/bare-server.ts", import.meta.url));

/** Milliseconds for the next attack, so that the rest is shared equally. */
function durationOf(attacksLeft: number): number {
  const share = (endsAt - performance.now()) / attacksLeft - ATTACK.alone - ATTACK.begins - ATTACK.rest;
  return Math.max(ATTACK.shortest, Math.min(ATTACK.longest, share));
}

/** How the goal is missed. */
function faultsOf({ reads, revocations, acceptedAfterwards, ...rest }: Experience, tookPlace: boolean): string {
  const faults = [
    tookPlace ? "" : "DID NOT TAKE PLACE",
    percentile(reads.times, 0.99) <= GOAL.readP99 ? "" : "GET",
    percentile(revocations.times, 1) <= GOAL.revocation ? "" : "REVOCATION",
    failuresOf({ reads, revocations, acceptedAfterwards, ...rest }),
    acceptedAfterwards > 0 ? `ACCEPTED AFTERWARDS: ${acceptedAfterwards}` : "",
  ];
  return faults.filter((fault) => fault !== "").join(", ");
}

/** Returns whether all goals are met. */
async function measure(): Promise<boolean> {
  await using bare = await startProcess(["--import", "tsx", bareServer, certificate, privateKey]);
  await using tenants = await startTenants({
    objects: Number(values.objects),
    env: values.profile === undefined ? {} : { NODE_OPTIONS: `--require=${values.profile}` },
  });
  await using attacker = startAttacker();
  if (values.ahead !== undefined) {
    const ahead = Number(values.ahead);
    for (const pid of [process.pid, tenants.process.pid])
      for (const thread of await readdir(`/proc/${pid}/task`)) setPriority(Number(thread), -ahead);
    setPriority(attacker.pid, ahead);
  }
  await experience(tenants, pause(3_000));

  const rows: Row[] = [];
  let met = 0;
  for (const [number, attack] of chosen.entries()) {
    const { name } = attack;
    if (values.profile !== undefined) process.kill(tenants.process.pid, "SIGUSR2");
    const duration = durationOf(chosen.length - number);
    const alone = await experience(tenants, pause(ATTACK.alone));
    await attacker.attack(name, tenants.target);
    await pause(ATTACK.begins);
    const [before, startedAt] = [await processorSeconds(tenants), performance.now()];
    await longestStall(tenants);
    const time = pause(duration);
    const [during, bareTimes] = await Promise.all([experience(tenants, time), bareReads(bare.url, time)]);
    const stall = await longestStall(tenants);
    const share = ((await processorSeconds(tenants)) - before) / ((performance.now() - startedAt) / 1_000);
    const counts = await attacker.counts();
    await attacker.stop();
    const faults = faultsOf(during, shownIn(attack, counts) > 0);
    if (faults === "") met++;
    const row = {
      attack: name,
      "GET p50 / p99": p50and99(during.reads.times),
      "longest stall": milliseconds(stall),
      "longest revocation": at(during.revocations.times, 1),
      "over the goal": faults,
      "of the GET work": p50and99(during.reads.work),
      "GET alone": p50and99(alone.reads.times),
      "bare GET": p50and99(bareTimes),
      "new connection p50 / p99": p50and99(during.logins.times),
      "admin's write, longest": at(during.writes.times, 1),
      tried: String(totalOf(counts)),
      refused: String(refusedIn(counts)),
      processors: share.toFixed(2),
      MiB: String(await residentMiB(tenants)),
    };
    rows.push(row);
    console.log(`${faults === "" ? "ok  " : "OVER"} ${JSON.stringify({ ...row, seconds: duration / 1_000, counts })}`);
    await pause(ATTACK.rest);
  }
  console.log(
    "\nmilliseconds; attacker, server and all others on one machine. Work: of the event loop, for all clients\n",
  );
  console.log(renderTable(rows));
  console.log(
    `\n${met} of ${rows.length} within the goal: GET p99 ${GOAL.readP99} ms, revocation ${GOAL.revocation} ms`,
  );
  if (values.profile !== undefined) process.kill(tenants.process.pid, "SIGUSR2");
  await pause(1_000);
  await tenants.process.stop();
  return met === rows.length;
}

// Attackers' connections that never end would keep the process running.
process.exit((await measure()) ? 0 : 1);
